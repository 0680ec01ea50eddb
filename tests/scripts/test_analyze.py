"""Where parsers err: small trees by hand, and sums that must agree with the scores."""

from __future__ import annotations

import csv

import pytest
import spacy
from hypothesis import given, settings

pytest.importorskip("matplotlib", reason="charts need matplotlib: pip install '.[analysis]'")

from analyze import (
    TreePair,
    confusion_matrix,
    scores_by_depth,
    scores_by_length,
    tree_pair,
    write_analysis,
)

from spacy_rst.scoring.baselines import baseline_examples
from spacy_rst.scoring.parseval import F1Scores, count_trees, micro_scores
from spacy_rst.tree import RstTree
from tests.sample import examples_from, sample_docs
from tests.strategies import tree_pairs

properties = settings(max_examples=30)
# ((1 2) 3) against (1 (2 3)): both have the root.
GOLD = RstTree.from_splits([(0, 2, 3, "Joint-NN"), (0, 1, 2, "Elaboration-NS")])
PREDICTED = RstTree.from_splits([(0, 1, 3, "Elaboration-NS"), (1, 2, 3, "Elaboration-NS")])
CAUSE = RstTree.from_splits([(0, 1, 2, "Cause-SN")])
ODD = RstTree.from_splits([(0, 1, 2, "my-own-NN")])
PAIRS = [TreePair(GOLD, PREDICTED), TreePair(CAUSE, CAUSE)]


@pytest.mark.parametrize(
    "pairs, of, labels, counts",
    [
        (
            [*PAIRS, TreePair(GOLD, GOLD)],
            "relation",
            ("Cause", "Elaboration", "Joint"),
            ((1, 0, 0), (0, 1, 0), (0, 1, 1)),
        ),
        (PAIRS, "nuclearity", ("NS", "SN", "NN"), ((0, 0, 0), (0, 1, 0), (1, 0, 0))),
        ([TreePair(ODD, CAUSE)], "relation", ("Cause", "my-own"), ((0, 0), (1, 0))),
        ([TreePair(GOLD, None)], "relation", (), ()),
    ],
)
def test_confusion(pairs, of, labels, counts):
    confusion = confusion_matrix(pairs, of=of)
    assert (confusion.labels, confusion.counts) == (labels, counts)
    assert confusion.total == sum(map(sum, counts))


def test_accuracy():
    assert confusion_matrix([*PAIRS, TreePair(GOLD, GOLD)]).accuracy == 3 / 4
    assert confusion_matrix([]).accuracy == 0 and scores_by_length([]) == scores_by_depth([]) == []


def test_predicted_edus_are_compared_by_their_places():
    pair = TreePair(GOLD, CAUSE, [(0, 5), (6, 9), (10, 15)], [(0, 9), (10, 15)])
    assert confusion_matrix([pair]).total == 1
    by_length = {entry.name: entry for entry in scores_by_length([pair])}
    # The root has three EDUs in one tree and two in the other, and counts in both bins.
    assert (by_length["2"].gold, by_length["2"].predicted) == (1, 1)
    assert (by_length["3-4"].gold, by_length["3-4"].predicted) == (1, 0)


def test_scores_by_length():
    bins = scores_by_length(PAIRS)
    assert [(b.name, b.gold, b.predicted) for b in bins] == [("2", 2, 2), ("3-4", 1, 1)]
    # (0, 2) and (1, 3) do not match, the pair does; the root does, with another label.
    assert bins[0].scores == F1Scores(0.5, 0.5, 0.5, 0.5)
    assert bins[1].scores == F1Scores(1, 0, 0, 0)


def test_lengths_double_and_have_no_gaps():
    long = RstTree.from_splits([(start, start + 1, 40, "Joint-NN") for start in range(39)])
    bins = scores_by_length([TreePair(long, None), TreePair(CAUSE, CAUSE)])
    assert [b.name for b in bins] == ["2", "3-4", "5-8", "9-16", "17-32", "33-64"]


def test_scores_by_depth():
    right = RstTree.from_splits(
        [(0, 1, 4, "Joint-NN"), (1, 2, 4, "Joint-NN"), (2, 3, 4, "Cause-SN")]
    )
    paired = RstTree.from_splits(
        [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Joint-NN"), (2, 3, 4, "Cause-SN")]
    )
    one = TreePair(right, paired)
    bins = scores_by_depth([one])
    assert [(b.name, b.gold, b.predicted) for b in bins] == [("0", 1, 1), ("1", 1, 2), ("2", 1, 0)]
    assert bins[0].scores == F1Scores(1, 1, 1, 1)
    # 2:4 lies at depth 2 in the gold tree and at 1 in the other: no depth has both sides of it.
    assert bins[1].scores == bins[2].scores == F1Scores(0, 0, 0, 0)
    # With a second document, depth 1 has 2 of 3 gold spans and 3 of 4 predicted ones.
    recall, precision = 2 / 3, 3 / 4
    two = scores_by_depth([one, TreePair(paired, paired)])
    assert two[1].scores.span == pytest.approx(2 * precision * recall / (precision + recall))
    capped = scores_by_depth([one], n_depths=2)
    assert [(b.name, b.gold) for b in capped] == [("0", 1), ("1+", 2)]
    assert capped[1].scores.span == 1 / 2


@properties
@given(tree_pairs(max_edus=60), tree_pairs(max_edus=60))
def test_one_bin_for_all_has_the_scores_of_the_metric(first, second):
    """Spans over the same EDUs have the same length, so that the bins divide the counts."""
    pairs = [TreePair(*first), TreePair(*second)]
    counts = [count_trees(p.gold.splits, p.predicted.splits, method="original") for p in pairs]
    (whole,) = scores_by_depth(pairs, n_depths=1)
    assert whole.scores.as_dict() == pytest.approx(micro_scores(counts).as_dict())
    bins = scores_by_length(pairs)
    assert sum(entry.gold for entry in bins) == sum(count.gold for count in counts)
    hits = sum(entry.gold * entry.scores.span for entry in bins if entry.gold == entry.predicted)
    assert hits <= sum(count.span for count in counts) + 1e-6
    confusion = confusion_matrix(pairs)
    assert confusion.total == sum(count.span for count in counts)
    right = sum(row[number] for number, row in enumerate(confusion.counts))
    assert right == sum(count.relation for count in counts)


def test_charts_are_written_with_their_numbers(tmp_path):
    nlp = spacy.blank("xx")
    examples = examples_from(nlp, sample_docs(nlp, ["en"]))
    parsed = baseline_examples(examples, "sentence-wise")
    write_analysis([tree_pair(example) for example in parsed], tmp_path)
    names = ("relation", "nuclearity", "length", "depth")
    expected = {f"{name}.{kind}" for name in names for kind in ("png", "svg", "tsv")}
    assert {path.name for path in tmp_path.iterdir()} == expected
    with (tmp_path / "depth.tsv").open(encoding="utf8") as table:
        root, *_ = csv.DictReader(table, delimiter="\t")
    # All trees have a root over the same text.
    assert (root["bin"], root["gold"], root["span"]) == ("0", str(len(parsed)), "1.0000")


def test_trees_without_common_spans_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="no span in common"):
        write_analysis([TreePair(GOLD, None)], tmp_path)
