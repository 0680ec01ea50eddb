from __future__ import annotations

import subprocess
import sys

import numpy as np

from spacy_rst.encoder.alignment import (
    nearest_token_with_pieces,
    pair_tokens_and_pieces,
    token_piece_ranges,
)


def ranges_from_sizes(sizes: list[int]) -> np.ndarray:
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    return np.stack([ends - sizes, ends], axis=1) if sizes else np.zeros((0, 2), dtype=np.int64)


def offsets(*pairs: tuple[int, int]) -> np.ndarray:
    return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)


def test_import_needs_no_heavy_library():
    code = (
        "import sys; before = set(sys.modules); import spacy_rst.encoder.alignment; "
        "print({m.partition('.')[0] for m in set(sys.modules) - before})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = eval(run.stdout)
    assert "spacy_rst" in loaded
    assert not loaded & {"transformers", "spacy_transformers", "tokenizers"}


def test_pieces_belong_to_the_tokens_they_overlap():
    #         "don't go" -> do|n't|go, pieces "don" "'t" "go"
    tokens = offsets((0, 2), (2, 5), (6, 8))
    pieces = offsets((0, 3), (3, 5), (6, 8))
    assert token_piece_ranges(tokens, pieces).tolist() == [[0, 1], [0, 2], [2, 3]]


def test_pairs_go_token_by_token():
    piece_ranges = np.array([[0, 1], [0, 2], [7, 7], [2, 3]])
    tokens, pieces = pair_tokens_and_pieces(piece_ranges)
    assert tokens.tolist() == [0, 1, 1, 3]
    assert pieces.tolist() == [0, 0, 1, 2]


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
    assert nearest_token_with_pieces(token_piece_ranges(tokens, pieces)).tolist() == [0, 0, 2]


def test_no_pieces_at_all():
    ranges = token_piece_ranges(offsets((0, 2), (2, 3)), offsets())
    assert ranges.tolist() == [[0, 0], [0, 0]]
    assert token_piece_ranges(offsets(), offsets()).shape == (0, 2)


def test_token_without_pieces_borrows_from_its_neighbour():
    assert nearest_token_with_pieces(ranges_from_sizes([0, 0, 2, 0, 1, 0])).tolist() == [
        2,
        2,
        2,
        2,
        4,
        4,
    ]
    assert nearest_token_with_pieces(ranges_from_sizes([0, 0])).tolist() == [0, 0]
    assert nearest_token_with_pieces(ranges_from_sizes([])).tolist() == []
