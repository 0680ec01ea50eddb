"""Finding files, and naming them in errors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from ..errors import Errors, RstError
from ..util import find_below

Item = TypeVar("Item")


def list_files(path: Path, endings: Iterable[str]) -> list[Path]:
    """List the files at a path, sorted: a file, or those with some endings in and below a folder,
    with links that lead nowhere."""
    if not path.exists():
        raise RstError(Errors.R131.format(path=path))
    if path.is_file():
        return [path]
    files, unreadable = find_below(path, tuple(endings))
    if unreadable:
        raise in_file(unreadable[0], unreadable[0].filename)
    if not files:
        raise RstError(Errors.R132.format(path=path, suffixes=", ".join(sorted(endings))))
    return files


def usable(item: Item | RstError) -> Item:
    """Get what was read. Raise it where a reader had an error in its place."""
    if isinstance(item, RstError):
        raise item
    return item


def shown_path(path: str | Path) -> str:
    """Make a path that can be printed and stored: file names need not be Unicode."""
    return str(path).encode(errors="replace").decode()


def in_file(error: Exception, source: str | Path) -> RstError:
    """Turn an error about a file into a coded error that names the file."""
    source, message = shown_path(source), shown_path(str(error))
    if not isinstance(error, RstError):
        kind = "" if isinstance(error, OSError) else f"{type(error).__name__}: "
        return RstError(Errors.R134.format(path=source, error=f"{kind}{message}"))
    return RstError(message if source in message else f"{message} ({source})")
