"""Spans of EDUs in plain torch: their mean vectors, their split points, softmaxes over these.

EDU indices are absolute in the nets: they count through all documents of a batch, so that one
table serves every document. A span never crosses a document, hence the absolute start identifies
the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

CODES_OF_A_KIND = 16


class Boundaries:
    """What stands at the boundaries between EDUs, and how it compares with what stands around.

    A boundary is known by the EDU that follows it. Within a span start:end, the split point k gets
    a code that says of what kind it is, whether a stronger boundary lies before or after it in the
    span, and whether an equally strong or stronger one does: so it tells what is strongest in the
    span, and what is the first or the last of its level.

    kinds (np.ndarray): Int (total_edus,), the kind of the boundary before each EDU, from 0.
    levels (np.ndarray): Int (total_edus,), how strong it is.
    edu_counts (Sequence[int]): The number of EDUs of each document.
    device (torch.device): Where the codes are needed.
    """

    def __init__(
        self,
        kinds: np.ndarray,
        levels: np.ndarray,
        edu_counts: Sequence[int],
        device: torch.device | None = None,
    ):
        levels = np.append(levels, 0)
        ends_of_documents = np.cumsum([0, *edu_counts])
        levels[ends_of_documents] = levels.max() + 1
        near = np.zeros((len(kinds), 4), dtype=np.int64)
        for level in np.unique(levels)[:-1]:
            own = np.flatnonzero(levels == level)
            stronger = np.flatnonzero(levels > level)
            near[own, :2] = _neighbours(stronger, own)
            near[own, 2:] = _neighbours(np.flatnonzero(levels >= level), own)
        # With this sign, one comparison with start or -end tells whether it lies in the span.
        near[:, 1::2] *= -1
        arrays = near, kinds.astype(np.int64) * CODES_OF_A_KIND, np.array([8, 4, 2, 1])
        self._tensors = [torch.from_numpy(array).to(device) for array in arrays]

    def codes(self, starts: Tensor, splits: Tensor, ends: Tensor) -> Tensor:
        """The codes of split points in their spans, three rows of the same length: long (n,), below
        the number of kinds * `CODES_OF_A_KIND`."""
        near, first_codes, bits = self._tensors
        spans = torch.stack([starts, -ends, starts, -ends], dim=1)
        is_outside = near.index_select(0, splits) <= spans
        return first_codes.index_select(0, splits) + (is_outside * bits).sum(1)

    def codes_within(self, start: int, end: int) -> Tensor:
        """The codes of all split points of a span: long (end - start - 1,)."""
        splits = torch.arange(start + 1, end, device=self._tensors[0].device)
        return self.codes(torch.full_like(splits, start), splits, torch.full_like(splits, end))


def _neighbours(places: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The last of the places before each own one, and the first after it."""
    before = places[np.searchsorted(places, own) - 1]
    after = places[np.minimum(np.searchsorted(places, own, side="right"), len(places) - 1)]
    return np.stack([before, after], axis=1)


def embed_codes(n_codes: int, width: int) -> nn.Embedding | None:
    """Make vectors for the codes of boundaries, zeros to begin with; None where there are no
    codes."""
    return nn.Embedding.from_pretrained(torch.zeros(n_codes, width), False) if n_codes else None


@dataclass
class EncodedEdus:
    """What the encoder makes of the EDUs of some documents.

    edus (Tensor): Float (total_edus, hidden_width), the vectors e_i.
    sums (Tensor): Double (total_edus + 1, hidden_width), prefix sums of `edus`.
    state (Tensor): Float (n_documents, hidden_width), the BiGRU's last states: h_0 of the pointer.
    edu_counts (list[int]): The number of EDUs of each document.
    boundaries (Boundaries | None): What stands between the EDUs, for nets that take it.
    """

    edus: Tensor
    sums: Tensor
    state: Tensor
    edu_counts: list[int]
    boundaries: Boundaries | None = None

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """The first EDU of each document, and one past its last."""
        return list(pairwise(accumulate(self.edu_counts, initial=0)))

    def get_boundaries(self) -> Boundaries:
        """What stands between the EDUs, for nets that need it."""
        if self.boundaries is None:
            raise ValueError("The net needs the boundaries between EDUs, but the batch has none")
        return self.boundaries


class Candidates(NamedTuple):
    """All split points of some spans in a flat row: long (n_candidates,), with the number of the
    span of each; and long (n_spans,), the position of each span's first one."""

    splits: Tensor
    spans: Tensor
    first: Tensor


class Choices(NamedTuple):
    """Some choices, each among several options, and what would be right: the log probabilities of
    all options in a flat row, the number of the choice of each, and the position of each choice's
    right one."""

    log_probs: Tensor
    numbers: Tensor
    gold: Tensor


def all_candidates(starts: Tensor, ends: Tensor) -> Candidates:
    """List the split points of spans, given the starts and ends of these, (n_spans,) each."""
    counts = ends - starts - 1
    first = counts.cumsum(0) - counts
    spans = torch.arange(len(starts), device=starts.device).repeat_interleave(counts)
    positions = torch.arange(len(spans), device=starts.device)
    return Candidates(positions + (starts + 1 - first).index_select(0, spans), spans, first)


def prefix_sums(vectors: Tensor) -> Tensor:
    """Running sums over rows (n, width), from which the mean of any span costs one subtraction; row
    i of the (n + 1, width) is the sum of the first i vectors.

    They are kept in double precision: in float32 the sum over thousands of rows would swallow the
    digits that a short span at the end is made of."""
    dtype = torch.float32 if vectors.device.type == "mps" else torch.float64  # MPS has no doubles
    return F.pad(vectors.cumsum(0, dtype=dtype), (0, 0, 1, 0))


def span_means(sums: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """The mean vectors of spans (n_spans, width), from what `prefix_sums` returned."""
    totals = sums.index_select(0, ends) - sums.index_select(0, starts)
    # The difference has all its digits: from here on float32 will do, and is faster.
    return totals.float() / (ends - starts).unsqueeze(1)


def segment_log_softmax(scores: Tensor, segments: Tensor, n_segments: int) -> Tensor:
    """Log softmax within each segment of a flat score vector; each segment has a score or more."""
    tops = segment_max(scores.detach(), segments, n_segments)
    shifted = scores - tops.index_select(0, segments)
    totals = scores.new_zeros(n_segments).index_add(0, segments, shifted.exp())
    return shifted - totals.log().index_select(0, segments)


def segment_max(scores: Tensor, segments: Tensor, n_segments: int) -> Tensor:
    """The largest score of each segment (n_segments,); each segment has a score or more."""
    empty = scores.new_empty(n_segments)
    return empty.scatter_reduce(0, segments, scores, "amax", include_self=False)
