from __future__ import annotations

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_rst.encoder.listener import SYNTAX_VECTORS
from spacy_rst.errors import RstError
from spacy_rst.segmenter.boundaries import read_borders
from tests.parser.pipelines import OWN_TOK2VEC, TOK2VEC_LISTENER, parser_config
from tests.sample import sample_docs
from tests.segmenter.pipelines import make_example, segmenter_config, train

SYNTAX_LISTENER = {"@architectures": "spacy_rst.SyntaxListener.v1", "width": 40}


def add_syntax(nlp, **settings):
    return nlp.add_pipe(
        "syntax",
        config={
            "model": {
                "@architectures": "spacy_rst.Syntax.v1",
                "tok2vec": TOK2VEC_LISTENER | {"upstream": "tok2vec"},
                "width": 40,
                "hidden_width": 32,
                "arc_width": 16,
                "label_width": 16,
                "dropout": None,
            },
            **settings,
        },
    )


def make_pipeline(**settings):
    """An encoder, syntax over it, and a segmenter and a parser over that."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": OWN_TOK2VEC})
    add_syntax(nlp, **settings)
    nlp.add_pipe("edu_segmenter", config=segmenter_config(SYNTAX_LISTENER))
    nlp.add_pipe("rst_parser", config=parser_config(SYNTAX_LISTENER, splitter="span"))
    return nlp


def with_syntax(doc):
    """A copy of a Doc in which each token hangs on the first of its EDU, and that is a root."""
    copy = doc.copy()
    for edu in copy.spans["edus"]:
        for token in edu:
            token.head, token.dep_, token.pos_ = edu[0], "dep", "NOUN"
        edu[0].dep_, edu[0].pos_ = "ROOT", "VERB"
    return copy


@pytest.fixture(scope="module")
def trained():
    nlp = make_pipeline(annotate=True)
    golds = [with_syntax(doc) for doc in sample_docs(nlp, ["eu"])]
    examples = [make_example(nlp, gold, gold_edus=False) for gold in golds]
    train(nlp, examples, goals=("edu_span_f", "dep_las", "pos_acc"), epochs=100)
    return nlp, examples


def test_learns_syntax_segments_and_trees_together(trained):
    nlp, examples = trained
    scores = nlp.evaluate([make_example(nlp, e.reference, gold_edus=False) for e in examples])
    assert scores["pos_acc"] > 0.95 and scores["dep_las"] > 0.9
    assert scores["edu_f"] > 0.95 and scores["rst_span"] > 0.9


def test_reloaded_is_the_same_and_config_decides_what_is_annotated(trained, tmp_path):
    nlp, examples = trained
    text = examples[0].reference.text
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    one, other = nlp(text), again(text)
    assert [t.head.i for t in one] == [t.head.i for t in other]
    assert one._.rst_tree.splits == other._.rst_tree.splits
    silent = spacy.load(tmp_path, config={"components.syntax.annotate": False})
    doc = silent(text)
    assert doc._.rst_json == one._.rst_json
    assert not doc.has_annotation("DEP") and not doc.has_annotation("POS")
    np.testing.assert_allclose(SYNTAX_VECTORS[doc], SYNTAX_VECTORS[one], atol=1e-5)


def test_pipe_is_the_same_as_call(trained):
    nlp, examples = trained
    texts = [example.reference.text for example in examples] + ["", " "]
    for text, doc in zip(texts, nlp.pipe(texts), strict=True):
        assert [token.dep_ for token in doc] == [token.dep_ for token in nlp(text)]


def test_keeps_syntax_that_is_there_and_marks_white_space(trained):
    nlp, _ = trained
    doc = Doc(nlp.vocab, words=["a", "b"], heads=[1, 1], deps=["x", "ROOT"], pos=["X", "X"])
    assert [token.dep_ for token in nlp(doc)] == ["x", "ROOT"]
    doc = Doc(nlp.vocab, words=["a", "b"], sent_starts=[True, True])
    assert [token.is_sent_start for token in nlp(doc)] == [True, True]
    assert not doc.has_annotation("DEP")
    doc = nlp("Etxean gelditu ginen.\n\nEuria ari zuen.")
    space = next(token for token in doc if token.is_space)
    assert space.pos_ == "SPACE" and space.head.i == space.i - 1
    assert doc.has_annotation("SENT_START")


def test_learns_without_any_syntax_and_annotates_nothing():
    nlp = make_pipeline(annotate=True)
    examples = [make_example(nlp, doc, gold_edus=False) for doc in sample_docs(nlp, ["eu"])[:2]]
    train(nlp, examples, epochs=1)
    assert not nlp("Bat. Bi.").has_annotation("DEP")


def test_gradients_reach_the_encoder_from_syntax_alone():
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": OWN_TOK2VEC})
    add_syntax(nlp, annotate=True)
    golds = [with_syntax(doc) for doc in sample_docs(nlp, ["eu"])]
    examples = [Example(nlp.make_doc(gold.text), gold) for gold in golds]
    history = train(nlp, examples, goals=("dep_las",), epochs=30)
    assert history[-1]["syntax"] < 0.5 * history[0]["syntax"]


def test_is_an_encoder_that_other_components_can_have_for_themselves(trained, tmp_path):
    nlp, examples = trained
    text = examples[0].reference.text
    nlp.to_disk(tmp_path / "shared")
    own = spacy.load(tmp_path / "shared")
    own.replace_listeners("syntax", "rst_parser", ["model.tok2vec"])
    assert own(text)._.rst_tree.splits == nlp(text)._.rst_tree.splits
    own = spacy.load(tmp_path / "shared")
    own.replace_listeners("tok2vec", "syntax", ["model.tok2vec"])
    assert own(text)._.rst_tree.splits == nlp(text)._.rst_tree.splits
    for name in ("edu_segmenter", "rst_parser"):
        own.replace_listeners("syntax", name, ["model.tok2vec"])
    own.remove_pipe("syntax")
    own.remove_pipe("tok2vec")
    own.to_disk(tmp_path / "own")
    again = spacy.load(tmp_path / "own")
    assert again(text)._.rst_tree.splits == nlp(text)._.rst_tree.splits
    again.update([make_example(again, examples[0].reference)], sgd=again.resume_training())


def test_own_sentences_begin_no_edus(trained):
    nlp, examples = trained
    doc = nlp(examples[0].reference.text)
    assert np.flatnonzero(read_borders(doc).sentences).tolist() == [0]
    n_sentences = read_borders(doc, guessed_sentences=True).sentences.sum()
    assert n_sentences == len(list(doc.sents)) > 1


def test_leaves_the_vectors_of_tok2vec_alone_and_keeps_its_own_off_the_doc(trained):
    nlp, examples = trained
    doc = nlp(examples[0].reference.text)
    assert doc.tensor.shape == (len(doc), OWN_TOK2VEC["width"])
    assert SYNTAX_VECTORS[doc].shape == (len(doc), 40)
    n_kept = len(SYNTAX_VECTORS)
    del doc
    assert len(SYNTAX_VECTORS) == n_kept - 1


def test_a_frozen_component_is_listened_to(trained):
    nlp = make_pipeline(annotate=True).from_bytes(trained[0].to_bytes())
    examples = [make_example(nlp, doc) for doc in sample_docs(nlp, ["eu"])]
    before = nlp.get_pipe("syntax").model.to_bytes()
    frozen = ["tok2vec", "syntax"]
    losses = nlp.update(examples, sgd=nlp.resume_training(), exclude=frozen, annotates=frozen)
    assert losses["rst_parser"] > 0 and "syntax" not in losses
    assert nlp.get_pipe("syntax").model.to_bytes() == before


def test_a_listener_to_a_tok2vec_is_refused():
    nlp = make_pipeline()
    listener = TOK2VEC_LISTENER | {"upstream": "syntax"}
    with pytest.raises(RstError, match=r"R340.*'other'"):
        nlp.add_pipe("rst_parser", name="other", config=parser_config(listener))
        nlp.initialize()


def test_vectors_of_syntax_that_are_missing_are_missed(trained):
    nlp, examples = trained
    with pytest.raises(RstError, match="R310"):
        nlp(examples[0].reference.text, disable=["syntax"])
