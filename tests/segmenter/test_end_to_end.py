"""Raw text in, tree out: the segmenter and the parser in one pipeline, and the joint configs."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_loop
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from spacy_rst import doc_from_edus
from spacy_rst.doc import get_edus
from tests.parser.pipelines import TRANSFORMER_LISTENER, transformer_pipeline
from tests.sample import sample_docs, write_corpus
from tests.segmenter.pipelines import (
    joint_pipeline,
    sample_examples,
    segmenter_config,
    train,
)
from tests.tiny_models import build_tiny_xlmr

CONFIGS = Path(__file__).parents[2] / "spacy_rst" / "configs"
GOALS = ("edu_span_f", "rst_full")


@pytest.fixture(scope="module")
def joint():
    """A joint pipeline that knows its examples by heart, the examples, and the losses."""
    nlp = joint_pipeline()
    examples = sample_examples(nlp, ["eu"])
    return nlp, examples, train(nlp, examples, goals=GOALS)


def test_raw_text_in_tree_out(joint):
    nlp, examples, _ = joint
    for example in examples:
        doc = nlp(example.reference.text)
        tree, gold = doc._.rst_tree, example.reference._.rst_tree
        assert [edu.text for edu in tree.edus] == [edu.text for edu in gold.edus]
        assert tree.splits == gold.splits
    assert nlp("")._.rst_tree is None
    assert len(nlp("Bai.")._.rst_tree) == 1


def test_both_learn_and_their_losses_are_recorded_apart(joint):
    _, _, history = joint
    for name in ("edu_segmenter", "rst_parser", "tok2vec"):
        assert history[0][name] > 0
    for name in ("edu_segmenter", "rst_parser"):
        assert history[-1][name] < history[0][name] / 4


def test_a_saved_pipeline_does_the_same(joint, tmp_path):
    nlp, examples, _ = joint
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    text = examples[0].reference.text
    assert loaded(text)._.rst_json == nlp(text)._.rst_json


def test_three_ways_in(joint):
    nlp, _, _ = joint
    edus = ["Txakurra lo dago,", "euria ari badu ere."]
    assert [edu.text for edu in nlp(doc_from_edus(nlp, edus))._.rst_tree.edus] == edus
    doc = nlp.make_doc(" ".join(edus))
    doc.spans["edus"] = [doc[:2], doc[2:]]
    assert [edu.text for edu in nlp(doc)._.rst_tree.edus] == [doc[:2].text, doc[2:].text]
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("sentence_edus", before="edu_segmenter")
    try:
        tree = nlp("Txakurra lo dago, euria ari badu ere. Ez dago inor. Bai, bai.")._.rst_tree
    finally:
        nlp.remove_pipe("sentence_edus")
        nlp.remove_pipe("sentencizer")
    assert [str(edu)[:2] for edu in tree.edus] == ["Tx", "Ez", "Ba"]


def test_the_parser_learns_while_the_segmenter_is_frozen(joint):
    trained, _, _ = joint
    nlp = joint_pipeline().from_bytes(trained.to_bytes())
    segmenter, parser = nlp.get_pipe("edu_segmenter"), nlp.get_pipe("rst_parser")
    before = segmenter.model.to_bytes(), parser.model.to_bytes()
    optimizer = nlp.resume_training()
    examples = sample_examples(nlp, ["en"])
    for example in examples:  # only labels that the parser has seen
        example.reference._.rst_tree = None
    examples += sample_examples(nlp, ["eu"])
    losses = nlp.update(examples, sgd=optimizer, exclude=["edu_segmenter"])
    assert "edu_segmenter" not in losses
    assert segmenter.model.to_bytes() == before[0]
    assert parser.model.to_bytes() != before[1]


def test_learns_over_a_shared_transformer(tmp_path_factory):
    path = build_tiny_xlmr(tmp_path_factory.mktemp("xlmr"), layers=2, width=32, inner_width=64)
    nlp = transformer_pipeline(str(path))
    nlp.add_pipe(
        "edu_segmenter", config=segmenter_config(TRANSFORMER_LISTENER), before="rst_parser"
    )
    history = train(nlp, sample_examples(nlp, ["eu"]), epochs=4, learn_rate=0.003)
    assert history[-1]["edu_segmenter"] < history[0]["edu_segmenter"]
    assert history[0]["transformer"] > 0
    assert nlp("Txakurra lo dago, euria ari badu ere.")._.rst_tree is not None


@pytest.mark.parametrize("name", ["joint_cpu", "xlmr_joint"])
def test_joint_configs_are_complete(name):
    import spacy_rst.encoder.xlmr  # noqa: F401  (registers the architecture)

    config = load_config(CONFIGS / f"{name}.cfg")
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names[1:3] == ["edu_segmenter", "rst_parser"]
    filled = nlp.config.interpolate()
    for component in nlp.pipe_names:
        assert filled["components"][component] == config.interpolate()["components"][component]
    assert filled["corpora"]["train"]["gold_edus"] and not filled["corpora"]["dev"]["gold_edus"]
    known = set(nlp.get_pipe_meta("edu_segmenter").default_score_weights)
    known |= set(nlp.get_pipe_meta("rst_parser").default_score_weights)
    assert set(filled["training"]["score_weights"]) == known


def test_the_joint_config_trains_and_scores_end_to_end(tmp_path):
    corpus = write_corpus(tmp_path / "eu.spacy", sample_docs(spacy.blank("xx"), ["eu"]))
    overrides = {
        "paths.train": str(corpus),
        "paths.dev": str(corpus),
        "components.tok2vec.model.encode.width": 32,
        "components.tok2vec.model.encode.depth": 1,
        "training.max_steps": 4,
        "training.eval_frequency": 2,
    }
    config: Config = load_config(CONFIGS / "joint_cpu.cfg", overrides)
    nlp = init_nlp(config)
    nlp, _ = train_loop(nlp, tmp_path)
    scores = spacy.load(tmp_path / "model-last").meta["performance"]
    assert {"edu_f", "rst_full", "edu_per_lang", "rst_per_lang"} <= set(scores)
    # With gold EDUs the segmentation would be perfect after two steps, too.
    assert 0 < scores["edu_f"] < 1
    assert get_edus(nlp("Txakurra lo dago. Euria ari du."))
