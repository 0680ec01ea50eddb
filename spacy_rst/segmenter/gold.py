"""What a segmenter learns from: gold EDUs as starts among the tokens of the predicted Doc."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IDX
from spacy.training import Example

from ..doc import EDUS_KEY, edu_places, get_edus
from ..errors import Errors, RstError
from ..gold import check_same_text, document_name


@dataclass(frozen=True)
class GoldStarts:
    """The gold EDUs of a document.

    starts (np.ndarray): Bool (n_tokens,), the tokens of the predicted Doc that begin an EDU.
    n_edus (int): The number of gold EDUs.
    n_misaligned (int): Gold EDUs that begin inside a token. The token counts as a start.
    """

    starts: np.ndarray
    n_edus: int
    n_misaligned: int


def read_gold_starts(example: Example) -> GoldStarts | None:
    """Find the tokens of an example's predicted Doc at which its gold EDUs begin, by characters.

    example (Example): The example.
    RETURNS (GoldStarts | None): The starts, None where the reference has no EDUs.
    RAISES (RstError): If the EDUs do not fit the text. The message names the document.
    """
    reference, predicted = example.reference, example.predicted
    if not reference.spans.get(EDUS_KEY):
        return None
    try:
        get_edus(reference)
    except RstError as error:
        document = document_name(reference)
        raise RstError(Errors.R404.format(document=document, error=error)) from error
    check_same_text(predicted, reference)
    chars = np.array([start for start, _ in edu_places(reference)], dtype=np.int64)
    token_chars = predicted.to_array(IDX).astype(np.int64)
    tokens = np.searchsorted(token_chars, chars, side="right") - 1
    starts = np.zeros(len(predicted), dtype=bool)
    starts[tokens] = True
    return GoldStarts(starts, len(chars), int((token_chars[tokens] != chars).sum()))
