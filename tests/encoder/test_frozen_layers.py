"""Frozen layers that are computed once: the same gradients, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Adam

from spacy_rst.encoder.frozen_layers import FrozenLayers
from tests.encoder.xlmr import MULTILINGUAL, NO_DROPOUT, learn, make_encoder, shim_of
from tests.tiny_models import SENTENCES

WINDOWS = {"window": 40, "stride": 24, "trainable_layers": 2, "transformer_config": NO_DROPOUT}
CACHED = {**WINDOWS, "cache_gigabytes": 0.001}


def make_docs(texts=(MULTILINGUAL, SENTENCES[0])):
    return [Doc(Vocab(), words=text.split()) for text in texts]


@pytest.mark.parametrize("checkpointing", [False, True])
def test_gradients_are_those_of_training_without_a_cache(tiny_xlmr, checkpointing):
    docs = make_docs()
    vectors, gradients = learn(make_encoder(tiny_xlmr, **WINDOWS), docs)
    model = make_encoder(tiny_xlmr, **CACHED, gradient_checkpointing=checkpointing)
    for _ in range(2):  # as they are computed, and as they come back
        found_vectors, found = learn(model, docs)
        for part, expected in zip(found_vectors, vectors, strict=True):
            assert_allclose(part, expected, atol=5e-3)
        assert set(found) == set(gradients)
        assert all(int(name.split(".")[2]) >= 4 for name in found)
        for name, expected in gradients.items():
            difference = np.linalg.norm(found[name] - expected)
            assert difference <= 5e-3 * np.linalg.norm(expected) + 1e-5, name


def test_training_computes_no_window_twice_and_prediction_does_without_the_cache(tiny_xlmr):
    docs = make_docs()
    model = make_encoder(tiny_xlmr, **CACHED)
    windows = []
    shim_of(model)._model.embeddings.register_forward_hook(
        lambda module, inputs, states: windows.append(len(states))
    )
    before = model.predict(docs)
    n_windows = sum(windows)
    assert n_windows > 2
    learn(model, docs)
    assert sum(windows) == 2 * n_windows
    learn(model, docs[:1])
    assert sum(windows) == 2 * n_windows
    for one, other in zip(model.predict(docs), before, strict=True):
        assert_array_equal(one, other)
    assert sum(windows) == 3 * n_windows
    learn(model, make_docs([SENTENCES[1]]))
    assert sum(windows) == 3 * n_windows + 1


def test_a_full_cache_keeps_what_it_has(tiny_xlmr):
    docs = make_docs()
    _, gradients = learn(make_encoder(tiny_xlmr, **WINDOWS), docs)
    model = make_encoder(tiny_xlmr, **{**WINDOWS, "cache_gigabytes": 3e-6})
    for _ in range(2):
        _, found = learn(model, docs)
        name = "encoder.layer.5.output.dense.weight"
        assert_allclose(found[name], gradients[name], atol=5e-3 * np.abs(gradients[name]).max())
    frozen = shim_of(model)._frozen
    n_bytes = sum(states.nbytes for states in frozen._states.values())
    assert 0 < n_bytes <= 3000 and frozen.room == 3000 - n_bytes


def test_the_frozen_layers_have_no_dropout_and_the_others_do(tiny_xlmr):
    docs = make_docs()
    model = make_encoder(tiny_xlmr, **{**CACHED, "transformer_config": {}})
    first, second = (np.concatenate(model.begin_update(docs)[0]) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    net = shim_of(model)._model
    frozen = [net.embeddings, *net.encoder.layer[:4]]
    assert not any(module.training for part in frozen for module in part.modules())


def test_the_parts_are_the_whole(tiny_xlmr):
    net = shim_of(make_encoder(tiny_xlmr, **WINDOWS))._model.eval()
    ids = [np.array([0, 7, 8, 9, 2]), np.array([0, 5, 2])]
    pieces, mask = torch.tensor([[0, 7, 8, 9, 2], [0, 5, 2, 1, 1]]), torch.ones(2, 5)
    mask[1, 3:] = 0
    with torch.no_grad():
        whole = net(input_ids=pieces, attention_mask=mask).last_hidden_state
        parts = FrozenLayers(net, 0).run(ids, pieces, mask)
    assert_allclose(parts[mask.bool()], whole[mask.bool()], atol=1e-5)
    assert len(net.encoder.layer) == 6  # the whole stays whole
    assert type(net.embeddings).__name__ != "GivenStates"


@pytest.mark.parametrize("settings", [{"cache_gigabytes": 0.0}, {"trainable_layers": None}])
def test_nothing_is_kept_without_room_or_frozen_layers(tiny_xlmr, settings):
    model = make_encoder(tiny_xlmr, **{**CACHED, **settings})
    learn(model, make_docs())
    assert shim_of(model)._frozen is None


def test_layers_learn_at_rates_of_their_own(tiny_xlmr):
    model = make_encoder(tiny_xlmr, **WINDOWS, learn_rate_factor=0.5, layer_decay=0.1)
    before = {name: w.detach().clone() for name, w in shim_of(model)._model.named_parameters()}
    vectors, backprop = model.begin_update(make_docs())
    backprop([np.ones_like(part) * np.arange(part.shape[1], dtype="f") for part in vectors])
    model.finish_update(Adam(0.01))
    steps = {
        name: (weights - before[name]).abs().max().item()
        for name, weights in shim_of(model)._model.named_parameters()
    }
    # The first step of Adam is as long as the rate.
    assert steps["encoder.layer.5.output.dense.weight"] == pytest.approx(0.005, rel=1e-2)
    assert steps["encoder.layer.4.output.dense.weight"] == pytest.approx(0.0005, rel=1e-2)
    assert steps["encoder.layer.3.output.dense.weight"] == 0
