"""Blocks as tests write them down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from spacy_rst.layout import Block, Layout, check_blocks

TEXTS = Path(__file__).parent / "texts"


def read_text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf8")


def describe(text: str, blocks: Sequence[Block]) -> list[tuple[str, str]]:
    """Give each block as its kind and text: "item 2 +" is a continued item of level 2, "turn Anna"
    what Anna says."""
    return [(_name(block), text[block.start : block.end]) for block in blocks]


def described(read: Callable[[str], Layout], source: str) -> list[tuple[str, str]]:
    layout = read(source)
    check_blocks(layout.text, layout.blocks)
    return describe(layout.text, layout.blocks)


def words_in_source(layout: Layout, source: str) -> Iterator[tuple[str, str]]:
    """Give each word with what stands for it in the source."""
    position = 0
    for word in layout.text.split():
        start = layout.text.index(word, position)
        position = start + len(word)
        yield word, source[slice(*layout.source_range(start, position))]


def find_last(read: Callable[[str], Layout], source: str, word: str) -> str:
    """Find the last occurrence of a word in the source."""
    layout = read(source)
    start = layout.text.rindex(word)
    return source[slice(*layout.source_range(start, start + len(word)))]


def _name(block: Block) -> str:
    parts = [block.kind, str(block.level or ""), block.speaker or "", "+" * block.continues]
    return " ".join(part for part in parts if part)
