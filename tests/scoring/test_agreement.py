"""How far two trees agree: worked examples by hand, and laws that always hold."""

from __future__ import annotations

import pytest
from hypothesis import given

from spacy_rst import RstError, RstTree
from spacy_rst.scoring.agreement import Difference, align_edus, cohen_kappa, compare_trees, pool
from tests.strategies import tree_pairs

EDUS = ["It rained,", "so we stayed", "and read."]
FIRST = RstTree.from_splits([(0, 1, 3, "Cause-SN"), (1, 2, 3, "Joint-NN")], EDUS)


def test_the_worked_example_of_the_metrics():
    first = RstTree.from_splits([(0, 2, 3, "Joint-NN"), (0, 1, 2, "Elaboration-NS")], EDUS)
    second = RstTree.from_splits([(0, 1, 3, "Elaboration-NS"), (1, 2, 3, "Elaboration-NS")], EDUS)
    agreement = compare_trees(first, second)
    scores = agreement.scores()
    assert [scores[f"rst_{name}"] for name in ("span", "nuclearity", "relation", "full")] == [
        0.75, 0.25, 0.25, 0.25
    ]  # fmt: skip
    assert scores["original_span"] == 0.5 and scores["original_full"] == 0
    assert agreement.labels == ((("NN", "Joint"), ("NS", "Elaboration")),)
    assert scores["kappa_relation"] == 0
    assert agreement.differences == (
        Difference("It rained, ... and read.", "Joint-NN", "Elaboration-NS"),
        Difference("It rained, ... so we stayed", "Elaboration-NS", None),
        Difference("so we stayed ... and read.", None, "Elaboration-NS"),
    )


def test_other_edus_are_matched_by_their_characters():
    edus = ["It rained ,", "so we stayed and read ."]
    second = RstTree.from_splits([(0, 1, 2, "Cause-SN")], edus)
    agreement = compare_trees(FIRST, second)
    scores = agreement.scores()
    assert agreement.edus == (3, 2, 2, 1)
    assert scores["edu_f"] == pytest.approx(2 * 2 / 5)
    # Of two inner nodes here and one there the root is shared, with its label.
    assert scores["original_full"] == pytest.approx(2 / 3)
    assert agreement.differences == (
        Difference("so we stayed ... and read.", "Joint-NN", "EDU"),
        Difference("so we stayed", "EDU", None),
        Difference("and read.", "EDU", None),
    )


def test_passages_that_one_text_lacks():
    splits = [(0, 1, 4, "Heading-SN"), (1, 2, 4, "Cause-SN"), (2, 3, 4, "Joint-NN")]
    longer = RstTree.from_splits(splits, ["Rain", *EDUS])
    agreement = compare_trees(FIRST, longer)
    assert agreement.edus == (3, 4, 3, 3)
    assert agreement.spans["original"].full == 2
    assert agreement.differences == (
        Difference("Rain ... and read.", None, "Heading-SN"),
        Difference("Rain", None, "EDU"),
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["Say ``yes''.", "No."], ['Say "yes".', "No."], [(0, 11), (11, 14)]),
        (["a b", "c"], ["ab", "c"], [(0, 2), (2, 3)]),
        (["e\u0301t", "c"], ["\u00e9t", "c"], [(0, 2), (2, 3)]),
    ],
)
def test_versions_of_a_text_lie_over_each_other(first, second, expected):
    assert align_edus(first, second) == (expected, expected)


def test_texts_of_other_documents_are_refused():
    other = RstTree.from_splits([(0, 1, 2, "Joint-NN")], ["Quite another", "text."])
    with pytest.raises(RstError, match=r"R740.*'Quiteanother"):
        compare_trees(FIRST, other)


def test_long_texts_that_differ_at_both_ends():
    middle = "".join(f"It is {number}, as we said. " for number in range(3000))
    first, second = align_edus([f"A: {middle}", "end."], [f"By: {middle}", "end!"])
    assert first[0][1] == second[0][1] == second[1][0] and first[1] == second[1]


def test_kappa():
    pairs = [("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)  # 35 of 50, and 25 by chance
    assert cohen_kappa([("a", "b"), ("b", "a")]) == -1
    assert cohen_kappa([]) is None and cohen_kappa([("a", "a")]) is None


def test_pooling_counts_every_span_the_same():
    small = RstTree.from_splits([(0, 1, 2, "Joint-NN")], ["Yes", "no"])
    other = RstTree.from_splits([(0, 1, 2, "Cause-NS")], ["Yes", "no"])
    pooled = pool([compare_trees(FIRST, FIRST), compare_trees(small, other)])
    assert pooled.scores()["original_relation"] == pytest.approx(2 / 3)
    assert len(pooled.labels) == 3 and len(pooled.differences) == 1
    assert pooled.edus == (5, 5, 5, 5)
    # Nuclearity: 2 of 3 agree; NN has 2 and 1, SN 1 and 1, NS 0 and 1, so 3/9 by chance.
    assert pooled.scores()["kappa_nuclearity"] == pytest.approx((2 / 3 - 3 / 9) / (1 - 3 / 9))


def test_a_tree_agrees_with_itself():
    agreement = compare_trees(FIRST, FIRST)
    assert set(agreement.scores().values()) == {1} and agreement.differences == ()


@given(tree_pairs())
def test_it_does_not_matter_which_comes_first(pair):
    first, second = pair
    edus = [f"unit {number}" for number in range(len(first))]
    first, second = first.with_edus(edus), second.with_edus(edus)
    forth, back = compare_trees(first, second), compare_trees(second, first)
    assert forth.scores() == pytest.approx(back.scores())
    assert len(forth.differences) == len(back.differences)
    assert (forth.differences == ()) == (first.splits == second.splits)
