"""Clean the text of EDUs as treebanks write them."""

from __future__ import annotations

import re

from ..orthography import BLANK_LINE

PARAGRAPH_MARK = "<P>"  # RST-DT puts it at the end of a paragraph, RRT at the start of one
LAYOUT_MARKS = re.compile(r"<P>|(?:^|(?<=\s))#{4,}(?=\s|$)")  # RRT: a line of hashes is a rule
SENTENCE_MARKS = ".,;:!?\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f\u060c\u061b\u061f"
PUNCTUATION_APART = re.compile(rf"(?<=\s)[{SENTENCE_MARKS}](?=\s|$)")
PUNCTUATION_ATTACHED = re.compile(rf"(?<=\w)[{SENTENCE_MARKS}](?=\s|$)")
WORDLESS = re.compile(r"[_\W]+")


def clean_edu_text(text: str) -> str:
    """Put an EDU's text on one line with single spaces, without layout marks."""
    return " ".join(LAYOUT_MARKS.sub(" ", text).split())


def starts_paragraph(text: str) -> bool:
    """Whether a raw EDU text begins with a paragraph mark or, as in PCC, with a blank line."""
    content = text.lstrip()
    padding = text[: len(text) - len(content)]
    return content.startswith(PARAGRAPH_MARK) or BLANK_LINE.search(padding) is not None


def ends_paragraph(text: str) -> bool:
    """Whether a raw EDU text ends with a paragraph mark."""
    return text.rstrip().endswith(PARAGRAPH_MARK)


def is_blanked(edus: list[str]) -> bool:
    """Whether the words of most EDUs were blanked with underscores, as in GUM's reddit texts for
    legal reasons."""
    blanked = sum("_" in edu and WORDLESS.fullmatch(edu) is not None for edu in edus)
    return bool(edus) and blanked > len(edus) / 2


def is_space_tokenized(edus: list[str]) -> bool:
    """Whether a text has spaces between all tokens: before most punctuation marks, too."""
    text = " ".join(edus)
    apart, attached = len(PUNCTUATION_APART.findall(text)), len(PUNCTUATION_ATTACHED.findall(text))
    return apart > attached
