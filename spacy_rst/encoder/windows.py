"""Word-piece windows: which pieces a transformer sees together, and which token owns each of them.

Everything here counts in true word pieces of the document, which was tokenized once, as a whole.
Plain numpy: the module knows neither spaCy nor torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spacy_rst.errors import Errors, RstError

Ints = NDArray[np.int64]

LEADING_SPECIALS = 1
"""The model's input starts with one special piece, so a window's first piece is at position 1."""


@dataclass(frozen=True)
class Window:
    """One input of the transformer, and the tokens that its vectors go to.

    start (int): The window's first word piece in the document.
    end (int): The first word piece after the window.
    positions (Ints): Positions in the model's input, where 0 is the leading special piece.
    tokens (Ints): For each of these positions, the token that its vector is for.
    """

    start: int
    end: int
    positions: Ints
    tokens: Ints


def check_window_sizes(window: int, stride: int) -> None:
    """Refuse windows that would leave out pieces.

    window (int): Word pieces in a window.
    stride (int): Word pieces between the starts of two neighbouring windows.
    RAISES (RstError): R300, unless 1 <= stride <= window.
    """
    if not 1 <= stride <= window:
        raise RstError(Errors.R300.format(window=window, stride=stride))


def token_piece_ranges(token_offsets: Ints, piece_offsets: Ints) -> Ints:
    """Find the word pieces of each token by their characters.

    A piece that reaches into two tokens belongs to both. A piece that lies between tokens, such as
    SentencePiece's word-start mark on a space, belongs to the next token, so that every piece has
    an owner. A token without characters, or whose characters the tokenizer drops, has an empty
    range.

    token_offsets (Ints): Start and end character of each token, shape (tokens, 2). Give whitespace
        tokens no characters (end = start), so that the word-start marks go to the words.
    piece_offsets (Ints): Start and end character of each word piece, shape (pieces, 2).
    RETURNS (Ints): Start and end piece of each token, shape (tokens, 2).
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


def lending_tokens(piece_ranges: Ints) -> Ints:
    """Find the token from which each token takes its vector.

    This is the token itself, or for one without pieces the nearest token with pieces before it,
    or where there is none, the nearest after it. If no token has pieces, it is the first token.

    piece_ranges (Ints): Start and end piece of each token.
    RETURNS (Ints): The index of a token, for each token.
    """
    has_pieces = piece_ranges[:, 1] > piece_ranges[:, 0]
    lenders = np.maximum.accumulate(np.where(has_pieces, np.arange(len(has_pieces)), -1))
    if len(lenders):
        lenders[lenders < 0] = np.argmax(has_pieces)
    return lenders.astype(np.int64)


def cut_windows(piece_ranges: Ints, window: int, stride: int) -> list[Window]:
    """Cut a document into overlapping windows that start and end between tokens.

    A window starts at the first token at or after the point `stride` pieces behind the last
    window's start, or right behind the last window where a long token straddles that point.
    A token with more pieces than a window is the one exception to cutting between tokens: windows
    then also start and end inside it, so all of its pieces are seen.

    piece_ranges (Ints): Start and end piece of each token.
    window (int): The most word pieces in a window, without the model's special pieces.
    stride (int): Word pieces between the starts of two neighbouring windows.
    RETURNS (list[Window]): The windows in order. A document of tokens without any pieces has one
        window with nothing but the special pieces, and its first token takes the leading one.
    RAISES (RstError): R300, unless 1 <= stride <= window.
    """
    check_window_sizes(window, stride)
    if not len(piece_ranges):
        return []
    tokens, starts, ends = _units(piece_ranges, window)
    if not len(tokens):
        return [Window(0, 0, positions=np.zeros(1, np.int64), tokens=np.zeros(1, np.int64))]
    windows = []
    unit, covered = 0, 0
    while covered < len(tokens):
        first_piece = int(starts[unit])
        covered = int(np.searchsorted(ends, first_piece + window, side="right"))
        inside = slice(unit, covered)
        sizes = ends[inside] - starts[inside]
        pieces = _concatenated_ranges(starts[inside], sizes)
        windows.append(
            Window(
                start=first_piece,
                end=int(ends[covered - 1]),
                positions=pieces - first_piece + LEADING_SPECIALS,
                tokens=np.repeat(tokens[inside], sizes),
            )
        )
        unit = min(int(np.searchsorted(starts, first_piece + stride)), covered)
    return windows


def batch_by_length(lengths: Sequence[int], max_pieces: int) -> list[list[int]]:
    """Group sequences of similar length, longest first, so that little is lost to padding.

    lengths (Sequence[int]): The length of each sequence.
    max_pieces (int): The most pieces in a batch, padding included. A sequence that is longer than
        this makes a batch of its own.
    RETURNS (list[list[int]]): The indices of the sequences in each batch.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= max_pieces:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _units(piece_ranges: Ints, window: int) -> tuple[Ints, Ints, Ints]:
    """The parts that a window must not cut: tokens, and the single pieces of giant tokens."""
    sizes = piece_ranges[:, 1] - piece_ranges[:, 0]
    tokens = np.flatnonzero(sizes > 0)
    sizes = sizes[tokens]
    is_giant = sizes > window
    parts = np.where(is_giant, sizes, 1)
    starts = _concatenated_ranges(piece_ranges[tokens, 0], parts)
    ends = starts + np.repeat(np.where(is_giant, 1, sizes), parts)
    # Searching needs sorted starts, which two pieces shared with a giant token would disturb.
    return np.repeat(tokens, parts), np.maximum.accumulate(starts), ends


def _concatenated_ranges(starts: Ints, sizes: Ints) -> Ints:
    """Count `size` numbers up from each start: starts (5, 9), sizes (2, 3) give 5 6 9 10 11."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
