"""Stripping trained pipelines, and shipping them in wheels."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli import app
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_rst import RstError, load
from spacy_rst.cli import rst_app
from spacy_rst.configs import read_config
from spacy_rst.pipelines import DEFAULT_PIPELINE, pipeline_path
from spacy_rst.pipelines.bundle import bundle_pipeline, without_paths
from spacy_rst.util import _remove_stale
from tests.processes import run_python
from tests.segmenter.pipelines import joint_pipeline, sample_examples, train

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "scripts" / "xx_rst_sm.json"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    nlp = joint_pipeline()
    train(nlp, sample_examples(nlp, ["eu"])[:2], goals=("edu_span_f", "rst_full"))
    nlp.config["paths"]["train"] = str(ROOT / "corpus")
    nlp.meta["performance"] = {"rst_full": 0.123456, "rst_parser_loss": 3.5, "rst_per_lang": {}}
    path = tmp_path_factory.mktemp("trained") / "model-best"
    nlp.to_disk(path)
    return path


def texts() -> list[str]:
    return [example.reference.text for example in sample_examples(joint_pipeline(), ["eu"])[:3]]


def test_a_bundle_parses_like_the_original(trained, tmp_path):
    bundled = bundle_pipeline(trained, tmp_path / "new" / "bundle", {"name": "small"})
    assert sorted(path.name for path in bundled.parent.iterdir()) == ["bundle"]
    before, after = spacy.load(trained), spacy.load(bundled)
    for text in texts():
        tree, expected = after(text)._.rst_tree, before(text)._.rst_tree
        assert tree.splits == expected.splits
        for node, other in zip(tree.nodes(), expected.nodes(), strict=True):
            assert node.score == pytest.approx(other.score, abs=0.01)
    sizes = [(folder / "rst_parser" / "model").stat().st_size for folder in (bundled, trained)]
    assert sizes[0] < 0.6 * sizes[1]


def test_a_bundle_tells_nothing_of_its_training(trained, tmp_path):
    bundled = bundle_pipeline(trained, tmp_path / "bundle", {"name": "small", "license": "MIT"})
    meta = srsly.read_json(bundled / "meta.json")
    assert (meta["name"], meta["license"]) == ("small", "MIT")
    assert meta["performance"] == {"rst_full": pytest.approx(0.1235)}
    assert load_config(trained / "config.cfg")["paths"]["train"]
    assert not any(load_config(bundled / "config.cfg")["paths"].values())
    words = set(srsly.read_json(trained / "vocab" / "strings.json"))
    kept = set(srsly.read_json(bundled / "vocab" / "strings.json"))
    tokens = {token.text for text in texts()[:2] for token in spacy.blank("xx")(text)}
    longer = {token for token in tokens if len(token) > 5}
    assert longer <= words and not longer & kept


def test_paths_are_removed_wherever_they_are():
    config = read_config("tiny_test")
    config["training"]["before_to_disk"] = str(ROOT / "code.py")
    stripped = without_paths(config)
    assert stripped["training"]["before_to_disk"] is None
    assert set(stripped["paths"].values()) == {None}
    assert stripped["components"] == config["components"]
    assert config["training"]["before_to_disk"] is not None


def test_a_pipeline_is_replaced_and_other_folders_are_not(trained, tmp_path):
    target = tmp_path / "bundle"
    bundle_pipeline(trained, target, {"version": "1.0.0"})
    (target / "LICENSE").write_text("All rights given.", encoding="utf8")
    (target / "left_over").write_text("", encoding="utf8")
    bundle_pipeline(trained, target, {"version": "2.0.0"})
    assert srsly.read_json(target / "meta.json")["version"] == "2.0.0"
    assert (target / "LICENSE").read_text(encoding="utf8") == "All rights given."
    assert not (target / "left_over").exists()
    precious = tmp_path / "precious"
    precious.mkdir()
    with pytest.raises(RstError, match="R522"):
        bundle_pipeline(trained, precious, {})
    with pytest.raises(OSError):
        bundle_pipeline(tmp_path / "missing", target, {})
    assert srsly.read_json(target / "meta.json")["version"] == "2.0.0"


KILLED_AT_RENAME = """
import os, sys
from pathlib import Path
from spacy_rst.pipelines.bundle import bundle_pipeline
calls = []
def rename(path, target, rename=Path.rename):
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
    calls.append(path)
    return rename(path, target)
Path.rename = rename
bundle_pipeline(Path(sys.argv[1]), Path(sys.argv[2]), {"version": "2.0.0"})
"""


@pytest.mark.parametrize("n_renamed", [0, 1])
def test_a_killed_run_loses_no_pipeline(trained, tmp_path, n_renamed):
    target = tmp_path / "bundle"
    bundle_pipeline(trained, target, {"version": "1.0.0"})
    command = [sys.executable, "-c", KILLED_AT_RENAME, str(trained), str(target), str(n_renamed)]
    assert subprocess.run(command).returncode == -9
    with pytest.raises(OSError, match="nowhere"):  # the next run has nothing to put in its place
        bundle_pipeline(tmp_path / "nowhere", target, {})
    assert spacy.load(target).meta["version"] == "1.0.0"
    _remove_stale.cache_clear()  # as in a new process
    bundle_pipeline(trained, target, {"version": "3.0.0"})
    assert spacy.load(target).meta["version"] == "3.0.0"
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_command(trained, tmp_path):
    meta = tmp_path / "meta.json"
    meta.write_text('{"name": "from_file"}', encoding="utf8")
    command = ["bundle", str(trained), str(tmp_path / "bundle"), "--meta", str(meta)]
    result = CliRunner().invoke(rst_app, command)
    assert result.exit_code == 0 and "MB" in result.output
    assert spacy.load(tmp_path / "bundle").meta["name"] == "from_file"
    for wrong in ("[1]", "{"):
        meta.write_text(wrong, encoding="utf8")
        result = CliRunner().invoke(rst_app, command)
        assert result.exit_code == 1 and "R134" in result.output


def test_the_bundled_pipeline_names_its_licences():
    folder = pipeline_path()
    assert "NonCommercial-ShareAlike 4.0" in (folder / "LICENSE").read_text(encoding="utf8")
    sources = (folder / "LICENSES_SOURCES").read_text(encoding="utf8")
    assert "Apache License\n" in sources
    for facts in (srsly.read_json(folder / "meta.json"), srsly.read_json(FACTS)):
        assert facts["license"] == "CC BY-NC-SA 4.0"
        for source in facts["sources"]:
            assert f"\n{source['name']}\n" in sources
    assert "CC BY-NC-SA 4.0" in str(load.__doc__)


@pytest.mark.slow
def test_a_wheel_of_the_package_holds_the_pipeline(tmp_path):
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*PIP, "wheel", str(ROOT), *options], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("spacy_rst-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.getinfo(name).file_size for name in archive.namelist()}
    folder = pipeline_path()
    expected = {
        f"spacy_rst/pipelines/{DEFAULT_PIPELINE}/{path.relative_to(folder).as_posix()}": (
            path.stat().st_size
        )
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert expected.items() <= packed.items()
    assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in packed if ".dist-info/" in name}
    assert not any(name.startswith(("tests/", "benchmarks/", "assets/")) for name in packed)


@pytest.mark.slow
def test_spacy_packages_it(tmp_path):
    command = ["package", str(pipeline_path()), str(tmp_path), "--build", "none"]
    result = CliRunner().invoke(app, [*command, "--name", "rst_sm", "--version", "1.2.3"])
    assert result.exit_code == 0, result.output
    package = tmp_path / f"{DEFAULT_PIPELINE}-1.2.3"
    assert {"LICENSE", "LICENSES_SOURCES"} <= {path.name for path in package.iterdir()}
    site = tmp_path / "site"
    options = ["--no-deps", "--no-build-isolation", "--target", str(site)]
    subprocess.run([*PIP, "install", str(package), *options], check=True)
    printed = run_python(
        "import json, spacy\n"
        f"nlp = spacy.load('{DEFAULT_PIPELINE}')\n"
        "doc = nlp('It rained, so we stayed.')\n"
        "print(json.dumps([nlp.meta['version'], doc._.rst_json['edus']]))",
        python_path=str(site),
    )
    version, edus = json.loads(printed)
    assert version == "1.2.3" and "".join(edus).replace(" ", "") == "Itrained,sowestayed."
