"""Translations that somebody has made already: `spacy_rst.TableTranslator.v1`."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from ..errors import Errors, RstError
from .languages import normal_code
from .registry import translators

COLUMNS = ("source", "target", "text", "translation")
MISSING_CHOICES = ("error", "keep")


@translators("spacy_rst.TableTranslator.v1")
def make_table_translator(path: Path, missing: str = "error") -> TableTranslator:
    """Make an engine that looks segments up in a table.

    path (Path): A TSV file with the columns source, target, text and translation.
    missing (str): What happens to a segment that is not in the table: "error", or "keep" to give
        it back as it is.
    RETURNS (TableTranslator): The engine.
    """
    return TableTranslator(path, missing=missing)


class TableTranslator:
    """Looks segments up in a table. See `make_table_translator` for the arguments.

    White space counts as a single space, in the table and in segments.
    """

    name = "table"

    def __init__(self, path: str | Path, *, missing: str = "error") -> None:
        if missing not in MISSING_CHOICES:
            raise RstError(Errors.R609.format(value=missing, known=" or ".join(MISSING_CHOICES)))
        self.path = Path(path)
        self.missing = missing
        self._translations = _read_table(self.path)

    @cached_property
    def version(self) -> str:
        """RETURNS (str): A digest of the table, and what happens to segments that are missing."""
        digest = hashlib.sha256(repr(sorted(self._translations.items())).encode())
        return f"{digest.hexdigest()[:16]},missing={self.missing}"

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Look segments up. See `Translator.translate`."""
        pair = normal_code(source), normal_code(target)
        found = [self._translations.get((*pair, _with_spaces(text))) for text in segments]
        missing = [text for text, hit in zip(segments, found, strict=True) if hit is None]
        if missing and self.missing == "error":
            raise RstError(
                Errors.R608.format(
                    path=self.path,
                    n_missing=len(missing),
                    n_segments=len(segments),
                    source=source,
                    target=target,
                    first=missing[0],
                )
            )
        return [text if hit is None else hit for text, hit in zip(segments, found, strict=True)]


def _read_table(path: Path) -> dict[tuple[str, str, str], str]:
    translations: dict[tuple[str, str, str], str] = {}
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RstError(Errors.R606.format(path=path, error=error)) from error
    # Not splitlines(): a text may hold one of the other characters that end lines.
    rows = csv.reader(content.split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    header = next(rows, [])
    places = [header.index(name) if name in header else -1 for name in COLUMNS]
    if -1 in places:
        missing = ", ".join(name for name in COLUMNS if name not in header)
        problem = f"it has no column {missing} in its first line"
        raise RstError(Errors.R606.format(path=path, error=problem))
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) != len(header):
            problem = f"line {number} has {len(row)} columns instead of {len(header)}"
            raise RstError(Errors.R606.format(path=path, error=problem))
        source, target, text, translation = (row[place] for place in places)
        key = normal_code(source), normal_code(target), _with_spaces(text)
        translation = _with_spaces(translation)
        if translations.setdefault(key, translation) != translation:
            raise RstError(
                Errors.R607.format(
                    path=path,
                    number=number,
                    text=key[2],
                    first=translations[key],
                    second=translation,
                )
            )
    return translations


def _with_spaces(text: str) -> str:
    return " ".join(text.split())
