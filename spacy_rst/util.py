"""Small things that several rooms need."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Write a file as a whole or not at all: a crash leaves the old file or none.

    path (Union[str, Path]): Where the file shall be.
    YIELDS (Path): Where to write it; it is moved to its place at the end.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: str | Path, content: str) -> None:
    """Write a text file as a whole or not at all.

    path (Union[str, Path]): The file.
    content (str): Its content, written as UTF-8.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(content, encoding="utf8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
