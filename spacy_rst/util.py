"""Small things that several rooms need."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from .errors import Errors, RstError

TEMPORARY = ".spacy_rst-{process}-{random}.tmp"


@contextmanager
def require_extra(library: str, extra: str) -> Iterator[None]:
    """Say how to install a library that is imported in the block.

    library (str): The library.
    extra (str): The extra of this package that has it.
    RAISES (RstError): If it is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise RstError(Errors.R090.format(library=library, extra=extra)) from error


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Write a file as a whole or not at all: a crash leaves the old file or none.

    A link is followed, and a file that is replaced hands its permissions on. What is no regular
    file, such as a FIFO or `/dev/stdout`, is written to directly.

    path (Union[str, Path]): Where the file shall be.
    YIELDS (Path): Where to write it; it is moved to its place at the end.
    """
    path = Path(path)
    if is_special(path):
        yield path
        return
    temporary = temporary_beside(Path(os.path.realpath(path)))
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        replace_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: str | Path, content: str) -> None:
    """Write a text file as a whole or not at all.

    path (Union[str, Path]): The file.
    content (str): Its content, written as UTF-8.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(content, encoding="utf8")


def is_special(path: Path) -> bool:
    """Tell what cannot be replaced by a file: devices, FIFOs, sockets, and the names under which
    a system gives out open files.

    path (Path): A path.
    RETURNS (bool): Whether it is one of these.
    """
    if path.absolute().parts[1:2] in (("dev",), ("proc",)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_file(new: Path, path: Path) -> None:
    """Move a file to its place. A link there is followed, and the permissions stay the same.

    new (Path): The file, beside the place it goes to.
    path (Path): Its place.
    """
    place = Path(os.path.realpath(path))
    if place.is_file():
        new.chmod(stat.S_IMODE(place.stat().st_mode))
    os.replace(new, place)


def find_below(folder: Path, endings: tuple[str, ...]) -> tuple[list[Path], list[OSError]]:
    """Search a folder and all folders below it for files.

    folder (Path): The folder.
    endings (tuple[str, ...]): How their names end, in lower case.
    RETURNS (tuple[list[Path], list[OSError]]): The files, sorted, and what cannot be searched. A
        link that leads nowhere counts as a file, so that reading it says so.
    """
    unreadable: list[OSError] = []
    found = []
    for place, _, names in os.walk(folder, onerror=unreadable.append):
        paths = (Path(place, name) for name in names if name.lower().endswith(endings))
        found += [path for path in paths if path.is_file() or not path.exists()]
    return sorted(found), unreadable


def replace_folder(new: Path, path: Path) -> None:
    """Move a folder to its place. The old one is there until the new one is, or can be restored.

    new (Path): The folder, beside the place it goes to.
    path (Path): Its place.
    """
    restore_folder(path)
    old = _aside(path)
    if path.exists():
        path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def restore_folder(path: Path) -> None:
    """Put a folder back that `replace_folder` moved aside before it was killed.

    path (Path): The folder's place.
    """
    old = _aside(path)
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        old.rename(path)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def temporary_beside(path: Path) -> Path:
    """Find a name for a file or folder that shall take a place once it is complete. What runs that
    were killed have left there is removed.

    path (Path): The place.
    RETURNS (Path): A new path in the same folder, which is made if need be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path.parent.resolve())
    name = TEMPORARY.format(process=os.getpid(), random=secrets.token_hex(4))
    return path.parent / name


@lru_cache(maxsize=1024)
def _remove_stale(folder: Path) -> None:
    """Remove temporary files of processes that are no more. Once per folder is enough: listing a
    large one for each of its files would take long."""
    for path in folder.glob(TEMPORARY.format(process="*", random="*")):
        process = path.name.split("-")[1]
        if process.isdecimal() and not _is_running(int(process)):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # that of another user, or no number of a process
        return True
    return True
