"""`python -m spacy rst train`: several workers from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spacy.cli import app
from typer.testing import CliRunner

import spacy_rst.cli  # noqa: F401  (registers the command)
from tests.training.tiny import TINY, write_sample

PATIENCE = 1800  # seconds: only against a test that never ends
# Each worker leaves its number of process; some do more.
CODE = """
import os
import signal
from pathlib import Path
import torch.distributed
from spacy.util import registry

@registry.callbacks("test_train.v1")
def make_callback(folder: str, act: str):
    def note(nlp, info):
        rank = torch.distributed.get_rank()
        Path(folder, f"{rank}.tmp").write_text(str(os.getpid()))
        os.replace(Path(folder, f"{rank}.tmp"), Path(folder, f"{rank}.pid"))
        if act == "die" and rank == 1 and info["step"] == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if act == "refuse" and rank == 1:
            raise OSError("the disk is gone")
    return note
"""


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[[str], subprocess.Popen]]:
    """Start a training that would not end by itself."""
    corpus = write_sample(tmp_path)
    (tmp_path / "code.py").write_text(CODE, encoding="utf8")
    options = [
        *("--output", tmp_path / "output", "--workers", 2, "--code", tmp_path / "code.py"),
        *("--paths.train", corpus, "--paths.dev", corpus, "--training.max_epochs", 0),
        *("--training.batcher.size", 1, "--training.before_update"),
    ]
    started = []

    def start_with(act: str) -> subprocess.Popen:
        callback = f'{{"@callbacks":"test_train.v1","folder":"{tmp_path}","act":"{act}"}}'
        process = subprocess.Popen(
            [sys.executable, "-m", "spacy", "rst", "train", TINY, *map(str, options), callback],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start_with
    for process in started:
        process.kill()  # its workers end with it
        process.communicate()


def check_that_workers_have_ended(folder: Path) -> None:
    for path in [folder / "0.pid", folder / "1.pid"]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)


@pytest.mark.parametrize(
    ("act", "expected"), [("die", "signal SIGKILL"), ("refuse", "the disk is gone")]
)
def test_a_worker_that_dies_ends_the_command(act, expected, start, tmp_path):
    process = start(act)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, output
    assert "R580" in output and expected in output
    check_that_workers_have_ended(tmp_path)


def test_a_request_to_end_ends_all(start, tmp_path):
    process = start("")
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "0.pid").exists() or not (tmp_path / "1.pid").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    check_that_workers_have_ended(tmp_path)


@pytest.mark.parametrize(
    ("options", "code"),
    [(["--workers", "2", "--gpu-id", "0"], "R584"), (["--resume"], "R581")],
)
def test_what_cannot_be_is_refused_at_once(options, code, tmp_path):
    arguments = ["rst", "train", str(TINY), "--output", str(tmp_path / "output"), *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert code in result.output
    assert not (tmp_path / "output").exists()


def test_one_worker_runs_in_this_process_and_goes_on(tmp_path):
    corpus = write_sample(tmp_path)
    paths = ["--paths.train", corpus, "--paths.dev", corpus, "--output", str(tmp_path / "output")]
    for options in (["--training.max_epochs", "1"], ["--training.max_epochs", "2", "--resume"]):
        result = CliRunner().invoke(app, ["rst", "train", str(TINY), *paths, *options])
        assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    assert "Going on after step" in result.output
    assert (tmp_path / "output" / "model-best" / "meta.json").exists()
