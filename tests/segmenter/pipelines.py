"""Small segmenting pipelines for tests, and how to train them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch
from thinc.api import Adam

from spacy_rst.treebank.corpus import make_example
from tests.parser.pipelines import OWN_TOK2VEC, TOK2VEC_LISTENER, parser_config
from tests.sample import sample_docs


def segmenter_config(
    tok2vec: dict[str, Any] = OWN_TOK2VEC, settings: dict[str, Any] | None = None, **model: Any
) -> dict[str, Any]:
    """The config of a small segmenter. `settings` are the component's, the others the model's."""
    return {
        "model": {
            "@architectures": "spacy_rst.EduSegmenter.v1",
            "tok2vec": tok2vec,
            "hidden_width": 32,
            "dropout": None,
            **model,
        },
        **(settings or {}),
    }


def segmenter_pipeline(settings: dict[str, Any] | None = None, **model: Any) -> Language:
    """A segmenter with an encoder of its own."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("edu_segmenter", config=segmenter_config(settings=settings, **model))
    return nlp


def joint_pipeline() -> Language:
    """A segmenter and a parser that listen to the same tok2vec."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": OWN_TOK2VEC})
    nlp.add_pipe("edu_segmenter", config=segmenter_config(TOK2VEC_LISTENER))
    nlp.add_pipe("rst_parser", config=parser_config(TOK2VEC_LISTENER, splitter="span"))
    return nlp


def sample_examples(nlp: Language, languages: Sequence[str] = ("eu", "en")) -> list[Example]:
    """Examples of the sample treebank whose predicted Docs have tokens and nothing else."""
    return [make_example(nlp, doc, gold_edus=False) for doc in sample_docs(nlp, languages)]


def train(
    nlp: Language,
    examples: Sequence[Example],
    *,
    goals: Sequence[str] = ("edu_span_f",),
    epochs: int = 60,
    learn_rate: float = 0.01,
) -> list[dict[str, float]]:
    """Initialize a pipeline and train it until the scores named as goals are 1, or the epochs are
    over. Returns the losses of each epoch."""
    optimizer = Adam(learn_rate, use_averages=False)
    nlp.initialize(lambda: examples, sgd=optimizer)
    history: list[dict[str, float]] = []
    for epoch in range(epochs):
        history.append({})
        for batch in minibatch(examples, 4):
            nlp.update(batch, sgd=optimizer, losses=history[-1])
        if epoch % 5 == 4:
            scores = nlp.evaluate(examples)
            if all(scores[goal] == 1.0 for goal in goals):
                break
    return history
