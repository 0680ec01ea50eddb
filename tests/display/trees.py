"""Trees to draw."""

from __future__ import annotations

from random import Random

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
