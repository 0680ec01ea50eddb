"""A training that goes on from a checkpoint, and how batches are shared."""

from __future__ import annotations

import random
from itertools import count, islice
from pathlib import Path

import pytest
from safetensors.numpy import save
from spacy.util import registry

from spacy_rst.errors import RstError
from spacy_rst.training.checkpoint import CHECKPOINT_FILE, Checkpoint
from spacy_rst.training.loop import _draw_apart, _share, train
from spacy_rst.training.workers import Worker
from tests.training.tiny import difference, init_tiny, saved_weights, write_sample

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
    train(init_tiny(corpus, OPTIMIZER, **STEPS), output)
    return output


@registry.callbacks("interrupt_training")
def make_interruption(step: int):
    def interrupt(nlp, info):
        if info["step"] == step:
            raise KeyboardInterrupt

    return interrupt


def train_until(step: int, corpus: str, output: Path) -> None:
    """Train, and interrupt it before a step."""
    nlp = init_tiny(corpus, OPTIMIZER, **STEPS)
    nlp.config["training"]["before_update"] = {"@callbacks": "interrupt_training", "step": step}
    with pytest.raises(KeyboardInterrupt):
        train(nlp, output)


def test_a_training_that_is_interrupted_and_resumed_gives_the_same(corpus, undisturbed, tmp_path):
    train_until(5, corpus, tmp_path)
    assert Checkpoint.read(tmp_path / CHECKPOINT_FILE).step == 3
    train(init_tiny(corpus, OPTIMIZER, **STEPS), tmp_path, resume=True)
    for name in ("model-best", "model-last"):
        assert difference(saved_weights(tmp_path / name), saved_weights(undisturbed / name)) == 0
    resumed, expected = (
        Checkpoint.read(folder / CHECKPOINT_FILE) for folder in (tmp_path, undisturbed)
    )
    assert resumed.step == expected.step == 6
    assert resumed.scores == expected.scores and len(expected.scores) == 3
    assert resumed.n_updates == expected.n_updates
    assert resumed.arrays.keys() == expected.arrays.keys()
    assert all((resumed.arrays[name] == expected.arrays[name]).all() for name in expected.arrays)


def test_a_finished_training_that_is_resumed_stays_as_it_is(corpus, undisturbed):
    before = saved_weights(undisturbed / "model-last")
    train(init_tiny(corpus, OPTIMIZER, **STEPS), undisturbed, resume=True)
    assert difference(saved_weights(undisturbed / "model-last"), before) == 0


def test_a_new_training_does_away_with_the_old_checkpoint(corpus, undisturbed, tmp_path):
    (tmp_path / CHECKPOINT_FILE).write_bytes((undisturbed / CHECKPOINT_FILE).read_bytes())
    train_until(0, corpus, tmp_path)
    assert not (tmp_path / CHECKPOINT_FILE).exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "R581"),
        (b"no tensors", "R583"),
        (save({}), "R583"),
        (save({}, {"version": "2", "facts": "{}"}), "R583"),
        (save({}, {"version": "1", "facts": "[]"}), "R583"),
        (save({}, {"version": "1", "facts": '{"step": 1, "scores": [], "n_updates": {}}'}), "R582"),
    ],
)
def test_what_is_no_checkpoint_of_this_pipeline_is_refused(content, code, corpus, tmp_path):
    if content is not None:
        (tmp_path / CHECKPOINT_FILE).write_bytes(content)
    with pytest.raises(RstError, match=code):
        train(init_tiny(corpus), tmp_path, resume=True)


@pytest.mark.parametrize("n_batches", [1, 6, 7, 8])
def test_batches_are_shared_without_loss_and_all_workers_end_together(n_batches):
    batches = [(number // 4, [number]) for number in range(n_batches)]
    shares = [list(_share(iter(batches), Worker(rank, 3))) for rank in range(3)]
    assert len({len(share) for share in shares}) == 1
    given = [batch for step in zip(*shares, strict=True) for _, batch in step]
    assert sorted({batch[0] for batch in given}) == list(range(n_batches))
    whole = n_batches // 3 * 3
    assert given[:whole] == [batch for _, batch in batches[:whole]]
    epochs = [[epoch for epoch, _ in share] for share in shares]
    assert epochs[0] == epochs[1] == epochs[2]


def test_batches_do_not_depend_on_what_else_draws_numbers():
    random.seed(0)
    expected = [random.random() for _ in range(3)]
    random.seed(0)
    drawn = []
    for _, batch in islice(_draw_apart((0, [random.random()]) for _ in count()), 3):
        drawn += batch
        random.random()
    assert drawn == expected
