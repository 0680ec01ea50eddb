from __future__ import annotations

import pytest
import spacy

from spacy_rst.doc import doc_from_edus, get_tree, set_tree
from spacy_rst.evaluation import make_report
from spacy_rst.scoring.baselines import (
    BASELINES,
    baseline_examples,
    left_branching,
    majority_label,
    sentence_wise,
)
from spacy_rst.tree import RstTree
from tests.sample import examples_from, sample_docs

LABEL = "Joint-NN"


def test_branching_to_the_left():
    assert left_branching(3, LABEL) == [(0, 2, 3, LABEL), (0, 1, 2, LABEL)]
    assert left_branching(1, LABEL) == []
    for n_edus in (2, 5, 30):
        assert len(RstTree.from_splits(left_branching(n_edus, LABEL))) == n_edus


def test_sentence_wise():
    """Sentences 0:3, 3:4 and 4:6."""
    splits = sentence_wise([False, False, True, True, False, True], LABEL)
    assert sorted(split[:3] for split in splits) == [
        (0, 1, 3), (0, 3, 6), (1, 2, 3), (3, 4, 6), (4, 5, 6)
    ]  # fmt: skip
    for n_edus in (1, 2, 7):
        expected = [(start, start + 1, n_edus, LABEL) for start in range(n_edus - 1)]
        for is_end in (True, False):
            assert sentence_wise([is_end] * n_edus, LABEL) == expected


def test_majority_label():
    assert majority_label(["Joint-NN", "Cause-SN", "Joint-NN"]) == "Joint-NN"
    assert majority_label(["Joint-NN", "Cause-SN"]) == "Cause-SN"
    assert majority_label([]) is None


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("xx")


def test_trees_of_a_document(nlp):
    gold = doc_from_edus(nlp, ["It rained ,", "and so we stayed .", "We read ,", "it was nice ."])
    splits = [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Cause-SN"), (2, 3, 4, "Joint-NN")]
    set_tree(gold, RstTree.from_splits(splits))
    examples = examples_from(nlp, [gold])
    places = {
        "right-branching": [(0, 1, 4), (1, 2, 4), (2, 3, 4)],
        "left-branching": [(0, 3, 4), (0, 2, 3), (0, 1, 2)],
        "sentence-wise": [(0, 2, 4), (0, 1, 2), (2, 3, 4)],
        "majority-label": [(0, 2, 4), (0, 1, 2), (2, 3, 4)],
    }
    assert tuple(places) == BASELINES
    for name in BASELINES:
        for label in (None, "Contrast-NN"):
            (made,) = baseline_examples(examples, name, label)
            expected = [(*place, label or "Joint-NN") for place in places[name]]
            assert list(get_tree(made.predicted).splits) == expected
            assert list(get_tree(made.reference).splits) == splits
    assert get_tree(examples[0].predicted) is None


def test_documents_without_edus_get_no_tree(nlp):
    examples = examples_from(nlp, [nlp.make_doc("")])
    made = [baseline_examples(examples, name, LABEL)[0] for name in BASELINES]
    assert all(get_tree(example.predicted) is None for example in made)


def test_unknown_baseline():
    with pytest.raises(ValueError, match=r"'random' is not one of .*sentence-wise"):
        baseline_examples([], "random")


def test_report_per_language(nlp):
    examples = examples_from(nlp, sample_docs(nlp, ["en", "eu"]))
    report = make_report(examples, baselines=True)["baselines"]
    assert tuple(report) == BASELINES
    alone = make_report(examples_from(nlp, sample_docs(nlp, ["eu"])), baselines=True)["baselines"]
    for name, scores in report.items():
        assert scores["documents"] == len(examples)
        assert scores["per_lang"]["eu"] == scores["per_treebank"]["sample.eu"]
        # A language on its own has its own commonest label.
        assert scores["per_lang"]["eu"] == alone[name]["per_lang"]["eu"]
    assert report["majority-label"]["rst_original_span"] == 1
    sentences, right = report["sentence-wise"], report["right-branching"]
    assert sentences["rst_original_span"] > right["rst_original_span"]
