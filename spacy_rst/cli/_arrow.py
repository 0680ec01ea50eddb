"""Parquet, and files in object stores: all that needs pyarrow."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ..errors import Errors, RstError

ROWS_AT_ONCE = 256
TEXT, NUMBER, FRACTION = pa.string(), pa.int32(), pa.float64()
SPLIT_KEYS = ("start", "split", "end", "label")
TREE = pa.struct(
    {
        "version": NUMBER,
        "edus": pa.list_(TEXT),
        "edu_chars": pa.list_(pa.list_(NUMBER)),
        "splits": pa.list_(pa.struct(zip(SPLIT_KEYS, (NUMBER, NUMBER, NUMBER, TEXT), strict=True))),
        "scores": pa.list_(pa.list_(FRACTION)),
    }
)
RELATION = pa.struct(
    {
        **dict.fromkeys(("relation", "nuclearity", "nucleus", "satellite"), TEXT),
        **dict.fromkeys(("nucleus_start", "nucleus_end"), NUMBER),
        **dict.fromkeys(("satellite_start", "satellite_end", "depth"), NUMBER),
        "score": FRACTION,
    }
)
ROW = pa.schema(
    {
        "name": TEXT,
        "source": TEXT,
        "number": pa.int64(),
        "fields": TEXT,
        "tree": TREE,
        "relations": pa.list_(RELATION),
        "error": TEXT,
    }
)


def read_rows(stream: IO[bytes], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Read columns of a Parquet file, those that it has. A value that is not valid is None."""
    try:
        file = pq.ParquetFile(stream)
        known = [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=known):
            for number in range(len(batch)):
                yield {name: _value(batch.column(name)[number]) for name in known}
    except pa.ArrowException as error:
        raise RstError(Errors.R514.format(error=error)) from error


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:  # Arrow does not look at what it holds
        return None


def to_parquet(rows: Iterable[dict[str, Any]]) -> bytes:
    """Write rows of `_bulk.make_row` as a Parquet file."""
    content = io.BytesIO()
    table = pa.Table.from_pylist([_as_arrow(row) for row in rows], schema=ROW)
    pq.write_table(table, content, compression="zstd")
    return content.getvalue()


def _as_arrow(row: dict[str, Any]) -> dict[str, Any]:
    """Give all values of a list the same type, as columns need it."""
    tree, fields = row["tree"], row["fields"]
    if tree is not None:
        splits = [dict(zip(SPLIT_KEYS, split, strict=True)) for split in tree["splits"]]
        tree = {**tree, "splits": splits}
    if fields is not None:
        fields = json.dumps(fields, ensure_ascii=False)
    return {**row, "tree": tree, "fields": fields}


def _locate(uri: str) -> tuple[fs.FileSystem, str]:
    try:
        return cast(tuple[fs.FileSystem, str], fs.FileSystem.from_uri(uri))
    except (pa.ArrowException, OSError) as error:
        raise RstError(Errors.R134.format(path=uri, error=error)) from error


def open_input(uri: str) -> IO[bytes]:
    """RETURNS (IO[bytes]): A file for reading."""
    file_system, path = _locate(uri)
    return cast(IO[bytes], io.BufferedReader(file_system.open_input_file(path)))


def list_files(uri: str) -> list[tuple[str, str]]:
    """List a file, or all files in and below a folder: the URI of each, and its path from the
    folder on; that of a file alone is its name. Nothing where there is nothing."""
    file_system, base = _locate(uri)
    if file_system.get_file_info(base).type is fs.FileType.File:
        return [(uri, PurePosixPath(base).name)]
    selector = fs.FileSelector(base, allow_not_found=True, recursive=True)
    infos = file_system.get_file_info(selector)
    below = sorted(
        PurePosixPath(info.path).relative_to(base).as_posix() for info in infos if info.is_file
    )
    address, mark, query = uri.partition("?")
    return [(f"{address.rstrip('/')}/{path}{mark}{query}", path) for path in below]


def write_object(uri: str, content: bytes) -> None:
    """Write a file to an object store."""
    file_system, path = _locate(uri)
    with file_system.open_output_stream(path) as stream:
        stream.write(content)
