"""Punctuation and other characters that tell something about discourse, in many scripts."""

from __future__ import annotations

import re

# Latin and Greek, CJK, Arabic and Persian, Devanagari, Armenian, Ethiopic.
SENTENCE_ENDS = frozenset(".?!…‼⁇⁈⁉。．？！｡؟۔।॥։።፧፨")
COLONS = frozenset(":;：；؛፡፤፥፦")
COMMAS = frozenset(",，、､،፣")
OPENING = "\"'“”„‟‘‚‛«»‹›([{（［｛「『【《〈¿¡-–—*•"
CLOSING = "\"'“”‟’»«›‹)]}）］｝」』】》〉*"
BLANK_LINE = re.compile(r"\n[^\S\n]*\n|\u2029")
# Ideographs, kana, and the punctuation and full-width forms that go with them.
UNSPACED = (
    "\u2e80-\u2fdf\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff00-\uffef\U00020000-\U0003ffff"
)
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """RETURNS (bool): Whether a character belongs to a script without spaces between words."""
    return UNSPACED_CHARACTER.match(character) is not None


def last_mark(text: str) -> str:
    """RETURNS (str): The last character of a text before closing quotation marks and brackets, or
    the last of all where there is none."""
    content = text.strip()
    return content.rstrip(CLOSING)[-1:] or content[-1:]


def ends_sentence(text: str) -> bool:
    """RETURNS (bool): Whether a sentence ends with a text, as far as its punctuation tells."""
    return last_mark(text) in SENTENCE_ENDS
