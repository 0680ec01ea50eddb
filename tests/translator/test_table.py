"""Translations from a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from spacy.util import registry
from thinc.api import ConfigValidationError

from spacy_rst.errors import RstError
from spacy_rst.translator.table import TableTranslator

HEADER = "source\ttarget\ttext\ttranslation\n"
ROWS = "es\ten\tEl perro duerme.\tThe dog sleeps.\nes\ten\tLlueve.\tIt rains.\n"


def write_table(folder: Path, content: str) -> Path:
    path = folder / "table.tsv"
    path.write_bytes(content.encode())
    return path


@pytest.fixture
def engine(tmp_path):
    return TableTranslator(write_table(tmp_path, HEADER + ROWS))


def test_segments_are_looked_up_in_order(engine):
    segments = ["Llueve.", "El perro duerme.", "Llueve."]
    expected = ["It rains.", "The dog sleeps.", "It rains."]
    assert engine.translate(segments, "es", "en") == expected
    assert engine.translate([], "es", "en") == []
    # White space and the way codes are written make no difference.
    assert engine.translate(["El\n perro\tduerme. "], "spa", "eng") == ["The dog sleeps."]


def test_quotes_and_odd_line_ends_within_texts_survive(tmp_path):
    content = HEADER + 'es\ten\t"Sí\u2028no\t"Yes" ,\n'
    engine = TableTranslator(write_table(tmp_path, content))
    assert engine.translate(['"Sí no'], "es", "en") == ['"Yes" ,']


def test_missing_segments_are_counted_and_the_first_is_named(engine):
    with pytest.raises(RstError, match=r"R608\] 2 of 3 segments.*the first is 'Hola\.'"):
        engine.translate(["Llueve.", "Hola.", "Adiós."], "es", "en")
    with pytest.raises(RstError, match=r"R608.*'en' to 'es'"):
        engine.translate(["Llueve."], "en", "es")


OTHER = "es\ten\tLlueve.\tIt is raining.\n"


@pytest.mark.parametrize(
    "content, problem",
    [
        (HEADER + ROWS + ROWS + OTHER, r"R607\] Line 6 of .*'It is raining\.'.*'It rains\.'"),
        ("source\ttext\n", "R130.*does not name target, translation"),
    ],
)
def test_what_is_not_a_table_or_contradicts_itself_is_refused(tmp_path, content, problem):
    with pytest.raises(RstError, match=problem):
        TableTranslator(write_table(tmp_path, content))


def test_the_version_tells_tables_apart(tmp_path):
    def version(content: str, **options) -> str:
        return TableTranslator(write_table(tmp_path, content), **options).version("es", "en")

    first = version(HEADER + ROWS)
    assert version(HEADER + ROWS + "\n") == first
    keeping = version(HEADER + ROWS, missing="keep")
    other = version(HEADER + ROWS.replace("dog", "hound"))
    assert len({first, keeping, other}) == 3


def test_it_is_made_from_a_config(tmp_path):
    path = write_table(tmp_path, HEADER + ROWS)
    block = {"@rst_translators": "spacy_rst.TableTranslator.v1", "path": str(path)}
    engine = registry.resolve({"engine": {**block, "missing": "keep"}})["engine"]
    assert engine.translate(["Llueve.", "x"], "es", "en") == ["It rains.", "x"]
    with pytest.raises(ConfigValidationError, match="missing"):
        registry.resolve({"engine": {**block, "missing": "guess"}})
