"""Token vectors in a file behave like an array."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc

from spacy_rst.encoder.disk import DiskVectors, _move_all


@pytest.fixture
def array():
    return np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)


@pytest.fixture
def stored(array):
    vectors = DiskVectors(*array.shape)
    for start in (30, 0, 20, 10, 40):
        vectors[start : start + 10] = array[start : start + 10]
    return vectors


@pytest.mark.parametrize("rows", [slice(0, 50), slice(7, 23), slice(45, 99), slice(9, 9)])
def test_slices(stored, array, rows):
    np.testing.assert_array_equal(stored[rows], array[rows])


def test_it_is_like_an_array(stored, array):
    assert stored.shape == array.shape and stored.size == array.size and len(stored) == 50
    np.testing.assert_array_equal(np.asarray(stored), array)
    np.testing.assert_array_equal(np.concatenate([stored, stored]), np.concatenate([array, array]))
    np.testing.assert_array_equal(stored[3], array[3])
    np.testing.assert_allclose(stored.mean(axis=0), array.mean(axis=0))
    assert not hasattr(stored, "_missing")


def test_the_system_may_move_less_than_it_is_asked_for(array):
    moved = bytearray()

    def write_some(rest: memoryview) -> int:
        moved.extend(rest[:100])
        return len(rest[:100])

    _move_all(array, write_some)
    assert bytes(moved) == array.tobytes()
    with pytest.raises(OSError, match="incomplete"):
        _move_all(array, lambda rest: 0)


def test_wrong_sizes_are_refused(stored, array):
    with pytest.raises(AssertionError):
        stored[:5] = array[:4]


def test_it_is_saved_as_an_array(stored, array):
    for again in (
        srsly.msgpack_loads(srsly.msgpack_dumps({"vectors": stored}))["vectors"],
        pickle.loads(pickle.dumps(stored)),
    ):
        assert isinstance(again, np.ndarray)
        np.testing.assert_array_equal(again, array)


def test_it_may_be_the_tensor_of_a_doc(stored, array):
    doc = Doc(spacy.blank("xx").vocab, words=["word"] * 50)
    doc.tensor = stored
    np.testing.assert_array_equal(Doc(doc.vocab).from_bytes(doc.to_bytes()).tensor, array)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(doc)).tensor, array)
    np.testing.assert_allclose(doc.vector, array.mean(axis=0))
