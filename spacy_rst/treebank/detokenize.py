"""Guess the spaces of a text that a treebank gives as separate tokens.

Users parse text as it is written, "the art?", while many treebanks hold "the art ?". A model must
be trained on text like that which it will parse.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..orthography import COLONS, COMMAS, SENTENCE_ENDS, is_unspaced

CLOSING_MARKS = frozenset("%‰٪)]}»”’›）】》」』〉") | SENTENCE_ENDS | COLONS | COMMAS
OPENING_MARKS = frozenset("([{«“‘„‚‹¿¡（【《「『〈")
CURRENCY_MARKS = frozenset("$£€¥")
# In these languages the mark that opens a quotation in English closes one.
LANGUAGES_WITH_LOW_QUOTES = ("de", "cs", "sk", "sl", "hr", "bg")
CLOSING_MARKS_OF = {
    **dict.fromkeys(LANGUAGES_WITH_LOW_QUOTES, CLOSING_MARKS | set("“‘")),
    "eu": CLOSING_MARKS - set("%‰"),  # Basque writes them before the number
    "fr": CLOSING_MARKS - set(":;!?»"),  # French sets them off with a space
}
OPENING_MARKS_OF = {
    **dict.fromkeys(LANGUAGES_WITH_LOW_QUOTES, OPENING_MARKS - set("“‘")),
    "eu": OPENING_MARKS | set("%‰"),
    "fr": OPENING_MARKS - {"«"},
}
MARKS_AFTER_QUOTATIONS = (frozenset(")]}") | SENTENCE_ENDS | COLONS | COMMAS) - {"…"}
ENGLISH_CLITICS = frozenset(
    clitic.replace("'", mark)
    for clitic in ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")
    for mark in "'’"
)
# What English treebanks cut in two though it is written as one word.
ENGLISH_COMPOUNDS = frozenset({("can", "not"), ("gon", "na"), ("wan", "na"), ("got", "ta")})
# GUM cuts words with a hyphen into three tokens, and writes a dash with other characters.
ENGLISH_JOINTS = frozenset("-/")
ENGLISH_RANGE_MARK = "–"
# How the Penn Treebank writes brackets, and other treebanks after it.
ESCAPED_BRACKETS = {
    "-LRB-": "(", "-RRB-": ")",
    "-LSB-": "[", "-RSB-": "]",
    "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip


def guess_spaces(words: Sequence[str], lang: str) -> list[bool]:
    """Tell after which tokens a writer would put a space: never after the last one. White space is
    a token of its own."""
    closing = [_attaches_to_previous(words, i, lang) for i in range(len(words))]
    opening = [_attaches_to_next(words, i, lang) for i in range(len(words))]
    for quote in ('"', "'"):
        _attach_quotes(quote, words, lang, closing, opening)
    spaces = [
        not (opening[i] or closing[i + 1] or _are_written_together(left, right, lang))
        for i, (left, right) in enumerate(pairwise(words))
    ]
    return [*spaces, False] if words else []


def _attaches_to_previous(words: Sequence[str], i: int, lang: str) -> bool:
    word = words[i]
    if set(word) <= CLOSING_MARKS_OF.get(lang, CLOSING_MARKS):
        return True
    if lang == "fr":
        return word[:1] == "-" and word[1:].isalpha()
    return lang == "en" and (word.lower() in ENGLISH_CLITICS or _is_joint(words, i))


def _attaches_to_next(words: Sequence[str], i: int, lang: str) -> bool:
    word = words[i]
    if word in OPENING_MARKS_OF.get(lang, OPENING_MARKS):
        return True
    if lang == "fr":
        return word[:-1].isalpha() and word.endswith(("'", "’"))
    return lang == "en" and (word in CURRENCY_MARKS or _is_joint(words, i))


def _is_joint(words: Sequence[str], i: int) -> bool:
    """Whether an English token joins its neighbours: a hyphen, or a dash in "1729–1797"."""
    if words[i] in ENGLISH_JOINTS:
        return True
    is_range = words[i] == ENGLISH_RANGE_MARK and 0 < i < len(words) - 1
    return is_range and words[i - 1][-1].isdigit() and words[i + 1][0].isdigit()


def _attach_quotes(
    quote: str, words: Sequence[str], lang: str, closing: list[bool], opening: list[bool]
) -> None:
    """Straight quotes open and close in turn. One that was forgotten does harm only as far as the
    next paragraph, or the next quote that must close because a mark follows it."""
    is_open = False
    for i, (word, following) in enumerate(zip(words, [*words[1:], ""], strict=False)):
        if word.isspace():
            is_open = False
        elif word == quote:
            is_genitive = lang == "en" and quote == "'" and i > 0 and words[i - 1].endswith("s")
            if is_open or is_genitive or following in MARKS_AFTER_QUOTATIONS:
                closing[i], is_open = True, False
            else:
                opening[i] = is_open = True


def _are_written_together(left: str, right: str, lang: str) -> bool:
    if lang == "en" and (left.lower(), right.lower()) in ENGLISH_COMPOUNDS:
        return True
    return left.isspace() or right.isspace() or is_unspaced(left[-1]) or is_unspaced(right[0])
