"""The classic RST diagram as PNG and PDF, made of the SVG by Typst, which knows all scripts."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import Errors, RstError
from .svg import render_svg

if TYPE_CHECKING:
    from ..tree import RstTree

DOTS_PER_INCH = 96  # of SVG's own pixels
MAX_PIXELS = 100_000_000  # more take gigabytes of memory
PAGE = b"""
#set page(width: auto, height: auto, margin: 0pt)
#set document(date: none)
#image(bytes(sys.inputs.svg))
"""


def render_png(tree: RstTree, *, scale: float = 2.0, **options: Any) -> bytes:
    """Draw the classic RST diagram as a bitmap.

    tree (RstTree): The tree.
    scale (float): Pixels of the bitmap per pixel of the SVG.
    **options: Passed on to `render_svg`.
    RETURNS (bytes): The content of a PNG file.
    RAISES (RstError): If the library is not installed, or the picture would be too large.
    """
    svg = render_svg(tree, **options)
    size = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert size is not None
    n_pixels = int(size[1]) * int(size[2]) * scale**2 if isinstance(scale, int | float) else 0
    if not 0 < n_pixels <= MAX_PIXELS or scale <= 0:
        raise RstError(Errors.R547.format(scale=scale, width=size[1], height=size[2]))
    return _typeset(svg, "png", ppi=DOTS_PER_INCH * scale)


def render_pdf(tree: RstTree, **options: Any) -> bytes:
    """Draw the classic RST diagram as one page of its own size.

    tree (RstTree): The tree.
    **options: Passed on to `render_svg`.
    RETURNS (bytes): The content of a PDF file.
    RAISES (RstError): If the library is not installed.
    """
    return _typeset(render_svg(tree, **options), "pdf")


def _typeset(svg: str, file_format: str, **options: Any) -> bytes:
    try:
        typst = import_module("typst")
    except ImportError as error:
        raise RstError(Errors.R546) from error
    content: bytes = typst.compile(PAGE, format=file_format, sys_inputs={"svg": svg}, **options)
    return content
