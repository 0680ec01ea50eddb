"""The parser's network in plain torch: EDU encoder, splitter, label classifier.

The encoder and the classifier follow Liu, Shi & Chen (2020), appendix A. `GoldSplits` and
`ParsedTree` use EDU indices local to a document; all others are absolute, see `spans.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..fast_layers import FastLinear
from ..recurrent import RecurrentNet, run_packed
from .spans import (
    CODES_OF_A_KIND,
    Boundaries,
    Choices,
    EncodedEdus,
    embed_codes,
    prefix_sums,
    segment_log_softmax,
    span_means,
)
from .splitters import SpanSplitter, Splitter

# Elements of the biaffine product's widest intermediate (8 MB in float32): labels are taken in
# groups, so that it stays in the cache whatever the length of the documents.
BIAFFINE_ELEMENTS = 1 << 21
# Splits that are labelled at once when parsing, so that long documents need little more memory.
LABELLED_SPLITS = 2048


@dataclass
class EduBatch:
    """The token vectors of some documents, and where their EDUs lie.

    tokens (Tensor): Float (total_tokens, token_width), all documents one after the other.
    edu_starts (Tensor): Long (total_edus,), the first token of each EDU, an offset into `tokens`.
    edu_ends (Tensor): Long (total_edus,), one past the last token of each EDU.
    edu_counts (list[int]): The number of EDUs of each document; 0 and 1 are fine.
    edu_features (Tensor | None): Float (total_edus, n_features), further facts about each EDU.
    boundaries (Boundaries | None): What stands between the EDUs, for nets that take it.
    """

    tokens: Tensor
    edu_starts: Tensor
    edu_ends: Tensor
    edu_counts: list[int]
    edu_features: Tensor | None = None
    boundaries: Boundaries | None = None


@dataclass
class GoldSplits:
    """The gold tree of a document with m EDUs: long (m-1, 3), rows of (start, split, end) over the
    document's own EDU indices, half-open, depth-first and left-first; and long (m-1,), the label of
    each."""

    splits: Tensor
    labels: Tensor


@dataclass
class ParsedTree:
    """The predicted tree of a document with m EDUs: splits (m-1, 3) as in `GoldSplits`, the
    likeliest label of each, and the probabilities of the split point in its span and of the label,
    (m-1,) each."""

    splits: np.ndarray
    labels: np.ndarray
    split_probs: np.ndarray
    label_probs: np.ndarray


class LabelClassifier(nn.Module):
    """The paper's biaffine classifier of a split's two parts, l and r being their means:

    l' = ELU(l U_1), r' = ELU(r U_2), logits = l' W_l + l' W_lr r' + r' W_r + b.

    If there are codes for boundaries, vectors of the boundary between the parts are added to l U_1
    and r U_2. `with_ends` adds the first and the last EDU of a part to its mean."""

    def __init__(
        self,
        hidden_width: int,
        classifier_width: int,
        n_labels: int,
        n_codes: int = 0,
        with_ends: bool = False,
    ):
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        self.with_ends = with_ends
        part_width = hidden_width * (3 if with_ends else 1)
        self.project_left = FastLinear(part_width, classifier_width, bias=False)
        self.project_right = FastLinear(part_width, classifier_width, bias=False)
        self.left = nn.Linear(classifier_width, n_labels, bias=False)
        self.right = nn.Linear(classifier_width, n_labels)
        # Indexed by [label, left, right].
        self.both = nn.Parameter(torch.empty(n_labels, classifier_width, classifier_width))
        nn.init.normal_(self.both, std=1 / classifier_width)
        self.boundary = embed_codes(n_codes, 2 * classifier_width)

    def forward(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """Score the labels of the absolute splits of all documents: (n_splits, n_labels) logits."""
        starts, splits, ends = spans.unbind(1)
        left = self.project_left(self._describe(encoded, starts, splits))
        right = self.project_right(self._describe(encoded, splits, ends))
        if self.boundary is not None:
            codes = encoded.get_boundaries().codes(starts, splits, ends)
            at_left, at_right = self.boundary(codes).chunk(2, dim=1)
            left, right = left + at_left, right + at_right
        left, right = self.dropout(F.elu(left)), self.dropout(F.elu(right))
        labels_at_once = max(1, BIAFFINE_ELEMENTS // max(1, right.numel()))
        products = [
            (torch.matmul(right, weights.transpose(1, 2)) * left).sum(2)
            for weights in self.both.split(labels_at_once)
        ]
        return self.left(left) + torch.cat(products).t() + self.right(right)

    @torch.no_grad()
    def apply_temperature(self, temperature: float) -> None:
        """Divide all logits by a temperature, by way of the weights."""
        for weight in (self.left.weight, self.right.weight, self.right.bias, self.both):
            weight /= temperature

    def _describe(self, encoded: EncodedEdus, starts: Tensor, ends: Tensor) -> Tensor:
        means = span_means(encoded.sums, starts, ends)
        if not self.with_ends:
            return means
        firsts, lasts = (encoded.edus.index_select(0, places) for places in (starts, ends - 1))
        return torch.cat([means, firsts, lasts], dim=1)


class RstNet(RecurrentNet):
    """Encodes the EDUs of documents, splits them top-down into trees and labels the splits.

    Dropout acts on the inputs of each BiGRU layer, on the input of the layer that makes e_i (not on
    the features), on the pointer's states or the span scorer's hidden layer, and on the
    classifier's latent features. Call `eval()` before `encode` and `decode`.

    The options are described at `model.build_rst_parser`. `make_splitter` takes the hidden width
    and the number of boundary codes."""

    def __init__(
        self,
        *,
        token_width: int,
        n_labels: int,
        hidden_width: int,
        encoder_layers: int,
        classifier_width: int,
        make_splitter: Callable[[int, int], Splitter],
        layer_norm: bool = False,
        n_features: int = 0,
        n_boundary_kinds: int = 0,
        attention: bool = False,
        label_ends: bool = False,
        label_smoothing: float = 0.0,
        loss_per: str = "document",
        dropout: float | None = None,
    ):
        super().__init__(
            dropout,
            token_width=token_width,
            n_labels=n_labels,
            hidden_width=hidden_width,
            encoder_layers=encoder_layers,
            classifier_width=classifier_width,
        )
        self.label_smoothing, self.loss_per = label_smoothing, loss_per
        self.encoder = nn.GRU(
            token_width, hidden_width // 2, encoder_layers, bidirectional=True, batch_first=True
        )
        self.dropout = nn.Dropout(0.0)
        self.combine = FastLinear(hidden_width + 2 * token_width + n_features, hidden_width)
        self.normalize = nn.LayerNorm(hidden_width) if layer_norm else nn.Identity()
        n_codes = n_boundary_kinds * CODES_OF_A_KIND
        self.splitter = make_splitter(hidden_width, n_codes)
        self.classifier = LabelClassifier(
            hidden_width, classifier_width, n_labels, n_codes, with_ends=label_ends
        )
        # Equal weights to begin with: the mean.
        self.attend = nn.Parameter(torch.zeros(token_width)) if attention else None

    def encode(self, batch: EduBatch) -> EncodedEdus:
        """Make the vectors e_i of all EDUs."""
        state = self.combine.bias.new_zeros(len(batch.edu_counts), self.combine.out_features)
        if not len(batch.edu_starts):
            edus = state.new_zeros(0, self.combine.out_features)
            return EncodedEdus(edus, prefix_sums(edus), state, batch.edu_counts, batch.boundaries)
        means = self.dropout(_pool_tokens(batch, self.attend))
        documents = [i for i, count in enumerate(batch.edu_counts) if count]
        context, last = run_packed(
            self.encoder, means.split([batch.edu_counts[i] for i in documents])
        )
        # layer, direction, document, width: only the last layer's states go to the pointer.
        state[documents] = torch.cat([last[-2], last[-1]], dim=1)
        first_tokens = batch.tokens.index_select(0, batch.edu_starts)
        last_tokens = batch.tokens.index_select(0, batch.edu_ends - 1)
        parts = [self.dropout(torch.cat([torch.cat(context), first_tokens, last_tokens], dim=1))]
        if batch.edu_features is not None:
            parts.append(batch.edu_features)
        edus = self.normalize(self.combine(torch.cat(parts, dim=1)))
        return EncodedEdus(edus, prefix_sums(edus), state, batch.edu_counts, batch.boundaries)

    def loss(self, encoded: EncodedEdus, gold: Sequence[GoldSplits]) -> tuple[Tensor, Tensor]:
        """The paper's split loss and label loss, with teacher forcing: sums of cross entropies over
        the splits, divided by the number of documents with EDUs (or of EDUs), so that the batch
        size does not change the step."""
        spans, labels = _absolute(encoded, gold)
        if not len(spans):
            nothing = encoded.edus.sum() * 0
            return nothing, nothing
        split_loss = self.splitter.loss(encoded, spans)
        label_loss = F.cross_entropy(
            self.classifier(encoded, spans),
            labels,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )
        n_documents = sum(count > 0 for count in encoded.edu_counts)
        divisor = len(encoded.edus) if self.loss_per == "edu" else n_documents
        return split_loss / divisor, label_loss / divisor

    @torch.inference_mode()
    def gold_choices(
        self, encoded: EncodedEdus, gold: Sequence[GoldSplits]
    ) -> tuple[Choices | None, Choices]:
        """Compare the net's probabilities in the spans of gold trees with these trees: the splits,
        None for a pointer, and the labels. At least one document has two EDUs; labels that the net
        does not know are -1, and left out."""
        spans, labels = _absolute(encoded, gold)
        splits = None
        if isinstance(self.splitter, SpanSplitter):
            splits = self.splitter.gold_choices(encoded, spans)
        spans, labels = spans[labels >= 0], labels[labels >= 0]
        log_probs = self.classifier(encoded, spans).log_softmax(1)
        numbers = torch.arange(len(spans), device=spans.device)
        n_labels = log_probs.shape[1]
        return splits, Choices(
            log_probs.flatten(), numbers.repeat_interleave(n_labels), numbers * n_labels + labels
        )

    @torch.inference_mode()
    def decode(self, encoded: EncodedEdus) -> list[ParsedTree]:
        """Parse documents: a tree for each."""
        spans = torch.zeros(0, 3, dtype=torch.long)
        split_probs = torch.zeros(0)
        if any(count > 1 for count in encoded.edu_counts):
            spans, split_probs = self.splitter.decode(encoded)
        # By start, then longest first: document after document, each depth-first and left-first.
        order = torch.from_numpy(np.lexsort((-spans[:, 2].numpy(), spans[:, 0].numpy())))
        spans, split_probs = spans[order], split_probs[order]
        parts = spans.to(encoded.edus.device).split(LABELLED_SPLITS)
        logits = torch.cat([self.classifier(encoded, part) for part in parts])
        probs, labels = logits.softmax(1).max(1)
        counts = [max(count - 1, 0) for count in encoded.edu_counts]
        columns = [part.split(counts) for part in (spans, labels.cpu(), split_probs, probs.cpu())]
        return [
            ParsedTree((rows - start).numpy(), *(part.numpy() for part in others))
            for (start, _), rows, *others in zip(encoded.bounds, *columns, strict=True)
        ]


def _absolute(encoded: EncodedEdus, gold: Sequence[GoldSplits]) -> tuple[Tensor, Tensor]:
    """The splits of all gold trees over absolute EDU indices, and their labels."""
    device = encoded.edus.device
    spans, labels = [torch.zeros(0, 3, dtype=torch.long)], [torch.zeros(0, dtype=torch.long)]
    for tree, (start, _) in zip(gold, encoded.bounds, strict=True):
        spans.append(tree.splits + start)
        labels.append(tree.labels)
    return torch.cat(spans).to(device), torch.cat(labels).to(device)


def _pool_tokens(batch: EduBatch, attend: Tensor | None = None) -> Tensor:
    """The mean token vector of each EDU, or its mean weighted by attention, without a copy of the
    tokens."""
    lengths = batch.edu_ends - batch.edu_starts
    first = lengths.cumsum(0) - lengths
    shifts = (batch.edu_starts - first).repeat_interleave(lengths)
    rows = torch.arange(len(shifts), device=batch.tokens.device) + shifts
    if attend is None:
        return F.embedding_bag(rows, batch.tokens, first, mode="mean")
    numbers = torch.arange(len(lengths), device=rows.device).repeat_interleave(lengths)
    scores = (batch.tokens @ attend).index_select(0, rows)
    weights = segment_log_softmax(scores, numbers, len(lengths)).exp()
    return F.embedding_bag(rows, batch.tokens, first, mode="sum", per_sample_weights=weights)
