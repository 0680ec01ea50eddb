"""`python -m spacy rst train` and `rst config` from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spacy.cli import app
from typer.testing import CliRunner

import spacy_rst.cli  # noqa: F401  (registers the commands)
from spacy_rst.configs import config_names, config_path
from spacy_rst.training.resume import CHECKPOINT_FILE
from tests.training.tiny import write_sample

PATIENCE = 1800  # seconds: only against a test that never ends
# A training that kills its process before a step, or tells when it has got there.
CODE = """
import os
import signal
from pathlib import Path
from spacy.util import registry

@registry.callbacks("test_train.v1")
def make_callback(step: int, kill: bool, folder: str):
    def act(nlp, info):
        if info["step"] == step and kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if info["step"] == step:
            Path(folder, "reached").touch()
    return act
"""
STEPS = ["--training.max_steps", "6", "--training.max_epochs", "0", "--training.eval_frequency"]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["rst", *map(str, arguments)])
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    return result.output


def start(corpus: str, folder: Path, *options: object, step: int, kill: bool) -> subprocess.Popen:
    """Start a training with a callback in a process of its own."""
    (folder / "code.py").write_text(CODE, encoding="utf8")
    callback = {"@callbacks": "test_train.v1", "step": step, "kill": kill, "folder": str(folder)}
    command = [sys.executable, "-m", "spacy", "rst", "train", "tiny_test", *map(str, options)]
    command += ["--paths.train", corpus, "--paths.dev", corpus, "--output", str(folder / "killed")]
    command += ["--code", str(folder / "code.py"), "--training.before_update"]
    command += [json.dumps(callback)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_killed_training_can_be_resumed_in_another_process(tmp_path):
    corpus = write_sample(tmp_path)
    steps = [*STEPS, 2, "--components.rst_parser.model.dropout", 0.3]
    process = start(corpus, tmp_path, *steps, step=5, kill=True)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, output
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    resumed = run("train", "tiny_test", "--output", tmp_path / "killed", *paths, *steps, "--resume")
    assert "Resuming after step 4" in resumed
    run("train", config_path("tiny_test"), "--output", tmp_path / "whole", *paths, *steps)
    for file in (CHECKPOINT_FILE, "model-best/rst_parser/model", "model-last/tok2vec/model"):
        expected = (tmp_path / "whole" / file).read_bytes()
        assert (tmp_path / "killed" / file).read_bytes() == expected, file


def test_a_request_to_end_ends_it(tmp_path):
    options = ["--training.max_epochs", 0]
    process = start(write_sample(tmp_path), tmp_path, *options, step=1, kill=False)
    try:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "reached").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["train", "tiny_test", "--output", "output", "--resume"], "R580"),
        (["train", "nothing", "--output", "output"], "R582"),
        (["config", "nothing"], "R582"),
    ],
)
def test_what_is_missing_is_said_at_once(arguments, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["rst", *arguments])
    assert result.exit_code == 1
    assert code in result.output
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("name", config_names())
def test_packaged_configs_are_printed(name):
    assert run("config", name) == config_path(name).read_text(encoding="utf8")
