"""Read CoNLL-U: the words of documents, their sentences and syntax, and DISRPT's EDU starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, RstError

N_TOKEN_COLUMNS = 10
EDU_START_MARKS = frozenset({"Seg=B-seg", "BeginSeg=Yes"})
NEW_DOCUMENT = re.compile(r"#\s*newdoc(?:[_ ]id)?\s*=\s*(.+)")
SPEAKER = re.compile(r"#\s*speaker\s*=\s*(.+)")
TOKEN_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
EMPTY_NODE = re.compile(r"\d+\.\d+")
WORD_NUMBER = re.compile(r"[0-9]{1,9}")


class Written(NamedTuple):
    """A multi-word token as it stands in the text.

    form (str): The token.
    space_after (bool): Whether a space follows it.
    n_words (int): The number of its words.
    """

    form: str
    space_after: bool
    n_words: int


class Word(NamedTuple):
    """A syntactic word.

    form (str): The word.
    space_after (bool): Whether a space follows it.
    starts_edu (bool): Whether an EDU is marked to begin with it.
    starts_sentence (bool): Whether it is the first of a sentence.
    written (Written | None): The multi-word token that it is the first word of.
    pos (str): What the column UPOS says.
    head (int | None): The number of its head in the sentence, from 1; 0 for a root, None where the
        file does not say.
    dep (str): What the column DEPREL says.
    speaker (str | None): Who says the sentence that it begins, where the file tells.
    """

    form: str
    space_after: bool
    starts_edu: bool
    starts_sentence: bool
    written: Written | None = None
    pos: str = "_"
    head: int | None = None
    dep: str = "_"
    speaker: str | None = None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Number the lines of a file, reading one at a time.

    path (Path): The file.
    YIELDS (tuple[int, str]): Each line with its number, from 1.
    RAISES (RstError): If it is not UTF-8.
    """
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\n")
        except UnicodeDecodeError as error:
            raise RstError(Errors.R141.format(source=path, error=error)) from error


def read_words(path: Path) -> Iterator[tuple[str, list[Word] | RstError]]:
    """Read the words of one document after the other.

    path (Path): The file.
    YIELDS (tuple[str, list[Word] | RstError]): The name of each document with its words, or with
        the first problem it has.
    RAISES (RstError): If the file as a whole cannot be read.
    """
    name: str | None = None
    words: list[Word] = []
    problem: RstError | None = None
    sentence = _Sentence()
    for number, line in chain(lines_of(path), [(0, "")]):
        new_document, speaker = NEW_DOCUMENT.match(line), SPEAKER.match(line)
        if new_document or not line.strip():
            if sentence.lacks_words and problem is None:
                problem = _no_token(path, sentence.range_line, name)
            sentence = _Sentence()
        if new_document:
            if name is not None:
                yield name, problem or words
            name, words, problem = new_document[1].strip(), [], None
        elif speaker:
            sentence.speaker = speaker[1].strip()
        elif line.strip() and not line.startswith("#"):
            if name is None:
                raise RstError(Errors.R147.format(source=path, line=number))
            try:
                word = sentence.read(number, line.split("\t"))
                words += [] if word is None else [word]
            except ValueError:
                problem = problem or _no_token(path, number, name)
    if name is not None:
        yield name, problem or words


def _no_token(path: Path, line: int, name: str | None) -> RstError:
    return RstError(Errors.R146.format(source=path, line=line, doc=name))


@dataclass(slots=True)
class _Sentence:
    """Reads the tokens of a sentence, line by line."""

    last_word: int = 0
    range_line: int = 0
    range_start: int = 0
    range_end: int = 0
    range_form: str = ""
    written: Written | None = None
    starts: bool = True
    speaker: str | None = None

    @property
    def lacks_words(self) -> bool:
        """Whether the words of a multi-word token did not all come."""
        return self.range_end > self.last_word

    def _shares_last_word(self, first: int, last: int, form: str) -> bool:
        """Whether a multi-word token goes on with the last word of the one before: STAC writes
        "things'll've" as "things'll" and "'ll've"."""
        if self.written or not first == self.range_end < last:
            return False
        return any(self.range_form.endswith(form[:size]) for size in range(1, len(form)))

    def read(self, number: int, fields: list[str]) -> Word | None:
        """Read a line. A multi-word token gives no word, but waits for its first."""
        if EMPTY_NODE.fullmatch(fields[0]):
            return None
        position = TOKEN_RANGE.fullmatch(fields[0])
        if position is None or len(fields) != N_TOKEN_COLUMNS or not fields[1].strip():
            raise ValueError("not a token")
        first, last = int(position[1]), int(position[2] or position[1])
        marks = fields[9].split("|")
        space_after = "SpaceAfter=No" not in marks
        if position[2]:
            if self._shares_last_word(first, last, fields[1]):
                return None
            if self.written or not self.range_end < first <= last:
                raise ValueError("not a range of words to come")
            self.range_line, self.range_start, self.range_end = number, first, last
            self.range_form = fields[1]
            self.written = Written(fields[1], space_after, last - first + 1)
            return None
        if self.written and first != self.range_start:
            raise ValueError("not the first word of the range")
        starts_edu = not EDU_START_MARKS.isdisjoint(marks)
        word = Word(
            form=fields[1],
            space_after=space_after,
            starts_edu=starts_edu,
            starts_sentence=self.starts,
            written=self.written,
            pos=fields[3],
            head=int(fields[6]) if WORD_NUMBER.fullmatch(fields[6]) else None,
            dep=fields[7],
            speaker=self.speaker if self.starts else None,
        )
        self.last_word, self.written, self.starts = first, None, False
        return word
