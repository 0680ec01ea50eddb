"""`spacy rst experiments`: real processes, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from spacy_rst.cli import rst_app
from spacy_rst.lab import runner
from spacy_rst.lab.runner import ResultFolder, State
from tests.lab.grids import named, write_grid, write_parts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def grid_path(corpus, tmp_path):
    path = tmp_path / "grid.yml"
    write_grid(path, corpus, trainings=["en", "multi", "mono"])
    return path


def run(*arguments: object):
    return CliRunner().invoke(rst_app, ["experiments", *map(str, arguments)])


def wait_until(condition: Callable[[], bool], process: subprocess.Popen) -> None:
    while not condition():
        assert process.poll() is None
        time.sleep(0.01)


class KillInSecondCell(subprocess.Popen):
    """A process that is killed as soon as it is at work, if it runs the second cell."""

    folder: ResultFolder
    victim = "multi.encoder.seed0"

    def poll(self) -> int | None:
        at_work = (self.folder.root / "work" / self.victim).exists()
        if self.victim in self.args and at_work and self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
        return super().poll()


def test_a_killed_cell_is_run_again_and_finished_ones_are_not(
    grid_path, corpus, tmp_path, monkeypatch
):
    grid = write_grid(grid_path, corpus, trainings=["en", "multi", "mono"])
    first, victim, last = (
        named(grid, f"{name}.encoder.seed0") for name in ("en", "multi", "mono-eu")
    )
    folder = ResultFolder(tmp_path / "experiments")
    monkeypatch.setattr(KillInSecondCell, "folder", folder, raising=False)
    with monkeypatch.context() as killing:
        killing.setattr(runner.subprocess, "Popen", KillInSecondCell)
        result = run(grid_path, folder.root, "--no-keep-models")
    assert result.exit_code == 1 and "1 of 3 cells failed: multi.encoder.seed0" in result.output
    failure = json.loads(folder.failure(victim).read_text(encoding="utf8"))
    assert failure["signal"] == "SIGKILL"
    assert folder.state(grid, victim) is State.failed
    assert folder.state(grid, first) is folder.state(grid, last) is State.done
    assert folder.work(victim).exists() and not folder.result(victim).exists()

    untouched = {cell: folder.result(cell).stat().st_mtime_ns for cell in (first, last)}
    result = run(grid_path, folder.root, "--no-keep-models")
    assert result.exit_code == 0, result.output
    assert folder.state(grid, victim) is State.done
    assert not folder.failure(victim).exists() and not folder.work(victim).exists()
    assert {c: folder.result(c).stat().st_mtime_ns for c in untouched} == untouched
    assert "2 of 3 cells are done already" in result.output
    table = (folder.report / "test.md").read_text(encoding="utf8")
    assert "cross-lingual encoder, Multi-Training" in table and "Human agreement" in table
    for name in ("test.csv", "dev.tex", "treebanks.md"):
        assert (folder.report / name).exists()


def test_a_killed_grid_takes_its_cells_along(grid_path, corpus, tmp_path):
    grid = write_grid(
        grid_path, corpus, overrides={"all": {"training.max_epochs": 0, "training.max_steps": 0}}
    )
    cell = named(grid, "multi.encoder.seed0")
    folder = ResultFolder(tmp_path / "experiments")
    command = ["rst", "experiments", str(grid_path), str(folder.root), "--only", cell.name]
    parent = subprocess.Popen([sys.executable, "-m", "spacy", *command])
    try:
        wait_until(lambda: (folder.work(cell) / "curve.jsonl").exists(), parent)
        assert folder.state(grid, cell) is State.running
        listed = run(grid_path, folder.root, "--dry-run")
        assert "running" in listed.output
    finally:
        parent.send_signal(signal.SIGTERM)
        parent.wait()
    assert parent.returncode == 130
    assert folder.state(grid, cell) is State.waiting


def test_dry_run_lists_the_cells_and_runs_none(grid_path, tmp_path):
    result = run(grid_path, tmp_path / "experiments", "--dry-run")
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert ["multi.encoder.seed0", "en", "eu", "waiting"] in rows
    assert ["mono-eu.encoder.seed0", "eu", "waiting"] in rows
    assert not (tmp_path / "experiments").exists()


def test_a_report_of_nothing_says_so(grid_path, tmp_path):
    result = run(grid_path, tmp_path / "experiments", "--report")
    assert result.exit_code == 0 and "nothing to report" in result.output


def test_unknown_cells_are_refused(grid_path, tmp_path):
    for option in ("--cell", "--only"):
        result = run(grid_path, tmp_path, option, "multi")
        assert result.exit_code == 1
        assert "R736" in result.output and "mono-eu.encoder.seed0" in result.output


def test_one_cell_can_be_run_in_this_process(grid_path, corpus, tmp_path, monkeypatch):
    grid = write_grid(grid_path, corpus)
    folder = ResultFolder(tmp_path / "experiments")
    cell = named(grid, "en.encoder.seed0")
    monkeypatch.delattr(runner, "_start")
    result = run(grid_path, folder.root, "--cell", cell.name)
    assert result.exit_code == 0, result.output
    assert folder.state(grid, cell) is State.done and folder.model(cell).exists()
    assert not folder.report.exists()
