from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.encoder.windows import (
    batch_by_length,
    cut_windows,
    lending_tokens,
    token_piece_ranges,
)
from spacy_rst.errors import RstError


def ranges_from_sizes(sizes: list[int]) -> np.ndarray:
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    return np.stack([ends - sizes, ends], axis=1) if sizes else np.zeros((0, 2), dtype=np.int64)


def offsets(*pairs: tuple[int, int]) -> np.ndarray:
    return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)


def bounds(windows) -> list[tuple[int, int]]:
    return [(window.start, window.end) for window in windows]


def test_import_needs_no_heavy_library():
    code = (
        "import sys; before = set(sys.modules); import spacy_rst.encoder.windows; "
        "print({m.partition('.')[0] for m in set(sys.modules) - before})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = eval(run.stdout)
    assert "spacy_rst" in loaded
    assert not loaded & {"transformers", "spacy_transformers", "tokenizers"}


@pytest.mark.parametrize(
    ("n_pieces", "expected"),
    [
        (1, [(0, 1)]),
        (499, [(0, 499)]),
        (500, [(0, 500)]),
        (501, [(0, 500), (200, 501)]),
        (700, [(0, 500), (200, 700)]),
        (701, [(0, 500), (200, 700), (400, 701)]),
    ],
)
def test_windows_of_one_piece_tokens(n_pieces, expected):
    assert bounds(cut_windows(ranges_from_sizes([1] * n_pieces), 500, 200)) == expected


def test_empty_document_has_no_window():
    assert cut_windows(ranges_from_sizes([]), 500, 200) == []


def test_document_without_pieces_takes_the_leading_special_piece():
    (window,) = cut_windows(ranges_from_sizes([0, 0, 0]), 500, 200)
    assert (window.start, window.end) == (0, 0)
    assert window.positions.tolist() == [0]
    assert window.tokens.tolist() == [0]


def test_windows_start_and_end_between_tokens():
    windows = cut_windows(ranges_from_sizes([3, 3, 3, 3, 3]), 10, 4)
    # The point 4 lies inside the second token, so the next window starts with the third one.
    assert bounds(windows) == [(0, 9), (6, 15)]
    assert windows[1].tokens.tolist() == [2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert windows[1].positions.tolist() == list(range(1, 10))


def test_long_token_at_the_stride_point_leaves_no_gap():
    # Token 1 does not fit behind token 0, and starts before the stride point.
    assert bounds(cut_windows(ranges_from_sizes([2, 9, 2]), 10, 4)) == [(0, 2), (2, 11), (11, 13)]


def test_giant_token_is_seen_whole():
    windows = cut_windows(ranges_from_sizes([2, 25, 2]), 10, 4)
    seen = {piece for window in windows for piece in range(window.start, window.end)}
    assert seen == set(range(29))
    assert all(window.end - window.start <= 10 for window in windows)
    assert bounds(windows)[:3] == [(0, 10), (4, 14), (8, 18)]


@pytest.mark.parametrize(("window", "stride"), [(10, 11), (10, 0), (0, 0), (10, -1)])
def test_stride_that_leaves_gaps_is_refused(window, stride):
    with pytest.raises(RstError) as error:
        cut_windows(ranges_from_sizes([1]), window, stride)
    assert error.value.code == "R300"


@given(
    sizes=st.lists(st.integers(0, 30), max_size=40),
    window=st.integers(1, 20),
    share=st.floats(0, 1),
)
def test_every_piece_is_seen_and_goes_to_its_token(sizes, window, share):
    stride = max(1, int(share * window))
    piece_ranges = ranges_from_sizes(sizes)
    windows = cut_windows(piece_ranges, window, stride)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    seen = set()
    for one in windows:
        assert one.end - one.start <= window
        if one.end > one.start:
            pieces = one.positions - 1 + one.start
            assert pieces.tolist() == list(range(one.start, one.end))
            assert one.tokens.tolist() == owners[pieces].tolist()
            seen.update(pieces.tolist())
    assert seen == set(range(sum(sizes)))
    starts = [one.start for one in windows]
    assert starts == sorted(set(starts))
    for earlier, later in pairwise(windows):
        assert later.start <= earlier.end
        if max(sizes) <= window:
            assert later.start in {*piece_ranges[:, 0].tolist()}


def test_pieces_belong_to_the_tokens_they_overlap():
    #         "don't go" -> do|n't|go, pieces "don" "'t" "go"
    tokens = offsets((0, 2), (2, 5), (6, 8))
    pieces = offsets((0, 3), (3, 5), (6, 8))
    assert token_piece_ranges(tokens, pieces).tolist() == [[0, 1], [0, 2], [2, 3]]


def test_shared_piece_goes_to_both_tokens_of_a_window():
    piece_ranges = np.array([[0, 1], [0, 2], [2, 3]])
    (window,) = cut_windows(piece_ranges, 10, 5)
    assert window.tokens.tolist() == [0, 1, 1, 2]
    assert window.positions.tolist() == [1, 1, 2, 3]


def test_piece_between_tokens_belongs_to_the_next_token():
    # A word-start mark that lies on the space alone, and one after the last token.
    tokens = offsets((0, 2), (3, 5))
    pieces = offsets((0, 2), (2, 3), (3, 5), (5, 6))
    assert token_piece_ranges(tokens, pieces).tolist() == [[0, 1], [1, 4]]


def test_piece_without_characters_belongs_to_the_token_at_its_place():
    ranges = token_piece_ranges(offsets((0, 2), (2, 3)), offsets((0, 2), (2, 2)))
    assert ranges.tolist() == [[0, 1], [1, 2]]


def test_token_without_characters_in_any_piece_has_an_empty_range():
    tokens = offsets((0, 2), (2, 4), (4, 6))
    pieces = offsets((0, 2), (4, 6))
    starts, ends = token_piece_ranges(tokens, pieces).T
    assert (ends - starts).tolist() == [1, 0, 1]


def test_token_without_characters_leaves_the_word_start_mark_to_the_next():
    # "a\n\nb": the mark of "b" lies on the line break.
    tokens = offsets((0, 1), (1, 1), (3, 4))
    pieces = offsets((0, 1), (2, 3), (3, 4))
    assert token_piece_ranges(tokens, pieces)[[0, 2]].tolist() == [[0, 1], [1, 3]]
    assert lending_tokens(token_piece_ranges(tokens, pieces)).tolist() == [0, 0, 2]


def test_no_pieces_at_all():
    ranges = token_piece_ranges(offsets((0, 2), (2, 3)), offsets())
    assert ranges.tolist() == [[0, 0], [0, 0]]
    assert token_piece_ranges(offsets(), offsets()).shape == (0, 2)


def test_token_without_pieces_borrows_from_its_neighbour():
    assert lending_tokens(ranges_from_sizes([0, 0, 2, 0, 1, 0])).tolist() == [2, 2, 2, 2, 4, 4]
    assert lending_tokens(ranges_from_sizes([0, 0])).tolist() == [0, 0]
    assert lending_tokens(ranges_from_sizes([])).tolist() == []


@given(
    lengths=st.lists(st.integers(1, 50), max_size=60),
    max_pieces=st.integers(1, 200),
)
def test_batches_keep_the_cap_and_lose_nothing(lengths, max_pieces):
    batches = batch_by_length(lengths, max_pieces)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert lengths[batch[0]] == longest
        assert len(batch) == 1 or longest * len(batch) <= max_pieces
    by_batch = [[lengths[index] for index in batch] for batch in batches]
    flat = [length for batch in by_batch for length in batch]
    assert flat == sorted(lengths, reverse=True)
