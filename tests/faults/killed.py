"""`python -m tests.faults.killed EVENT PATTERN NUMBER ARGUMENTS...` runs `python -m spacy
ARGUMENTS` and kills it, as a power cut would, right before it does something for the NUMBERth time:
an event of Python's audit hooks (`open`, `os.rename`) with a path that fits the pattern."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from fnmatch import fnmatchcase
from typing import Any


def main() -> None:
    """Run the command until its end comes."""
    event, pattern, number, *arguments = sys.argv[1:]
    left = int(number)

    def watch(name: str, values: tuple[Any, ...]) -> None:
        nonlocal left
        if name != event:
            return
        paths = [os.fspath(value) for value in values if isinstance(value, str | os.PathLike)]
        if any(fnmatchcase(path, pattern) for path in paths if isinstance(path, str)):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    sys.argv = ["spacy", *arguments]
    runpy.run_module("spacy", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
