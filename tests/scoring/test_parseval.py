"""Both metrics: worked examples by hand, a slow second implementation, and their properties."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from spacy_rst.scoring.parseval import (
    METRICS,
    F1Scores,
    SpanCounts,
    count_trees,
    macro_scores,
    micro_scores,
    original_spans,
    rst_spans,
)

from ..strategies import tree_pairs, trees

METHODS = ["rst", "original"]
properties = settings(max_examples=40)

# ((1 2)NS-Elab 3)NN-Joint against (1 (2 3)NS-Elab)NS-Elab
GOLD = [(0, 2, 3, "Joint-NN"), (0, 1, 2, "Elaboration-NS")]
PREDICTED = [(0, 1, 3, "Elaboration-NS"), (1, 2, 3, "Elaboration-NS")]
PAIR = [(0, 1, 2, "Cause-SN")]


def score_one(gold, predicted, method: str, **edus) -> F1Scores | None:
    return micro_scores([count_trees(gold, predicted, method=method, **edus)])


# Worked examples


@pytest.mark.parametrize(
    "method, counts, scores",
    [
        ("rst", (4, 4, 3, 1, 1, 1), (3 / 4, 1 / 4, 1 / 4, 1 / 4)),
        ("original", (2, 2, 1, 0, 0, 0), (1 / 2, 0, 0, 0)),
    ],
)
def test_worked_example(method, counts, scores):
    assert count_trees(GOLD, PREDICTED, method=method) == SpanCounts(*counts)
    assert score_one(GOLD, PREDICTED, method) == F1Scores(*scores)


def test_spans_of_the_worked_example():
    assert rst_spans(GOLD) == {
        (0, 2): ("N", "Joint"),
        (2, 3): ("N", "Joint"),
        (0, 1): ("N", "span"),
        (1, 2): ("S", "Elaboration"),
    }
    assert original_spans(GOLD) == {(0, 3): ("NN", "Joint"), (0, 2): ("NS", "Elaboration")}


@pytest.mark.parametrize(
    "label, rst, original",
    [
        ("Cause-SN", (2, 2, 2), (1, 1, 1)),
        # The nucleus carries "span" in both, the satellites differ.
        ("Background-SN", (2, 1, 1), (1, 0, 0)),
        # The left part is (S, Cause) in one and (N, span) in the other, and so is the right part.
        ("Cause-NS", (0, 0, 0), (0, 1, 0)),
        # Left: (S, Cause) and (N, Cause). Right: (N, span) and (N, Cause).
        ("Cause-NN", (1, 1, 0), (0, 1, 0)),
        ("Joint-NN", (1, 0, 0), (0, 0, 0)),
    ],
)
def test_nuclearity_and_relation_are_judged_independently(label, rst, original):
    predicted = [(0, 1, 2, label)]
    assert count_trees(PAIR, predicted, method="rst") == SpanCounts(2, 2, 2, *rst)
    assert count_trees(PAIR, predicted, method="original") == SpanCounts(1, 1, 1, *original)


# Predicted EDUs


def test_predicted_edus_are_compared_by_their_offsets():
    """Gold spans 0-30, 0-20, 20-30, 0-10, 10-20; the prediction joined the last two EDUs."""
    edus = {
        "gold_edus": [(0, 10), (10, 20), (20, 30)],
        "predicted_edus": [(0, 10), (10, 30)],
    }
    predicted = [(0, 1, 2, "Elaboration-NS")]
    assert count_trees(GOLD, predicted, method="rst", **edus) == SpanCounts(4, 2, 1, 1, 1, 1)
    assert score_one(GOLD, predicted, "rst", **edus) == F1Scores(*[2 * 1 / (4 + 2)] * 4)
    assert score_one(GOLD, predicted, "original", **edus) == F1Scores(2 / 3, 0, 0, 0)


def test_equal_indices_over_other_offsets_do_not_match():
    edus = {"gold_edus": [(0, 10), (10, 30)], "predicted_edus": [(0, 20), (20, 30)]}
    assert count_trees(PAIR, PAIR, method="rst", **edus) == SpanCounts(2, 2, 0, 0, 0, 0)
    assert count_trees(PAIR, PAIR, method="original", **edus) == SpanCounts(1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_document_without_prediction_counts_as_missed(method):
    counts = [count_trees(PAIR, [], method=method), count_trees(PAIR, PAIR, method=method)]
    assert macro_scores(counts) == F1Scores(0.5, 0.5, 0.5, 0.5)
    assert micro_scores(counts).span == pytest.approx(2 / 3)


@pytest.mark.parametrize("method", METHODS)
def test_documents_of_a_single_edu_count_nothing_and_divide_nothing(method):
    single = count_trees([], [], method=method, gold_edus=[(0, 5)], predicted_edus=[(0, 5)])
    assert single == SpanCounts(0, 0, 0, 0, 0, 0)
    scored = count_trees(GOLD, PREDICTED, method=method)
    for scores in (micro_scores, macro_scores):
        assert scores([]) is scores([single]) is None
        assert scores([single, scored, single]) == scores([scored])


def test_unknown_method():
    with pytest.raises(ValueError, match="'labelled' is not one of rst, original"):
        count_trees(GOLD, PREDICTED, method="labelled")


# A second implementation, which asks each span of one tree whether the other has it


def slow_units(splits, method: str) -> list[tuple[tuple[int, int], str, str]]:
    units = []
    for start, middle, end, label in splits:
        relation, nuclearity = label[:-3], label[-2:]
        if method == "original":
            units.append(((start, end), nuclearity, relation))
            continue
        left = {"NN": relation, "NS": "span", "SN": relation}[nuclearity]
        right = {"NN": relation, "NS": relation, "SN": "span"}[nuclearity]
        units.append(((start, middle), nuclearity[0], left))
        units.append(((middle, end), nuclearity[1], right))
    return units


def slow_f1(documents, method: str, average: str) -> dict[str, Fraction]:
    judgements = {
        "span": lambda g, p: g[0] == p[0],
        "nuclearity": lambda g, p: g[:2] == p[:2],
        "relation": lambda g, p: (g[0], g[2]) == (p[0], p[2]),
        "full": lambda g, p: g == p,
    }
    scores = {}
    for metric, agrees in judgements.items():
        hits, precisions, sizes = [], [], []
        for gold, predicted in documents:
            gold_units, predicted_units = slow_units(gold, method), slow_units(predicted, method)
            hits.append(sum(any(agrees(g, p) for p in predicted_units) for g in gold_units))
            precisions.append(len(predicted_units))
            sizes.append(len(gold_units))
        if average == "micro":
            hits, precisions, sizes = [sum(hits)], [sum(precisions)], [sum(sizes)]
        f1 = []
        for hit, n_predicted, n_gold in zip(hits, precisions, sizes, strict=True):
            precision, recall = Fraction(hit, n_predicted), Fraction(hit, n_gold)
            f1.append(2 * precision * recall / (precision + recall) if hit else Fraction(0))
        scores[metric] = sum(f1, Fraction(0)) / len(f1)
    return scores


@properties
@given(tree_pairs(max_edus=50), tree_pairs(max_edus=50))
def test_agrees_with_a_slow_implementation(first, second):
    documents = [(gold.splits, predicted.splits) for gold, predicted in (first, second)]
    for method in METHODS:
        counts = [count_trees(*document, method=method) for document in documents]
        for average, scores in (("micro", micro_scores(counts)), ("macro", macro_scores(counts))):
            slow = slow_f1(documents, method, average)
            assert scores.as_dict() == pytest.approx({m: float(slow[m]) for m in METRICS})


# Properties


@properties
@given(trees())
def test_a_tree_scored_against_itself_is_perfect(tree):
    assert len(rst_spans(tree.splits)) == 2 * len(tree) - 2
    assert len(original_spans(tree.splits)) == len(tree) - 1
    for method in METHODS:
        scores = score_one(tree.splits, tree.splits, method)
        assert scores == (F1Scores(1, 1, 1, 1) if len(tree) > 1 else None)


@properties
@given(tree_pairs())
def test_scores_are_symmetric_and_ordered(pair):
    gold, predicted = pair
    rst, original = (score_one(gold.splits, predicted.splits, method) for method in METHODS)
    assert rst.span == pytest.approx((1 + original.span) / 2)
    for method, scores in zip(METHODS, (rst, original), strict=True):
        assert scores == score_one(predicted.splits, gold.splits, method)
        assert 0 <= scores.full <= min(scores.nuclearity, scores.relation)
        assert max(scores.nuclearity, scores.relation) <= scores.span <= 1
