"""Blocks as tests write them down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spacy_rst.layout import Block

TEXTS = Path(__file__).parent / "texts"


def read_text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf8")


def describe(text: str, blocks: Sequence[Block]) -> list[tuple[str, str]]:
    """Give each block as its kind and text: "item 2 +" is a continued item of level 2, "turn Anna"
    what Anna says."""
    return [(_name(block), text[block.start : block.end]) for block in blocks]


def _name(block: Block) -> str:
    parts = [block.kind, str(block.level or ""), block.speaker or "", "+" * block.continues]
    return " ".join(part for part in parts if part)
