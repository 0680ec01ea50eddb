"""Files and folders written as a whole or not at all, and libraries that may be missing."""

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
    """Say how to install a library that is imported in the block, with an extra of this package."""
    try:
        yield
    except ImportError as error:
        raise RstError(Errors.R090.format(library=library, extra=extra)) from error


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a path to write to that is moved to its place at the end: a crash leaves the old file or
    none. Links are followed and permissions kept; a FIFO or `/dev/stdout` is written to directly.
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
    """Write a text file in UTF-8 as a whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(content, encoding="utf8")


def is_special(path: Path) -> bool:
    """Whether a path cannot be replaced by a file: devices, FIFOs, sockets, and the names that a
    system gives to open files."""
    if path.absolute().parts[1:2] in (("dev",), ("proc",)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_file(new: Path, path: Path) -> None:
    """Move a file to its place. A link there is followed, and the permissions stay the same."""
    place = Path(os.path.realpath(path))
    if place.is_file():
        new.chmod(stat.S_IMODE(place.stat().st_mode))
    os.replace(new, place)


def find_below(folder: Path, endings: tuple[str, ...]) -> tuple[list[Path], list[OSError]]:
    """Search a folder and all below it for files by the endings of their names, in lower case. Give
    the files, sorted, and what cannot be searched. A broken link counts as a file, so that reading
    it fails."""
    unreadable: list[OSError] = []
    found = []
    for place, _, names in os.walk(folder, onerror=unreadable.append):
        paths = (Path(place, name) for name in names if name.lower().endswith(endings))
        found += [path for path in paths if path.is_file() or not path.exists()]
    return sorted(found), unreadable


def replace_folder(new: Path, path: Path) -> None:
    """Move a folder to its place. The old one is there until the new one is, or can be restored."""
    restore_folder(path)
    old = _aside(path)
    if path.exists():
        path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def restore_folder(path: Path) -> None:
    """Put a folder back in its place that `replace_folder` moved aside before it was killed."""
    old = _aside(path)
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        old.rename(path)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def temporary_beside(path: Path) -> Path:
    """Make a path for a file or folder that replaces another once it is complete. What killed runs
    left in the same folder is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path.parent.resolve())
    name = TEMPORARY.format(process=os.getpid(), random=secrets.token_hex(4))
    return path.parent / name


@lru_cache(maxsize=1024)
def _remove_stale(folder: Path) -> None:
    """Remove temporary files of processes that ended. Once per folder is enough, as listing a large
    one takes time."""
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
    except OSError:  # another user's, or not a valid number
        return True
    return True
