"""Commands that are killed at named points: what was there stays, and another run completes it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.tokens import DocBin

from tests.sample import SAMPLE, sample_docs, write_corpus

pytestmark = pytest.mark.slow
ROOT = SAMPLE.parent.parent
TEXTS = {
    "a.txt": "It rained, so we stayed at home.",
    "b.txt": "The ferry was late. Nobody minded, because the sun shone.",
    "c d.txt": "Although it was cold, they swam.",
    "c_d.txt": "She left when the music stopped.",
}


class Point(NamedTuple):
    """A command is killed before an event happens for the NUMBERth time on a path that fits."""

    event: str
    pattern: str
    number: int = 1


RENAME = "os.rename"


def run(*arguments: object, kill: Point | None = None, cwd: Path) -> None:
    """Run a real command in a process of its own, to its end or to a point."""
    start = ["-m", "spacy"] if kill is None else ["-m", "tests.faults.killed", *map(str, kill)]
    finished = subprocess.run(
        [sys.executable, *start, "rst", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
    )
    expected = 0 if kill is None else -signal.SIGKILL
    assert finished.returncode == expected, finished.stdout + finished.stderr


def docs_in(path: Path) -> list[Any]:
    docs = DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)
    return [(doc.text, repr([*doc.spans["edus"]]), dict(doc.user_data)) for doc in docs]


def contents(folder: Path) -> dict[str, Any]:
    """All files below a folder, DocBins as what they hold; none of them may be a left-over."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    return {
        name: docs_in(path) if path.suffix == ".spacy" else path.read_bytes()
        for name, path in files.items()
        if path.is_file()
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Callable[..., dict[str, Any]]:
    """What a command writes in peace, made once for each command."""
    known: dict[str, dict[str, Any]] = {}

    def write(name: str, cwd: Path, *arguments: object) -> dict[str, Any]:
        if name not in known:
            output = tmp_path_factory.mktemp(name)
            run(*(output / "out" if item is OUT else item for item in arguments), cwd=cwd)
            known[name] = contents(output / "out")
        return known[name]

    return write


OUT = object()  # stands for the output among the arguments


@pytest.mark.parametrize(
    "point", [Point("open", "*.tmp"), Point(RENAME, "*out/all.spacy")], ids=["write", "rename"]
)
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "replaced"])
def test_convert(point, is_there, tmp_path):
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "all.spacy"
    arguments = ("convert", SAMPLE / "en", target, "--treebank", "sample.en", "--lang", "en")
    if is_there:
        write_corpus(target, sample_docs(spacy.blank("xx"), ["eu"])[:1])
    before = docs_in(target) if is_there else None
    run(*arguments, kill=point, cwd=tmp_path)
    assert (docs_in(target) if target.exists() else None) == before
    run(*arguments, cwd=tmp_path)
    assert list(contents(tmp_path / "out")) == ["all.spacy"]
    assert len(docs_in(target)) == 4


@pytest.mark.parametrize("number", [2, 4])
def test_parse_into_a_folder(number, undisturbed, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, text in TEXTS.items():
        (texts / name).write_text(text, encoding="utf8")
    options = ("--format", "json", "--batch-size", 1)
    whole = undisturbed("folder", tmp_path, "parse", texts, "-o", OUT, *options)
    assert sum(name.endswith(".json") for name in whole) == len(TEXTS)
    arguments = ("parse", texts, "-o", tmp_path / "out", *options)
    run(*arguments, kill=Point(RENAME, "*/out/*.json", number), cwd=tmp_path)
    trees = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.json")}
    assert len(trees) == number - 1
    run(*arguments, "--resume", cwd=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in trees} == trees
    written = contents(tmp_path / "out")
    assert written.keys() == whole.keys()
    assert all(written[name] == whole[name] for name in whole if name.endswith(".json"))


@pytest.mark.parametrize(
    "point",
    [Point("open", "*second.jsonl"), Point(RENAME, "*/out/trees.jsonl")],
    ids=["between files", "at the end"],
)
def test_parse_into_a_file(point, tmp_path):
    texts = list(TEXTS.values())
    for name, part in (("first", texts[:3]), ("second", texts[3:])):
        lines = [json.dumps({"name": f"{name} {n}", "text": text}) for n, text in enumerate(part)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf8")
    inputs = (tmp_path / "first.jsonl", tmp_path / "second.jsonl")
    options = ("--format", "jsonl", "--batch-size", 1)
    target = tmp_path / "out" / "trees.jsonl"
    run("parse", *inputs, "-o", tmp_path / "whole.jsonl", *options, cwd=tmp_path)
    arguments = ("parse", *inputs, "-o", target, *options)
    run(*arguments, kill=point, cwd=tmp_path)
    assert not target.exists() and target.with_name("trees.jsonl.part").read_bytes()
    run(*arguments, "--resume", cwd=tmp_path)
    assert list(contents(tmp_path / "out")) == ["trees.jsonl"]
    assert target.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.parametrize("number", [1, 2])
def test_translate(number, undisturbed, tmp_path):
    nlp = spacy.blank("xx")
    (tmp_path / "in").mkdir()
    for language in ("es", "eu"):
        write_corpus(tmp_path / "in" / f"{language}.spacy", sample_docs(nlp, [language])[:2])
    table = tmp_path / "table.tsv"
    table.write_text("source\ttarget\ttext\ttranslation\neu\ten\tBai.\tYes.\n", encoding="utf8")
    settings = ("--translator.path", table, "--translator.missing", "keep")
    options = ("--engine", "table", *settings)
    whole = undisturbed("translate", tmp_path, "translate", tmp_path / "in", OUT, *options)
    arguments = ("translate", tmp_path / "in", tmp_path / "out", *options)
    run(*arguments, kill=Point(RENAME, "*/out/*.spacy", number), cwd=tmp_path)
    assert len([*(tmp_path / "out").glob("*.spacy")]) == number - 1
    run(*arguments, "--resume", cwd=tmp_path)
    assert contents(tmp_path / "out") == whole


# A new folder is moved once; one that is there is moved aside first.
@pytest.mark.parametrize(("number", "is_there"), [(1, False), (1, True), (2, True)])
def test_bundle(number, is_there, undisturbed, tmp_path):
    nlp = spacy.blank("en")
    home = tmp_path / "home"
    home.mkdir()
    if is_there:
        nlp.to_disk(home / "out")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "new")
    whole = undisturbed("bundle", tmp_path, "bundle", tmp_path / "new", OUT)
    run("bundle", tmp_path / "new", home / "out", kill=Point(RENAME, "*", number), cwd=tmp_path)
    # The old pipeline, or the new one, is there as a whole, under its name or beside it.
    folders = [path.parent for path in home.rglob("config.cfg")]
    assert not is_there or any(_loads(folder) for folder in folders)
    run("bundle", tmp_path / "new", home / "out", cwd=tmp_path)
    assert [path.name for path in home.iterdir()] == ["out"]
    assert contents(home / "out") == whole
    shutil.rmtree(home)


def _loads(folder: Path) -> bool:
    try:
        spacy.load(folder)
    except (OSError, ValueError):
        return False
    return True
