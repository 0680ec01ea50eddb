"""Files of treebanks: finding them, and naming them in errors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..errors import Errors, RstError
from ..util import find_below


def list_files(path: Path, endings: Iterable[str]) -> list[Path]:
    """List the files at a path.

    path (Path): A file, or a folder that is searched with all folders below it.
    endings (Iterable[str]): How the names of the files in the folder end.
    RETURNS (list[Path]): The files, sorted. A link that leads nowhere is one of them.
    RAISES (RstError): If there is none, or a folder cannot be searched.
    """
    if path.is_file():
        return [path]
    files, unreadable = find_below(path, tuple(endings)) if path.exists() else ([], [])
    if unreadable:
        raise in_file(unreadable[0], unreadable[0].filename)
    if not files:
        raise RstError(Errors.R132.format(path=path, suffixes=", ".join(sorted(endings))))
    return files


def shown_path(path: str | Path) -> str:
    """RETURNS (str): A path that can be printed and stored: file names need not be Unicode."""
    return str(path).encode(errors="replace").decode()


def in_file(error: Exception, source: str | Path) -> RstError:
    """Turn an error about a file into a coded error that names the file.

    error (Exception): The problem.
    source (str | Path): The file.
    RETURNS (RstError): The same problem.
    """
    source, message = shown_path(source), shown_path(str(error))
    if not isinstance(error, RstError):
        kind = "" if isinstance(error, OSError) else f"{type(error).__name__}: "
        return RstError(Errors.R134.format(path=source, error=f"{kind}{message}"))
    return RstError(message if source in message else f"{message} ({source})")
