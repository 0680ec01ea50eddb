"""Write the text of a document block by block, and keep where each piece comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .blocks import PARAGRAPH, Block, Layout, Segment
from .turns import mark_turns

BLOCK_BREAK = "\n\n"
WORD_OR_SPACE = re.compile(r"\S+|\s+")


@dataclass
class Container:
    """What blocks lie in: an item, a quotation, or the document itself. It is begun once a block
    of it was written."""

    kind: str = PARAGRAPH
    level: int = 0
    is_begun: bool = False


class LayoutWriter:
    """Collects blocks: `begin` says what comes, `write` adds to it, `layout` gives the result."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._segments: list[Segment] = []
        self._blocks: list[Block] = []
        self._container = Container()
        self._open: Block | None = None
        self._space = ""

    def begin(self, container: Container) -> None:
        """End the block before; what is written next is a block of the container."""
        if self._open is not None:
            self._blocks.append(self._open._replace(end=self._length))
        self._open, self._space, self._container = None, "", container

    def write(self, text: str, source_start: int, source_end: int) -> None:
        """Add text to the block, with single spaces between words."""
        is_verbatim = len(text) == source_end - source_start
        for match in WORD_OR_SPACE.finditer(text):
            word = match[0]
            if word.isspace():
                self._space = self._space or " "
            elif is_verbatim:
                start = source_start + match.start()
                self._add_word(word, start, start + len(word))
            else:
                self._add_word(word, source_start, source_end)

    def write_verbatim(self, text: str, source_start: int, source_end: int) -> None:
        """Add text with its white space as it is, but for that around the whole block."""
        is_verbatim = len(text) == source_end - source_start
        start = len(text) - len(text.lstrip()) if self._open is None else 0
        end = len(text.rstrip())
        if start < end and is_verbatim:
            self._add_word(text[start:end], source_start + start, source_start + end)
        elif start < end:
            self._add_word(text[start:end], source_start, source_end)
        self._space += text[end:]

    def space(self, space: str = " ") -> None:
        """Separate what was written from what follows in the same block. A tab or line break
        replaces a space."""
        if space != " " or not self._space:
            self._space = space

    def layout(self) -> Layout:
        """Give what was written."""
        self.begin(Container())
        text = "".join(self._pieces)
        return Layout(text, tuple(mark_turns(text, self._blocks)), tuple(self._segments))

    def _add_word(self, word: str, source_start: int, source_end: int) -> None:
        is_first = self._open is None
        if is_first:
            self._open_block()
        else:
            self._add(self._space)
        self._space = ""
        self._add(word)
        segment = Segment(self._length - len(word), self._length, source_start, source_end)
        if is_first or not self._extend_last(segment):
            self._segments.append(segment)

    def _open_block(self) -> None:
        self._add(BLOCK_BREAK if self._blocks else "")
        container = self._container
        continues = container.is_begun and container.kind != PARAGRAPH
        start = self._length
        self._open = Block(start, start, container.kind, container.level, None, continues)
        container.is_begun = True

    def _extend_last(self, segment: Segment) -> bool:
        """Join a segment to the last where text and source have as much between them."""
        last = self._segments[-1]
        is_one = (
            last.is_verbatim
            and segment.is_verbatim
            and segment.start - last.end == segment.source_start - last.source_end
        )
        if is_one:
            self._segments[-1] = last._replace(end=segment.end, source_end=segment.source_end)
        return is_one

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
