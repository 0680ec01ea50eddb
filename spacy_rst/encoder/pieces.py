"""`spacy_rst.PieceEncoder.v1`: a small pretrained multilingual encoder that is fast on a CPU.

The weights are those of the convolutional Multilingual Universal Sentence Encoder. They are read
from a folder on initialization, and saved with the pipeline: a trained pipeline needs nothing else.
Torch's part of the model is in `pieces_net.py`, and imported only when it is needed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import srsly
from spacy.attrs import IDX, NORM, PREFIX, SHAPE, SUFFIX
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, NumpyOps, torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import Errors, RstError
from ..shims import LazyNetShim, save_state
from ..windows import batch_by_size, cut_windows
from .alignment import Ints, pair_tokens_and_pieces, token_piece_ranges
from .vectors import split_vectors, token_offsets
from .word_pieces import TokenPieces, WordPieces

if TYPE_CHECKING:
    from torch import Tensor

    from .pieces_net import PieceBatch, PieceNet

HASHED_ATTRIBUTES = (NORM, PREFIX, SUFFIX, SHAPE)
HASH_OPS = NumpyOps()
# Two rows for each value: that both are shared with the same other value is unlikely.
HASH_SEEDS = (7, 8)
WEIGHT_FILE = "weights.npz"
PIECE_FILE = "sp.model"
# Tokens that run through the net at once when predicting. More would not be faster.
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
    chunk: int = 2000,
    bfloat16: bool = False,
) -> Model[list[Doc], list[Floats2d]]:
    """A pretrained multilingual encoder over word pieces, made of convolutions.

    Each token gets the mean of its pieces' vectors and the embeddings of its hashed norm, prefix,
    suffix and shape; layers that are learned with the pipeline mix these, with the neighbours.

    weights (str | Path | None): A folder with `weights.npz` and `sp.model`, as
        `spacy project run fetch-pieces` gets it. Read on initialization only. None keeps the
        weights of a pipeline that has them already.
    width (int): Width of the token vectors.
    depth (int): Layers that mix each token with a neighbour at each side.
    hash_rows (list[int]): Rows of the embedding tables of norms, prefixes, suffixes and shapes.
    hash_width (int): Width of these embeddings.
    dropout (float): Dropout rate of the layers that are learned.
    train_convolutions (bool): Learn the pretrained convolutions further. The table of pieces is
        never changed.
    cached_tokens (int): In training, keep the pretrained vectors of so many tokens in memory (2.5
        kB each), as long as the convolutions are not learned. 0 for none.
    chunk (int): Longer documents are read in chunks of so many tokens, each with all that its
        vectors depend on around it: the result is the same. In training documents are not cut.
    bfloat16 (bool): When predicting, round the factors of large products to bfloat16, if the CPU
        has instructions for it. Elsewhere, and in training, it has no effect.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder.
    RAISES (RstError): For sizes that make no encoder.
    """
    if len(hash_rows) != len(HASHED_ATTRIBUTES):
        raise RstError(Errors.R330.format(expected=len(HASHED_ATTRIBUTES), found=len(hash_rows)))
    if chunk < 1:
        raise RstError(Errors.R320.format(chunk=chunk, margin=depth))
    # What is bound here is not saved with the weights: the config of the loaded pipeline decides.
    net = partial(
        _make_net,
        hash_rows=tuple(hash_rows),
        hash_width=hash_width,
        width=width,
        depth=depth,
        dropout=dropout,
        train_convolutions=train_convolutions,
        bfloat16=bfloat16,
    )
    return Model(
        "piece_encoder",
        partial(_forward, chunk=min(chunk, GROUP_TOKENS)),
        init=partial(_init, weights=weights),
        dims={"nO": width},
        shims=[PieceShim(net, VectorCache(0 if train_convolutions else cached_tokens))],
    )


class PieceShim(LazyNetShim):
    """Holds the net and what cuts text into its pieces.

    The table is saved compressed, and the convolutions in half precision unless they were learned.
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

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): The sizes, the weights and the pieces, where there are any."""
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
        import torch

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


def _make_net(*, bfloat16: bool, **settings: Any) -> PieceNet:
    from ..fast_layers import set_bfloat16
    from .pieces_net import PieceNet

    net = PieceNet(**settings)
    set_bfloat16(net, bfloat16)
    return net


def _init(
    model: Model,
    X: Sequence[Doc] | None = None,
    Y: Any = None,
    *,
    weights: str | Path | None,
) -> None:
    """Read the pretrained weights, or keep those there are, and build what is learned."""
    from .pieces_net import load_pretrained

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
        raise RstError(Errors.R333.format(folder=folder, error=repr(error))) from error


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
    except FileNotFoundError as error:
        raise RstError(
            Errors.R332.format(folder=folder, files=f"{WEIGHT_FILE} and {PIECE_FILE}")
        ) from error
    except Exception as error:  # zipfile, numpy and sentencepiece each have their own
        raise RstError(Errors.R333.format(folder=folder, error=repr(error))) from error


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
    model: Model, docs: Sequence[Doc], is_train: bool, *, chunk: int
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    import torch

    docs = list(docs)
    if not is_train:
        return _predict(model, docs, chunk), lambda d_vectors: docs
    shim = _shim(model)
    net: PieceNet = shim.net
    net.train()
    hashes = np.concatenate([hash_tokens(doc, net.hash_rows) for doc in docs])
    vectors = net.mix_tokens(
        _pool_training_docs(shim, docs),
        torch.from_numpy(hashes).to(shim.device),
        [len(doc) for doc in docs],
    )

    def backprop(d_vectors: list[Floats2d]) -> list[Doc]:
        vectors.backward(xp2torch(model.ops.xp.concatenate(d_vectors), device=shim.device))
        return docs

    array = cast(Floats2d, torch2xp(vectors.detach(), ops=model.ops))
    return split_vectors(array, docs), backprop


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
    n_tokens (int | None): How many tokens the batch shall have. A further text of tokens without
        pieces makes up for those that the texts do not have.
    RETURNS (PieceBatch): The batch.
    """
    import torch

    from .pieces_net import PieceBatch

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


def _predict(model: Model, docs: Sequence[Doc], chunk: int) -> list[Floats2d]:
    import torch

    from ..fast_layers import round_up

    shim = _shim(model)
    net: PieceNet = shim.net
    net.eval()
    vectors = [model.ops.alloc2f(len(doc), net.width, zeros=False) for doc in docs]
    parts = _cut_docs(shim, docs, vectors, chunk)
    with torch.inference_mode():
        for group in batch_by_size(parts, GROUP_TOKENS, lambda part: len(part.hashes)):
            hashes = np.concatenate([part.hashes for part in group])
            n_tokens = round_up(len(hashes))
            hashes = np.pad(hashes, ((0, n_tokens - len(hashes)), (0, 0), (0, 0)))
            batch = make_batch([part.pieces for part in group], shim.device, n_tokens)
            tokens = net(batch, torch.from_numpy(hashes).to(shim.device)).split(batch.token_counts)
            for part, rows in zip(group, tokens, strict=False):
                part.target[:] = cast(Floats2d, torch2xp(rows[part.kept], ops=model.ops))
    return vectors


class _Part(NamedTuple):
    """Some tokens of a Doc with all that their vectors depend on, and where these shall go."""

    pieces: TokenPieces
    hashes: Ints
    kept: slice
    target: Floats2d


def _cut_docs(
    shim: PieceShim, docs: Sequence[Doc], vectors: Sequence[Floats2d], chunk: int
) -> Iterator[_Part]:
    from .pieces_net import PIECES_SEEN

    net: PieceNet = shim.net
    for doc, target in zip(docs, vectors, strict=True):
        pieces, hashes = _cut_doc(shim, doc), hash_tokens(doc, net.hash_rows)
        for start, end, keep_start, keep_end in cut_windows(
            [len(doc)], chunk + 2 * net.depth, net.depth
        ):
            yield _Part(
                pieces.crop(start, end, PIECES_SEEN),
                hashes[start:end],
                slice(keep_start - start, keep_end - start),
                target[keep_start:keep_end],
            )


def _pool_training_docs(shim: PieceShim, docs: Sequence[Doc]) -> Tensor:
    """The pretrained vectors of all tokens, as far as possible from the cache."""
    import torch

    pooled = [shim.cache.get(doc) for doc in docs]
    missing = [number for number, vectors in enumerate(pooled) if vectors is None]
    if missing:
        batch = make_batch([_cut_doc(shim, docs[number]) for number in missing], shim.device)
        computed = shim.net.pool_pieces(batch).split(batch.token_counts)
        for number, vectors in zip(missing, computed, strict=True):
            pooled[number] = shim.cache.put(docs[number], vectors)
    return torch.cat([cast("Tensor", vectors).float() for vectors in pooled])


def _cut_doc(shim: PieceShim, doc: Doc) -> TokenPieces:
    ids, piece_offsets = shim.pieces.encode(doc.text)
    return TokenPieces(ids, token_piece_ranges(token_offsets(doc), piece_offsets))


def _shim(model: Model) -> PieceShim:
    return cast(PieceShim, model.shims[0])
