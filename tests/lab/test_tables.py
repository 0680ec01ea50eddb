"""Tables: figures by hand, published ones, and the three formats."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from math import sqrt

import pytest

from spacy_rst.lab.tables import (
    METHOD_NAMES,
    Row,
    Value,
    aggregate,
    aggregate_scores,
    published_rows,
    write_table,
)
from spacy_rst.scoring.parseval import METRICS
from spacy_rst.scoring.scorer import score_name, summarize_counts

ALL_SCORES = list(summarize_counts({}))
METHODS = list(METHOD_NAMES)


def row(system="Ours", data="our split", columns=("en",), seeds=(0.5, 0.6), **options):
    scores = {column: {metric: aggregate(seeds) for metric in ALL_SCORES} for column in columns}
    return Row(system, data, scores, **options)


# Figures


def test_aggregate():
    assert aggregate([0.5]) == Value(0.5, None, 1)
    value = aggregate([0.1, 0.2, 0.6])
    assert value.mean == pytest.approx(0.3) and value.n == 3
    assert value.deviation == pytest.approx(sqrt((0.04 + 0.01 + 0.09) / 2))
    with pytest.raises(ValueError):
        aggregate([])


def test_aggregate_scores():
    seeds = [{"en": {"rst_span": 0.4}, "de": {"rst_span": 0.1}}, {"en": {"rst_span": 0.6}}]
    scores = aggregate_scores(seeds)
    assert scores["en"]["rst_span"] == aggregate([0.4, 0.6])
    assert scores["de"]["rst_span"] == Value(0.1, None, 1)


# Published figures


def published(system, average, language):
    (found,) = [row for row in published_rows() if row.system == system]
    return [
        None if value is None else round(100 * value.mean, 1)
        for judgement in METRICS
        for value in [found.scores[language].get(score_name("rst", average, judgement))]
    ]


def test_published_figures():
    """Figures of Table 2 read off the paper, from the first and the last column among them."""
    assert published("Human agreement", "macro", "en") == [88.7, 77.7, 65.8, None]
    assert published("Human agreement", "macro", "pt") == [None, 78.0, 66.0, None]
    assert published("Human agreement", "macro", "eu") == [81.7, None, 61.5, None]
    assert published("Majority (MFS)", "macro", "es") == [82.0, 51.5, 17.7, None]
    assert published("Li et al. 2014", "macro", "en") == [85.0, 70.8, 58.6, None]
    assert published("Braud et al. 2017", "macro", "nl") == [69.2, 43.4, 28.3, None]
    assert published("Yu et al. 2018", "micro", "en") == [85.5, 73.1, 60.2, None]
    assert published("Iruskieta & Braud 2019", "micro", "es") == [85.4, 65.0, 45.8, None]
    encoder, translated = (
        f"Liu et al. 2020, {way}" for way in ("cross-lingual encoder", "translated")
    )
    assert published(f"{encoder}, EN-Training", "macro", "de") == [82.0, 53.5, 34.5, None]
    assert published(f"{encoder}, EN-Training", "micro", "es") == [79.5, 55.6, 36.0, None]
    assert published(f"{encoder}, Multi-Training", "macro", "eu") == [85.9, 67.3, 51.9, None]
    assert published(f"{encoder}, Multi-Training", "micro", "pt") == [86.3, 71.7, 60.0, None]
    assert published(f"{translated}, EN-Training", "macro", "nl") == [82.6, 58.0, 39.7, None]
    assert published(f"{translated}, EN-Training", "micro", "eu") == [81.2, 57.3, 35.5, None]
    assert published(f"{translated}, Multi-Training", "macro", "en") == [89.2, 78.7, 67.1, None]
    assert published(f"{translated}, Multi-Training", "micro", "de") == [82.3, 58.9, 41.0, None]


def test_published_rows_are_complete_and_say_their_data():
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


# Formats


def test_markdown():
    text = write_table([row(), *published_rows()], averages=["macro"])
    lines = text.splitlines()
    assert lines[0] == "**RST-Parseval, macro F1** (S / N / R / Full)"
    assert lines[2] == "|  | en | pt | es | de | nl | eu |"
    table = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in table} == {8}
    braud = next(line for line in table if "Braud" in line)
    assert braud.split("|")[2].strip() == "85.1 / 73.1 / 61.4 / –"
    ours = table[-1]
    assert "55.0±7.1 / 55.0±7.1 / 55.0±7.1 / 55.0±7.1" in ours and ours.count("–") == 5
    # Published rows stand above ours, and those without macro scores are left out.
    assert "Yu et al." not in text
    assert [line.split("|")[1].strip() for line in table if line.startswith("| *")] == [
        "*Published, not on our data (see the notes)*",
        "*Ours*",
    ]
    (note,) = re.findall(r"Ours <sup>(\w+)</sup>", ours)
    below = text[text.index(ours) + len(ours) :]
    assert f"<sup>{note}</sup> Data: our split. Mean and standard deviation over 2 seeds." in below
    assert "Data: original treebanks (English: RST-DT)" in below


def test_both_metrics_and_averages():
    text = write_table([row()], methods=METHODS)
    titles = re.findall(r"\*\*(.+?)\*\*", text)
    assert titles == [
        "RST-Parseval, macro F1",
        "RST-Parseval, micro F1",
        "Original Parseval, macro F1",
        "Original Parseval, micro F1",
    ]


def test_choices():
    text = write_table(
        [row(columns=("en", "de"))],
        averages=["micro"],
        columns=["de"],
        judgements=["span", "full"],
        deviations=False,
    )
    assert "|  | de |" in text and "(S / Full)" in text and "| 55.0 / 55.0 |" in text


def test_published_figures_stand_beside_the_only_treebank_of_a_language():
    text = write_table([row(columns=("en.gum", "es.a", "es.b")), *published_rows()], "csv")
    lines = list(csv.DictReader(io.StringIO(text)))
    places = {(line["column"], line["source"]) for line in lines if line["published"] == "true"}
    assert ("en.gum", "en") in places
    # With two Spanish treebanks of ours, nobody knows to which one a published figure belongs.
    assert ("es", "es") in places and not places & {("es.a", "es"), ("es.b", "es")}
    ours = {(line["column"], line["source"]) for line in lines if line["published"] == "false"}
    assert ours == {("en.gum", "en.gum"), ("es.a", "es.a"), ("es.b", "es.b")}


def test_csv():
    text = write_table([row(data='a, "quoted" split'), *published_rows()], "csv", methods=METHODS)
    lines = list(csv.DictReader(io.StringIO(text)))
    ours = [line for line in lines if line["system"] == "Ours"]
    assert len(ours) == 16
    assert ours[0] == {
        "system": "Ours",
        "published": "false",
        "data": 'a, "quoted" split',
        "note": "",
        "column": "en",
        "source": "en",
        "method": "rst",
        "average": "macro",
        "judgement": "span",
        "mean": "0.550000",
        "deviation": "0.070711",
        "n": "2",
    }
    n_published = sum(len(values) for found in published_rows() for values in found.scores.values())
    assert len(lines) - len(ours) == n_published


def test_latex():
    text = write_table([row(system="A & B_1 50%", columns=("en", "de"))], "latex", methods=METHODS)
    assert r"A \& B\_1 50\%" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"\multicolumn{4}{c}{en}" in text and r"\cmidrule(lr){6-9}" in text
    body = [line for line in text.splitlines() if line.startswith("A ")]
    assert len(body) == 4 and all(line.count(" & ") == 8 for line in body)
    assert r"55.0{\tiny$\pm$7.1}" in body[0]


def test_latex_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-recommended)")
    ours = row(system=r"Odd _^~\{}#$ name", columns=("en.gum", "de", "ru"))
    table = write_table([*published_rows(), ours], "latex", methods=METHODS)
    source = tmp_path / "table.tex"
    source.write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
        + table
        + r"\end{document}",
        encoding="utf8",
    )
    finished = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", source.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout
    assert "Overfull" not in finished.stdout


def test_many_notes_have_letters_of_their_own():
    rows = [row(system=f"S{number}", data=f"data {number}") for number in range(30)]
    text = write_table(rows, averages=["micro"])
    assert "<sup>z</sup> Data: data 25." in text and "<sup>ad</sup> Data: data 29." in text


def test_rows_over_different_numbers_of_seeds_say_so():
    two, three = aggregate([0.5, 0.6]), aggregate([0.5, 0.6, 0.7])
    scores = {"en": {"rst_span": two}, "de": {"rst_span": three}}
    assert "Means over 2 to 3 seeds." in write_table([Row("Ours", "", scores)])


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"format": "html"}, "'html' is none of markdown, csv, latex"),
        ({"methods": ["parseval"]}, "'parseval' is none of rst, original"),
        ({"averages": ("micro", "median")}, "'median' is none of micro, macro"),
        ({"judgements": ["spans"]}, "'spans' is none of span"),
        ({"columns": ["fr"]}, "none of the 1 rows"),
    ],
)
def test_bad_choices(options, problem):
    with pytest.raises(ValueError, match=problem):
        write_table([row()], **options)


def test_nothing_to_write():
    with pytest.raises(ValueError, match="none of the 0 rows"):
        write_table([])
    with pytest.raises(ValueError, match="none of the 10 rows"):
        write_table(published_rows(), methods=["original"])
