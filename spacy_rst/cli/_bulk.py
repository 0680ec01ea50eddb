"""Bulk parsing in parts: a row for each document, files of rows, and what is there already.

A part file is named after its documents and appears as a whole. So a part that is parsed twice is
written once, and what is in the part files is all that another run needs to know to go on.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from spacy.language import Language

from ..errors import Errors, RstError
from ..tree import RstTree
from ._formats import json_line, tree_json
from ._inputs import DocumentKey, Origin, Reading, is_uri, local_path, open_binary
from ._parsing import EduUnits, parse_texts
from ._util import load_arrow

PartFormat = Literal["parquet", "jsonl"]
PART = "part-"
RUN = "_run"  # readers of folders leave it out: of Parquet for its start, our own for its end
LOCK = "_run.lock"
UNFINISHED = ".part-*.tmp"
Row = dict[str, Any]


def make_row(origin: Origin, tree: RstTree | Exception | None) -> Row:
    """Describe what became of a document: its tree, or why there is none."""
    error = None
    if isinstance(tree, Exception):
        tree, error = None, str(tree) or type(tree).__name__
    return {
        "name": origin.name,
        "source": origin.file.source,
        "number": origin.number,
        "fields": origin.fields,
        "tree": tree and tree_json(tree),
        "relations": tree.to_records() if tree else [],
        "error": error,
    }


def parse_rows(
    nlp: Language, readings: Sequence[Reading], edus: EduUnits, batch_size: int
) -> list[Row]:
    """Parse documents into a row for each, in the same order, whatever happens to one of them."""
    try:
        outcomes = parse_texts(nlp, readings, edus, batch_size=batch_size)
        rows = {origin.key: make_row(origin, tree) for origin, tree in outcomes}
    except Exception as error:  # of a component that knows no error handlers
        if len(readings) > 1:
            return [row for one in readings for row in parse_rows(nlp, [one], edus, batch_size)]
        rows = {origin.key: make_row(origin, error) for origin, _ in readings}
    lost = ValueError("A component of the pipeline dropped this document.")
    return [rows.get(origin.key) or make_row(origin, lost) for origin, _ in readings]


def part_name(documents: Sequence[DocumentKey]) -> str:
    """RETURNS (str): The name of the part with these documents, without its ending."""
    listed = json.dumps(documents, ensure_ascii=False)
    return PART + hashlib.sha256(listed.encode()).hexdigest()[:32]


class PartFolder:
    """A place for part files: the path of a folder on a disk, or a URI in an object store."""

    def __init__(self, place: str, part_format: PartFormat) -> None:
        place = local_path(place)
        self.is_remote = is_uri(place)
        self.place = place if self.is_remote else os.path.abspath(place)
        self.part_format = part_format

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep other runs from writing here. In an object store the user must see to that."""
        if self.is_remote:
            yield
            return
        path = Path(self.place)
        path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(path / LOCK, timeout=0):
                for left_over in path.glob(UNFINISHED):
                    left_over.unlink(missing_ok=True)
                yield
        except Timeout as error:
            raise RstError(Errors.R566.format(place=self.place)) from error

    def names(self) -> list[str]:
        """RETURNS (list[str]): The names of all files, sorted."""
        if self.is_remote:
            return [path for _, path in load_arrow().list_files(self.place)]
        return sorted(os.listdir(self.place)) if os.path.isdir(self.place) else []

    def location(self, name: str) -> str:
        """RETURNS (str): The path or URI of a file."""
        address, mark, query = self.place.partition("?") if self.is_remote else (self.place, "", "")
        return f"{address.rstrip('/')}/{name}{mark}{query}"

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole or not at all."""
        if self.is_remote:  # an object store shows a file when it is whole
            load_arrow().write_object(self.location(name), content)
            return
        # The processes of other computers are not known here, so only `open` may clear up.
        temporary = Path(self.place, UNFINISHED.replace("*", secrets.token_hex(8)))
        try:
            temporary.write_bytes(content)
            os.replace(temporary, self.location(name))
        finally:
            temporary.unlink(missing_ok=True)

    def check_run(self, settings: Mapping[str, str]) -> None:
        """Refuse to go on with parts that were made in another way than these settings tell."""
        wanted = json.dumps(dict(settings), ensure_ascii=False, indent=2) + "\n"
        if RUN not in self.names():
            self.write(RUN, wanted.encode())
            return
        with open_binary(self.location(RUN)) as stream:
            found = stream.read().decode(errors="replace")
        if found != wanted:
            found, wanted = (" ".join(text.split()) for text in (found, wanted))
            raise RstError(Errors.R565.format(place=self.place, found=found, wanted=wanted))

    def write_part(self, rows: Sequence[Row]) -> None:
        """Write rows as a part of their own. The same documents make the same file again."""
        name = part_name([(row["source"], row["name"], row["number"]) for row in rows])
        if self.part_format == "parquet":
            content = load_arrow().to_parquet(rows)
        else:
            # Lines as `parse` writes them, with more about the document behind.
            content = "".join(json_line(row.pop("fields"), row) for row in map(dict, rows)).encode()
        self.write(f"{name}.{self.part_format}", content)

    def done(self) -> dict[str, set[tuple[str, int]]]:
        """RETURNS (dict): The names and numbers of the documents in all parts, by their files."""
        done: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        for name in self.names():
            if name.startswith(PART) and name.endswith(f".{self.part_format}"):
                location = self.location(name)
                try:
                    with open_binary(location) as stream:
                        rows = map(json.loads, stream)
                        if self.part_format == "parquet":
                            rows = load_arrow().read_rows(stream, ("source", "name", "number"))
                        for row in rows:
                            done[row["source"]].add((row["name"], row["number"]))
                except (ValueError, KeyError, TypeError) as error:
                    raise RstError(Errors.R524.format(path=location, error=error)) from error
        return done
