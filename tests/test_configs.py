"""The configs are complete, and spaCy's own commands work with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli import app
from spacy.cli.init_config import fill_config
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from typer.testing import CliRunner

import spacy_rst.encoder.xlmr  # noqa: F401  (registers the architecture)
from spacy_rst import load
from spacy_rst.treebank.corpus import Corpus
from tests.sample import sample_docs, write_corpus
from tests.tiny_models import tiny_xlmr

CONFIGS = Path(__file__).parents[1] / "spacy_rst" / "configs"
# A pipeline that is assembled has nothing to say about training.
TRAINED = sorted(
    path for path in CONFIGS.glob("*.cfg") if "[training]" in path.read_text(encoding="utf8")
)
XLMR = ("xlmr", "xlmr_joint")
ENGLISH = {"corpora.train.languages": "en", "corpora.dev.languages": "en"}
__all__ = ["tiny_xlmr"]


def config_path(name: str) -> Path:
    return CONFIGS / f"{name}.cfg"


def spacy_command(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    return result.output


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    nlp = spacy.blank("xx")
    docs = [*sample_docs(nlp, ["eu"]), *sample_docs(nlp, ["en"])[:2]]
    return write_corpus(tmp_path_factory.mktemp("corpus") / "sample.spacy", docs)


@pytest.fixture(scope="module")
def paths(corpus):
    return ["--paths.train", corpus, "--paths.dev", corpus]


@pytest.fixture(scope="module")
def trained(paths, tmp_path_factory):
    output = tmp_path_factory.mktemp("training")
    spacy_command("train", config_path("tiny_test"), "--output", output, *paths)
    return output / "model-best"


@pytest.mark.parametrize("path", TRAINED, ids=lambda path: path.stem)
def test_configs_are_complete(path, tmp_path, monkeypatch):
    monkeypatch.chdir(CONFIGS.parent)
    _, filled = fill_config(tmp_path / "filled.cfg", path)
    assert filled == load_config(path, interpolate=False)


@pytest.mark.parametrize("name", XLMR)
def test_xlmr_configs_have_the_values_of_the_paper(name):
    config = load_config(config_path(name), interpolate=True)
    encoder = config["components"]["transformer"]["model"]
    assert (encoder["name"], encoder["trainable_layers"]) == ("xlm-roberta-base", 4)
    assert (encoder["window"], encoder["stride"], encoder["overlap"]) == (500, 300, "center")
    parser = config["components"]["rst_parser"]["model"]
    assert parser["splitter"] == "pointer" and parser["dropout"] == 0.5
    # 384 is the size of each direction of the GRU.
    assert parser["hidden_width"] == parser["classifier_width"] == 2 * 384
    training = config["training"]
    assert training["max_epochs"] == 30 and training["batcher"]["size"] == 3
    assert training["optimizer"]["learn_rate"] == 1e-4 and training["optimizer"]["L2"] == 5e-5
    weights = [weight for weight in training["score_weights"].values() if weight]
    assert sum(weights) == pytest.approx(1.0)


@pytest.mark.parametrize("changes, languages", [({}, {"en", "eu"}), (ENGLISH, {"en"})])
def test_the_xlmr_config_trains(changes, languages, corpus, tiny_xlmr, tmp_path):
    overrides = {
        "paths.train": str(corpus),
        "paths.dev": str(corpus),
        "components.transformer.model.name": tiny_xlmr,
        "training.max_steps": 1,
        "training.eval_frequency": 1,
        "components.rst_parser.model.hidden_width": 16,
        "components.rst_parser.model.classifier_width": 8,
        **changes,
    }
    arguments = [part for key, value in overrides.items() for part in (f"--{key}", value)]
    spacy_command("train", config_path("xlmr"), "--output", tmp_path, *arguments)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.pipe_names == ["transformer", "rst_parser", "doc_cleaner"]
    scores = nlp.meta["performance"]["rst_per_lang"]
    assert set(scores) == languages


def test_the_english_config_trains(tiny_xlmr, tmp_path):
    nlp = spacy.blank("en")
    corpus = write_corpus(tmp_path / "english.spacy", sample_docs(nlp, ["en"])[:2])
    overrides = {
        "paths.train": str(corpus),
        "paths.dev": str(corpus),
        "paths.transformer": tiny_xlmr,
        "training.max_steps": 2,
        "training.eval_frequency": 2,
        "training.logger.path": str(tmp_path / "curve.jsonl"),
        "components.syntax.model.width": 16,
        "components.syntax.model.hidden_width": 16,
        "components.rst_parser.model.hidden_width": 16,
        "components.rst_parser.model.classifier_width": 8,
    }
    arguments = [part for key, value in overrides.items() for part in (f"--{key}", value)]
    spacy_command("train", config_path("en_rst_trf"), "--output", tmp_path / "out", *arguments)
    trained = spacy.load(tmp_path / "out" / "model-best")
    assert trained.pipe_names == [
        "transformer",
        "syntax",
        "edu_segmenter",
        "rst_parser",
        "doc_cleaner",
    ]
    assert trained("It rained, so we stayed at home.")._.rst_tree is not None


@pytest.mark.parametrize("lang", ["xx", "en"])
def test_the_cpu_config_can_be_initialized(lang, corpus):
    overrides = {"paths.train": str(corpus), "paths.dev": str(corpus), "nlp.lang": lang}
    nlp = init_nlp(load_config(config_path("small_cpu"), overrides=overrides))
    assert (nlp.lang, nlp.pipe_names) == (lang, ["tok2vec", "rst_parser"])


def test_retraining_goes_on_with_the_bundled_pipeline(corpus, monkeypatch):
    monkeypatch.chdir(CONFIGS.parent)
    overrides = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    nlp = init_nlp(load_config(config_path("retrain"), overrides=overrides))
    text = "It rained all morning, so we stayed at home."
    assert nlp(text)._.rst_json == load()(text)._.rst_json


def test_the_tiny_config_learns_by_heart(trained, corpus):
    nlp = spacy.load(trained)
    assert nlp.evaluate(list(Corpus(corpus)(nlp)))["rst_full"] == 1.0
    assert nlp.meta["performance"]["rst_full"] == 1.0


def test_init_labels_and_assemble(paths, tmp_path):
    config = config_path("tiny_test")
    spacy_command("init", "labels", config, tmp_path / "labels", *paths)
    labels = srsly.read_json(tmp_path / "labels" / "rst_parser.json")
    assert "Elaboration-NS" in labels
    with_labels = load_config(config, interpolate=False)
    reader = {"@readers": "spacy.read_labels.v1", "require": True}
    reader["path"] = str(tmp_path / "labels" / "rst_parser.json")
    with_labels["initialize"]["components"]["rst_parser"] = {"labels": reader}
    with_labels.to_disk(tmp_path / "labels.cfg")
    spacy_command("assemble", tmp_path / "labels.cfg", tmp_path / "assembled")
    assert spacy.load(tmp_path / "assembled").get_pipe("rst_parser").labels == tuple(labels)


def test_debug_config(paths):
    assert "Config is valid" in spacy_command("debug", "config", config_path("tiny_test"), *paths)


def test_debug_model(paths):
    output = spacy_command("debug", "model", config_path("tiny_test"), "rst_parser", *paths, "-P3")
    assert "model looks good" in output


def test_package(trained, tmp_path):
    spacy_command("package", trained, tmp_path, "--build", "none", "--name", "tiny_rst")
    (package,) = tmp_path.glob("xx_tiny_rst-*")
    requirements = srsly.read_json(package / "meta.json")["requirements"]
    names = [requirement.replace("-", "_") for requirement in requirements]
    assert any(name.startswith("spacy_rst") for name in names)
