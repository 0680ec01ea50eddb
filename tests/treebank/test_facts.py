"""What a document says about itself has keys of our own in `doc.user_data`."""

from __future__ import annotations

import spacy

from spacy_rst import doc as rst_doc
from spacy_rst.doc import doc_from_edus, get_meta, original_language
from spacy_rst.treebank.convert import convert_document
from spacy_rst.treebank.corpus import Corpus
from spacy_rst.treebank.rs3 import parse_rs3
from tests.sample import sample_docs, write_corpus

from .rs3_files import group, rs3, segment

BODY = segment(1, "Yes,", 3, "joint") + segment(2, "no.", 3, "joint") + group(3, "multinuc")


def test_converted_documents_use_no_key_that_may_be_anothers():
    doc = convert_document(parse_rs3(rs3(BODY)), treebank="en.test", lang="en")
    assert set(doc.user_data) and all(key.startswith("rst_") for key in doc.user_data)
    assert get_meta(doc, rst_doc.TREEBANK_KEY) == "en.test"


def test_a_users_own_keys_are_not_taken_for_ours(tmp_path):
    nlp = spacy.blank("xx")
    (doc, *_) = sample_docs(nlp, ["en"])
    doc.user_data |= {"blanked": "by the editor", "lang": {"en": 1.0}, "translated_from": "es"}
    path = write_corpus(tmp_path / "one.spacy", [doc])
    (example,) = Corpus(path)(nlp)
    assert original_language(example.reference) == "en"
    other = doc_from_edus(nlp, ["Yes ."])
    other.user_data |= {"lang": ["en"], "translated_from": "es"}
    assert original_language(other) is None
