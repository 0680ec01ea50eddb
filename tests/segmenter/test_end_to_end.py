"""Raw text in, tree out: the segmenter and the parser in one pipeline, and their config."""

from __future__ import annotations

import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_loop

from spacy_rst.configs import read_config
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

GOALS = ("edu_span_f", "rst_full")


@pytest.fixture(scope="module")
def joint():
    """A joint pipeline that knows its examples by heart, the examples, and the losses."""
    nlp = joint_pipeline()
    examples = sample_examples(nlp, ["eu"])
    return nlp, examples, train(nlp, examples, goals=GOALS)


def test_raw_text_in_tree_out(joint):
    nlp, examples, history = joint
    for name in ("edu_segmenter", "rst_parser"):
        assert history[-1][name] < history[0][name] / 4
    assert history[0]["tok2vec"] > 0
    for example in examples:
        doc = nlp(example.reference.text)
        tree, gold = doc._.rst_tree, example.reference._.rst_tree
        assert [edu.text for edu in tree.edus] == [edu.text for edu in gold.edus]
        assert tree.splits == gold.splits
    assert nlp("")._.rst_tree is None
    assert len(nlp("Bai.")._.rst_tree) == 1


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


def test_the_joint_config_trains_and_scores_end_to_end(tmp_path):
    corpus = write_corpus(tmp_path / "eu.spacy", sample_docs(spacy.blank("xx"), ["eu"]))
    overrides = {
        "paths.train": str(corpus),
        "paths.dev": str(corpus),
        "components.tok2vec.model.width": 32,
        "training.max_steps": 4,
        "training.eval_frequency": 2,
    }
    nlp = init_nlp(read_config("small_cpu", overrides))
    nlp, _ = train_loop(nlp, tmp_path)
    scores = spacy.load(tmp_path / "model-last").meta["performance"]
    assert {"edu_f", "rst_full", "edu_per_lang", "rst_per_lang"} <= set(scores)
    # With gold EDUs the segmentation would be perfect after two steps, too.
    assert 0 < scores["edu_f"] < 1
    assert get_edus(nlp("Txakurra lo dago. Euria ari du."))
