"""`spacy_rst.PieceEncoder.v1`: a small pretrained multilingual encoder that is fast on a CPU.

The weights are those of the convolutional Multilingual Universal Sentence Encoder. They are read
from a folder on initialization and saved with the pipeline, which needs nothing else once it is
trained. The torch part of the model is in `pieces_net.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import srsly
import torch
from spacy.attrs import NORM, PREFIX, SHAPE, SUFFIX
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, NumpyOps, torch2xp, xp2torch
from thinc.types import Floats2d
from torch import Tensor

from ..errors import Errors, RstError
from ..shims import LazyNetShim, save_state
from ..windows import batch_by_size, cut_windows
from .alignment import Ints, pair_tokens_and_pieces, token_piece_ranges
from .pieces_net import PIECES_SEEN, PieceBatch, PieceNet, load_pretrained
from .vectors import inner_tokens, token_offsets
from .word_pieces import TokenPieces, WordPieces

HASHED_ATTRIBUTES = (NORM, PREFIX, SUFFIX, SHAPE)
HASH_OPS = NumpyOps()
# Two rows for each value: that both are shared with the same other value is unlikely.
HASH_SEEDS = (7, 8)
WEIGHT_FILE = "weights.npz"
PIECE_FILE = "sp.model"
# Tokens that run through the net at once when predicting. More would not be faster. Longer Docs are
# cut into windows of so many, which does not change their vectors.
GROUP_TOKENS = 1_000
BYTES_AT_ONCE = 1 << 16


@registry.architectures("spacy_rst.PieceEncoder.v1")
def PieceEncoder(
    weights: str | Path | None = None,
    width: int = 256,
    depth: int = 1,
    hash_rows: list[int] | tuple[int, ...] = (10000, 2500, 5000, 2500),
    hash_width: int = 48,
    dropout: float = 0.2,
    train_convolutions: bool = False,
) -> Model[list[Doc], list[Floats2d]]:
    """A pretrained multilingual encoder over word pieces, made of convolutions.

    Each token gets the mean of its pieces' vectors and the embeddings of its hashed norm, prefix,
    suffix and shape; trained layers mix these, also with the neighbouring tokens. White space at
    the ends of a Doc has vectors of zeros and changes no others.

    weights (str | Path | None): A folder with `weights.npz` and `sp.model`, as
        `spacy project run fetch-pieces` gets it. Read on initialization only. None keeps the
        weights of a pipeline that has them already.
    width (int): Width of the token vectors.
    depth (int): Layers that mix each token with a neighbour at each side.
    hash_rows (list[int]): Rows of the embedding tables of norms, prefixes, suffixes and shapes.
    hash_width (int): Width of these embeddings.
    dropout (float): Dropout rate of the trained layers.
    train_convolutions (bool): Train the pretrained convolutions, too. The table of pieces never
        changes.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder.
    RAISES (RstError): R300, if hash_rows does not have four numbers.
    """
    if len(hash_rows) != len(HASHED_ATTRIBUTES):
        wanted = f"{len(HASHED_ATTRIBUTES)} numbers of rows: norm, prefix, suffix, shape"
        raise RstError(Errors.R300.format(name="hash_rows", value=hash_rows, wanted=wanted))
    # What is bound here is not saved with the weights: the config of the loaded pipeline decides.
    make_net = partial(
        PieceNet,
        hash_rows=tuple(hash_rows),
        hash_width=hash_width,
        width=width,
        depth=depth,
        dropout=dropout,
        train_convolutions=train_convolutions,
    )
    return Model(
        "piece_encoder",
        _forward,
        init=partial(_init, weights=weights),
        dims={"nO": width},
        shims=[PieceShim(make_net)],
    )


class PieceShim(LazyNetShim):
    """Holds the net and the SentencePiece model that cuts text into its pieces. The table is saved
    compressed, and the convolutions in half precision unless they were trained."""

    pieces: WordPieces
    # The table never changes, and takes seconds to compress.
    compressed_table: bytes | None = None

    def build(self, **sizes: Any) -> None:
        """Make the net, with new weights."""
        super().build(**sizes)
        self.compressed_table = None

    def to_bytes(self) -> bytes:
        """The sizes, the weights and the pieces, if there are any."""
        if not self.is_built:
            return srsly.msgpack_dumps({})
        state = self.net.state_dict()
        table = state.pop("table.rows")
        if self.compressed_table is None:
            self.compressed_table = zlib.compress(table.cpu().numpy().tobytes(), 9)
        if not self.net.train_convolutions:
            state = {
                name: value.half() if name.startswith(("convolutions.", "normalize.")) else value
                for name, value in state.items()
            }
        return srsly.msgpack_dumps(
            {
                "config": self.cfg,
                "pieces": zlib.compress(self.pieces.model, 9),
                "table": self.compressed_table,
                "state": save_state(state, halves=self.saves_halves),
            }
        )

    def from_bytes(self, bytes_data: bytes) -> PieceShim:
        """Make a net of the saved sizes and load its weights."""
        message = srsly.msgpack_loads(bytes_data)
        if not message:
            return self
        self.build(**message["config"])
        table: Tensor = self.net.table.rows
        rows = table.cpu()  # the table itself, unless it is on a GPU
        _decompress(message.pop("table"), rows.numpy().reshape(-1))
        table.copy_(rows)
        self.pieces = WordPieces(zlib.decompress(message.pop("pieces")))
        saved = BytesIO(message.pop("state"))
        state = torch.load(saved, map_location=self.device, weights_only=True)
        self.net.load_state_dict({**state, "table.rows": table})
        return self


def _decompress(compressed: bytes, target: np.ndarray) -> None:
    """Fill an array of bytes, without a copy of its size on the way."""
    decompressor, place = zlib.decompressobj(), 0
    for start in range(0, len(compressed), BYTES_AT_ONCE):
        part = decompressor.decompress(compressed[start : start + BYTES_AT_ONCE])
        end = place + len(part)
        # Raises a ValueError where this is more than there is room for.
        target[place:end] = np.frombuffer(part, dtype=np.uint8)
        place = end
    if place != len(target):
        raise ValueError(f"The table of pieces has {place} bytes in place of {len(target)}.")


def _init(
    model: Model,
    X: Sequence[Doc] | None = None,
    Y: Any = None,
    *,
    weights: str | Path | None,
) -> None:
    """Read the pretrained weights, or keep those there are, and build what is learned."""
    shim = cast(PieceShim, model.shims[0])
    if weights is None:
        if not shim.is_built:
            raise RstError(Errors.R331)
        pretrained, compressed_table = shim.net, shim.compressed_table
        shim.build(**shim.cfg)
        shim.net.keep_pretrained(pretrained)
        shim.compressed_table = compressed_table
        return
    folder = Path(weights)
    arrays, shim.pieces = _read_pretrained(folder)
    try:
        shim.build(**_find_sizes(arrays))
        load_pretrained(shim.net, arrays)
    except (KeyError, RuntimeError) as error:  # arrays are missing, or have other shapes
        raise RstError(Errors.R332.format(folder=folder, error=repr(error))) from error


def _read_pretrained(folder: Path) -> tuple[dict[str, np.ndarray], WordPieces]:
    """The arrays of a folder, and what cuts text into pieces."""
    try:
        with np.load(folder / WEIGHT_FILE, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file}
        pieces = WordPieces((folder / PIECE_FILE).read_bytes())
        n_pieces, n_rows = pieces.processor.GetPieceSize(), _find_sizes(arrays)["n_pieces"]
        if n_pieces > n_rows:
            raise ValueError(f"{PIECE_FILE} has {n_pieces} pieces, {WEIGHT_FILE} {n_rows} rows")
        return arrays, pieces
    except Exception as error:  # zipfile, numpy and sentencepiece each have their own
        raise RstError(Errors.R332.format(folder=folder, error=repr(error))) from error


def _find_sizes(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What `PieceNet` must know of the pretrained arrays."""
    n_shards = len(arrays["lo"])
    return {
        "n_pieces": sum(len(arrays[f"q{shard + 1}"]) for shard in range(n_shards)),
        "table_width": arrays["q1"].shape[1],
        "n_shards": n_shards,
        "convolution_width": len(arrays["proj_b2"]),
        "epsilon": float(arrays["eps"]),
    }


class Window(NamedTuple):
    """Tokens of a Doc with all that their vectors depend on, and where the vectors go: those of the
    `kept` tokens of the window are those of `tokens` in the Doc with number `doc`."""

    pieces: TokenPieces
    hashes: Ints
    kept: slice
    doc: int
    tokens: slice


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    docs = list(docs)
    shim = cast(PieceShim, model.shims[0])
    net: PieceNet = shim.net
    net.train(is_train)
    vectors = [model.ops.alloc2f(len(doc), net.width) for doc in docs]

    def encode(windows: Sequence[Window]) -> Tensor:
        batch = make_batch([window.pieces for window in windows], shim.device)
        hashes = np.concatenate([window.hashes for window in windows])
        encoded = net(batch, torch.from_numpy(hashes).to(shim.device))
        for window, rows in zip(windows, encoded.detach().split(batch.token_counts), strict=True):
            target = vectors[window.doc][window.tokens]
            target[:] = cast(Floats2d, torch2xp(rows[window.kept], ops=model.ops))
        return encoded

    if not is_train:
        windows = cut_docs(shim, docs, GROUP_TOKENS)
        with torch.inference_mode():
            for group in batch_by_size(windows, GROUP_TOKENS, lambda window: len(window.hashes)):
                encode(group)
        return vectors, lambda d_vectors: docs

    whole = list(cut_docs(shim, docs, max(map(len, docs), default=0)))
    encoded = encode(whole) if whole else None

    def backprop(d_vectors: list[Floats2d]) -> list[Doc]:
        if encoded is not None:
            d_rows = [d_vectors[window.doc][window.tokens] for window in whole]
            encoded.backward(xp2torch(model.ops.xp.concatenate(d_rows), device=shim.device))
        return docs

    return vectors, backprop


def cut_docs(shim: PieceShim, docs: Sequence[Doc], n_tokens: int) -> Iterator[Window]:
    """Cut Docs into windows of at most `n_tokens` besides their context, without the white space at
    the ends of a Doc. Docs without words have no windows."""
    depth = shim.net.depth
    for number, doc in enumerate(docs):
        offsets = token_offsets(doc)
        ids, piece_offsets = shim.pieces.encode(doc.text)
        inner = inner_tokens(offsets)
        pieces = TokenPieces(ids, token_piece_ranges(offsets, piece_offsets)[inner])
        hashes = hash_tokens(doc, shim.net.hash_rows)[inner]
        for cut in cut_windows([len(hashes)], n_tokens + 2 * depth, depth):
            yield Window(
                pieces.crop(cut.start, cut.end, PIECES_SEEN),
                hashes[cut.start : cut.end],
                slice(cut.keep_start - cut.start, cut.keep_end - cut.start),
                number,
                slice(inner.start + cut.keep_start, inner.start + cut.keep_end),
            )


def hash_tokens(doc: Doc, rows: Sequence[int]) -> np.ndarray:
    """Rows of the hashed embeddings for each token, from the number of rows of each table: int64
    (n_tokens, n_tables, n_hashes)."""
    values = doc.to_array(list(HASHED_ATTRIBUTES)).astype(np.uint64)
    keys = [HASH_OPS.hash(values.ravel(), seed)[:, 0] for seed in HASH_SEEDS]
    hashed = np.stack(keys, axis=1).reshape(len(doc), len(rows), len(HASH_SEEDS))
    return (hashed % np.array(rows, dtype=np.uint32)[:, np.newaxis]).astype(np.int64)


def make_batch(parts: Sequence[TokenPieces], device: Any) -> PieceBatch:
    """Join the pieces of several texts."""
    piece_counts = [len(part.ids) for part in parts]
    token_counts = [len(part.ranges) for part in parts]
    ranges = np.concatenate([part.ranges for part in parts])
    ranges += np.repeat(np.cumsum(piece_counts) - piece_counts, token_counts)[:, np.newaxis]
    _, pooled = pair_tokens_and_pieces(ranges)
    sizes = ranges[:, 1] - ranges[:, 0]
    pool_starts = np.cumsum(sizes) - sizes
    return PieceBatch(
        pieces=torch.from_numpy(np.concatenate([part.ids for part in parts])).to(device),
        piece_counts=piece_counts,
        token_counts=token_counts,
        pooled=torch.from_numpy(pooled).to(device),
        pool_starts=torch.from_numpy(pool_starts).to(device),
    )
