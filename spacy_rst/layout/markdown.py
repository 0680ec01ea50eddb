"""Read Markdown: its text without marks, block by block."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .blocks import CODE, HEADING, ITEM, QUOTATION, ROW, Layout
from .html import write_html
from .writer import Container, LayoutWriter

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
FRONT_MATTER = re.compile(r"---\r?\n.*?^(?:---|\.\.\.)[^\S\n]*$", re.DOTALL | re.MULTILINE)
# What follows the text of a link or an image: "](place "title")", "][name]" or "]".
LINK_END = re.compile(
    r"""\](?:\(\s*(?:<[^<>\n]*>|(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*)"""
    r"""(?:\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?\s*\)|\[[^\]]*\])?""",
    re.DOTALL,
)


def read_markdown(source: str) -> Layout:
    """Read Markdown: CommonMark with tables and strikethrough."""
    start, end = len(source) - len(source.lstrip()), len(source.rstrip())
    front_matter = FRONT_MATTER.match(source, start)
    return _MarkdownReader(source, front_matter.end() if front_matter else start, end).read()


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Without text_join, escaped characters and entities remain tokens that know their source.
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")


class _MarkdownReader:
    """Writes the blocks of Markdown. Its tokens know their lines; the rest is found in these."""

    def __init__(self, source: str, start: int, end: int) -> None:
        self._source = source
        self._content = source[start:end]
        self._line_starts = [line.start() for line in LINE.finditer(source, start)]
        self._writer = LayoutWriter()
        self._containers = [Container()]
        self._row_position = self._row_end = 0

    def read(self) -> Layout:
        for token in _parser().parse(self._content):
            self._read_token(token)
        return self._writer.layout()

    def _read_token(self, token: Token) -> None:
        if token.type in ("list_item_open", "blockquote_open", "heading_open", "tr_open"):
            self._containers.append(self._make_container(token))
        elif token.type in ("list_item_close", "blockquote_close", "heading_close", "tr_close"):
            self._containers.pop()
        elif token.type in ("th_open", "td_open"):
            self._writer.space("\t")
            return
        elif token.type == "inline":
            self._write_inline(token)
            return
        elif token.type in ("fence", "code_block"):
            self._write_code(token)
        elif token.type == "html_block":
            start, _ = self._line_range((token.map or [0])[0])
            write_html(token.content, self._writer, self._containers[-1], start)
        if token.type not in ("th_close", "td_close"):
            self._writer.begin(self._containers[-1])

    def _make_container(self, token: Token) -> Container:
        if token.type == "heading_open":
            return Container(HEADING, int(token.tag[1:]))
        if token.type == "tr_open":
            self._row_position, self._row_end = self._line_range((token.map or [0])[0])
            return Container(ROW)
        kind = ITEM if token.type == "list_item_open" else QUOTATION
        return Container(kind, 1 + sum(outer.kind == kind for outer in self._containers))

    def _write_code(self, token: Token) -> None:
        first = (token.map or [0])[0] + (token.type == "fence")
        lines = token.content.splitlines(keepends=True)
        self._writer.begin(Container(CODE))
        for number, line in enumerate(lines, start=first):
            start = self._find_in_line(line.rstrip("\n"), number)
            self._writer.write_verbatim(line, start, start + len(line))

    def _find_in_line(self, text: str, number: int) -> int:
        """Find what is left of a line when the marks in front of it are taken off."""
        start, end = self._line_range(number)
        return max(self._source.rfind(text, start, end), start)

    def _line_range(self, number: int) -> tuple[int, int]:
        starts = [*self._line_starts[number : number + 2], len(self._source), len(self._source)]
        return starts[0], starts[1]

    def _write_inline(self, token: Token) -> None:
        lines = token.content.split("\n")
        if self._containers[-1].kind == ROW:
            starts = [self._find_cell(token.content)]
        else:
            first = (token.map or [0])[0]
            starts = [self._find_in_line(line, first + n) for n, line in enumerate(lines)]
        _InlineWriter(token.content, starts, self._writer).write(token.children or [])

    def _find_cell(self, content: str) -> int:
        for written in (content, content.replace("|", "\\|")):
            start = self._source.find(written, self._row_position, self._row_end)
            if start >= 0:
                self._row_position = start + len(written)
                return start
        return self._row_position


class _InlineWriter:
    """Writes the text of one paragraph, heading or cell, of which each line starts somewhere in
    the source."""

    def __init__(self, content: str, starts: Sequence[int], writer: LayoutWriter) -> None:
        self._content = content.replace("\n", " ")  # as it is in code that goes over lines
        self._starts = starts
        self._writer = writer
        lengths = [len(line) + 1 for line in content.split("\n")]
        self._line_starts = [0, *accumulate(lengths[:-1])]
        self._position = 0

    def write(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            if token.type == "text":
                self._write(token.content, token.content)
            elif token.type == "text_special":
                self._write(token.content, token.markup)
            elif token.type == "code_inline":
                self._skip(token.markup)
                self._write(token.content, token.content)
                self._skip(token.markup)
            elif token.type == "softbreak":
                self._writer.space()
            elif token.type == "hardbreak":
                self._writer.space("\n")
            elif token.type == "html_inline":
                self._skip(token.content)
            elif token.type == "image":
                self._skip(f"![{token.content}")
                self._skip_link_end()
            elif token.type == "link_close" and token.markup != "autolink":
                self._skip_link_end()

    def _write(self, text: str, written: str) -> None:
        start = self._skip(written)
        end = max(start, self._position - 1)
        self._writer.write(text, self._source_offset(start), self._source_offset(end) + 1)

    def _skip(self, written: str) -> int:
        """Go behind the next place where something is written, and tell where it starts."""
        start = self._content.find(written, self._position)
        if start >= 0:
            self._position = start + len(written)
            return start
        return self._position

    def _skip_link_end(self) -> None:
        match = LINK_END.search(self._content, self._position)
        self._position = match.end() if match else self._position

    def _source_offset(self, position: int) -> int:
        line = min(bisect_right(self._line_starts, position), len(self._starts)) - 1
        return self._starts[line] + position - self._line_starts[line]
