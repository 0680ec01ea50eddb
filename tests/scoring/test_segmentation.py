from __future__ import annotations

from itertools import pairwise

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_rst.doc import set_edus
from spacy_rst.scoring.segmentation import EduCounts, count_edus, edu_scores, score_edus

NLP = spacy.blank("xx")


def doc_with_edus(words, starts, lang=None, spaces=None):
    doc = Doc(NLP.vocab, words=words, spaces=spaces)
    ends = [*starts[1:], len(doc)]
    set_edus(doc, [doc[start:end] for start, end in zip(starts, ends, strict=True)])
    if lang is not None:
        doc.user_data["rst_lang"] = lang
    return doc


def scores_of(p, r, f, span_f=0.0):
    return {"edu_p": p, "edu_r": r, "edu_f": f, "edu_span_f": span_f}


def test_worked_example():
    # gold: ab | cd | e | fg     predicted: ab | cde | f | g
    gold = [(0, 2), (2, 4), (4, 5), (5, 7)]
    predicted = [(0, 2), (2, 5), (5, 6), (6, 7)]
    counts = count_edus(gold, predicted)
    assert counts == EduCounts(gold=4, predicted=4, starts=3, spans=1)
    assert edu_scores([counts]) == scores_of(0.75, 0.75, 0.75, 0.25)


def test_counts_are_pooled_and_nothing_divided_by_0():
    assert edu_scores([count_edus([(0, 9)], [(0, 3), (3, 6), (6, 9)])]) == scores_of(1 / 3, 1, 0.5)
    few, many = EduCounts(1, 1, 1, 1), EduCounts(9, 9, 0, 0)
    assert edu_scores([few, many])["edu_f"] == 0.1
    assert edu_scores([]) == edu_scores([EduCounts(0, 0, 0, 0)]) == scores_of(*[None] * 4)
    assert edu_scores([count_edus([(0, 3)], [])]) == scores_of(0, 0, 0)


@given(st.sets(st.integers(1, 40)), st.sets(st.integers(1, 40)))
def test_units_can_only_agree_where_their_starts_do(gold_starts, predicted_starts):
    def places(starts):
        borders = [0, *sorted(starts), 50]
        return list(pairwise(borders))

    counts = count_edus(places(gold_starts), places(predicted_starts))
    assert counts.starts >= 1 and counts.spans <= counts.starts
    scores = edu_scores([counts])
    agree = gold_starts == predicted_starts
    assert (scores["edu_f"] == 1) == (scores["edu_span_f"] == 1) == agree
    p, r = scores["edu_p"], scores["edu_r"]
    assert scores["edu_f"] == pytest.approx(2 * p * r / (p + r))


def test_scores_compare_characters_not_tokens():
    gold = doc_with_edus(["Do", "n't", "go", "now"], [0, 2], spaces=[False, True, True, False])
    predicted = doc_with_edus(["Don't", "go", "now"], [0, 1])
    assert score_edus([Example(predicted, gold)])["edu_span_f"] == 1.0
    # "n't" begins inside a predicted token: nothing there can agree with it.
    inside = doc_with_edus(["Do", "n't", "go", "now"], [0, 1], spaces=[False, True, True, False])
    scores = score_edus([Example(predicted, inside)])
    assert (scores["edu_p"], scores["edu_r"], scores["edu_span_f"]) == (0.5, 0.5, 0.0)


def test_white_space_at_the_edges_does_not_matter():
    words, spaces = ["one", "\n\n", "two"], [False] * 3
    gold = doc_with_edus(words, [0, 2], spaces=spaces)  # "one\n\n", "two"
    predicted = Doc(NLP.vocab, words=words, spaces=spaces)
    set_edus(predicted, [predicted[0:1], predicted[2:3]])
    assert score_edus([Example(predicted, gold)])["edu_span_f"] == 1.0


def test_scores_per_language_and_without_gold_or_prediction():
    right = doc_with_edus(["a", "b"], [0, 1], lang="en")
    wrong = doc_with_edus(["a", "b"], [0], lang="de")
    without_gold = Example(right.copy(), NLP("a b"))
    scores = score_edus([Example(right.copy(), right), Example(right.copy(), wrong), without_gold])
    assert list(scores["edu_per_lang"]) == ["de", "en"]
    assert scores["edu_per_lang"]["en"]["edu_f"] == 1.0
    assert scores["edu_per_lang"]["de"]["edu_p"] == 0.5
    assert scores["edu_f"] == pytest.approx(2 * 3 / 7)
    assert score_edus([without_gold]) == {**scores_of(*[None] * 4), "edu_per_lang": None}
    assert score_edus([Example(NLP("a b"), right)])["edu_f"] == 0.0
