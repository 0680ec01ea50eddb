"""The frozen lower layers of a transformer apart from its trained ones, and what they computed.

Frozen layers give the same for a window whenever it comes, so that training need compute it once.
Plain torch.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..util import atomic_path
from .alignment import Ints


class GivenStates(nn.Module):
    """Stands where the embeddings of a transformer are, and lets other states in."""

    def forward(self, *, inputs_embeds: Tensor, **options: Any) -> Tensor:
        """RETURNS (Tensor): The states that were given."""
        return inputs_embeds


def split_transformer(transformer: nn.Module, n_lower: int) -> tuple[nn.Module, nn.Module]:
    """Make two transformers of one. They share its weights.

    transformer (nn.Module): A transformer with `embeddings` and `encoder.layer`, as XLM-R.
    n_lower (int): How many layers belong to the lower one.
    RETURNS (tuple[nn.Module, nn.Module]): The lower one, with the embeddings, and the upper one,
        which takes the states of the lower one as `inputs_embeds`.
    """
    layers = cast(nn.ModuleList, transformer.get_submodule("encoder.layer"))
    lower, upper = (
        _with_layers(transformer, layers[:n_lower]),
        _with_layers(transformer, layers[n_lower:]),
    )
    upper.embeddings = GivenStates()
    return lower, upper


def _with_layers(transformer: nn.Module, layers: nn.ModuleList) -> nn.Module:
    other = _shallow_copy(transformer)
    other.encoder = _shallow_copy(cast(nn.Module, transformer.encoder))
    cast(nn.Module, other.encoder).layer = layers
    return other


def _shallow_copy(module: nn.Module) -> nn.Module:
    """A module with the same parts, of which some can be replaced."""
    other = copy.copy(module)
    other._modules = dict(module._modules)
    return other


def fingerprint(module: nn.Module, *facts: object) -> str:
    """Make a name for weights, which is another one if they change.

    module (nn.Module): The module that has them.
    *facts (object): What else makes a difference.
    RETURNS (str): The name.
    """
    digest = sha256(repr(facts).encode())
    for name, weights in module.state_dict().items():
        digest.update(name.encode())
        digest.update(weights.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()


class StateCache(ABC):
    """Keeps the states of windows in half precision, as long as there is room.

    What comes when it is full is not kept: in training each window comes again before another one
    could be given up for it.

    max_bytes (int): The most bytes to keep.
    """

    def __init__(self, max_bytes: int) -> None:
        self.room = max_bytes

    def get(self, ids: Ints) -> Tensor | None:
        """Find what is kept.

        ids (Ints): The pieces of a window.
        RETURNS (Tensor | None): Its states, half precision (pieces, width), if they are kept.
        """
        return self._read(ids.tobytes())

    def put(self, ids: Ints, states: Tensor) -> Tensor:
        """Keep states, if there is room.

        ids (Ints): The pieces of a window.
        states (Tensor): Their states, float (pieces, width).
        RETURNS (Tensor): What to use: rounded if they are kept, as they will come back.
        """
        rounded = states.half()
        if rounded.nbytes > self.room:
            return states
        self.room -= rounded.nbytes
        self._write(ids.tobytes(), rounded.cpu())
        return rounded

    @abstractmethod
    def _read(self, key: bytes) -> Tensor | None: ...

    @abstractmethod
    def _write(self, key: bytes, states: Tensor) -> None: ...


class MemoryCache(StateCache):
    """Keeps states in memory."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._states: dict[bytes, Tensor] = {}

    def _read(self, key: bytes) -> Tensor | None:
        return self._states.get(key)

    def _write(self, key: bytes, states: Tensor) -> None:
        self._states[key] = states


class DiskCache(StateCache):
    """Keeps states in a folder, where other trainings with the same frozen weights find them.

    folder (Path): A folder for these weights alone. It is made if it does not exist.
    max_bytes (int): The most bytes that it may have.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        super().__init__(max_bytes - sum(path.stat().st_size for path in folder.glob("*.npy")))

    def _read(self, key: bytes) -> Tensor | None:
        try:
            return torch.from_numpy(np.load(self._path(key), allow_pickle=False))
        except FileNotFoundError:
            return None

    def _write(self, key: bytes, states: Tensor) -> None:
        with atomic_path(self._path(key)) as path, path.open("wb") as file:
            np.save(file, states.numpy(), allow_pickle=False)

    def _path(self, key: bytes) -> Path:
        return self.folder / f"{sha256(key).hexdigest()}.npy"


@dataclass(frozen=True)
class FrozenLayers:
    """A transformer in two parts, of which the lower one is computed once for each window.

    lower (nn.Module): Embeddings and frozen layers.
    upper (nn.Module): The trained layers.
    cache (StateCache): What the lower part computed.
    """

    lower: nn.Module
    upper: nn.Module
    cache: StateCache

    @classmethod
    def of(
        cls, transformer: nn.Module, make_cache: Callable[[nn.Module], StateCache]
    ) -> FrozenLayers:
        """Cut a transformer where its trained layers begin.

        transformer (nn.Module): The transformer. Its embeddings are frozen.
        make_cache (Callable): Makes the cache for the lower part.
        RETURNS (FrozenLayers): Both parts, with an empty cache.
        """
        layers = cast(nn.ModuleList, transformer.get_submodule("encoder.layer"))
        is_frozen = [not any(p.requires_grad for p in layer.parameters()) for layer in layers]
        lower, upper = split_transformer(transformer, sum(is_frozen))
        return cls(lower, upper, make_cache(lower))

    def states(self, ids: list[Ints], pieces: Tensor, is_piece: Tensor) -> Tensor:
        """Find what the lower part makes of a batch of windows.

        ids (list[Ints]): The pieces of each window.
        pieces (Tensor): The same, padded: long (windows, longest).
        is_piece (Tensor): 0 where there is padding: long (windows, longest).
        RETURNS (Tensor): Float (windows, longest, width).
        """
        states = [self.cache.get(window_ids) for window_ids in ids]
        missing = [number for number, known in enumerate(states) if known is None]
        if missing:
            with torch.no_grad():
                output = self.lower(
                    input_ids=pieces[missing], attention_mask=is_piece[missing], return_dict=True
                )
            for number, computed in zip(missing, output.last_hidden_state, strict=True):
                own = ids[number]
                states[number] = self.cache.put(own, computed[: len(own)].float())
        return _pad(cast(list[Tensor], states), pieces.shape[1], pieces.device)


def _pad(states: Sequence[Tensor], longest: int, device: torch.device) -> Tensor:
    """The states of windows as one batch, with zeros where windows are shorter."""
    batch = torch.zeros(len(states), longest, states[0].shape[1], device=device)
    for number, rows in enumerate(states):
        batch[number, : len(rows)] = rows
    return batch
