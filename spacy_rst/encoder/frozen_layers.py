"""What the frozen layers of a transformer compute, kept during training: plain torch.

Frozen layers give the same for a window of pieces whenever it comes, so that training can compute
it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from .alignment import Ints


class GivenStates(nn.Module):
    """Takes the place of the embeddings, and gives the states that were computed before."""

    def forward(self, *, inputs_embeds: Tensor, **options: Any) -> Tensor:
        """RETURNS (Tensor): The states that were given."""
        return inputs_embeds


class FrozenLayers:
    """Runs a transformer in training, and keeps up to `max_bytes` of the states behind its frozen
    layers, in half precision. When there is no more room, nothing is given up for new states: in
    training, each window comes back equally soon."""

    def __init__(self, transformer: nn.Module, max_bytes: int) -> None:
        self.transformer = transformer
        self.room = max_bytes
        layers = cast(nn.ModuleList, transformer.get_submodule("encoder.layer"))
        is_frozen = [not any(p.requires_grad for p in layer.parameters()) for layer in layers]
        self.n_frozen = sum(is_frozen)
        self._states: dict[bytes, Tensor] = {}

    def disable_dropout(self) -> None:
        """Turn dropout off in the frozen layers: what is kept must not depend on it."""
        layers = cast(nn.ModuleList, self.transformer.get_submodule("encoder.layer"))
        for module in (self.transformer.get_submodule("embeddings"), *layers[: self.n_frozen]):
            module.eval()

    def run(self, ids: Sequence[Ints], pieces: Tensor, is_piece: Tensor) -> Tensor:
        """Run windows, given one by one and, with their mask, as a padded batch, long (windows,
        longest). Gives the states of the last layer, float (windows, longest, width)."""
        keys = [window_ids.tobytes() for window_ids in ids]
        states = [self._states.get(key) for key in keys]
        missing = [number for number, known in enumerate(states) if known is None]
        if missing:
            with torch.no_grad(), self._layers(slice(self.n_frozen), has_embeddings=True):
                output = self.transformer(
                    input_ids=pieces[missing], attention_mask=is_piece[missing], return_dict=True
                )
            for number, computed in zip(missing, output.last_hidden_state, strict=True):
                states[number] = self._keep(keys[number], computed[: len(ids[number])].float())
        floats = [cast(Tensor, own).to(pieces.device, torch.float32) for own in states]
        padded = pad_sequence(floats, batch_first=True)
        with self._layers(slice(self.n_frozen, None), has_embeddings=False):
            output = self.transformer(
                inputs_embeds=padded, attention_mask=is_piece, return_dict=True
            )
        return output.last_hidden_state

    def _keep(self, key: bytes, states: Tensor) -> Tensor:
        """Keep states if there is room. Gives what to use: rounded if they are kept."""
        rounded = states.half()
        if key not in self._states:
            if rounded.nbytes > self.room:
                return states
            self.room -= rounded.nbytes
            self._states[key] = rounded.cpu()
        return rounded

    @contextmanager
    def _layers(self, chosen: slice, has_embeddings: bool) -> Iterator[None]:
        """Let the transformer consist of some of its layers within a block."""
        encoder = cast(Any, self.transformer).encoder
        layers, embeddings = encoder.layer, self.transformer.embeddings
        encoder.layer = layers[chosen]
        if not has_embeddings:
            self.transformer.embeddings = GivenStates()
        try:
            yield
        finally:
            encoder.layer, self.transformer.embeddings = layers, embeddings
