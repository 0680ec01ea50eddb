"""Engines for tests: real in that they translate, in a way that is easy to foresee."""

from __future__ import annotations

from collections.abc import Sequence

from spacy_rst.errors import RstError


class ShoutingTranslator:
    """Writes in capitals, and remembers what it was asked.

    fails_at (str | None): A segment at which it fails, after the segments before it in the call.
    """

    name = "shout"

    def __init__(self, data: str = "1", fails_at: str | None = None) -> None:
        self.data = data
        self.fails_at = fails_at
        self.calls: list[tuple[list[str], str, str]] = []

    @property
    def asked(self) -> list[str]:
        return [segment for segments, _, _ in self.calls for segment in segments]

    def version(self, source: str, target: str) -> str:
        return self.data

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        if self.fails_at in segments:
            raise RstError("[R999] The engine died.")
        self.calls.append((list(segments), source, target))
        return [segment.upper() for segment in segments]


class AnsweringTranslator:
    """Gives the same answers, whatever it is asked."""

    name = "answers"

    def __init__(self, *answers: str | None) -> None:
        self.answers = answers

    def version(self, source: str, target: str) -> str:
        return "1"

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        return list(self.answers)  # type: ignore[arg-type]
