"""Parsing in parts: a row for each document, files of rows, and what of them is there already.

A part file is named after its documents and appears as a whole. So a part that is parsed twice is
written once, and what is in the part files is all that another run needs to know to go on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filelock import FileLock, Timeout
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..doc import get_tree
from ..errors import Errors, RstError
from ..tree import RstTree
from ._formats import tree_json
from ._texts import ENDINGS, PARQUET, Origin, Problem, Reading, TextFile, find_texts
from ._util import load_arrow
from .parse import EduUnits, make_doc

BULK_ENDINGS = (*ENDINGS, PARQUET)
URI = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
PART = "part-"
RUN = "_run"  # readers of folders leave it out: of Parquet for its start, our own for its end
LOCK = "_run.lock"
UNFINISHED = ".part-*.tmp"
Row = dict[str, Any]
# A document is known by its file, its name, and a number where a file has the name repeatedly.
KEYS = ("source", "name", "number")
DocumentKey = tuple[str, str, int]
Done = Mapping[str, set[tuple[str, int]]]


class PartFormat(StrEnum):
    """What a part file is written as."""

    parquet = "parquet"
    jsonl = "jsonl"

    @property
    def ending(self) -> str:
        """RETURNS (str): How the names of part files end."""
        return f".{self.value}"


class BulkFile(NamedTuple):
    """A file to read, anywhere in a cluster.

    name (str): What its document is called.
    location (str): Its absolute path, or its URI.
    source (str): What it is called in the rows: its path from the folder of the parts on, so that
        both can be moved together, or its URI.
    """

    name: str
    location: str
    source: str

    @property
    def text_file(self) -> TextFile:
        """RETURNS (TextFile): The file as `read_texts` takes it."""
        uri = self.location if URI.match(self.location) else None
        path = self.location if uri is None else urlsplit(uri).path
        return TextFile(self.name, Path(path), uri)


def find_files(inputs: Iterable[str], output: str) -> tuple[list[BulkFile], list[Problem]]:
    """List the files to read, each once.

    inputs (Iterable[str]): Files and folders, as paths or URIs.
    output (str): Where the parts go.
    RETURNS (tuple[list[BulkFile], list[Problem]]): The files, and the inputs that are not there,
        cannot be searched or hold no text.
    """
    found: dict[str, BulkFile] = {}
    problems: list[Problem] = []
    for given in map(local_path, inputs):
        if URI.match(given):
            listed = [
                BulkFile(re.sub(r"\.\w+$", "", path), uri, uri)
                for uri, path in load_arrow().list_files(given)
                if path == Path(urlsplit(given).path).name or path.lower().endswith(BULK_ENDINGS)
            ]
            if not listed:
                message = Errors.R512.format(path=given, endings=" or ".join(BULK_ENDINGS))
                problems.append((given, RstError(message)))
        else:
            files, unfound = find_texts([given], BULK_ENDINGS)
            problems += unfound
            listed = [_local_file(file, output) for file in files]
        for file in listed:
            found.setdefault(file.location, file)
    return list(found.values()), problems


def _local_file(file: TextFile, output: str) -> BulkFile:
    location = os.path.realpath(str(file.path))
    is_apart = URI.match(output) is not None
    source = location if is_apart else os.path.relpath(location, os.path.realpath(output))
    return BulkFile(file.name, location, source)


def local_path(place: str) -> str:
    """RETURNS (str): The path that a URI like `file:///folder` stands for; others as they are."""
    return url2pathname(urlsplit(place).path) if place.lower().startswith("file://") else place


def is_below(place: str, other: str) -> bool:
    """RETURNS (bool): Whether a path or URI is another one, or lies in it as a folder."""
    place, other = local_path(place), local_path(other)
    if URI.match(place) or URI.match(other):
        place, other = (given.partition("?")[0].rstrip("/") + "/" for given in (place, other))
        return place.startswith(other)
    return Path(place).resolve().is_relative_to(Path(other).resolve())


def group_files(files: Iterable[BulkFile], size: int) -> list[list[BulkFile]]:
    """Divide files for reading: those with many documents alone, others together.

    files (Iterable[BulkFile]): The files.
    size (int): The most files in a group.
    RETURNS (list[list[BulkFile]]): The groups.
    """
    files = list(files)
    texts = [file for file in files if file.text_file.has_one_text]
    tables = [[file] for file in files if not file.text_file.has_one_text]
    return [*tables, *minibatch(texts, size)]


def make_row(
    source: str, origin: Origin, tree: RstTree | None, error: Exception | str | None = None
) -> Row:
    """Describe what became of a document.

    source (str): What its file is called.
    origin (Origin): The document.
    tree (RstTree | None): Its tree.
    error (Exception | str | None): Why it could not be read or parsed.
    RETURNS (Row): The row.
    """
    return {
        "name": origin.name,
        "source": source,
        "number": origin.number,
        "fields": origin.fields,
        "tree": tree_json(tree),
        "relations": [] if tree is None else tree.to_records(),
        "error": None if error is None else str(error) or type(error).__name__,
    }


def parse_readings(
    nlp: Language,
    readings: Sequence[tuple[str, Reading]],
    edus: EduUnits,
    batch_size: int,
) -> list[Row]:
    """Parse documents. Whatever happens to one of them, it has a row.

    nlp (Language): The pipeline.
    readings (Sequence[tuple[str, Reading]]): For each document what its file is called, and what
        was read.
    edus (EduUnits): Where the EDUs come from.
    batch_size (int): Documents to buffer.
    RETURNS (list[Row]): A row for each document, in the same order.
    """
    trees: dict[int, RstTree | None] = {}
    errors: dict[int, Exception | str] = {}

    def make_docs() -> Iterator[tuple[Doc, int]]:
        for number, (_, (origin, text)) in enumerate(readings):
            try:
                if isinstance(text, Exception):
                    raise text
                yield make_doc(nlp, origin, text, edus), number
            except (OSError, ValueError) as error:
                errors[number] = error

    def note(component: str, _: Any, docs: Sequence[Doc] | None, error: Exception) -> None:
        for doc in docs or ():
            if doc is not None:  # what spaCy's sentencizer hands on after an error
                errors.setdefault(doc._context, f"{component}: {error}")

    def make_rows() -> Iterator[Row]:
        for number, (source, (origin, _)) in enumerate(readings):
            error = errors.get(number)
            try:
                yield make_row(source, origin, None if error else trees[number], error)
            except (ValueError, KeyError) as problem:
                yield make_row(source, origin, None, problem)

    nlp.set_error_handler(note)  # type: ignore[arg-type]
    try:
        for doc, number in nlp.pipe(make_docs(), as_tuples=True, batch_size=batch_size):
            trees[number] = get_tree(doc)
    except Exception as error:  # of a component that knows no error handlers
        if len(readings) > 1:
            return [row for one in readings for row in parse_readings(nlp, [one], edus, batch_size)]
        errors.setdefault(0, error)
    return list(make_rows())


class PartFolder(ABC):
    """A place for part files.

    place (str): A folder's path, or a URI.
    part_format (PartFormat): What the files are written as.
    """

    def __init__(self, place: str, part_format: PartFormat) -> None:
        self.place = place
        self.part_format = part_format

    @abstractmethod
    def names(self) -> list[str]:
        """RETURNS (list[str]): The names of all files, sorted."""

    @abstractmethod
    def open_file(self, name: str) -> IO[bytes]:
        """RETURNS (IO[bytes]): A file, for reading."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole or not at all.

        name (str): Its name.
        content (bytes): Its content.
        """

    @abstractmethod
    def open(self) -> AbstractContextManager[None]:
        """RETURNS (AbstractContextManager[None]): A block in which no other run writes here."""

    def check_run(self, settings: Mapping[str, str]) -> None:
        """Refuse to go on with parts that were made in another way.

        settings (Mapping[str, str]): What the trees depend on.
        RAISES (RstError): R565, if it is not what an earlier run had.
        """
        content = json.dumps(dict(settings), ensure_ascii=False, indent=2) + "\n"
        if RUN not in self.names():
            self.write(RUN, content.encode())
            return
        with self.open_file(RUN) as stream:
            found = stream.read()
        if found != content.encode():
            shown = " ".join(found.decode(errors="replace").split())
            wanted = " ".join(content.split())
            raise RstError(Errors.R565.format(place=self.place, found=shown, wanted=wanted))

    def write_part(self, rows: Sequence[Row]) -> None:
        """Write rows as a part of their own. The same documents make the same file again.

        rows (Sequence[Row]): The rows.
        """
        name = part_name([tuple(row[key] for key in KEYS) for row in rows])
        if self.part_format is PartFormat.parquet:
            content = load_arrow().to_parquet(rows)
        else:
            content = "".join(map(_json_line, rows)).encode()
        self.write(name + self.part_format.ending, content)

    def done(self) -> Done:
        """RETURNS (Done): The documents in all parts, by their files.
        RAISES (RstError): R567, if a part is damaged.
        """
        done: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        for name in self.names():
            if name.startswith(PART) and name.endswith(self.part_format.ending):
                for source, document, number in self._keys(name):
                    done[source].add((document, number))
        return done

    def _keys(self, name: str) -> Iterator[DocumentKey]:
        try:
            with self.open_file(name) as stream:
                is_parquet = self.part_format is PartFormat.parquet
                rows = (
                    load_arrow().read_rows(stream, KEYS) if is_parquet else map(json.loads, stream)
                )
                for row in rows:
                    source, document, number = (row[key] for key in KEYS)
                    yield source, document, number
        except (ValueError, KeyError, TypeError) as error:
            path = f"{self.place}/{name}"
            raise RstError(Errors.R567.format(path=path, error=error)) from error


def _json_line(row: Row) -> str:
    """Write a row as `parse` writes a line, with more about the document behind it."""
    ours = {key: value for key, value in row.items() if key != "fields"}
    line = {"name": row["name"], **(row["fields"] or {}), **ours}
    return json.dumps(line, ensure_ascii=False) + "\n"


def part_name(keys: Iterable[DocumentKey]) -> str:
    """RETURNS (str): The name of the part with these documents, without its ending."""
    listed = json.dumps(list(keys), ensure_ascii=False)
    return PART + hashlib.sha256(listed.encode()).hexdigest()[:32]


def open_folder(place: str, part_format: PartFormat) -> PartFolder:
    """RETURNS (PartFolder): The folder at a path or URI."""
    place = local_path(place)
    if URI.match(place):
        return RemoteFolder(place, part_format)
    return LocalFolder(os.path.abspath(place), part_format)


class LocalFolder(PartFolder):
    """A folder on a disk, or on one that all computers share."""

    @property
    def path(self) -> Path:
        """RETURNS (Path): The folder."""
        return Path(self.place)

    def names(self) -> list[str]:
        """See `PartFolder.names`."""
        return sorted(os.listdir(self.path)) if self.path.is_dir() else []

    def open_file(self, name: str) -> IO[bytes]:
        """See `PartFolder.open_file`."""
        return (self.path / name).open("rb")

    def write(self, name: str, content: bytes) -> None:
        """See `PartFolder.write`."""
        # The processes of other computers are not known here, so only `open` may clear up.
        temporary = self.path / UNFINISHED.replace("*", secrets.token_hex(8))
        try:
            temporary.write_bytes(content)
            os.replace(temporary, self.path / name)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def open(self) -> Iterator[None]:
        """See `PartFolder.open`."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / LOCK, timeout=0):
                for left_over in self.path.glob(UNFINISHED):
                    left_over.unlink(missing_ok=True)
                yield
        except Timeout as error:
            raise RstError(Errors.R566.format(place=self.place)) from error


class RemoteFolder(PartFolder):
    """A folder of an object store. That no other run writes there is for the user to see to."""

    def names(self) -> list[str]:
        """See `PartFolder.names`."""
        return [path for _, path in load_arrow().list_files(self.place)]

    def open_file(self, name: str) -> IO[bytes]:
        """See `PartFolder.open_file`."""
        return cast(IO[bytes], load_arrow().open_input(self._uri(name)))

    def write(self, name: str, content: bytes) -> None:
        """See `PartFolder.write`."""
        load_arrow().write_object(self._uri(name), content)

    @contextmanager
    def open(self) -> Iterator[None]:
        """See `PartFolder.open`."""
        yield

    def _uri(self, name: str) -> str:
        address, mark, query = self.place.partition("?")
        return f"{address.rstrip('/')}/{name}{mark}{query}"
