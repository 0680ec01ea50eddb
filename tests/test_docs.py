"""The examples in README and docs run: all Python, and all commands but those listed here."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spacy.cli import app

import spacy_rst.cli  # noqa: F401  (registers the commands)
from spacy_rst.pipelines import pipeline_path
from spacy_rst.treebank.rs3 import read_rs3
from tests.scripts import ROOT, invoke, make_checkout

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")

# What commands are not run that contain this, and why.
NOT_RUN = {
    "make ": "sets up an environment of its own; CI runs it",
    "pip install": "needs the network",
    "apt-get install": "needs the network",
    "--engine apertium": "needs Debian packages",
    "project assets --extra": "needs the network",
    "project run unpack": "needs the public treebanks",
    "project run fetch-pieces": "needs the network",
    "project run train-default": "needs the public treebanks",
    "project run train-english": "needs the public treebanks",
    "'??.*'": "needs the public treebanks",
    "gpu_id 0": "needs a GPU",
    "--address": "needs a cluster",
    "s3://": "needs an object store",
}
# Pages whose examples need what `make test-system` installs.
SYSTEM = {"bulk.md"}
# Commands that train, or run others that do.
SLOW = ("spacy train ", "spacy rst train ", "spacy project run")
# Commands that start processes of their own.
OUTSIDE = "spacy project run"


def pages(chosen: Iterable[Path]) -> list[Any]:
    """Pages as parameters of a test."""
    return [
        pytest.param(page, id=page.name, marks=[pytest.mark.system] if page.name in SYSTEM else [])
        for page in chosen
    ]


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """Yield the blocks of a page in a language, each with the number of lines before it."""
    text = page.read_text(encoding="utf8")
    for block in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, block.start(1)), block[1]


def commands(page: Path) -> list[str]:
    """The commands on a page that can be run."""
    lines = [line for _, block in blocks(page, "bash") for line in block.splitlines()]
    return [line for line in lines if not any(part in line for part in NOT_RUN)]


def is_slow(command: str) -> bool:
    return any(part in command for part in SLOW)


def run(command: str) -> None:
    """Run a command, also with `cat FILE |` before it or `> FILE` after it. spaCy's run in this
    process, which has imported everything."""
    source, _, command = command.rpartition("|")
    command, _, target = command.partition(" > ")
    program, *arguments = shlex.split(command, comments=True)
    if program != "python" or OUTSIDE in command:
        program = sys.executable if program == "python" else program
        subprocess.run([program, *arguments], check=True)
        return
    assert arguments[:2] == ["-m", "spacy"], command
    piped = Path(shlex.split(source)[1]).read_bytes() if source else None
    result = invoke(app, *arguments[2:], input=piped)
    if target:
        Path(target.strip()).write_text(result.stdout, encoding="utf8")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """What the docs take for granted: a checkout, and files that a reader has."""
    folder = tmp_path_factory.mktemp("given")
    make_checkout(folder)
    shutil.copy(folder / "assets" / "demo" / "english.txt", folder / "article.txt")
    shutil.copytree(folder / "assets" / "sample" / "en", folder / "my_treebank")
    (folder / "texts").mkdir()
    for path in (folder / "my_treebank").glob("*.rs3"):
        text = " ".join(read_rs3(path).edus)
        (folder / "texts" / f"{path.stem}.txt").write_text(text, encoding="utf8")
    (folder / "training" / "small_cpu").mkdir(parents=True)
    for trained in ("training/model-best", "training/small_cpu/model-best"):
        (folder / trained).symlink_to(pipeline_path("xx_rst_sm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("python -m spacy rst convert assets/treebanks.tsv corpus --only 'sample.*'")
    for name in ("gold.spacy", "parsed.spacy"):
        shutil.copy(folder / "corpus" / "dev" / "sample.en.spacy", folder / name)
    return folder


@pytest.fixture
def checkout(given, tmp_path, monkeypatch):
    shutil.copytree(given, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", pages(PAGES))
def test_examples_run(page, checkout):
    names: dict[str, object] = {"__name__": "docs"}
    for line, block in blocks(page, "python"):
        exec(compile("\n" * line + block, str(page), "exec"), names)


@pytest.mark.parametrize("name", ["README.md", "docs/translation.md"])
def test_pages_show_the_tree_that_they_print(name, capsys):
    _, example = next(blocks(ROOT / name, "python"))
    exec(example, {})
    assert f"```\n{capsys.readouterr().out}```" in (ROOT / name).read_text(encoding="utf8")


def test_the_drawing_in_the_readme_is_of_its_example():
    names: dict[str, Any] = {}
    _, example = next(blocks(ROOT / "README.md", "python"))
    exec(example, names)
    drawn = ROOT / "docs" / "images" / "readme.txt"
    assert names["doc"].text == drawn.read_text(encoding="utf8").strip()


@pytest.mark.parametrize(
    "page", pages(page for page in PAGES if not all(map(is_slow, commands(page))))
)
def test_commands_run(page, checkout):
    for command in commands(page):
        if not is_slow(command):
            run(command)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(map(is_slow, commands(page)))],
    ids=lambda page: page.name,
)
def test_commands_that_train_run(page, checkout):
    shutil.rmtree("training")
    for command in commands(page):
        run(command)


def test_commands_that_are_not_run_are_there():
    text = "\n".join(block for page in PAGES for _, block in blocks(page, "bash"))
    assert [part for part in NOT_RUN if part not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf8")):
        assert (page.parent / target).exists(), target
