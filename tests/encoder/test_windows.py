from __future__ import annotations

from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.windows import batch_by_size, cut_windows


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, []),
        (1, [(0, 1, 0, 1)]),
        (500, [(0, 500, 0, 500)]),
        (501, [(0, 500, 0, 400), (300, 501, 400, 501)]),
        (800, [(0, 500, 0, 400), (300, 800, 400, 800)]),
        (801, [(0, 500, 0, 400), (300, 800, 400, 700), (600, 801, 700, 801)]),
    ],
)
def test_windows_of_500_that_overlap_by_200(length, expected):
    assert list(cut_windows([length], 500, 100)) == expected


@given(st.integers(0, 120), st.integers(1, 20), st.data())
def test_each_place_is_kept_where_it_has_most_context(length, window, data):
    margin = data.draw(st.integers(0, (window - 1) // 2))
    windows = list(cut_windows([length], window, margin))
    kept = chain.from_iterable(range(cut.keep_start, cut.keep_end) for cut in windows)
    assert list(kept) == list(range(length))
    for cut in windows:
        assert cut.end - cut.start == window or cut.end == length
        assert cut.start == 0 or cut.keep_start - cut.start == margin
        assert cut.end == length or cut.end - cut.keep_end == margin


@given(
    lengths=st.lists(st.integers(1, 50), max_size=60),
    max_size=st.integers(1, 200),
    padded=st.booleans(),
)
def test_batches_keep_the_cap_and_the_order(lengths, max_size, padded):
    def room(batch):
        return max(batch) * len(batch) if padded else sum(batch)

    batches = list(batch_by_size(lengths, max_size, int, padded))
    assert list(chain.from_iterable(batches)) == lengths
    assert all(len(batch) == 1 or room(batch) <= max_size for batch in batches)
    for batch, following in pairwise(batches):
        assert room([*batch, following[0]]) > max_size
