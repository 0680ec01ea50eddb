"""What the layout of a text adds to drawings: a mark at each EDU with which a block begins."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..layout import Block
    from ..tree import RstTree

UNICODE_MARKS = {
    "paragraph": "¶", "heading": "#", "item": "•", "quotation": "”", "caption": "▭", "row": "▤",
    "code": "`", "turn": "—",
}  # fmt: skip
ASCII_MARKS = {**UNICODE_MARKS, "paragraph": "P", "item": "*", "quotation": ">", "caption": "C"}
ASCII_MARKS |= {"row": "|", "turn": "-"}


def block_mark(block: Block, marks: dict[str, str] = UNICODE_MARKS) -> str:
    """Choose the mark of a block, repeated for the levels of headings and items. A further
    paragraph of an item, a quotation or a turn has that of a paragraph."""
    if block.continues:
        return marks["paragraph"]
    return marks[block.kind] * max(1, min(block.level, 6))


def find_blocks(tree: RstTree) -> dict[int, Block]:
    """Find the blocks of the text by the number of their first EDU: none where the tree is not on a
    Doc, the layout is unknown, or all is one block."""
    if isinstance(tree.edus[0], str):
        return {}
    from ..doc_layout import get_layout

    blocks = get_layout(tree.edus[0].doc) or []
    starts = [block.start for block in blocks]
    found: dict[int, Block] = {}
    previous = -1
    for number, edu in enumerate(tree.edus):
        assert not isinstance(edu, str)
        padding = len(edu.text) - len(edu.text.lstrip())
        current = bisect_right(starts, edu.start_char + padding) - 1
        if current != previous:
            found[number] = blocks[current]
        previous = current
    return found if len(found) > 1 else {}
