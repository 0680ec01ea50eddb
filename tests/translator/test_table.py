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


def test_segments_are_looked_up_in_order(tmp_path):
    engine = TableTranslator(write_table(tmp_path, HEADER + ROWS))
    segments = ["Llueve.", "El perro duerme.", "Llueve."]
    expected = ["It rains.", "The dog sleeps.", "It rains."]
    assert engine.translate(segments, "es", "en") == expected
    assert engine.translate([], "es", "en") == []


def test_white_space_and_the_way_codes_are_written_make_no_difference(tmp_path):
    engine = TableTranslator(write_table(tmp_path, HEADER + ROWS))
    assert engine.translate(["El\n perro\tduerme. "], "spa", "eng") == ["The dog sleeps."]


def test_quotes_and_odd_line_ends_within_texts_survive(tmp_path):
    content = HEADER + 'es\ten\t"Sí\u2028no\t"Yes" ,\n'
    engine = TableTranslator(write_table(tmp_path, content))
    assert engine.translate(['"Sí no'], "es", "en") == ['"Yes" ,']


def test_missing_segments_are_counted_and_the_first_is_named(tmp_path):
    engine = TableTranslator(write_table(tmp_path, HEADER + ROWS))
    with pytest.raises(RstError, match=r"R608\] 2 of 3 segments.*the first is 'Hola\.'"):
        engine.translate(["Llueve.", "Hola.", "Adiós."], "es", "en")
    with pytest.raises(RstError, match=r"R608.*'en' to 'es'"):
        engine.translate(["Llueve."], "en", "es")


def test_missing_segments_can_be_kept(tmp_path):
    engine = TableTranslator(write_table(tmp_path, HEADER + ROWS), missing="keep")
    assert engine.translate(["Hola.", "Llueve."], "es", "en") == ["Hola.", "It rains."]


def test_a_repeated_row_is_fine_but_a_contradiction_is_not(tmp_path):
    TableTranslator(write_table(tmp_path, HEADER + ROWS + ROWS))
    other = "es\ten\tLlueve.\tIt is raining.\n"
    with pytest.raises(RstError, match=r"R607\] Line 4 of .*'It is raining\.'.*'It rains\.'"):
        TableTranslator(write_table(tmp_path, HEADER + ROWS + other))


def test_what_is_not_a_table_is_refused(tmp_path):
    with pytest.raises(RstError, match=r"R130.*does not name target, translation"):
        TableTranslator(write_table(tmp_path, "source\ttext\n"))


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
