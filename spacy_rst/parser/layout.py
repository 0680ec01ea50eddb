"""What the layout of a text tells about its EDUs and about the boundaries between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from spacy.tokens import Doc, Span

from ..doc import trimmed_chars
from ..doc_layout import read_layout
from ..layout import KINDS, Block
from .features import EDU_FEATURES, edu_features

LayoutMode = Literal["none", "paragraphs", "all"]

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
ENDS_SENTENCE = EDU_FEATURES.index("ends_sentence")
STARTS_SENTENCE = EDU_FEATURES.index("starts_sentence")
PARAGRAPH_PRECEDES = EDU_FEATURES.index("paragraph_precedes")
STARTS_BLOCK = LAYOUT_FEATURES.index("starts_block")
IS_UNKNOWN = LAYOUT_FEATURES.index("is_unknown")
PARTS = frozenset({"item", "row", "caption", "code"})
DEEPEST_ITEM = 4
LOWEST_HEADING = 6
LOG_OF_LARGE_BLOCK = 4.0


class EduFacts(NamedTuple):
    """What a net is told about the EDUs of a document, beside their vectors.

    features (np.ndarray): Float32 (n_edus, n_features).
    kinds (np.ndarray): Int (n_edus,), the kind of the boundary before each EDU, an index into
        `BOUNDARY_KINDS`.
    levels (np.ndarray): Int (n_edus,), how strong that boundary is: like the kinds, but before
        headings of higher rank it is stronger, and turns are as strong as paragraphs.
    """

    features: np.ndarray
    kinds: np.ndarray
    levels: np.ndarray


def describe_edus(
    doc: Doc,
    edus: Sequence[Span],
    *,
    use_features: bool = False,
    layout: LayoutMode = "none",
) -> EduFacts:
    """Collect what a net is told about EDUs.

    doc (Doc): The Doc, whose layout is read from its text if it has none yet.
    edus (Sequence[Span]): Its EDUs in text order.
    use_features (bool): Whether the features begin with those that `EDU_FEATURES` names.
    layout (str): "none"; or "all", for features that go on with what `LAYOUT_FEATURES` names; or
        "paragraphs", for the same without any differences between kinds of blocks.
    RETURNS (EduFacts): The facts. Without layout all boundaries are of the first kind.
    """
    if layout == "none":
        features = edu_features(doc, edus) if use_features else np.zeros((len(edus), 0), "f")
        nothing = np.zeros(len(edus), dtype=np.int64)
        return EduFacts(features, nothing, nothing)
    marks = edu_features(doc, edus)
    facts = _read_layout(doc, edus, marks, layout)
    if not use_features:
        return facts
    # A blank line that divides no blocks must not be seen in the text either.
    marks[1:, PARAGRAPH_PRECEDES] = facts.features[1:, STARTS_BLOCK]
    return facts._replace(features=np.concatenate([marks, facts.features], axis=1))


def _read_layout(doc: Doc, edus: Sequence[Span], marks: np.ndarray, mode: LayoutMode) -> EduFacts:
    blocks = read_layout(doc)
    is_sentence = marks[:, STARTS_SENTENCE] > 0
    is_sentence[1:] |= marks[:-1, ENDS_SENTENCE] > 0
    if blocks is None:
        kinds = np.where(is_sentence, _number("sentence_of_unknown"), _number("unknown"))
        features = np.zeros((len(edus), len(LAYOUT_FEATURES)), dtype=np.float32)
        features[:, :2] = _both_ends(is_sentence)
        features[:, IS_UNKNOWN] = 1
        return EduFacts(features, kinds, kinds)
    if mode == "paragraphs":
        blocks = [Block(block.start, block.end, "paragraph") for block in blocks]
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
            _kind_features(blocks, mode)[block_of_edu],
        ]
    )
    return EduFacts(features.astype(np.float32), kinds, levels)


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


def _kind_features(blocks: Sequence[Block], mode: LayoutMode) -> np.ndarray:
    """What the features from "has_new_speaker" on are for the EDUs of each block."""
    rows = np.zeros((len(blocks), 3 + len(KINDS)))
    if mode == "paragraphs":
        return rows
    for row, before, block in zip(rows, [None, *blocks], blocks, strict=False):
        row[0] = before is not None and block.speaker != before.speaker
        if block.kind == "heading":
            row[2] = 1 - (min(block.level, LOWEST_HEADING) - 1) / LOWEST_HEADING
        else:
            row[1] = min(block.level, DEEPEST_ITEM) / DEEPEST_ITEM
        row[3 + KINDS.index(block.kind)] = 1
    return rows
