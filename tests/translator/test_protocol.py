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


def test_translations_come_as_the_engine_gives_them_if_it_must_be_asked():
    engine = ShoutingTranslator()
    assert translate_checked(engine, ["a", "b"], "es", "en") == ["A", "B"]
    assert translate_checked(engine, [], "es", "en") == []
    assert engine.calls == [(["a", "b"], "es", "en")]


@pytest.mark.parametrize(
    "answers, problem",
    [
        (("one",), "2 segments"),
        (("one", "two", "three"), "2 segments"),
        ((), "2 segments"),
        (("A", None), "'b'"),
        (("A", "\ud83d"), "'b'"),
    ],
)
def test_every_segment_needs_a_string_of_whole_characters(answers, problem):
    with pytest.raises(RstError, match=f"R604.*'answers'.*{problem}"):
        translate_checked(AnsweringTranslator(*answers), ["a", "b"], "es", "en")


def test_spacy_finds_the_registry_without_importing_the_package(tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("source\ttarget\ttext\ttranslation\nes\ten\thola\thello\n", encoding="utf8")
    assert run_python(LOAD_WITHOUT_IMPORT, str(table)).strip() == "['hello']"


@pytest.mark.parametrize(
    "given, normal, base",
    [
        ("es", "es", "es"),
        ("spa", "es", "es"),
        ("EUS", "eu", "eu"),
        ("pt-br", "pt_BR", "pt"),
        ("por_BR", "pt_BR", "pt"),
        ("ast", "ast", "ast"),
    ],
)
def test_codes_are_written_in_one_way(given, normal, base):
    assert (normal_code(given), base_code(given)) == (normal, base)


def test_the_table_of_codes_has_no_slip():
    assert {len(code) for code in TO_ALPHA_3} == {2} and {len(code) for code in TO_ALPHA_2} == {3}
    assert len(TO_ALPHA_2) == len(TO_ALPHA_3)
