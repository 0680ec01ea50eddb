"""Facts about EDUs that can be read off the text, for parsers that take them beside the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc, Span

from ..doc import knows_sentences
from ..orthography import BLANK_LINE, COLONS, COMMAS, OPENING, SENTENCE_ENDS, last_mark

EDU_FEATURES = (
    "ends_sentence",
    "ends_with_colon",
    "ends_with_comma",
    "upper_case_follows",
    "paragraph_precedes",
    "starts_sentence",
    "is_first",
    "is_last",
)


def edu_features(doc: Doc, edus: Sequence[Span]) -> np.ndarray:
    """Describe each EDU by the facts that `EDU_FEATURES` names, as 0 or 1.

    A sentence's beginning is known only where the Doc has sentence boundaries, and a paragraph's
    where a blank line stands in the text; both are 0 elsewhere.

    doc (Doc): The Doc.
    edus (Sequence[Span]): Its EDUs in text order.
    RETURNS (np.ndarray): Float32 (n_edus, n_features).
    """
    features = np.zeros((len(edus), len(EDU_FEATURES)), dtype=np.float32)
    if not edus:
        return features
    text = doc.text
    has_sentences = knows_sentences(doc)
    following = ""
    for row, edu in zip(reversed(features), reversed(edus), strict=True):
        content = text[edu.start_char : edu.end_char].strip()
        last = last_mark(content)
        row[0] = last in SENTENCE_ENDS
        row[1] = last in COLONS
        row[2] = last in COMMAS
        row[3] = following.isupper()
        row[5] = has_sentences and _starts_sentence(edu)
        following = content.lstrip(OPENING)[:1]
    features[1:, 4] = [_has_blank_line(text, before, edu) for before, edu in pairwise(edus)]
    features[0, 6] = features[-1, 7] = 1
    return features


def _starts_sentence(edu: Span) -> bool:
    first = next((token for token in edu if not token.is_space), edu[0])
    # A boundary may also be set on the white space in front.
    return any(token.is_sent_start for token in edu.doc[edu.start : first.i + 1])


def _has_blank_line(text: str, before: Span, edu: Span) -> bool:
    """Whether a blank line stands between two EDUs, be its token in one of them or in neither."""
    end = before.start_char + len(text[before.start_char : before.end_char].rstrip())
    content = text[edu.start_char : edu.end_char]
    start = edu.start_char + len(content) - len(content.lstrip())
    return BLANK_LINE.search(text, end, start) is not None
