"""The texts of files, folders and standard input."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import typer

from ..errors import Errors, RstError

ENDINGS = (".txt", ".jsonl")
STDIN = "stdin"
JSON_OBJECT_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')


class Origin(NamedTuple):
    """Where a text comes from.

    name (str): The document's name.
    place (str): The file, and the line where it has several documents, for messages.
    path (Path | None): The file, None for standard input.
    number (int): Tells documents of the same name in the same file apart.
    """

    name: str
    place: str
    path: Path | None
    number: int = 1


Reading = tuple[Origin, str | Exception]


class TextFile(NamedTuple):
    """A file to read.

    name (str): What its document is called.
    path (Path | None): The file, None for standard input.
    """

    name: str
    path: Path | None

    @property
    def is_jsonl(self) -> bool:
        """RETURNS (bool): Whether each line is a document."""
        return self.path is not None and self.path.suffix.lower() == ".jsonl"


def find_texts(inputs: Iterable[str]) -> list[TextFile]:
    """List the files to read.

    inputs (Iterable[str]): Files, folders that are searched with all folders below them, and "-".
    RETURNS (list[TextFile]): The files. A folder without texts is listed itself, to be reported
        like a bad file.
    """
    found: list[TextFile] = []
    for given in inputs:
        path = Path(given)
        if given == "-":
            found.append(TextFile(STDIN, None))
        elif path.is_dir():
            below = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS)
            texts = [file for file in below if file.is_file()]
            found += [
                TextFile(file.relative_to(path).with_suffix("").as_posix(), file) for file in texts
            ] or [TextFile(path.name, path)]
        else:
            found.append(TextFile(path.stem, path))
    return found


def read_texts(files: Iterable[TextFile]) -> Iterator[Reading]:
    """Read documents, one after another.

    files (Iterable[TextFile]): What `find_texts` listed.
    YIELDS (Reading): Each document's origin and its text, or why it cannot be read.
    """
    seen: Counter[tuple[Path | None, str]] = Counter()
    for origin, text in _read_files(files):
        seen[origin.path, origin.name] += 1
        yield origin._replace(number=seen[origin.path, origin.name]), text


def _read_files(files: Iterable[TextFile]) -> Iterator[Reading]:
    for file in files:
        origin = Origin(file.name, str(file.path or STDIN), file.path)
        try:
            if file.path is None:
                yield from _read_stdin(origin)
            elif file.path.is_dir():
                endings = " or ".join(ENDINGS)
                raise RstError(Errors.R512.format(path=file.path, endings=endings))
            elif file.is_jsonl:
                with file.path.open("rb") as lines:
                    yield from _read_jsonl(lines, origin)
            else:
                yield origin, _decode(file.path.read_bytes())
        except (OSError, RstError) as error:
            yield origin, error


def _read_stdin(origin: Origin) -> Iterator[Reading]:
    stream = typer.get_binary_stream("stdin")
    lines = iter(stream.readline, b"")
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    content = chain(head, lines)
    if head and JSON_OBJECT_START.match(head[-1]):
        yield from _read_jsonl(content, origin)
    else:
        yield origin, _decode(b"".join(content))


def _read_jsonl(lines: Iterable[bytes], file: Origin) -> Iterator[Reading]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{file.place}, line {number}"
        origin = Origin(f"{file.name}_{number}", place, file.path)
        try:
            name, text = _read_json_line(line)
        except RstError as error:
            yield origin, error
        else:
            yield origin._replace(name=name or origin.name), text


def _read_json_line(line: bytes) -> tuple[str | None, str]:
    decoded = _decode(line)
    try:
        data = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        raise RstError(Errors.R514.format(error=error)) from error
    text = data.get("text") if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise RstError(Errors.R515)
    names = [data.get(key) for key in ("name", "id")]
    name = next((str(value) for value in names if isinstance(value, str | int)), None)
    try:
        f"{name}{text}".encode()
    except UnicodeEncodeError as error:  # half of a character, escaped as \ud83d
        raise RstError(Errors.R514.format(error=error)) from error
    return name, text


def _decode(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RstError(Errors.R513.format(error=error)) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
