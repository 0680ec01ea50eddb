"""Trees that need no model: what a parser must beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..tree import Split


def right_branching(n_edus: int, label: str) -> list[Split]:
    """Detach one EDU after the other from the left.

    n_edus (int): The number of EDUs.
    label (str): The label of every split.
    RETURNS (list[Split]): The splits, none for a single EDU.
    """
    return [Split(start, start + 1, n_edus, label) for start in range(n_edus - 1)]


def left_branching(n_edus: int, label: str) -> list[Split]:
    """Detach one EDU after the other from the right.

    n_edus (int): The number of EDUs.
    label (str): The label of every split.
    RETURNS (list[Split]): The splits, none for a single EDU.
    """
    return [Split(0, end - 1, end, label) for end in range(n_edus, 1, -1)]


BASELINES = {"right-branching": right_branching, "left-branching": left_branching}


def majority_label(labels: Iterable[str]) -> str | None:
    """Find the most frequent label; of equally frequent ones, the first in the alphabet.

    labels (Iterable[str]): The labels of a corpus.
    RETURNS (str | None): The label, None if there is none.
    """
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label), default=None)
