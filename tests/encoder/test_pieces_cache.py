from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from thinc.api import Model

from spacy_rst.encoder.pieces_cache import PieceCache
from spacy_rst.encoder.pieces_net import PieceNet
from spacy_rst.languages import multilingual_pipeline
from tests.encoder.test_pieces import assert_same_vectors, make_model, net_of, train_once
from tests.tiny_models import SENTENCES


@pytest.fixture
def docs():
    return [multilingual_pipeline().make_doc(text) for text in SENTENCES]


@pytest.fixture
def model(tiny_pieces):
    return make_model(tiny_pieces)


def cache_of(model: Model) -> PieceCache:
    return net_of(model).piece_cache


def uncached(model: Model, docs: Any) -> list[np.ndarray]:
    """The vectors as they are computed where the convolutions are trained. There is no dropout."""
    net = net_of(model)
    is_trained, net.train_convolutions = net.train_convolutions, True
    vectors = [np.array(rows) for rows in model.begin_update(docs)[0]]
    net.train_convolutions = is_trained
    return vectors


def assert_right(model: Model, docs: Any) -> None:
    assert_same_vectors(model.predict(docs), uncached(model, docs))


def count_computed(net: PieceNet) -> list[int]:
    """Keep the numbers of pieces whose rows are read from now on."""
    computed: list[int] = []
    net.table.register_forward_hook(lambda table, pieces, rows: computed.append(len(pieces[0])))
    return computed


def test_a_piece_is_computed_once(model, docs):
    computed = count_computed(net_of(model))
    first = model.predict(docs)
    n_pieces = sum(computed)
    assert n_pieces > 100
    assert_array_equal(model.predict(docs[:3])[2], first[2])
    assert_array_equal(model.predict([docs[1]])[0], first[1])
    model.begin_update(docs)  # frozen convolutions give the same in training
    assert sum(computed) == n_pieces


@pytest.mark.parametrize("max_pieces", [1, 7, 60])
def test_it_has_a_limit(model, docs, max_pieces):
    expected = uncached(model, docs)
    net_of(model).piece_cache = PieceCache(max_pieces)
    computed = count_computed(net_of(model))
    totals = []
    for _ in range(2):
        assert_same_vectors([model.predict([doc])[0] for doc in docs], expected)
        totals.append(sum(computed))
    assert totals[1] > totals[0]  # it had forgotten some


@pytest.mark.parametrize("train_convolutions", [False, True])
def test_learned_weights_are_used(tiny_pieces, docs, train_convolutions):
    model = make_model(tiny_pieces, train_convolutions=train_convolutions)
    before = model.predict(docs)
    train_once(model, docs)
    assert not np.allclose(model.predict(docs)[0], before[0], atol=1e-3)
    assert_right(model, docs)


def exchange_data(net: PieceNet) -> None:
    weight = net.convolutions[2].normalize.weight
    weight.data = weight.data + 1.0


CHANGES = {
    "in place": lambda net: net.convolutions[1].first.weight.add_(0.5),
    "bias": lambda net: net.convolutions[0].project.bias.fill_(2.0),
    "data exchanged": exchange_data,
    "table": lambda net: net.table.low.add_(1.0),
    "others loaded": lambda net: net.load_state_dict(
        {name: value.flip(0) for name, value in net.state_dict().items()}
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_made_from_other_weights_is_forgotten(model, docs, change):
    before = model.predict(docs)
    with torch.no_grad():
        change(net_of(model))
    assert not np.allclose(before[0], model.predict(docs)[0], atol=1e-3)
    assert_right(model, docs)


def test_it_is_neither_saved_nor_copied(model, docs):
    saved = model.to_bytes()
    expected = model.predict(docs)
    assert model.to_bytes() == saved
    assert len(pickle.dumps(cache_of(model))) < 200
    for copy in (model.copy(), pickle.loads(pickle.dumps(model))):
        assert cache_of(copy) is not cache_of(model)
        computed = count_computed(net_of(copy))
        assert_same_vectors(copy.predict(docs), expected, atol=1e-6)
        assert sum(computed) > 100


def test_it_can_be_filled_and_read_in_any_mode(model, docs):
    expected = uncached(model, docs)
    for mode in (torch.inference_mode, torch.no_grad, torch.enable_grad):
        with mode():
            assert_same_vectors(model.begin_update(docs)[0], expected)
        net_of(model).piece_cache.max_pieces //= 50  # so that it is filled again
    model.predict(docs)


def test_threads_share_it(model, docs):
    expected = uncached(model, docs)
    # So small that threads take it away from each other.
    net_of(model).piece_cache = PieceCache(60)
    numbers = [number for _ in range(60) for number in range(len(docs))]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda number: model.predict([docs[number]])[0], numbers))
    assert_same_vectors(found, [expected[number] for number in numbers])
