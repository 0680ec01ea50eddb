from __future__ import annotations

from collections import Counter

import pytest
import spacy

from spacy_rst.doc import doc_from_edus, get_tree
from spacy_rst.doc_layout import get_layout, set_layout
from spacy_rst.treebank.corpus import Corpus
from spacy_rst.treebank.docbin import new_docbin, write_docbin
from spacy_rst.treebank.strip_layout import as_running_text

from .test_corrupt import make_doc

EDUS = ["It rained,", "so we stayed.", "Then we left."]
RUNNING = "It rained, so we stayed. Then we left."


def test_breaks_are_gone_and_all_else_stays():
    doc = make_doc(EDUS)
    doc.user_data["rst_name"] = "two"
    running = as_running_text(doc)
    assert running.text == RUNNING
    assert [edu.text for edu in running.spans["edus"]] == [e.text for e in doc.spans["edus"]]
    assert get_tree(running) == get_tree(doc)
    assert running.user_data["rst_name"] == "two"
    assert "layout" in running.spans and get_layout(running) is None
    assert len(get_layout(doc)) == 2  # the original keeps its own


@pytest.mark.parametrize("text", ["", "  ", "One line."])
def test_a_text_without_breaks_stays_as_it_is(text):
    doc = spacy.blank("en")(text)
    doc.spans["edus"] = [doc[:]] if text.strip() else []
    assert as_running_text(doc).text == text


def test_scripts_without_spaces_get_none():
    doc = make_doc(["下雨了，", "我们在家。", "然后走了。"])
    assert "\n\n" in doc.text and " " not in as_running_text(doc).text.replace(" 我", "我")
    assert as_running_text(doc).text.endswith("。然后走了。")


@pytest.mark.parametrize(
    ("share", "at_least", "at_most"), [(0.0, 0, 0), (0.5, 1, 39), (1.0, 40, 40)]
)
def test_a_corpus_hides_the_layout_of_its_share(tmp_path, share, at_least, at_most):
    write_docbin(tmp_path / "x.spacy", new_docbin([make_doc(EDUS)] * 40))
    corpus, nlp = Corpus(tmp_path / "x.spacy", hide_layout=share), spacy.blank("en")
    drawn = [[get_layout(example.predicted) is None for example in corpus(nlp)] for _ in range(2)]
    assert drawn[0] == drawn[1] and at_least <= sum(drawn[0]) <= at_most


def test_copies_of_a_document_are_drawn_apart(tmp_path):
    doc = make_doc(EDUS)
    doc.user_data["rst_treebank"] = "two"
    write_docbin(tmp_path / "x.spacy", new_docbin([doc]))
    settings = {"sampling_weights": {"two": 60}, "hide_layout": 0.5, "noise": 0.5}
    examples = list(Corpus(tmp_path / "x.spacy", **settings)(spacy.blank("en")))
    assert len(examples) == 60
    surfaces = Counter(
        (get_layout(example.predicted) is None, example.predicted.text) for example in examples
    )
    assert {is_hidden for is_hidden, _ in surfaces} == {True, False}
    assert len(surfaces) == 8  # each as it is or with one of three damages
    # Copies that were drawn alike share one gold Doc.
    assert len({id(example.reference) for example in examples}) == len(surfaces)
    assert len({id(example.predicted) for example in examples}) == 60


def test_documents_of_unknown_layout_are_not_touched(tmp_path):
    unknown, unread = (
        doc_from_edus(spacy.blank("en"), EDUS, paragraph_starts=[2]) for _ in range(2)
    )
    set_layout(unknown, None)
    write_docbin(tmp_path / "x.spacy", new_docbin([unknown, unread, make_doc(EDUS)]))
    kept, *hidden = Corpus(tmp_path / "x.spacy", hide_layout=1.0)(spacy.blank("en"))
    assert kept.reference.text == unknown.text == "It rained, so we stayed.\n\nThen we left."
    assert [example.reference.text for example in hidden] == [RUNNING] * 2
