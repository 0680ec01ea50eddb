"""Where everything in the classic RST diagram goes, in pixels; how it looks is left to others.

Every span has a horizontal line as wide as its EDUs, one row below the line of its parent. No
label reaches beyond the line of the span it belongs to, so that labels cannot meet.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, east_asian_width

from ..tree import RstNode, edu_text
from .characters import clean_text, is_right_to_left

if TYPE_CHECKING:
    from ..tree import RstTree

FONT_SIZE = 12
LABEL_SIZE = 11
LINE_HEIGHT = 15
ROW_HEIGHT = 62
GAP = 14
MARGIN = 16
PADDING = 7
MIN_BOX_WIDTH = 64
RANGE_DEPTH = 18  # from a line to the end of the numbers below it
GROUP_DEPTH = 33  # the same with a multinuclear relation below the numbers
NUMBER_HEIGHT = 13  # of the number in a box
ARC_HEIGHT = 20
ARC_LABEL_LIFT = 25  # from a line up to the label of the arc that ends there
MAX_LABEL_DISTANCE = 130  # keeps the label of a long arc in sight of its satellite
ELLIPSIS = "…"
NOT_DRAWN = -1


class EduBox(NamedTuple):
    """The text of an EDU, in a box centred on `x`, at or below the line of the EDU at `line_y`."""

    node: RstNode
    x: int
    width: int
    line_y: int
    top: int
    height: int
    text: WrappedText


class SpanLine(NamedTuple):
    """The line above a node from `left` to `right`; it hangs at `x`."""

    node: RstNode
    left: int
    right: int
    x: int
    y: int


class Label(NamedTuple):
    """A relation's name, centred on `x` with its baseline at `y`."""

    text: str
    x: int
    y: int


class SatelliteArc(NamedTuple):
    """The arc between the lines of a satellite and its nucleus. `node` is their parent, whose line
    a vertical line joins to the nucleus from `top` down to `y`."""

    node: RstNode
    satellite: RstNode
    nucleus: RstNode
    satellite_x: int
    nucleus_x: int
    top: int
    y: int
    label: Label


class NucleusGroup(NamedTuple):
    """A multinuclear relation: lines from (`x`, `top`) to each of `nuclei_x` at `y`."""

    node: RstNode
    nuclei: tuple[RstNode, ...]
    x: int
    top: int
    nuclei_x: tuple[int, ...]
    y: int
    label: Label


class Diagram(NamedTuple):
    """The whole picture."""

    width: int
    height: int
    boxes: tuple[EduBox, ...]
    lines: tuple[SpanLine, ...]
    arcs: tuple[SatelliteArc, ...]
    groups: tuple[NucleusGroup, ...]


def lay_out(
    tree: RstTree,
    edu_width: int,
    max_edu_chars: int | None = None,
    align_edus: bool = True,
    mirror: bool = False,
) -> Diagram:
    """Compute the places of all parts of the diagram in linear time. See `render_svg`."""
    children = _flattened_children(tree)
    rows = _rows(children)
    texts = [wrap_text(edu_text(e), edu_width - 2 * PADDING, max_edu_chars) for e in tree.edus]
    widths = _box_widths(tree, texts, edu_width)
    lefts, total_width = _place_boxes(widths, mirror)
    centers = [left + width // 2 for left, width in zip(lefts, widths, strict=True)]
    xs = _hanging_points(tree, children, centers)
    bottom_row_top = MARGIN + max(rows) * ROW_HEIGHT
    boxes, lines, arcs, groups = [], [], [], []
    for node, below, row, x in zip(tree, children, rows, xs, strict=True):
        if row == NOT_DRAWN:
            continue
        y = MARGIN + row * ROW_HEIGHT
        first, last = (node.end - 1, node.start) if mirror else (node.start, node.end - 1)
        line = SpanLine(node, lefts[first], lefts[last] + widths[last], x, y)
        lines.append(line)
        if node.is_leaf:
            text, top = texts[node.start], bottom_row_top if align_edus else y
            height = NUMBER_HEIGHT + len(text.lines) * LINE_HEIGHT + PADDING
            boxes.append(EduBox(node, x, widths[node.start], y, top, height, text))
        elif node.nuclearity == "NN":
            groups.append(_lay_out_group(line, below, [xs[child.index] for child in below]))
        else:
            arcs.append(_lay_out_arc(line, xs))
    height = max(box.top + box.height for box in boxes) + MARGIN
    return Diagram(total_width, height, tuple(boxes), tuple(lines), tuple(arcs), tuple(groups))


def _flattened_children(tree: RstTree) -> list[list[RstNode]]:
    """List the children of each node as drawn: right-branching nuclei of one and the same relation
    become children of the topmost node, and the nodes between are left without any."""
    owners = list(range(2 * len(tree) - 1))
    children: list[list[RstNode]] = [[] for _ in owners]
    for parent in tree.find():
        owner = owners[parent.index]
        for child in parent.children:
            is_right = child.start != parent.start
            if is_right and child.nuclearity == "NN" and child.label == parent.label:
                owners[child.index] = owner
            else:
                children[owner].append(child)
    return children


def _rows(children: list[list[RstNode]]) -> list[int]:
    """Number the rows from the top."""
    rows = [0] + [NOT_DRAWN] * (len(children) - 1)
    for row, below in zip(rows, children, strict=True):
        for child in below:
            rows[child.index] = row + 1
    return rows


def _box_widths(tree: RstTree, texts: list[WrappedText], edu_width: int) -> list[int]:
    """Make each box as wide as its text. The narrowest must leave room for the longest label: on
    an arc between two of them that is the width of one box and a half."""
    relations = {node.relation or "" for node in tree.find()}
    longest = max((_clean_label(relation)[1] for relation in relations), default=0)
    narrowest = min(max(MIN_BOX_WIDTH, (longest + PADDING) * 2 // 3), edu_width)
    # Even, so that the middle of a box is a whole number.
    return [(max(text.width + 2 * PADDING, narrowest) + 1) // 2 * 2 for text in texts]


def _place_boxes(widths: list[int], mirror: bool) -> tuple[list[int], int]:
    """Set the boxes side by side; return their left edges and the width of the picture."""
    *lefts, end = accumulate(widths, lambda x, width: x + width + GAP, initial=MARGIN)
    total = end - GAP + MARGIN
    if mirror:
        lefts = [total - left - width for left, width in zip(lefts, widths, strict=True)]
    return lefts, total


def _hanging_points(
    tree: RstTree, children: list[list[RstNode]], box_centers: list[int]
) -> list[int]:
    """Hang each span above its nucleus, or in the middle above several."""
    xs = [0] * len(children)
    for node, below in zip(reversed(list(tree)), reversed(children), strict=True):
        if node.nuclearity == "NN" and below:
            xs[node.index] = (xs[below[0].index] + xs[below[-1].index]) // 2
        elif node.nucleus is not None:
            xs[node.index] = xs[node.nucleus.index]
        else:
            xs[node.index] = box_centers[node.start]
    return xs


def _lay_out_group(line: SpanLine, nuclei: list[RstNode], nuclei_x: list[int]) -> NucleusGroup:
    text, _ = _fit_label(line.node, 2 * min(line.x - line.left, line.right - line.x))
    top, y = line.y + GROUP_DEPTH, line.y + ROW_HEIGHT
    label = Label(text, line.x, top - 5)
    return NucleusGroup(line.node, tuple(nuclei), line.x, top, tuple(nuclei_x), y, label)


def _lay_out_arc(line: SpanLine, xs: list[int]) -> SatelliteArc:
    satellite, nucleus = line.node.satellite, line.node.nucleus
    assert satellite is not None and nucleus is not None
    start, end = xs[satellite.index], xs[nucleus.index]
    left, right = (line.left, end - PADDING) if start < end else (end + PADDING, line.right)
    text, width = _fit_label(line.node, right - left)
    half = (width + 1) // 2
    distance = max(-MAX_LABEL_DISTANCE, min((end - start) // 2, MAX_LABEL_DISTANCE))
    x = max(left + half, min(start + distance, right - half))
    top, y = line.y + RANGE_DEPTH, line.y + ROW_HEIGHT
    label = Label(text, x, y - ARC_LABEL_LIFT)
    return SatelliteArc(line.node, satellite, nucleus, start, end, top, y, label)


# Widths are estimates, on the safe side: the font is only known where the picture is shown.
_EM_WIDTHS = (
    {char: 0.31 for char in "iljI|!.,:;'` "}
    | {char: 0.42 for char in 'ftr()[]{}/\\-"'}
    | {char: 0.98 for char in "mwMW@%"}
)


@lru_cache(maxsize=8192)
def _em_width(char: str) -> float:
    if char in _EM_WIDTHS:
        return _EM_WIDTHS[char]
    kind = category(char)
    if kind in ("Mn", "Me", "Cf"):
        return 0.0
    if east_asian_width(char) in ("W", "F"):
        return 1.02
    return 0.72 if kind == "Lu" else 0.6


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Estimate the width of a clean text in pixels."""
    return size * sum(map(_em_width, text))


@lru_cache(maxsize=4096)
def _clean_label(relation: str) -> tuple[str, int]:
    """Return a relation's name as it is drawn, and its width."""
    text = clean_text(relation)
    return text, ceil(text_width(text, LABEL_SIZE))


def _fit_label(node: RstNode, room: int) -> tuple[str, int]:
    """Return the name of a node's relation, cut where there is no room for it, and its width."""
    text, full_width = _clean_label(node.relation or "")
    if full_width <= room:
        return text, full_width
    ends = list(accumulate(text_width(char, LABEL_SIZE) for char in ELLIPSIS + text))
    kept = max(bisect_right(ends, room) - 1, 0)
    return text[:kept] + ELLIPSIS, ceil(ends[kept])


class WrappedText(NamedTuple):
    """The text of an EDU as it is drawn."""

    lines: tuple[str, ...]
    width: int
    right_to_left: bool
    shortened: bool


def wrap_text(text: str, max_width: int, max_chars: int | None = None) -> WrappedText:
    """Break a text into lines: at spaces, between the characters of scripts without spaces, and
    within words that are too long for a line. The width is that of a line in pixels."""
    text = clean_text(text)
    shortened = max_chars is not None and len(text) > max_chars
    if shortened:
        text = text[:max_chars].rstrip() + ELLIPSIS
    lines, widths, space_width = [""], [0.0], text_width(" ")
    for word in text.split(" "):
        space = " " if lines[-1] else ""
        for piece, piece_width in _unbreakable_pieces(word, max_width):
            added = len(space) * space_width + piece_width
            if lines[-1] and widths[-1] + added > max_width:
                lines.append(piece)
                widths.append(piece_width)
            else:
                lines[-1] += space + piece
                widths[-1] += added
            space = ""
    return WrappedText(tuple(lines), ceil(max(widths)), is_right_to_left(text), shortened)


def _unbreakable_pieces(word: str, max_width: int) -> list[tuple[str, float]]:
    """Cut a word where a line may end; return the pieces and their widths."""
    width = text_width(word)
    if word.isascii() and width <= max_width:
        return [(word, width)]
    pieces, piece, width = [], "", 0.0
    for char in word:
        char_width = text_width(char)
        if piece and (width + char_width > max_width or _may_break(piece[-1], char)):
            pieces.append((piece, width))
            piece, width = "", 0.0
        piece, width = piece + char, width + char_width
    pieces.append((piece, width))
    return pieces


def _may_break(before: str, after: str) -> bool:
    """Tell whether a line may end between two characters: beside a Chinese or Japanese one, but
    not before closing punctuation or a combining mark, nor after an opening bracket."""
    if "W" not in (east_asian_width(before), east_asian_width(after)):
        return False
    stays_with_previous = category(after) in ("Pe", "Pf", "Po", "Mn", "Me", "Cf")
    return not stays_with_previous and category(before) not in ("Ps", "Pi")
