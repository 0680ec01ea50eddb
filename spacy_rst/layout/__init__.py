"""How a text is laid out: its blocks, read from plain text, Markdown or HTML. Knows no spaCy."""

from __future__ import annotations

from pathlib import PurePath

from .blocks import KINDS, Block, Layout, Segment, check_blocks
from .html import read_html
from .markdown import read_markdown
from .plain import read_plain

__all__ = [
    "KINDS",
    "MARKUP_SUFFIXES",
    "Block",
    "Layout",
    "Segment",
    "check_blocks",
    "read_document",
    "read_html",
    "read_markdown",
    "read_plain",
]

READERS = {
    **dict.fromkeys((".md", ".markdown"), read_markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
}
MARKUP_SUFFIXES = frozenset(READERS)


def read_document(name: str | PurePath, source: str) -> Layout:
    """Read a document in the format that its name tells.

    name (Union[str, PurePath]): Its path, name or suffix (".md"). Whatever ends neither like
        Markdown nor like HTML is plain text.
    source (str): Its content.
    RETURNS (Layout): Its text and blocks.
    """
    path = PurePath(name)
    reader = READERS.get((path.suffix or path.name).lower())
    return Layout.verbatim(source, read_plain(source)) if reader is None else reader(source)
