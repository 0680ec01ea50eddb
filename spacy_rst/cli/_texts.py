"""The texts of files, folders and standard input."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

import typer

from ..errors import Errors, RstError
from ..layout import MARKUP_SUFFIXES
from ..util import find_below
from ._util import load_arrow

ENDINGS = (".txt", ".jsonl", *sorted(MARKUP_SUFFIXES))
PARQUET = ".parquet"
NAME_KEYS = ("name", "id")
STDIN = "stdin"
UTF8 = "utf8"
BYTE_ORDER_MARK = "\ufeff"
JSON_OBJECT_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')


class Origin(NamedTuple):
    """Where a text comes from.

    name (str): The document's name.
    place (str): The file, and the line where it has several documents, for messages.
    path (Path | None): The file, None for standard input.
    number (int): Tells documents of the same name in the same file apart.
    fields (dict[str, Any] | None): What stands beside the text in a line of JSONL.
    """

    name: str
    place: str
    path: Path | None
    number: int = 1
    fields: dict[str, Any] | None = None

    @property
    def has_markup(self) -> bool:
        """RETURNS (bool): Whether the text is Markdown or HTML."""
        return self.path is not None and self.path.suffix.lower() in MARKUP_SUFFIXES


Reading = tuple[Origin, str | Exception]
Problem = tuple[str, Exception]


class TextFile(NamedTuple):
    """A file to read.

    name (str): What its document is called.
    path (Path | None): The file, None for standard input.
    uri (str | None): Where it lies if that is no disk, such as `s3://bucket/file.jsonl`.
    """

    name: str
    path: Path | None
    uri: str | None = None

    @property
    def is_jsonl(self) -> bool:
        """RETURNS (bool): Whether each line is a document."""
        return self._ends_with(".jsonl")

    @property
    def is_parquet(self) -> bool:
        """RETURNS (bool): Whether each row is a document."""
        return self._ends_with(PARQUET)

    @property
    def has_one_text(self) -> bool:
        """RETURNS (bool): Whether the file is one document."""
        return self.path is not None and not self.is_jsonl and not self.is_parquet

    def _ends_with(self, ending: str) -> bool:
        return self.path is not None and self.path.suffix.lower() == ending

    def open(self) -> IO[bytes]:
        """RETURNS (IO[bytes]): The content. Standard input is not to be closed."""
        if self.uri is not None:
            return load_arrow().open_input(self.uri)
        return typer.get_binary_stream("stdin") if self.path is None else self.path.open("rb")


def find_texts(
    inputs: Iterable[str], endings: tuple[str, ...] = ENDINGS
) -> tuple[list[TextFile], list[Problem]]:
    """List the files to read.

    inputs (Iterable[str]): Files, folders that are searched with all folders below them, and "-".
    endings (tuple[str, ...]): How the names of texts in folders end.
    RETURNS (tuple[list[TextFile], list[Problem]]): The files, and the inputs that are not there,
        cannot be searched or hold no text.
    """
    found: list[TextFile] = []
    problems: list[Problem] = []
    for given in inputs:
        path = Path(given)
        if given == "-":
            found.append(TextFile(STDIN, None))
        elif path.is_dir():
            texts, unreadable = find_below(path, endings)
            found += [
                TextFile(_clean_name(text.relative_to(path).with_suffix("").as_posix()), text)
                for text in texts
            ]
            problems += [(str(error.filename), error) for error in unreadable]
            if not texts and not unreadable:
                message = Errors.R512.format(path=path, endings=" or ".join(endings))
                problems.append((given, RstError(message)))
        else:
            try:
                path.stat()
            except OSError as error:
                problems.append((given, error))
            else:
                found.append(TextFile(_clean_name(path.stem), path))
    return found, problems


def _clean_name(name: str) -> str:
    """Replace what is not UTF-8 in the name of a file."""
    return os.fsencode(name).decode(UTF8, errors="replace")


def check_encoding(name: str) -> None:
    """Refuse what is no encoding of texts.

    name (str): The encoding's name.
    RAISES (RstError): If Python knows none of that name.
    """
    try:
        "text\n".encode(name).decode(name)
    except (LookupError, UnicodeError) as error:
        raise RstError(Errors.R525.format(name=name)) from error


def read_texts(files: Iterable[TextFile], encoding: str = UTF8) -> Iterator[Reading]:
    """Read documents, one after another.

    files (Iterable[TextFile]): What `find_texts` listed.
    encoding (str): The encoding of all files.
    YIELDS (Reading): Each document's origin and its text, or why it cannot be read.
    """
    seen: Counter[tuple[Path | None, str]] = Counter()
    for origin, text in _read_files(files, encoding):
        seen[origin.path, origin.name] += 1
        yield origin._replace(number=seen[origin.path, origin.name]), text


def _read_files(files: Iterable[TextFile], encoding: str) -> Iterator[Reading]:
    for file in files:
        origin = Origin(file.name, file.uri or str(file.path or STDIN), file.path)
        try:
            if file.path is None:
                yield from _read_stdin(*_with_lines(file.open(), encoding), origin)
                continue
            with file.open() as stream:
                if file.is_jsonl:
                    yield from _read_jsonl(*_with_lines(stream, encoding), origin)
                elif file.is_parquet:
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
        place = f"{file.place}, line {number}"
        origin = Origin(f"{file.name}_{number}", place, file.path)
        try:
            data = _read_json_object(_decode(line, encoding))
        except RstError as error:
            yield origin, error
            continue
        text = data.pop("text")
        yield origin._replace(name=_name_of(data, origin.name), fields=data), text


def _read_parquet(stream: IO[bytes], file: Origin) -> Iterator[Reading]:
    rows = load_arrow().read_rows(stream, ("text", *NAME_KEYS))
    for number, data in enumerate(rows, start=1):
        origin = Origin(f"{file.name}_{number}", f"{file.place}, row {number}", file.path)
        text = data.get("text")
        found = text if isinstance(text, str) else RstError(Errors.R561)
        yield origin._replace(name=_name_of(data, origin.name)), found


def _name_of(data: Mapping[str, Any], default: str) -> str:
    names = (data.get(key) for key in NAME_KEYS)
    return next((str(value) for value in names if _is_name(value)), default)


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _read_json_object(line: str) -> dict[str, Any]:
    try:
        data = json.loads(line, parse_constant=_refuse_constant)
        # Halves of characters, escaped as \ud83d, could not be written.
        json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RstError(Errors.R514.format(error=error)) from error
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        raise RstError(Errors.R515)
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _decode(content: bytes, encoding: str) -> str:
    try:
        text = content.decode(encoding)
        text.encode()  # some encodings know halves of characters
    except UnicodeError as error:
        raise RstError(Errors.R513.format(encoding=encoding, error=error)) from error
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
