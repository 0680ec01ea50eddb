"""Documents as running text, for training and scores without layout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc, Token

from ..doc import TREE_KEY, get_edus, get_tree, set_edus, set_tree
from ..doc_layout import LAYOUT_KEY, get_layout, set_layout
from ..orthography import is_unspaced
from .syntax import copy_syntax


def as_running_text(doc: Doc) -> Doc:
    """Copy a document without its layout, and without line breaks: an encoder would see them."""
    copy = copy_tokens(doc, [not token.is_space or "\n" not in token.text for token in doc])
    set_layout(copy, None)
    return copy


def copy_tokens(doc: Doc, is_kept: Sequence[bool], words: Sequence[str] | None = None) -> Doc:
    """Copy a document without some of its tokens, with its EDUs, tree, syntax and layout. At least
    one token of each EDU must be kept."""
    words = [token.text for token in doc] if words is None else words
    kept = [token for token, keep in zip(doc, is_kept, strict=True) if keep]
    places = np.concatenate([[0], np.cumsum(np.array(is_kept, dtype=bool))])
    copy = Doc(
        doc.vocab,
        words=[words[token.i] for token in kept],
        spaces=[*(_has_space(*pair) for pair in pairwise(kept)), False][: len(kept)],
        sent_starts=_sentence_starts(doc, kept),
    )
    if doc.has_annotation("DEP"):
        copy_syntax(doc, copy, [token.i for token in kept])
    copy.user_data |= {key: value for key, value in doc.user_data.items() if key != TREE_KEY}
    set_edus(copy, [copy[places[edu.start] : places[edu.end]] for edu in get_edus(doc)])
    tree = get_tree(doc)
    set_tree(copy, tree and tree.with_edus(list(copy.spans["edus"])))
    _copy_blocks(doc, copy, places)
    return copy


def _has_space(token: Token, following: Token) -> bool:
    between = token.doc[token.i : following.i]
    if any(other.is_space for other in between[1:]):
        return not (is_unspaced(token.text[-1]) or is_unspaced(following.text[0]))
    return any(other.whitespace_ for other in between)


def _sentence_starts(doc: Doc, kept: Sequence[Token]) -> list[bool | int | None]:
    """A sentence that begins with tokens that are left out begins with the next one."""
    starts: list[bool | int | None] = []
    first = 0
    for token in kept:
        marks = [other.is_sent_start for other in doc[first : token.i + 1]]
        starts.append(True if True in marks else marks[-1])
        first = token.i + 1
    return starts


def _copy_blocks(doc: Doc, copy: Doc, places: np.ndarray) -> None:
    blocks = get_layout(doc) or ()
    if LAYOUT_KEY not in doc.spans:
        return
    spans = [copy[places[span.start] : places[span.end]] for span in doc.spans[LAYOUT_KEY]]
    pairs = zip(blocks, spans, strict=True)
    copied = [
        block._replace(start=span.start_char, end=span.end_char)
        for block, span in pairs
        if len(span)
    ]
    set_layout(copy, copied)
