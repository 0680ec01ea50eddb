"""Text as the word pieces of a SentencePiece model, and the tokens to which they belong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

WORD = re.compile(r"\S+")
WORD_START = "\u2581"  # how SentencePiece writes the space before a word
# Words are cut once. What is longer is seldom a word, and what is more would fill the memory.
CACHED_CHARACTERS = 30
CACHED_WORDS = 100_000


@dataclass(frozen=True)
class TokenPieces:
    """The pieces of a text, in order, and the tokens which they overlap.

    pieces (np.ndarray): Int (n_pieces,).
    first (np.ndarray): Int (n_pieces,), the first token that a piece overlaps.
    last (np.ndarray): Int (n_pieces,), the last one.
    """

    pieces: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def between(self, start: int, end: int, context: int) -> PieceRange:
        """Take the pieces of some neighbouring tokens.

        start, end (int): The tokens.
        context (int): How many pieces to take at each side beside those of the tokens.
        RETURNS (PieceRange): The pieces.
        """
        own_start = int(np.searchsorted(self.last, start))
        own_end = max(own_start, int(np.searchsorted(self.first, end)))
        begin = max(own_start - context, 0)
        own = slice(own_start, own_end)
        first = np.maximum(self.first[own], start)
        counts = np.minimum(self.last[own], end - 1) - first + 1
        within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        tokens = np.repeat(first, counts) + within
        return PieceRange(
            pieces=self.pieces[begin : own_end + context],
            pooled=np.repeat(np.arange(own_start, own_end) - begin, counts),
            pool_starts=np.searchsorted(tokens, np.arange(start, end)),
        )


@dataclass(frozen=True)
class PieceRange:
    """The pieces of neighbouring tokens, with others around them.

    pieces (np.ndarray): Int (n_pieces,).
    pooled (np.ndarray): Int (n_pairs,), places in `pieces` that belong to the tokens, token by
        token.
    pool_starts (np.ndarray): Int (n_tokens,), where the pieces of each token begin in `pooled`.
    """

    pieces: np.ndarray
    pooled: np.ndarray
    pool_starts: np.ndarray

    def __len__(self) -> int:
        return len(self.pool_starts)


class WordPieces:
    """Cuts text into pieces.

    model (bytes): A SentencePiece model.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._words: dict[str, tuple[list[int], list[int]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "_words": {}}

    @cached_property
    def processor(self) -> SentencePieceProcessor:
        """RETURNS (SentencePieceProcessor): What does the work."""
        from sentencepiece import SentencePieceProcessor

        processor = SentencePieceProcessor()
        processor.LoadFromSerializedProto(self.model)
        return processor

    def cut(self, text: str, token_starts: np.ndarray) -> TokenPieces:
        """Cut a text into pieces.

        text (str): The text.
        token_starts (np.ndarray): Int (n_tokens,), the character at which each token begins.
        RETURNS (TokenPieces): The pieces.
        """
        pieces: list[int] = []
        ends: list[int] = []
        starts: list[int] = []
        for match in WORD.finditer(text):
            word_pieces, word_ends = self._cut_word(match.group())
            place = match.start()
            pieces += word_pieces
            starts.append(place)
            starts += [place + end for end in word_ends[:-1]]
            ends += [place + end for end in word_ends]
        first = np.searchsorted(token_starts, np.array(starts, dtype=np.int64), side="right") - 1
        last = np.searchsorted(token_starts, np.array(ends, dtype=np.int64) - 1, side="right") - 1
        return TokenPieces(np.array(pieces, dtype=np.int64), first, np.maximum(first, last))

    def _cut_word(self, word: str) -> tuple[list[int], list[int]]:
        """The pieces of a word, at least one, and the character after each of them."""
        known = self._words.get(word)
        if known is not None:
            return known
        pieces = self.processor.EncodeAsIds(word)
        written = self.processor.EncodeAsPieces(word)
        if not pieces:  # nothing but characters that SentencePiece ignores
            pieces, written = [self.processor.unk_id()], [word]
        lengths = [len(piece) for piece in written]
        lengths[0] -= written[0].startswith(WORD_START)
        ends = np.cumsum(lengths)
        if ends[-1] != len(word):
            ends = _places_in_word(ends, word)
        # The last piece has the last character, lest it begin in what follows the word.
        ends = np.minimum(ends, len(word) - 1)
        ends[-1] = len(word)
        result = pieces, ends.tolist()
        if len(word) <= CACHED_CHARACTERS and len(self._words) < CACHED_WORDS:
            self._words[word] = result
        return result


def _places_in_word(places: np.ndarray, word: str) -> np.ndarray:
    """Where places in a normalised word lie in the word itself, which has another length."""
    normalised = np.cumsum([len(normalize("NFKC", character)) for character in word])
    if normalised[-1] == places[-1]:
        return np.searchsorted(normalised, places, side="right")
    # Normalised in another way: estimates.
    return np.round(places * (len(word) / max(int(places[-1]), 1))).astype(np.int64)
