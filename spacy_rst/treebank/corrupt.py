"""Documents with a damaged surface, for training: chats, transcripts and hasty notes have no
capitals, or no marks at the ends of sentences."""

from __future__ import annotations

from itertools import compress

from spacy.tokens import Doc, Token

from ..doc import get_edus
from ..orthography import CLOSING, SENTENCE_ENDS, is_unspaced
from .strip_layout import copy_tokens

LOWER_CASE = "lower_case"
NO_ENDS = "no_ends"
TRANSCRIPT = "transcript"  # both
DAMAGES = (LOWER_CASE, NO_ENDS, TRANSCRIPT)


def damaged(doc: Doc, damage: str) -> Doc:
    """Copy a document with a damaged surface, and its EDUs, tree, syntax and layout.

    doc (Doc): The gold Doc.
    damage (str): "lower_case", unless that changes the length of a word (Turkish "İ"); "no_ends",
        without the marks that end sentences, but for EDUs of nothing else; "transcript" for both.
    RETURNS (Doc): The copy.
    """
    words = [token.text for token in doc]
    lower = [word.lower() for word in words]
    if damage != NO_ENDS and list(map(len, words)) == list(map(len, lower)):
        words = lower
    is_kept = [True] * len(doc)
    if damage != LOWER_CASE:
        for edu in get_edus(doc):
            are_others = [not _ends_sentence(token) for token in edu]
            if any(not token.is_space for token in compress(edu, are_others)):
                is_kept[edu.start : edu.end] = are_others
    return copy_tokens(doc, is_kept, words)


def _ends_sentence(token: Token) -> bool:
    """Whether a token is nothing but marks that end a sentence, at the end of a word. A token for
    which that cannot be told, such as the point of an abbreviation, counts as one."""
    if not set(token.text) <= SENTENCE_ENDS:
        return False
    if token.whitespace_ or is_unspaced(token.text[-1]) or token.i + 1 == len(token.doc):
        return True
    following = token.nbor()
    return following.is_space or set(following.text) <= set(CLOSING) | SENTENCE_ENDS
