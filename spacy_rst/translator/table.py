"""Translations that exist already: `spacy_rst.TableTranslator.v1`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal

from ..errors import Errors, RstError
from ..languages import normal_code
from ..tables import read_table
from .registry import translators

COLUMNS = ("source", "target", "text", "translation")


@translators("spacy_rst.TableTranslator.v1")
@dataclass(eq=False)
class TableTranslator:
    """Looks segments up in a table. Any white space counts as a single space, in the table and in
    segments.

    path (str | Path): A TSV file with the columns source, target, text and translation.
    missing (str): What happens to a segment that is not in the table: "error", or "keep" to leave
        it as it is.
    """

    name = "table"

    path: str | Path
    _: KW_ONLY
    missing: Literal["error", "keep"] = "error"

    def __post_init__(self) -> None:
        self._translations = _read_table(Path(self.path))
        content = repr(sorted(self._translations.items())).encode()
        self._digest = hashlib.sha256(content).hexdigest()[:16]

    def version(self, source: str, target: str) -> str:
        """RETURNS (str): A digest of the table, and what happens to segments that are missing."""
        return f"{self._digest},missing={self.missing}"

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Look segments up. See `Translator.translate`."""
        pair = normal_code(source), normal_code(target)
        found = [self._translations.get((*pair, _single_spaces(text))) for text in segments]
        missing = [text for text, hit in zip(segments, found, strict=True) if hit is None]
        if missing and self.missing == "error":
            raise RstError(
                Errors.R608.format(
                    n_missing=len(missing),
                    n_segments=len(segments),
                    path=self.path,
                    source=source,
                    target=target,
                    first=missing[0],
                )
            )
        return [text if hit is None else hit for text, hit in zip(segments, found, strict=True)]


def _read_table(path: Path) -> dict[tuple[str, str, str], str]:
    translations: dict[tuple[str, str, str], str] = {}
    for number, row in read_table(path, COLUMNS):
        text, second = _single_spaces(row["text"]), _single_spaces(row["translation"])
        key = normal_code(row["source"]), normal_code(row["target"]), text
        first = translations.setdefault(key, second)
        if first != second:
            raise RstError(
                Errors.R607.format(path=path, number=number, text=text, first=first, second=second)
            )
    return translations


def _single_spaces(text: str) -> str:
    return " ".join(text.split())
