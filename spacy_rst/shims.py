"""Torch nets inside thinc models: built when their sizes are known, averaged, saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import srsly
import torch
from thinc.api import Optimizer, PyTorchShim, get_torch_default_device, xp2torch


class NetShim(PyTorchShim):
    """Holds a torch net whose weights can be replaced by an optimizer's averages for a while.

    thinc's own shim gives the weights to the optimizer under one kind of key and looks for their
    averages under another, so that `use_averages` would have no effect.
    """

    @property
    def is_built(self) -> bool:
        """Whether there is a net."""
        return self._model is not None

    @property
    def net(self) -> Any:
        """The net, ready to run in this process."""
        THREADS.adapt_to_process()
        return self._model

    def set_net(self, net: torch.nn.Module) -> None:
        """Hold a net, on the device that thinc uses."""
        THREADS.adapt_to_process()
        self._model = net.to(get_torch_default_device())

    def finish_update(self, optimizer: Optimizer) -> None:
        """Change the weights."""
        super().finish_update(optimizer)
        self._flatten()

    @contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """Use other weights within a block, as `spacy train` does to evaluate and to save. They
        have the keys of `optimizer.averages`: the shim's id and the weight's name. Others stay as
        they are."""
        weights = dict(self._model.named_parameters()) if self.is_built else {}
        own = {name: weight.data for name, weight in weights.items() if (self.id, name) in params}
        for name, trained in own.items():
            weights[name].data = xp2torch(params[self.id, name], device=trained.device)
        self._flatten()
        try:
            yield
        finally:
            for name, trained in own.items():
                weights[name].data = trained
            self._flatten()

    def _flatten(self) -> None:
        """Put the weights of each RNN in one block of memory again, which cuDNN needs and thinc's
        optimizer undoes. On a CPU this does nothing."""
        for module in self._model.modules() if self.is_built else ():
            if isinstance(module, torch.nn.RNNBase):
                module.flatten_parameters()


class LazyNetShim(NetShim):
    """Holds a torch net that `make_net` makes when its sizes are known. Bind what the config says
    beforehand: only the sizes are saved with the weights, so that the config of the loaded pipeline
    decides."""

    # Whether weights are saved in half precision, with half the bytes.
    saves_halves = False

    def __init__(self, make_net: Callable[..., torch.nn.Module]) -> None:
        super().__init__(
            None, config={}, serialize_model=self._save_weights, deserialize_model=_load_weights
        )
        self.make_net = make_net

    def build(self, **sizes: Any) -> None:
        """Make the net of these sizes, with new weights."""
        self.cfg = sizes
        self.set_net(self.make_net(**sizes))

    def to_bytes(self) -> bytes:
        """The sizes and the weights, if there are any."""
        return super().to_bytes() if self.is_built else srsly.msgpack_dumps({})

    def _save_weights(self, net: torch.nn.Module) -> bytes:
        return save_state(net.state_dict(), halves=self.saves_halves)

    def from_bytes(self, bytes_data: bytes) -> LazyNetShim:
        """Make a net of the saved sizes and load its weights."""
        message = srsly.msgpack_loads(bytes_data)
        if message:
            self.build(**message["config"])
            super().from_bytes(bytes_data)
        return self


class ForkedThreads:
    """Keeps nets from waiting forever in a process that was forked after they were made:
    `nlp.pipe(n_process=...)` forks, and a fork inherits torch's thread pool without its threads."""

    process: int | None = None

    def adapt_to_process(self) -> None:
        """Let torch run in one thread if this process was forked from one that has nets."""
        process = os.getpid()
        if self.process not in (None, process):
            torch.set_num_threads(1)
        self.process = process


THREADS = ForkedThreads()


def save_state(state: Mapping[str, torch.Tensor], *, halves: bool = False) -> bytes:
    """Serialize weights, in half precision if wanted, as `torch.load` reads them."""
    if halves:
        state = {
            name: value.half() if value.is_floating_point() else value
            for name, value in state.items()
        }
    saved = BytesIO()
    torch.save(state, saved)
    return saved.getvalue()


def _load_weights(net: torch.nn.Module, state: bytes, device: Any) -> torch.nn.Module:
    net.load_state_dict(torch.load(BytesIO(state), map_location=device, weights_only=True))
    return net.to(device)
