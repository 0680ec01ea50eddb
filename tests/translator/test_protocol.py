"""How engines are asked, and found in configs."""

from __future__ import annotations

import pytest

from spacy_rst.errors import RstError
from spacy_rst.languages import TO_ALPHA_2, TO_ALPHA_3, base_code, normal_code
from spacy_rst.translator.protocol import translate_checked
from tests.processes import run_python

from .engines import AnsweringTranslator, ShoutingTranslator

# No import of spacy_rst: spaCy must find everything through the entry points.
LOAD_WITHOUT_IMPORT = """
import sys
import spacy
from spacy.util import registry
spacy.blank("xx")
config = {"engine": {"@rst_translators": "spacy_rst.TableTranslator.v1", "path": sys.argv[1]}}
engine = registry.resolve(config)["engine"]
print(engine.translate(["hola"], "es", "en"))
"""


def test_translations_come_as_the_engine_gives_them():
    engine = ShoutingTranslator()
    assert translate_checked(engine, ["a", "b"], "es", "en") == ["A", "B"]
    assert engine.calls == [(["a", "b"], "es", "en")]


def test_an_engine_is_not_asked_for_nothing():
    engine = ShoutingTranslator()
    assert translate_checked(engine, [], "es", "en") == []
    assert engine.calls == []


@pytest.mark.parametrize("answers", [("one",), ("one", "two", "three"), ()])
def test_every_segment_needs_its_translation(answers):
    with pytest.raises(RstError, match=r"R604.*'answers'.*2 segments"):
        translate_checked(AnsweringTranslator(*answers), ["a", "b"], "es", "en")


@pytest.mark.parametrize("answer", [None, "\ud83d"])
def test_translations_are_strings_of_whole_characters(answer):
    with pytest.raises(RstError, match=r"R604.*'answers'.*'b'"):
        translate_checked(AnsweringTranslator("A", answer), ["a", "b"], "es", "en")


def test_spacy_finds_the_registry_without_importing_the_package(tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("source\ttarget\ttext\ttranslation\nes\ten\thola\thello\n", encoding="utf8")
    assert run_python(LOAD_WITHOUT_IMPORT, str(table)).strip() == "['hello']"


@pytest.mark.parametrize(
    "given, normal",
    [
        ("es", "es"),
        ("spa", "es"),
        ("EUS", "eu"),
        ("pt-br", "pt_BR"),
        ("por_BR", "pt_BR"),
        ("ast", "ast"),
    ],
)
def test_codes_are_written_in_one_way(given, normal):
    assert normal_code(given) == normal


def test_codes_without_a_region():
    assert base_code("por_BR") == base_code("pt") == "pt"


def test_the_table_of_codes_has_no_slip():
    assert all(len(code) == 2 for code in TO_ALPHA_3)
    assert all(len(code) == 3 for code in TO_ALPHA_2)
    assert len(TO_ALPHA_2) == len(TO_ALPHA_3)
