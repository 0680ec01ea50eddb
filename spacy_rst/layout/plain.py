"""Read the layout of plain text: what its line breaks, bullets, numbers and names tell.

A blank line always divides blocks, and so does a line break before a mark (bullet, number, name of
a speaker, `>`, `#`). Elsewhere a line break's meaning depends on the text. Where lines are filled
up to a common width, as in mail, only a line that ends early and with a sentence ends a paragraph.
Where most line breaks lie after a sentence or before a number or name, lines are paragraphs.
Otherwise, as in verse, line breaks mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from ..orthography import COLONS, COMMAS, SENTENCE_ENDS, is_unspaced, last_mark
from .blocks import CODE, HEADING, ITEM, PARAGRAPH, QUOTATION, ROW, Block
from .turns import choose_speakers, find_speaker, mark_turns

PARAGRAPH_SEPARATOR = "\u2029"
FENCES = ("```", "~~~")
QUOTE_MARKS = re.compile(r"(?:>\s?)+")
HASHES = re.compile(r"(#{1,6})\s+\S")
BULLET = re.compile(r"[-*+•◦▪‣⁃·●○■□✓✔]\s+\S")
DASH = re.compile(r"[–—]\s+\S")
NUMBER = re.compile(r"[(（]?(\d{1,3})(?:[.)]\s+|[、．）]\s*)\S")
LETTER = re.compile(r"\(?([a-zа-я])\)\s+\S")
IDEOGRAPHIC_NUMBER = re.compile(r"(?:[①-⑳]|[（(]?[一二三四五六七八九十]{1,3}[）)、])\s*\S")
SECTION_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*\.?\s+(?=[^\W\d_])")
WORD_CHARACTER = re.compile(r"[^\W_]")

# Lines are filled if most of them had no room for the first word of the next.
FEWEST_FILLED = 4
NARROWEST_FILLED, WIDEST_FILLED = 30, 130
SHARE_OF_FILLED = 0.6
NEARLY_FULL = 0.85
LONGEST_HEADING, LONGEST_UNSPACED_HEADING = 80, 30
MOST_WORDS_OF_A_HEADING = 14
MOST_WORDS_BEFORE_COLON = 3
LONGEST_RUN_OF_HEADINGS = 2
NOT_AFTER_HEADINGS = SENTENCE_ENDS | COMMAS | frozenset("-–—")
# A full stop after two letters at least, as one letter may be abbreviated.
SENTENCE_WITHIN = re.compile(r"\w\w[.?!…]\W?\s|[。？！｡؟۔।॥։።].")


@dataclass(slots=True)
class _Line:
    """A line that is not blank, without white space around it. Its `body` lacks the marks of a
    quotation, too."""

    text: str
    start: int
    indent: int
    is_after_blank: bool
    body: str
    quote_depth: int = 0
    kind: str = PARAGRAPH
    level: int = 0
    is_marked: bool = False
    fenced_part: int = 0
    speaker: str | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_rule(self) -> bool:
        """Whether it has neither letters nor digits: a rule, an underline, an empty quoted line."""
        return WORD_CHARACTER.search(self.body) is None

    @property
    def last_mark(self) -> str:
        return last_mark(self.body)

    @property
    def ends_sentence(self) -> bool:
        return self.last_mark in SENTENCE_ENDS or self.last_mark in COLONS

    @property
    def begins_lower(self) -> bool:
        return self.body[:1].islower()

    def is_filled(self, following: _Line, width: int) -> bool:
        """Whether the first word of the next line did not fit."""
        body = following.body
        word = body[:1] if is_unspaced(body[:1]) else body[:width].split(maxsplit=1)[0]
        return len(self.text) + 1 + len(word) > NEARLY_FULL * width


def read_plain(text: str) -> list[Block]:
    """Read the blocks of a plain text.

    text (str): The text.
    RETURNS (List[Block]): Its blocks, none where nothing divides it: its layout is unknown.
    """
    lines = _read_lines(text)
    _mark_code(lines)
    _mark_lines(lines)
    groups = _divide(lines)
    _mark_headings(groups)
    blocks = mark_turns(text, _make_blocks(groups))
    is_unknown = len(blocks) == 1 and blocks[0].kind == PARAGRAPH
    return [] if is_unknown else blocks


def _read_lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    # White space at the two ends of a text says nothing, not even how far its first line is
    # indented.
    position, is_after_blank = len(text) - len(text.lstrip()), True
    for raw in text.strip().splitlines(keepends=True):
        content = raw.strip()
        if content:
            padding = raw[: len(raw) - len(raw.lstrip())]
            quote = QUOTE_MARKS.match(content)
            lines.append(
                _Line(
                    content,
                    start=position + len(padding),
                    indent=len(padding.expandtabs(4)),
                    is_after_blank=is_after_blank,
                    body=content[quote.end() :] if quote else content,
                    quote_depth=quote[0].count(">") if quote else 0,
                )
            )
        is_after_blank = not content or raw.endswith(PARAGRAPH_SEPARATOR)
        position += len(raw)
    return lines


def _mark_code(lines: Sequence[_Line]) -> None:
    """Number the parts between two fences; a fence without a partner does not count."""
    fences = [number for number, line in enumerate(lines) if line.text.startswith(FENCES)]
    for part, (first, last) in enumerate(zip(fences[::2], fences[1::2], strict=False), start=1):
        for line in lines[first : last + 1]:
            line.kind, line.fenced_part = CODE, part


def _mark_lines(lines: Sequence[_Line]) -> None:
    numbers_before: set[int] = set()
    before = None
    for line in lines:
        if not line.fenced_part:
            _mark_line(line, before, numbers_before)
            before = line
    speakers = choose_speakers(line.speaker for line in lines if not line.fenced_part)
    for line in lines:
        line.is_marked |= line.speaker in speakers


def _mark_line(line: _Line, before: _Line | None, numbers_before: set[int]) -> None:
    hashes = HASHES.match(line.body)
    if hashes:
        line.kind, line.level, line.is_marked = HEADING, len(hashes[1]), True
    elif _is_row(line.body):
        line.kind, line.is_marked = ROW, True
    elif _is_item(line.body, numbers_before):
        line.kind, line.is_marked = ITEM, True
    elif DASH.match(line.body) and (before is None or before.ends_sentence or before.is_marked):
        # A dash introduces items after a colon, and speech elsewhere.
        is_list = before is not None and (before.last_mark in COLONS or before.kind == ITEM)
        line.kind, line.is_marked = ITEM if is_list else PARAGRAPH, True
    else:
        line.speaker = find_speaker(line.body)
    if line.quote_depth:
        line.kind, line.level = QUOTATION, line.quote_depth


def _is_row(body: str) -> bool:
    return "\t" in body or (body.startswith("|") and body.endswith("|") and len(body) > 1)


def _is_item(body: str, numbers_before: set[int]) -> bool:
    """A number counts only in sequence, as "1999." or "12." may begin a line by chance."""
    if BULLET.match(body) or IDEOGRAPHIC_NUMBER.match(body):
        return True
    match = NUMBER.match(body) or LETTER.match(body)
    if match is None:
        return False
    # Letters count below zero, apart from the numbers.
    number = int(match[1]) if match[1].isdecimal() else ord(match[1]) - 0x10000
    is_first = match[1] in ("a", "а") or number == 1
    if is_first or number - 1 in numbers_before:
        numbers_before.add(number)
        return True
    return False


def _divide(lines: Sequence[_Line]) -> list[list[_Line]]:
    runs: list[list[_Line]] = []
    for number, line in enumerate(lines):
        if not number or _is_divided(lines[number - 1], line):
            runs.append([])
        runs[-1].append(line)
    width = _filled_width(runs)
    return [group for run in runs for group in _divide_run(run, width)]


def _is_divided(line: _Line, following: _Line) -> bool:
    """Whether two lines belong to different blocks whatever the rest of the text looks like."""
    if line.fenced_part or following.fenced_part:
        return line.fenced_part != following.fenced_part
    if following.is_after_blank or line.is_rule:
        return True
    if following.is_rule:
        return False
    begins_indented = following.indent > line.indent + 1 and line.kind == PARAGRAPH
    return (
        following.is_marked
        or line.quote_depth != following.quote_depth
        or line.kind in (HEADING, ROW)
        or (begins_indented and line.ends_sentence)
    )


def _filled_width(runs: Sequence[Sequence[_Line]]) -> int:
    """Find the width up to which lines are filled, 0 where they are not."""
    pairs = [
        (line, following)
        for run in runs
        for line, following in pairwise(run)
        if len(line.text) <= WIDEST_FILLED
        and not (line.fenced_part or line.ends_sentence)
        and not (following.is_rule or following.speaker)
    ]
    if len(pairs) < FEWEST_FILLED:
        return 0
    width = max(len(line.text) for line, _ in pairs)
    n_filled = sum(line.is_filled(following, width) for line, following in pairs)
    is_filled = width >= NARROWEST_FILLED and n_filled >= SHARE_OF_FILLED * len(pairs)
    return width if is_filled else 0


def _divide_run(run: list[_Line], width: int) -> list[list[_Line]]:
    """Divide lines between which nothing but a line break stands."""
    if run[0].fenced_part:
        return [run]
    if run[0].kind == ITEM:
        n_lines = _length_of_item(run, width)
        return [run[:n_lines], *(_divide_run(run[n_lines:], width) if run[n_lines:] else [])]
    pairs = list(pairwise(run))
    is_break = [_seems_divided(line, following) for line, following in pairs]
    if width:
        is_break = [
            seems and not line.is_filled(following, width)
            for seems, (line, following) in zip(is_break, pairs, strict=True)
        ]
    elif 2 * sum(is_break) > len(pairs):
        is_break = [not (following.begins_lower or following.is_rule) for _, following in pairs]
    else:
        is_break = [False] * len(pairs)
    groups = [[run[0]]]
    for starts_group, line in zip(is_break, run[1:], strict=True):
        if starts_group:
            groups.append([])
        groups[-1].append(line)
    return groups


def _length_of_item(run: Sequence[_Line], width: int) -> int:
    for number, (line, following) in enumerate(pairwise(run), start=1):
        is_filled = width and line.is_filled(following, width)
        if not (following.indent > run[0].indent or following.begins_lower or is_filled):
            return number
    return len(run)


def _seems_divided(line: _Line, following: _Line) -> bool:
    if following.is_rule:
        return False
    is_title = _could_be_heading(line) and len(following.body) > 2 * len(line.body)
    begins_with_number = following.body[:1].isdecimal()
    return line.ends_sentence or begins_with_number or following.speaker is not None or is_title


def _could_be_heading(line: _Line) -> bool:
    longest = LONGEST_UNSPACED_HEADING if is_unspaced(line.body[:1]) else LONGEST_HEADING
    if len(line.body) > longest or line.is_rule:
        return False
    section = SECTION_NUMBER.match(line.body)
    title = line.body[section.end() :] if section else line.body
    if title[:1].islower() or title[:1].isdecimal():
        return False
    if line.last_mark in NOT_AFTER_HEADINGS or SENTENCE_WITHIN.search(title):
        return False
    most_words = MOST_WORDS_BEFORE_COLON if line.last_mark in COLONS else MOST_WORDS_OF_A_HEADING
    return len(title.split()) <= most_words


def _mark_headings(groups: Sequence[list[_Line]]) -> None:
    """Find headings without a mark: short lines, one or two at a time, that something follows."""
    is_candidate = [_is_set_apart(groups, number) for number in range(len(groups))]
    start = 0
    for are_candidates, members in groupby(is_candidate):
        end = start + len(list(members))
        if are_candidates and end - start <= LONGEST_RUN_OF_HEADINGS and end < len(groups):
            for number in range(start, end):
                _mark_heading(groups[number][0], is_first=number == 0)
        start = end


def _is_set_apart(groups: Sequence[list[_Line]], number: int) -> bool:
    """Whether a line stands by itself, and goes with what follows rather than what precedes."""
    line = groups[number][0]
    if not _could_be_heading(line) or not all(other.is_rule for other in groups[number][1:]):
        return False
    following = groups[number + 1][0] if number + 1 < len(groups) else line
    goes_with_text = following.kind == PARAGRAPH and not following.is_after_blank
    if following.kind == QUOTATION or not (line.is_after_blank or goes_with_text):
        return False
    if line.speaker is not None and not (line.is_after_blank and following.is_after_blank):
        return False
    if line.kind == ITEM:  # alone among paragraphs it is a numbered heading
        is_after_item = number > 0 and groups[number - 1][0].kind == ITEM
        return not is_after_item and following.kind != ITEM
    return line.kind == PARAGRAPH


def _mark_heading(line: _Line, *, is_first: bool) -> None:
    section = SECTION_NUMBER.match(line.body)
    line.kind = HEADING
    line.level = 1 if is_first else 2
    if section:
        line.level = 1 + len(re.findall(r"\d+", section[0]))


def _make_blocks(groups: Sequence[Sequence[_Line]]) -> list[Block]:
    blocks: list[Block] = []
    indents: list[int] = []  # of the items that the present one is nested in, and its own
    for group in groups:
        first = group[0]
        kind, level, continues = first.kind, first.level, False
        if kind == ITEM:
            while indents and indents[-1] > first.indent:
                indents.pop()
            if not indents or indents[-1] < first.indent:
                indents.append(first.indent)
            level = len(indents)
        elif kind == PARAGRAPH and indents and first.indent > indents[-1]:
            kind, level, continues = ITEM, len(indents), True
        elif kind != CODE:
            indents.clear()
        if kind == QUOTATION and not first.is_after_blank and blocks:
            continues = blocks[-1].kind == kind and blocks[-1].level == level
        blocks.append(Block(first.start, group[-1].end, kind, level, None, continues))
    return blocks
