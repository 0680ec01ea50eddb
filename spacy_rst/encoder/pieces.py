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
from spacy.attrs import IDX, NORM, PREFIX, SHAPE, SUFFIX
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, NumpyOps, torch2xp, xp2torch
from thinc.types import Floats2d
from torch import Tensor

from ..errors import Errors, RstError
from ..fast_layers import round_up
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
NO_PIECES = np.zeros(0, dtype=np.int64)


@registry.architectures("spacy_rst.PieceEncoder.v1")
def PieceEncoder(
    weights: str | Path | None = None,
    width: int = 256,
    depth: int = 1,
    hash_rows: list[int] | tuple[int, ...] = (10000, 2500, 5000, 2500),
    hash_width: int = 48,
    dropout: float = 0.2,
    train_convolutions: bool = False,
    cached_tokens: int = 0,
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
    cached_tokens (int): In training, keep the pretrained vectors of so many tokens in memory (2.5
        kB each), unless the convolutions are trained. 0 for none.
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
        shims=[PieceShim(make_net, VectorCache(0 if train_convolutions else cached_tokens))],
    )


class PieceShim(LazyNetShim):
    """Holds the net and the SentencePiece model that cuts text into its pieces.

    The table is saved compressed, and the convolutions in half precision unless they were trained.
    """

    pieces: WordPieces
    # The table never changes, and takes seconds to compress.
    compressed_table: bytes | None = None

    def __init__(self, make_net: Callable[..., PieceNet], cache: VectorCache) -> None:
        super().__init__(make_net)
        self.cache = cache

    def build(self, **sizes: Any) -> None:
        """Make the net, with new weights.

        **sizes (Any): The sizes of the pretrained part.
        """
        super().build(**sizes)
        self.compressed_table = None
        self.cache.clear()

    def read(self, doc: Doc) -> TokenInputs:
        """Find what the net needs to know of a Doc.

        doc (Doc): The Doc.
        RETURNS (TokenInputs): The inputs for its tokens, without white space at its ends.
        """
        offsets = token_offsets(doc)
        ids, piece_offsets = self.pieces.encode(doc.text)
        inner = inner_tokens(offsets)
        ranges = token_piece_ranges(offsets, piece_offsets)[inner]
        return TokenInputs(
            TokenPieces(ids, ranges), hash_tokens(doc, self.net.hash_rows)[inner], inner
        )

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): The sizes, the weights and the pieces, if there are any."""
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
        """Make a net of the saved sizes and load its weights.

        bytes_data (bytes): The output of `to_bytes`.
        RETURNS (PieceShim): The shim itself.
        """
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


class TokenInputs(NamedTuple):
    """The inputs for neighbouring tokens of a Doc.

    pieces (TokenPieces): Their pieces.
    hashes (Ints): The rows of their hashed embeddings, shape (tokens, tables, hashes).
    tokens (slice): The tokens.
    """

    pieces: TokenPieces
    hashes: Ints
    tokens: slice


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
    shim = _shim(model)
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


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    docs = list(docs)
    if not is_train:
        return _predict(model, docs), lambda d_vectors: docs
    shim = _shim(model)
    net: PieceNet = shim.net
    net.train()
    inputs = [shim.read(doc) for doc in docs]
    hashes = np.concatenate([part.hashes for part in inputs])
    token_counts = [len(part.hashes) for part in inputs]
    rows = net.mix_tokens(
        _pool_training_docs(shim, docs, inputs),
        torch.from_numpy(hashes).to(shim.device),
        token_counts,
    )

    def backprop(d_vectors: list[Floats2d]) -> list[Doc]:
        d_rows = [d_own[part.tokens] for d_own, part in zip(d_vectors, inputs, strict=True)]
        rows.backward(xp2torch(model.ops.xp.concatenate(d_rows), device=shim.device))
        return docs

    vectors = [model.ops.alloc2f(len(doc), net.width) for doc in docs]
    for target, part, own in zip(vectors, inputs, rows.detach().split(token_counts), strict=True):
        target[part.tokens] = cast(Floats2d, torch2xp(own, ops=model.ops))
    return vectors, backprop


def _predict(model: Model, docs: Sequence[Doc]) -> list[Floats2d]:
    shim = _shim(model)
    net: PieceNet = shim.net
    net.eval()
    vectors = [model.ops.alloc2f(len(doc), net.width) for doc in docs]
    windows = _cut_docs(shim, docs, vectors)
    with torch.inference_mode():
        for group in batch_by_size(windows, GROUP_TOKENS, lambda window: len(window.hashes)):
            hashes = np.concatenate([window.hashes for window in group])
            n_tokens = round_up(len(hashes))
            hashes = np.pad(hashes, ((0, n_tokens - len(hashes)), (0, 0), (0, 0)))
            batch = make_batch([window.pieces for window in group], shim.device, n_tokens)
            tokens = net(batch, torch.from_numpy(hashes).to(shim.device)).split(batch.token_counts)
            for window, rows in zip(group, tokens, strict=False):
                window.target[:] = cast(Floats2d, torch2xp(rows[window.kept], ops=model.ops))
    return vectors


class _Window(NamedTuple):
    """Tokens of a Doc with all that their vectors depend on, and where the vectors shall go."""

    pieces: TokenPieces
    hashes: Ints
    kept: slice
    target: Floats2d


def _cut_docs(
    shim: PieceShim, docs: Sequence[Doc], vectors: Sequence[Floats2d]
) -> Iterator[_Window]:
    depth = shim.net.depth
    for doc, rows in zip(docs, vectors, strict=True):
        pieces, hashes, inner = shim.read(doc)
        target = rows[inner]
        for cut in cut_windows([len(hashes)], GROUP_TOKENS + 2 * depth, depth):
            yield _Window(
                pieces.crop(cut.start, cut.end, PIECES_SEEN),
                hashes[cut.start : cut.end],
                slice(cut.keep_start - cut.start, cut.keep_end - cut.start),
                target[cut.keep_start : cut.keep_end],
            )


def _pool_training_docs(
    shim: PieceShim, docs: Sequence[Doc], inputs: Sequence[TokenInputs]
) -> Tensor:
    """The pretrained vectors of all tokens, from the cache where it has them."""
    pooled = [shim.cache.get(doc) for doc in docs]
    missing = [number for number, vectors in enumerate(pooled) if vectors is None]
    if missing:
        batch = make_batch([inputs[number].pieces for number in missing], shim.device)
        computed = shim.net.pool_pieces(batch).split(batch.token_counts)
        for number, vectors in zip(missing, computed, strict=True):
            pooled[number] = shim.cache.put(docs[number], vectors)
    return torch.cat([cast(Tensor, vectors).float() for vectors in pooled])


class VectorCache:
    """Keeps the pretrained vectors of texts, as long as there is room.

    max_tokens (int): The most tokens to keep. What comes later is not kept: in training each
        document comes again before another one could be given up for it.
    """

    def __init__(self, max_tokens: int) -> None:
        self.room = self.max_tokens = max_tokens
        self._vectors: dict[tuple[str, bytes], Tensor] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Copies and other processes begin with an empty one.
        return vars(VectorCache(self.max_tokens))

    def get(self, doc: Doc) -> Tensor | None:
        """RETURNS (Tensor | None): The vectors of a Doc's tokens, if they are kept."""
        return self._vectors.get(self._key(doc))

    def put(self, doc: Doc, vectors: Tensor) -> Tensor:
        """Keep the vectors of a Doc in half precision, if there is room.

        doc (Doc): The Doc.
        vectors (Tensor): Float (n_tokens, width).
        RETURNS (Tensor): What to use: rounded if they are kept, as they will come back.
        """
        key = self._key(doc)
        if key not in self._vectors:
            if len(vectors) > self.room:
                return vectors
            self.room -= len(vectors)
            self._vectors[key] = vectors.half()
        return self._vectors[key]

    def clear(self) -> None:
        """Forget all vectors."""
        self.room = self.max_tokens
        self._vectors = {}

    @staticmethod
    def _key(doc: Doc) -> tuple[str, bytes]:
        """All that the vectors depend on: the text, and where its tokens begin."""
        return doc.text, doc.to_array(IDX).tobytes()


def hash_tokens(doc: Doc, rows: Sequence[int]) -> np.ndarray:
    """Find the rows of the hashed embeddings for each token.

    doc (Doc): The Doc.
    rows (Sequence[int]): The number of rows of each table.
    RETURNS (np.ndarray): Int64 (n_tokens, n_tables, n_hashes).
    """
    values = doc.to_array(list(HASHED_ATTRIBUTES)).astype(np.uint64)
    keys = [HASH_OPS.hash(values.ravel(), seed)[:, 0] for seed in HASH_SEEDS]
    hashed = np.stack(keys, axis=1).reshape(len(doc), len(rows), len(HASH_SEEDS))
    return (hashed % np.array(rows, dtype=np.uint32)[:, np.newaxis]).astype(np.int64)


def make_batch(
    parts: Sequence[TokenPieces], device: Any, n_tokens: int | None = None
) -> PieceBatch:
    """Join the pieces of several texts.

    parts (Sequence[TokenPieces]): The pieces of each text.
    device (Any): The torch device to put them on.
    n_tokens (int | None): How many tokens the batch must have: a text of tokens without pieces
        fills it up.
    RETURNS (PieceBatch): The batch.
    """
    if n_tokens is not None:
        n_empty = n_tokens - sum(len(part.ranges) for part in parts)
        parts = [*parts, TokenPieces(NO_PIECES, np.zeros((n_empty, 2), dtype=np.int64))]
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


def _shim(model: Model) -> PieceShim:
    return cast(PieceShim, model.shims[0])
