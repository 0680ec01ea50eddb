"""Trees to draw."""

from __future__ import annotations

from random import Random

import spacy
from spacy.tokens import Doc

from spacy_rst.doc_layout import set_layout
from spacy_rst.layout import Block
from spacy_rst.relations import RELATION_CLASSES
from spacy_rst.tree import RstTree

MIXED_TEXTS = [
    "She said",
    "it rained.",
    "We stayed,",
    "we cooked",
    "and we slept.",
    "It was a good day, all things considered.",
]


def mixed_tree() -> RstTree:
    """Satellites on both sides, a group of three nuclei."""
    splits = [
        (0, 2, 6, "Background-SN"),
        (0, 1, 2, "Attribution-SN"),
        (2, 5, 6, "Elaboration-NS"),
        (2, 3, 5, "Joint-NN"),
        (3, 4, 5, "Joint-NN"),
    ]
    return RstTree.from_splits(splits, MIXED_TEXTS)


def single(text: str) -> RstTree:
    return RstTree.from_splits([], [text])


def right_branching(n_edus: int, label: str = "Elaboration-NS") -> RstTree:
    splits = [(i, i + 1, n_edus, label) for i in range(n_edus - 1)]
    return RstTree.from_splits(splits, [f"This is unit {i + 1}." for i in range(n_edus)])


def left_branching(n_edus: int, label: str = "Elaboration-NS") -> RstTree:
    splits = [(0, end - 1, end, label) for end in range(2, n_edus + 1)]
    return RstTree.from_splits(splits, [f"This is unit {i + 1}." for i in range(n_edus)])


def random_tree(n_edus: int, seed: int = 0, relations: tuple[str, ...] = ()) -> RstTree:
    random = Random(seed)
    splits, spans = [], [(0, n_edus)]
    while spans:
        start, end = spans.pop()
        if end - start < 2:
            continue
        split = random.randrange(start + 1, end)
        relation = random.choice(relations or RELATION_CLASSES)
        splits.append((start, split, end, f"{relation}-{random.choice(['NS', 'SN', 'NN'])}"))
        spans += [(start, split), (split, end)]
    texts = [" ".join(["word"] * random.randrange(1, 20)) for _ in range(n_edus)]
    return RstTree.from_splits(splits, texts)


LAID_OUT = "Soup\n\nIt warms , and fills .\n\nCut the leek\n\nslowly .\n\nAnna: Good !"
BLOCKS = [
    Block(0, 4, "heading", level=2),
    Block(6, 28, "paragraph"),
    Block(30, 42, "item", level=1),
    Block(44, 52, "item", level=1, continues=True),
    Block(54, 66, "turn", speaker="An<na>"),
]


def doc_with_blocks() -> Doc:
    """Six EDUs in five blocks; the second block has two of them."""
    doc = spacy.blank("xx")(LAID_OUT)
    borders = [(0, 4), (6, 16), (17, 28), (30, 42), (44, 52), (54, 66)]
    edus = [doc.char_span(start, end) for start, end in borders]
    doc._.rst_tree = RstTree.from_splits(right_branching(6).splits, edus)
    set_layout(doc, BLOCKS)
    return doc
