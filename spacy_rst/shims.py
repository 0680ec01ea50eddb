"""Torch nets inside thinc models: built when their sizes are known, averaged, saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import srsly
from thinc.api import PyTorchShim, get_torch_default_device, xp2torch

if TYPE_CHECKING:
    import torch


class AveragedShim(PyTorchShim):
    """Holds a torch net whose weights can be exchanged for an optimizer's averages for a while.

    thinc's own shim hands the weights to the optimizer under one kind of key and looks for their
    averages under another, so that `use_averages` would leave the net as it is.
    """

    @contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """Use other weights within a block, as `spacy train` does to evaluate and to save.

        params (Mapping[tuple[int, str], Any]): Arrays by the number of the shim and the name of
            the weight, as in `optimizer.averages`. Weights without an array stay as they are.
        """
        weights = {} if self._model is None else dict(self._model.named_parameters())
        own = {name: weight.data for name, weight in weights.items() if (self.id, name) in params}
        for name, trained in own.items():
            array = params[self.id, name]
            weights[name].data = xp2torch(array, device=trained.device)
        try:
            yield
        finally:
            for name, trained in own.items():
                weights[name].data = trained


class LazyNetShim(AveragedShim):
    """Holds a torch net, from the time when its sizes are known.

    make_net (Callable): Makes the net from its sizes. Bind what the config says beforehand: only
        the sizes are saved with the weights, so that the config of the loaded pipeline decides.
    """

    def __init__(self, make_net: Callable[..., torch.nn.Module], settings: Any = None) -> None:
        super().__init__(None, config={}, deserialize_model=_load_weights)
        self.make_net = make_net
        self.settings = settings

    @property
    def is_built(self) -> bool:
        """RETURNS (bool): Whether there is a net."""
        return self._model is not None

    @property
    def net(self) -> Any:
        """RETURNS (torch.nn.Module): The net."""
        return self._model

    def build(self, **sizes: int) -> None:
        """Make the net, with new weights.

        **sizes (int): What `make_net` needs.
        """
        use_one_thread_in_forks()
        self.cfg = sizes
        made = self.make_net if self.settings is None else partial(self.make_net, self.settings)
        self._model = made(**sizes).to(get_torch_default_device())

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): The sizes and the weights, where there are any."""
        return super().to_bytes() if self.is_built else srsly.msgpack_dumps({})

    def from_bytes(self, bytes_data: bytes) -> LazyNetShim:
        """Make a net of the saved sizes and load its weights.

        bytes_data (bytes): The output of `to_bytes`.
        RETURNS (LazyNetShim): The shim itself.
        """
        message = srsly.msgpack_loads(bytes_data)
        if message:
            self.build(**message["config"])
            super().from_bytes(bytes_data)
        return self


def _load_weights(net: torch.nn.Module, state: bytes, device: Any) -> torch.nn.Module:
    import torch

    net.load_state_dict(torch.load(BytesIO(state), map_location=device, weights_only=True))
    return net.to(device)


@lru_cache(maxsize=1)
def use_one_thread_in_forks() -> None:
    """Let forked processes run torch in one thread, from now on.

    `nlp.pipe(n_process=...)` forks. A fork inherits torch's thread pool without its threads, and
    would wait for them forever.
    """
    if hasattr(os, "register_at_fork"):
        import torch

        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
