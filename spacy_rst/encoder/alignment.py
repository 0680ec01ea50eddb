"""Which word pieces of a text belong to which token. Plain numpy, without spaCy or torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def token_piece_ranges(token_offsets: Ints, piece_offsets: Ints) -> Ints:
    """Start and end piece of each token, shape (tokens, 2), found by characters.

    A piece that reaches into two tokens belongs to both. A piece that lies between tokens, such as
    SentencePiece's word-start mark on a space, belongs to the next token, so that every piece has
    an owner. A token without characters, or whose characters the tokenizer drops, has an empty
    range. Give whitespace tokens no characters (end = start), so that the word-start marks go to
    the words.
    """
    piece_starts = np.maximum.accumulate(piece_offsets[:, 0])
    piece_ends = np.maximum.accumulate(np.maximum(piece_offsets[:, 1], piece_starts + 1))
    starts = np.searchsorted(piece_ends, token_offsets[:, 0], side="right")
    ends = np.searchsorted(piece_starts, token_offsets[:, 1], side="left")
    ends = np.where(token_offsets[:, 1] > token_offsets[:, 0], ends, starts)
    owners = np.flatnonzero(ends > starts)
    if len(owners):
        ends[owners[-1]] = len(piece_offsets)
        previous_ends = np.concatenate(([0], ends[owners[:-1]]))
        starts[owners] = np.minimum(starts[owners], previous_ends)
    return np.stack([starts, np.maximum(starts, ends)], axis=1).astype(np.int64)


def pair_tokens_and_pieces(piece_ranges: Ints) -> tuple[Ints, Ints]:
    """List each token with each of its pieces: the tokens and the pieces of all pairs."""
    sizes = piece_ranges[:, 1] - piece_ranges[:, 0]
    # Counting on through all pairs, and from each token's first piece in place of its first pair.
    shifts = piece_ranges[:, 0] - (np.cumsum(sizes) - sizes)
    pieces = np.arange(sizes.sum()) + np.repeat(shifts, sizes)
    return np.repeat(np.arange(len(sizes)), sizes), pieces


def nearest_token_with_pieces(piece_ranges: Ints) -> Ints:
    """The token from which each token takes its vector: the token itself, or if it has no pieces
    the nearest token before it that has some, or else the nearest after it. If no token has pieces,
    it is the first token."""
    has_pieces = piece_ranges[:, 1] > piece_ranges[:, 0]
    lenders = np.maximum.accumulate(np.where(has_pieces, np.arange(len(has_pieces)), -1))
    if len(lenders):
        lenders[lenders < 0] = np.argmax(has_pieces)
    return lenders.astype(np.int64)
