"""The registered scorer on Docs."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from spacy_rst.doc import doc_from_edus
from spacy_rst.scoring.parseval import METRICS
from spacy_rst.scoring.scorer import score_trees
from spacy_rst.tree import RstTree

NLP = spacy.blank("en")
EDUS = ["one ,", "two ,", "three ."]
GOLD = [(0, 2, 3, "Joint-NN"), (0, 1, 2, "Elaboration-NS")]
PREDICTED = [(0, 1, 3, "Elaboration-NS"), (1, 2, 3, "Elaboration-NS")]
PREFIXES = ["rst_", "rst_macro_", "rst_original_", "rst_original_macro_"]


def parsed(splits, edus=EDUS, **user_data) -> Doc:
    doc = doc_from_edus(NLP, edus)
    doc._.rst_tree = RstTree.from_splits(splits, edus)
    doc.user_data |= {f"rst_{key}": value for key, value in user_data.items()}
    return doc


def values(scores, prefix: str) -> list[float | None]:
    return [scores[prefix + metric] for metric in METRICS]


def test_documents_that_name_no_language():
    scores = score_trees([Example(parsed(PREDICTED), parsed(GOLD))])
    assert values(scores, "rst_") == values(scores, "rst_macro_") == [3 / 4, 1 / 4, 1 / 4, 1 / 4]
    assert scores["rst_per_lang"] is None
    assert scores["rst_lang_mean_full"] is None
    assert len(scores) == 2 * 4 * len(PREFIXES) + 1


def test_micro_macro_and_languages():
    """A German document that is parsed right, and the worked example in English."""
    pair = [(0, 1, 2, "Cause-SN")]
    right = Example(parsed(pair, EDUS[:2]), parsed(pair, EDUS[:2], lang="de"))
    partly = Example(parsed(PREDICTED), parsed(GOLD, lang="en"))
    scores = score_trees([right, partly])
    assert values(scores, "rst_") == [5 / 6, 1 / 2, 1 / 2, 1 / 2]
    assert values(scores, "rst_macro_") == [7 / 8, 5 / 8, 5 / 8, 5 / 8]
    assert values(scores, "rst_original_") == [2 / 3, 1 / 3, 1 / 3, 1 / 3]
    assert values(scores, "rst_original_macro_") == [3 / 4, 1 / 2, 1 / 2, 1 / 2]
    assert list(scores["rst_per_lang"]) == ["de", "en"]
    assert values(scores["rst_per_lang"]["de"], "rst_original_macro_") == [1, 1, 1, 1]
    assert values(scores["rst_per_lang"]["en"], "rst_") == [3 / 4, 1 / 4, 1 / 4, 1 / 4]
    # Each language counts the same in the mean over languages.
    scores = score_trees([right, partly, partly])
    assert values(scores, "rst_lang_mean_") == [7 / 8, 5 / 8, 5 / 8, 5 / 8]
    assert values(scores, "rst_lang_mean_original_") == [3 / 4, 1 / 2, 1 / 2, 1 / 2]
    assert values(scores, "rst_") == [8 / 10, 4 / 10, 4 / 10, 4 / 10]


def test_translated_documents_count_for_the_language_they_were_written_in():
    gold = parsed(GOLD, lang="en", translated_from={"language": "de"})
    assert list(score_trees([Example(parsed(PREDICTED), gold)])["rst_per_lang"]) == ["de"]


def test_white_space_at_the_edges_of_edus_does_not_matter():
    splits = [(0, 1, 2, "Joint-NN")]
    gold = doc_from_edus(NLP, ["One .", "Two ."], paragraph_starts=[1])
    gold._.rst_tree = RstTree.from_splits(splits)
    for borders in ([(0, 3), (3, 5)], [(0, 2), (2, 5)]):
        predicted = gold.copy()
        edus = [predicted[start:end] for start, end in borders]
        predicted._.rst_tree = RstTree.from_splits(splits, edus)
        scores = score_trees([Example(predicted, gold)])
        assert values(scores, "rst_") == [1, 1, 1, 1]


def test_tokens_may_differ():
    words = [("one", True), (",", True), ("two,", True), ("three.", False)]
    predicted = Doc(NLP.vocab, words=[w for w, _ in words], spaces=[s for _, s in words])
    gold = doc_from_edus(NLP, ["one ,", "two, three."])
    splits = [(0, 1, 2, "Joint-NN")]
    gold._.rst_tree = RstTree.from_splits(splits)
    predicted._.rst_tree = RstTree.from_splits(splits, [predicted[0:2], predicted[2:4]])
    assert len(gold) != len(predicted)
    assert values(score_trees([Example(predicted, gold)]), "rst_") == [1, 1, 1, 1]


def test_documents_without_a_gold_tree_or_spans_are_left_out():
    stale = parsed(GOLD)
    stale.spans["edus"] = [stale[0:1], stale[1:6]]  # the tree was built over other EDUs
    scored = Example(parsed(PREDICTED), parsed(GOLD))
    single = Example(parsed([], ["x"]), parsed([], ["x"]))
    ignored = [Example(parsed(PREDICTED), gold) for gold in (doc_from_edus(NLP, EDUS), stale)]
    assert score_trees([*ignored, single, scored, single]) == score_trees([scored])


@pytest.mark.parametrize("unparsed", [doc_from_edus(NLP, EDUS), NLP(" ".join(EDUS))])
def test_documents_without_a_predicted_tree_count_as_missed(unparsed):
    scores = score_trees([Example(unparsed, parsed(GOLD))])
    assert all(values(scores, prefix) == [0, 0, 0, 0] for prefix in PREFIXES)


NOTHING = {
    "no documents": [],
    "no gold tree": [Example(NLP("x"), NLP("x"))],
    "one EDU": [Example(parsed([], ["x"]), parsed([], ["x"]))],
    "no text": [Example(NLP(""), NLP(""))],
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_to_score_gives_none(name):
    scores = registry.scorers.get("spacy_rst.rst_scorer.v1")()(NOTHING[name])
    assert all(values(scores, prefix) == [None] * 4 for prefix in PREFIXES)
