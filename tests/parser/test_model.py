from __future__ import annotations

import io
import os
import pickle

import numpy as np
import pytest
import spacy
import srsly
import torch
from spacy.tokens import Doc
from spacy.util import fix_random_seed, registry
from thinc.api import ConfigValidationError, Model

from spacy_rst.doc import doc_from_edus
from spacy_rst.parser.model import build_rst_parser
from spacy_rst.parser.net import GoldSplits
from spacy_rst.parser.splitters import PointerSplitter
from tests.parser.pipelines import parser_config

EDUS = ["Although it rained ,", "we went out .", "The streets were empty ,", "as always ."]
GOLD = GoldSplits(torch.tensor([[0, 2, 4], [0, 1, 2], [2, 3, 4]]), torch.tensor([0, 1, 2]))
NOTHING = GoldSplits(torch.zeros(0, 3, dtype=torch.long), torch.zeros(0, dtype=torch.long))


def make_docs():
    nlp = spacy.blank("xx")
    return [doc_from_edus(nlp, EDUS), doc_from_edus(nlp, EDUS[:1]), Doc(nlp.vocab)]


def make_model(**settings):
    fix_random_seed(0)
    model = registry.resolve(parser_config(**settings))["model"]
    model.set_dim("nO", 3)
    return model


def initialized(**settings):
    model = make_model(**settings)
    model.initialize(X=make_docs())
    return model


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        for name in ("splits", "labels", "split_probs", "label_probs"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_finds_the_width_of_an_encoder_that_does_not_tell_it():
    def forward(model: Model, docs, is_train: bool):
        vectors = [model.ops.alloc2f(len(doc), 7) for doc in docs]
        return vectors, lambda d_vectors: docs

    model = build_rst_parser(
        Model("silent", forward), PointerSplitter, hidden_width=8, classifier_width=4
    )
    model.set_dim("nO", 3)
    assert model.has_dim("nI") is None and not model.shims[0].is_built
    model.initialize()
    assert model.get_dim("nI") == model.shims[0].net.encoder.input_size == 7


@pytest.mark.parametrize("splitter", ["pointer", "span"])
@pytest.mark.parametrize("variant", [{}, {"attention": True, "label_ends": True}])
def test_reloads_equal(splitter, variant):
    settings = {"splitter": splitter, "text_features": True, "layer_norm": True, **variant}
    model = initialized(**settings)
    net = model.shims[0].net
    assert (net.attend is not None, net.classifier.with_ends) == (bool(variant), bool(variant))
    if variant:
        torch.nn.init.normal_(net.attend)
    reloaded = make_model(**settings)
    reloaded.from_bytes(model.to_bytes())
    trees = model.predict(make_docs())
    assert [len(tree.splits) for tree in trees] == [3, 0, 0]
    assert [len(tree.splits) for tree in model.predict(make_docs()[2:])] == [0]
    assert_same(trees, reloaded.predict(make_docs()))
    assert_same(model.predict(make_docs()), model.copy().predict(make_docs()))


def test_weights_that_run_code_are_refused():
    class Harmful:
        def __reduce__(self):
            return os.getenv, ("HOME",)

    shim = initialized().shims[0]
    message = srsly.msgpack_loads(shim.to_bytes())
    file = io.BytesIO()
    torch.save({"encoder.weight": Harmful()}, file)
    message["state"] = file.getvalue()
    with pytest.raises(pickle.UnpicklingError):
        shim.from_bytes(srsly.msgpack_dumps(message))


def test_training_goes_forward_once(monkeypatch):
    model = initialized()
    tok2vec = model.get_ref("tok2vec")
    calls = []
    forward = tok2vec._func
    monkeypatch.setattr(
        tok2vec, "_func", lambda *args, **kwargs: calls.append(1) or forward(*args, **kwargs)
    )
    find_losses, backprop = model.begin_update(make_docs())
    split_loss, label_loss = find_losses([GOLD, NOTHING, NOTHING])
    assert split_loss > 0 and label_loss > 0
    backprop(split_loss + label_loss)
    assert len(calls) == 1


def test_a_pointer_has_no_options_of_a_span_splitter():
    pointer = {"@architectures": "spacy_rst.PointerSplitter.v1", "search_edus": 50}
    config = parser_config()
    config["model"]["splitter"] = pointer
    with pytest.raises(ConfigValidationError):
        registry.resolve(config)
