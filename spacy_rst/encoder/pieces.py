"""`spacy_rst.PieceEncoder.v1`: a small pretrained multilingual encoder that is fast on a CPU.

The weights are those of the convolutional Multilingual Universal Sentence Encoder. They are read
from a folder on initialization, and saved with the pipeline: a trained pipeline needs nothing else.
Torch's part of the model is in `pieces_net.py`, and imported only when it is needed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import srsly
from spacy.attrs import IDX, NORM, PREFIX, SHAPE, SUFFIX
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, NumpyOps, torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import Errors, RstError
from ..shims import LazyNetShim
from ..windows import batch_by_size
from .chunks import cut_docs
from .word_pieces import PieceRange, TokenPieces, WordPieces

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
# Bytes of the compressed table that are unpacked at once.
COMPRESSED_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class PieceSettings:
    """What the config says about the encoder. See `PieceEncoder` for the meanings."""

    weights: str | None
    width: int
    depth: int
    hash_rows: tuple[int, ...]
    hash_width: int
    dropout: float
    train_convolutions: bool
    cached_tokens: int
    chunk: int


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
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder.
    RAISES (RstError): For sizes that make no encoder.
    """
    if len(hash_rows) != len(HASHED_ATTRIBUTES):
        raise RstError(Errors.R330.format(expected=len(HASHED_ATTRIBUTES), found=len(hash_rows)))
    if chunk < 1:
        raise RstError(Errors.R320.format(chunk=chunk))
    settings = PieceSettings(
        weights=None if weights is None else str(weights),
        width=width,
        depth=depth,
        hash_rows=tuple(hash_rows),
        hash_width=hash_width,
        dropout=dropout,
        train_convolutions=train_convolutions,
        cached_tokens=0 if train_convolutions else cached_tokens,
        chunk=chunk,
    )
    return Model(
        "piece_encoder",
        forward,
        init=init,
        dims={"nO": width},
        shims=[PieceShim(make_net, settings)],
    )


class PieceShim(LazyNetShim):
    """Holds the net and what cuts text into its pieces.

    The table is saved compressed, and the convolutions in half precision unless they were learned.
    """

    pieces: WordPieces
    cache: VectorCache
    # The table never changes, and takes seconds to compress.
    compressed_table: bytes | None = None

    def __init__(self, make_net: Callable[..., PieceNet], settings: PieceSettings) -> None:
        super().__init__(make_net, settings)
        self.cache = VectorCache(settings.cached_tokens)

    def build(self, **sizes: Any) -> None:
        """Make the net, with new weights.

        **sizes (Any): The sizes of the pretrained part.
        """
        super().build(**sizes)
        self.compressed_table = None
        self.cache.clear()

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): The sizes, the weights and the pieces, where there are any."""
        import torch

        if not self.is_built:
            return srsly.msgpack_dumps({})
        state = self.net.state_dict()
        table = state.pop("table.rows")
        if self.compressed_table is None:
            self.compressed_table = zlib.compress(table.cpu().numpy().tobytes(), 9)
        if not self.settings.train_convolutions:
            state = {
                name: value.half() if name.startswith(("convolutions.", "normalize.")) else value
                for name, value in state.items()
            }
        saved = BytesIO()
        torch.save(state, saved)
        return srsly.msgpack_dumps(
            {
                "config": self.cfg,
                "pieces": zlib.compress(self.pieces.model, 9),
                "table": self.compressed_table,
                "state": saved.getvalue(),
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
        self.pieces = WordPieces(zlib.decompress(message["pieces"]))
        state = torch.load(BytesIO(message["state"]), map_location=self.device, weights_only=True)
        rows = torch.empty(self.net.table.rows.shape, dtype=torch.uint8)
        inflate(message["table"], rows.numpy())
        self.net.table.rows = state["table.rows"] = rows.to(self.device)
        self.net.load_state_dict(state)
        return self


def inflate(compressed: bytes, array: np.ndarray) -> None:
    """Unpack bytes into the array where they belong, without a copy of them in between.

    compressed (bytes): What zlib made of the array.
    array (np.ndarray): The array to fill.
    """
    target = array.data.cast("B")
    unpacker = zlib.decompressobj()
    filled = 0
    for start in range(0, len(compressed), COMPRESSED_AT_ONCE):
        part = unpacker.decompress(compressed[start : start + COMPRESSED_AT_ONCE])
        target[filled : filled + len(part)] = part
        filled += len(part)


def make_net(settings: PieceSettings, **sizes: Any) -> PieceNet:
    """Make the torch net.

    settings (PieceSettings): What the config says.
    **sizes (Any): The sizes of the pretrained part.
    RETURNS (PieceNet): The net, without its pretrained weights.
    """
    from .pieces_net import PieceNet

    return PieceNet(
        **sizes,
        hash_rows=settings.hash_rows,
        hash_width=settings.hash_width,
        width=settings.width,
        depth=settings.depth,
        dropout=settings.dropout,
        train_convolutions=settings.train_convolutions,
    )


def init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    """Read the pretrained weights and build the layers that are learned.

    model (Model): The encoder.
    X (Sequence[Doc] | None): Not used.
    Y (Any): Not used.
    RAISES (RstError): If there are no weights.
    """
    from .pieces_net import load_pretrained

    shim = _shim(model)
    if shim.settings.weights is None:
        if not shim.is_built:
            raise RstError(Errors.R331)
        pretrained, compressed_table = shim.net, shim.compressed_table
        shim.build(**shim.cfg)
        shim.net.keep_pretrained(pretrained)
        shim.compressed_table = compressed_table
        return
    folder = Path(shim.settings.weights)
    arrays, shim.pieces = read_pretrained(folder)
    try:
        shim.build(**find_sizes(arrays))
        load_pretrained(shim.net, arrays)
    except (KeyError, RuntimeError) as error:  # arrays are missing, or have other shapes
        raise RstError(Errors.R333.format(folder=folder, error=repr(error))) from error


def read_pretrained(folder: Path) -> tuple[dict[str, np.ndarray], WordPieces]:
    """Read the pretrained weights.

    folder (Path): The folder with the two files.
    RETURNS (tuple[dict[str, np.ndarray], WordPieces]): The arrays, and what cuts text into pieces.
    RAISES (RstError): If the files are missing or cannot be read.
    """
    try:
        with np.load(folder / WEIGHT_FILE, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file}
        pieces = WordPieces((folder / PIECE_FILE).read_bytes())
        n_pieces, n_rows = pieces.processor.GetPieceSize(), find_sizes(arrays)["n_pieces"]
        if n_pieces > n_rows:
            raise ValueError(f"{PIECE_FILE} has {n_pieces} pieces, {WEIGHT_FILE} {n_rows} rows")
        return arrays, pieces
    except FileNotFoundError as error:
        raise RstError(
            Errors.R332.format(folder=folder, files=f"{WEIGHT_FILE} and {PIECE_FILE}")
        ) from error
    except Exception as error:  # zipfile, numpy and sentencepiece each have their own
        raise RstError(Errors.R333.format(folder=folder, error=repr(error))) from error


def find_sizes(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Find the sizes of the pretrained part.

    arrays (Mapping[str, np.ndarray]): The arrays of the weight file.
    RETURNS (dict[str, Any]): What `PieceNet` must know of them.
    """
    n_shards = len(arrays["lo"])
    return {
        "n_pieces": sum(len(arrays[f"q{shard + 1}"]) for shard in range(n_shards)),
        "table_width": arrays["q1"].shape[1],
        "n_shards": n_shards,
        "convolution_width": len(arrays["proj_b2"]),
        "epsilon": float(arrays["eps"]),
    }


def forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """Compute token vectors.

    model (Model): The encoder.
    docs (Sequence[Doc]): The Docs.
    is_train (bool): Whether gradients will be asked for. If so, no Doc is cut.
    RETURNS (tuple): The vectors of each Doc, and a callback that takes their gradients.
    """
    import torch

    docs = list(docs)
    if not is_train:
        return _predict(model, docs), lambda d_vectors: docs
    shim = _shim(model)
    net: PieceNet = shim.net
    net.train()
    lengths = [len(doc) for doc in docs]
    hashes = np.concatenate([hash_tokens(doc, shim.settings.hash_rows) for doc in docs])
    vectors = net.mix_tokens(
        _pool_training_docs(shim, docs), torch.from_numpy(hashes).to(shim.device), lengths
    )

    def backprop(d_vectors: list[Floats2d]) -> list[Doc]:
        vectors.backward(xp2torch(model.ops.xp.concatenate(d_vectors), device=shim.device))
        return docs

    array = cast(Floats2d, torch2xp(vectors.detach(), ops=model.ops))
    return [array[start:end] for start, end in pairwise(accumulate(lengths, initial=0))], backprop


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

    def put(self, doc: Doc, vectors: Tensor) -> None:
        """Keep the vectors of a Doc (float (n_tokens, width)), if there is room."""
        key = self._key(doc)
        if 0 < len(vectors) <= self.room and key not in self._vectors:
            self.room -= len(vectors)
            self._vectors[key] = vectors.half()

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
    hashed = np.empty((len(doc), len(rows), len(HASH_SEEDS)), dtype=np.int64)
    for table, n_rows in enumerate(rows):
        for place, seed in enumerate(HASH_SEEDS):
            keys = HASH_OPS.hash(np.ascontiguousarray(values[:, table]), seed)
            hashed[:, table, place] = keys[:, 0] % n_rows
    return hashed


def make_batch(ranges: Sequence[PieceRange], device: Any) -> PieceBatch:
    """Join the pieces of several texts.

    ranges (Sequence[PieceRange]): The pieces of each text.
    device (Any): The torch device to put them on.
    RETURNS (PieceBatch): The batch.
    """
    import torch

    from .pieces_net import PieceBatch

    def join(arrays: Sequence[np.ndarray], offsets: Sequence[int]) -> Tensor:
        shifted = [array + offset for array, offset in zip(arrays, offsets, strict=True)]
        joined = np.concatenate([np.zeros(0, dtype=np.int64), *shifted])
        return torch.from_numpy(joined.astype(np.int64)).to(device)

    piece_counts = [len(part.pieces) for part in ranges]
    pair_counts = [len(part.pooled) for part in ranges]
    return PieceBatch(
        pieces=join([part.pieces for part in ranges], [0] * len(ranges)),
        piece_counts=piece_counts,
        token_counts=[len(part.pool_starts) for part in ranges],
        pooled=join([part.pooled for part in ranges], _offsets(piece_counts)),
        pool_starts=join([part.pool_starts for part in ranges], _offsets(pair_counts)),
    )


def _predict(model: Model, docs: Sequence[Doc]) -> list[Floats2d]:
    import torch

    from .pieces_net import PIECES_SEEN

    shim = _shim(model)
    net: PieceNet = shim.net
    settings: PieceSettings = shim.settings
    net.eval()
    pieces = [_cut_doc(shim, doc) for doc in docs]
    hashes = [hash_tokens(doc, settings.hash_rows) for doc in docs]
    vectors = [_empty_vectors(model, len(doc)) for doc in docs]
    parts = cut_docs(docs, min(settings.chunk, GROUP_TOKENS), settings.depth)
    with torch.inference_mode():
        for group_parts in batch_by_size(parts, GROUP_TOKENS):
            ranges = [
                pieces[part.number].between(part.start, part.end, PIECES_SEEN)
                for part in group_parts
            ]
            rows = np.concatenate(
                [hashes[part.number][part.start : part.end] for part in group_parts]
            )
            output = net(make_batch(ranges, shim.device), torch.from_numpy(rows).to(shim.device))
            for part, tokens in zip(group_parts, output.split([*map(len, ranges)]), strict=True):
                kept = tokens[part.keep_start - part.start : part.keep_end - part.start]
                array = cast(Floats2d, torch2xp(kept, ops=model.ops))
                vectors[part.number][part.keep_start : part.keep_end] = array
    return vectors


def _empty_vectors(model: Model, n_tokens: int) -> Floats2d:
    width = _shim(model).settings.width
    return model.ops.alloc2f(n_tokens, width, zeros=False)


def _pool_training_docs(shim: PieceShim, docs: Sequence[Doc]) -> Tensor:
    """The pretrained vectors of all tokens, as far as possible from the cache."""
    import torch

    pooled = [shim.cache.get(doc) for doc in docs]
    missing = [number for number, vectors in enumerate(pooled) if vectors is None]
    if missing:
        ranges = [_cut_doc(shim, docs[i]).between(0, len(docs[i]), 0) for i in missing]
        computed = shim.net.pool_pieces(make_batch(ranges, shim.device))
        for number, vectors in zip(missing, computed.split([*map(len, ranges)]), strict=True):
            pooled[number] = vectors
            shim.cache.put(docs[number], vectors)
    return torch.cat([cast("Tensor", vectors).float() for vectors in pooled])


def _cut_doc(shim: PieceShim, doc: Doc) -> TokenPieces:
    return shim.pieces.cut(doc.text, doc.to_array(IDX).astype(np.int64))


def _offsets(counts: Sequence[int]) -> list[int]:
    return list(accumulate(counts, initial=0))[:-1]


def _shim(model: Model) -> PieceShim:
    return cast(PieceShim, model.shims[0])
