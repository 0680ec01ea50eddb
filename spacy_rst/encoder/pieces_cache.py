"""What single pieces contribute to the convolutions of the piece encoder, kept in memory: plain
torch.

The projection of a piece depends on that piece alone. The first convolution over the projections
is a sum of products, one for each place of its window, and each of these depends on one piece, too.
So both are computed once for a piece and looked up from then on: most text consists of a few
thousand different pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from ..fast_layers import PackedWeights, linear, round_up

if TYPE_CHECKING:
    from .pieces_net import Convolution, PieceTable

# About 15 kB each for the encoder of the bundled pipeline. Memory is taken as pieces come.
MAX_PIECES = 3_000
# Pieces that are computed at once.
COMPUTED_AT_ONCE = 256


class PieceCache:
    """Keeps what pieces contribute, as long as the weights do not change. When it is full it starts
    again: frequent pieces soon return. Threads take turns, and copies and other processes start
    with an empty one."""

    def __init__(self, max_pieces: int = MAX_PIECES) -> None:
        self.max_pieces = max_pieces
        self._contributions = PackedWeights()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return PieceCache, (self.max_pieces,)

    def clear(self) -> None:
        """Forget all pieces."""
        self._contributions.clear()

    @torch.inference_mode()
    def convolve(
        self,
        table: PieceTable,
        convolutions: Sequence[Convolution],
        pieces: np.ndarray,
        context: int,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Apply the first layer of each convolution to pieces, int (n,), with enough places of -1
        (no piece) between two texts that no window reaches across them. At each end, `context`
        pieces are only read.

        Gives the rows of the pieces, float (n - 2 * context, table_width), and the result of each
        convolution, float (n - 2 * context, width), with zeros where there is no piece.
        """
        with self._lock:
            known = self._contributions.get(
                list(_weights_of(table, convolutions)),
                lambda: _Contributions(table, convolutions, self.max_pieces),
            )
            return known.convolve(known.find(table, convolutions, pieces), context)


class _Contributions:
    """What pieces contribute. Each has a slot; slot 0 stands for no piece, and is all zeros."""

    def __init__(
        self, table: PieceTable, convolutions: Sequence[Convolution], max_pieces: int
    ) -> None:
        self.slots = np.zeros(len(table.rows), dtype=np.int64)
        self.windows = [(convolution.window, convolution.before) for convolution in convolutions]
        self.first_layers = [_weights_by_place(convolution) for convolution in convolutions]
        # A piece has the projection of each convolution, and then a product for each place in the
        # windows of the convolutions.
        self.n_parts = sum(1 + window for window, _ in self.windows)
        self.width = convolutions[0].project.out_features
        self.max_pieces = max_pieces
        self._start(table, max_pieces)

    def _start(self, table: PieceTable, max_pieces: int) -> None:
        """Begin with no pieces, and with room for some."""
        self.rows = table.low.new_empty(max_pieces + 1, table.rows.shape[1])
        self.parts = table.low.new_empty((max_pieces + 1) * self.n_parts, self.width)
        self.rows[0] = 0
        self.parts[: self.n_parts] = 0
        self.slots.fill(0)
        self.n_slots = 1

    def find(
        self, table: PieceTable, convolutions: Sequence[Convolution], pieces: np.ndarray
    ) -> np.ndarray:
        """The slots of pieces, which are computed if they are new."""
        is_piece = pieces >= 0
        slots = np.where(is_piece, self.slots[pieces], 0)
        new = np.unique(pieces[is_piece & (slots == 0)])
        if not len(new):
            return slots
        if self.n_slots + len(new) > len(self.rows):
            new = np.unique(pieces[is_piece])
            self._start(table, max(self.max_pieces, len(new)))
        for start in range(0, len(new), COMPUTED_AT_ONCE):
            self._compute(table, convolutions, new[start : start + COMPUTED_AT_ONCE])
        return np.where(is_piece, self.slots[pieces], 0)

    def _compute(
        self, table: PieceTable, convolutions: Sequence[Convolution], pieces: np.ndarray
    ) -> None:
        """Give slots to pieces, and fill them."""
        n_pieces = len(pieces)
        filled = slice(self.n_slots, self.n_slots + n_pieces)
        rows = table(torch.from_numpy(np.resize(pieces, round_up(n_pieces))))
        projections, products = [], []
        for convolution, (weight, bias) in zip(convolutions, self.first_layers, strict=True):
            projected = linear(rows, convolution.project.weight, convolution.project.bias)
            projections.append(convolution.normalize(projected))
            products.append(linear(projections[-1], weight, bias))
        self.rows[filled] = rows[:n_pieces]
        parts = torch.cat([*projections, *products], dim=1)
        self.parts.view(len(self.rows), -1)[filled] = parts[:n_pieces]
        self.slots[pieces] = np.arange(filled.start, filled.stop)
        self.n_slots = filled.stop

    def convolve(self, slots: np.ndarray, context: int) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The rows of the slots and the first layer of each convolution over them."""
        middle = slots[context : len(slots) - context]
        is_piece = (middle > 0)[:, np.newaxis]
        own, summed = [], []
        next_part = len(self.windows)
        for part, (window, before) in enumerate(self.windows):
            own.append(middle * self.n_parts + part)
            windows = sliding_window_view(slots, window)[context - before :][: len(middle)]
            parts = windows * self.n_parts + np.arange(next_part, next_part + window)
            summed.append((parts * is_piece).ravel())
            next_part += window
        sums = F.embedding_bag(
            torch.from_numpy(np.concatenate(summed)),
            self.parts,
            _bag_starts(tuple(window for window, _ in self.windows), len(middle)),
            mode="sum",
        ).relu_()
        sums += self.parts.index_select(0, torch.from_numpy(np.concatenate(own)))
        rows = self.rows.index_select(0, torch.from_numpy(middle))
        return rows, sums.chunk(len(self.windows))


def _weights_by_place(convolution: Convolution) -> tuple[Tensor, Tensor]:
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


def _weights_of(table: PieceTable, convolutions: Sequence[Convolution]) -> Iterator[Tensor]:
    """The weights that the contributions are computed from."""
    yield from (table.rows, table.low, table.step)
    for convolution in convolutions:
        for layer in (convolution.project, convolution.normalize, convolution.first):
            yield from (layer.weight, layer.bias)
