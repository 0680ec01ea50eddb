"""Translations kept on disk: `spacy_rst.CachedTranslator.v1`.

One SQLite file holds any number of engines and pairs, and any number of processes may use it: each
write is one short transaction, and no read lasts until it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from ..errors import Errors, RstError
from .protocol import Translator, translate_checked
from .registry import translators

LOCK_SECONDS = 60.0
TABLE = """translations (
    engine TEXT, version TEXT, source TEXT, target TEXT, text TEXT, translation TEXT NOT NULL,
    PRIMARY KEY (engine, version, source, target, text)
) WITHOUT ROWID"""
SCHEMA = "SELECT sql FROM sqlite_master"
SELECT = """
SELECT translation FROM translations
WHERE engine = ? AND version = ? AND source = ? AND target = ? AND text = ?
"""
INSERT = "INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?, ?, ?)"


@translators("spacy_rst.CachedTranslator.v1")
@dataclass(eq=False)
class CachedTranslator:
    """Asks another engine only for what it has not translated before, and has its name and version.

    engine (Translator): The other engine.
    path (str | Path): The file for translations; it is created if it does not exist.
    batch_size (int): How many segments the other engine gets at a time. A finished batch is kept,
        whatever happens to the next one.
    n_cached (int): Segments so far that were found in the file, or repeated within a call.
    n_translated (int): Segments so far that the other engine translated.
    """

    engine: Translator
    path: str | Path
    _: KW_ONLY
    batch_size: int = 500
    n_cached: int = field(default=0, init=False)
    n_translated: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.name: str = self.engine.name

    def version(self, source: str, target: str) -> str:
        """RETURNS (str): The version of the other engine."""
        return self.engine.version(source, target)

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments, each text once. See `Translator.translate`."""
        if not segments:
            return []
        key = (self.name, self.version(source, target), source, target)
        unique = list(dict.fromkeys(segments))
        with self._open() as database:
            rows = ((text, database.execute(SELECT, (*key, text)).fetchone()) for text in unique)
            known = {text: row[0] for text, row in rows if row is not None}
        missing = [text for text in unique if text not in known]
        for start in range(0, len(missing), self.batch_size):
            batch = missing[start : start + self.batch_size]
            translations = translate_checked(self.engine, batch, source, target)
            new = dict(zip(batch, translations, strict=True))
            with self._open() as database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(INSERT, ((*key, *pair) for pair in new.items()))
                database.execute("COMMIT")
            known |= new
            self.n_translated += len(batch)
        self.n_cached += len(segments) - len(missing)
        return [known[text] for text in segments]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for a moment: other threads and processes must not get the connection."""
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)
            with closing(connection) as database:
                _prepare(database)
                yield database
        except (sqlite3.DatabaseError, OSError) as error:
            raise RstError(Errors.R610.format(path=self.path, error=error)) from error


def _prepare(database: sqlite3.Connection) -> None:
    """Create the table in a new file. Anything else must not be there: it may be the database of
    another program, and views and triggers would run with each query."""
    database.execute("PRAGMA trusted_schema = OFF")
    if not database.execute(SCHEMA).fetchall():
        # Another process may be faster.
        database.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")
    if database.execute(SCHEMA).fetchall() != [(f"CREATE TABLE {TABLE}",)]:
        raise sqlite3.DatabaseError("it holds something else than a table of translations")
