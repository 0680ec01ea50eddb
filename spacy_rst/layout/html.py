"""Read HTML: the text that a reader of the page sees, block by block."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from justhtml import JustHTML
from justhtml.dom import Node, Text

from .blocks import CAPTION, CODE, HEADING, ITEM, QUOTATION, ROW, Layout
from .writer import Container, LayoutWriter

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "menu", "dir", "dl"})
CELLS = frozenset({"td", "th"})
CAPTIONS = frozenset({"caption", "figcaption"})
# What stands apart from its surroundings, but is of the same kind as they are.
DIVISIONS = LISTS | {
    *("address", "article", "aside", "body", "center", "details", "dialog", "div", "fieldset"),
    *("figure", "footer", "form", "header", "hgroup", "hr", "html", "legend", "main", "p"),
    *("search", "section", "summary", "table", "tbody", "tfoot", "thead", "tr"),
}
# What a reader does not see, or what is not part of what the page says.
DROPPED = {
    *("head", "script", "style", "template", "noscript", "nav", "iframe", "object", "embed"),
    *("svg", "math", "canvas", "audio", "video", "map", "button", "input", "select", "textarea"),
    *("datalist", "progress", "meter", "rt", "rp"),
}
INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
# A table with these in it does not hold rows of data, but the parts of a page.
NOT_IN_ROWS = LISTS | HEADINGS.keys() | {"table", "blockquote", "pre", "figure", "article"}
# Where text and source may differ: entities, tags out of place, line ends.
UNLIKE_TEXT = re.compile(
    r"&(?:#[xX]?[0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);?|<[/!?A-Za-z][^>]*>?|\r\n?|\n|\0"
)
REFERENCE_START = re.compile(r"(&#\d*)(\D)")
REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class _Place:
    """What something stands in: a container, so many lists and quotations, a table of data."""

    container: Container
    list_depth: int = 0
    quote_depth: int = 0
    has_rows: bool = False

    def within(self, kind: str, level: int = 0) -> _Place:
        return replace(self, container=Container(kind, level))


def read_html(source: str) -> Layout:
    """Read an HTML page or a part of one."""
    writer = LayoutWriter()
    write_html(source.strip(), writer, Container(), len(source) - len(source.lstrip()))
    return writer.layout()


def write_html(source: str, writer: LayoutWriter, container: Container, offset: int = 0) -> None:
    """Write the blocks of HTML that starts at an offset of the whole document's source."""
    source = REFERENCE_START.sub(_without_odd_digit, source)
    page = JustHTML(source, sanitize=False, track_node_locations=True)
    places = [_Place(container)]
    for node, is_start in _walk(page.root):
        if isinstance(node, Text):
            is_code = places[-1].container.kind == CODE
            write = writer.write_verbatim if is_code else writer.write
            for piece, start, end in _align(node.data or "", source, node.origin_offset or 0):
                write(piece, offset + start, offset + end)
        elif is_start:
            places.append(_enter(node, places[-1], writer))
        else:
            left = places.pop()
            if left.container is not places[-1].container or node.name in DIVISIONS:
                _divide(writer, places[-1])


def _without_odd_digit(reference: re.Match[str]) -> str:
    """Replace a digit such as ², which the parser would take for a part of the number."""
    return reference[1] + (REPLACEMENT if reference[2].isdigit() else reference[2])


def _walk(root: Node) -> Iterator[tuple[Node | Text, bool]]:
    """Go through all that can be seen; elements come twice, at their start and at their end."""
    stack: list[tuple[Node | Text, bool]] = [(root, True)]
    while stack:
        node, is_start = stack.pop()
        if isinstance(node, Text):
            yield node, True
        elif not is_start:
            yield node, False
        elif node.name[:1] not in "!" and node.name != "#comment" and not _is_hidden(node):
            yield node, True
            stack.append((node, False))
            stack.extend((child, True) for child in reversed(node.children or ()))


def _is_hidden(node: Node) -> bool:
    attributes = node.attrs or {}
    return (
        node.name in DROPPED
        or "hidden" in attributes
        or (node.name == "dialog" and "open" not in attributes)
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") == "navigation"
        or INVISIBLE.search(attributes.get("style") or "") is not None
    )


def _enter(node: Node, place: _Place, writer: LayoutWriter) -> _Place:
    """Begin what an element is, and tell the place that its content has."""
    name = node.name
    if name == "br":
        writer.space("\n")
    elif name in CELLS and place.container.kind == ROW:
        writer.space("\t")
    elif name in DIVISIONS or name in CELLS:
        _divide(writer, place)
    entered = _place_inside(node, place)
    if entered.container is not place.container:
        writer.begin(entered.container)
    return entered


def _place_inside(node: Node, place: _Place) -> _Place:
    name = node.name
    if name in HEADINGS:
        return place.within(HEADING, HEADINGS[name])
    if name in CAPTIONS:
        return place.within(CAPTION)
    if name in LISTS:
        return replace(place, list_depth=place.list_depth + 1)
    if name in ("li", "dt", "dd"):
        item = Container(ITEM, max(place.list_depth, 1), is_begun=name == "dd")
        return replace(place, container=item)
    if name == "blockquote":
        depth = place.quote_depth + 1
        return replace(place.within(QUOTATION, depth), quote_depth=depth)
    if name == "table":
        return replace(place, has_rows=not _is_for_design(node))
    if name == "tr" and place.has_rows:
        return place.within(ROW)
    return place.within(CODE) if name == "pre" else place


def _divide(writer: LayoutWriter, place: _Place) -> None:
    """Begin a further block, but for headings and rows, which are one whatever is in them."""
    if place.container.kind in (HEADING, ROW):
        writer.space()
    else:
        writer.begin(place.container)


def _is_for_design(table: Node) -> bool:
    if (table.attrs or {}).get("role") == "presentation":
        return True
    inside = (node for node, is_start in _walk(table) if is_start and node is not table)
    return any(node.name in NOT_IN_ROWS for node in inside)


def _align(text: str, source: str, position: int) -> Iterator[tuple[str, int, int]]:
    """Find the text of a node in the source, piece by piece."""
    done = 0
    while done < len(text):
        unlike = UNLIKE_TEXT.search(source, position)
        end = unlike.start() if unlike else len(source)
        piece = text[done : done + end - position]
        if piece and source.startswith(piece, position):
            yield piece, position, position + len(piece)
            done += len(piece)
            position += len(piece)
        if unlike is None or position < end:
            break
        written = _unescape(unlike[0])
        if written and text.startswith(written, done):
            yield written, position, unlike.end()
            done += len(written)
        position = unlike.end()
    if done < len(text):
        yield text[done:], position, position


def _unescape(written: str) -> str:
    """What a reader sees of an entity or the end of a line."""
    if written[0] == "\r":
        return "\n"
    try:
        return html.unescape(written) if written[0] == "&" else written
    except ValueError:  # a number of thousands of digits
        return REPLACEMENT
