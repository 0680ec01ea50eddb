"""Runs damaged input through what reads it: it must be read, or refused with a coded error."""

from __future__ import annotations

import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from spacy_rst.errors import RstError

# Seconds of computing, not of waiting: other processes on the machine make no difference.
MAX_CPU_SECONDS = 10


class Hang(BaseException):
    """Raised in what takes too long. No `except Exception` stops it."""


@dataclass
class Kind:
    """A kind of input: what makes whole ones, damages one, and reads one (with a folder)."""

    name: str
    make_seeds: Callable[[], Sequence[Any]]
    mutate: Callable[[Any, Random], Any]
    read: Callable[[Any, Path], None]

    @cached_property
    def seeds(self) -> Sequence[Any]:
        """RETURNS (Sequence[Any]): The whole inputs."""
        return self.make_seeds()

    def case(self, number: int, seed: int = 0) -> Any:
        """RETURNS (Any): The damaged input of a number."""
        rng = Random(f"{self.name} {seed} {number}")
        return self.mutate(rng.choice(self.seeds), rng)


@dataclass
class Outcome:
    """What became of cases: how many were read, and refused with which code; the numbers of those
    that failed, by how and where."""

    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[int]] = field(default_factory=dict)


def run_cases(kind: Kind, numbers: range, folder: Path, seed: int = 0) -> Outcome:
    """Run the cases of some numbers; another seed makes other cases."""
    outcome = Outcome()
    for number in numbers:
        case = kind.case(number, seed)
        try:
            with cpu_limit(MAX_CPU_SECONDS):
                kind.read(case, folder)
        except RstError as error:
            outcome.refused[error.code] += 1
        except (Exception, Hang) as error:
            outcome.failures.setdefault(describe(error), []).append(number)
        else:
            outcome.read += 1
    return outcome


def describe(error: BaseException) -> str:
    """RETURNS (str): The kind of an error and the last place in our own code that it came by."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "spacy_rst/" in frame.filename] or frames
    place = f"{own[-1].filename.partition('spacy_rst/')[2]}:{own[-1].lineno}"
    return f"{type(error).__name__} at {place}: {str(error)[:80]!r}"


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `Hang` in what computes for too long: other processes make no difference."""

    def stop(*_: Any) -> None:
        raise Hang(f"over {seconds} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
