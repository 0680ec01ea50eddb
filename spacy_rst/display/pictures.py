"""The classic RST diagram as PNG and PDF, made of the SVG by Typst, which knows all scripts."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ..errors import Errors, RstError
from ..util import require_extra
from .svg import render_svg

if TYPE_CHECKING:
    from ..tree import RstTree

DOTS_PER_INCH = 96  # of SVG's own pixels
MAX_PIXELS = 100_000_000  # more take gigabytes of memory
PAGE = Path(__file__).parent / "page.typ"
SVG = "http://www.w3.org/2000/svg"
LOOK = ("x", "y", "fill", "font-size", "font-weight", "text-anchor")


def render_png(tree: RstTree, *, scale: float = 2.0, **options: Any) -> bytes:
    """Draw the classic RST diagram as a bitmap.

    tree (RstTree): The tree.
    scale (float): Pixels of the bitmap per pixel of the SVG.
    **options: Passed on to `render_svg`.
    RETURNS (bytes): The content of a PNG file.
    RAISES (RstError): If the library is not installed, or the picture would be too large.
    """
    svg = ElementTree.fromstring(render_svg(tree, **options))
    width, height = int(svg.attrib["width"]), int(svg.attrib["height"])
    is_number = isinstance(scale, int | float)
    if not is_number or not scale > 0 or not width * height * scale**2 <= MAX_PIXELS:
        largest = int((MAX_PIXELS / (width * height)) ** 0.5 * 100) / 100
        wanted = f"a number above 0 and up to {largest}, or draw a PDF or SVG"
        raise RstError(Errors.R300.format(name="scale", value=scale, wanted=wanted))
    return _typeset(svg, "png", ppi=DOTS_PER_INCH * scale)


def render_pdf(tree: RstTree, **options: Any) -> bytes:
    """Draw the classic RST diagram as one page of its own size.

    tree (RstTree): The tree.
    **options: Passed on to `render_svg`.
    RETURNS (bytes): The content of a PDF file.
    RAISES (RstError): If the library is not installed.
    """
    return _typeset(ElementTree.fromstring(render_svg(tree, **options)), "pdf")


def _typeset(svg: Element, file_format: str, **options: Any) -> bytes:
    with require_extra("typst", "pictures"):
        typst = import_module("typst")
    texts = json.dumps(_take_texts(svg, {}))
    picture = ElementTree.tostring(svg, encoding="unicode")
    inputs = {"picture": picture, "texts": texts}
    content: bytes = typst.compile(PAGE, format=file_format, sys_inputs=inputs, **options)
    return content


def _take_texts(element: Element, inherited: dict[str, str]) -> list[dict[str, str]]:
    """Take the texts out of a picture; return each with its place and look."""
    own = {name: value for name, value in element.attrib.items() if name in LOOK}
    look = {**inherited, **own}
    texts = [text for child in element for text in _take_texts(child, look)]
    if element.tag in (f"{{{SVG}}}text", f"{{{SVG}}}tspan") and element.text:
        texts.append({**look, "content": element.text})
    for child in element.findall(f"{{{SVG}}}text"):
        element.remove(child)
    return texts
