from __future__ import annotations

import numpy as np
import pytest

from spacy_rst.encoder.alignment import (
    nearest_token_with_pieces,
    pair_tokens_and_pieces,
    token_piece_ranges,
)

# The characters of the tokens, those of the pieces, and which pieces the tokens have.
ALIGNMENTS = {
    # "don't go": tokens do|n't|go, pieces "don" "'t" "go"
    "overlap": ([(0, 2), (2, 5), (6, 8)], [(0, 3), (3, 5), (6, 8)], [[0, 1], [0, 2], [2, 3]]),
    # A word-start mark that lies on the space alone, and one after the last token.
    "between tokens": ([(0, 2), (3, 5)], [(0, 2), (2, 3), (3, 5), (5, 6)], [[0, 1], [1, 4]]),
    "without characters": ([(0, 2), (2, 3)], [(0, 2), (2, 2)], [[0, 1], [1, 2]]),
    "in no piece": ([(0, 2), (2, 4), (4, 6)], [(0, 2), (4, 6)], [[0, 1], [1, 1], [1, 2]]),
    # "a\n\nb": the mark of "b" lies on the line break.
    "line break": ([(0, 1), (1, 1), (3, 4)], [(0, 1), (2, 3), (3, 4)], [[0, 1], [1, 1], [1, 3]]),
    "no pieces": ([(0, 2), (2, 3)], [], [[0, 0], [0, 0]]),
    "no tokens": ([], [], []),
}


def offsets(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize(("tokens", "pieces", "expected"), ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_pieces_of_tokens(tokens, pieces, expected):
    ranges = token_piece_ranges(offsets(tokens), offsets(pieces))
    assert ranges.shape == (len(tokens), 2)
    assert ranges.tolist() == expected


def test_pairs_go_token_by_token():
    piece_ranges = np.array([[0, 1], [0, 2], [7, 7], [2, 3]])
    tokens, pieces = pair_tokens_and_pieces(piece_ranges)
    assert tokens.tolist() == [0, 1, 1, 3]
    assert pieces.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([0, 0, 2, 0, 1, 0], [2, 2, 2, 2, 4, 4]), ([0, 0], [0, 0]), ([1, 0, 1], [0, 0, 2]), ([], [])],
)
def test_token_without_pieces_borrows_from_its_neighbour(sizes, expected):
    ends = np.cumsum(sizes, dtype=np.int64)
    piece_ranges = np.stack([ends - np.array(sizes, dtype=np.int64), ends], axis=1)
    assert nearest_token_with_pieces(piece_ranges).tolist() == expected
