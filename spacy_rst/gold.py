"""What the trainable components ask of gold documents."""

from __future__ import annotations

from itertools import zip_longest

from spacy.tokens import Doc

from .doc import NAME_KEY, SOURCE_KEY, get_meta
from .errors import Errors, RstError

SHOWN_CHARACTERS = 20


def document_name(doc: Doc) -> str:
    """Name a document for a message.

    doc (Doc): The Doc.
    RETURNS (str): What its user data says, or the beginning of its text.
    """
    for key in (SOURCE_KEY, NAME_KEY):
        if fact := get_meta(doc, key):
            return f"'{fact}'"
    return f"'{doc.text[: 2 * SHOWN_CHARACTERS]} ...'"


def check_same_text(predicted: Doc, reference: Doc) -> None:
    """Refuse an example of which the two Docs differ in their text.

    predicted (Doc): The predicted Doc.
    reference (Doc): The gold Doc.
    RAISES (RstError): If they differ. The message names the document and the place.
    """
    found, gold = predicted.text, reference.text
    if found == gold:
        return
    pairs = enumerate(zip_longest(found, gold))
    position = next(number for number, (own, other) in pairs if own != other)
    shown = slice(position, position + SHOWN_CHARACTERS)
    raise RstError(
        Errors.R201.format(
            document=document_name(reference),
            position=position,
            predicted=found[shown],
            gold=gold[shown],
        )
    )
