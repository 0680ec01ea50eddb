"""Token vectors of long documents in a file: those of a book are larger than all else."""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from srsly import msgpack_encoders

DTYPE = np.dtype(np.float32)


class DiskVectors:
    """Token vectors in a temporary file, which is gone with the last reference to it.

    Slices are read and written like those of an array. For all else the whole is read, so that it
    can be in `doc.tensor` like an array; a Doc saves it as one.

    length (int): The number of tokens.
    width (int): The width of the vectors.
    """

    def __init__(self, length: int, width: int) -> None:
        self.shape = (length, width)
        self.size = length * width
        # Without a buffer nothing of it stays in memory.
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115  (the last reference closes it)
        self._file.truncate(self.size * DTYPE.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __setitem__(self, rows: slice, vectors: Any) -> None:
        start, end = self._go_to(rows)
        content = np.ascontiguousarray(vectors, dtype=DTYPE)
        assert content.shape == (end - start, self.shape[1])
        _move_all(content, self._file.write)

    def __getitem__(self, rows: Any) -> np.ndarray:
        if not isinstance(rows, slice):
            return np.asarray(self)[rows]
        start, end = self._go_to(rows)
        vectors = np.empty((end - start, self.shape[1]), dtype=DTYPE)
        _move_all(vectors, self._file.readinto)  # type: ignore[attr-defined]
        return vectors

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:].astype(dtype or DTYPE, copy=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not yet made, or asked for by a protocol it does not have
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __reduce__(self) -> tuple[Callable[..., np.ndarray], tuple[np.ndarray]]:
        return np.asarray, (self[:],)

    def _go_to(self, rows: slice) -> tuple[int, int]:
        start, end, _ = rows.indices(len(self))
        self._file.seek(start * self.shape[1] * DTYPE.itemsize)
        return start, max(start, end)


def _move_all(array: np.ndarray, move: Callable[[memoryview], int]) -> None:
    """Read or write all of an array. The system may do less at a time than it is asked for."""
    rest = array.reshape(-1).data.cast("B") if array.size else memoryview(b"")
    while rest:
        moved = move(rest)
        if not moved:
            raise OSError("the temporary file of token vectors is incomplete")
        rest = rest[moved:]


@msgpack_encoders("spacy_rst.DiskVectors")
def encode_as_array(value: Any, chain: Callable[[Any], Any] | None = None) -> Any:
    """Let srsly save vectors on disk as it saves an array.

    value (Any): What is to be saved.
    chain (Callable | None): The encoders of other types.
    RETURNS (Any): What they make of it.
    """
    plain = np.asarray(value) if isinstance(value, DiskVectors) else value
    return plain if chain is None else chain(plain)
