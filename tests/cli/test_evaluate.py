from __future__ import annotations

import pytest
import spacy
import srsly
from spacy.tokens import Doc
from typer.testing import CliRunner

from spacy_rst.cli import rst_app
from spacy_rst.doc import doc_from_edus, get_tree, set_edus
from spacy_rst.evaluation import make_report, makes_edus, parse_docs, read_gold
from spacy_rst.scoring.scorer import score_trees
from spacy_rst.tree import RstTree
from tests.parser.pipelines import own_encoder_pipeline, train
from tests.sample import examples_from, sample_docs, write_corpus


@pytest.fixture(scope="module")
def nlp():
    """A parser that knows two Basque and two English documents by heart."""
    nlp = own_encoder_pipeline(splitter="span", layer_norm=True)
    train(nlp, examples_from(nlp, [*sample_docs(nlp, ["eu"])[:2], *sample_docs(nlp, ["en"])[:2]]))
    return nlp


@pytest.fixture(scope="module")
def model(nlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    nlp.to_disk(path)
    return str(path)


@pytest.fixture(scope="module")
def corpora(nlp, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    return [
        str(write_corpus(folder / f"{lang}.spacy", sample_docs(nlp, [lang])[:2]))
        for lang in ("eu", "en")
    ]


@pytest.fixture
def run(rst):
    """Evaluate, and give what is printed and the report."""

    def evaluate(*arguments, code=0):
        output = rst("evaluate", *arguments, "--output", "metrics.json", code=code).output
        return output, srsly.read_json("metrics.json") if code == 0 else {}

    return evaluate


def test_scores_gold_edus(run, model, corpora):
    output, report = run(model, *corpora, "--baselines")
    assert report["model"]["name"] == "xx_pipeline" and report["model"]["version"] == "0.0.0"
    assert report["corpora"] == corpora
    assert report["edus"] == "gold" and report["documents"] == 4
    averages = ("rst_", "rst_macro_", "rst_original_", "rst_original_macro_")
    for average in averages:
        for metric in ("span", "nuclearity", "relation", "full"):
            assert report["scores"][average + metric] == 1.0
    assert list(report["per_lang"]) == ["en", "eu"]
    assert list(report["per_treebank"]) == ["sample.en", "sample.eu"]
    assert report["per_lang"]["en"] == report["per_treebank"]["sample.en"]
    assert 0 < report["baselines"]["right-branching"]["rst_span"] < 1
    for row in ("all", "en", "sample.eu", "left-branching"):
        assert any(line.split()[:1] == [row] for line in output.splitlines()), row


def test_layout_can_be_hidden(run, model, nlp, tmp_path):
    doc = doc_from_edus(nlp, ["It rained.", "We left."], paragraph_starts=[1])
    doc._.rst_tree = RstTree.from_splits([(0, 1, 2, "Cause-NS")])
    corpus = write_corpus(tmp_path / "x.spacy", [doc])
    (hidden,) = read_gold([corpus], nlp.vocab, hide_layout=1.0)
    assert hidden.text == "It rained. We left."
    assert run(model, corpus, "--hide-layout")[1]["layout"] == "hidden"
    assert run(model, corpus)[1]["layout"] == "as in the corpora"


SEARCH = "--components.rst_parser.model.splitter.search_edus"


def test_settings_of_the_config_can_be_given_as_options(run, model, corpora):
    tokens = "--components.rst_parser.max_batch_tokens=1"
    _, report = run(model, tokens, "--batch-size", 2, SEARCH, 50, *corpora)
    assert report["corpora"] == corpora and report["documents"] == 4
    assert report["overrides"] == {tokens[2:].partition("=")[0]: 1, SEARCH[2:]: 50}


def test_settings_reach_the_pipeline(model, corpora):
    name = "--components.rst_parser.model.splitter.@architectures"
    pointer = (name, "spacy_rst.PointerSplitter.v1")
    result = CliRunner().invoke(rst_app, ["evaluate", model, *corpora, SEARCH, "50", *pointer])
    assert result.exit_code == 1 and "search_edus" in f"{result.output}{result.exception}"


def test_documents_without_trees_are_scored_by_their_edus(run, nlp, tmp_path):
    pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer")
    pipeline.add_pipe("sentence_edus")
    pipeline.add_pipe("rst_parser", source=nlp)
    pipeline.to_disk(tmp_path / "model")
    edus_alone = doc_from_edus(nlp, ["It rained.", "We left,", "and slept."])
    corpus = write_corpus(tmp_path / "x.spacy", [edus_alone])
    scores = run("model", corpus, "--edus", "predicted")[1]["scores"]
    assert scores["edu_p"] == 1 and scores["edu_r"] == pytest.approx(2 / 3)
    assert scores["rst_span"] is None
    with_tree = doc_from_edus(nlp, ["It rained.", "We left."])
    with_tree._.rst_tree = RstTree.from_splits([(0, 1, 2, "Cause-NS")])
    corpus = write_corpus(tmp_path / "y.spacy", [edus_alone, with_tree])
    _, report = run("model", corpus, "--edus", "both", "--baselines")
    assert report["gold"]["documents"] == 1 and report["predicted"]["documents"] == 2
    assert report["predicted"]["scores"]["rst_span"] == 1


def test_says_what_a_single_treebank_needs(run, model, corpora):
    _, report = run(model, corpora[0], "--batch-size", 1)
    assert "per_treebank" not in report and "baselines" not in report
    assert report["scores"] == report["per_lang"]["eu"]


def test_gold_edus_leave_segmenters_out_and_predicted_ones_run_them(nlp):
    docs = sample_docs(nlp, ["eu"])[:2]

    first_edus = {doc.text: doc.spans["edus"][0].end for doc in docs}

    @nlp.factory("two_edus", assigns=["doc.spans"])
    def make_two_edus(nlp, name):
        def cut(doc: Doc) -> Doc:
            end = first_edus[doc.text]
            set_edus(doc, [doc[:end], doc[end:]])
            return doc

        cut.makes_edus = True
        return cut

    nlp.add_pipe("two_edus", before="rst_parser")
    try:
        gold = parse_docs(nlp, docs, edus="gold")
        predicted = parse_docs(nlp, docs, edus="predicted")
    finally:
        nlp.remove_pipe("two_edus")
    assert score_trees(gold)["rst_full"] == 1.0
    assert [len(get_tree(example.predicted)) for example in predicted] == [2, 2]
    scores = make_report(predicted, baselines=True)
    assert 0 < scores["scores"]["rst_span"] < 1
    assert scores["baselines"]["right-branching"]["rst_span"] == scores["scores"]["rst_span"]


def test_components_that_assign_other_spans_are_no_segmenters(nlp):
    """They were left out with gold EDUs, so that what stands behind them lacked their spans."""
    doc = sample_docs(nlp, ["eu"])[0]
    ruler = nlp.add_pipe("span_ruler", first=True)
    ruler.add_patterns([{"label": "FIRST", "pattern": doc[0].text}])
    try:
        assert not makes_edus(nlp, "span_ruler")
        (example,) = parse_docs(nlp, [doc], edus="gold")
    finally:
        nlp.remove_pipe("span_ruler")
    assert example.predicted.spans["ruler"][0].text == doc[0].text


def test_both_ways_stand_in_one_table(run, model, corpora, tmp_path):
    nlp = spacy.load(model)
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("sentence_edus", before="rst_parser")
    nlp.to_disk(tmp_path / "model")
    output, report = run("model", corpora[0], "--edus", "both")
    assert report["gold"]["scores"]["rst_full"] == report["gold"]["scores"]["edu_f"] == 1.0
    assert 0 < report["predicted"]["scores"]["edu_f"] < 1
    assert report["predicted"]["scores"]["rst_span"] < 1
    rows = [line.split()[:2] for line in output.splitlines()]
    assert ["eu", "gold"] in rows and ["eu", "predicted"] in rows


def test_what_cannot_be_scored_is_reported(run, nlp, model, corpora, tmp_path):
    spacy.blank("xx").to_disk(tmp_path / "no_parser")
    write_corpus(tmp_path / "plain.spacy", [nlp.make_doc("No tree.")])
    write_corpus(tmp_path / "edus.spacy", [doc_from_edus(nlp, ["It rained.", "We left."])])
    for arguments, problem in [
        ((model, *corpora, "--edus", "predicted"), "R020"),
        (("no_model", *corpora), "no_model"),
        (("no_parser", *corpora), "R554"),
        ((model, "no.spacy"), "R131"),
        ((model, "plain.spacy"), "R226"),
        ((model, "edus.spacy"), "R226"),
    ]:
        output, _ = run(*arguments, code=1)
        assert problem in output and "Traceback" not in output
