"""Cells are trained, scored and kept; what is done is not done again."""

from __future__ import annotations

import json
import shutil

import pytest
import spacy
from filelock import FileLock
from spacy.util import load_model
from thinc.api import Config

from spacy_rst.errors import RstError
from spacy_rst.lab import runner
from spacy_rst.lab.curve import best_point
from spacy_rst.lab.grid import cell_config, hash_corpus
from spacy_rst.lab.runner import ResultFolder, State, _score_splits, run_cell
from spacy_rst.scoring.parseval import SpanCounts, macro_scores, micro_scores
from tests.lab.grids import named, tiny_grid, write_parts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def grid(corpus):
    return tiny_grid(corpus, seeds=[0, 1])


@pytest.fixture(scope="module")
def done(grid, tmp_path_factory):
    """A cell of Multi-Training that was run, and its folder."""
    folder = ResultFolder(tmp_path_factory.mktemp("experiments"))
    cell = named(grid, "multi.encoder.seed0")
    assert folder.state(grid, cell) is State.waiting
    assert run_cell(grid, cell, folder) is State.done
    return folder, cell


@pytest.fixture(scope="module")
def result(done):
    folder, cell = done
    return folder.read(cell)


def comparable(result):
    """A result without what the clock says."""
    points = [{k: v for k, v in point.items() if k != "seconds"} for point in result["curve"]]
    for point in points:
        del point["scores"]["speed"]
    return {**result, "curve": points, "times": None}


def test_all_that_is_needed_to_repeat_a_cell_is_kept(grid, done, result):
    folder, cell = done
    assert folder.state(grid, cell) is State.done
    assert result["cell"] == cell.name and result["seed"] == 0
    assert result["training"] == "multi" and result["approach"] == "encoder"
    assert set(result["versions"]) == {"python", *runner.PACKAGES}
    assert result["versions"]["spacy"] == spacy.__version__
    assert result["data"]["sha256"] == hash_corpus(grid.approaches["encoder"].corpus)
    config = Config(result["config"])
    expected = cell_config(grid, cell)
    assert config["training"]["logger"] == expected["training"]["logger"]
    assert config["paths"] == expected["paths"]
    for part in ("train", "dev"):  # spaCy fills in what the base config leaves out
        assert config["corpora"][part] == {**config["corpora"][part], **expected["corpora"][part]}
    assert result["times"]["started"] <= result["times"]["finished"]
    assert not folder.work(cell).exists()


def test_dev_chooses_the_checkpoint(result):
    curve, checkpoint = result["curve"], result["checkpoint"]
    assert len(curve) > 1
    best = best_point(curve)
    assert checkpoint["score"] == best["score"] == max(point["score"] for point in curve)
    assert checkpoint["step"] == best["step"]
    assert checkpoint["chosen_on"] == ["dev: en", "dev: eu"]
    per_language = result["scores"]["dev"]["gold"]["per_lang"]
    weighted = sum(
        weight
        * sum(scores[key.replace("lang_mean_", "")] for scores in per_language.values())
        / len(per_language)
        for key, weight in checkpoint["chosen_by"].items()
    )
    assert weighted == pytest.approx(checkpoint["score"])


def test_of_equally_good_checkpoints_the_last_is_the_one_spacy_keeps():
    curve = [{"score": score, "step": step} for step, score in enumerate([0.1, 0.5, 0.5, 0.2])]
    assert best_point(curve)["step"] == 2


def test_the_counts_of_the_documents_give_all_scores(result):
    for split in ("dev", "test"):
        documents = result["documents"][split]["gold"]
        assert [document["lang"] for document in documents] == ["en", "eu"]
        assert {document["treebank"] for document in documents} == {"sample.en", "sample.eu"}
        scores = result["scores"][split]["gold"]["scores"]
        for method, prefix in (("rst", "rst_"), ("original", "rst_original_")):
            counts = [SpanCounts(*document[method]) for document in documents]
            assert micro_scores(counts).full == pytest.approx(scores[f"{prefix}full"])
            assert macro_scores(counts).span == pytest.approx(scores[f"{prefix}macro_span"])


def test_the_kept_pipeline_is_the_one_that_was_scored(grid, done, result):
    folder, cell = done
    nlp = load_model(folder.model(cell))
    corpus = grid.approaches["encoder"].corpus
    scores, documents = _score_splits(nlp, grid, corpus, ["gold"])
    assert json.loads(json.dumps(documents)) == result["documents"]
    assert scores == result["scores"]


def test_the_same_seed_gives_the_same_scores_and_another_seed_others(grid, result, tmp_path):
    folder = ResultFolder(tmp_path)
    again, other = named(grid, "multi.encoder.seed0"), named(grid, "multi.encoder.seed1")
    run_cell(grid, again, folder, keep_model=False)
    run_cell(grid, other, folder, keep_model=False)
    assert comparable(folder.read(again)) == comparable(result)
    assert folder.read(other)["curve"][0]["losses"] != result["curve"][0]["losses"]
    assert not folder.model(again).exists()


def test_a_cell_that_is_done_is_not_run_again(grid, done, monkeypatch):
    folder, cell = done
    before = folder.result(cell).stat()
    monkeypatch.delattr(runner, "_train_and_score")
    assert run_cell(grid, cell, folder) is State.done
    assert folder.result(cell).stat().st_mtime_ns == before.st_mtime_ns


def test_other_data_or_another_config_make_a_result_outdated(grid, done, corpus, tmp_path):
    folder, cell = done
    changed = tiny_grid(corpus, overrides={"all": {"training.max_epochs": 3}})
    assert folder.state(changed, named(changed, cell.name)) is State.outdated
    other = tmp_path / "other"
    shutil.copytree(corpus, other)
    moved = tiny_grid(other)
    assert folder.state(moved, named(moved, cell.name)) is State.done
    (other / "dev" / "sample.eu.spacy").unlink()
    hash_corpus.cache_clear()
    assert folder.state(moved, named(moved, cell.name)) is State.outdated


def test_a_cell_that_another_process_runs_is_left_to_it(grid, tmp_path, monkeypatch):
    folder, cell = ResultFolder(tmp_path), grid.cells()[0]
    monkeypatch.setattr(runner, "LOCK_SECONDS", 0.01)
    folder.lock(cell).parent.mkdir()
    with FileLock(folder.lock(cell)):
        assert folder.state(grid, cell) is State.running
        assert run_cell(grid, cell, folder) is State.running
    assert folder.state(grid, cell) is State.waiting


def test_predicted_edus_need_a_segmenter(corpus, tmp_path):
    both = tiny_grid(corpus, edus="both")
    with pytest.raises(RstError, match="R735"):
        run_cell(both, both.cells()[0], ResultFolder(tmp_path))
    assert not (tmp_path / "cells").exists()


def test_a_result_that_cannot_be_read_is_named(grid, tmp_path):
    folder, cell = ResultFolder(tmp_path), grid.cells()[0]
    folder.result(cell).parent.mkdir()
    folder.result(cell).write_text("{", encoding="utf8")
    with pytest.raises(RstError, match="R734"):
        folder.state(grid, cell)


def test_the_curve_has_every_score_of_every_evaluation(result):
    for point in result["curve"]:
        assert set(point["scores"]["rst_per_lang"]) == {"en", "eu"}
        assert {"tok2vec", "rst_parser"} <= set(point["losses"])
