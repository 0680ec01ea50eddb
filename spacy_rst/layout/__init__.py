"""How a text is laid out: its blocks, read from plain text, Markdown or HTML. Knows no spaCy."""

from __future__ import annotations

from pathlib import PurePath

from .blocks import KINDS, Block, Layout, Segment, check_blocks
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

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
MARKUP_SUFFIXES = MARKDOWN_SUFFIXES | HTML_SUFFIXES


def read_markdown(source: str) -> Layout:
    """Read Markdown: CommonMark with tables and strikethrough.

    source (str): The Markdown.
    RETURNS (Layout): Its text without marks, and the blocks.
    """
    from .markdown import read_markdown as read  # the libraries load only when they are needed

    return read(source)


def read_html(source: str) -> Layout:
    """Read an HTML page or a part of one. Nothing is fetched, and no script is run.

    source (str): The HTML.
    RETURNS (Layout): The text that a reader sees, and the blocks.
    """
    from .html import read_html as read

    return read(source)


def read_document(name: str | PurePath, source: str) -> Layout:
    """Read a document in the format that its name tells.

    name (Union[str, PurePath]): Its path, name or suffix (".md"). Whatever ends neither like
        Markdown nor like HTML is plain text.
    source (str): Its content.
    RETURNS (Layout): Its text and blocks.
    """
    path = PurePath(name)
    suffix = (path.suffix or path.name).lower()
    if suffix in MARKDOWN_SUFFIXES:
        return read_markdown(source)
    if suffix in HTML_SUFFIXES:
        return read_html(source)
    return Layout.verbatim(source, read_plain(source))
