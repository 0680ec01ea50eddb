"""Texts in chunks of whole sentences, as far as marks tell: what is parsed at once."""

from __future__ import annotations

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc

from ..orthography import CLOSING, SENTENCE_ENDS

# The share of a chunk that it must have at least to end with a sentence.
SHORTEST_SHARE = 0.25


def cut_at_ends(ends: np.ndarray, size: int) -> list[int]:
    """Cut a text into chunks of at most `size` tokens that end with a sentence, as far as marks
    tell, or else anywhere. Returns the number of tokens of each."""
    if not len(ends):
        return []
    lengths: list[int] = []
    start, places = 0, np.append(0, np.flatnonzero(ends) + 1)
    shortest = max(1, int(size * SHORTEST_SHARE))
    while len(ends) - start > size:
        last = int(places[np.searchsorted(places, start + size, side="right") - 1])
        end = last if last >= start + shortest else start + size
        lengths.append(end - start)
        start = end
    return [*lengths, len(ends) - start]


def sentence_ends(doc: Doc) -> np.ndarray:
    """Tokens after which a sentence may end: a mark, or one that closes a quotation or a bracket
    after it, or a line break."""
    forms, form_of_token = np.unique(doc.to_array(ORTH), return_inverse=True)
    texts = [doc.vocab.strings[form] for form in forms.tolist()]
    is_mark = np.array([text[-1] in SENTENCE_ENDS for text in texts], dtype=bool)[form_of_token]
    closes = np.array([text in CLOSING for text in texts], dtype=bool)[form_of_token]
    breaks = np.array(["\n" in text for text in texts], dtype=bool)[form_of_token]
    is_mark[1:] |= is_mark[:-1] & closes[1:]
    is_mark[:-1] &= ~closes[1:]
    return is_mark | breaks
