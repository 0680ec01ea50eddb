"""Files are written as a whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from spacy_rst.util import _remove_stale, atomic_path, is_special, write_atomically


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "file.txt"


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


def test_files_are_made_and_replaced(path):
    write_atomically(path.with_name("a" * 255), "a name as long as the system allows")
    path.with_name("a" * 255).unlink()
    for content in ("Grüße\n狗", "new"):
        write_atomically(str(path), content)
        assert path.read_bytes() == content.encode()
        assert names(path) == ["file.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_crash_leaves_the_old_file_or_none(path, error, is_there):
    if is_there:
        write_atomically(path, "old")
    with pytest.raises(error), atomic_path(path) as temporary:
        assert temporary.parent == path.parent
        temporary.write_text("half of the ne")
        assert not is_there or path.read_text() == "old"
        raise error
    assert names(path) == ["file.txt"] * is_there
    assert not is_there or path.read_text() == "old"


def test_permissions_are_the_usual_ones_or_stay(path):
    write_atomically(path, "old")
    ordinary = path.with_name("ordinary.txt")
    ordinary.write_text("text")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)
    path.chmod(0o640)
    write_atomically(path, "new")
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("is_there", [True, False])
def test_links_are_followed(path, tmp_path, is_there):
    target = tmp_path / "elsewhere" / "target.txt"
    if is_there:
        write_atomically(target, "old")
    path.parent.mkdir()
    path.symlink_to(target)
    write_atomically(path, "new")
    assert path.is_symlink() and target.read_text() == "new"
    assert names(path) == ["file.txt"] and names(target) == ["target.txt"]


def test_fifos_are_written_to(path):
    path.parent.mkdir()
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(path, "through the pipe")
        assert os.read(reader, 100) == b"through the pipe"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists open files there")
def test_names_of_open_files_are_written_to(tmp_path):
    # By its own number and not as /dev/stdout, which broken code could replace on this computer.
    redirected = tmp_path / "file.txt"
    with redirected.open("w") as file:
        write_atomically(f"/proc/self/fd/{file.fileno()}", "text")
        assert os.fstat(file.fileno()).st_ino == redirected.stat().st_ino
    assert redirected.read_text() == "text" and names(redirected) == ["file.txt"]
    assert is_special(Path("/dev/stdout")) and is_special(Path("/dev/null"))
    assert not is_special(redirected) and not is_special(tmp_path)


def test_what_a_killed_run_left_is_removed_by_the_next(path):
    code = (
        "import os, sys\n"
        "from spacy_rst.util import atomic_path\n"
        "with atomic_path(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)])
    assert killed.returncode == -9
    (left,) = names(path)
    with atomic_path(path) as temporary:
        assert left not in names(path)
        _remove_stale.cache_clear()
        write_atomically(path.with_name("other.txt"), "Those of running processes stay.")
        temporary.write_text("whole")
    assert names(path) == ["file.txt", "other.txt"] and path.read_text() == "whole"
