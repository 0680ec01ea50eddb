"""The classic RST diagram as SVG: self-contained, and safe for texts from anywhere."""

from __future__ import annotations

from html import escape
from math import hypot
from typing import TYPE_CHECKING

from . import check_at_least
from .characters import clean_text, is_right_to_left
from .colors import relation_color
from .geometry import (
    ARC_HEIGHT,
    FONT_SIZE,
    LABEL_SIZE,
    LINE_HEIGHT,
    MIN_BOX_WIDTH,
    NUMBER_HEIGHT,
    PADDING,
    RANGE_DEPTH,
    Diagram,
    EduBox,
    Label,
    NucleusGroup,
    SatelliteArc,
    SpanLine,
    lay_out,
)

if TYPE_CHECKING:
    from ..tree import RstNode, RstTree

FONTS = "Helvetica, Arial, 'Noto Sans', 'Noto Sans CJK SC', sans-serif"
INK, FAINT, PAPER, BOX_FILL, BOX_EDGE = "#222", "#777", "#fff", "#f6f7f9", "#cfd4dc"
ARROW_LENGTH, ARROW_HALF_WIDTH, MAX_ARC_REACH = 8, 3.2, 80
MAX_SLANT = 600
RIGHT_TO_LEFT, END_OF_DIRECTION = "\u2067", "\u2069"


def render_svg(
    tree: RstTree,
    *,
    edu_width: int = 150,
    max_edu_chars: int | None = None,
    align_edus: bool = True,
    mirror: bool | None = None,
    title: str | None = None,
) -> str:
    """Draw the classic RST diagram.

    tree (RstTree): The tree.
    edu_width (int): Width in pixels at which the text of an EDU is wrapped.
    max_edu_chars (Optional[int]): Where to cut the text of an EDU off. Nowhere by default.
    align_edus (bool): Put all EDUs in one row at the bottom. If not, each hangs right below its
        line, which saves room in deep trees.
    mirror (Optional[bool]): Put the first EDU on the right. By default where the text is written
        from right to left.
    title (Optional[str]): What the picture is called for those who cannot see it.
    RETURNS (str): An `<svg>` element, which is also a complete file.
    """
    check_at_least("edu_width", edu_width, MIN_BOX_WIDTH)
    if max_edu_chars is not None:
        check_at_least("max_edu_chars", max_edu_chars, 1)
    if mirror is None:
        mirror = is_right_to_left(tree.root.text)
    diagram = lay_out(tree, edu_width, max_edu_chars, align_edus, mirror)
    if title is None:
        title = f"Rhetorical structure of {len(tree)} EDU{'s' if len(tree) > 1 else ''}"
    return _draw_diagram(diagram, _escape(title))


def _draw_diagram(diagram: Diagram, title: str) -> str:
    width, height, boxes, lines, arcs, groups = diagram
    raised = [box for box in boxes if box.top > box.line_y]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{title}" '
        f'font-family="{FONTS}" font-size="{FONT_SIZE}">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        f'<g fill="none" stroke="{FAINT}" stroke-dasharray="1 3">',
        *(f'<path class="stem" d="M{b.x} {b.line_y + RANGE_DEPTH}V{b.top}"/>' for b in raised),
        f'</g>\n<g fill="{INK}">',
        *map(_draw_box, boxes),
        f'</g>\n<g fill="none" stroke="{INK}" stroke-width="1.3">',
        *(f'<path class="span" d="M{line.left} {line.y}H{line.right}"/>' for line in lines),
        *(f'<path class="nucleus" d="M{arc.nucleus_x} {arc.top}V{arc.y}"/>' for arc in arcs),
        f'</g>\n<g fill="{FAINT}" font-size="{LABEL_SIZE}" text-anchor="middle">',
        *(_draw_range(line) for line in lines if not line.node.is_leaf),
        *(f'<text x="{b.x}" y="{b.line_y + 13}">{b.node.start + 1}</text>' for b in raised),
        f'</g>\n<g stroke-width="1.3" font-size="{LABEL_SIZE}" text-anchor="middle">',
        *map(_draw_arc, arcs),
        *map(_draw_group, groups),
        "</g>\n</svg>",
    ]
    return "\n".join(parts)


def _draw_box(box: EduBox) -> str:
    left, baseline = box.x - box.width // 2, box.top + NUMBER_HEIGHT + FONT_SIZE
    x, anchor, lines = left + PADDING, "", box.text.lines
    if box.text.right_to_left:
        # Not all programs support the attribute "direction", but those that know such scripts
        # support these characters.
        lines = tuple(f"{RIGHT_TO_LEFT}{line}{END_OF_DIRECTION}" for line in lines)
        x, anchor = left + box.width - PADDING, ' text-anchor="end"'
    spans = "".join(
        f'<tspan x="{x}" y="{baseline + i * LINE_HEIGHT}">{escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    tooltip = f"<title>{_escape(box.node.text)}</title>" if box.text.shortened else ""
    return (
        f'<g class="edu">{tooltip}<rect x="{left}" y="{box.top}" width="{box.width}" '
        f'height="{box.height}" fill="{BOX_FILL}" stroke="{BOX_EDGE}"/>'
        f'<text x="{box.x}" y="{box.top + 12}" font-size="{LABEL_SIZE - 1}" font-weight="bold" '
        f'text-anchor="middle" fill="{FAINT}">{box.node.start + 1}</text>'
        f"<text{anchor}>{spans}</text></g>"
    )


def _draw_range(line: SpanLine) -> str:
    return f'<text class="range" x="{line.x}" y="{line.y + 13}">{_range(line.node)}</text>'


def _draw_arc(arc: SatelliteArc) -> str:
    color = relation_color(arc.node.relation or "").hex
    return (
        f'<g class="satellite">{_tooltip(arc.node, arc.satellite, arc.nucleus)}'
        f"{_draw_arrow(arc.satellite_x, arc.nucleus_x, arc.y, color)}"
        f"{_draw_label(arc.label, color)}</g>"
    )


def _draw_arrow(start_x: int, end_x: int, y: int, color: str) -> str:
    """Draw an arc that rises and falls in the same way however long it is, and its head."""
    toward = 1 if start_x < end_x else -1
    reach = min(abs(end_x - start_x) / 2, MAX_ARC_REACH) * toward
    top, shoulder = y - ARC_HEIGHT, y - 2 * ARC_HEIGHT / 3
    tip_x, tip_y = end_x - 3 * toward, y - 2
    step_x, step_y = reach / 3 - 3 * toward, tip_y - shoulder
    step_x, step_y = step_x / hypot(step_x, step_y), step_y / hypot(step_x, step_y)
    base_x, base_y = tip_x - ARROW_LENGTH * step_x, tip_y - ARROW_LENGTH * step_y
    wing_x, wing_y = -ARROW_HALF_WIDTH * step_y, ARROW_HALF_WIDTH * step_x
    return (
        f'<path class="arc" fill="none" stroke="{color}" d="M{start_x} {y}'
        f"C{start_x + reach / 3:.1f} {shoulder:.1f} {start_x + 2 * reach / 3:.1f} {top} "
        f"{start_x + reach:.1f} {top}H{end_x - reach:.1f}"
        f"C{end_x - 2 * reach / 3:.1f} {top} {end_x - reach / 3:.1f} {shoulder:.1f} "
        f'{base_x:.1f} {base_y:.1f}"/>'
        f'<path class="arrow" fill="{color}" d="M{tip_x} {tip_y}'
        f"L{base_x + wing_x:.1f} {base_y + wing_y:.1f} "
        f'{base_x - wing_x:.1f} {base_y - wing_y:.1f}Z"/>'
    )


def _draw_group(group: NucleusGroup) -> str:
    color = relation_color(group.node.relation or "").hex
    lines = "".join(
        f'<path class="conucleus" d="M{group.x} {group.top}{_bend(group.x, x)}L{x} {group.y}"/>'
        for x in group.nuclei_x
    )
    return (
        f'<g class="multinuclear">{_tooltip(group.node, *group.nuclei)}'
        f'<g fill="none" stroke="{color}">{lines}</g>{_draw_label(group.label, color)}</g>'
    )


def _bend(start_x: int, end_x: int) -> str:
    """Keep the lines to far nuclei level until shortly before they end: slanting all the way, they
    could not be told apart."""
    if abs(end_x - start_x) <= MAX_SLANT:
        return ""
    return f"H{end_x - MAX_ARC_REACH if start_x < end_x else end_x + MAX_ARC_REACH}"


def _draw_label(label: Label, color: str) -> str:
    text = escape(label.text)
    return f'<text class="relation" x="{label.x}" y="{label.y}" fill="{color}">{text}</text>'


def _tooltip(parent: RstNode, *children: RstNode) -> str:
    parts = ", ".join(f"{child.role} {_range(child)}" for child in children)
    score = "" if parent.score is None else f" (p = {parent.score.label:.2f})"
    return f"<title>{_escape(parent.relation or '')}{score}: {parts}</title>"


def _range(node: RstNode) -> str:
    return f"{node.start + 1}" if node.is_leaf else f"{node.start + 1}-{node.end}"


def _escape(text: str) -> str:
    return escape(clean_text(text))
