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
    """Translates segments. Whatever has these three is an engine.

    name (str): The engine's name.
    version (str): Identifies its model or data and the options that change its translations: the
        cache gives out a translation only to the same name and version.

    An engine whose pairs have data of their own may also have `pair_version(source, target)`. Then
    the cache goes by that, and data for one more pair do not make it forget the others.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments, all in one call.

        segments (Sequence[str]): The segments.
        source (str): The code of their language, e.g. "es".
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
    """Translate segments like `Translator.translate`. Without segments, the engine is not asked.

    RAISES (RstError): If the engine fails, or does not give one string for each segment.
    """
    if not segments:
        return []
    translations = list(engine.translate(segments, source, target))
    if len(translations) != len(segments):
        raise RstError(
            Errors.R604.format(
                engine=engine.name, n_segments=len(segments), n_translations=len(translations)
            )
        )
    for segment, value in zip(segments, translations, strict=True):
        if not isinstance(value, str) or SURROGATE.search(value):
            raise RstError(Errors.R605.format(engine=engine.name, segment=segment, value=value))
    return translations


def engine_version(engine: Translator, source: str, target: str) -> str:
    """RETURNS (str): What `pair_version` says of a pair, or `version` in an engine without it."""
    pair_version = getattr(engine, "pair_version", None)
    return engine.version if pair_version is None else pair_version(source, target)


def check_positive(**options: float) -> None:
    """RAISES (RstError): For the first option that is not above 0."""
    for name, value in options.items():
        if not value > 0:
            raise RstError(Errors.R612.format(name=name, value=value))


def unknown_pair(engine: Translator, source: str, target: str, known: Iterable[str]) -> RstError:
    """RETURNS (RstError): That an engine has no way from a language to another."""
    names = ", ".join(sorted(known)) or "nothing"
    return RstError(
        Errors.R600.format(engine=engine.name, source=source, target=target, known=names)
    )


def digest_of(file: Path) -> bytes:
    """RETURNS (bytes): A digest of what a file holds."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()
