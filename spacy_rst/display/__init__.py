"""Drawings of trees. Each renderer is imported when it is first asked for, and so is spaCy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import Errors, RstError
from ..tree import RstTree

if TYPE_CHECKING:
    from spacy.tokens import Doc

    Drawable: TypeAlias = Doc | RstTree | Iterable[Doc | RstTree]

RENDERERS = ("text", "svg", "html")


def render_tree(tree: RstTree, style: str = "text", **options: Any) -> str:
    """Draw a tree.

    tree (RstTree): The tree.
    style (str): "text" for the terminal, "svg" for the classic diagram, "html" for an interactive
        page.
    **options: Passed on to `render_text`, `render_svg` or `render_html`.
    RETURNS (str): The drawing.
    RAISES (RstError): For an unknown style, or an option that makes no sense.
    """
    return _renderer(style)(tree, **options)


def _renderer(style: str) -> Callable[..., str]:
    if style not in RENDERERS:
        wanted = f"one of {', '.join(RENDERERS)}"
        raise RstError(Errors.R300.format(name="style", value=style, wanted=wanted))
    module = import_module(f"{__name__}.{style}")
    renderer: Callable[..., str] = getattr(module, f"render_{style}")
    return renderer


def render(
    docs: Drawable,
    style: str = "html",
    jupyter: bool | None = None,
    options: dict[str, Any] | None = None,
) -> str | None:
    """Draw the trees of Docs, as `displacy.render` draws their dependencies.

    docs (Union[Doc, RstTree, Iterable[Union[Doc, RstTree]]]): One document or several.
    style (str): "html" for an interactive page of all of them, "svg" or "text" for one drawing
        after the other.
    jupyter (Optional[bool]): Whether to show the drawing in a notebook rather than to return it.
        By default where there is a notebook.
    options (Optional[dict]): Passed on to `render_html`, `render_svg` or `render_text`.
    RETURNS (Optional[str]): The drawing, None where a notebook shows it.
    RAISES (RstError): If a Doc has no tree, there is nothing to draw, or no such style.
    """
    drawing = _draw_all(docs, style, options or {})
    if jupyter is None:
        from spacy.util import is_in_jupyter

        jupyter = is_in_jupyter()
    if not jupyter:
        return drawing
    from IPython.display import HTML, display  # type: ignore[import-not-found]

    display(HTML(notebook_markup(drawing, style)))
    return None


def serve(
    docs: Drawable,
    style: str = "html",
    *,
    host: str = "127.0.0.1",
    port: int = 5050,
    options: dict[str, Any] | None = None,
) -> None:
    """Show the trees of Docs in the browser until interrupted, as `displacy.serve` does, but to
    this computer only unless told otherwise.

    docs (Union[Doc, RstTree, Iterable[Union[Doc, RstTree]]]): One document or several.
    style (str): "html", "svg" or "text".
    host (str): The address to listen on. One that others can reach gives a warning.
    port (int): The port to listen on, 0 for any that is free.
    options (Optional[dict]): Passed on to `render_html`, `render_svg` or `render_text`.
    RAISES (RstError): What `render` raises, and if it cannot listen there.
    """
    from .server import serve_drawing

    serve_drawing(_draw_all(docs, style, options or {}), style, host, port)


def _draw_all(docs: Drawable, style: str, options: dict[str, Any]) -> str:
    renderer = _renderer(style)
    named_trees = list(_named_trees(docs))
    if not named_trees:
        raise RstError(Errors.R540.format(place="an empty list"))
    names, trees = zip(*named_trees, strict=True)
    if style == "html":
        return renderer(trees, **{"names": names if any(names) else None, **options})
    return "\n\n".join(renderer(tree, **options) for tree in trees)


def _named_trees(docs: Drawable) -> Iterator[tuple[str, RstTree]]:
    from spacy.tokens import Doc

    from ..doc import NAME_KEY, get_meta, get_tree

    # Both can be iterated over, which would give tokens or nodes.
    items = [docs] if isinstance(docs, Doc | RstTree) or not isinstance(docs, Iterable) else docs
    for number, item in enumerate(items, start=1):
        if isinstance(item, RstTree):
            yield "", item
            continue
        tree = get_tree(item) if isinstance(item, Doc) else None
        if tree is None:
            place = f"document {number} (of type {type(item).__name__})"
            raise RstError(Errors.R540.format(place=place))
        yield str(get_meta(item, NAME_KEY) or ""), tree


def notebook_markup(drawing: str, style: str) -> str:
    """Wrap a drawing for the cell of a notebook; a page gets a frame that keeps it apart."""
    if style == "html":
        look = "width: 100%; height: 36rem; border: 0"
        return (
            f'<iframe sandbox="allow-scripts" style="{look}" srcdoc="{escape(drawing)}"></iframe>'
        )
    # Without this class the notebook would take dollar signs for formulas.
    markup = f"<pre>{escape(drawing)}</pre>" if style == "text" else drawing
    return f'<div class="tex2jax_ignore">{markup}</div>'


def check_at_least(name: str, value: int, minimum: int) -> None:
    """Refuse an option that leaves no room to draw in."""
    if not isinstance(value, int) or value < minimum:
        wanted = f"a whole number of at least {minimum}"
        raise RstError(Errors.R300.format(name=name, value=value, wanted=wanted))
