"""Several processes that train together do what one would do with all of their batches."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from thinc.api import SGD, Linear, chain

from spacy_rst.errors import RstError
from spacy_rst.training.optimizer import SharedOptimizer, begin_alike
from spacy_rst.training.parameters import LayerParameter
from spacy_rst.training.workers import Worker, run_workers
from tests.training.tiny import difference, one_step, saved_weights, write_sample


def test_two_workers_with_half_batches_learn_as_one_with_the_whole(tmp_path):
    corpus = write_sample(tmp_path)
    run_workers(2, one_step, corpus, tmp_path / "two", 2)
    one_step(Worker(), corpus, tmp_path / "one", 4)
    together = saved_weights(tmp_path / "two" / "model-last")
    alone = saved_weights(tmp_path / "one" / "model-last")
    assert difference(together, alone) < 1e-6
    # Gradients that were added up in place of a mean, or not exchanged, would be farther away.
    one_step(Worker(), corpus, tmp_path / "half", 2)
    assert difference(saved_weights(tmp_path / "half" / "model-last"), alone) > 1e-4


def exchange(worker: Worker, folder: Path) -> None:
    """Make a step in which only the second worker has a gradient of the second layer, and none has
    one of the third."""
    np.random.seed(worker.rank)
    model = chain(Linear(2, 2), Linear(2, 2), Linear(2, 2)).initialize()
    layers = model.layers
    parameters = [LayerParameter(f"{n}/W", layer, "W") for n, layer in enumerate(layers)]
    begin_alike(parameters, worker)
    before = [parameter.read().copy() for parameter in parameters]
    optimizer = SharedOptimizer(SGD(1.0, L2=0.5, grad_clip=0.0), parameters, worker)
    gradient = np.full((2, 2), worker.rank + 1.0, dtype="f")
    layers[0].inc_grad("W", gradient)
    if worker.rank:
        layers[1].inc_grad("W", gradient)
    for _ in range(2):  # in the second step there is a gradient of zeros
        model.finish_update(optimizer)
        optimizer.step_schedules()
    after = [parameter.read() for parameter in parameters]
    np.savez(folder / f"{worker.rank}.npz", before=before, after=after)


def test_gradients_that_some_or_all_workers_lack(tmp_path):
    run_workers(2, exchange, tmp_path)
    first, second = (np.load(tmp_path / f"{rank}.npz") for rank in (0, 1))
    assert np.array_equal(first["before"], second["before"])
    assert np.array_equal(first["after"], second["after"])
    for layer, mean in ((0, 1.5), (1, 1.0)):
        # Thinc's weight decay comes after the gradient.
        expected = (first["before"][layer] - mean) * 0.5 * 0.5
        assert first["after"][layer] == pytest.approx(expected)
    assert np.array_equal(first["after"][2], first["before"][2])


def exchange_at_a_rate(worker: Worker, folder: Path) -> None:
    """Make a step in which only the second worker has a gradient, with a rate of its own."""
    layer = Linear(2, 2).initialize()
    layer.set_param("W", np.ones((2, 2), dtype="f"))
    optimizer = SharedOptimizer(
        SGD(1.0, L2=0.0, grad_clip=0.0), [LayerParameter("W", layer, "W")], worker
    )
    if worker.rank:
        gradient = np.ones((2, 2), dtype="f")
        optimizer((layer.id, "W"), layer.get_param("W"), gradient, lr_scale=0.5)
    optimizer.step_schedules()
    np.save(folder / f"{worker.rank}.npy", layer.get_param("W"))


def test_a_rate_that_only_some_workers_know_counts_in_all(tmp_path):
    run_workers(2, exchange_at_a_rate, tmp_path)
    for rank in (0, 1):
        assert np.load(tmp_path / f"{rank}.npy") == pytest.approx(np.full((2, 2), 1 - 0.5 / 2))


def fail(worker: Worker) -> None:
    """End the second worker while the first waits for it."""
    if worker.rank:
        os._exit(7)
    worker.add_up(torch.zeros(1))


def test_a_worker_that_ends_early_ends_all():
    with pytest.raises(RstError, match=r"R580.*2 of 2.*exit code 7"):
        run_workers(2, fail)


def test_one_worker_exchanges_nothing():
    values = torch.ones(2)
    Worker().add_up(values)
    Worker().copy_first(values)
    assert values.tolist() == [1, 1]
