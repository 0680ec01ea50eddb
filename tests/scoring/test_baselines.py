from __future__ import annotations

from spacy_rst.scoring.baselines import BASELINES, left_branching, majority_label, right_branching
from spacy_rst.tree import RstTree


def test_shapes():
    assert right_branching(3, "Joint-NN") == [(0, 1, 3, "Joint-NN"), (1, 2, 3, "Joint-NN")]
    assert left_branching(3, "Joint-NN") == [(0, 2, 3, "Joint-NN"), (0, 1, 2, "Joint-NN")]


def test_all_are_trees():
    for make in BASELINES.values():
        assert make(1, "Joint-NN") == []
        for n_edus in (2, 5, 30):
            assert len(RstTree.from_splits(make(n_edus, "Joint-NN"))) == n_edus


def test_majority_label():
    assert majority_label(["Joint-NN", "Cause-SN", "Joint-NN"]) == "Joint-NN"
    assert majority_label(["Joint-NN", "Cause-SN"]) == "Cause-SN"
    assert majority_label([]) is None
