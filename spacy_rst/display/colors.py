"""One colour per relation class, the same in every drawing."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from ..errors import RstError
from ..relations import normalize_relation, relation_class


class RelationColor(NamedTuple):
    """A colour dark enough for small print on white, and its nearest ANSI colour."""

    hex: str
    ansi: int


COLORS = {
    "Attribution": RelationColor("#1d5fa8", 34),
    "Background": RelationColor("#8a5a00", 33),
    "Cause": RelationColor("#c0232c", 31),
    "Comparison": RelationColor("#6b4fb3", 95),
    "Condition": RelationColor("#0b7285", 36),
    "Contrast": RelationColor("#b3206e", 35),
    "Elaboration": RelationColor("#2b7a3d", 32),
    "Enablement": RelationColor("#4f7a0a", 92),
    "Evaluation": RelationColor("#b34a00", 93),
    "Explanation": RelationColor("#a33a3a", 91),
    "Joint": RelationColor("#44546a", 94),
    "Manner-Means": RelationColor("#00766c", 96),
    "Same-Unit": RelationColor("#666666", 37),
    "Summary": RelationColor("#7a3b9e", 95),
    "Temporal": RelationColor("#2f4fc4", 94),
    "Textual-Organization": RelationColor("#7a5c46", 33),
    "Topic-Change": RelationColor("#8f1d52", 35),
    "Topic-Comment": RelationColor("#5c6b00", 92),
}


@lru_cache(maxsize=4096)
def relation_color(relation: str) -> RelationColor:
    """Choose the colour of a relation: that of its class for a treebank's own label. Labels that
    belong to no class get some colour, always the same."""
    try:
        return COLORS[relation_class(relation)]
    except RstError:
        some_number = crc32(normalize_relation(relation).encode("utf8", "replace"))
        return list(COLORS.values())[some_number % len(COLORS)]
