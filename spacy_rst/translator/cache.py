"""Translations kept on disk: `spacy_rst.CachedTranslator.v1`.

One SQLite file for any number of engines, pairs and processes. Reads end before writes begin, and a
write is one short transaction, so that processes wait for each other but never block each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, RstError
from .protocol import check_positive, engine_version, translate_checked
from .registry import translators

# "RSTt" and the version of the format: tells our files from other programs' databases.
IDENTITY = (0x52535474, 1)
CONTENT = [("table", "translations")]
LOCK_SECONDS = 60.0
CREATE = """
CREATE TABLE IF NOT EXISTS translations (
    engine TEXT NOT NULL,
    version TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    text TEXT NOT NULL,
    translation TEXT NOT NULL,
    PRIMARY KEY (engine, version, source, target, text)
) WITHOUT ROWID
"""
SELECT = """
SELECT translation FROM translations
WHERE engine = ? AND version = ? AND source = ? AND target = ? AND text = ?
"""
INSERT = "INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?, ?, ?)"


@translators("spacy_rst.CachedTranslator.v1")
@dataclass(eq=False)
class CachedTranslator:
    """Asks another engine only for what it has not translated before.

    engine (Translator): The other engine.
    path (Path): The file for translations; it is made if it does not exist.
    batch_size (int): How many segments the other engine gets at a time. A batch that is finished is
        kept, whatever happens to the next.
    n_cached (int): Segments so far that the other engine was not asked for.
    n_translated (int): Segments so far that it translated.
    """

    engine: Any  # a protocol would be checked by reading the version, which may be costly
    path: Path
    _: KW_ONLY
    batch_size: int = 256
    n_cached: int = field(default=0, init=False)
    n_translated: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        check_positive(batch_size=self.batch_size)
        self.path = Path(self.path)  # it may be a string

    @property
    def name(self) -> str:
        """RETURNS (str): The name of the other engine."""
        return self.engine.name

    @property
    def version(self) -> str:
        """RETURNS (str): The version of the other engine."""
        return self.engine.version

    def pair_version(self, source: str, target: str) -> str:
        """RETURNS (str): What the other engine translates a pair with."""
        return engine_version(self.engine, source, target)

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments, each text once. See `Translator.translate`."""
        if not segments:
            return []
        key = (self.name, self.pair_version(source, target), source, target)
        unique = list(dict.fromkeys(segments))
        known = self._read(key, unique)
        missing = [text for text in unique if text not in known]
        for start in range(0, len(missing), self.batch_size):
            batch = missing[start : start + self.batch_size]
            translated = translate_checked(self.engine, batch, source, target)
            self._write(
                (*key, text, result) for text, result in zip(batch, translated, strict=True)
            )
            known.update(zip(batch, translated, strict=True))
            self.n_translated += len(batch)
        self.n_cached += len(segments) - len(missing)
        return [known[text] for text in segments]

    def _read(self, key: tuple[str, ...], texts: Sequence[str]) -> dict[str, str]:
        with self._open() as database:
            rows = ((text, database.execute(SELECT, (*key, text)).fetchone()) for text in texts)
            return {text: row[0] for text, row in rows if row is not None}

    def _write(self, rows: Iterator[tuple[str, ...]]) -> None:
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(INSERT, rows)
            database.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for a moment only: connections must not be carried into other threads and
        processes."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)
            try:
                self._prepare(database)
                yield database
            finally:
                database.close()
        except sqlite3.OperationalError as error:  # locked, no space, no permission
            raise RstError(Errors.R611.format(path=self.path, error=error)) from error
        except sqlite3.DatabaseError as error:
            raise RstError(Errors.R610.format(path=self.path, error=error)) from error
        except OSError as error:
            raise RstError(Errors.R611.format(path=self.path, error=error)) from error

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA trusted_schema = OFF")
        if _identity(database) != IDENTITY:
            database.execute("BEGIN IMMEDIATE")
            # Another process may have made the table while this one waited.
            if _identity(database) != IDENTITY:
                if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise self._foreign("it is a database for something else")
                database.execute(CREATE)
                database.execute(f"PRAGMA application_id = {IDENTITY[0]}")
                database.execute(f"PRAGMA user_version = {IDENTITY[1]}")
            database.execute("COMMIT")
        # A view or trigger would be run by whatever is asked of the table.
        if database.execute("SELECT type, name FROM sqlite_master").fetchall() != CONTENT:
            raise self._foreign("it has more in it than a table of translations")

    def _foreign(self, problem: str) -> RstError:
        return RstError(Errors.R610.format(path=self.path, error=problem))


def _identity(database: sqlite3.Connection) -> tuple[int, int]:
    application_id = database.execute("PRAGMA application_id").fetchone()[0]
    return application_id, database.execute("PRAGMA user_version").fetchone()[0]
