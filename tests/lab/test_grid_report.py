"""The tables and charts of a grid."""

from __future__ import annotations

import csv
from statistics import fmean, stdev

import pytest

from spacy_rst.lab.grid_report import (
    _baseline_documents,
    _describe_data,
    _finished_results,
    _system_rows,
    write_charts,
    write_report,
)
from spacy_rst.lab.runner import ResultFolder, run_cell
from tests.lab.grids import named, tiny_grid, write_parts

FULL = "rst_full"


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    corpus = write_parts(tmp_path_factory.mktemp("corpus"))
    return tiny_grid(corpus, trainings=["en", "multi", "mono"], seeds=[0, 1])


@pytest.fixture(scope="module")
def folder(grid, tmp_path_factory):
    """All cells but one."""
    folder = ResultFolder(tmp_path_factory.mktemp("experiments"))
    for cell in grid.cells():
        if cell.name != "mono-eu.encoder.seed1":
            run_cell(grid, cell, folder, keep_model=False)
    return folder


@pytest.fixture(scope="module")
def rows(grid, folder):
    results = _finished_results(grid, folder)
    return {row.system: row for row in _system_rows(grid, results, "test", "gold", "lang")}


def score(grid, folder, name, language):
    result = folder.read(named(grid, name))
    return result["scores"]["test"]["gold"]["per_lang"][language]["rst_full"]


@pytest.mark.parametrize("training, system", [("en", "EN-Training"), ("multi", "Multi-Training")])
def test_scores_are_means_and_deviations_over_the_seeds(grid, folder, rows, training, system):
    row = rows[f"cross-lingual encoder, {system}"]
    for language in ("en", "eu"):
        seeds = [score(grid, folder, f"{training}.encoder.seed{n}", language) for n in (0, 1)]
        value = row.scores[language][FULL]
        assert value.n == 2
        assert value.mean == pytest.approx(fmean(seeds))
        assert value.deviation == pytest.approx(stdev(seeds))


def test_languages_alone_are_scored_on_themselves(grid, folder, rows):
    row = rows["cross-lingual encoder, One language alone"]
    assert row.scores["en"] == rows["cross-lingual encoder, EN-Training"].scores["en"]
    assert row.scores["eu"][FULL].n == 1
    expected = score(grid, folder, "mono-eu.encoder.seed0", "eu")
    assert row.scores["eu"][FULL].mean == pytest.approx(expected)


def test_tables_have_published_rows_and_baselines_where_they_belong(grid, folder):
    files = write_report(grid, folder)
    assert {file.name for file in files} == {
        f"{name}.{ending}"
        for name in ("test", "dev", "treebanks")
        for ending in ("md", "csv", "tex")
    }
    systems = {}
    for name in ("test", "dev", "treebanks"):
        with (folder.report / f"{name}.csv").open(encoding="utf8") as table:
            lines = list(csv.DictReader(table))
        systems[name] = {line["system"] for line in lines}
        columns = {line["column"] for line in lines if line["published"] == "false"}
        assert columns == ({"sample.en", "sample.eu"} if name == "treebanks" else {"en", "eu"})
    assert "Human agreement" in systems["test"] - systems["dev"] - systems["treebanks"]
    for names in systems.values():
        assert {"Baseline: right-branching", "cross-lingual encoder, EN-Training"} <= names


def test_baselines_take_the_commonest_label_of_each_language(grid):
    baselines = _baseline_documents(grid)
    assert set(baselines) == {"dev", "test"}
    documents = baselines["test"]["majority-label"]
    assert [document["lang"] for document in documents] == ["en", "eu"]
    for document in documents:
        gold, predicted, spans, *_ = document["original"]
        assert gold == predicted == spans > 0


def test_the_data_is_described():
    rows = [
        {"treebank": "es.rststb", "source": "spa.rst.rststb_dev.rels"},
        {"treebank": "en.gum", "source": "GUM_academic_art.rs4"},
    ]
    assert _describe_data(rows, "test") == (
        "test parts of en.gum, es.rststb; trees rebuilt from dependencies in es.rststb"
    )
    assert _describe_data(rows[1:], "dev") == "dev parts of en.gum"


def test_charts_are_drawn(grid, folder):
    pytest.importorskip("matplotlib")
    files = write_charts(grid, folder)
    assert {file.name for file in files} == {
        f"{name}_encoder.{kind}"
        for name in ("learning_curves", "transfer")
        for kind in ("png", "svg")
    }
    assert all(file.stat().st_size > 1000 for file in files)


def test_nothing_is_reported_of_nothing(grid, tmp_path):
    folder = ResultFolder(tmp_path)
    assert write_report(grid, folder) == write_charts(grid, folder) == []
    assert not folder.report.exists()
