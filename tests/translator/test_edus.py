"""Docs translated EDU by EDU."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
import spacy
from spacy.tokens import Doc

from spacy_rst.doc import (
    NAME_KEY,
    SOURCE_KEY,
    TRANSLATED_FROM_KEY,
    TREEBANK_KEY,
    doc_from_edus,
    get_edus,
    get_tree,
    set_tree,
)
from spacy_rst.errors import RstError
from spacy_rst.translator.edus import translate_docs
from spacy_rst.tree import RstTree
from tests.sample import sample_docs

from .engines import AnsweringTranslator, ShoutingTranslator


@cache
def docs_in(*languages: str) -> list[Doc]:
    return sample_docs(spacy.blank("xx"), languages)


def texts(doc: Doc) -> list[str]:
    return [edu.text for edu in get_edus(doc)]


def make_doc(*edus: str, lang: str = "es") -> Doc:
    doc = doc_from_edus(spacy.blank("xx"), edus)
    doc.user_data["rst_lang"] = lang
    return doc


def test_edus_and_trees_stay_as_they_are():
    scored = make_doc("Uno ,", "dos .")
    set_tree(scored, RstTree.from_splits([(0, 1, 2, "Joint-NN")], scores=[(0.5, 0.25)]))
    docs, counts, engine = docs_in("es", "eu", "pt"), Counter(), ShoutingTranslator()
    docs = [*docs[::2], *docs[1::2], scored]
    before = [doc.to_bytes() for doc in docs]
    translated = translate_docs(docs, engine, None, "en", counts=counts)
    assert [doc.to_bytes() for doc in docs] == before
    # One call for each language
    assert sorted(call[1:] for call in engine.calls) == [("es", "en"), ("eu", "en"), ("pt", "en")]
    for old, new in zip(docs, translated, strict=True):
        assert texts(new) == [text.upper() for text in texts(old)]
        assert get_tree(new).splits == get_tree(old).splits
        assert get_tree(new).scores == get_tree(old).scores
        assert new.lang_ == new.user_data["rst_lang"] == "en"
        for key in (NAME_KEY, TREEBANK_KEY, SOURCE_KEY):
            assert new.user_data.get(key) == old.user_data.get(key)
        assert new.user_data[TRANSLATED_FROM_KEY] == {
            "language": old.user_data["rst_lang"],
            "engine": "shout",
            "version": "1",
            "texts": texts(old),
        }
    assert counts == Counter(documents=len(docs), edus=sum(len(get_edus(doc)) for doc in docs))


def test_empty_and_overlong_translations_keep_the_text_and_are_counted():
    counts = Counter()
    fits, overlong = "x" * (5 * 3 + 50), "x" * (5 * 3 + 51)
    engine = AnsweringTranslator("One", "", " \n ", fits, overlong)
    doc = make_doc("Uno", "Dos", "Tres", "Día", "Año")
    (doc,) = translate_docs([doc], engine, counts=counts)
    assert texts(doc) == ["One", "Dos", "Tres", fits, "Año"]
    assert counts == Counter(documents=1, edus=5, kept=3)
    docs = [make_doc("Hello .", lang="en"), make_doc("Uno .")]
    with pytest.raises(RstError):
        translate_docs(docs, ShoutingTranslator(fails_at="Uno ."), counts=counts)
    assert counts["documents"] == 1  # what fails is not counted


def test_engines_get_and_give_single_lines():
    engine = ShoutingTranslator()
    nlp = spacy.blank("es")
    doc = nlp("Hola\n  mundo . Adiós .")
    doc.spans["edus"] = [doc[0:4], doc[4:6]]
    (new,) = translate_docs([doc], engine)
    assert engine.calls == [(["Hola mundo .", "Adiós ."], "es", "en")]
    assert texts(new) == ["HOLA MUNDO .", "ADIÓS ."]
    (new,) = translate_docs([doc], AnsweringTranslator(" Hello\nworld . ", "Bye\t."))
    assert texts(new) == ["Hello world .", "Bye ."]


def test_paragraphs_and_sentences_are_kept():
    words = ["Hola", ",", "\n\n", "dice", ".", "Llueve", "."]
    spaces = [number in (3, 4, 5) for number in range(7)]
    starts = [number in (0, 5) for number in range(7)]
    doc = Doc(spacy.blank("es").vocab, words=words, spaces=spaces, sent_starts=starts)
    doc.spans["edus"] = [doc[0:2], doc[3:5], doc[5:7]]
    (new,) = translate_docs([doc], AnsweringTranslator("Hello ,", "he says .", "It rains ."))
    assert new.text == "Hello ,\n\nhe says . It rains ."
    assert [sentence.text for sentence in new.sents] == ["Hello ,\n\nhe says .", "It rains ."]


def test_docs_in_the_target_language_are_copied_without_asking():
    engine = ShoutingTranslator()
    counts = Counter()
    docs = [docs_in("en")[0], docs_in("es")[0]]
    english, spanish = translate_docs(docs, engine, None, "eng", counts=counts)
    assert english is not docs[0]
    assert texts(english) == texts(docs[0])
    assert english.user_data == docs[0].user_data
    assert get_tree(english).splits == get_tree(docs[0]).splits
    assert [call[1] for call in engine.calls] == ["es"]
    assert (counts["documents"], counts["same_language"]) == (2, 1)
    assert spanish.user_data["rst_lang"] == "eng"


def test_the_language_comes_from_the_user_then_the_doc_then_its_vocabulary():
    asked = ShoutingTranslator()
    doc = doc_from_edus(spacy.blank("eu"), ["Kaixo ."])
    translate_docs([doc], asked)
    doc.user_data["rst_lang"] = "es"
    translate_docs([doc], asked)
    translate_docs([doc], asked, "pt")
    assert [call[1] for call in asked.calls] == ["eu", "es", "pt"]


def test_a_doc_without_a_language_is_refused_before_the_engine_is_asked():
    engine = ShoutingTranslator()
    nameless = make_doc("Hola .", lang="xx")
    with pytest.raises(RstError, match=r"R615.*'Hola \.'"):
        translate_docs([make_doc("Uno ."), nameless], engine)
    nameless.user_data["rst_name"] = "greeting"
    with pytest.raises(RstError, match=r"R615.*'greeting'"):
        translate_docs([nameless], engine)
    assert engine.calls == []


def test_docs_without_text_or_tree_are_fine():
    nlp = spacy.blank("es")
    empty, blank = nlp(""), nlp(" \n ")
    single, unparsed = make_doc("Hola ."), make_doc("Uno ,", "dos .")
    set_tree(single, RstTree.from_splits([]))
    results = translate_docs([empty, blank, single, unparsed], ShoutingTranslator())
    assert [doc.text.strip() for doc in results] == ["", "", "HOLA .", "UNO , DOS ."]
    assert [get_tree(doc) is None for doc in results] == [True, True, False, True]
    assert translate_docs([], ShoutingTranslator()) == []


def test_docs_without_edus_and_edus_of_white_space_are_refused():
    doc = spacy.blank("es")("Hola . \n\n ")
    with pytest.raises(RstError, match="R020"):
        translate_docs([doc], ShoutingTranslator())
    doc.spans["edus"] = [doc[0:2], doc[2:]]
    with pytest.raises(RstError, match=r"R026\] EDU 2"):
        translate_docs([doc], ShoutingTranslator())


@pytest.mark.parametrize("target, lang", [("en", "en"), ("pt_BR", "pt"), ("oci", "xx")])
def test_the_pipeline_is_that_of_the_target_language_or_multilingual(target, lang):
    (doc,) = translate_docs([make_doc("Uno .")], ShoutingTranslator(), None, target)
    assert (doc.lang_, doc.user_data["rst_lang"]) == (lang, target)
    nlp = spacy.blank("en")
    (doc,) = translate_docs([make_doc("Uno .")], ShoutingTranslator(), None, target, nlp=nlp)
    assert (doc.vocab is nlp.vocab) and doc.user_data["rst_lang"] == target
