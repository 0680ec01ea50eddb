"""What a parser is told about EDUs and the boundaries between them, beside their vectors: facts
that can be read off the text and its layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span

from ..doc import knows_sentences, trimmed_chars
from ..doc_layout import get_layout
from ..layout import KINDS, Block
from ..orthography import COLONS, COMMAS, OPENING, SENTENCE_ENDS, last_mark

MARK_FEATURES = (
    "ends_sentence",
    "ends_with_colon",
    "ends_with_comma",
    "upper_case_follows",
    "paragraph_precedes",
    "starts_sentence",
    "is_first",
    "is_last",
)
LAYOUT_FEATURES = (
    "starts_sentence",
    "ends_sentence",
    "starts_block",
    "ends_block",
    "starts_paragraph",
    "ends_paragraph",
    "is_unknown",
    "place_in_block",
    "size_of_block",
    "has_new_speaker",
    "depth",
    "rank_of_heading",
    *(f"in_{kind}" for kind in KINDS),
)
N_FEATURES = len(MARK_FEATURES) + len(LAYOUT_FEATURES)

# The kinds of boundaries, from the weakest to the strongest. Those of a text of unknown layout are
# kinds of their own, so that what is learned about texts of known layout does not touch them.
BOUNDARY_KINDS = (
    "unknown",
    "sentence_of_unknown",
    "none",
    "sentence",
    "inner",
    "item",
    "turn",
    "paragraph",
    "after_heading",
    "heading",
)
ENDS_SENTENCE = MARK_FEATURES.index("ends_sentence")
STARTS_SENTENCE = MARK_FEATURES.index("starts_sentence")
PARAGRAPH_PRECEDES = MARK_FEATURES.index("paragraph_precedes")
STARTS_BLOCK = LAYOUT_FEATURES.index("starts_block")
IS_UNKNOWN = LAYOUT_FEATURES.index("is_unknown")
PARTS = frozenset({"item", "row", "caption", "code"})
DEEPEST_ITEM = 4
LOWEST_HEADING = 6
LOG_OF_LARGE_BLOCK = 4.0


class EduFacts(NamedTuple):
    """What a net is told about the EDUs of a document, beside their vectors.

    features (np.ndarray): Float32 (n_edus, N_FEATURES): `MARK_FEATURES`, then `LAYOUT_FEATURES`.
    kinds (np.ndarray): Int (n_edus,), the kind of the boundary before each EDU, an index into
        `BOUNDARY_KINDS`.
    levels (np.ndarray): Int (n_edus,), how strong that boundary is: like the kinds, but before
        headings of higher rank it is stronger, and turns are as strong as paragraphs.
    """

    features: np.ndarray
    kinds: np.ndarray
    levels: np.ndarray


def describe_edus(doc: Doc, edus: Sequence[Span]) -> EduFacts:
    """Collect what a net is told about the EDUs of a Doc. Without a layout it counts as one of
    unknown layout."""
    marks = mark_features(doc, edus)
    layout, kinds, levels = _layout_facts(doc, edus, marks)
    marks[1:, PARAGRAPH_PRECEDES] = layout[1:, STARTS_BLOCK]
    return EduFacts(np.concatenate([marks, layout], axis=1), kinds, levels)


def mark_features(doc: Doc, edus: Sequence[Span]) -> np.ndarray:
    """Describe each EDU by the facts that `MARK_FEATURES` names, as 0 or 1, but for paragraphs:
    (n_edus, n_features). Where a sentence starts is known only if the Doc has sentence
    boundaries."""
    features = np.zeros((len(edus), len(MARK_FEATURES)), dtype=np.float32)
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
    features[:1, 6] = features[-1:, 7] = 1
    return features


def _starts_sentence(edu: Span) -> bool:
    first = next((token for token in edu if not token.is_space), edu[0])
    # A boundary may also be set on the white space in front.
    return any(token.is_sent_start for token in edu.doc[edu.start : first.i + 1])


def _layout_facts(
    doc: Doc, edus: Sequence[Span], marks: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features that `LAYOUT_FEATURES` names, and the kinds and levels of boundaries."""
    blocks = get_layout(doc)
    is_sentence = marks[:, STARTS_SENTENCE] > 0
    is_sentence[1:] |= marks[:-1, ENDS_SENTENCE] > 0
    if blocks is None:
        kinds = np.where(is_sentence, _number("sentence_of_unknown"), _number("unknown"))
        features = np.zeros((len(edus), len(LAYOUT_FEATURES)), dtype=np.float32)
        features[:, :2] = _both_ends(is_sentence)
        features[:, IS_UNKNOWN] = 1
        return features, kinds, kinds
    starts = [trimmed_chars(edu)[0] for edu in edus]
    block_of_edu = np.searchsorted([block.start for block in blocks], starts, side="right") - 1
    block_of_edu = np.maximum(block_of_edu, 0)  # of white space before the first block
    is_new = np.diff(block_of_edu, prepend=-1) > 0
    inside = np.where(is_sentence, _number("sentence"), _number("none"))
    boundaries = np.array(_block_boundaries(blocks))[block_of_edu]
    kinds, levels = np.where(is_new, boundaries.T, inside)
    place, size = _places(is_new)
    features = np.column_stack(
        [
            _both_ends(is_new | is_sentence),
            _both_ends(is_new),
            _both_ends(levels >= _number("paragraph")),
            np.zeros(len(edus)),
            place / size,
            np.log1p(size) / LOG_OF_LARGE_BLOCK,
            _kind_features(blocks)[block_of_edu],
        ]
    )
    return features.astype(np.float32), kinds, levels


def _number(kind: str) -> int:
    return BOUNDARY_KINDS.index(kind)


def _both_ends(is_start: np.ndarray) -> np.ndarray:
    """Whether something starts and whether it ends with each EDU, given where it starts."""
    is_start = is_start.copy()
    is_start[:1] = True
    return np.column_stack([is_start, np.append(is_start[1:], True)[: len(is_start)]])


def _places(is_new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each EDU stands in its block, from 0, and how many EDUs the block has."""
    numbers = np.arange(len(is_new))
    firsts = np.flatnonzero(is_new)
    own = np.cumsum(is_new) - 1
    sizes = np.diff(firsts, append=len(is_new))
    return numbers - firsts[own], sizes[own]


def _block_boundaries(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Kind and level of the boundary before each block."""
    boundaries = []
    for before, block in zip([None, *blocks], blocks, strict=False):
        kind = _boundary_kind(before, block)
        level = _number("paragraph" if kind == "turn" else kind)
        if kind == "heading":
            level += LOWEST_HEADING - min(block.level, LOWEST_HEADING)
        boundaries.append((_number(kind), level))
    return boundaries


def _boundary_kind(before: Block | None, block: Block) -> str:
    if block.kind == "heading":
        return "heading"
    if before is not None and before.kind == "heading":
        return "after_heading"
    if block.kind in PARTS:
        return "inner" if block.continues or block.level > 1 else "item"
    if block.continues:
        return "item"
    return "turn" if block.kind == "turn" else "paragraph"


def _kind_features(blocks: Sequence[Block]) -> np.ndarray:
    """The features from "has_new_speaker" on, a row for each block."""
    rows = np.zeros((len(blocks), 3 + len(KINDS)))
    for row, before, block in zip(rows, [None, *blocks], blocks, strict=False):
        row[0] = before is not None and block.speaker != before.speaker
        if block.kind == "heading":
            row[2] = 1 - (min(block.level, LOWEST_HEADING) - 1) / LOWEST_HEADING
        else:
            row[1] = min(block.level, DEEPEST_ITEM) / DEEPEST_ITEM
        row[3 + KINDS.index(block.kind)] = 1
    return rows
