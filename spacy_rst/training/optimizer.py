"""An optimizer for several workers: each step follows the mean of their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from thinc.api import Optimizer
from thinc.types import FloatsXd

from .parameters import Parameter
from .workers import Worker


class _Slot(NamedTuple):
    """Where a parameter's gradient lies among all."""

    number: int
    place: slice
    parameter: Parameter


class SharedOptimizer:
    """Stands in for an optimizer in spaCy's training loop.

    spaCy hands over the gradients one by one, and then asks for the next step of the schedules.
    Here the gradients are only collected; when the schedules are due, all are exchanged in one
    message, and the optimizer gets their means. A gradient that some workers do not have counts as
    zero there; a parameter for which none has one is not touched, as in a single process.

    optimizer (Optimizer): The optimizer, one of its own in each worker, all with the same settings.
    parameters (Sequence[Parameter]): All that is learned, in the same order in each worker.
    worker (Worker): This process.
    """

    def __init__(
        self, optimizer: Optimizer, parameters: Sequence[Parameter], worker: Worker
    ) -> None:
        self.optimizer = optimizer
        self.worker = worker
        # While steps are only counted, there is nothing to exchange.
        self.is_idle = False
        self._slots: dict[tuple[int, str], _Slot] = {}
        size = 0
        for number, parameter in enumerate(parameters):
            end = size + parameter.read().size
            self._slots[parameter.key] = _Slot(number, slice(size, end), parameter)
            size = end
        self._message = torch.zeros(size + 2 * len(parameters))
        numbers = self._message.numpy()
        self._gradients = numbers[:size]
        # For each parameter, how many workers have a gradient, and the sum of their rates.
        self._n_set, self._rates = numbers[size:].reshape(2, -1)

    @property
    def averages(self) -> dict[tuple[int, str], FloatsXd] | None:
        """RETURNS (dict[tuple[int, str], FloatsXd] | None): The averages of the weights."""
        return self.optimizer.averages

    @property
    def learn_rate(self) -> float:
        """RETURNS (float): The learning rate."""
        return self.optimizer.learn_rate

    def __call__(
        self,
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Take a gradient. The weights are changed by `step_schedules`.

        key (tuple[int, str]): The parameter.
        weights (FloatsXd): Its weights.
        gradient (FloatsXd): Its gradient, set to zero.
        lr_scale (float): Its learning rate, as a share of the optimizer's.
        RETURNS (tuple[FloatsXd, FloatsXd]): The same weights and gradient.
        """
        slot = self._slots[key]
        self._gradients[slot.place] += gradient.ravel()
        self._n_set[slot.number] = 1
        self._rates[slot.number] = lr_scale
        gradient *= 0
        return weights, gradient

    def step_schedules(self) -> None:
        """Exchange the gradients, change the weights, and go on to the next step."""
        if not self.is_idle:
            self._exchange()
        self.optimizer.step_schedules()

    def _exchange(self) -> None:
        self.worker.add_up(self._message)
        self._gradients /= self.worker.count
        for key, slot in self._slots.items():
            if n_set := self._n_set[slot.number]:
                weights = slot.parameter.read()
                gradient = cast(FloatsXd, self._gradients[slot.place].reshape(weights.shape))
                rate = float(self._rates[slot.number] / n_set)
                weights, _ = self.optimizer(key, weights, gradient, lr_scale=rate)
                slot.parameter.write(weights)
        self._message.zero_()


def begin_alike(parameters: Sequence[Parameter], worker: Worker) -> None:
    """Give all workers the weights of the first.

    parameters (Sequence[Parameter]): All that is learned.
    worker (Worker): This process.
    """
    if worker.count == 1 or not parameters:
        return
    arrays = [parameter.read() for parameter in parameters]
    message = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))
    worker.copy_first(message)
    pieces = message.split([array.size for array in arrays])
    for parameter, array, piece in zip(parameters, arrays, pieces, strict=True):
        parameter.write(piece.numpy().reshape(array.shape).copy())
