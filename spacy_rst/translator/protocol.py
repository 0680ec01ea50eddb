"""What a translation engine is, and how it is asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from ..errors import Errors, RstError

SURROGATE = re.compile("[\ud800-\udfff]")


class Translator(Protocol):
    """Translates segments. Anything with these three members is an engine.

    name (str): The engine's name.
    """

    @property
    def name(self) -> str: ...

    def version(self, source: str, target: str) -> str:
        """Identify what translates a pair of languages.

        source (str): The code of the language to translate from, e.g. "es".
        target (str): The code of the language to translate to.
        RETURNS (str): The model or data, and the options that change translations: the cache
            returns a translation only to an engine of the same name and version.
        """
        ...

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments, all in one call.

        segments (Sequence[str]): The segments.
        source (str): The code of their language.
        target (str): The code of the language to translate to.
        RETURNS (list[str]): Their translations, as many and in the same order.
        RAISES (RstError): If the pair is unknown or the engine fails.
        """
        ...


class EngineUnavailable(RstError):
    """Raised when an engine cannot work at all, so that other segments would fail as well."""


def translate_checked(
    engine: Translator, segments: Sequence[str], source: str, target: str
) -> list[str]:
    """Translate segments, if there are any, and check that each has one string in return."""
    if not segments:
        return []
    translations = list(engine.translate(segments, source, target))
    problem = ""
    if len(translations) != len(segments):
        problem = f"{len(translations)} for {len(segments)} segments"
    for segment, value in zip(segments, translations, strict=False):
        if not isinstance(value, str) or SURROGATE.search(value):
            problem = problem or f"{value!r} for '{segment}'"
    if problem:
        raise RstError(Errors.R604.format(engine=engine.name, problem=problem))
    return translations


def unknown_pair(engine: Translator, source: str, target: str, known: Iterable[str]) -> RstError:
    """The error for an engine that does not translate between two languages."""
    names = ", ".join(sorted(known)) or "nothing"
    message = Errors.R600.format(engine=engine.name, source=source, target=target, known=names)
    return RstError(message)


def file_digest(file: Path) -> bytes:
    """Digest a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()
