"""A pretrained multilingual encoder over word pieces, in plain torch.

The pretrained part is the convolutional Multilingual Universal Sentence Encoder (Yang et al. 2020):
a table with a row for each word piece, whose entries stay quantised in memory, and three stacks of
convolutions over 2, 3 and 5 neighbours. What follows is learned with the pipeline: embeddings of
hashed facts about each token, which carry the languages that the table does not know, and layers
that mix both, with the neighbours of each token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor, nn

from ..fast_layers import FastLinear, round_up
from .pieces_cache import PieceCache

# The windows of the pretrained convolutions, and how many rows of a window lie before its own.
ROWS_BEFORE = {2: 0, 3: 1, 5: 2}
# Rows that a convolution reads at each side at most.
ROWS_SEEN = max(ROWS_BEFORE.values())
# With two convolutions no row depends on others farther away.
PIECES_SEEN = 2 * ROWS_SEEN
# Pieces that are convolved at once on a CPU: few enough to stay in its cache.
PIECES_AT_ONCE = 1024


@dataclass
class PieceBatch:
    """Some texts as word pieces, one text after the other, and the tokens to which these belong. A
    text is a document, or a part of one with enough pieces and tokens around what is wanted.

    pooled (Tensor): Long (n_pairs,), the pieces of the tokens, token by token, counted through all
        texts. A piece may belong to several tokens, and a token may have none.
    pool_starts (Tensor): Long (total_tokens,), where the pieces of each token begin in `pooled`.
    """

    pieces: Tensor
    piece_counts: list[int]
    token_counts: list[int]
    pooled: Tensor
    pool_starts: Tensor


class PieceTable(nn.Module):
    """Rows of bytes that become floats when they are looked up: row i belongs to shard i %
    n_shards, and is worth low + step * byte of that shard."""

    rows: Tensor
    low: Tensor
    step: Tensor

    def __init__(self, n_pieces: int, width: int, n_shards: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(n_pieces, width, dtype=torch.uint8))
        self.register_buffer("low", torch.zeros(n_shards))
        self.register_buffer("step", torch.ones(n_shards))

    def forward(self, pieces: Tensor) -> Tensor:
        """The rows of pieces, long (n,): float (n, width)."""
        shards = pieces % len(self.low)
        step, low = self.step[shards].unsqueeze(1), self.low[shards].unsqueeze(1)
        return self.rows.index_select(0, pieces).float().mul_(step).add_(low)


class Convolution(nn.Module):
    """A stack of two convolutions over 2, 3 or 5 projected rows, with residual connections."""

    def __init__(self, table_width: int, width: int, window: int, epsilon: float) -> None:
        super().__init__()
        self.window = window
        self.before = ROWS_BEFORE[window]
        self.project = FastLinear(table_width, width)
        self.normalize = nn.LayerNorm(width, eps=epsilon)
        self.first = FastLinear(window * width, width)
        self.second = FastLinear(window * width, width)

    def forward(self, rows: Tensor, texts: _Texts) -> Tensor:
        """Convolve the rows of some texts, float (n, table_width): float (n, width)."""
        below = self.normalize(self.project(rows))
        for layer in (self.first, self.second):
            windows = texts.windows(below, self.window, self.before)
            below = below + F.relu(layer(windows))
        return below


class PieceNet(nn.Module):
    """Makes token vectors from the pieces of texts and from hashed facts about their tokens. The
    first five sizes are those of the pretrained weights, the others are options of
    `PieceEncoder`."""

    def __init__(
        self,
        *,
        n_pieces: int,
        table_width: int,
        n_shards: int,
        convolution_width: int,
        epsilon: float,
        hash_rows: Sequence[int],
        hash_width: int,
        width: int,
        depth: int,
        dropout: float = 0.0,
        train_convolutions: bool = False,
    ) -> None:
        super().__init__()
        self.width, self.depth, self.hash_rows = width, depth, tuple(hash_rows)
        self.train_convolutions = train_convolutions
        self.table = PieceTable(n_pieces, table_width, n_shards)
        self.convolutions = nn.ModuleList(
            Convolution(table_width, convolution_width, window, epsilon) for window in ROWS_BEFORE
        )
        pooled_width = table_width + len(ROWS_BEFORE) * convolution_width
        self.normalize = nn.LayerNorm(pooled_width, eps=epsilon)
        for module in (self.convolutions, self.normalize):
            module.requires_grad_(train_convolutions)
        self.embeddings = nn.ModuleList(_small_embedding(rows, hash_width) for rows in hash_rows)
        self.mix = FastLinear(pooled_width + len(hash_rows) * hash_width, width)
        self.normalize_mix = nn.LayerNorm(width)
        self.layers = nn.ModuleList(FastLinear(3 * width, 2 * width) for _ in range(depth))
        self.normalize_layers = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.dropout = nn.Dropout(dropout)
        self.piece_cache = PieceCache()

    def train(self, mode: bool = True) -> PieceNet:
        """Change between training and evaluation. Training may change what pieces contribute."""
        if mode and self.train_convolutions:
            self.piece_cache.clear()
        # Visiting all modules takes longer than encoding a sentence.
        return self if mode == self.training else super().train(mode)

    def keep_pretrained(self, other: PieceNet) -> None:
        """Take over the pretrained part of another net of the same sizes."""
        for name in ("table", "convolutions", "normalize"):
            getattr(self, name).load_state_dict(getattr(other, name).state_dict())

    def forward(self, batch: PieceBatch, hashes: Tensor) -> Tensor:
        """Make token vectors, float (total_tokens, width), from texts and the rows of their tokens'
        hashed embeddings, long (total_tokens, n_tables, n_hashes)."""
        return self.mix_tokens(self.pool_pieces(batch), hashes, batch.token_counts)

    def pool_pieces(self, batch: PieceBatch) -> Tensor:
        """The pretrained part: the mean vector of each token's pieces, float (total_tokens,
        pooled_width), zeros for tokens without pieces."""
        learns = self.train_convolutions and torch.is_grad_enabled()
        with torch.set_grad_enabled(learns):
            if batch.pieces.device.type == "cpu" and not learns:
                vectors, places = self._cached_vectors(batch)
                pooled = places.index_select(0, batch.pooled)
            else:
                vectors, pooled = self._piece_vectors(batch), batch.pooled
            return F.embedding_bag(pooled, vectors, batch.pool_starts, mode="mean")

    def mix_tokens(self, pooled: Tensor, hashes: Tensor, token_counts: Sequence[int]) -> Tensor:
        """The learned part: mixes pooled vectors, hashed embeddings and neighbouring tokens."""
        embedded = [
            F.embedding_bag(hashes[:, number], cast(nn.Embedding, table).weight, mode="sum")
            for number, table in enumerate(self.embeddings)
        ]
        inputs = self.dropout(torch.cat([pooled, *embedded], dim=1))
        tokens = self.normalize_mix(F.gelu(self.mix(inputs)))
        texts = _Texts(token_counts, tokens.device)
        for layer, normalize in zip(self.layers, self.normalize_layers, strict=True):
            windows = texts.windows(self.dropout(tokens), 3, 1)
            mixed = layer(windows)
            tokens = normalize(tokens + F.glu(mixed, dim=1))
        return tokens

    def _piece_vectors(self, batch: PieceBatch) -> Tensor:
        """The vector of each piece."""
        rows = self.table(batch.pieces)
        texts = _Texts(batch.piece_counts, batch.pieces.device)
        stacks = [convolution(rows, texts) for convolution in self.convolutions]
        return self.normalize(torch.cat([rows, *stacks], dim=1))

    def _cached_vectors(self, batch: PieceBatch) -> tuple[Tensor, Tensor]:
        """The vectors of places, where the texts lie so far apart that no convolution sees two of
        them, and the place of each piece."""
        counts = np.array(batch.piece_counts)
        places = np.arange(counts.sum()) + np.repeat(np.arange(len(counts)), counts) * ROWS_SEEN
        n_places = int(places[-1]) + 1 if len(places) else 0
        at_once = round_up(PIECES_AT_ONCE)
        # With empty places at both ends, all parts are alike.
        pieces = np.full(n_places + at_once + 2 * PIECES_SEEN, -1)
        pieces[places + PIECES_SEEN] = batch.pieces.numpy()
        vectors = [self.normalize.weight.new_zeros(0, len(self.normalize.weight))]
        for start in range(0, n_places, at_once):
            size = round_up(min(at_once, n_places - start))
            vectors.append(self._convolve_cached(pieces[start : start + size + 2 * PIECES_SEEN]))
        return torch.cat(vectors), torch.from_numpy(places)

    def _convolve_cached(self, pieces: np.ndarray) -> Tensor:
        """The vectors of pieces (-1 for none), but for those at both ends that are only read."""
        convolutions = cast(Sequence[Convolution], self.convolutions)
        rows, stacks = self.piece_cache.convolve(self.table, convolutions, pieces, ROWS_SEEN)
        parts = [rows[ROWS_SEEN:-ROWS_SEEN]]
        for convolution, below in zip(convolutions, stacks, strict=True):
            width = below.shape[1]
            windows = below[ROWS_SEEN - convolution.before :].as_strided(
                (len(parts[0]), convolution.window * width), (width, 1)
            )
            parts.append(below[ROWS_SEEN:-ROWS_SEEN] + convolution.second(windows, relu=True))
        return self.normalize(torch.cat(parts, dim=1))


class _Texts:
    """The rows of several texts, one text after the other."""

    def __init__(self, counts: Sequence[int], device: torch.device) -> None:
        self.device = device
        self.text_of_row = np.repeat(np.arange(len(counts)), counts)
        self.is_single = len(counts) == 1

    def windows(self, rows: Tensor, window: int, before: int) -> Tensor:
        """Put each row's neighbours side by side, with zeros beyond the ends of a text: float (n,
        window * width). Of the rows of a window, `before` lie before the row itself."""
        around = (before, window - 1 - before)
        n_rows, width = rows.shape
        padded = F.pad(rows, (0, 0, *around))
        windows = torch.cat([padded[i : i + n_rows] for i in range(window)], dim=1)
        if self.is_single or not n_rows:
            return windows
        texts = sliding_window_view(np.pad(self.text_of_row, around), window)
        is_other = torch.from_numpy(texts != self.text_of_row[:, np.newaxis]).to(self.device)
        return windows.view(n_rows, window, width).masked_fill_(is_other.unsqueeze(2), 0).flatten(1)


def _small_embedding(rows: int, width: int) -> nn.Embedding:
    """An embedding whose entries are about as large as those of the pretrained vectors."""
    embedding = nn.Embedding(rows, width)
    nn.init.normal_(embedding.weight, std=0.3)
    return embedding


def load_pretrained(net: PieceNet, arrays: Mapping[str, np.ndarray]) -> None:
    """Copy the arrays of the weight file into a net."""
    n_shards = len(net.table.low)
    for shard in range(n_shards):
        rows = torch.from_numpy(np.ascontiguousarray(arrays[f"q{shard + 1}"]))
        net.table.rows[shard::n_shards] = rows[: len(net.table.rows[shard::n_shards])]
    net.table.low.copy_(torch.from_numpy(arrays["lo"]))
    net.table.step.copy_(torch.from_numpy(arrays["scale"]))
    weights = {"normalize.weight": arrays["ln_g"], "normalize.bias": arrays["ln_b"]}
    for number, window in enumerate(ROWS_BEFORE):
        stack = f"convolutions.{number}"
        weights |= {
            f"{stack}.project.weight": arrays[f"proj{window}"].T,
            f"{stack}.project.bias": arrays[f"proj_b{window}"],
            f"{stack}.normalize.weight": arrays[f"ln_g{window}"],
            f"{stack}.normalize.bias": arrays[f"ln_b{window}"],
            f"{stack}.first.weight": arrays[f"w1_{window}"].T,
            f"{stack}.first.bias": arrays[f"b1_{window}"],
            f"{stack}.second.weight": arrays[f"w2_{window}"].T,
            f"{stack}.second.bias": arrays[f"b2_{window}"],
        }
    state = net.state_dict()
    with torch.no_grad():
        for name, array in weights.items():
            # Half precision is what is saved: rounding now makes a saved net the same net.
            state[name].copy_(torch.from_numpy(np.ascontiguousarray(array)).half())
