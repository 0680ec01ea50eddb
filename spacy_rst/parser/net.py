"""The parser's network in plain torch: EDU encoder, two ways to split spans, label classifier.

The encoder, the pointer splitter and the classifier follow Liu, Shi & Chen (2020), appendix A.
The span splitter replaces the recurrent pointer by a score for every candidate of a span, which
needs no state: all spans of a level are split in one call, and an exact search is possible.

Inside this file EDU indices are absolute: they count through all documents of a batch, so that
one table serves every document. A span never crosses a document, hence the absolute start
identifies the document. Only `GoldTree` and `ParsedTree` speak of indices local to a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence, unpack_sequence
from torch.utils.checkpoint import checkpoint

from ..errors import Errors, RstError

# Rows scored at a time: few enough to stay in a CPU's cache, many enough to hide the call costs.
CANDIDATE_ROWS = 2048
# From so many EDUs on, memory counts more than the number of calls.
LONG_DOCUMENT = 4096
# EDUs whose tokens are read, and splits that are labelled, at a time when nothing is learned.
EDUS_AT_ONCE = 1024
SPLITS_AT_ONCE = 2048
# In training, candidates beyond these are scored in chunks whose hidden layer is not kept, but
# computed again on the way back.
TRAINING_ROWS = 100_000
# Elements of the biaffine product's widest intermediate (8 MB in float32): labels are taken in
# groups, so that it stays in the cache whatever the length of the documents.
BIAFFINE_ELEMENTS = 1 << 21
# Log probabilities that differ by less are equal.
ROUNDING_ERROR = 1e-5


@dataclass
class EduBatch:
    """The token vectors of some documents, and where their EDUs lie.

    tokens (Tensor): Float (total_tokens, token_width), all documents one after the
        other.
    edu_starts (Tensor): Long (total_edus,), the first token of each EDU, an offset into `tokens`.
    edu_ends (Tensor): Long (total_edus,), one past the last token of each EDU.
    edu_counts (list[int]): The number of EDUs of each document; 0 and 1 are fine.
    edu_features (Tensor | None): Float (total_edus, n_features), further facts about each EDU.
    """

    tokens: Tensor
    edu_starts: Tensor
    edu_ends: Tensor
    edu_counts: list[int]
    edu_features: Tensor | None = None


@dataclass
class EncodedEdus:
    """What the encoder makes of an `EduBatch`.

    edus (Tensor): Float (total_edus, hidden_width), the vectors e_i.
    sums (Tensor): Double (total_edus + 1, hidden_width), prefix sums of `edus`.
    state (Tensor): Float (n_documents, hidden_width), the BiGRU's last states: h_0 of the pointer.
    edu_counts (list[int]): The number of EDUs of each document.
    """

    edus: Tensor
    sums: Tensor
    state: Tensor
    edu_counts: list[int]

    @property
    def offsets(self) -> list[int]:
        """RETURNS (list[int]): The absolute index of each document's first EDU."""
        return list(accumulate(self.edu_counts, initial=0))[:-1]


@dataclass
class GoldTree:
    """The gold tree of a document with m EDUs.

    splits (Tensor): Long (m-1, 3), rows of (start, split, end) over the document's own EDU
        indices, half-open, depth-first and left-first.
    labels (Tensor): Long (m-1,), the label of each split.
    """

    splits: Tensor
    labels: Tensor


@dataclass
class ParsedTree:
    """The predicted tree of a document with m EDUs; all arrays are empty where m < 2.

    splits (np.ndarray): Int (m-1, 3), rows of (start, split, end) as in `GoldTree`.
    labels (np.ndarray): Int (m-1,), the likeliest label of each split.
    split_probs (np.ndarray): Float (m-1,), the probability of each split point in its span.
    label_probs (np.ndarray): Float (m-1,), the probability of each label.
    """

    splits: np.ndarray
    labels: np.ndarray
    split_probs: np.ndarray
    label_probs: np.ndarray


def prefix_sums(vectors: Tensor) -> Tensor:
    """Running sums over the rows, from which the mean of any span costs one subtraction.

    They are kept in double precision: in float32 the sum over thousands of rows would swallow
    the digits that a short span at the end is made of.

    vectors (Tensor): (n, width).
    RETURNS (Tensor): (n + 1, width); row i is the sum of the first i vectors.
    """
    dtype = torch.float32 if vectors.device.type == "mps" else torch.float64  # MPS has no doubles
    # Summing along the contiguous axis is several times faster than down the columns.
    if torch.is_grad_enabled() or len(vectors) < LONG_DOCUMENT:
        sums = vectors.t().contiguous().cumsum(1, dtype=dtype)
        return F.pad(sums, (1, 0)).t().contiguous()
    sums = vectors.new_zeros(len(vectors) + 1, vectors.shape[1], dtype=dtype)
    for target, columns in zip(sums[1:].split(32, dim=1), vectors.split(32, dim=1), strict=True):
        target.copy_(columns.t().contiguous().cumsum(1, dtype=dtype).t())
    return sums


def span_means(sums: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """The mean vectors of spans.

    sums (Tensor): (n + 1, width), from `prefix_sums`.
    starts (Tensor): Long (n_spans,).
    ends (Tensor): Long (n_spans,), each larger than its start.
    RETURNS (Tensor): Float (n_spans, width).
    """
    totals = sums.index_select(0, ends) - sums.index_select(0, starts)
    # The difference has all its digits: from here on float32 will do, and is faster.
    return totals.float() / (ends - starts).unsqueeze(1)


def segment_log_softmax(scores: Tensor, segments: Tensor, n_segments: int) -> Tensor:
    """Log softmax within each segment of a flat score vector.

    scores (Tensor): Float (n,).
    segments (Tensor): Long (n,), the segment of each score.
    n_segments (int): The number of segments, each with at least one score.
    RETURNS (Tensor): Float (n,).
    """
    tops = scores.new_empty(n_segments).scatter_reduce(
        0, segments, scores.detach(), "amax", include_self=False
    )
    shifted = scores - tops.index_select(0, segments)
    totals = scores.new_zeros(n_segments).index_add(0, segments, shifted.exp())
    return shifted - totals.log().index_select(0, segments)


class PointerSplitter(nn.Module):
    """The paper's decoder: a GRU reads the spans depth-first, and its state points at an EDU.

    A span start:end has the candidates start+1 ... end-1; the candidate k is scored by the dot
    product of the GRU's state and the last EDU of the left part, e_(k-1).
    """

    def __init__(self, hidden_width: int):
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        self.gru = nn.GRU(hidden_width, hidden_width, batch_first=True)

    def gold_log_probs(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """The log probabilities of gold splits under teacher forcing.

        encoded (EncodedEdus): The encoded documents.
        spans (Tensor): Long (n_splits, 3), absolute splits of all documents in decoding order.
        RETURNS (Tensor): Float (n_splits,).
        """
        documents = [i for i, count in enumerate(encoded.edu_counts) if count > 1]
        steps = [encoded.edu_counts[i] - 1 for i in documents]
        starts, splits, ends = spans.unbind(1)
        inputs = span_means(encoded.sums, starts, ends).split(steps)
        first = encoded.state[documents].unsqueeze(0)
        states, _ = self.gru(pack_sequence(list(inputs), enforce_sorted=False), first)
        padded = pad_sequence(unpack_sequence(states), batch_first=True)
        edus = encoded.edus.split(encoded.edu_counts)
        keys = pad_sequence([edus[i] for i in documents], batch_first=True)
        scores = torch.bmm(self.dropout(padded), keys.transpose(1, 2))
        device = spans.device
        step_counts = torch.tensor(steps, device=device)
        is_step = torch.arange(max(steps), device=device) < step_counts.unsqueeze(1)
        # Splits lie in document order, so the real rows of the padded scores line up with them.
        scores = scores[is_step]
        offsets = torch.tensor([encoded.offsets[i] for i in documents], device=device)
        offsets = offsets.repeat_interleave(step_counts)
        column = torch.arange(scores.shape[1], device=device)
        first_legal, last_legal = (starts - offsets).unsqueeze(1), (ends - 2 - offsets).unsqueeze(1)
        illegal = (column < first_legal) | (column > last_legal)
        log_probs = scores.masked_fill(illegal, -torch.inf).log_softmax(1)
        return log_probs.gather(1, (splits - 1 - offsets).unsqueeze(1)).squeeze(1)

    def decode(self, encoded: EncodedEdus) -> tuple[Tensor, Tensor]:
        """Split all documents in lockstep: each step takes one span of every unfinished document.

        The steps run in NumPy on the CPU. They are tiny and wait for each other, so that what
        counts is the cost of a call: NumPy's is half of torch's, and below a GPU kernel's launch.

        encoded (EncodedEdus): The encoded documents.
        RETURNS (tuple[Tensor, Tensor]): Absolute splits (n, 3) and their probabilities, on the CPU.
        """
        # A document of m EDUs takes m-1 steps. Longest first, those at work are always a prefix.
        order = sorted(range(len(encoded.edu_counts)), key=lambda i: -encoded.edu_counts[i])
        order = [i for i in order if encoded.edu_counts[i] > 1]
        n_steps = [encoded.edu_counts[i] - 1 for i in order]
        offsets = encoded.offsets
        stacks = [[(offsets[i], offsets[i] + encoded.edu_counts[i])] for i in order]
        input_weight, recurrent_weight, input_bias, recurrent_bias = self.gru.all_weights[0]
        # The GRU's input is linear in the span's mean: project the EDUs once, then average.
        input_sums = prefix_sums(F.linear(encoded.edus, input_weight, input_bias)).cpu().numpy()
        weight, bias = recurrent_weight.t().contiguous().cpu().numpy(), recurrent_bias.cpu().numpy()
        edus, states = encoded.edus.cpu().numpy(), encoded.state[order].cpu().numpy()
        found: list[tuple[int, int, int]] = []
        probs: list[float] = []
        at_work = len(order)
        for step in range(n_steps[0]):
            while n_steps[at_work - 1] <= step:
                at_work -= 1
            spans = [stack.pop() for stack in stacks[:at_work]]
            bounds = np.array(spans)
            inputs = (input_sums[bounds[:, 1]] - input_sums[bounds[:, 0]]).astype(np.float32)
            inputs /= (bounds[:, 1:] - bounds[:, :1]).astype(np.float32)
            states = states[:at_work]
            states = _gru_step(inputs, states @ weight + bias, states)
            for stack, (start, end), state in zip(stacks, spans, states, strict=False):
                pick, prob = 0, 1.0
                if end - start > 2:
                    pick, prob = self.pick(edus[start : end - 1] @ state)
                split = start + 1 + pick
                found.append((start, split, end))
                probs.append(prob)
                if end - split > 1:
                    stack.append((split, end))
                if split - start > 1:
                    stack.append((start, split))
        return torch.tensor(found), torch.tensor(probs)

    def pick(self, scores: np.ndarray) -> tuple[int, float]:
        """Choose a candidate of a span.

        scores (np.ndarray): Float (n_candidates,).
        RETURNS (tuple[int, float]): The candidate's index and its probability.
        """
        pick = int(scores.argmax())
        return pick, 1 / float(np.exp(scores - scores[pick]).sum())


def _gru_step(inputs: np.ndarray, recurrent: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The gates of a GRU, given what its weights and biases make of the input and of the state."""
    width = states.shape[1]
    gates = inputs[:, : 2 * width] + recurrent[:, : 2 * width]
    # The logistic function by way of tanh, which does not overflow.
    gates *= 0.5
    np.tanh(gates, out=gates)
    gates += 1
    gates *= 0.5
    reset, update = gates[:, :width], gates[:, width:]
    new = reset * recurrent[:, 2 * width :]
    new += inputs[:, 2 * width :]
    np.tanh(new, out=new)
    return new + update * (states - new)


class _SpanTables(NamedTuple):
    """The first layer of the span scorer, applied to the EDUs once per batch.

    left, right: prefix sums of the EDUs through the blocks for the mean of the left part and of
    the right part; border: row u is the sum of the blocks for the EDUs u and u+1, and the bias;
    sums: prefix sums of the EDUs; whole: the block for the mean of the whole span, which is applied
    to each span when it is split.
    """

    left: Tensor
    right: Tensor
    border: Tensor
    sums: Tensor
    whole: Tensor


class _Candidates(NamedTuple):
    """All split points of some spans in a flat row: the points, the span that each belongs to,
    and the position of each span's first point."""

    splits: Tensor
    spans: Tensor
    first: Tensor


def _all_candidates(starts: Tensor, ends: Tensor) -> _Candidates:
    counts = ends - starts - 1
    first = counts.cumsum(0) - counts
    spans = torch.arange(len(starts), device=starts.device).repeat_interleave(counts)
    positions = torch.arange(len(spans), device=starts.device)
    return _Candidates(positions + (starts + 1 - first).index_select(0, spans), spans, first)


class SpanSplitter(nn.Module):
    """Scores each candidate k of a span on its own, without a recurrent state:

    w . ReLU(W [mean left; mean right; e_(k-1); e_k; mean span] + b), softmax over the candidates.
    """

    def __init__(self, hidden_width: int):
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        self.mix = nn.Linear(5 * hidden_width, hidden_width)
        # A bias would cancel in the softmax.
        self.score = nn.Linear(hidden_width, 1, bias=False)

    def gold_log_probs(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """The log probabilities of gold splits.

        encoded (EncodedEdus): The encoded documents.
        spans (Tensor): Long (n_splits, 3), absolute splits of all documents.
        RETURNS (Tensor): Float (n_splits,).
        """
        starts, splits, ends = spans.unbind(1)
        candidates = _all_candidates(starts, ends)
        log_probs = segment_log_softmax(
            self._scores(self._tables(encoded), starts, ends, candidates),
            candidates.spans,
            len(spans),
        )
        return log_probs.index_select(0, candidates.first + splits - starts - 1)

    def decode(self, encoded: EncodedEdus) -> tuple[Tensor, Tensor]:
        """Split all documents greedily, a level of all their trees at a time.

        encoded (EncodedEdus): The encoded documents.
        RETURNS (tuple[Tensor, Tensor]): Absolute splits (n, 3) and their probabilities, on the CPU.
        """
        tables = self._tables(encoded)
        bounds = [
            (offset, offset + count)
            for offset, count in zip(encoded.offsets, encoded.edu_counts, strict=True)
            if count > 1
        ]
        starts, ends = torch.tensor(bounds, device=encoded.edus.device).unbind(1)
        found: list[Tensor] = []
        found_log_probs: list[Tensor] = []
        while len(starts):
            candidates = _all_candidates(starts, ends)
            scores = self._scores(tables, starts, ends, candidates)
            log_probs = segment_log_softmax(scores, candidates.spans, len(starts))
            picks = self.pick(log_probs, candidates.spans, candidates.first)
            splits = candidates.splits.index_select(0, picks)
            found.append(torch.stack([starts, splits, ends], dim=1))
            found_log_probs.append(log_probs.index_select(0, picks))
            starts, ends = torch.cat([starts, splits]), torch.cat([splits, ends])
            is_open = ends - starts > 1
            starts, ends = starts[is_open], ends[is_open]
        return torch.cat(found).cpu(), torch.cat(found_log_probs).exp().cpu()

    def own_log_probs(self, encoded: EncodedEdus, gold: Tensor) -> Tensor:
        """Let the net split the documents by itself, and compare with the gold trees where its
        spans are none of theirs.

        A gold tree says how any span is split best: where the smallest gold span around it is
        split, for this keeps all gold spans that still can be kept. Of the gold splits within the
        span it is the one with the longest gold span.

        encoded (EncodedEdus): The encoded documents.
        gold (Tensor): Long (n_splits, 3), absolute gold splits of all documents.
        RETURNS (Tensor): Float (n_spans,), the log probabilities of the best splits of spans that
            are not in the gold trees.
        """
        with torch.no_grad():
            own = self.decode(encoded)[0].to(gold.device)
        n_edus = len(encoded.edus)
        keys, gold_keys = (spans[:, 0] * (n_edus + 1) + spans[:, 2] for spans in (own, gold))
        starts, _, ends = own[~torch.isin(keys, gold_keys)].unbind(1)
        if not len(starts):
            return encoded.edus.new_zeros(0)
        gold_lengths = encoded.edus.new_zeros(n_edus)
        gold_lengths[gold[:, 1]] = (gold[:, 2] - gold[:, 0]).to(gold_lengths.dtype)
        candidates = _all_candidates(starts, ends)
        log_probs = segment_log_softmax(
            self._scores(self._tables(encoded), starts, ends, candidates),
            candidates.spans,
            len(starts),
        )
        best = self.pick(gold_lengths[candidates.splits], candidates.spans, candidates.first)
        return log_probs.index_select(0, best)

    def pick(self, log_probs: Tensor, spans: Tensor, first: Tensor) -> Tensor:
        """Choose a candidate for each span of a level; of equal ones, the leftmost. What differs
        by no more than rounding errors counts as equal: they change with the batch, and a text that
        repeats itself has many such candidates.

        log_probs (Tensor): Float (n_candidates,), the candidates of all spans.
        spans (Tensor): Long (n_candidates,), the span of each.
        first (Tensor): Long (n_spans,), the position of each span's first candidate.
        RETURNS (Tensor): Long (n_spans,), the positions of the chosen ones.
        """
        best = log_probs.new_empty(len(first)).scatter_reduce(
            0, spans, log_probs, "amax", include_self=False
        )
        is_best = log_probs >= best.index_select(0, spans) - ROUNDING_ERROR
        positions = is_best.nonzero().squeeze(1)
        return torch.full_like(first, len(log_probs)).scatter_reduce(
            0, spans.index_select(0, positions), positions, "amin"
        )

    def decode_exactly(self, encoded: EncodedEdus, documents: list[int]) -> tuple[Tensor, Tensor]:
        """Find the trees with the highest product of split probabilities.

        encoded (EncodedEdus): The encoded documents.
        documents (list[int]): Which of them, at least one; all must have two or more EDUs.
        RETURNS (tuple[Tensor, Tensor]): Absolute splits (n, 3) and their probabilities, on the CPU.
        """
        tables = self._tables(encoded)
        offsets, counts = encoded.offsets, encoded.edu_counts
        results = [self._search(tables, offsets[i], counts[i]) for i in documents]
        return torch.cat([spans for spans, _ in results]), torch.cat(
            [probs for _, probs in results]
        )

    def _search(self, tables: _SpanTables, offset: int, n_edus: int) -> tuple[Tensor, Tensor]:
        """Score the m^3/6 candidates of all spans of a document, and search from short to long."""
        device = tables.border.device
        # Indexed by [start, end]: log probability of the best tree, its split, that split's own.
        best = torch.zeros(n_edus + 1, n_edus + 1, device=device)
        best_split = torch.zeros_like(best, dtype=torch.long)
        split_log_probs = torch.zeros_like(best)
        for length in range(2, n_edus + 1):
            starts = torch.arange(n_edus - length + 1, device=device)
            ends = starts + length
            candidates = _all_candidates(starts + offset, ends + offset)
            scores = self._scores(tables, starts + offset, ends + offset, candidates)
            log_probs = scores.view(len(starts), length - 1).log_softmax(1)
            splits = candidates.splits.view(len(starts), length - 1) - offset
            below = best[starts.unsqueeze(1), splits] + best[splits, ends.unsqueeze(1)]
            best[starts, ends], picks = (log_probs + below).max(1)
            picks = picks.unsqueeze(1)
            best_split[starts, ends] = splits.gather(1, picks).squeeze(1)
            split_log_probs[starts, ends] = log_probs.gather(1, picks).squeeze(1)
        split_of = best_split.tolist()
        found: list[tuple[int, int, int]] = []
        stack = [(0, n_edus)]
        while stack:
            start, end = stack.pop()
            if end - start > 1:
                split = split_of[start][end]
                found.append((start, split, end))
                stack += [(split, end), (start, split)]
        spans = torch.tensor(found)
        found_log_probs = split_log_probs[spans[:, 0].to(device), spans[:, 2].to(device)]
        return spans + offset, found_log_probs.exp().cpu()

    def _tables(self, encoded: EncodedEdus) -> _SpanTables:
        left, right, last, following, whole = self.mix.weight.chunk(5, dim=1)
        border = F.linear(encoded.edus[:-1], last, self.mix.bias)
        border = border + F.linear(encoded.edus[1:], following)
        left, right = (prefix_sums(F.linear(encoded.edus, block)) for block in (left, right))
        return _SpanTables(left, right, border, encoded.sums, whole)

    def _scores(
        self, tables: _SpanTables, starts: Tensor, ends: Tensor, candidates: _Candidates
    ) -> Tensor:
        """The scores of all candidates of some spans, a bounded number at a time."""
        splits, spans, _ = candidates
        whole = F.linear(span_means(tables.sums, starts, ends), tables.whole)
        row_starts, row_ends = starts.index_select(0, spans), ends.index_select(0, spans)
        rows = torch.stack([row_starts, splits, row_ends, spans])
        if not torch.is_grad_enabled():
            chunks = rows.split(CANDIDATE_ROWS, dim=1)
            return torch.cat([self._score_rows(tables, whole, chunk) for chunk in chunks])
        chunks = rows.split(TRAINING_ROWS, dim=1)
        if len(chunks) == 1:
            return self._score_rows(tables, whole, rows)
        return torch.cat(
            [
                checkpoint(self._score_rows, tables, whole, chunk, use_reentrant=False)
                for chunk in chunks
            ]
        )

    def _score_rows(self, tables: _SpanTables, whole: Tensor, rows: Tensor) -> Tensor:
        starts, splits, ends, spans = rows
        hidden = span_means(tables.left, starts, splits)
        hidden += span_means(tables.right, splits, ends)
        hidden += tables.border.index_select(0, splits - 1)
        hidden += whole.index_select(0, spans)
        return self.score(self.dropout(F.relu(hidden, inplace=True))).squeeze(1)


class LabelClassifier(nn.Module):
    """The paper's biaffine classifier of a split's two parts, l and r being their means:

    l' = ELU(l U_1), r' = ELU(r U_2), logits = l' W_l + l' W_lr r' + r' W_r + b.
    """

    def __init__(self, hidden_width: int, classifier_width: int, n_labels: int):
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        self.project_left = nn.Linear(hidden_width, classifier_width, bias=False)
        self.project_right = nn.Linear(hidden_width, classifier_width, bias=False)
        self.left = nn.Linear(classifier_width, n_labels, bias=False)
        self.right = nn.Linear(classifier_width, n_labels)
        # Indexed by [label, left, right].
        self.both = nn.Parameter(torch.empty(n_labels, classifier_width, classifier_width))
        nn.init.normal_(self.both, std=1 / max(classifier_width, 1))

    def forward(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """Score the labels of splits.

        encoded (EncodedEdus): The encoded documents.
        spans (Tensor): Long (n_splits, 3), absolute splits of all documents.
        RETURNS (Tensor): Float (n_splits, n_labels), the logits.
        """
        starts, splits, ends = spans.unbind(1)
        left = self.project_left(span_means(encoded.sums, starts, splits))
        right = self.project_right(span_means(encoded.sums, splits, ends))
        left, right = self.dropout(F.elu(left)), self.dropout(F.elu(right))
        labels_at_once = max(1, BIAFFINE_ELEMENTS // max(1, right.numel()))
        products = [
            (torch.matmul(right, weights.transpose(1, 2)) * left).sum(2)
            for weights in self.both.split(labels_at_once)
        ]
        return self.left(left) + torch.cat(products).t() + self.right(right)


class RstNet(nn.Module):
    """Encodes the EDUs of documents, splits them top-down into trees and labels the splits.

    Dropout acts on the inputs of each BiGRU layer, on the input of the layer that makes e_i (not on
    the features), on the pointer's states or the span scorer's hidden layer, and on the
    classifier's latent features. Call `eval()` before `encode` and `decode`.

    token_width (int): Width of the token vectors.
    n_labels (int): Number of joint relation and nuclearity labels.
    hidden_width (int): Width of e_i, of v_i and of the pointer's state. It must be even: each
        direction of the BiGRU gives half of v_i, and of the pointer's first state, which is the
        last layer's final forward and backward state side by side.
    encoder_layers (int): Layers of the BiGRU.
    classifier_width (int): Width of the classifier's latent features. Labelling costs
        n_labels * classifier_width^2 per split: the dearest part of parsing a long document.
    n_features (int): Number of further features per EDU.
    dropout (float): Dropout rate, see `set_dropout`.
    splitter (str): "pointer" (the paper's) or "span".
    layer_norm (bool): Normalise the vectors e_i.
    RAISES (RstError): For sizes or names that make no network.
    """

    def __init__(
        self,
        *,
        token_width: int,
        n_labels: int,
        hidden_width: int = 384,
        encoder_layers: int = 2,
        classifier_width: int = 384,
        n_features: int = 0,
        dropout: float = 0.5,
        splitter: str = "pointer",
        layer_norm: bool = False,
    ):
        super().__init__()
        sizes = {
            "token_width": token_width,
            "n_labels": n_labels,
            "hidden_width": hidden_width,
            "encoder_layers": encoder_layers,
            "classifier_width": classifier_width,
        }
        for name, size in sizes.items():
            if size < 1:
                raise RstError(Errors.R250.format(name=name, size=size))
        if hidden_width % 2:
            raise RstError(Errors.R251.format(width=hidden_width))
        self.token_width = token_width
        self.n_features = n_features
        self.encoder = nn.GRU(
            token_width, hidden_width // 2, encoder_layers, bidirectional=True, batch_first=True
        )
        self.dropout = nn.Dropout(0.0)
        self.combine = nn.Linear(hidden_width + 2 * token_width + n_features, hidden_width)
        self.normalize = nn.LayerNorm(hidden_width) if layer_norm else nn.Identity()
        self.splitter: PointerSplitter | SpanSplitter
        if splitter == "pointer":
            self.splitter = PointerSplitter(hidden_width)
        elif splitter == "span":
            self.splitter = SpanSplitter(hidden_width)
        else:
            raise RstError(Errors.R252.format(splitter=splitter))
        self.classifier = LabelClassifier(hidden_width, classifier_width, n_labels)
        self.set_dropout(dropout)

    def set_dropout(self, rate: float) -> None:
        """Change the dropout rate everywhere.

        rate (float): From 0 (none) to less than 1.
        RAISES (RstError): For another rate.
        """
        if not 0 <= rate < 1:
            raise RstError(Errors.R253.format(rate=rate))
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = rate
        # Between the layers the GRU drops by itself. With a single layer there is no between.
        self.encoder.dropout = rate if self.encoder.num_layers > 1 else 0.0

    def encode(self, batch: EduBatch) -> EncodedEdus:
        """Make the vectors e_i of all EDUs.

        batch (EduBatch): The documents.
        RETURNS (EncodedEdus): The encoded documents.
        RAISES (RstError): Where widths or numbers do not fit, or an EDU lies outside the tokens.
        """
        self._check_batch(batch)
        state = self.combine.bias.new_zeros(len(batch.edu_counts), self.combine.out_features)
        if not len(batch.edu_starts):
            edus = state.new_zeros(0, self.combine.out_features)
            return EncodedEdus(edus, prefix_sums(edus), state, batch.edu_counts)
        means = self.dropout(torch.cat([*map(_token_means, _read_edus(batch))]))
        documents = [i for i, count in enumerate(batch.edu_counts) if count]
        inputs = means.split([batch.edu_counts[i] for i in documents])
        # layer, direction, document, width: only the last layer's states go to the pointer.
        packed, last = self.encoder(pack_sequence(list(inputs), enforce_sorted=False))
        state = state.index_copy(
            0, torch.tensor(documents, device=state.device), torch.cat([last[-2], last[-1]], dim=1)
        )
        context = torch.cat(unpack_sequence(packed))
        del means, inputs, packed
        edus = torch.cat(
            [self._combine(group, context, batch.edu_features) for group in _read_edus(batch)]
        )
        return EncodedEdus(edus, prefix_sums(edus), state, batch.edu_counts)

    def _combine(self, group: _EduGroup, context: Tensor, features: Tensor | None) -> Tensor:
        first = group.tokens.index_select(0, group.starts)
        last = group.tokens.index_select(0, group.ends - 1)
        parts = [self.dropout(torch.cat([context[group.edus], first, last], dim=1))]
        if features is not None:
            parts.append(features[group.edus])
        return self.normalize(self.combine(torch.cat(parts, dim=1)))

    def loss(
        self,
        encoded: EncodedEdus,
        gold: Sequence[GoldTree],
        *,
        label_smoothing: float = 0.0,
        per: str = "document",
        exploration: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        """The paper's two losses, with teacher forcing.

        Each is a sum of cross entropies over the splits, as in the paper, divided by the number
        of documents (or of EDUs), so that the batch size does not change the step.

        encoded (EncodedEdus): The encoded documents.
        gold (Sequence[GoldTree]): Their gold trees.
        label_smoothing (float): Share of the label targets that is spread over all labels. Split
            targets are never smoothed.
        per (str): What the losses are means over, "document" or "edu".
        exploration (float): Weight in the split loss of spans to which the net comes by its own
            mistakes, and which the gold trees do not have. For the span splitter only.
        RETURNS (tuple[Tensor, Tensor]): The split loss and the label loss.
        RAISES (RstError): Where a tree does not fit its document.
        """
        _check_gold_sizes(encoded, gold)
        if not any(count > 1 for count in encoded.edu_counts):
            nothing = encoded.edus.sum() * 0
            return nothing, nothing
        spans, labels = _flat_gold(encoded, gold, len(self.classifier.both))
        divisor = len(encoded.edus) if per == "edu" else len(encoded.edu_counts)
        split_loss = -self.splitter.gold_log_probs(encoded, spans).sum()
        if exploration and isinstance(self.splitter, SpanSplitter):
            split_loss = (
                split_loss - exploration * self.splitter.own_log_probs(encoded, spans).sum()
            )
        label_loss = F.cross_entropy(
            self.classifier(encoded, spans),
            labels,
            reduction="sum",
            label_smoothing=label_smoothing,
        )
        return split_loss / divisor, label_loss / divisor

    @torch.inference_mode()
    def decode(
        self, encoded: EncodedEdus, *, exact: bool = False, max_exact: int = 128
    ) -> list[ParsedTree]:
        """Parse documents.

        encoded (EncodedEdus): The encoded documents.
        exact (bool): Search for the tree with the highest product of split probabilities, instead
            of taking the best split of each span from the top. Needs the span splitter.
        max_exact (int): Documents with more EDUs are split greedily all the same: the search's
            time grows with their third power.
        RETURNS (list[ParsedTree]): A tree per document.
        RAISES (RstError): If an exact search is asked of the pointer splitter.
        """
        if exact and not isinstance(self.splitter, SpanSplitter):
            raise RstError(Errors.R256)
        if not any(count > 1 for count in encoded.edu_counts):
            return [_empty_tree() for _ in encoded.edu_counts]
        if exact and isinstance(self.splitter, SpanSplitter):
            spans, split_probs = self._decode_exactly(self.splitter, encoded, max_exact)
        else:
            spans, split_probs = self.splitter.decode(encoded)
        device = encoded.edus.device
        # By start, then longest first: document after document, each depth-first and left-first.
        order = torch.from_numpy(np.lexsort((-spans[:, 2].numpy(), spans[:, 0].numpy())))
        spans, split_probs = spans[order], split_probs[order]
        labelled = [
            self.classifier(encoded, rows).softmax(1).max(1)
            for rows in spans.to(device).split(SPLITS_AT_ONCE)
        ]
        probs, labels = (torch.cat(column) for column in zip(*labelled, strict=True))
        offsets = encoded.offsets
        counts = [max(count - 1, 0) for count in encoded.edu_counts]
        columns = zip(
            offsets,
            spans.split(counts),
            labels.cpu().split(counts),
            split_probs.split(counts),
            probs.cpu().split(counts),
            strict=True,
        )
        return [
            ParsedTree((rows - offset).numpy(), names.numpy(), splits.numpy(), certain.numpy())
            for offset, rows, names, splits, certain in columns
        ]

    def _decode_exactly(
        self, splitter: SpanSplitter, encoded: EncodedEdus, max_exact: int
    ) -> tuple[Tensor, Tensor]:
        short = [i for i, count in enumerate(encoded.edu_counts) if 1 < count <= max_exact]
        if not short:
            return splitter.decode(encoded)
        spans, probs = splitter.decode_exactly(encoded, short)
        if max(encoded.edu_counts) <= max_exact:
            return spans, probs
        greedy_spans, greedy_probs = splitter.decode(encoded)
        counts = torch.tensor(encoded.edu_counts)
        is_long = (counts > max_exact).repeat_interleave(counts)[greedy_spans[:, 0]]
        return torch.cat([spans, greedy_spans[is_long]]), torch.cat([probs, greedy_probs[is_long]])

    def _check_batch(self, batch: EduBatch) -> None:
        if len(batch.tokens.shape) != 2 or batch.tokens.shape[1] != self.token_width:
            raise RstError(
                Errors.R254.format(
                    what="token vectors of width",
                    expected=self.token_width,
                    found=tuple(batch.tokens.shape),
                )
            )
        n_edus = sum(batch.edu_counts)
        if len(batch.edu_starts) != n_edus or len(batch.edu_ends) != n_edus:
            found = (len(batch.edu_starts), len(batch.edu_ends))
            raise RstError(
                Errors.R254.format(what="EDU starts and ends", expected=n_edus, found=found)
            )
        features = None if batch.edu_features is None else tuple(batch.edu_features.shape)
        expected = (n_edus, self.n_features) if self.n_features else None
        if features != expected:
            raise RstError(
                Errors.R254.format(what="EDU features", expected=expected, found=features)
            )
        fits = (batch.edu_starts >= 0) & (batch.edu_starts < batch.edu_ends)
        fits &= batch.edu_ends <= len(batch.tokens)
        if not bool(fits.all()):
            bad = int((~fits).nonzero()[0])
            raise RstError(
                Errors.R255.format(
                    edu=bad,
                    start=int(batch.edu_starts[bad]),
                    end=int(batch.edu_ends[bad]),
                    n_tokens=len(batch.tokens),
                )
            )


class _EduGroup(NamedTuple):
    """Neighbouring EDUs: their places in the batch, the tokens around them, and where each EDU
    begins and ends among these."""

    edus: slice
    tokens: Tensor
    starts: Tensor
    ends: Tensor


def _read_edus(batch: EduBatch) -> Iterator[_EduGroup]:
    """Read the tokens of some EDUs at a time; of all at once where something is learned."""
    at_once = len(batch.edu_starts) if torch.is_grad_enabled() else EDUS_AT_ONCE
    for first in range(0, len(batch.edu_starts), at_once):
        edus = slice(first, first + at_once)
        starts, ends = batch.edu_starts[edus], batch.edu_ends[edus]
        low, high = int(starts.min()), int(ends.max())
        tokens = batch.tokens[low:high]
        yield _EduGroup(edus, tokens, starts - low, ends - low)


def _token_means(group: _EduGroup) -> Tensor:
    """The mean token vector of each EDU, without a copy of the tokens."""
    lengths = group.ends - group.starts
    first = lengths.cumsum(0) - lengths
    shifts = (group.starts - first).repeat_interleave(lengths)
    rows = torch.arange(len(shifts), device=group.tokens.device) + shifts
    return F.embedding_bag(rows, group.tokens, first, mode="mean")


def _check_gold_sizes(encoded: EncodedEdus, gold: Sequence[GoldTree]) -> None:
    if len(gold) != len(encoded.edu_counts):
        raise RstError(
            Errors.R254.format(what="gold trees", expected=len(encoded.edu_counts), found=len(gold))
        )
    for i, (tree, count) in enumerate(zip(gold, encoded.edu_counts, strict=True)):
        n_splits = max(count - 1, 0)
        if len(tree.splits) != n_splits or len(tree.labels) != n_splits:
            found = (len(tree.splits), len(tree.labels))
            raise RstError(
                Errors.R257.format(document=i, n_edus=count, expected=n_splits, found=found)
            )


def _flat_gold(
    encoded: EncodedEdus, gold: Sequence[GoldTree], n_labels: int
) -> tuple[Tensor, Tensor]:
    """The absolute splits and the labels of all documents, checked."""
    labels = torch.cat([tree.labels for tree in gold])
    if bool(((labels < 0) | (labels >= n_labels)).any()):
        raise RstError(Errors.R259.format(n_labels=n_labels, largest=int(labels.max())))
    spans = torch.cat(
        [tree.splits + offset for tree, offset in zip(gold, encoded.offsets, strict=True)]
    )
    roots = torch.tensor(
        [
            (offset, offset + count)
            for offset, count in zip(encoded.offsets, encoded.edu_counts, strict=True)
        ],
        device=spans.device,
    )
    # The spans must be the roots and the children of all splits. (A split point outside its span
    # would make a child too many.) By start, then longest first is depth-first and left-first.
    below = torch.cat([roots, spans[:, :2], spans[:, 1:]])
    below = below[below[:, 1] - below[:, 0] > 1]
    expected = (below[:, 0] * (len(encoded.edus) + 1) - below[:, 1]).sort().values
    found = spans[:, 0] * (len(encoded.edus) + 1) - spans[:, 2]
    if not torch.equal(expected, found):
        raise RstError(Errors.R258.format(document=_first_bad_tree(encoded, gold)))
    device = encoded.edus.device
    return spans.to(device), labels.to(device)


def _first_bad_tree(encoded: EncodedEdus, gold: Sequence[GoldTree]) -> int:
    """The document whose splits are no depth-first, left-first binary tree; for messages only."""
    for i, (tree, count) in enumerate(zip(gold, encoded.edu_counts, strict=True)):
        stack = [(0, count)] if count > 1 else []
        for start, split, end in tree.splits.tolist():
            if not stack or stack.pop() != (start, end) or not start < split < end:
                return i
            stack += [(a, b) for a, b in ((split, end), (start, split)) if b - a > 1]
    return -1


def _empty_tree() -> ParsedTree:
    nothing = np.zeros(0, dtype=np.float32)
    none = np.zeros(0, dtype=np.int64)
    return ParsedTree(none.reshape(0, 3), none, nothing, nothing)
