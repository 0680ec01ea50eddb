"""What components say when the encoder is missing that they listen to."""

from __future__ import annotations

import numpy as np
import pytest
import spacy

import spacy_rst
from spacy_rst import RstError
from spacy_rst.encoder.listener import SYNTAX_VECTORS
from tests.encoder.xlmr import code_of
from tests.parser.pipelines import OWN_TOK2VEC, transformer_pipeline
from tests.sample import examples_from, sample_docs

TEXT = "It rained all day, so we stayed at home."


@pytest.fixture(scope="module")
def bundled():
    return spacy_rst.load(exclude=["vector_cleaner"])


def sourced(bundled, *names: str):
    nlp = spacy.blank("en")
    for name in names:
        nlp.add_pipe(name, source=bundled)
    return nlp


@pytest.mark.parametrize("name", ["edu_segmenter", "rst_parser"])
def test_a_missing_encoder(bundled, name):
    nlp = sourced(bundled, name)
    doc = nlp.make_doc(TEXT)
    doc.spans["edus"] = [] if name == "edu_segmenter" else [doc[:5], doc[5:]]
    with pytest.raises(RstError, match=rf"R310.*'{name}'.*tok2vec.*nlp.add_pipe\(\"rst\"\)"):
        nlp(doc)
    assert code_of(lambda: list(nlp.pipe([doc]))) == "R310"


def test_vectors_that_were_taken_off(bundled):
    nlp = sourced(bundled, "tok2vec", "syntax", "edu_segmenter")
    nlp.add_pipe("doc_cleaner", after="tok2vec")
    assert code_of(lambda: nlp(TEXT)) == "R310"


@pytest.mark.parametrize("disabled", [["tok2vec"], ["syntax"], ["tok2vec", "syntax"]])
def test_an_encoder_that_is_disabled(bundled, disabled):
    nlp = sourced(bundled, "tok2vec", "syntax", "edu_segmenter", "rst_parser")
    with nlp.select_pipes(disable=disabled):
        assert code_of(lambda: nlp(TEXT)) == "R310"


def test_an_encoder_that_comes_too_late(bundled):
    nlp = sourced(bundled, "edu_segmenter", "tok2vec")
    assert code_of(lambda: nlp(TEXT)) == "R310"


def test_an_encoder_of_another_pipeline(bundled):
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": OWN_TOK2VEC})
    nlp.initialize()
    nlp.add_pipe("syntax", source=bundled)
    with pytest.raises(RstError, match=r"R311.*'syntax'.*256.*32"):
        nlp(TEXT)


def test_vectors_from_elsewhere_and_replaced_listeners_will_do(bundled):
    expected = bundled(TEXT)
    nlp = sourced(bundled, "edu_segmenter", "rst_parser")
    doc = nlp.make_doc(TEXT)
    SYNTAX_VECTORS[doc] = SYNTAX_VECTORS[expected]
    assert nlp(doc)._.rst_json == expected._.rst_json
    own = spacy_rst.load()
    own.replace_listeners("tok2vec", "syntax", ["model.tok2vec"])
    for name in ("edu_segmenter", "rst_parser"):
        own.replace_listeners("syntax", name, ["model.tok2vec"])
    own = sourced(own, "edu_segmenter", "rst_parser")
    assert own(TEXT)._.rst_json == expected._.rst_json


def test_docs_without_tokens_need_no_vectors(bundled):
    nlp = sourced(bundled, "edu_segmenter", "rst_parser")
    assert nlp("")._.rst_tree is None


def test_a_missing_transformer(tiny_xlmr):
    nlp = transformer_pipeline(tiny_xlmr)
    examples = examples_from(nlp, sample_docs(nlp, ["en"])[:2])
    nlp.initialize(lambda: examples)
    doc = nlp.make_doc(TEXT)
    doc.spans["edus"] = [doc[:5], doc[5:]]
    doc.tensor = np.ones((len(doc), 16), dtype="f")
    with nlp.select_pipes(disable="transformer"):
        assert code_of(lambda: nlp(doc)) == "R310"
    assert nlp(doc)._.rst_tree is not None
