"""Small segmenting pipelines for tests, and how to train them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_rst.treebank.corpus import make_example
from tests.parser.pipelines import OWN_TOK2VEC, TOK2VEC_LISTENER, parser_config
from tests.parser.pipelines import train as train_parser
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


def joint_pipeline(
    encoder: str = "tok2vec",
    model: dict[str, Any] = OWN_TOK2VEC,
    listener: dict[str, Any] = TOK2VEC_LISTENER,
    splitter: str = "span",
) -> Language:
    """A segmenter and a parser that listen to the same encoder."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe(encoder, config={"model": model})
    nlp.add_pipe("edu_segmenter", config=segmenter_config(listener))
    nlp.add_pipe("rst_parser", config=parser_config(listener, splitter=splitter))
    return nlp


def sample_examples(nlp: Language, languages: Sequence[str] = ("eu", "en")) -> list[Example]:
    """Examples of the sample treebank whose predicted Docs have tokens and nothing else."""
    return [make_example(nlp, doc, gold_edus=False) for doc in sample_docs(nlp, languages)]


# Trains a pipeline until it knows the EDUs by heart.
train = partial(train_parser, goals=("edu_span_f",), learn_rate=0.01)
