"""What the drawings need to know about characters: which are safe, how wide, which direction."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import bidirectional, category, east_asian_width

# Controls, lone surrogates and non-characters are not text: a terminal would obey some of them,
# and XML forbids others. Bidirectional overrides would reorder the drawing around the text.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)


def clean_text(text: str, replacement: str = "") -> str:
    """Put a text on one line and take out, or replace, what must not reach a terminal or an XML
    file."""
    return UNSAFE.sub(replacement, " ".join(text.split()))


def is_right_to_left(text: str) -> bool:
    """Tell the direction of a text from its first letter that has one."""
    for char in text:
        direction = bidirectional(char)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


@lru_cache(maxsize=8192)
def char_cells(char: str) -> int:
    """Count the terminal cells of a character: 2 for wide ones as in Chinese, 0 for those drawn
    onto their neighbour, else 1."""
    if category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if east_asian_width(char) in ("W", "F") else 1


def count_cells(text: str) -> int:
    """Count the terminal cells of a clean text."""
    return len(text) if text.isascii() else sum(map(char_cells, text))


def shorten(text: str, max_cells: int, ellipsis: str = "…") -> str:
    """Cut a clean text to a number of terminal cells."""
    # A character is at least a quarter cell in any real text: what lies beyond is never seen.
    if len(text) <= 4 * max_cells and count_cells(text) <= max_cells:
        return text
    cells, kept = len(ellipsis), 0
    for char in text[: 4 * max_cells]:
        cells += char_cells(char)
        if cells > max_cells:
            break
        kept += 1
    return text[:kept].rstrip() + ellipsis
