"""Facts about tokens that can be read off the text in any language."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc

from ..doc import TREEBANK_KEY, get_meta
from ..doc_layout import get_layout, token_blocks
from ..layout import KINDS
from ..orthography import COLONS, COMMAS, SENTENCE_ENDS
from .boundaries import Borders

MARKS = ("sentence_end", "colon", "comma", "opening", "closing", "dash", "other_mark")
MARK_FEATURES = (
    *MARKS,
    "upper_case",
    *(f"after_{mark}" for mark in MARKS),
    "starts_sentence",
    "starts_line",
    "starts_paragraph",
    "is_space",
)
LAYOUT_FEATURES = (
    *(f"in_{kind}" for kind in KINDS),
    *(f"starts_{kind}" for kind in KINDS),
    "has_new_speaker",
    "layout_is_unknown",
)
N_FEATURES = len(MARK_FEATURES) + len(LAYOUT_FEATURES)
MARK_BY_CATEGORY = {
    "Ps": "opening",
    "Pi": "opening",
    "Pe": "closing",
    "Pf": "closing",
    "Pd": "dash",
    "Po": "other_mark",
}


def describe_tokens(doc: Doc, borders: Borders, conventions: Sequence[str] = ()) -> np.ndarray:
    """Collect what a net is told about tokens, beside their vectors: (n_tokens, n_features),
    `MARK_FEATURES`, `LAYOUT_FEATURES`, and for each of the conventions whether the Doc follows it.
    Without a layout it counts as one of unknown layout."""
    own = get_meta(doc, TREEBANK_KEY)
    follows = np.tile(np.array([name == own for name in conventions], "f"), (len(doc), 1))
    marks, layout = _mark_features(doc, borders), _layout_features(doc, borders)
    return np.concatenate([marks, layout, follows], axis=1)


def _mark_features(doc: Doc, borders: Borders) -> np.ndarray:
    """The features that `MARK_FEATURES` names, as 0 or 1.

    A token's mark is that of its last character. "after_" is about the last token before that is
    not white space. Every block of the layout but the first is a paragraph here.
    """
    forms, form_of_token = np.unique(doc.to_array(ORTH), return_inverse=True)
    strings = doc.vocab.strings
    table = np.zeros((len(forms), len(MARKS) + 1), dtype=np.float32)
    for row, form in zip(table, forms.tolist(), strict=True):
        text = strings[form]
        mark = _mark(text[-1:])
        if mark is not None:
            row[MARKS.index(mark)] = 1
        row[-1] = text[:1].isupper()
    own = table[form_of_token]
    words = borders.words.places
    # The number of words before each token, which is the place after the last of them.
    n_before = np.searchsorted(words, np.arange(len(doc)))
    after = np.zeros((len(doc), len(MARKS)), dtype=np.float32)
    has_before = n_before > 0
    after[has_before] = own[words[n_before[has_before] - 1], : len(MARKS)]
    paragraphs = borders.blocks.copy()
    paragraphs[words[:1]] = False
    facts = (borders.sentences, borders.lines, paragraphs, borders.is_space)
    return np.concatenate([own, after, np.stack(facts, axis=1).astype(np.float32)], axis=1)


def _layout_features(doc: Doc, borders: Borders) -> np.ndarray:
    """The features that `LAYOUT_FEATURES` names, as 0 or 1."""
    features = np.zeros((len(doc), len(LAYOUT_FEATURES)), dtype=np.float32)
    blocks = get_layout(doc)
    if blocks is None:
        features[:, -1] = 1
        return features
    # White space before the first block has no block, and zeros.
    table = np.zeros((len(blocks) + 1, len(KINDS) + 1), dtype=np.float32)
    table[np.arange(len(blocks)), [KINDS.index(block.kind) for block in blocks]] = 1
    speakers = [block.speaker for block in blocks]
    table[1:-1, -1] = [one != other for one, other in pairwise(speakers)]
    facts = table[token_blocks(doc)]
    features[:, : len(KINDS)] = facts[:, :-1]
    features[borders.blocks, len(KINDS) : -1] = facts[borders.blocks]
    return features


def _mark(character: str) -> str | None:
    if character in SENTENCE_ENDS:
        return "sentence_end"
    if character in COLONS:
        return "colon"
    if character in COMMAS:
        return "comma"
    return MARK_BY_CATEGORY.get(unicodedata.category(character)) if character else None
