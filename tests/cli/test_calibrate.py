"""`spacy rst calibrate` on the sample treebank."""

from __future__ import annotations

import pytest
import spacy
import srsly

from tests.parser.pipelines import own_encoder_pipeline, train
from tests.sample import examples_from, sample_docs, write_corpus


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    nlp = own_encoder_pipeline(splitter="span", layer_norm=True)
    train(nlp, examples_from(nlp, sample_docs(nlp, ["eu"])[:2]))
    path = tmp_path_factory.mktemp("model")
    nlp.to_disk(path)
    (path / "LICENSE").write_text("All rights given.", encoding="utf8")
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    docs = sample_docs(spacy.blank("xx"), ["eu"])[2:]
    return write_corpus(tmp_path_factory.mktemp("corpus") / "eu.spacy", docs)


def test_the_pipeline_is_saved_with_its_temperatures(rst, model, corpus, tmp_path):
    output, json_path = tmp_path / "calibrated", tmp_path / "numbers.json"
    result = rst("calibrate", model, corpus, "--output", output, "--json", json_path)
    assert "Trees that changed: 0 of 2" in result.output
    report = srsly.read_json(json_path)
    assert report["documents"] == 2 and report["corpora"] == [str(corpus)]
    assert min(report["temperatures"].values()) > 1
    assert len(report["before"]["splits"]["bins"]) == 10
    assert (output / "LICENSE").read_text(encoding="utf8") == "All rights given."
    # The words of the corpus stay out of the vocabulary.
    strings = [srsly.read_json(path / "vocab" / "strings.json") for path in (model, output)]
    assert strings[0] == strings[1]
    rst("calibrate", output, corpus, "--json", json_path)
    errors = srsly.read_json(json_path)["before"]
    for name, part in report["after"].items():
        error = part["error"]
        assert errors[name]["error"] == pytest.approx(error, abs=1e-4)
        assert f"{100 * error:.1f} % after" in result.output


def test_folders_of_something_else_are_not_replaced(rst, model, corpus, tmp_path):
    (tmp_path / "precious").write_text("", encoding="utf8")
    assert "R522" in rst("calibrate", model, corpus, "--output", tmp_path, code=1).output
    assert (tmp_path / "precious").exists()
