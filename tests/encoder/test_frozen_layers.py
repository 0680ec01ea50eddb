"""Frozen layers that are computed once: the same gradients, bounded, keyed by text and weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Adam

from spacy_rst.encoder.frozen_layers import (
    DiskCache,
    FrozenLayers,
    MemoryCache,
    fingerprint,
    split_transformer,
)
from spacy_rst.encoder.xlmr import XlmrEncoder
from spacy_rst.errors import RstError
from tests.encoder.test_xlmr import MULTILINGUAL, make_encoder
from tests.tiny_models import SENTENCES

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
WINDOWS = {"window": 40, "stride": 24, "trainable_layers": 2, "transformer_config": NO_DROPOUT}


def make_docs(texts=(MULTILINGUAL, SENTENCES[0])):
    return [Doc(Vocab(), words=text.split()) for text in texts]


def cached_encoder(name, kind, folder, **settings):
    return make_encoder(
        name, **{**WINDOWS, "cache_frozen": kind, "cache_folder": str(folder), **settings}
    )


def learn(model, docs):
    """Push some gradient through the model; return its output and the gradients by name."""
    vectors, backprop = model.begin_update(docs)
    rng = np.random.default_rng(0)
    backprop([rng.normal(size=part.shape).astype("f") for part in vectors])
    net = model.shims[0]._model
    gradients = {
        name: weights.grad.numpy().copy()
        for name, weights in net.named_parameters()
        if weights.grad is not None
    }
    net.zero_grad()
    return vectors, gradients


def count_runs(monkeypatch):
    """Count the windows that go through the frozen layers."""
    runs = []
    original = FrozenLayers.of.__func__

    def of(cls, transformer, make_cache):
        frozen = original(cls, transformer, make_cache)
        run = frozen.lower.forward

        def counted(input_ids, **options):
            runs.append(len(input_ids))
            return run(input_ids=input_ids, **options)

        frozen.lower.forward = counted
        return frozen

    monkeypatch.setattr(FrozenLayers, "of", classmethod(of))
    return runs


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_gradients_are_those_of_training_without_a_cache(tiny_xlmr, tmp_path, kind):
    docs = make_docs()
    vectors, gradients = learn(make_encoder(tiny_xlmr, **WINDOWS), docs)
    model = cached_encoder(tiny_xlmr, kind, tmp_path)
    for _ in range(2):  # as they are computed, and as they come back
        found_vectors, found = learn(model, docs)
        for part, expected in zip(found_vectors, vectors, strict=True):
            assert_allclose(part, expected, atol=5e-3)
        assert set(found) == set(gradients)
        assert all(int(name.split(".")[2]) >= 4 for name in found)
        for name, expected in gradients.items():
            difference = np.linalg.norm(found[name] - expected)
            assert difference <= 5e-3 * np.linalg.norm(expected) + 1e-5, name


def test_no_window_is_computed_twice(tiny_xlmr, tmp_path, monkeypatch):
    runs = count_runs(monkeypatch)
    docs = make_docs()
    model = cached_encoder(tiny_xlmr, "memory", tmp_path)
    learn(model, docs)
    assert sum(runs) > 2
    n_windows = sum(runs)
    learn(model, docs[:1])
    model.predict(docs)  # as the evaluations of a training do
    assert sum(runs) == n_windows
    learn(model, make_docs([SENTENCES[1]]))
    assert sum(runs) == n_windows + 1


def test_another_training_finds_what_is_on_disk(tiny_xlmr, tmp_path, monkeypatch):
    runs = count_runs(monkeypatch)
    docs = make_docs()
    learn(cached_encoder(tiny_xlmr, "disk", tmp_path), docs)
    n_windows = sum(runs)
    learn(cached_encoder(tiny_xlmr, "disk", tmp_path), docs)
    assert sum(runs) == n_windows
    # Other weights have other states, and other layers are frozen here.
    learn(cached_encoder(tiny_xlmr, "disk", tmp_path, trainable_layers=3), docs)
    assert sum(runs) == 2 * n_windows
    assert len(list(tmp_path.iterdir())) == 2


def test_nothing_is_kept_before_training(tiny_xlmr, tmp_path, monkeypatch):
    runs = count_runs(monkeypatch)
    model = cached_encoder(tiny_xlmr, "disk", tmp_path)
    model.predict(make_docs())
    assert not runs and not list(tmp_path.iterdir())


def test_a_full_cache_keeps_what_it_has(tiny_xlmr, tmp_path):
    docs = make_docs()
    _, gradients = learn(make_encoder(tiny_xlmr, **WINDOWS), docs)
    model = cached_encoder(tiny_xlmr, "disk", tmp_path, cache_gigabytes=3e-6)
    for _ in range(2):
        _, found = learn(model, docs)
        name = "encoder.layer.5.output.dense.weight"
        assert_allclose(found[name], gradients[name], atol=5e-3 * np.abs(gradients[name]).max())
    kept = list(tmp_path.glob("*/*.npy"))
    assert 1 <= len(kept) <= 3
    assert sum(path.stat().st_size - 128 for path in kept) <= 3000  # without headers


def test_the_frozen_layers_have_no_dropout_and_the_others_do(tiny_xlmr, tmp_path):
    docs = make_docs()
    model = cached_encoder(tiny_xlmr, "memory", tmp_path, transformer_config={})
    model.begin_update(docs)
    shim = model.shims[0]
    assert not any(module.training for module in shim._frozen.lower.modules())
    first, second = (np.concatenate(model.begin_update(docs)[0]) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3


def test_the_parts_are_the_whole(tiny_xlmr):
    net = make_encoder(tiny_xlmr, **WINDOWS).shims[0]._model.eval()
    lower, upper = split_transformer(net, 4)
    ids, mask = torch.tensor([[0, 7, 8, 9, 2], [0, 5, 2, 1, 1]]), torch.ones(2, 5)
    mask[1, 3:] = 0
    with torch.no_grad():
        whole = net(input_ids=ids, attention_mask=mask).last_hidden_state
        states = lower(input_ids=ids, attention_mask=mask).last_hidden_state
        parts = upper(inputs_embeds=states, attention_mask=mask).last_hidden_state
    assert_allclose(parts[mask.bool()], whole[mask.bool()], atol=1e-5)
    assert len(net.encoder.layer) == 6  # the whole stays whole
    assert fingerprint(lower) != fingerprint(upper) != fingerprint(lower, "fact")


def test_caches_give_back_what_they_were_given(tmp_path):
    ids, states = np.array([0, 5, 2]), torch.randn(3, 4)
    for cache in (MemoryCache(100), DiskCache(tmp_path / "states", 100)):
        assert cache.get(ids) is None
        rounded = cache.put(ids, states)
        assert torch.equal(rounded, states.half())
        assert torch.equal(cache.get(ids), rounded)
        assert cache.get(np.array([0, 6, 2])) is None
        larger = torch.randn(40, 4)
        assert cache.put(np.arange(40), larger) is larger  # there is no room
        assert cache.get(np.arange(40)) is None


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"cache_frozen": "ram"}, "R302"),
        ({"cache_frozen": "memory", "trainable_layers": None}, "R312"),
        ({"cache_frozen": "disk"}, "R313"),
    ],
)
def test_caches_that_cannot_be_are_refused(tiny_xlmr, settings, code):
    with pytest.raises(RstError, match=code):
        XlmrEncoder(tiny_xlmr, **settings)


def test_layers_learn_at_rates_of_their_own(tiny_xlmr):
    model = make_encoder(tiny_xlmr, **WINDOWS, learn_rate_factor=0.5, layer_decay=0.1)
    before = {name: w.detach().clone() for name, w in model.shims[0]._model.named_parameters()}
    vectors, backprop = model.begin_update(make_docs())
    backprop([np.ones_like(part) * np.arange(part.shape[1], dtype="f") for part in vectors])
    model.finish_update(Adam(0.01))
    steps = {
        name: (weights - before[name]).abs().max().item()
        for name, weights in model.shims[0]._model.named_parameters()
    }
    # The first step of Adam is as long as the rate.
    assert steps["encoder.layer.5.output.dense.weight"] == pytest.approx(0.005, rel=1e-2)
    assert steps["encoder.layer.4.output.dense.weight"] == pytest.approx(0.0005, rel=1e-2)
    assert steps["encoder.layer.3.output.dense.weight"] == 0
