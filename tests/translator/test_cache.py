"""Translations that are kept on disk."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys

import pytest
from spacy.util import registry

from spacy_rst.errors import RstError
from spacy_rst.translator.cache import CachedTranslator

from .engines import AnsweringTranslator, ShoutingTranslator

ENGINE = """
import os, sys, time
from spacy_rst.translator.cache import CachedTranslator
class Engine:
    name = "shout"
    def version(self, source, target):
        return "1"
    def translate(self, segments, source, target):
        time.sleep(0.005)
        if "poison" in segments:
            os.kill(os.getpid(), 9)
        return [segment + "!" for segment in segments]
"""
KILLED = """
segments = [str(number) for number in range(12)] + ["poison"]
CachedTranslator(Engine(), sys.argv[1], batch_size=5).translate(segments, "es", "en")
"""
# Both processes translate the same segments, from opposite ends.
TOGETHER = """
segments = [str(number) for number in range(200)][:: int(sys.argv[2])]
cache = CachedTranslator(Engine(), sys.argv[1], batch_size=4)
sys.stdin.readline()
assert cache.translate(segments, "es", "en") == [segment + "!" for segment in segments]
assert cache.n_translated + cache.n_cached == 200
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "below" / "cache.sqlite"


def test_nothing_is_translated_twice(path):
    engine = ShoutingTranslator()
    cache = CachedTranslator(engine, path)
    assert cache.translate(["a", "b", "a"], "es", "en") == ["A", "B", "A"]
    assert cache.translate(["c", "a"], "es", "en") == ["C", "A"]
    assert engine.asked == ["a", "b", "c"]
    assert (cache.n_translated, cache.n_cached) == (3, 2)
    again = CachedTranslator(ShoutingTranslator(), path)
    assert again.translate(["c", "b"], "es", "en") == ["C", "B"]
    assert again.engine.calls == []  # type: ignore[attr-defined]


def test_engines_versions_and_pairs_are_kept_apart(path):
    assert CachedTranslator(ShoutingTranslator(), path).translate(["a"], "es", "en") == ["A"]
    assert CachedTranslator(AnsweringTranslator("x"), path).translate(["a"], "es", "en") == ["x"]
    newer = CachedTranslator(ShoutingTranslator(data="2"), path)
    assert (newer.name, newer.version("es", "en")) == ("shout", "2")
    newer.translate(["a"], "es", "en")
    assert newer.n_translated == 1
    same = ShoutingTranslator()
    for pair in (("es", "de"), ("eu", "en"), ("es", "en")):
        CachedTranslator(same, path).translate(["a"], *pair)
    assert [call[1:] for call in same.calls] == [("es", "de"), ("eu", "en")]


def test_odd_texts_survive(path):
    odd = ["a\0b", "a", "", " ", "línea\nuna", "👩‍👩‍👧", "x" * 5000]
    texts = [*odd, "'; DROP TABLE translations; --"]
    engine = ShoutingTranslator()
    CachedTranslator(engine, path).translate(texts, "es", "en")
    assert engine.asked == texts
    again = CachedTranslator(ShoutingTranslator(), path)
    assert again.translate(texts, "es", "en") == [text.upper() for text in texts]
    assert again.n_translated == 0


def test_a_batch_with_a_missing_translation_is_not_kept(path):
    with pytest.raises(RstError, match="R604"):
        CachedTranslator(AnsweringTranslator("x"), path).translate(["a", "b"], "es", "en")
    engine = AnsweringTranslator("A", "B")
    assert CachedTranslator(engine, path).translate(["a", "b"], "es", "en") == ["A", "B"]


def test_a_killed_run_continues_where_it_stopped(path):
    killed = subprocess.run([sys.executable, "-c", ENGINE + KILLED, str(path)])
    assert killed.returncode == -9
    engine = ShoutingTranslator()
    segments = [str(number) for number in range(12)]
    results = CachedTranslator(engine, path).translate(segments, "es", "en")
    assert engine.asked == segments[10:]
    assert results == [f"{number}!" for number in range(10)] + segments[10:]


def test_two_processes_share_a_file(path):
    command, pipe = [sys.executable, "-c", ENGINE + TOGETHER, str(path)], subprocess.PIPE
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen([*command, step], stdin=pipe, stderr=pipe, env=environment)
        for step in ("1", "-1")
    ]
    errors = [process.communicate(b"go\n")[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM translations").fetchone() == (200,)


def run_sql(script):
    def run(path):
        with sqlite3.connect(path) as database:
            database.executescript(script)

    return run


def overwrite(start, content):
    return lambda path: path.write_bytes(path.read_bytes()[:start] + content)


@pytest.mark.parametrize(
    "damage, problem",
    [
        (overwrite(0, b"source\ttarget\n" * 100), "not a database"),
        (overwrite(0, b"SQLite format 3\0" + b"x" * 5000), ""),
        (overwrite(4096, os.urandom(100_000)), ""),
        (run_sql("DROP TABLE translations; CREATE TABLE recipes (name TEXT)"), "something else"),
        # What would run with each query
        (
            run_sql(
                "CREATE TRIGGER t AFTER INSERT ON translations BEGIN DELETE FROM translations; END"
            ),
            "something else",
        ),
        (
            run_sql(
                "ALTER TABLE translations RENAME TO others;"
                "CREATE VIEW translations AS SELECT engine, version, source, target, text,"
                " randomblob(9) AS translation FROM others"
            ),
            "something else",
        ),
    ],
)
def test_a_file_that_is_not_a_whole_cache_is_reported_and_left_alone(path, damage, problem):
    cache = CachedTranslator(ShoutingTranslator(), path)
    segments = [f"segment {number}" for number in range(2000)]
    cache.translate(segments, "es", "en")
    damage(path)
    content = path.read_bytes()
    with pytest.raises(RstError, match=f"R610.*{problem}"):
        cache.translate([*segments, "another"], "es", "en")
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "cache.sqlite"):
        with pytest.raises(RstError, match="R610"):
            CachedTranslator(ShoutingTranslator(), path).translate(["a"], "es", "en")


def test_it_is_made_from_a_config_and_can_be_sent_to_other_processes(path):
    registry.rst_translators("tests.Cached.v1", func=ShoutingTranslator)
    engine = {"@rst_translators": "tests.Cached.v1"}
    block = {"@rst_translators": "spacy_rst.CachedTranslator.v1", "path": str(path)}
    cache = registry.resolve({"cache": {**block, "engine": engine, "batch_size": 1}})["cache"]
    cache = pickle.loads(pickle.dumps(cache))
    assert cache.translate(["a", "b"], "es", "en") == ["A", "B"]
    assert [segments for segments, _, _ in cache.engine.calls] == [["a"], ["b"]]
