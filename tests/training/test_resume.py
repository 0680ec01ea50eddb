"""A training that is interrupted and resumed ends as if it had never been interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save
from spacy.util import registry

from spacy_rst.errors import RstError
from spacy_rst.training.resume import CHECKPOINT_FILE, Checkpoint, train
from tests.training.tiny import init_tiny, write_sample

OPTIMIZER = {
    "@optimizers": "Adam.v1",
    "use_averages": True,
    "learn_rate": {
        "@schedules": "warmup_linear.v1",
        "warmup_steps": 4,
        "total_steps": 12,
        "initial_rate": 0.01,
    },
}
STEPS = {
    "training.max_steps": 7,
    "training.max_epochs": 0,
    "training.eval_frequency": 3,
    "training.batcher.size": 1,
    "training.dropout": 0.2,
    "components.rst_parser.model.dropout": 0.3,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    """A training without an interruption."""
    output = tmp_path_factory.mktemp("undisturbed")
    train(init_tiny(corpus, {"optimizer": OPTIMIZER}, **STEPS), output)
    return output


@registry.callbacks("interrupt_training")
def make_interruption(step: int):
    def interrupt(nlp, info):
        if info["step"] == step:
            raise KeyboardInterrupt

    return interrupt


def train_until(step: int, corpus: str, output: Path, **changes: Any) -> None:
    """Train, and interrupt it before a step."""
    interruption = {"@callbacks": "interrupt_training", "step": step}
    changes = {"optimizer": OPTIMIZER, "before_update": interruption, **changes}
    with pytest.raises(KeyboardInterrupt):
        train(init_tiny(corpus, changes, **STEPS), output)


def files_of(pipeline: Path) -> dict[Path, bytes]:
    """All files of a pipeline but its config, which tells of the interruption."""
    paths = [path for path in pipeline.rglob("*") if path.is_file() and path.name != "config.cfg"]
    return {path.relative_to(pipeline): path.read_bytes() for path in paths}


@pytest.mark.parametrize("step", [1, 3, 5])
def test_a_training_that_is_interrupted_and_resumed_gives_the_same(
    step, corpus, undisturbed, tmp_path
):
    train_until(step, corpus, tmp_path)
    assert Checkpoint.read(tmp_path / CHECKPOINT_FILE).step == (step - 1) // 3 * 3
    train(init_tiny(corpus, {"optimizer": OPTIMIZER}, **STEPS), tmp_path, resume=True)
    for name in ("model-best", "model-last"):
        assert files_of(tmp_path / name) == files_of(undisturbed / name)
    resumed, expected = (folder / CHECKPOINT_FILE for folder in (tmp_path, undisturbed))
    assert resumed.read_bytes() == expected.read_bytes()
    checkpoint = Checkpoint.read(expected)
    assert (checkpoint.step, len(checkpoint.scores)) == (6, 3)


def test_a_training_without_a_seed_keeps_the_one_that_it_drew(corpus, tmp_path):
    train_until(5, corpus, tmp_path, seed=None)
    before = Checkpoint.read(tmp_path / CHECKPOINT_FILE)
    train(init_tiny(corpus, {"seed": None}, **STEPS), tmp_path, resume=True)
    after = Checkpoint.read(tmp_path / CHECKPOINT_FILE)
    assert (before.step, after.step) == (3, 6)
    assert before.seed == after.seed


def test_a_checkpoint_has_all_that_is_trained_and_nothing_that_is_frozen(corpus, tmp_path):
    for folder, frozen in (("all", []), ("frozen", ["tok2vec"])):
        changes = {"optimizer": OPTIMIZER, "max_steps": 1}
        nlp = init_tiny(corpus, changes)
        nlp.config["training"] |= {"frozen_components": frozen, "annotating_components": frozen}
        train(nlp, tmp_path / folder)
    trained, rest = (load_file(tmp_path / name / CHECKPOINT_FILE) for name in ("all", "frozen"))
    assert {name.split(":")[0] for name in trained} == {"weights", "mom1", "mom2", "averages"}
    assert {name.split(":")[1].split("/")[0] for name in trained} == {"tok2vec", "rst_parser"}
    assert rest.keys() == {name for name in trained if ":rst_parser" in name}


def test_a_finished_training_that_is_resumed_stays_as_it_is(corpus, undisturbed):
    before = (undisturbed / CHECKPOINT_FILE).read_bytes()
    train(init_tiny(corpus, {"optimizer": OPTIMIZER}, **STEPS), undisturbed, resume=True)
    assert (undisturbed / CHECKPOINT_FILE).read_bytes() == before


def test_a_new_training_removes_the_old_checkpoint(corpus, undisturbed, tmp_path):
    (tmp_path / CHECKPOINT_FILE).write_bytes((undisturbed / CHECKPOINT_FILE).read_bytes())
    train_until(0, corpus, tmp_path)
    assert not (tmp_path / CHECKPOINT_FILE).exists()


STATE = '{"seed": 0, "step": 1, "scores": [], "n_updates": {}}'


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "R580"),
        (b"no tensors", "R580"),
        (save({}), "R580"),
        (save({}, {"state": "[]"}), "R580"),
        (save({}, {"state": "{}"}), "R580"),
        (save({}, {"state": STATE}), "R581.*rst_parser"),
    ],
)
def test_what_is_not_a_checkpoint_of_this_pipeline_is_refused(content, code, corpus, tmp_path):
    if content is not None:
        (tmp_path / CHECKPOINT_FILE).write_bytes(content)
    with pytest.raises(RstError, match=code):
        train(init_tiny(corpus), tmp_path, resume=True)
