"""Small parsing pipelines for tests, and how to train them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch
from thinc.api import Adam

WIDTH = 32
OWN_TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": WIDTH,
    "depth": 1,
    "embed_size": 500,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": False,
    "pretrained_vectors": None,
}
TOK2VEC_LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH, "upstream": "*"}
TRANSFORMER_LISTENER = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "pooling": {"@layers": "reduce_mean.v1"},
}


SPLITTERS = {
    "pointer": {"@architectures": "spacy_rst.PointerSplitter.v1"},
    "span": {"@architectures": "spacy_rst.SpanSplitter.v1", "search_edus": 0, "exploration": 0.0},
}


def parser_config(
    tok2vec: dict[str, Any] = OWN_TOK2VEC, splitter: str = "pointer", **settings: Any
) -> dict[str, Any]:
    """The config of a small parser. Other settings than the small sizes can be added."""
    model = {
        "@architectures": "spacy_rst.RstParser.v1",
        "tok2vec": tok2vec,
        "splitter": SPLITTERS[splitter],
        "hidden_width": 32,
        "encoder_layers": 1,
        "classifier_width": 16,
        "dropout": None,
    }
    return {"model": model | settings}


def own_encoder_pipeline(**settings: Any) -> Language:
    """A parser with an encoder of its own."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("rst_parser", config=parser_config(**settings))
    return nlp


def shared_tok2vec_pipeline(**settings: Any) -> Language:
    """A parser that listens to spaCy's tok2vec."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": OWN_TOK2VEC})
    nlp.add_pipe("rst_parser", config=parser_config(TOK2VEC_LISTENER, **settings))
    return nlp


def transformer_pipeline(checkpoint: str, *, segmenter: bool = False, **settings: Any) -> Language:
    """A parser that listens to XLM-R, on request behind another listener: a sentence splitter
    that stands for a segmenter."""
    import spacy_rst.encoder.xlmr  # noqa: F401  (registers the architecture)

    fix_random_seed(0)
    nlp = spacy.blank("xx")
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    encoder = {
        "@architectures": "spacy_rst.XlmrModel.v1",
        "name": checkpoint,
        "trainable_layers": 2,
        "transformer_config": no_dropout,
    }
    nlp.add_pipe("transformer", config={"model": encoder})
    if segmenter:
        tagger = {"@architectures": "spacy.Tagger.v2", "tok2vec": TRANSFORMER_LISTENER}
        nlp.add_pipe("senter", config={"model": tagger})
    nlp.add_pipe("rst_parser", config=parser_config(TRANSFORMER_LISTENER, **settings))
    return nlp


def train(
    nlp: Language,
    examples: Sequence[Example],
    *,
    goals: Sequence[str] = ("rst_full",),
    epochs: int = 60,
    learn_rate: float = 0.005,
    batch_size: int = 4,
) -> list[dict[str, float]]:
    """Initialize a pipeline and train it until the scores named as goals are 1, or the epochs are
    over. Returns the losses of each epoch."""
    optimizer = Adam(learn_rate, use_averages=False)
    nlp.initialize(lambda: examples, sgd=optimizer)
    history: list[dict[str, float]] = []
    for epoch in range(epochs):
        history.append({})
        for batch in minibatch(examples, batch_size):
            nlp.update(batch, sgd=optimizer, losses=history[-1])
        if epoch % 5 == 4:
            scores = nlp.evaluate(examples)
            if all(scores[goal] == 1.0 for goal in goals):
                break
    return history
