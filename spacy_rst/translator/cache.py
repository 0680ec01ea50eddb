"""Translations kept on disk: `spacy_rst.CachedTranslator.v1`.

One SQLite file for any number of engines, pairs and processes. Reads end before writes begin, and a
write is one short transaction, so that processes wait for each other but never block each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from spacy.util import minibatch

from ..errors import Errors, RstError
from .protocol import check_positive, engine_version, translate_checked
from .registry import translators

# "RSTt" and the version of the format: tells our files from other programs' databases.
IDENTITY = (0x52535474, 1)
IDENTIFY = "SELECT * FROM pragma_application_id, pragma_user_version"
CONTENT = [("table", "translations")]
LOCK_SECONDS = 60.0
CREATE = """
CREATE TABLE translations (
    engine TEXT, version TEXT, source TEXT, target TEXT, text TEXT, translation TEXT NOT NULL,
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
    """Asks another engine only for what it has not translated before. It has the name and version
    of that engine.

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
        self.name: str = self.engine.name

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
        with self._open() as database:
            rows = ((text, database.execute(SELECT, (*key, text)).fetchone()) for text in unique)
            known = {text: row[0] for text, row in rows if row is not None}
        missing = [text for text in unique if text not in known]
        for batch in minibatch(missing, self.batch_size):
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
        """Open the file for a moment only: connections must not be carried into other threads and
        processes."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)
            with closing(connection) as database:
                _prepare(database)
                yield database
        except (sqlite3.OperationalError, OSError) as error:  # locked, no space, no permission
            raise RstError(Errors.R611.format(path=self.path, error=error)) from error
        except sqlite3.DatabaseError as error:
            raise RstError(Errors.R610.format(path=self.path, error=error)) from error


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA trusted_schema = OFF")
    if database.execute(IDENTIFY).fetchone() != IDENTITY:
        database.execute("BEGIN IMMEDIATE")
        # Another process may have made the table while this one waited.
        if database.execute(IDENTIFY).fetchone() != IDENTITY:
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise sqlite3.DatabaseError("it is a database for something else")
            database.execute(CREATE)
            database.execute(f"PRAGMA application_id = {IDENTITY[0]}")
            database.execute(f"PRAGMA user_version = {IDENTITY[1]}")
        database.execute("COMMIT")
    # A view or trigger would be run by whatever is asked of the table.
    if database.execute("SELECT type, name FROM sqlite_master").fetchall() != CONTENT:
        raise sqlite3.DatabaseError("it has more in it than a table of translations")
