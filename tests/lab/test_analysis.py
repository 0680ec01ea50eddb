"""Where parsers err: small trees by hand, and sums that must agree with the scores."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from spacy_rst.errors import RstError
from spacy_rst.lab.analysis import (
    TreePair,
    average_curves,
    confusion_matrix,
    read_training_log,
    scores_by_depth,
    scores_by_length,
    transfer_matrix,
)
from spacy_rst.lab.tables import Row, Value
from spacy_rst.scoring.parseval import F1Scores, count_trees, micro_scores
from spacy_rst.tree import RstTree
from tests.strategies import tree_pairs

properties = settings(max_examples=30)
# ((1 2) 3) against (1 (2 3)): the root and the leaves are in both.
GOLD = RstTree.from_splits([(0, 2, 3, "Joint-NN"), (0, 1, 2, "Elaboration-NS")])
PREDICTED = RstTree.from_splits([(0, 1, 3, "Elaboration-NS"), (1, 2, 3, "Elaboration-NS")])
CAUSE = RstTree.from_splits([(0, 1, 2, "Cause-SN")])


def test_confusion():
    confusion = confusion_matrix([(GOLD, PREDICTED), (CAUSE, CAUSE), (GOLD, GOLD)])
    assert confusion.labels == ("Cause", "Elaboration", "Joint")
    assert confusion.counts == ((1, 0, 0), (0, 1, 0), (0, 1, 1))
    assert confusion.total == 4 and confusion.accuracy == 3 / 4


def test_confusion_of_nuclearity():
    confusion = confusion_matrix([(GOLD, PREDICTED), (CAUSE, CAUSE)], of="nuclearity")
    assert confusion.labels == ("NS", "SN", "NN")
    assert confusion.counts == ((0, 0, 0), (0, 1, 0), (1, 0, 0))


def test_rare_labels_are_joined():
    odd = RstTree.from_splits([(0, 1, 2, "my-own-NN")])
    pairs = [(CAUSE, CAUSE), (CAUSE, CAUSE), (odd, CAUSE), (GOLD, PREDICTED)]
    assert confusion_matrix(pairs).labels == ("Cause", "Elaboration", "Joint", "my-own")
    confusion = confusion_matrix(pairs, n_labels=1)
    assert confusion.labels == ("Cause", "other")
    assert confusion.counts == ((2, 0), (1, 1))


def test_nothing_to_compare():
    confusion = confusion_matrix([(GOLD, None)])
    assert confusion.labels == () and confusion.total == 0 and confusion.accuracy is None
    assert scores_by_length([]) == scores_by_depth([]) == []


def test_predicted_edus_are_compared_by_their_places():
    pair = TreePair(GOLD, CAUSE, [(0, 5), (6, 9), (10, 15)], [(0, 9), (10, 15)])
    assert confusion_matrix([pair]).total == 1
    by_length = {entry.name: entry for entry in scores_by_length([pair])}
    # The root has three EDUs in one tree and two in the other, and counts in both bins.
    assert (by_length["2"].gold, by_length["2"].predicted) == (1, 1)
    assert (by_length["3-4"].gold, by_length["3-4"].predicted) == (1, 0)


def test_scores_by_length():
    bins = scores_by_length([(GOLD, PREDICTED), (CAUSE, CAUSE)])
    assert [(entry.name, entry.gold, entry.predicted) for entry in bins] == [
        ("2", 2, 2),
        ("3-4", 1, 1),
    ]
    # (0, 2) and (1, 3) do not match, the pair does; the root does, with another label.
    assert bins[0].scores == F1Scores(0.5, 0.5, 0.5, 0.5)
    assert bins[1].scores == F1Scores(1, 0, 0, 0)


def test_lengths_double_and_have_no_gaps():
    long = RstTree.from_splits([(start, start + 1, 40, "Joint-NN") for start in range(39)])
    pair = (RstTree.from_splits([*CAUSE.splits]), CAUSE)
    names = [entry.name for entry in scores_by_length([(long, None), pair])]
    assert names == ["2", "3-4", "5-8", "9-16", "17-32", "33-64"]
    with_leaves = [entry.name for entry in scores_by_length([(long, long)], method="rst")]
    assert with_leaves == ["1", *names]


def test_scores_by_depth():
    right = RstTree.from_splits(
        [(0, 1, 4, "Joint-NN"), (1, 2, 4, "Joint-NN"), (2, 3, 4, "Cause-SN")]
    )
    paired = RstTree.from_splits(
        [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Joint-NN"), (2, 3, 4, "Cause-SN")]
    )
    bins = scores_by_depth([(right, paired)])
    assert [(entry.name, entry.gold, entry.predicted) for entry in bins] == [
        ("0", 1, 1),
        ("1", 1, 2),
        ("2", 1, 0),
    ]
    assert bins[0].scores == F1Scores(1, 1, 1, 1)
    # 2:4 lies at depth 2 in the gold tree and at 1 in the other: no depth has both sides of it.
    assert bins[1].scores == bins[2].scores == F1Scores(0, 0, 0, 0)
    # With a second document, depth 1 has 2 of 3 gold spans and 3 of 4 predicted ones.
    recall, precision = 2 / 3, 3 / 4
    two = scores_by_depth([(right, paired), (paired, paired)])
    assert two[1].scores.span == pytest.approx(2 * precision * recall / (precision + recall))
    capped = scores_by_depth([(right, paired)], n_depths=2)
    assert [(entry.name, entry.gold) for entry in capped] == [("0", 1), ("1+", 2)]
    assert capped[1].scores.span == 1 / 2


def test_unknown_method():
    with pytest.raises(ValueError, match="'labelled' is none of rst, original"):
        scores_by_length([(GOLD, GOLD)], method="labelled")


@properties
@given(tree_pairs(max_edus=60), tree_pairs(max_edus=60))
def test_one_bin_for_all_has_the_scores_of_the_metric(first, second):
    """Spans over the same EDUs have the same length, so that the bins divide the counts."""
    pairs = [first, second]
    for method in ("rst", "original"):
        counts = [count_trees(gold.splits, other.splits, method=method) for gold, other in pairs]
        (whole,) = scores_by_depth(pairs, method=method, n_depths=1)
        assert whole.scores.as_dict() == pytest.approx(micro_scores(counts).as_dict())
        bins = scores_by_length(pairs, method=method)
        assert sum(entry.gold for entry in bins) == sum(count.gold for count in counts)
        hits = sum(
            entry.gold * entry.scores.span for entry in bins if entry.gold == entry.predicted
        )
        assert hits <= sum(count.span for count in counts) + 1e-6
    confusion = confusion_matrix(pairs)
    original = [count_trees(gold.splits, other.splits, method="original") for gold, other in pairs]
    assert confusion.total == sum(count.span for count in original)
    right = sum(row[number] for number, row in enumerate(confusion.counts))
    assert right == sum(count.relation for count in original)


METRIC = "rst_original_full"


def test_transfer_matrix():
    rows = [
        Row("en", "", {"en": {METRIC: Value(0.5)}, "de": {METRIC: Value(0.3)}, "ru": {}}),
        Row("de", "", {"de": {METRIC: Value(0.4)}, "en": {METRIC: Value(0.2)}}),
        Row("all", "", {"de": {METRIC: Value(0.6)}}),
    ]
    matrix = transfer_matrix(rows, METRIC)
    assert list(matrix) == ["en", "de", "all"]
    assert [list(row.items()) for row in matrix.values()] == [
        [("en", 0.5), ("de", 0.3), ("ru", None)],
        [("en", 0.2), ("de", 0.4), ("ru", None)],
        [("en", None), ("de", 0.6), ("ru", None)],
    ]
    chosen = transfer_matrix(rows, METRIC, columns=["de"])
    assert chosen == {"en": {"de": 0.3}, "de": {"de": 0.4}, "all": {"de": 0.6}}


def test_average_curves():
    assert average_curves([[(0, 0.2), (10, 0.4), (20, 0.5)], [(0, 0.0), (10, 0.6)]]) == [
        (0, pytest.approx(0.1)),
        (10, pytest.approx(0.5)),
    ]
    assert average_curves([]) == []


def test_training_log(tmp_path):
    path = tmp_path / "log.jsonl"
    entries = [
        {"epoch": 0, "step": 0, "losses": {}, "scores": {"rst_full": 12.5}, "score": 0.1},
        {"epoch": 1, "step": 200, "losses": {}, "scores": {"rst_full": 50}, "score": 0.4},
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf8")
    assert read_training_log(path) == [(0, 0.1), (200, 0.4)]
    assert read_training_log(path, score="rst_full", x="epoch") == [(0, 0.125), (1, 0.5)]
    assert read_training_log(path, score="tag_acc") == []


@pytest.mark.parametrize("line", ["no json", "[1]", '{"step": 1}', '{"step": 1, "score": null}'])
def test_bad_training_log(tmp_path, line):
    path = tmp_path / "log.jsonl"
    path.write_text(line + "\n", encoding="utf8")
    with pytest.raises(RstError, match=r"R722.*line 1"):
        read_training_log(path)
