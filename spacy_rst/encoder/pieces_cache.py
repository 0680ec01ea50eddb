"""What the convolutions of the piece encoder make of single pieces, kept in memory: plain torch.

The projection of a piece depends on nothing but the piece. The first convolution over the
projections is a sum of products, one for each place in its window, and each of these depends on one
piece alone, too. So both are looked up instead of computed for all but the first occurrence of a
piece. Texts consist mostly of a few thousand different pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from ..fast_layers import linear, round_up

if TYPE_CHECKING:
    from .pieces_net import Convolution, PieceTable

# About 15 kB each for the encoder of the bundled pipeline. Memory is taken as pieces come.
MAX_PIECES = 3_000
# Pieces that are computed at once.
COMPUTED_AT_ONCE = 256


class KnownPieces:
    """What is known of some pieces, each of which has a slot. Slot 0 is that of no piece: zeros.

    table (PieceTable): The rows of the pieces.
    convolutions (Sequence[Convolution]): The convolutions.
    max_pieces (int): The most pieces.

    slots (np.ndarray): Int (n_pieces,), the slot of each piece, 0 where it is not known.
    rows (Tensor): Float (n_slots, table_width), the rows of the pieces.
    parts (Tensor): Float (n_slots * n_parts, width). A piece has one part for the projection of
        each convolution, and then one for each place in the windows of the convolutions.
    n_parts (int): The parts of a piece.
    """

    def __init__(
        self, table: PieceTable, convolutions: Sequence[Convolution], max_pieces: int
    ) -> None:
        width = convolutions[0].project.out_features
        self.slots = np.zeros(len(table.rows), dtype=np.int64)
        self.n_parts = sum(1 + convolution.window for convolution in convolutions)
        self.rows = table.low.new_empty(max_pieces + 1, table.rows.shape[1])
        self.parts = table.low.new_empty((max_pieces + 1) * self.n_parts, width)
        self.rows[0] = 0
        self.parts[: self.n_parts] = 0
        self._weights = _weights_of(table, convolutions)
        self._made_from = _versions(self._weights)
        self._firsts = [_place_weights(convolution) for convolution in convolutions]
        self._windows = [(convolution.window, convolution.before) for convolution in convolutions]
        self._n_slots = 1

    def is_valid(self) -> bool:
        """RETURNS (bool): Whether the weights are those that the parts were made from."""
        return _versions(self._weights) == self._made_from

    def reserve(self, n_pieces: int) -> int | None:
        """Take slots. No two threads may do so at once.

        n_pieces (int): How many.
        RETURNS (int | None): The first of them, None if there are too few.
        """
        first = self._n_slots
        if first + n_pieces > len(self.rows):
            return None
        self._n_slots += n_pieces
        return first

    def compute(
        self, table: PieceTable, convolutions: Sequence[Convolution], pieces: np.ndarray, first: int
    ) -> None:
        """Fill slots.

        table, convolutions: As on creation.
        pieces (np.ndarray): Int (n,), the pieces.
        first (int): The first of their slots.
        """
        n_pieces = len(pieces)
        by_slot = self.parts.view(len(self.rows), -1)
        for start in range(0, n_pieces, COMPUTED_AT_ONCE):
            ids = pieces[start : start + COMPUTED_AT_ONCE]
            filled = slice(first + start, first + start + len(ids))
            rows = table(torch.from_numpy(np.resize(ids, round_up(len(ids)))))
            projections, products = [], []
            for convolution, (weight, bias) in zip(convolutions, self._firsts, strict=True):
                projected = linear(rows, convolution.project.weight, convolution.project.bias)
                projections.append(convolution.normalize(projected))
                products.append(linear(projections[-1], weight, bias))
            self.rows[filled] = rows[: len(ids)]
            by_slot[filled] = torch.cat([*projections, *products], dim=1)[: len(ids)]
        # Other threads may read it from now on.
        self.slots[pieces] = np.arange(first, first + n_pieces)

    def convolve(self, slots: np.ndarray, context: int) -> tuple[Tensor, ...]:
        """Add the first layer of each convolution to the projections.

        slots (np.ndarray): Int (n,), the slots of pieces that follow each other. Windows do not
            reach over slot 0, if there are enough of it between two texts.
        context (int): How many at each end are only seen, at least as many as a window has there.
        RETURNS (tuple[Tensor, ...]): Float (n - 2 * context, width) for each convolution, zeros for
            slot 0.
        """
        middle = slots[context : len(slots) - context]
        is_piece = (middle > 0)[:, np.newaxis]
        own, summed = [], []
        next_part = len(self._windows)
        for part, (window, before) in enumerate(self._windows):
            own.append(middle * self.n_parts + part)
            windows = sliding_window_view(slots, window)[context - before :][: len(middle)]
            parts = windows * self.n_parts + np.arange(next_part, next_part + window)
            # All parts of slot 0 are zeros.
            summed.append((parts * is_piece).ravel())
            next_part += window
        sums = F.embedding_bag(
            torch.from_numpy(np.concatenate(summed)),
            self.parts,
            _bag_starts(tuple(window for window, _ in self._windows), len(middle)),
            mode="sum",
        ).relu_()
        sums += self.parts.index_select(0, torch.from_numpy(np.concatenate(own)))
        return sums.chunk(len(self._windows))


class PieceCache:
    """Keeps what is known of pieces, for all threads. When it is full it begins anew: the pieces
    that are frequent are soon back. Copies of it and other processes begin with an empty one.

    max_pieces (int): The most pieces to keep, more than are ever asked for at once.
    """

    def __init__(self, max_pieces: int = MAX_PIECES) -> None:
        self.max_pieces = max_pieces
        self._known: KnownPieces | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"max_pieces": self.max_pieces}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        known = self._known
        return 0 if known is None else int(np.count_nonzero(known.slots))

    def clear(self) -> None:
        """Forget all pieces."""
        self._known = None

    @torch.inference_mode()
    def find(
        self, table: PieceTable, convolutions: Sequence[Convolution], pieces: np.ndarray
    ) -> tuple[KnownPieces, np.ndarray]:
        """Look pieces up; those that are not known are computed.

        table (PieceTable): The rows of the pieces.
        convolutions (Sequence[Convolution]): The convolutions.
        pieces (np.ndarray): Int (n,), the pieces.
        RETURNS (tuple[KnownPieces, np.ndarray]): What is known, and the slot of each piece in it.
        """
        known = self._known
        if known is None or not known.is_valid():
            known = self._known = KnownPieces(table, convolutions, self.max_pieces)
        slots = known.slots[pieces]
        if slots.all():
            return known, slots
        new = np.unique(pieces[slots == 0])
        with self._lock:
            first = known.reserve(len(new))
        if first is None:
            new = np.unique(pieces)
            known = KnownPieces(table, convolutions, max(self.max_pieces, len(new)))
            first = known.reserve(len(new))
            self._known = known
        assert first is not None
        known.compute(table, convolutions, new, first)
        return known, known.slots[pieces]


def _place_weights(convolution: Convolution) -> tuple[Tensor, Tensor]:
    """The first layer of a convolution, for one piece at all places of a window side by side. The
    bias goes to the place of the piece that the window belongs to, which is never empty."""
    weight, bias = convolution.first.weight.detach(), convolution.first.bias.detach()
    width, window = len(weight), convolution.window
    by_place = weight.view(width, window, width).transpose(0, 1).reshape(window * width, width)
    biases = bias.new_zeros(window, width)
    biases[convolution.before] = bias
    return by_place, biases.view(-1)


@lru_cache(maxsize=64)
def _bag_starts(windows: tuple[int, ...], n_rows: int) -> Tensor:
    """Where the parts begin that make up each row of each convolution."""
    sizes = np.repeat(windows, n_rows)
    return torch.from_numpy(np.cumsum(sizes) - sizes)


def _weights_of(table: PieceTable, convolutions: Iterable[Convolution]) -> list[Tensor]:
    weights = [table.rows, table.low, table.step]
    for convolution in convolutions:
        for layer in (convolution.project, convolution.normalize, convolution.first):
            weights += [layer.weight, layer.bias]
    return weights


def _versions(weights: Iterable[Tensor]) -> list[tuple[int, int]]:
    """Where weights lie, and how often they were changed there."""
    return [(weight.data_ptr(), weight._version) for weight in weights]
