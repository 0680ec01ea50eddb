"""`python -m spacy rst train` and `rst config` from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from spacy_rst.configs import config_names, config_path
from spacy_rst.training.resume import CHECKPOINT_FILE
from tests.cli.processes import start_python
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


def start(corpus: str, folder: Path, *options: object, step: int, kill: bool) -> subprocess.Popen:
    """Start a training with a callback in a process of its own."""
    (folder / "code.py").write_text(CODE, encoding="utf8")
    callback = {"@callbacks": "test_train.v1", "step": step, "kill": kill, "folder": str(folder)}
    command = ["-m", "spacy", "rst", "train", "tiny_test", *options, "--output", folder / "killed"]
    command += ["--paths.train", corpus, "--paths.dev", corpus, "--code", folder / "code.py"]
    command += ["--training.before_update", json.dumps(callback)]
    return start_python(*command, cwd=Path.cwd())


def test_a_killed_training_can_be_resumed_in_another_process(rst, tmp_path):
    corpus = write_sample(tmp_path)
    steps = [*STEPS, 2, "--components.rst_parser.model.dropout", 0.3]
    process = start(corpus, tmp_path, *steps, step=5, kill=True)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, output
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    resumed = rst("train", "tiny_test", "--output", "killed", *paths, *steps, "--resume")
    assert "Resuming after step 4" in resumed.output
    rst("train", config_path("tiny_test"), "--output", tmp_path / "whole", *paths, *steps)
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
def test_what_is_missing_is_said_at_once(rst, arguments, code):
    assert code in rst(*arguments, code=1).output
    assert not Path("output").exists()


@pytest.mark.parametrize("name", config_names())
def test_packaged_configs_are_printed(rst, name):
    assert rst("config", name).output == config_path(name).read_text(encoding="utf8")
