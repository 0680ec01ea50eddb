"""Drawings of a tree. Each renderer is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import Errors, RstError

if TYPE_CHECKING:
    from ..tree import RstTree

RENDERERS = {
    "text": ("spacy_rst.display.text", "render_text"),
    "svg": ("spacy_rst.display.svg", "render_svg"),
}


def render_tree(tree: RstTree, style: str = "text", **options: Any) -> str:
    """Draw a tree.

    tree (RstTree): The tree.
    style (str): "text" for the terminal or "svg" for the classic diagram.
    **options: Passed on to `render_text` or `render_svg`.
    RETURNS (str): The drawing.
    RAISES (RstError): For an unknown style, or an option that makes no sense.
    """
    if style not in RENDERERS:
        known = ", ".join(repr(name) for name in RENDERERS)
        raise RstError(Errors.R530.format(style=style, known=known))
    module, function = RENDERERS[style]
    drawing: str = getattr(import_module(module), function)(tree, **options)
    return drawing


def check_at_least(name: str, value: int, minimum: int) -> None:
    """Refuse an option that leaves no room to draw in.

    name (str): The name of the option.
    value (int): What was given.
    minimum (int): The smallest number that makes sense.
    RAISES (RstError): If the value is no whole number or too small.
    """
    if not isinstance(value, int) or value < minimum:
        raise RstError(Errors.R531.format(name=name, value=value, minimum=minimum))
