"""Benchmarks are not tests, but what they measure with must work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_benchmark(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / name), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def is_checkout() -> bool:
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not is_checkout(), reason="there are no commits to compare")


def test_commits_are_compared(tmp_path):
    output = tmp_path / "new" / "compare.json"
    sizes = ["--sizes", "6x1", "4x3", "--rounds", "1", "--output", str(output)]
    finished = run_benchmark("compare.py", "HEAD", *sizes)
    assert finished.returncode == 0, finished.stderr
    rows = [line.split() for line in finished.stdout.splitlines()]
    assert [row[0] for row in rows[1:3]] == ["6x1", "4x3"]
    result = json.loads(output.read_text())
    (base,), (present,) = result["base"], result["present"]
    assert Path(present["package"]) == ROOT / "spacy_rst" != Path(base["package"])
    assert not Path(base["package"]).exists()
    for row in (base, present):
        assert set(row["seconds"]) == {"6x1", "4x3"} and min(row["seconds"].values()) > 0
        assert 0 < row["loaded"] <= row["peak_of_loading"] <= row["peak"]
    shown = [float(cell) for cell in rows[1][1:4]]
    seconds = [row["seconds"]["6x1"] for row in (base, present)]
    assert shown[2] == pytest.approx(seconds[0] / seconds[1], abs=0.01)


def test_there_must_be_such_a_commit(tmp_path):
    finished = run_benchmark("compare.py", "no-such-commit", "--output", str(tmp_path / "x.json"))
    assert finished.returncode and "no-such-commit" in finished.stderr
    assert not list(tmp_path.iterdir())
