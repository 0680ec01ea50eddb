"""Blocks of a text, and the way back from a text to the source it was read from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

from ..errors import Errors, RstError

PARAGRAPH = "paragraph"
HEADING = "heading"
ITEM = "item"
QUOTATION = "quotation"
CAPTION = "caption"
ROW = "row"
CODE = "code"
TURN = "turn"
KINDS = (PARAGRAPH, HEADING, ITEM, QUOTATION, CAPTION, ROW, CODE, TURN)


class Block(NamedTuple):
    """A part of a text that is set apart from what stands before and after it.

    The blocks of a text lie side by side: in order, without overlap, nothing but white space
    between them. What lies inside of another thing is a block of the innermost kind. A list or a
    table is a run of items or rows.

    start (int): Where it starts, in characters.
    end (int): Where it ends.
    kind (str): One of `KINDS`.
    level (int): Of a heading: its rank, 1 for the highest. Of an item or a quotation: how deep it
        is nested, 1 for the outermost. 0 elsewhere.
    speaker (Optional[str]): Who says it, where that is known.
    continues (bool): Whether it is a further paragraph of the item, quotation or turn that an
        earlier block began.
    """

    start: int
    end: int
    kind: str
    level: int = 0
    speaker: str | None = None
    continues: bool = False


class Segment(NamedTuple):
    """A stretch `start:end` of a text and the stretch of the source that it comes from. Where both
    are equally long, they correspond character by character."""

    start: int
    end: int
    source_start: int
    source_end: int

    @property
    def is_verbatim(self) -> bool:
        """Whether text and source correspond character by character."""
        return self.end - self.start == self.source_end - self.source_start


@dataclass(frozen=True)
class Layout:
    """A text with its blocks.

    text (str): The text to parse.
    blocks (Sequence[Block]): Its blocks; none where the layout is unknown.
    segments (Sequence[Segment]): Where the text comes from, in order.
    """

    text: str
    blocks: Sequence[Block]
    segments: Sequence[Segment]

    @classmethod
    def verbatim(cls, text: str, blocks: Iterable[Block]) -> Self:
        """RETURNS (Layout): The layout of a text that is its own source."""
        return cls(text, tuple(blocks), (Segment(0, len(text), 0, len(text)),))

    @cached_property
    def _starts(self) -> list[int]:
        return [segment.start for segment in self.segments]

    def source_offset(self, position: int) -> int:
        """Find a position of the text in the source. A break that the reader wrote stands where
        the text before it ends."""
        number = bisect_right(self._starts, position) - 1
        if number < 0:
            return 0
        segment = self.segments[number]
        if position >= segment.end:
            return segment.source_end
        return min(segment.source_start + position - segment.start, segment.source_end)

    def source_range(self, start: int, end: int) -> tuple[int, int]:
        """Find the start and end in the source of a stretch of the text, with the marks and tags
        inside of it."""
        source_start = self.source_offset(start)
        if end <= start:
            return source_start, source_start
        last = self.segments[max(bisect_right(self._starts, end - 1) - 1, 0)]
        source_end = last.source_end if end >= last.end else self.source_offset(end)
        return source_start, max(source_start, source_end)


def check_blocks(text: str, blocks: Sequence[Block]) -> None:
    """Check that blocks, if there are any, are of known kinds, lie side by side and cover a
    text."""
    covered = 0
    for block in blocks:
        place = f"the block {block.start}:{block.end}"
        if block.kind not in KINDS:
            raise _misfit(f"{place} is of the kind {block.kind!r}")
        if not block.start < block.end <= len(text):
            raise _misfit(f"{place} is empty or does not lie in the text")
        if block.start < covered:
            raise _misfit(f"{place} overlaps the one before it")
        _check_gap(text, covered, block.start)
        covered = block.end
    _check_gap(text, covered, len(text) if blocks else 0)


def _check_gap(text: str, start: int, end: int) -> None:
    gap = text[start:end].strip()
    if gap:
        raise _misfit(f"{gap[:40]!r} belongs to no block")


def _misfit(problem: str) -> RstError:
    return RstError(Errors.R032.format(problem=problem, kinds=", ".join(KINDS)))
