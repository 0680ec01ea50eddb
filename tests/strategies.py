"""Random trees for property tests.

Hypothesis draws the size, the shape, the labels and the words, so that failures shrink; which goes
where is decided by a drawn seed, so that 300 EDUs are as quick to draw as three.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from spacy_rst.relations import NUCLEARITIES, RELATION_CLASSES, join_label
from spacy_rst.tree import RstTree

MAX_EDUS = 300
WORDS = [
    "although", "naïve", "Straße", "l'été", "añade", "etxera", "Собака", "дождь",
    "狗在花园里睡觉，",
    "虽然下着雨。", "雨が降る", "می‌خوابد", "מתחת", "वर्षा", "한국어",
    "👩‍👩‍👧", "e\u0301", "3.5", "%",
    "<b>", "&amp;", "a&b", "\"so\"", "(and)", ")", "_", "!", "]]>", "//TT_ERR", "...", "—",
]  # fmt: skip
# What the file formats take for marks of their own and clean away.
MARKS = ("<P>", "####", "_!")

SplitPoint = Callable[[int, int], int]
CHAINS: dict[str, SplitPoint] = {
    "left": lambda start, end: end - 1,
    "right": lambda start, end: start + 1,
}


def words() -> st.SearchStrategy[str]:
    """One word in any script: no white space, no control characters."""
    letters = st.characters(categories=("L", "M", "N", "P", "S"))
    return st.sampled_from(WORDS) | st.text(letters, min_size=1, max_size=8).filter(
        lambda word: not any(mark in word for mark in MARKS)
    )


@st.composite
def edu_texts(draw: st.DrawFn, n_edus: int) -> list[str]:
    """Texts of EDUs with single spaces between their words."""
    vocabulary = draw(st.lists(words(), min_size=1, max_size=10))
    rng = random.Random(draw(st.integers(0, 2**32)))
    return [" ".join(rng.choices(vocabulary, k=rng.randint(1, 6))) for _ in range(n_edus)]


@st.composite
def labels(draw: st.DrawFn, n_splits: int) -> list[str]:
    """Labels over all classes. One relation is both mono- and multinuclear from two splits on."""
    all_labels = [join_label(r, n) for r in RELATION_CLASSES for n in NUCLEARITIES]
    pool = draw(st.lists(st.sampled_from(all_labels), min_size=1, max_size=12))
    twofold = draw(st.sampled_from(RELATION_CLASSES))
    mononuclear = draw(st.sampled_from(("NS", "SN")))
    rng = random.Random(draw(st.integers(0, 2**32)))
    both = [join_label(twofold, "NN"), join_label(twofold, mononuclear)]
    chosen = both[:n_splits] + rng.choices(pool + both, k=max(0, n_splits - 2))
    rng.shuffle(chosen)
    return chosen


@st.composite
def split_points(draw: st.DrawFn, n_edus: int) -> list[tuple[int, int, int]]:
    """The unlabelled splits of a tree, in no particular order."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    shapes: dict[str, SplitPoint] = {
        **CHAINS,
        "random": lambda start, end: rng.randint(start + 1, end - 1),
        "balanced": lambda start, end: (start + end) // 2,
        "zigzag": lambda start, end: rng.choice((start + 1, end - 1)),
    }
    splits = list(divide(n_edus, shapes[draw(st.sampled_from(sorted(shapes)))]))
    rng.shuffle(splits)
    return splits


@st.composite
def trees(
    draw: st.DrawFn,
    n_edus: st.SearchStrategy[int] | None = None,
    with_scores: bool | None = None,
) -> RstTree:
    """Binary trees with texts. Scores are there or not unless `with_scores` says which."""
    size = draw(st.integers(1, MAX_EDUS) if n_edus is None else n_edus)
    scored = draw(st.booleans()) if with_scores is None else with_scores
    places, names = draw(split_points(size)), draw(labels(size - 1))
    splits = [(*place, name) for place, name in zip(places, names, strict=True)]
    rng = random.Random(draw(st.integers(0, 2**32)))
    scores = [(rng.random(), rng.random()) for _ in splits]
    return RstTree.from_splits(splits, draw(edu_texts(size)), scores if scored else None)


@st.composite
def tree_pairs(draw: st.DrawFn, max_edus: int = MAX_EDUS) -> tuple[RstTree, RstTree]:
    """Two trees over the same number of EDUs, at least two."""
    n_edus = draw(st.integers(2, max_edus))
    return draw(trees(st.just(n_edus))), draw(trees(st.just(n_edus)))


def divide(n_edus: int, split_point: SplitPoint) -> Iterator[tuple[int, int, int]]:
    """Divide `0:n_edus` down to single EDUs, without recursion."""
    stack = [(0, n_edus)]
    while stack:
        start, end = stack.pop()
        if end - start > 1:
            middle = split_point(start, end)
            yield start, middle, end
            stack += [(start, middle), (middle, end)]


def chain_tree(n_edus: int, direction: str) -> RstTree:
    """A left- or right-branching tree with varied labels."""
    all_labels = [join_label(r, n) for n in NUCLEARITIES for r in RELATION_CLASSES]
    splits = [
        (*place, all_labels[i * 7 % len(all_labels)])
        for i, place in enumerate(divide(n_edus, CHAINS[direction]))
    ]
    return RstTree.from_splits(splits, [f"unit {i} ." for i in range(n_edus)])
