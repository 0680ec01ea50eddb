"""Tables: figures by hand, published ones, and both formats."""

from __future__ import annotations

import re
from math import sqrt

import pytest
from tables import (
    Row,
    Value,
    aggregate,
    aggregate_scores,
    published_rows,
    write_table,
)

from spacy_rst.scoring.parseval import METRICS
from spacy_rst.scoring.scorer import score_name, summarize_counts

ENCODER, TRANSLATED = (
    f"Liu et al. 2020, {approach}" for approach in ("cross-lingual encoder", "translated")
)


def row(system="Ours", data="our split", columns=("en",), seeds=(0.5, 0.6), **options):
    names = summarize_counts({})
    scores = {column: {name: aggregate(seeds) for name in names} for column in columns}
    return Row(system, data, scores, **options)


def test_aggregate():
    assert aggregate([0.5]) == Value(0.5, None, 1)
    value = aggregate([0.1, 0.2, 0.6])
    assert value.mean == pytest.approx(0.3) and value.n == 3
    assert value.deviation == pytest.approx(sqrt((0.04 + 0.01 + 0.09) / 2))
    with pytest.raises(ValueError):
        aggregate([])


def test_scores_that_only_some_seeds_have_are_averaged_over_those():
    seeds = [{"en": {"rst_span": 0.4}, "de": {"rst_span": 0.1}}, {"en": {"rst_span": 0.6}}]
    scores = aggregate_scores(seeds)
    assert scores["en"]["rst_span"] == aggregate([0.4, 0.6])
    assert scores["de"]["rst_span"] == Value(0.1, None, 1)


@pytest.mark.parametrize(
    "system, average, language, figures",
    [
        ("Human agreement", "macro", "en", [88.7, 77.7, 65.8, None]),
        ("Human agreement", "macro", "pt", [None, 78.0, 66.0, None]),
        ("Human agreement", "macro", "eu", [81.7, None, 61.5, None]),
        ("Majority (MFS)", "macro", "es", [82.0, 51.5, 17.7, None]),
        ("Li et al. 2014", "macro", "en", [85.0, 70.8, 58.6, None]),
        ("Braud et al. 2017", "macro", "nl", [69.2, 43.4, 28.3, None]),
        ("Yu et al. 2018", "micro", "en", [85.5, 73.1, 60.2, None]),
        ("Iruskieta & Braud 2019", "micro", "es", [85.4, 65.0, 45.8, None]),
        (f"{ENCODER}, EN-Training", "macro", "de", [82.0, 53.5, 34.5, None]),
        (f"{ENCODER}, EN-Training", "micro", "es", [79.5, 55.6, 36.0, None]),
        (f"{ENCODER}, Multi-Training", "macro", "eu", [85.9, 67.3, 51.9, None]),
        (f"{ENCODER}, Multi-Training", "micro", "pt", [86.3, 71.7, 60.0, None]),
        (f"{TRANSLATED}, EN-Training", "macro", "nl", [82.6, 58.0, 39.7, None]),
        (f"{TRANSLATED}, EN-Training", "micro", "eu", [81.2, 57.3, 35.5, None]),
        (f"{TRANSLATED}, Multi-Training", "macro", "en", [89.2, 78.7, 67.1, None]),
        (f"{TRANSLATED}, Multi-Training", "micro", "de", [82.3, 58.9, 41.0, None]),
    ],
)
def test_published_figures(system, average, language, figures):
    """Read off Table 2 of the paper, from the first and the last column among others."""
    (found,) = [row for row in published_rows() if row.system == system]
    values = [found.scores[language].get(score_name("rst", average, m)) for m in METRICS]
    assert [None if value is None else round(100 * value.mean, 1) for value in values] == figures


def test_published_rows_are_complete_and_name_their_data():
    rows = published_rows()
    assert len(rows) == 10
    own = [row for row in rows if row.system.startswith("Liu")]
    assert len(own) == 4
    for found in own:
        assert set(found.scores) == {"en", "pt", "es", "de", "nl", "eu"}
        assert all(len(values) == 6 for values in found.scores.values())
    for found in rows:
        assert found.published and "RST-DT" in found.data and found.note
        values = [value for by_metric in found.scores.values() for value in by_metric.values()]
        assert all(value.n is None and 0 < value.mean < 1 for value in values)


def test_markdown():
    text = write_table([row(), *published_rows()])
    assert re.findall(r"\*\*(.+?)\*\*", text) == [
        "RST-Parseval, macro F1",
        "RST-Parseval, micro F1",
        "Original Parseval, macro F1",
        "Original Parseval, micro F1",
    ]
    macro, micro, *original = text.split("**RST-Parseval")[1:]
    lines = macro.splitlines()
    assert lines[0].endswith("(S / N / R / Full)")
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "|  | en | pt | es | de | nl | eu |"
    assert {line.count("|") for line in table} == {8}
    braud = next(line for line in table if "Braud" in line)
    assert braud.split("|")[2].strip() == "85.1 / 73.1 / 61.4 / –"
    ours = table[-1]
    assert "55.0±7.1 / 55.0±7.1 / 55.0±7.1 / 55.0±7.1" in ours and ours.count("–") == 5
    # Published rows stand above ours; those without macro scores are in the other block.
    assert "Yu et al." in micro and "Yu et al." not in macro and not original
    assert [line.split("|")[1].strip() for line in table if line.startswith("| *")] == [
        "*Published, not on our data (see the notes)*",
        "*Ours*",
    ]
    (note,) = re.findall(r"Ours <sup>(\w+)</sup>", ours)
    assert f"<sup>{note}</sup> Data: our split. Mean and standard deviation over 2 seeds." in micro
    assert "Data: original treebanks (English: RST-DT)" in micro


def test_latex():
    text = write_table([row(system="A & B_1 50%", columns=("en", "de"))], "tex")
    assert r"A \& B\_1 50\%" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"\multicolumn{4}{c}{en}" in text and r"\cmidrule(lr){6-9}" in text
    body = [line for line in text.splitlines() if line.startswith("A ")]
    assert len(body) == 4 and all(line.count(" & ") == 8 for line in body)
    assert r"55.0{\tiny$\pm$7.1}" in body[0]


def test_rows_over_different_numbers_of_seeds_say_so():
    two, three = aggregate([0.5, 0.6]), aggregate([0.5, 0.6, 0.7])
    scores = {"en": {"rst_span": two}, "de": {"rst_span": three}}
    assert "Means over 2 to 3 seeds." in write_table([Row("Ours", "", scores)])


def test_nothing_to_write():
    with pytest.raises(ValueError, match="none of the 0 rows"):
        write_table([])
