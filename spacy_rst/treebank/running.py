"""Documents as running text, for training and scores without layout."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from spacy.tokens import Doc, Token

from ..doc import TREE_KEY, get_edus, get_tree, set_edus, set_tree
from ..doc_layout import set_layout
from ..orthography import is_unspaced


def as_running_text(doc: Doc) -> Doc:
    """Copy a document without its layout, as texts are that lost theirs.

    Line breaks are left out, and not only unknown: an encoder would see them.

    doc (Doc): The gold Doc.
    RETURNS (Doc): A Doc with the other tokens, the same EDUs and tree, and an unknown layout.
    """
    is_kept = np.array([not _is_break(token) for token in doc], dtype=bool)
    kept = [token for token, keep in zip(doc, is_kept, strict=True) if keep]
    places = np.concatenate([[0], np.cumsum(is_kept)])
    copy = Doc(
        doc.vocab,
        words=[token.text for token in kept],
        spaces=[*(_has_space(*pair) for pair in pairwise(kept)), False][: len(kept)],
        sent_starts=[token.is_sent_start for token in kept],
    )
    copy.user_data |= {key: value for key, value in doc.user_data.items() if key != TREE_KEY}
    set_edus(copy, [copy[places[edu.start] : places[edu.end]] for edu in get_edus(doc)])
    tree = get_tree(doc)
    set_tree(copy, tree and tree.with_edus(list(copy.spans["edus"])))
    set_layout(copy, None)
    return copy


def _is_break(token: Token) -> bool:
    return "\n" in token.text and token.text.isspace()


def _has_space(token: Token, following: Token) -> bool:
    if following.i == token.i + 1:
        return bool(token.whitespace_)
    return not (is_unspaced(token.text[-1]) or is_unspaced(following.text[0]))
