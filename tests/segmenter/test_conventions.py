"""Conventions of treebanks: the segmenter is told which of them a Doc follows."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
from thinc.api import ConfigValidationError

from spacy_rst.doc import doc_from_edus
from spacy_rst.segmenter.boundaries import read_borders
from spacy_rst.segmenter.features import N_FEATURES, describe_tokens
from spacy_rst.treebank.corpus import make_example
from tests.segmenter.pipelines import segmenter_pipeline, train

CONVENTIONS = ["en.stac", "zh.scidtb"]
TEXT = "It rained so we stayed."


def make_doc(nlp, treebank=None, text=TEXT):
    doc = nlp.make_doc(text)
    if treebank is not None:
        doc.user_data["rst_treebank"] = treebank
    return doc


@pytest.mark.parametrize(
    ("treebank", "row"),
    [
        ("en.stac", [1, 0]),
        ("zh.scidtb", [0, 1]),
        (None, [0, 0]),
        ("en.gum", [0, 0]),
        ("stac", [0, 0]),
        (1, [0, 0]),
    ],
)
def test_each_treebank_has_a_column(treebank, row):
    nlp = spacy.blank("xx")
    doc = make_doc(nlp, treebank)
    features = describe_tokens(doc, read_borders(doc), CONVENTIONS)
    assert features.dtype == np.float32
    assert features[:, N_FEATURES:].tolist() == [row] * len(doc)


def test_a_name_alone_is_no_list_of_them():
    with pytest.raises(ConfigValidationError):
        segmenter_pipeline(conventions="en.stac")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Knows that chats divide the text, and all others do not. It was saved and loaded."""
    nlp = segmenter_pipeline(conventions=CONVENTIONS)
    golds = {
        "en.stac": doc_from_edus(nlp, ["It rained", "so we stayed."]),
        "en.gum": doc_from_edus(nlp, [TEXT]),
    }
    for treebank, gold in golds.items():
        gold.user_data["rst_treebank"] = treebank
    train(nlp, [make_example(nlp, gold, gold_edus=False) for gold in golds.values()])
    path = tmp_path_factory.mktemp("trained")
    nlp.to_disk(path)
    return spacy.load(path)


@pytest.mark.parametrize(("treebank", "n_edus"), [("en.stac", 2), ("en.gum", 1), (None, 1)])
def test_learns_where_the_conventions_differ(trained, treebank, n_edus):
    assert len(trained(make_doc(trained, treebank)).spans["edus"]) == n_edus
