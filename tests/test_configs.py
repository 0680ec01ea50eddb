"""The packaged configs can be filled and trained, and spaCy's own commands work with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.cli import app
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_model_from_config
from thinc.api import Config, ConfigValidationError

import spacy_rst.cli  # (registers the commands)
import spacy_rst.encoder.xlmr  # noqa: F401  (registers the architecture)
from spacy_rst import load
from spacy_rst.configs import FOLDER as CONFIGS
from spacy_rst.configs import config_names, config_path, read_config
from spacy_rst.errors import RstError
from spacy_rst.pipelines import pipeline_path
from spacy_rst.treebank.corpus import Corpus
from tests.sample import sample_docs, write_corpus
from tests.scripts import invoke
from tests.tiny_models import tiny_xlmr

__all__ = ["CONFIGS", "tiny_xlmr"]

# What docs/training.md gives for a pipeline that takes raw text.
RAW_TEXT = {
    "nlp.pipeline": '["transformer","edu_segmenter","rst_parser","doc_cleaner"]',
    "corpora.dev.gold_edus": "false",
}
SMALL = {"components.rst_parser.model.hidden_width": 16}
SMALL |= {"components.rst_parser.model.classifier_width": 8}


def as_options(settings: dict[str, Any]) -> list[str]:
    return [part for key, value in settings.items() for part in (f"--{key}", value)]


def train(name: str, output: Path, settings: dict[str, Any]) -> spacy.Language:
    """Run `rst train`, and load the best pipeline."""
    invoke(app, "rst", "train", name, "--output", output, *as_options(settings))
    return spacy.load(output / "model-best")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    nlp = spacy.blank("xx")
    docs = [*sample_docs(nlp, ["eu"]), *sample_docs(nlp, ["en"])[:2]]
    return write_corpus(tmp_path_factory.mktemp("corpus") / "sample.spacy", docs)


@pytest.fixture(scope="module")
def paths(corpus):
    return {"paths.train": str(corpus), "paths.dev": str(corpus)}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """The tiny config, filled by spaCy for its own commands."""
    path = tmp_path_factory.mktemp("filled") / "tiny_test.cfg"
    invoke(app, "init", "fill-config", config_path("tiny_test"), path)
    return path


@pytest.fixture(scope="module")
def trained(filled, paths, tmp_path_factory):
    output = tmp_path_factory.mktemp("training")
    invoke(app, "train", filled, "--output", output, *as_options(paths))
    return output / "model-best"


def test_names():
    assert set(config_names()) == {
        *("tiny_test", "small_cpu", "pieces_cpu", "xlmr", "retrain", "xx_rst_sm", "en_rst_trf")
    }
    assert config_path("xlmr") == config_path(CONFIGS / "xlmr.cfg") == CONFIGS / "xlmr.cfg"
    with pytest.raises(RstError, match=r"R582.*small_cpu"):
        config_path("large_cpu")


@pytest.mark.parametrize("name", [name for name in config_names() if name != "retrain"])
def test_configs_are_filled_by_spacy(name, tmp_path):
    path = tmp_path / "filled.cfg"
    invoke(app, "init", "fill-config", config_path(name), path)
    filled = load_config(path)
    # What `rst train` reads leads to the same.
    config = load_model_from_config(read_config(name), auto_fill=True).config
    assert Config().from_str(config.to_str(), interpolate=False) == filled


def test_overrides_reach_what_a_config_leaves_out():
    changes = {"system.seed": 3, "training.logger.progress_bar": True, "paths.train": "a"}
    config = read_config("tiny_test", changes).interpolate()
    assert config["training"]["seed"] == 3
    assert config["training"]["logger"]["progress_bar"] is True
    assert config["corpora"]["train"]["path"] == "a"
    with pytest.raises(ConfigValidationError):
        read_config("tiny_test", {"components.segmenter.threshold": 0.1})


def test_xlmr_has_the_values_of_the_paper():
    config = load_model_from_config(read_config("xlmr"), auto_fill=True).config.interpolate()
    encoder = config["components"]["transformer"]["model"]
    assert (encoder["name"], encoder["trainable_layers"]) == ("xlm-roberta-base", 4)
    assert (encoder["window"], encoder["stride"], encoder["overlap"]) == (500, 300, "center")
    parser = config["components"]["rst_parser"]["model"]
    assert parser["splitter"] == {"@architectures": "spacy_rst.PointerSplitter.v1"}
    assert parser["dropout"] == 0.5
    # 384 is the size of each direction of the GRU.
    assert parser["hidden_width"] == parser["classifier_width"] == 2 * 384
    training = config["training"]
    assert training["max_epochs"] == 30 and training["batcher"]["size"] == 3
    assert training["optimizer"]["learn_rate"] == 1e-4 and training["optimizer"]["L2"] == 5e-5
    weights = [weight for weight in training["score_weights"].values() if weight]
    assert sum(weights) == pytest.approx(1.0)


@pytest.mark.parametrize(("changes", "segmenter"), [({}, []), (RAW_TEXT, ["edu_segmenter"])])
def test_the_xlmr_config_trains(changes, segmenter, paths, tiny_xlmr, tmp_path):
    steps = {"training.max_steps": 1, "training.eval_frequency": 1}
    model = {"components.transformer.model.name": tiny_xlmr}
    nlp = train("xlmr", tmp_path, {**paths, **steps, **model, **SMALL, **changes})
    assert nlp.pipe_names == ["transformer", *segmenter, "rst_parser", "doc_cleaner"]
    assert set(nlp.meta["performance"]["rst_per_lang"]) == {"en", "eu"}
    # Without a segmenter there are gold EDUs alone, and nothing to score.
    assert ("edu_f" in nlp.meta["performance"]) == bool(segmenter)


def test_the_english_config_trains(tiny_xlmr, tmp_path):
    corpus = str(write_corpus(tmp_path / "en.spacy", sample_docs(spacy.blank("en"), ["en"])[:2]))
    settings = {
        "paths.train": corpus,
        "paths.dev": corpus,
        "paths.transformer": tiny_xlmr,
        "training.max_steps": 2,
        "training.eval_frequency": 2,
        "components.syntax.model.width": 16,
        "components.syntax.model.hidden_width": 16,
    }
    nlp = train("en_rst_trf", tmp_path / "out", settings | SMALL)
    assert nlp.pipe_names == ["transformer", "syntax", "edu_segmenter", "rst_parser", "doc_cleaner"]
    assert nlp("It rained, so we stayed at home.")._.rst_tree is not None


def test_the_cpu_config_can_be_initialized_for_one_language(paths):
    nlp = init_nlp(read_config("small_cpu", {**paths, "nlp.lang": "en"}))
    assert (nlp.lang, nlp.pipe_names) == ("en", ["tok2vec", "edu_segmenter", "rst_parser"])
    weights = nlp.config["training"]["score_weights"]
    assert (weights["edu_f"], weights["rst_full"]) == (0.5, 0.2)


@pytest.mark.parametrize("base", [{}, {"paths.base": str(pipeline_path())}])
def test_retraining_goes_on_with_the_bundled_pipeline(base, paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no checkout is needed
    nlp = init_nlp(read_config("retrain", {**paths, **base}))
    text = "It rained all morning, so we stayed at home."
    assert nlp(text)._.rst_json == load()(text)._.rst_json


def test_the_tiny_config_learns_by_heart(trained, corpus):
    nlp = spacy.load(trained)
    assert nlp.evaluate(list(Corpus(corpus)(nlp)))["rst_full"] == 1.0
    assert nlp.meta["performance"]["rst_full"] == 1.0


def test_init_labels_and_assemble(filled, paths, tmp_path):
    invoke(app, "init", "labels", filled, tmp_path / "labels", *as_options(paths))
    labels = srsly.read_json(tmp_path / "labels" / "rst_parser.json")
    assert "Elaboration-NS" in labels
    with_labels = load_config(filled)
    reader = {"@readers": "spacy.read_labels.v1", "require": True}
    reader["path"] = str(tmp_path / "labels" / "rst_parser.json")
    with_labels["initialize"]["components"]["rst_parser"] = {"labels": reader}
    with_labels.to_disk(tmp_path / "labels.cfg")
    invoke(app, "assemble", tmp_path / "labels.cfg", tmp_path / "assembled")
    assert spacy.load(tmp_path / "assembled").get_pipe("rst_parser").labels == tuple(labels)


def test_debug(filled, paths):
    assert "Config is valid" in invoke(app, "debug", "config", filled, *as_options(paths)).output
    model = ("debug", "model", filled, "rst_parser", *as_options(paths), "-P3")
    assert "model looks good" in invoke(app, *model).output


def test_package(trained, tmp_path):
    invoke(app, "package", trained, tmp_path, "--build", "none", "--name", "tiny_rst")
    (package,) = tmp_path.glob("xx_tiny_rst-*")
    requirements = srsly.read_json(package / "meta.json")["requirements"]
    names = [requirement.replace("-", "_") for requirement in requirements]
    assert any(name.startswith("spacy_rst") for name in names)
