"""Marks of writing that tell something about discourse, in many scripts."""

from __future__ import annotations

import re

# Latin and Greek, CJK, Arabic and Persian, Devanagari, Armenian, Ethiopic.
SENTENCE_ENDS = frozenset(".?!…‼⁇⁈⁉。．？！｡؟۔।॥։።፧፨")
COLONS = frozenset(":;：；؛፡፤፥፦")
COMMAS = frozenset(",，、､،፣")
OPENING = "\"'“”„‟‘‚‛«»‹›([{（［｛「『【《〈¿¡-–—*•"
CLOSING = "\"'“”‟’»«›‹)]}）］｝」』】》〉*"
BLANK_LINE = re.compile(r"\n[^\S\n]*\n|\u2029")
