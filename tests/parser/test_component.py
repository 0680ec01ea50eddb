from __future__ import annotations

from copy import deepcopy
from textwrap import dedent

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_model_from_path
from thinc.api import Adam

from spacy_rst.doc import TREE_KEY, doc_from_edus, get_tree, set_edus, set_tree
from spacy_rst.errors import RstError
from spacy_rst.tree import RstTree
from spacy_rst.treebank.corpus import make_example
from tests.parser.pipelines import (
    OWN_TOK2VEC,
    own_encoder_pipeline,
    parser_config,
    shared_tok2vec_pipeline,
    train,
    transformer_pipeline,
)
from tests.processes import run_python
from tests.sample import examples_from, sample_docs
from tests.tiny_models import build_tiny_xlmr

SPAN = {"splitter": "span", "layer_norm": True, "text_features": True}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint")
    return str(build_tiny_xlmr(path, layers=2, width=32, inner_width=64))


def gold_docs(nlp):
    """Documents in which every EDU is a sentence, for the `senter` to learn."""
    docs = sample_docs(nlp, ["eu", "en"])
    for doc in docs:
        starts = {edu.start for edu in doc.spans["edus"]}
        for token in doc:
            token.is_sent_start = token.i in starts
    return docs


@pytest.fixture(
    scope="module",
    params=["own encoder", "tok2vec", "transformer", "transformer and a second listener"],
)
def trained(request):
    """A pipeline that knows its examples by heart, and the examples."""
    if "transformer" not in request.param:
        own = request.param == "own encoder"
        nlp = own_encoder_pipeline() if own else shared_tok2vec_pipeline(**SPAN)
        examples = examples_from(nlp, gold_docs(nlp))
        train(nlp, examples)
        return nlp, examples
    checkpoint = request.getfixturevalue("checkpoint")
    segmenter = "second" in request.param
    nlp = transformer_pipeline(checkpoint, segmenter=segmenter, **(SPAN if segmenter else {}))
    examples = examples_from(nlp, gold_docs(nlp)[:3])
    history = train(nlp, examples, learn_rate=0.003, batch_size=1, epochs=120)
    if segmenter:
        assert history[-1]["senter"] < 0.8 * history[0]["senter"]
    return nlp, examples


@pytest.fixture(scope="module")
def small():
    """A trained parser with an encoder of its own, and its two examples."""
    nlp = own_encoder_pipeline(**SPAN)
    examples = examples_from(nlp, sample_docs(nlp, ["eu"])[:2])
    train(nlp, examples)
    return nlp, examples


@pytest.fixture
def fresh():
    """An untrained parser and two examples."""
    nlp = own_encoder_pipeline()
    return nlp, examples_from(nlp, sample_docs(nlp, ["eu"])[:2])


def inputs(examples):
    return [example.predicted.copy() for example in examples]


def trees(docs):
    return [get_tree(doc) for doc in docs]


def assert_same_trees(first, second):
    """Equal but for rounding in the probabilities."""
    for one, other in zip(first, second, strict=True):
        assert one.splits == other.splits
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)


def weights(pipe):
    return pipe.model.to_bytes()


def test_learns_its_training_data_by_heart(trained):
    nlp, examples = trained
    scores = nlp.evaluate(examples)
    assert scores["rst_full"] == scores["rst_original_macro_full"] == 1.0
    for score in get_tree(nlp(inputs(examples)[0])).scores:
        assert 0 < score.split <= 1.0001 and 0 < score.label <= 1.0001


def test_reloads_equal_from_disk_and_bytes(trained, tmp_path):
    nlp, examples = trained
    expected = trees(nlp.pipe(inputs(examples)))
    nlp.to_disk(tmp_path)
    from_disk = load_model_from_path(tmp_path)
    from_bytes = spacy.blank("xx").from_config(nlp.config).from_bytes(nlp.to_bytes())
    for reloaded in (from_disk, from_bytes):
        assert reloaded.get_pipe("rst_parser").labels == nlp.get_pipe("rst_parser").labels
        assert_same_trees(trees(reloaded.pipe(inputs(examples))), expected)


def test_pipe_equals_call_at_any_batch_size(trained):
    nlp, examples = trained
    expected = trees(nlp(doc) for doc in inputs(examples))
    for batch_size in (1, 3, 100):
        assert_same_trees(trees(nlp.pipe(inputs(examples), batch_size=batch_size)), expected)


def test_parses_a_bounded_number_of_tokens_at_once(small, monkeypatch):
    nlp, examples = small
    expected = trees(nlp.pipe(inputs(examples)))
    parser, sizes = nlp.get_pipe("rst_parser"), []
    parse = parser.predict_batch
    monkeypatch.setattr(parser, "max_batch_tokens", 10)
    monkeypatch.setattr(
        parser, "predict_batch", lambda docs: sizes.append(len(docs)) or parse(docs)
    )
    assert_same_trees(trees(nlp.pipe(inputs(examples))), expected)
    assert sizes == [1, 1]


def test_records_the_total_loss_and_its_parts(fresh):
    nlp, examples = fresh
    nlp.initialize(lambda: examples)
    losses = nlp.update(examples, losses={"rst_parser": 1.0})
    assert losses["rst_split"] > 0 and losses["rst_label"] > 0
    assert losses["rst_parser"] == pytest.approx(1 + losses["rst_split"] + losses["rst_label"])


def test_learns_on_gold_edus_whatever_the_predicted_docs_have(fresh):
    nlp, examples = fresh
    nlp.initialize(lambda: examples)
    parser = nlp.get_pipe("rst_parser")
    expected = parser.update(examples_from(nlp, [eg.reference for eg in examples]))
    for example in examples:
        set_edus(example.predicted, [example.predicted[:]])
    assert parser.update(examples) == pytest.approx(expected)


def test_aligns_gold_edus_to_other_tokens(fresh):
    nlp, examples = fresh
    nlp.initialize(lambda: examples)
    for example in examples:
        text = example.reference.text
        retokenized = Example(
            Doc(nlp.vocab, words=list(text), spaces=[False] * len(text)), example.reference
        )
        nlp.get_pipe("rst_parser").update([retokenized])
        edus = [edu.text for edu in retokenized.predicted.spans["edus"]]
        assert edus == [edu.text for edu in example.reference.spans["edus"]]


def test_frozen_components_do_not_change():
    nlp = shared_tok2vec_pipeline()
    examples = examples_from(nlp, sample_docs(nlp, ["eu"])[:2])
    optimizer = nlp.initialize(lambda: examples)
    tok2vec, parser = nlp.get_pipe("tok2vec"), nlp.get_pipe("rst_parser")
    before = weights(tok2vec), weights(parser)
    nlp.update(examples, sgd=optimizer, exclude=["tok2vec"], annotates=["tok2vec"])
    assert weights(tok2vec) == before[0]
    assert weights(parser) != before[1]
    before = weights(parser)
    nlp.update(examples, sgd=optimizer, exclude=["rst_parser"])
    assert weights(parser) == before


def test_resumes_training_with_its_labels(small, tmp_path):
    nlp, examples = small
    nlp.to_disk(tmp_path)
    resumed = spacy.load(tmp_path)
    untrained = own_encoder_pipeline(**SPAN)
    untrained.initialize(lambda: examples)
    first = untrained.update(examples, sgd=False)["rst_parser"]
    optimizer = resumed.resume_training()
    assert resumed.update(examples, sgd=optimizer)["rst_parser"] < first / 2
    sourced = spacy.blank("xx")
    sourced.add_pipe("rst_parser", source=spacy.load(tmp_path))
    assert sourced.get_pipe("rst_parser").labels == nlp.get_pipe("rst_parser").labels
    assert_same_trees(trees(sourced.pipe(inputs(examples))), trees(nlp.pipe(inputs(examples))))


def test_a_resumed_parser_refuses_new_labels(small):
    nlp, _ = small
    doc = doc_from_edus(nlp, ["Yes .", "No ."])
    set_tree(doc, RstTree.from_splits([(0, 1, 2, "Surprise-NS")]))
    doc.user_data["rst_name"] = "surprising"
    with pytest.raises(RstError, match=r"R204.*'Surprise-NS'.*'surprising'"):
        nlp.update([make_example(nlp, doc)], sgd=False)


def test_empty_and_one_edu_docs(small):
    nlp, examples = small
    normal = inputs(examples)[0]
    one = doc_from_edus(nlp, ["Just one."])
    docs = [Doc(nlp.vocab), nlp.make_doc(" \n\n "), one, normal]
    for parsed in (list(nlp.pipe(docs)), [nlp(doc) for doc in docs]):
        first, blank, single, tree = trees(parsed)
        assert first is None and blank is None
        assert single.root.is_leaf and single.splits == ()
        assert len(tree) == len(normal.spans["edus"])
    assert trees(nlp.pipe([Doc(nlp.vocab), nlp.make_doc(" ")])) == [None, None]


def test_batches_without_any_split_can_be_learned_from(small):
    nlp, _ = small
    one = doc_from_edus(nlp, ["Just one."])
    set_tree(one, RstTree.from_splits([]))
    blank = Example(nlp.make_doc(" \n "), nlp.make_doc(" \n "))
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    losses = nlp.update([make_example(nlp, one), blank, empty], sgd=False)
    assert losses["rst_parser"] == 0
    assert nlp.update([blank], sgd=False)["rst_parser"] == 0


def test_docs_without_gold_trees_teach_nothing_but_stay_in_the_batch():
    nlp = shared_tok2vec_pipeline()
    examples = examples_from(nlp, sample_docs(nlp, ["eu"])[:2])
    plain = nlp.make_doc("No tree here.")
    nlp.initialize(lambda: examples)
    optimizer = Adam(0.01, L2=0.0)
    before = weights(nlp.get_pipe("rst_parser"))
    losses = nlp.update([Example(plain, plain.copy())], sgd=optimizer)
    assert losses["rst_parser"] == 0 and weights(nlp.get_pipe("rst_parser")) == before
    alone = nlp.update(examples[:1], sgd=False)
    mixed = nlp.update([examples[0], Example(plain, plain.copy())], sgd=False)
    assert mixed["rst_parser"] == pytest.approx(alone["rst_parser"], rel=1e-4)


def test_a_doc_without_edus_is_refused(small):
    nlp, examples = small
    with pytest.raises(RstError, match="R020"):
        nlp("Nobody segmented this.")
    with pytest.raises(RstError, match="R020"):
        list(nlp.pipe([inputs(examples)[0], nlp.make_doc("Nobody segmented this.")]))


def test_labels_come_from_the_examples_in_order(fresh):
    nlp, examples = fresh
    nlp.get_pipe("rst_parser").add_label("Surprise-NN")
    nlp.initialize(lambda: examples)
    labels = nlp.get_pipe("rst_parser").labels
    found = {split.label for example in examples for split in get_tree(example.reference).splits}
    assert labels == ("Surprise-NN", *sorted(found))
    assert nlp.get_pipe("rst_parser").model.get_dim("nO") == len(labels)


def test_labels_come_from_a_file(fresh, tmp_path):
    nlp, examples = fresh
    labels = [
        "Surprise-NN",
        *sorted({s.label for eg in examples for s in get_tree(eg.reference).splits}, reverse=True),
    ]
    srsly.write_json(tmp_path / "rst_parser.json", labels)
    reader = {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "rst_parser.json")}
    nlp.config["initialize"]["components"]["rst_parser"] = {"labels": reader}
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("rst_parser").labels == tuple(labels)
    nlp.initialize()  # without data, as `spacy assemble` does
    assert nlp.get_pipe("rst_parser").label_data == tuple(labels)


def test_labels_cannot_be_added_to_a_trained_parser(small):
    nlp, _ = small
    parser = nlp.get_pipe("rst_parser")
    assert parser.add_label(parser.labels[0]) == 0
    with pytest.raises(ValueError, match="E922"):
        parser.add_label("Surprise-NN")
    with pytest.raises(RstError, match="R013"):
        parser.add_label("Surprise")


def test_initializing_again_starts_anew(fresh):
    nlp, examples = fresh
    nlp.initialize(lambda: examples[:1])
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert len(nlp.get_pipe("rst_parser").labels) > 1


def initialize(nlp, examples, labels=None):
    nlp.get_pipe("rst_parser").initialize(lambda: examples, nlp=nlp, labels=labels)


def test_refuses_data_without_any_tree(fresh):
    nlp, examples = fresh
    one = doc_from_edus(nlp, ["Just one."])
    set_tree(one, RstTree.from_splits([]))
    with pytest.raises(RstError, match="R200"):  # nor without any split
        initialize(nlp, [make_example(nlp, one)])
    plain = [Example(inputs([eg])[0], nlp.make_doc(eg.reference.text)) for eg in examples]
    with pytest.raises(RstError, match="R200"):
        initialize(nlp, plain)
    with pytest.raises(RstError, match="R200"):
        initialize(nlp, plain, labels=["Joint-NN"])


def test_refuses_tokens_that_edus_cut(fresh):
    nlp, examples = fresh
    reference = examples[1].reference
    whole = Doc(nlp.vocab, words=[reference.text], spaces=[False])
    with pytest.raises(RstError, match=f"R202.*'{reference.user_data['rst_source']}'"):
        initialize(nlp, [examples[0], Example(whole, reference)])


def test_refuses_labels_that_are_not_listed(fresh):
    nlp, examples = fresh
    with pytest.raises(RstError, match=r"R204.*'eu/.*\.rs3'"):
        initialize(nlp, examples, labels=["Joint-NN"])


@pytest.mark.parametrize("damage", [
    lambda stored: stored["labels"].__setitem__(0, None),
    lambda stored: stored["labels"].__setitem__(0, "Elaboration"),
    lambda stored: stored["splits"].__setitem__(0, [0, 0, 2]),
    lambda stored: stored.pop("labels"),
    lambda stored: stored["edu_chars"].pop(),
])  # fmt: skip
def test_refuses_trees_with_missing_or_wrong_labels_and_splits(fresh, damage):
    nlp, examples = fresh
    stored = deepcopy(examples[1].reference.user_data[TREE_KEY])
    damage(stored)
    examples[1].reference.user_data[TREE_KEY] = stored
    with pytest.raises(RstError, match=r"R203.*'eu/.*\.rs3'"):
        initialize(nlp, examples)


def test_a_loaded_parser_takes_inference_settings_from_its_config(small, tmp_path):
    nlp, examples = small
    nlp.to_disk(tmp_path)
    option = "components.rst_parser.model.splitter.search_edus"
    searching = spacy.load(tmp_path, config={option: 50})
    for pipeline, expected in ((nlp, 0), (searching, 50)):
        assert all(get_tree(doc) for doc in pipeline.pipe(inputs(examples)))
        assert pipeline.get_pipe("rst_parser").model.shims[0].net.splitter.search_edus == expected


def test_analysis_knows_what_the_parser_needs():
    nlp = spacy.blank("xx")
    nlp.add_pipe("rst_parser", config=parser_config(OWN_TOK2VEC))
    analysis = nlp.analyze_pipes()
    assert analysis["summary"]["rst_parser"]["assigns"] == ["doc._.rst_tree"]
    assert analysis["problems"]["rst_parser"] == ["doc.spans"]


def test_several_processes_do_not_hang_after_torch_used_threads(small, tmp_path):
    nlp, examples = small
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=inputs(examples) * 2).to_disk(tmp_path / "docs.spacy")
    code = """
        import sys
        import spacy, torch
        from spacy.tokens import DocBin
        import spacy_rst

        torch.set_num_threads(2)
        nlp = spacy.load(sys.argv[1])
        torch.randn(1000, 1000) @ torch.randn(1000, 1000)
        read = lambda: list(DocBin().from_disk(sys.argv[2]).get_docs(nlp.vocab))
        alone = [doc._.rst_tree for doc in nlp.pipe(read())]
        parallel = [doc._.rst_tree for doc in nlp.pipe(read(), n_process=2, batch_size=2)]
        assert [tree.splits for tree in alone] == [tree.splits for tree in parallel]
        assert torch.get_num_threads() == 2
    """
    run_python(dedent(code), str(tmp_path / "model"), str(tmp_path / "docs.spacy"))
