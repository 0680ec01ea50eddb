"""A tree in the terminal: one line per node, in the order of the text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..tree import RstNode, edu_text
from . import check_at_least
from .characters import clean_text, shorten
from .colors import relation_color
from .marks import ASCII_MARKS, UNICODE_MARKS, block_mark, find_blocks

if TYPE_CHECKING:
    from ..tree import RstTree

MIN_WIDTH = 40
GUIDE_CELLS = 3
# Room that indentation must leave for a folded depth, a role, a range and some of the relation.
MIN_CONTENT_CELLS = 34
PLAIN, BOLD, DIM = "", "1", "2"

Painter = Callable[[str, str], str]


class Symbols(NamedTuple):
    """The characters that the drawing itself is made of."""

    branch: str
    last_branch: str
    guide: str
    no_guide: str
    fold: str
    ellipsis: str
    unsafe: str
    arrows: dict[str, str]
    marks: dict[str, str]


UNICODE = Symbols(
    "├─ ", "└─ ", "│  ", "   ", "┆", "…", "\ufffd", {"NS": "N←S", "SN": "S→N", "NN": "N↔N"},
    UNICODE_MARKS,
)  # fmt: skip
ASCII = Symbols(
    "|- ", "`- ", "|  ", "   ", ":", "...", "?", {"NS": "N<-S", "SN": "S->N", "NN": "N<>N"},
    ASCII_MARKS,
)  # fmt: skip


def render_text(
    tree: RstTree,
    *,
    max_width: int | None = None,
    color: bool = False,
    ascii: bool = False,
    max_indent: int = 12,
) -> str:
    """Draw a tree for the terminal.

    An inner node shows its relation, the order of nucleus (N) and satellite (S), and its EDUs; a
    leaf shows its number, a mark where a block of the text begins with it, and its text. Each
    begins with its own role in its parent.

    tree (RstTree): The tree.
    max_width (Optional[int]): Cells per line, at least 40. The width of the terminal by default.
    color (bool): Use ANSI colours, one per relation class.
    ascii (bool): Draw with ASCII characters only; texts and relation names stay as they are.
    max_indent (int): Levels drawn as indentation. Deeper nodes stay at that indentation and show
        their depth as a number, so that the drawing grows linearly with the tree.
    RETURNS (str): The drawing, 2m-1 lines for m EDUs, without a final line break.
    """
    if max_width is None:
        max_width = max(MIN_WIDTH, shutil.get_terminal_size().columns)
    check_at_least("max_width", max_width, MIN_WIDTH)
    check_at_least("max_indent", max_indent, 0)
    max_indent = min(max_indent, (max_width - MIN_CONTENT_CELLS) // GUIDE_CELLS)
    symbols = ASCII if ascii else UNICODE
    paint = partial(_paint, color=color)
    blocks = find_blocks(tree)
    block = None
    guides = [""]
    lines = []
    for node in tree.nodes():
        lead = _lead(node, guides, max_indent, symbols)
        role = f"{node.role} " if node.role else ""
        room = max_width - len(lead) - len(role)
        if node.is_leaf:
            block = blocks.get(node.start, block)
            mark = f" {block_mark(block, symbols.marks)}" if block and node.start in blocks else ""
            look = BOLD if block and block.kind == "heading" else PLAIN
            content = _draw_leaf(node, mark, look, room, symbols, paint)
        else:
            content = _draw_inner(node, room, symbols, paint)
        painted_role = paint(role, BOLD if node.role == "N" else DIM)
        lines.append(paint(lead, DIM) + painted_role + content)
    return "\n".join(lines)


def _lead(node: RstNode, guides: list[str], max_indent: int, symbols: Symbols) -> str:
    """Draw what stands left of a node; `guides` holds the columns of the open branches by depth."""
    depth, parent = node.depth, node.parent
    if parent is None:
        return ""
    if depth > max_indent:
        return f"{guides[-1]}{symbols.fold}{depth} "
    is_last = node.start != parent.start
    del guides[depth:]
    above = guides[depth - 1]
    guides.append(above + (symbols.no_guide if is_last else symbols.guide))
    return above + (symbols.last_branch if is_last else symbols.branch)


def _draw_inner(node: RstNode, room: int, symbols: Symbols, paint: Painter) -> str:
    assert node.relation is not None and node.nuclearity is not None
    arrow, edus = symbols.arrows[node.nuclearity], f"[{node.start + 1}-{node.end}]"
    relation = clean_text(node.relation, symbols.unsafe)
    relation = shorten(relation, room - len(arrow) - len(edus) - 2, symbols.ellipsis)
    hue = str(relation_color(node.relation).ansi)
    return f"{paint(relation, f'{BOLD};{hue}')} {paint(arrow, hue)} {paint(edus, DIM)}"


def _draw_leaf(
    node: RstNode, mark: str, look: str, room: int, symbols: Symbols, paint: Painter
) -> str:
    number = f"[{node.start + 1}]{mark}"
    text = clean_text(edu_text(node.edus[0]), symbols.unsafe)
    text = shorten(text, room - len(number) - 1, symbols.ellipsis)
    return f"{paint(number, DIM)} {paint(text, look)}".rstrip()


def _paint(text: str, codes: str, color: bool) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if text and codes and color else text
