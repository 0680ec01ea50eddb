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
# Marks that nothing but a sentence ends with: of Indic scripts, Urdu, Arabic, Chinese and Japanese,
# Armenian, Burmese, Khmer, Tibetan, Ethiopic. (A Latin point may also end an abbreviation.)
SURE_SENTENCE_ENDS = "।॥۔؟。｡！？։။។༎።፧፨"
LATIN_SENTENCE_ENDS = ".!?…"
# Scripts without capitals, in which Latin marks that follow a whole word end sentences: Arabic, the
# Indic scripts and those of South-East Asia, Ethiopic.
UNCASED_LETTER = (
    "[\u0620-\u064a\u066e-\u06d3\u0750-\u077f\u0900-\u0963\u0970-\u109f\u1200-\u135a\u1780-\u17d3]"
)
# Consonants, vowels and tones, but neither the mark of repetition nor that of abbreviation.
THAI = "[\u0e01-\u0e2e\u0e30-\u0e45\u0e47-\u0e4e]"
AFTER_END = "[\"'»”’)\\]}）］｝」』】》〉]"


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces between words."""
    return UNSPACED_CHARACTER.match(character) is not None


def last_mark(text: str) -> str:
    """Get the last character of a text before closing quotation marks and brackets, or the last of
    all where there is none."""
    content = text.strip()
    return content.rstrip(CLOSING)[-1:] or content[-1:]


def ends_sentence(text: str) -> bool:
    """Whether a sentence ends with a text, as far as its punctuation tells."""
    return last_mark(text) in SENTENCE_ENDS
