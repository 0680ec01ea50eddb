"""XLM-R encoders and pipelines around them for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam, Model
from transformers import AutoConfig, AutoModel, AutoTokenizer

from spacy_rst.encoder.xlmr import XlmrEncoder, XlmrModel
from spacy_rst.encoder.xlmr_shim import XlmrShim
from spacy_rst.errors import RstError
from tests.parser.pipelines import TRANSFORMER_LISTENER
from tests.tiny_models import SENTENCES

MULTILINGUAL = " ".join(SENTENCES)
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TOK2VEC_LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16}
LISTENERS = {"transformer": TRANSFORMER_LISTENER, "tok2vec": TOK2VEC_LISTENER}
ROUTES = tuple(LISTENERS)


def code_of(action: Callable[[], object]) -> str:
    """The code of the error that is raised."""
    with pytest.raises(RstError) as error:
        action()
    return error.value.code


def new_encoder(name: str, **settings: Any) -> Model:
    """An encoder without weights."""
    return XlmrEncoder(XlmrModel(name, **settings))


def make_encoder(name: str, **settings: Any) -> Model:
    """An encoder that has read its checkpoint."""
    model = new_encoder(name, **settings)
    model.initialize()
    return model


def shim_of(model: Model) -> XlmrShim:
    """The shim anywhere in a model."""
    shims = (shim for node in model.walk() for shim in node.shims if isinstance(shim, XlmrShim))
    return next(shims)


def learn(model: Model, docs: Sequence[Doc]) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Push some gradient through an encoder. Gives its output and the gradients by name."""
    vectors, backprop = model.begin_update(docs)
    rng = np.random.default_rng(0)
    backprop([rng.normal(size=part.shape).astype("f") for part in vectors])
    weights = dict(shim_of(model)._model.named_parameters())
    gradients = {name: w.grad.numpy().copy() for name, w in weights.items() if w.grad is not None}
    shim_of(model)._model.zero_grad()
    return vectors, gradients


def build_alike(path: Path, model_type: str, checkpoint: str, **settings: Any) -> None:
    """Write a checkpoint of another type with the tokenizer of this one."""
    AutoTokenizer.from_pretrained(checkpoint).save_pretrained(path)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    config = AutoConfig.for_model(
        model_type, vocab_size=300, num_hidden_layers=2, **sizes, **settings
    )
    AutoModel.from_config(config).save_pretrained(path)


def encoder_config(route: str, name: str, **settings: Any) -> dict[str, Any]:
    """The model of a `transformer` or `tok2vec` component."""
    transformer = {"@architectures": "spacy_rst.XlmrModel.v1", "name": name, **settings}
    if route == "transformer":
        return transformer
    return {"@architectures": "spacy_rst.XlmrEncoder.v1", "transformer": transformer}


def make_pipeline(
    name: str, route: str = "transformer", taggers: Sequence[str] = ("tagger",), **settings: Any
) -> Language:
    """A pipeline of taggers that listen to one encoder."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(route, config={"model": encoder_config(route, name, **settings)})
    for tagger in taggers:
        model = {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENERS[route]}
        nlp.add_pipe("tagger", name=tagger, config={"model": model})
    return nlp


def make_examples(nlp: Language, texts: Sequence[str] = SENTENCES) -> list[Example]:
    """Examples whose tags tell long words from short ones."""
    docs = [nlp.make_doc(text) for text in texts]
    return [
        Example.from_dict(doc, {"tags": ["long" if len(t) > 3 else "short" for t in doc]})
        for doc in docs
    ]


def initialized_pipeline(name: str, route: str = "transformer", **settings: Any) -> Language:
    """A pipeline that can predict and learn."""
    nlp = make_pipeline(name, route, **settings)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def train_step(
    nlp: Language, optimizer: Adam, examples: Sequence[Example] | None = None
) -> dict[str, float]:
    """A step as `spacy train` makes it: weights change after all components have learned."""
    losses = nlp.update(examples or make_examples(nlp), sgd=False)
    for _, component in nlp.pipeline:
        if hasattr(component, "finish_update"):
            component.finish_update(optimizer)
    return losses
