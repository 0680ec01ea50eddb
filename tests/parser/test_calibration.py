"""Calibration: what probabilities are worth, and temperatures that change nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
import torch

from spacy_rst.doc import doc_from_edus
from spacy_rst.errors import RstError
from spacy_rst.evaluation import parse_docs
from spacy_rst.parser.calibration import (
    MAX_TEMPERATURE,
    apply_temperature,
    calibrate,
    collect_choices,
    find_parser,
    fit_temperature,
    join_choices,
    judge_choices,
    judge_nodes,
    measure_reliability,
)
from spacy_rst.parser.spans import Choices
from spacy_rst.tree import RstTree
from spacy_rst.treebank.corpus import make_example
from tests.parser.pipelines import shared_tok2vec_pipeline, train
from tests.sample import examples_from, sample_docs


def trained_pipeline(**settings):
    """A parser that knows two documents by heart, and is as sure of all others."""
    nlp = shared_tok2vec_pipeline(**settings)
    train(nlp, examples_from(nlp, sample_docs(nlp, ["eu"])[:2]))
    return nlp


@pytest.fixture(scope="module")
def weights():
    return trained_pipeline(splitter="span", layer_norm=True).to_bytes()


@pytest.fixture
def nlp(weights):
    return shared_tok2vec_pipeline(splitter="span", layer_norm=True).from_bytes(weights)


def unseen(nlp):
    return sample_docs(nlp, ["eu"])[2:]


def draw_choices(temperature: float, n: int = 4000) -> Choices:
    """Choices among three options, of which one is drawn with the true probabilities, while the
    parser gives those at another temperature."""
    torch.manual_seed(0)
    scores = torch.randn(n, 3, dtype=torch.double)
    gold = torch.multinomial(scores.softmax(1), 1).squeeze(1)
    numbers = torch.arange(n)
    log_probs = (scores * temperature).log_softmax(1)
    return Choices(log_probs.flatten(), numbers.repeat_interleave(3), 3 * numbers + gold)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_is_found_again(temperature):
    choices = draw_choices(temperature)
    found = fit_temperature(choices)
    assert found == pytest.approx(temperature, rel=0.1)
    error = judge_choices(apply_temperature(choices, found)).error
    assert error < 0.03
    if temperature != 1:
        assert judge_choices(choices).error > 2 * error


def test_the_temperature_is_where_the_log_loss_is_least():
    choices = draw_choices(2.0)
    found = fit_temperature(choices)

    def loss(temperature):
        return -apply_temperature(choices, temperature).log_probs[choices.gold].sum()

    assert loss(found) < min(loss(0.98 * found), loss(1.02 * found))


def test_temperatures_are_bounded():
    always_right = Choices(torch.tensor([0.9, 0.1]).log(), torch.tensor([0, 0]), torch.tensor([0]))
    assert fit_temperature(always_right) == pytest.approx(1 / MAX_TEMPERATURE)
    always_wrong = always_right._replace(gold=torch.tensor([1]))
    assert fit_temperature(always_wrong) == pytest.approx(MAX_TEMPERATURE)
    nothing = Choices(*(part[:0] for part in always_right))
    assert fit_temperature(nothing) == 1 and judge_choices(nothing).error is None


def test_reliability_by_hand():
    probs = np.array([0.05, 0.31, 0.39, 0.95, 1.0])
    is_right = np.array([False, True, False, True, True])
    reliability = measure_reliability(probs, is_right)
    assert [part.n for part in reliability.bins] == [1, 0, 0, 2, 0, 0, 0, 0, 0, 2]
    assert reliability.bins[1].probability is reliability.bins[1].right is None
    assert reliability.bins[3].probability == pytest.approx(0.35)
    assert reliability.bins[3].right == 0.5
    assert reliability.error == pytest.approx((0.05 + 2 * 0.15 + 2 * 0.025) / 5)


def test_nodes_are_right_with_span_split_and_label():
    nlp = spacy.blank("xx")
    gold = doc_from_edus(nlp, ["One,", "two.", "Three,", "four."])
    gold._.rst_tree = RstTree.from_splits(
        [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Cause-NS"), (2, 3, 4, "Cause-NS")]
    )
    example = make_example(nlp, gold)
    doc = example.predicted
    splits = [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Cause-SN"), (2, 3, 4, "Cause-NS")]
    scores = [(0.5, 0.5), (1.0, 0.45), (1.0, 0.95)]
    doc._.rst_tree = RstTree.from_splits(splits, list(doc.spans["edus"]), scores)
    found = {n: part for n, part in enumerate(judge_nodes([example]).bins) if part.n}
    assert {n: (part.probability, part.right) for n, part in found.items()} == {
        2: (0.25, 1.0),
        4: (0.45, 0.0),
        9: (0.95, 1.0),
    }
    # Other EDUs: the root begins and ends at the same places, but is split elsewhere.
    edus = [doc[:6], doc[6:]]
    doc._.rst_tree = RstTree.from_splits([(0, 1, 2, "Joint-NN")], edus, [(1.0, 0.25)])
    assert judge_nodes([example]).bins[2].right == 0
    edus = [doc[:4], doc[4:]]
    doc._.rst_tree = RstTree.from_splits([(0, 1, 2, "Joint-NN")], edus, [(1.0, 0.25)])
    assert judge_nodes([example]).bins[2].right == 1
    doc._.rst_tree = None
    assert judge_nodes([example]).n == 0


def test_choices_are_those_of_the_gold_spans(nlp):
    """Where the parser finds the gold tree, it gave these probabilities to its own choices."""
    docs = sample_docs(nlp, ["eu"])[:2]
    choices = collect_choices(nlp, "rst_parser", docs)
    scores = [
        (len(node), node.score)
        for example in parse_docs(nlp, docs)
        for node in example.predicted._.rst_tree.nodes()
        if not node.is_leaf
    ]
    splits = [score.split for length, score in scores if length > 2]
    labels = [score.label for _, score in scores]
    for name, expected in (("splits", splits), ("labels", labels)):
        found = choices[name].log_probs[choices[name].gold].exp()
        assert sorted(found.tolist()) == pytest.approx(sorted(expected), abs=1e-5)


def test_labels_that_the_parser_does_not_know_are_left_out(nlp):
    doc = doc_from_edus(nlp, ["It rained,", "so we stayed.", "We slept."])
    known = nlp.get_pipe("rst_parser").labels[0]
    doc._.rst_tree = RstTree.from_splits([(0, 2, 3, "Topic-Change-NN"), (0, 1, 2, known)])
    choices = collect_choices(nlp, "rst_parser", [doc])
    assert len(choices["labels"].gold) == 1 and len(choices["splits"].gold) == 1


def test_a_parser_that_is_too_sure_gets_honest_and_makes_the_same_trees(nlp, weights):
    docs = unseen(nlp)
    before = parse_docs(nlp, docs)
    calibration = calibrate(nlp, docs)
    assert calibration.temperatures["splits"] > 1.2 and calibration.temperatures["labels"] > 1.2
    for name in ("splits", "labels", "nodes_gold"):
        assert calibration.after[name].error < calibration.before[name].error, name
        assert calibration.after[name].n == calibration.before[name].n > 0
    assert (calibration.n_trees, calibration.n_changed) == (len(docs), 0)
    for old, new in zip(before, parse_docs(nlp, docs), strict=True):
        old_tree, new_tree = old.predicted._.rst_tree, new.predicted._.rst_tree
        assert old_tree.splits == new_tree.splits and old_tree.scores != new_tree.scores
    # The weights give what the temperatures promise, also after a reload, and need no other.
    again = calibrate(type(nlp).from_config(nlp.config).from_bytes(nlp.to_bytes()), docs)
    assert again.temperatures == pytest.approx({"splits": 1.0, "labels": 1.0}, abs=1e-3)
    for name, part in calibration.after.items():
        assert again.before[name].error == pytest.approx(part.error, abs=1e-4)


def test_a_pointer_gets_a_temperature_for_labels_alone():
    nlp = trained_pipeline()
    calibration = calibrate(nlp, unseen(nlp))
    assert calibration.temperatures["splits"] is None and calibration.temperatures["labels"] > 1
    assert list(calibration.before) == ["labels", "nodes_gold"]
    assert calibration.n_changed == 0
    with pytest.raises(ValueError, match="PointerSplitter"):
        nlp.get_pipe("rst_parser").apply_temperature(splits=2.0)


def test_a_pipeline_without_a_parser_is_refused():
    with pytest.raises(RstError, match="R554"):
        find_parser(spacy.blank("xx"))


def test_joined_choices_keep_their_options():
    one = Choices(torch.tensor([0.2, 0.8]).log(), torch.tensor([0, 0]), torch.tensor([1]))
    joined = join_choices([one, one._replace(gold=torch.tensor([0]))])
    assert joined.numbers.tolist() == [0, 0, 1, 1] and joined.gold.tolist() == [1, 2]
