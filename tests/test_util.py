"""Files are written as a whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from spacy_rst.util import atomic_path, write_atomically


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "file.txt"


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


def test_a_new_file_in_a_new_folder(path):
    write_atomically(path, "Grüße\n狗")
    assert path.read_bytes() == "Grüße\n狗".encode()
    assert names(path) == ["file.txt"]


def test_an_old_file_is_replaced(path):
    write_atomically(path, "a long old text")
    write_atomically(str(path), "new")
    assert path.read_text() == "new"
    assert names(path) == ["file.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_crash_leaves_the_old_file(path, error):
    write_atomically(path, "old")
    with pytest.raises(error), atomic_path(path) as temporary:
        temporary.write_text("half of the ne")
        raise error
    assert path.read_text() == "old"
    assert names(path) == ["file.txt"]


def test_a_crash_leaves_no_file_where_there_was_none(path):
    with pytest.raises(ValueError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise ValueError
    assert names(path) == []


def test_the_old_file_stays_until_the_new_one_is_complete(path):
    write_atomically(path, "old")
    with atomic_path(path) as temporary:
        assert temporary.parent == path.parent
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_permissions_are_the_usual_ones(path):
    write_atomically(path, "text")
    ordinary = path.with_name("ordinary.txt")
    ordinary.write_text("text")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
