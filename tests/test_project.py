"""The workflow of project.yml, run on the sample treebank as a newcomer would."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
import typer
import yaml
from spacy.cli import app as spacy_app
from spacy.util import load_config
from weasel.util.config import load_project_config

import spacy_rst.cli
from tests.scripts import ROOT, invoke, make_checkout, script_app

pytest.importorskip("matplotlib", reason="scripts draw charts: pip install '.[analysis]'")

CONTENT = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
COMMANDS = {command["name"]: command for command in CONTENT["commands"]}
SCRIPT_LINES = [
    line
    for command in COMMANDS.values()
    for line in command["script"]
    if line.startswith("python scripts/")
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A checkout in which the workflows `all` and `translated` were run."""
    folder = tmp_path_factory.mktemp("project")
    make_checkout(folder)
    run_workflow(folder, "all")
    assert "Skipping 'convert'" in run_workflow(folder, "translated")
    return folder


def run_workflow(folder: Path, name: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "run", name, str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def run_command(folder: Path, name: str, **overrides: str) -> None:
    """Run a command of the project in this process."""
    variables = {f"vars.{key}": value for key, value in overrides.items()}
    content: dict[str, Any] = load_project_config(folder, overrides=variables)
    (command,) = (command for command in content["commands"] if command["name"] == name)
    for line in command["script"]:
        _, first, *arguments = shlex.split(line)
        if first == "-m":
            invoke(spacy_app, *arguments[1:])
        else:
            invoke(script_app(Path(first).stem), *arguments)
    for output in command.get("outputs", []):
        assert (folder / output).exists(), output


@pytest.fixture
def inside(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def scored_languages(model: Path) -> set[str]:
    return set(spacy.load(model).meta["performance"]["rst_per_lang"])


def test_all_converts_trains_evaluates_and_packages(project):
    assert json.loads((project / "metrics" / "tiny_test.json").read_text(encoding="utf8"))
    nlp = spacy.load(project / "training" / "tiny_test" / "model-best")
    assert "rst_parser" in nlp.pipe_names
    packages = {path.name for path in (project / "packages").iterdir()}
    assert packages == {"xx_rst_parser-0.1.0", "xx_rst_parser-0.1.0-py3-none-any.whl"}


def test_translated_parses_all_languages_with_an_english_parser(project):
    metrics = project / "metrics" / "translated_tiny_test.json"
    scores = json.loads(metrics.read_text(encoding="utf8"))["per_lang"]
    assert set(scores) == {"de", "en", "es", "eu", "nl", "pt"}
    model = project / "training" / "translated_tiny_test" / "model-best"
    assert spacy.load(model).lang == "en"
    # Translated documents count for the language they were written in.
    assert scored_languages(model) == set(scores)


LEARNED_ALONE = {
    "train": {"languages": "de,nl", "run": "de_nl"},
    "train-translated": {"translated_corpus": "corpus", "languages": "en", "run": "en"},
}


@pytest.mark.parametrize("command", LEARNED_ALONE)
def test_some_languages_can_be_learned_alone(inside, command):
    variables = LEARNED_ALONE[command]
    run_command(inside, command, **variables)
    place = variables["run"] if command == "train" else f"translated_{variables['run']}"
    languages = set(variables["languages"].split(","))
    assert scored_languages(inside / "training" / place / "model-best") == languages


BESIDE = {"split": {}, "analyze": {}, "topics": {"n_topics": "2"}, "reliability": {}}
BESIDE["experiments"] = {"grid": "one_cell"}


@pytest.mark.parametrize("command", BESIDE)
def test_what_is_beside_the_workflows_runs(inside, command):
    grids = inside / "scripts" / "grids"
    grid = yaml.safe_load((grids / "sample.yml").read_text("utf8"))
    grid |= {"trainings": ["en"], "seeds": [0], "overrides": {"all": {"training.max_epochs": 1}}}
    (grids / "one_cell.yml").write_text(yaml.safe_dump(grid), encoding="utf8")
    run_command(inside, command, **BESIDE[command])


@pytest.mark.parametrize("line", SCRIPT_LINES)
def test_scripts_know_the_options_they_are_called_with(line):
    filled = line
    for name, value in CONTENT["vars"].items():
        filled = filled.replace(f"${{vars.{name}}}", str(value))
    _, script, *arguments = shlex.split(filled)
    command = typer.main.get_command(script_app(Path(script).stem))
    if hasattr(command, "commands"):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    command.make_context(script, arguments)


def test_public_treebanks_are_extra_and_the_licensed_one_is_explained():
    for asset in CONTENT["assets"]:
        assert asset["description"]
        assert asset.get("extra") or "git" not in asset, asset["dest"]
    listed = (ROOT / "assets" / "treebanks.tsv").read_text(encoding="utf8")
    for asset in CONTENT["assets"]:
        assert asset["dest"].removeprefix("assets/") in listed, asset["dest"]


@pytest.mark.parametrize(
    ("workflow", "first", "last"),
    [
        ("train-default", "fetch-pieces", "package-default"),
        ("train-english", "fetch-english", "package-english"),
    ],
)
def test_a_pipeline_is_trained_in_one_workflow(workflow, first, last):
    steps = [COMMANDS[name] for name in CONTENT["workflows"][workflow]]
    assert (steps[0]["name"], steps[-1]["name"]) == (first, last)
    made: set[str] = set()
    for step in steps:
        for dependency in step.get("deps", []):
            assert dependency in made or (ROOT / dependency).exists(), (step["name"], dependency)
        made.update(step.get("outputs", []) + step.get("outputs_no_cache", []))


def test_the_bundled_pipeline_has_one_version():
    facts = json.loads((ROOT / "scripts" / "xx_rst_sm.json").read_text(encoding="utf8"))
    assert CONTENT["vars"]["default_version"] == facts["version"]


@pytest.mark.parametrize(
    "command, config, path, weights",
    [
        ("fetch-pieces", "xx_rst_sm", "pieces", "weights.npz"),
        ("fetch-english", "en_rst_trf", "transformer", "model.safetensors"),
    ],
)
def test_configs_find_the_weights_that_are_fetched(command, config, path, weights):
    folder = load_config(ROOT / "spacy_rst" / "configs" / f"{config}.cfg")["paths"][path]
    assert f"{folder}/{weights}" in COMMANDS[command]["outputs"]
    assert CONTENT["vars"]["transformer"] == folder or path != "transformer"


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    assert citation["version"] == spacy_rst.__version__
    assert set(citation) >= {"cff-version", "message", "title", "authors"}
    for reference in citation["references"]:
        assert set(reference) >= {"type", "title", "authors", "year"}, reference["title"]
