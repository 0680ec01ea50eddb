"""Read CoNLL-U: the words of documents, their sentences and syntax, and DISRPT's EDU starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, RstError
from .files import in_file

SUFFIX = ".conllu"
N_TOKEN_COLUMNS = 10
EDU_START_MARKS = frozenset({"Seg=B-seg", "BeginSeg=Yes"})
NEW_DOCUMENT = re.compile(r"#\s*newdoc(?:[_ ]id)?\s*=\s*(.+)")
COMMENT = re.compile(r"#\s*(\w+)\s*=\s*(.+)")
TOKEN_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
EMPTY_NODE = re.compile(r"\d+\.\d+")
WORD_NUMBER = re.compile(r"[0-9]{1,9}")
NOT_A_TOKEN = (
    "is not a token: that has ten columns set apart by tabs, with its number in the first and the "
    "word in the second; the range of a multi-word token comes before its words"
)
NumberedLine = tuple[int, str]


class Written(NamedTuple):
    """A multi-word token as it stands in the text, and the number of its words."""

    form: str
    space_after: bool
    n_words: int


class Word(NamedTuple):
    """A syntactic word, with the columns UPOS, HEAD and DEPREL as they stand in the file."""

    form: str
    space_after: bool
    starts_edu: bool
    comments: Mapping[str, str] | None  # on the sentence that it begins; None inside a sentence
    written: Written | None  # the multi-word token that it is the first word of
    pos: str
    head: int | None  # the number of its head in the sentence, from 1; 0 for a root
    dep: str

    @property
    def starts_sentence(self) -> bool:
        """Whether it is the first of a sentence."""
        return self.comments is not None


def read_words(path: Path) -> Iterator[tuple[str, list[Word] | RstError]]:
    """Read the name and the words of each document, or the first problem it has. A file without
    `# newdoc id = ...` is one document with the file's name."""
    name, is_named = path.stem, False
    words: list[Word] = []
    problem: RstError | None = None
    for lines in _blocks(numbered_lines(path)):
        new_document = NEW_DOCUMENT.match(lines[0][1])
        if new_document:
            if is_named or words or problem:
                yield name, problem or words
            name, words, problem, is_named = new_document[1].strip(), [], None, True
        try:
            words += _read_sentence(lines)
        except ValueError as error:
            message = Errors.R143.format(line=error, source=path, problem=NOT_A_TOKEN)
            problem = problem or RstError(message)
    if is_named or words or problem:
        yield name, problem or words


def numbered_lines(path: Path) -> Iterator[NumberedLine]:
    """Number the lines of a file from 1, reading one at a time."""
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\n")
        except UnicodeDecodeError as error:
            raise in_file(error, path) from error


def _blocks(lines: Iterable[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Divide a file into sentences: at blank lines, and where a document begins."""
    block: list[NumberedLine] = []
    for number, line in lines:
        is_blank = not line.strip()
        if block and (is_blank or NEW_DOCUMENT.match(line)):
            yield block
            block = []
        if not is_blank:
            block.append((number, line))
    if block:
        yield block


class _Row(NamedTuple):
    """A line about a word, or about a token of several words, whose numbers it gives."""

    line: int
    first: int
    last: int
    columns: list[str]

    @property
    def space_after(self) -> bool:
        return "SpaceAfter=No" not in self.columns[9].split("|")

    def to_word(self, comments: Mapping[str, str] | None, token: _Row | None) -> Word:
        """Make a word, which may be the first of a multi-word token."""
        _, form, _, pos, _, _, head, dep, _, misc = self.columns
        return Word(
            form,
            self.space_after,
            not EDU_START_MARKS.isdisjoint(misc.split("|")),
            comments,
            token and Written(token.columns[1], token.space_after, token.last - token.first + 1),
            pos,
            int(head) if WORD_NUMBER.fullmatch(head) else None,
            dep,
        )


def _read_sentence(lines: Sequence[NumberedLine]) -> list[Word]:
    """Read the words of a sentence. A line that is not a token raises its number."""
    found = (COMMENT.match(line) for _, line in lines)
    comments = {match[1]: match[2].strip() for match in found if match}
    words: list[Word] = []
    token, is_awaited, last_word = _Row(0, 0, 0, [""]), False, 0
    for row in _rows(lines):
        if "-" not in row.columns[0]:
            if is_awaited and row.first != token.first:
                raise ValueError(row.line)
            words.append(row.to_word(None if words else comments, token if is_awaited else None))
            is_awaited, last_word = False, row.first
        elif is_awaited or not _shares_last_word(token, row):
            if is_awaited or not token.last < row.first <= row.last:
                raise ValueError(row.line)
            token, is_awaited = row, True
    if token.last > last_word:
        raise ValueError(token.line)
    return words


def _rows(lines: Iterable[NumberedLine]) -> Iterator[_Row]:
    for number, line in lines:
        columns = line.split("\t")
        if line.startswith("#") or EMPTY_NODE.fullmatch(columns[0]):
            continue
        position = TOKEN_RANGE.fullmatch(columns[0])
        if position is None or len(columns) != N_TOKEN_COLUMNS or not columns[1].strip():
            raise ValueError(number)
        yield _Row(number, int(position[1]), int(position[2] or position[1]), columns)


def _shares_last_word(token: _Row, following: _Row) -> bool:
    """Whether a multi-word token goes on with the last word of the one before: STAC writes
    "things'll've" as "things'll" and "'ll've"."""
    if not following.first == token.last < following.last:
        return False
    form = following.columns[1]
    return any(token.columns[1].endswith(form[:size]) for size in range(1, len(form)))
