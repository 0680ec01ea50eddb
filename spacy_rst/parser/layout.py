"""What the layout of a text tells about its EDUs and about the boundaries between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from spacy.tokens import Doc, Span

from ..doc import trimmed_chars
from ..doc_layout import ensure_layout
from ..layout import KINDS, Block
from .features import EDU_FEATURES

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

# The kinds of boundaries, from the weakest to the strongest. Those inside a text of unknown layout
# are kinds of their own, so that nothing is shared with what is learned about texts of known layout.
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
PARTS = frozenset({"item", "row", "caption", "code"})
DEEPEST_ITEM = 4
LOWEST_HEADING = 6
LOG_OF_LARGE_BLOCK = 4.0


class EduLayout(NamedTuple):
    """The layout of a document's EDUs.

    features (np.ndarray): Float32 (n_edus, n_features), what `LAYOUT_FEATURES` names.
    kinds (np.ndarray): Int (n_edus,), the kind of the boundary before each EDU, an index into
        `BOUNDARY_KINDS`.
    levels (np.ndarray): Int (n_edus,), how strong that boundary is: like the kinds, but before
        headings of higher rank it is stronger, and turns are as strong as paragraphs.
    """

    features: np.ndarray
    kinds: np.ndarray
    levels: np.ndarray


def read_edu_layout(
    doc: Doc,
    edus: Sequence[Span],
    edu_features: np.ndarray,
    mode: LayoutMode = "all",
    *,
    is_hidden: bool = False,
) -> EduLayout:
    """Describe the EDUs of a Doc and their boundaries by the layout of its text.

    doc (Doc): The Doc, whose layout is read from its text if it has none yet.
    edus (Sequence[Span]): Its EDUs in text order.
    edu_features (np.ndarray): What `features.edu_features` says about them.
    mode (str): "all" for all that is known about the blocks, or "paragraphs" for their borders
        alone.
    is_hidden (bool): Treat the layout as unknown.
    RETURNS (EduLayout): The layout.
    """
    blocks = None if is_hidden else ensure_layout(doc)
    is_sentence = edu_features[:, EDU_FEATURES.index("starts_sentence")] > 0
    is_sentence[1:] |= edu_features[:-1, EDU_FEATURES.index("ends_sentence")] > 0
    if blocks is None:
        kinds = np.where(is_sentence, _number("sentence_of_unknown"), _number("unknown"))
        features = np.zeros((len(edus), len(LAYOUT_FEATURES)), dtype=np.float32)
        features[:, :2] = _both_ends(is_sentence)
        features[:, LAYOUT_FEATURES.index("is_unknown")] = 1
        return EduLayout(features, kinds, kinds)
    if mode == "paragraphs":
        blocks = [Block(block.start, block.end, "paragraph") for block in blocks]
    starts = [trimmed_chars(edu)[0] for edu in edus]
    block_of_edu = np.searchsorted([block.start for block in blocks], starts, side="right") - 1
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
    return EduLayout(features.astype(np.float32), kinds, levels)


def _number(kind: str) -> int:
    return BOUNDARY_KINDS.index(kind)


def _both_ends(is_start: np.ndarray) -> np.ndarray:
    """Whether something starts and whether it ends with each EDU, the first and the last included."""
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
    for before, block in pairwise([None, *blocks]):
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
    for row, (before, block) in zip(rows, pairwise([None, *blocks]), strict=True):
        row[0] = before is not None and block.speaker != before.speaker
        if block.kind == "heading":
            row[2] = 1 - (min(block.level, LOWEST_HEADING) - 1) / LOWEST_HEADING
        else:
            row[1] = min(block.level, DEEPEST_ITEM) / DEEPEST_ITEM
        row[3 + KINDS.index(block.kind)] = 1
    return rows
