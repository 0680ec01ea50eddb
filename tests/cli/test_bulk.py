"""Bulk parsing, but for Ray itself: rows, part files, what is done already, and wrong usage."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
from filelock import FileLock
from spacy.language import Language
from spacy.tokens import Doc

from spacy_rst.cli._bulk import LOCK, RUN, PartFolder, parse_rows, part_name
from spacy_rst.cli._inputs import InputFile, find_texts, is_below, read_texts
from spacy_rst.cli._parsing import EduUnits
from spacy_rst.cli._ray import Attempts, group_files, unfinished_readings
from spacy_rst.errors import RstError
from spacy_rst.pipelines import load
from tests.processes import run_python

TEXTS = {
    "a.txt": "It rained all day, so we stayed at home.",
    "b.txt": "The ferry was late. Nobody minded, because the sun shone.",
    "c.md": "# Heading\n\nAlthough it was cold, they swam.",
    "empty.txt": " \n",
    "latin.txt": b"caf\xe9",
    "d.jsonl": '{"text": "She left when the music stopped.", "name": "x", "year": 1999}\n'
    '{"text": "If it rains, we stay.", "name": "x"}\nnonsense\n',
}


@Language.component("fails_alone")
def fails_alone(doc: Doc) -> Doc:
    if "FAIL" in doc.text:
        raise RuntimeError("as requested")
    return doc


class FailsForAll:
    """A component that knows no error handlers."""

    def __call__(self, doc: Doc) -> Doc:
        return fails_alone(doc)

    def pipe(self, stream, **_):
        return map(self, stream)


@Language.factory("fails_for_all")
def make_fails_for_all(nlp: Language, name: str) -> FailsForAll:
    return FailsForAll()


@pytest.fixture(scope="module")
def nlp():
    return load()


@pytest.fixture
def texts(rst):
    Path("texts").mkdir()
    for name, text in TEXTS.items():
        Path("texts", name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return Path("texts")


def readings_of(texts: Path, done=None) -> list:
    """What is not done, as it comes to a worker: pickled."""
    files, problems = find_texts([str(texts)], "out")
    assert problems == []
    groups = [[(file, (done or {}).get(file.source, set())) for file in files]]
    readings = [reading for group in groups for reading in unfinished_readings(group, "utf8")]
    return pickle.loads(pickle.dumps(readings))


def parse_all(nlp: Language, readings: list) -> list[dict]:
    return parse_rows(nlp, readings, EduUnits.auto, batch_size=64)


def test_rows_are_the_trees_of_parse(nlp, rst, texts):
    rst("parse", "texts", "--output", "trees.jsonl", code=2)
    lines = map(json.loads, Path("trees.jsonl").read_text(encoding="utf8").splitlines())
    expected = sorted(lines, key=lambda line: (line["name"], str(line)))
    folder = PartFolder("parts", "jsonl")
    with folder.open():
        folder.write_part(parse_all(nlp, readings_of(texts)))
    (part,) = Path("parts").glob("part-*.jsonl")
    rows = [json.loads(line) for line in part.read_text(encoding="utf8").splitlines()]
    parsed = [row for row in rows if row["error"] is None]
    assert len(expected) == len(parsed) == 6
    parsed.sort(key=lambda row: (row["name"], str(row)))
    for line, row in zip(expected, parsed, strict=True):
        assert set(row) - set(line) == {"source", "number", "relations", "error"}
        assert {key: row[key] for key in line} == line
    errors = {row["name"]: row["error"][:6] for row in rows if row["error"]}
    assert errors == {"latin": "[R513]", "d_3": "[R514]"}
    by_key = {(row["source"], row["name"], row["number"]): row for row in rows}
    assert len(by_key) == len(rows) == 8
    assert by_key["../texts/d.jsonl", "x", 2]["tree"]["edus"] == ["If it rains,", "we stay."]
    relation = by_key["../texts/a.txt", "a", 1]["relations"][0]
    place = slice(relation["nucleus_start"], relation["nucleus_end"])
    assert TEXTS["a.txt"][place] == relation["nucleus"]


@pytest.mark.parametrize("fragile", ["fails_alone", "fails_for_all"])
def test_a_document_that_fails_is_a_row(texts, fragile):
    nlp = load()
    nlp.add_pipe(fragile, first=True)
    (texts / "bad.txt").write_text("FAIL, because it must.")
    rows = parse_all(nlp, readings_of(texts))
    errors = {row["name"]: row["error"] for row in rows}
    assert set(errors) == {"a", "b", "c", "empty", "latin", "x", "d_3", "bad"}
    assert {name for name, error in errors.items() if error} == {"latin", "d_3", "bad"}
    assert "as requested" in errors["bad"]


def test_what_is_done_is_not_read_again(nlp, texts):
    folder = PartFolder("parts", "jsonl")
    readings = readings_of(texts)
    with folder.open():
        folder.write_part(parse_all(nlp, readings[:3]))
        before = folder.names()
        folder.write_part(parse_all(nlp, readings[:3]))
        assert folder.names() == before
        done = folder.done()
        left = readings_of(texts, done)
        assert [origin.key for origin, _ in left] == [origin.key for origin, _ in readings[3:]]
        folder.write_part(parse_all(nlp, left))
        assert readings_of(texts, folder.done()) == []


def test_a_damaged_part_is_named(tmp_path):
    name = part_name([("a", "b", 1)]) + ".jsonl"
    (tmp_path / name).write_text('{"name": "a"}\n')
    with pytest.raises(RstError, match=rf"R524.*{name}|{name}.*R524"):
        PartFolder(str(tmp_path), "jsonl").done()


def test_part_files_are_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = PartFolder(str(tmp_path), "jsonl")
    with folder.open(), monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no room")))
        with pytest.raises(OSError, match="no room"):
            folder.write("part-1.jsonl", b"content")
        assert folder.names() == [LOCK]
    (tmp_path / ".part-0123.tmp").write_bytes(b"half")
    with folder.open():
        assert folder.names() == [LOCK]


def test_two_runs_do_not_share_a_folder(tmp_path):
    folder = PartFolder(str(tmp_path), "jsonl")
    with FileLock(tmp_path / LOCK), pytest.raises(RstError, match="R566"), folder.open():
        pass


def test_parts_of_another_run_are_left_alone(tmp_path):
    folder = PartFolder(str(tmp_path), "jsonl")
    folder.check_run({"model": "a", "edus": "auto"})
    folder.check_run({"model": "a", "edus": "auto"})
    with pytest.raises(RstError, match=r"R565.*\"a\".*\"b\""):
        folder.check_run({"model": "b", "edus": "auto"})
    assert json.loads((tmp_path / RUN).read_text()) == {"model": "a", "edus": "auto"}


def test_files_are_found_once_and_grouped(texts):
    files, problems = find_texts(["texts", "texts/a.txt", "nowhere"], "out")
    assert [place for place, _ in problems] == ["nowhere"]
    assert [file.name for file in files] == ["a", "b", "c", "d", "empty", "latin"]
    assert files[0].source == "../texts/a.txt"
    absolute = str((texts / "a.txt").resolve())
    assert find_texts(["texts/a.txt"], "s3://bucket/out")[0][0].source == absolute
    assert [[file.name for file in group] for group in group_files(files, 2)] == [
        ["d"], ["a", "b"], ["c", "empty"], ["latin"],
    ]  # fmt: skip
    ((as_uri,), _) = find_texts([(texts / "a.txt").absolute().as_uri()], "out")
    assert as_uri.source == files[0].source
    remote = InputFile("page", "s3://bucket/folder/page.MD?region=eu")
    assert remote.has_one_text and remote.ending == ".md"


@pytest.mark.parametrize(
    ("place", "other", "below"),
    [
        ("texts/out", "texts", True),
        ("texts", "texts", True),
        ("texts_out", "texts", False),
        ("s3://b/texts/out", "s3://b/texts/", True),
        ("s3://b/texts_out", "s3://b/texts", False),
        ("s3://b/texts/out?region=x", "s3://b/texts?region=x", True),
        ("out", "s3://b/out", False),
    ],
)
def test_is_below(place, other, below):
    assert is_below(place, other) is below


def test_attempts_count_what_was_not_finished():
    attempts = Attempts()
    assert [attempts.begin("a"), attempts.begin("a"), attempts.begin("b")] == [0, 1, 0]
    attempts.finish("a")
    assert [attempts.begin("a"), attempts.begin("b")] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "ray", "-", "--output", "out"], "R521] Standard input"),
        (["--engine", "ray", "--output", "out"], "R521] Standard input"),
        (["--engine", "ray", "texts"], "R521] Standard output"),
        (["--engine", "ray", "texts", "--output", "out", "--format", "svg"], "R521] --format svg"),
        (["--engine", "ray", "texts", "--output", "texts/out"], "R522"),
        (["--engine", "ray", "nowhere", "--output", "out"], "nowhere"),
        (["--engine", "ray", "texts", "--output", "out", "--model", "nothing"], "R091"),
        (["texts", "--worker-gpus", "1"], "R521] --worker-gpus"),
        (["texts", "--part-size", "10"], "R521] --part-size"),
    ],
)
def test_wrong_usage(rst, texts, arguments, message):
    assert message in rst("parse", *arguments, code=1).output
    assert not Path("out").exists()


def test_without_ray_and_pyarrow_the_extra_is_named_where_it_is_needed(texts):
    code = """
import sys
sys.modules["ray"] = sys.modules["pyarrow"] = None
sys.stderr = sys.stdout
from spacy_rst.cli import rst_app
for arguments in (
    ["texts/a.txt"], ["a.parquet"], ["--engine", "ray", "texts", "-o", "out", "-f", "jsonl"]
):
    try:
        rst_app(["parse", *arguments])
    except SystemExit as end:
        print("exit code", end.code)
"""
    Path("a.parquet").write_bytes(b"PAR1")
    printed = run_python(code).split("exit code")
    assert "stayed at home" in printed[0]
    assert [end.strip()[:1] for end in printed[1:]] == ["0", "1", "1"]
    assert "R090" in printed[1] and "R090" in printed[2]


def test_parquet_has_the_same_rows(nlp, texts, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    rows = parse_all(nlp, readings_of(texts))
    folder = PartFolder(str(tmp_path / "parts"), "parquet")
    with folder.open():
        folder.write_part(rows)
        assert sum(map(len, folder.done().values())) == len(rows)
    read = pq.read_table(tmp_path / "parts").to_pylist()
    for row, expected in zip(read, rows, strict=True):
        fields = row["fields"]
        row["fields"] = None if fields is None else json.loads(fields)
        if row["tree"] is not None:
            row["tree"]["splits"] = [list(split.values()) for split in row["tree"]["splits"]]
        assert row == expected


def test_parquet_is_read(texts):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = {"text": ["One.", None, "Three."], "name": ["x", "x", None], "other": [1, 2, 3]}
    pq.write_table(pa.table(table), "texts/t.parquet")
    Path("texts/u.parquet").write_bytes(b"PAR1 nonsense")
    files, _ = find_texts(["texts"])
    readings = list(read_texts(file for file in files if file.ending == ".parquet"))
    assert [(origin.name, origin.number) for origin, _ in readings] == [
        ("x", 1), ("x", 2), ("t_3", 1), ("u", 1),
    ]  # fmt: skip
    assert [str(text)[:6] for _, text in readings] == ["One.", "[R514]", "Three.", "[R514]"]


def test_listing_and_writing_by_uri(tmp_path):
    pytest.importorskip("pyarrow")
    from spacy_rst.cli import _arrow

    (tmp_path / "deep").mkdir()
    _arrow.write_object((tmp_path / "deep" / "a.txt").as_uri(), b"one\ntwo\n")
    (uri, path), *others = _arrow.list_files(tmp_path.as_uri())
    assert (path, others) == ("deep/a.txt", [])
    with _arrow.open_input(uri) as stream:
        assert list(stream) == [b"one\n", b"two\n"]
    assert _arrow.list_files((tmp_path / "nowhere").as_uri()) == []
    with pytest.raises(RstError, match="R134"):
        _arrow.list_files("nonsense://a/b")
