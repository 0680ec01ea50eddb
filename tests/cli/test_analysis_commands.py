"""`spacy rst analyze` and `spacy rst topics` on the sample treebank."""

from __future__ import annotations

import csv

import pytest
import spacy
from typer.testing import CliRunner

from spacy_rst.cli import rst_app
from spacy_rst.scoring.baselines import baseline_examples
from tests.sample import examples_from, sample_docs, write_corpus

for library in ("matplotlib", "sklearn"):
    pytest.importorskip(library, reason=f"charts need {library}: pip install '.[analysis]'")


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("xx")


@pytest.fixture(scope="module")
def gold(nlp, tmp_path_factory):
    docs = sample_docs(nlp, ["en", "eu"])
    return str(write_corpus(tmp_path_factory.mktemp("gold") / "gold.spacy", docs))


@pytest.fixture(scope="module")
def parsed(nlp, tmp_path_factory):
    """The same documents, last first, with the trees of a baseline."""
    examples = examples_from(nlp, sample_docs(nlp, ["en", "eu"]))
    docs = [example.predicted for example in baseline_examples(examples, "sentence-wise")]
    return str(write_corpus(tmp_path_factory.mktemp("parsed") / "parsed.spacy", docs[::-1]))


def run(*arguments):
    return CliRunner().invoke(rst_app, list(arguments))


def read_tsv(path):
    with path.open(encoding="utf8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def test_analyze_writes_charts_and_numbers(gold, parsed, tmp_path):
    output = tmp_path / "analysis"
    result = run("analyze", gold, parsed, "--output", str(output))
    assert result.exit_code == 0, result.output
    assert "Compared 8 trees and wrote 12 files" in result.output
    names = ("relations", "nuclearity", "length", "depth")
    expected = {f"{name}.{kind}" for name in names for kind in ("png", "svg", "tsv")}
    assert {path.name for path in output.iterdir()} == expected
    header, *rows = read_tsv(output / "relations.tsv")
    assert header[1:] == [row[0] for row in rows]
    # The baseline has one relation only.
    columns = list(zip(*[row[1:] for row in rows], strict=True))
    assert sum(any(int(count) for count in column) for column in columns) == 1
    length = read_tsv(output / "length.tsv")
    assert length[0] == ["bin", "gold", "predicted", "span", "nuclearity", "relation", "full"]
    assert length[1][0] == "2"
    root = read_tsv(output / "depth.tsv")[1]
    assert root[:4] == ["0", "8", "8", "1.0000"]


def test_analyze_options(gold, parsed, tmp_path):
    options = ("--metric", "rst", "--languages", "eu", "--n-relations", "1", "--n-depths", "3")
    result = run("analyze", gold, parsed, "--output", str(tmp_path), *options)
    assert result.exit_code == 0, result.output
    assert "Compared 4 trees" in result.output
    assert read_tsv(tmp_path / "length.tsv")[1][0] == "1"
    assert [row[0] for row in read_tsv(tmp_path / "depth.tsv")[1:]] == ["1", "2+"]
    assert read_tsv(tmp_path / "relations.tsv")[-1][0] == "other"


def test_analyze_with_a_pipeline(gold, tmp_path):
    from tests.parser.pipelines import own_encoder_pipeline, train

    nlp = own_encoder_pipeline(splitter="span", layer_norm=True)
    docs = sample_docs(nlp, ["eu"])[:1]
    train(nlp, examples_from(nlp, docs))
    nlp.to_disk(tmp_path / "model")
    corpus = write_corpus(tmp_path / "one.spacy", docs)
    output = tmp_path / "analysis"
    arguments = ("--model", str(tmp_path / "model"), "--output", str(output))
    result = run("analyze", str(corpus), *arguments)
    assert result.exit_code == 0, result.output
    rows = read_tsv(output / "nuclearity.tsv")[1:]
    counts = [[int(count) for count in row[1:]] for row in rows]
    assert sum(map(sum, counts)) == sum(row[number] for number, row in enumerate(counts)) > 0


def test_analyze_needs_parsed_documents_or_a_pipeline(gold, parsed, tmp_path):
    for arguments in ((gold,), (gold, parsed, "--model", "some_model")):
        result = run("analyze", *arguments, "--output", str(tmp_path))
        assert result.exit_code == 1 and "R717" in result.output


def test_analyze_names_a_document_that_was_not_parsed(nlp, gold, tmp_path):
    others = write_corpus(tmp_path / "others.spacy", sample_docs(nlp, ["eu"]))
    result = run("analyze", gold, str(others), "--output", str(tmp_path))
    assert result.exit_code == 1 and "R716" in result.output


def test_topics(gold, tmp_path):
    arguments = ("--topics", "2", "--keywords", "4", "--languages", "en")
    for name in ("first", "second"):
        result = run("topics", gold, "--output", str(tmp_path / name), *arguments)
        assert result.exit_code == 0, result.output
    assert "R723" not in result.output and "Topic 1 (" in result.output
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert files == ["documents.tsv", "topics.png", "topics.svg", "topics.tsv", "treebanks.tsv"]
    for file in files:
        same = (tmp_path / name / file for name in ("first", "second"))
        assert len({path.read_bytes() for path in same}) == 1, file
    topics = read_tsv(tmp_path / "first" / "topics.tsv")
    assert topics[0] == ["topic", "documents", "keywords"]
    assert sum(int(row[1]) for row in topics[1:]) == 4
    assert all(len(row[2].split()) == 4 for row in topics[1:])
    header, *documents = read_tsv(tmp_path / "first" / "documents.tsv")
    assert header[-2:] == ["topic_1", "topic_2"]
    assert [row[0] for row in documents] == ["sample.en"] * 4
    (treebank,) = read_tsv(tmp_path / "first" / "treebanks.tsv")[1:]
    assert float(treebank[1]) + float(treebank[2]) == pytest.approx(1, abs=1e-3)


def test_topics_warn_of_several_languages(gold, tmp_path):
    result = run("topics", gold, "--topics", "2", "--output", str(tmp_path))
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "R723" in output and "2 languages (en, eu)" in output


def test_topics_need_documents(gold, tmp_path):
    result = run("topics", gold, "--topics", "50", "--output", str(tmp_path))
    assert result.exit_code == 1 and "R718" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["analyze", "topics"])
def test_help_shows_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0 and f"spacy rst {command}" in " ".join(result.output.split())
