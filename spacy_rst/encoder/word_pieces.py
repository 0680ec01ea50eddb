"""Text as the word pieces of a SentencePiece model."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

import numpy as np

from .alignment import Ints

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

WORD = re.compile(r"\S+")
WORD_START = "\u2581"  # how SentencePiece writes the space before a word
# Words are cut once. What is longer is seldom a word, and what is more would fill the memory.
CACHED_CHARACTERS = 30
CACHED_WORDS = 100_000


class TokenPieces(NamedTuple):
    """The word pieces of a text, and start and end piece of each token, shape (tokens, 2)."""

    ids: Ints
    ranges: Ints

    def crop(self, start: int, end: int, context: int) -> TokenPieces:
        """Take neighbouring tokens with their pieces, and `context` more pieces at each side."""
        ranges = self.ranges[start:end]
        owned = ranges[ranges[:, 1] > ranges[:, 0]]
        if not len(owned):
            return TokenPieces(self.ids[:0], ranges)
        first = max(int(owned.min()) - context, 0)
        return TokenPieces(self.ids[first : int(owned.max()) + context], ranges - first)


class WordPieces:
    """Cuts text into the pieces of a SentencePiece model."""

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

    def encode(self, text: str) -> tuple[Ints, Ints]:
        """Cut a text into pieces.

        text (str): The text.
        RETURNS (tuple[Ints, Ints]): The ids of the pieces, and their start and end characters.
        """
        ids: list[int] = []
        ends_in_words: list[int] = []
        words: list[int] = []
        counts: list[int] = []
        for match in WORD.finditer(text):
            word_pieces, word_ends = self._cut_word(match.group())
            ids += word_pieces
            ends_in_words += word_ends
            words.append(match.start())
            counts.append(len(word_ends))
        offsets = np.zeros((len(ids), 2), dtype=np.int64)
        offsets[:, 1] = np.repeat(np.array(words, dtype=np.int64), counts) + ends_in_words
        # A piece begins where the one before it ends, or where its word does.
        offsets[1:, 0] = offsets[:-1, 1]
        offsets[np.cumsum(counts[:-1], dtype=np.int64), 0] = words[1:]
        offsets[:1, 0] = words[:1]
        return np.array(ids, dtype=np.int64), offsets

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
