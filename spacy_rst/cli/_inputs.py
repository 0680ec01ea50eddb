"""What the commands read: texts of files, folders and standard input, and trees of any format."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer

from ..doc import NAME_KEY, get_meta, get_tree
from ..errors import Errors, RstError
from ..layout import MARKUP_SUFFIXES
from ..tree import RstTree
from ..treebank.binarize import binarize
from ..treebank.convert import SUFFIXES, read_file
from ..treebank.docbin import SUFFIX as DOCBIN_SUFFIX
from ..treebank.docbin import read_docbin
from ..util import find_below
from ._util import load_arrow

PARQUET = ".parquet"
TEXT_ENDINGS = (".txt", ".jsonl", PARQUET, *sorted(MARKUP_SUFFIXES))
TREE_ENDINGS = (*SUFFIXES, DOCBIN_SUFFIX, ".json", ".jsonl")
NAME_KEYS = ("name", "id")
STDIN, STDIN_MARK = "stdin", "-"
UTF8 = "utf8"
BYTE_ORDER_MARK = "\ufeff"
JSON_OBJECT_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')
URI = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)

Problem = tuple[str, Exception]
# A document is known by its file, its name, and a number where a file has the name repeatedly.
DocumentKey = tuple[str, str, int]


class InputFile(NamedTuple):
    """A file to read: the name of its document, and its path or URI, "-" for standard input.
    `source` is its URI or its path relative to the output, so that both can be moved together."""

    name: str
    location: str
    source: str = ""

    @property
    def ending(self) -> str:
        """How its name ends, in lower case."""
        path = urlsplit(self.location).path if is_uri(self.location) else self.location
        return Path(path).suffix.lower()

    @property
    def has_one_text(self) -> bool:
        """RETURNS (bool): Whether the file is one document."""
        return self.location != STDIN_MARK and self.ending not in (".jsonl", PARQUET)

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """RETURNS (AbstractContextManager[IO[bytes]]): The content. Standard input stays open."""
        if self.location == STDIN_MARK:
            return nullcontext(typer.get_binary_stream("stdin"))
        return open_binary(self.location)


class Origin(NamedTuple):
    """Where a document comes from: `place` is for messages, `number` tells documents of the same
    name in the same file apart, `fields` are those beside the text in a line of JSONL."""

    name: str
    file: InputFile
    place: str
    number: int = 1
    fields: dict[str, Any] | None = None

    @property
    def key(self) -> DocumentKey:
        """RETURNS (DocumentKey): What the document is known by."""
        return self.file.source, self.name, self.number


# A text or a tree, or why there is none; a document without text has no tree.
Reading = tuple[Origin, str | Exception]
Outcome = tuple[Origin, RstTree | Exception | None]


def is_uri(place: str) -> bool:
    """RETURNS (bool): Whether a place is a URI such as `s3://bucket/folder`, rather than a path."""
    return URI.match(place) is not None


def local_path(place: str) -> str:
    """RETURNS (str): The path that a URI like `file:///folder` stands for; others as they are."""
    return url2pathname(urlsplit(place).path) if place.lower().startswith("file://") else place


def is_below(place: str, other: str) -> bool:
    """RETURNS (bool): Whether a path or URI is another one, or lies in it as a folder."""
    place, other = local_path(place), local_path(other)
    if is_uri(place) or is_uri(other):
        place, other = (given.partition("?")[0].rstrip("/") + "/" for given in (place, other))
        return place.startswith(other)
    return Path(place).resolve().is_relative_to(Path(other).resolve())


def open_binary(location: str) -> IO[bytes]:
    """RETURNS (IO[bytes]): The content of a file, wherever it is."""
    return load_arrow().open_input(location) if is_uri(location) else open(location, "rb")


def find_texts(
    inputs: Iterable[str], output: str | None = None
) -> tuple[list[InputFile], list[Problem]]:
    """List the files to read, each once, and the inputs that are not there, cannot be searched or
    hold no text. Folders are searched with all folders below them."""
    found: dict[str, InputFile] = {}
    problems: list[Problem] = []
    for given in map(local_path, inputs):
        try:
            files, unreadable = _list_texts(given)
        except (OSError, RstError) as error:
            problems.append((given, error))
            continue
        problems += [(str(error.filename), error) for error in unreadable]
        for name, location in files:
            source = _source(location, output)
            found.setdefault(source, InputFile(name, location, source))
    return list(found.values()), problems


def _list_texts(given: str) -> tuple[list[tuple[str, str]], list[OSError]]:
    """Find the names and locations of the texts in an input, and what cannot be searched."""
    if given == STDIN_MARK:
        return [(STDIN, given)], []
    unreadable: list[OSError] = []
    if is_uri(given):
        own_name = Path(urlsplit(given).path).name
        texts = [
            (re.sub(r"\.\w+$", "", path), uri)
            for uri, path in load_arrow().list_files(given)
            if path == own_name or path.lower().endswith(TEXT_ENDINGS)
        ]
    elif Path(given).is_dir():
        paths, unreadable = find_below(Path(given), TEXT_ENDINGS)
        texts = [(_name_of(path.relative_to(given)), str(path)) for path in paths]
    else:
        os.stat(given)
        return [(_name_of(Path(Path(given).name)), given)], []
    if not texts and not unreadable:
        endings = ", ".join(TEXT_ENDINGS)
        raise RstError(Errors.R512.format(place=given, kind="texts", endings=endings))
    return texts, unreadable


def _name_of(path: Path) -> str:
    """Name a document after its file, whose name need not be UTF-8."""
    return os.fsencode(path.with_suffix("").as_posix()).decode(UTF8, errors="replace")


def _source(location: str, output: str | None) -> str:
    if location == STDIN_MARK or is_uri(location):
        return location
    path = os.path.realpath(location)
    if output is not None and is_uri(output):
        return path
    with suppress(ValueError):  # on another drive of Windows
        path = os.path.relpath(path, os.path.realpath(output or ""))
    return path


def check_encoding(name: str) -> str:
    """Refuse an option that does not name an encoding of texts."""
    try:
        "text\n".encode(name).decode(name)
    except (LookupError, UnicodeError) as error:
        raise typer.BadParameter(f"Python has no encoding '{name}' for texts.") from error
    return name


def read_texts(files: Iterable[InputFile], encoding: str = UTF8) -> Iterator[Reading]:
    """Read documents, one after another: the origin of each and its text, or why there is none."""
    for file in files:
        seen: Counter[str] = Counter()
        for origin, text in _read_texts_in(file, encoding):
            seen[origin.name] += 1
            yield origin._replace(number=seen[origin.name]), text


def _read_texts_in(file: InputFile, encoding: str) -> Iterator[Reading]:
    origin = Origin(file.name, file, STDIN if file.location == STDIN_MARK else file.location)
    try:
        with file.open() as stream:
            if file.location == STDIN_MARK:
                yield from _read_stdin(*_with_lines(stream, encoding), origin)
            elif file.ending == ".jsonl":
                yield from _read_jsonl(*_with_lines(stream, encoding), origin)
            elif file.ending == PARQUET:
                yield from _read_parquet(stream, origin)
            else:
                yield origin, _decode(stream.read(), encoding)
    except (OSError, RstError) as error:
        yield origin, error


def _with_lines(stream: IO[bytes], encoding: str) -> tuple[IO[bytes], str]:
    """Turn an encoding in which the byte of a line break does not end a line into UTF-8."""
    if "\n".encode(encoding) == b"\n":
        return stream, encoding
    return io.BytesIO(_decode(stream.read(), encoding).encode()), UTF8


def _read_stdin(stream: IO[bytes], encoding: str, origin: Origin) -> Iterator[Reading]:
    lines = iter(stream.readline, b"")
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    content = chain(head, lines)
    if head and JSON_OBJECT_START.match(head[-1]):
        yield from _read_jsonl(content, encoding, origin)
    else:
        yield origin, _decode(b"".join(content), encoding)


def _read_jsonl(lines: Iterable[bytes], encoding: str, file: Origin) -> Iterator[Reading]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        origin = file._replace(name=f"{file.name}_{number}", place=f"{file.place}, line {number}")
        try:
            data = _read_json_object(_decode(line, encoding))
        except RstError as error:
            yield origin, error
            continue
        text = data.pop("text")
        yield origin._replace(name=_name_in(data, origin.name), fields=data), text


def _read_parquet(stream: IO[bytes], file: Origin) -> Iterator[Reading]:
    rows = load_arrow().read_rows(stream, ("text", *NAME_KEYS))
    for number, data in enumerate(rows, start=1):
        name, place = f"{file.name}_{number}", f"{file.place}, row {number}"
        text = data.get("text")
        found = text if isinstance(text, str) else RstError(Errors.R514.format(error="no text"))
        yield file._replace(name=_name_in(data, name), place=place), found


def _name_in(data: Mapping[str, Any], default: str) -> str:
    for value in map(data.get, NAME_KEYS):
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return default


def _read_json_object(line: str) -> dict[str, Any]:
    try:
        data = json.loads(line, parse_constant=_refuse_constant)
        # Halves of characters, escaped as \ud83d, could not be written.
        json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RstError(Errors.R514.format(error=error)) from error
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        raise RstError(Errors.R514.format(error="no text"))
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _decode(content: bytes, encoding: str) -> str:
    try:
        text = content.decode(encoding)
        text.encode()  # some encodings know halves of characters
    except UnicodeError as error:
        raise RstError(Errors.R513.format(encoding=encoding, error=error)) from error
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")


def read_trees(path: Path, *, largest_tree: bool = False) -> Iterator[Outcome]:
    """Read trees of a file, or of a folder and all folders below it: rs3, rs4, dis, DISRPT,
    DocBins, and JSON as `parse` writes it. They are binary and keep the files' own labels."""
    files, unreadable = [path], list[OSError]()
    if path.is_dir():
        files, unreadable = find_below(path, TREE_ENDINGS)
    elif path.suffix not in TREE_ENDINGS or not path.exists():
        files = []
    if not files and not unreadable:
        kind = "trees, which 'python -m spacy rst parse' makes of texts,"
        endings = ", ".join(TREE_ENDINGS)
        raise RstError(Errors.R512.format(place=path, kind=kind, endings=endings))
    for problem in unreadable:
        yield _unreadable(_origin_of(problem.filename), problem)
    for file in files:
        origin = _origin_of(file)
        try:
            yield from _read_trees_in(file, origin, largest_tree)
        except RstError as error:
            yield origin, error
        except Exception as error:  # whatever is wrong with a file, the others can be read
            yield _unreadable(origin, error)


def _origin_of(path: str | Path) -> Origin:
    name = Path(path).stem
    return Origin(name, InputFile(name, str(path)), str(path))


def _read_trees_in(path: Path, file: Origin, largest_tree: bool) -> Iterator[Outcome]:
    if path.suffix == DOCBIN_SUFFIX:
        for number, doc in enumerate(read_docbin(path), start=1):
            name = get_meta(doc, NAME_KEY) or f"document_{number}"
            yield file._replace(name=name), get_tree(doc)
    elif path.suffix == ".json":
        yield _read_json_tree(path.read_bytes(), file)
    elif path.suffix == ".jsonl":
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            if line.strip():
                yield _read_json_tree(line, file._replace(place=f"{path}, line {number}"))
    else:
        for document in read_file(path, largest_tree=largest_tree):
            if isinstance(document, RstError):
                yield file, document
            else:
                yield file._replace(name=document.name), binarize(document)


def _read_json_tree(content: bytes, origin: Origin) -> Outcome:
    """Read a tree, or a line that holds a name and a tree."""
    try:
        data = json.loads(content)
        if origin.file.ending == ".jsonl":
            origin, data = origin._replace(name=str(data["name"])), data["tree"]
        return origin, None if data is None else RstTree.from_dict(data)
    except Exception as error:  # whatever is wrong with it, the others can be read
        return _unreadable(origin, error)


def _unreadable(origin: Origin, error: Exception) -> Outcome:
    reason = str(error) or type(error).__name__
    return origin, RstError(Errors.R134.format(path=origin.place, error=reason))
