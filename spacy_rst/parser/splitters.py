"""Two ways to split spans of EDUs, in plain torch.

The pointer splitter follows Liu, Shi & Chen (2020), appendix A. The span splitter replaces the
recurrent pointer by a score for every candidate of a span. It needs no state, so that all spans of
a level are split in one call, and trees can be searched for.

Both are called in the same way: `loss` in training, `decode` in prediction. A span start:end has
the candidates start+1 ... end-1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from ..recurrent import run_packed
from .search import SpanChart
from .spans import (
    Candidates,
    Choices,
    EncodedEdus,
    all_candidates,
    embed_codes,
    prefix_sums,
    segment_log_softmax,
    segment_max,
    span_means,
)

# Candidates scored at a time: few enough for a CPU's cache, many enough to hide the call costs.
CANDIDATE_ROWS = 1024
# The same in training. Beyond these, the hidden layer is not kept, but computed again backwards.
TRAINING_ROWS = 100_000
# Log probabilities that differ by less count as equal.
ROUNDING_ERROR = 1e-5


class PointerSplitter(nn.Module):
    """The paper's decoder: a GRU reads the spans depth-first, and its state points at an EDU.

    The candidate k is scored by the dot product of the GRU's state and the last EDU of the left
    part, e_(k-1), to which the vector of the boundary between the parts is added, if there are
    codes for boundaries."""

    def __init__(self, hidden_width: int, n_codes: int = 0):
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        self.boundary = embed_codes(n_codes, hidden_width)
        self.gru = nn.GRU(hidden_width, hidden_width, batch_first=True)

    def loss(self, encoded: EncodedEdus, gold: Tensor) -> Tensor:
        """The cross entropy of gold splits with teacher forcing, summed. `gold` is (n_splits, 3):
        the absolute splits of all documents, each depth-first and left-first."""
        documents = [i for i, count in enumerate(encoded.edu_counts) if count > 1]
        steps = [encoded.edu_counts[i] - 1 for i in documents]
        starts, splits, ends = gold.unbind(1)
        inputs = span_means(encoded.sums, starts, ends).split(steps)
        states, _ = run_packed(self.gru, inputs, encoded.state[documents].unsqueeze(0))
        edus = encoded.edus.split(encoded.edu_counts)
        keys = pad_sequence([edus[i] for i in documents], batch_first=True)
        queries = self.dropout(pad_sequence(states, batch_first=True))
        scores = torch.bmm(queries, keys.transpose(1, 2))
        step_counts = torch.tensor(steps, device=gold.device)
        is_step = torch.arange(max(steps), device=gold.device) < step_counts.unsqueeze(1)
        # Splits lie in document order, so the real rows of the padded scores line up with them.
        scores = scores[is_step]
        offsets = torch.tensor([encoded.bounds[i][0] for i in documents], device=gold.device)
        column = torch.arange(scores.shape[1], device=gold.device) + 1
        column = column + offsets.repeat_interleave(step_counts).unsqueeze(1)
        legal = (column > starts.unsqueeze(1)) & (column < ends.unsqueeze(1))
        scores = scores.masked_fill(~legal, -torch.inf)
        if self.boundary is not None:
            steps_of, _ = legal.nonzero().unbind(1)
            codes = encoded.get_boundaries().codes(starts[steps_of], column[legal], ends[steps_of])
            by_code = queries[is_step] @ self.boundary.weight.t()
            scores[legal] += by_code[steps_of, codes]
        log_probs = scores.log_softmax(1)
        return -log_probs.gather(1, (splits - column[:, 0]).unsqueeze(1)).sum()

    def decode(self, encoded: EncodedEdus) -> tuple[Tensor, Tensor]:
        """Split all documents greedily. Each step takes one span of every unfinished document.
        Returns what `SpanSplitter.decode` returns.

        The steps run in NumPy on the CPU. They are tiny and wait for each other, so that what
        counts is the cost of a call: NumPy's is half of torch's, and below a GPU kernel's
        launch."""
        # A document of m EDUs takes m-1 steps. Longest first, those at work are always a prefix.
        order = sorted(range(len(encoded.edu_counts)), key=lambda i: -encoded.edu_counts[i])
        order = [i for i in order if encoded.edu_counts[i] > 1]
        n_steps = [encoded.edu_counts[i] - 1 for i in order]
        stacks = [[encoded.bounds[i]] for i in order]
        input_weight, recurrent_weight, input_bias, recurrent_bias = self.gru.all_weights[0]
        # The GRU's input is linear in the span's mean: project the EDUs once, then average.
        input_sums = prefix_sums(F.linear(encoded.edus, input_weight, input_bias)).cpu().numpy()
        weight, bias = recurrent_weight.cpu().numpy(), recurrent_bias.cpu().numpy()
        edus, states = encoded.edus.cpu().numpy(), encoded.state[order].cpu().numpy()
        found: list[tuple[int, int, int]] = []
        probs: list[float] = []
        by_code = None if self.boundary is None else self.boundary.weight.cpu().numpy()
        at_work = len(order)
        for step in range(n_steps[0]):
            while n_steps[at_work - 1] <= step:
                at_work -= 1
            spans = [stack.pop() for stack in stacks[:at_work]]
            bounds = np.array(spans)
            inputs = (input_sums[bounds[:, 1]] - input_sums[bounds[:, 0]]).astype(np.float32)
            inputs /= (bounds[:, 1:] - bounds[:, :1]).astype(np.float32)
            states = states[:at_work]
            states = _gru_step(inputs, _times(states, weight) + bias, states)
            for stack, (start, end), state in zip(stacks, spans, states, strict=False):
                pick, prob = 0, 1.0
                if end - start > 2:
                    scores = np.vecdot(edus[start : end - 1], state)
                    if by_code is not None:
                        codes = encoded.get_boundaries().codes_within(start, end)
                        scores += np.vecdot(by_code, state)[codes.cpu().numpy()]
                    pick, prob = self.pick(scores)
                split = start + 1 + pick
                found.append((start, split, end))
                probs.append(prob)
                if end - split > 1:
                    stack.append((split, end))
                if split - start > 1:
                    stack.append((start, split))
        return torch.tensor(found), torch.tensor(probs)

    def pick(self, scores: np.ndarray) -> tuple[int, float]:
        """Choose a candidate of a span; of equal ones, the one nearest to the middle. Returns its
        index and its probability."""
        best = scores.max()
        equal = np.flatnonzero(scores >= best - ROUNDING_ERROR * max(1.0, abs(best)))
        pick = int(equal[np.abs(2 * equal - len(scores) + 1).argmin()])
        return pick, 1 / float(np.exp(scores - scores[pick]).sum())


def _times(states: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The product of some states and a weight (n_outputs, n_inputs). A single state goes through
    dot products: the threads that NumPy uses for a matrix cost more than such a small one."""
    if len(states) == 1:
        return np.vecdot(weight, states)[np.newaxis]
    return states @ weight.T


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


class _ScoreTable(NamedTuple):
    """The first layer of the span splitter, applied to all EDUs of a batch: the hidden layer of a
    candidate is a weighted sum of a few rows.

    rows: below each other, the prefix sums of the EDUs through the blocks for the left part, for
    the right part and for the whole span, `n_places` rows each; then a row for each border between
    two EDUs; then the vectors of the boundary codes.
    """

    encoded: EncodedEdus
    rows: Tensor
    n_places: int


class SpanSplitter(nn.Module):
    """Scores each candidate k of a span on its own, without a recurrent state:

    w . ReLU(W [mean left; mean right; e_(k-1); e_k; mean span] + b), softmax over the candidates.
    The vector of the boundary between the parts, if there is one, is added to b.

    `search_edus` and `exploration` are described at `model.build_span_splitter`."""

    def __init__(
        self,
        hidden_width: int,
        n_codes: int = 0,
        *,
        search_edus: int = 0,
        exploration: float = 0.0,
    ):
        super().__init__()
        self.search_edus, self.exploration = search_edus, exploration
        self.dropout = nn.Dropout(0.0)
        self.boundary = embed_codes(n_codes, hidden_width)
        self.mix = nn.Linear(5 * hidden_width, hidden_width)
        # A bias would cancel in the softmax.
        self.score = nn.Linear(hidden_width, 1, bias=False)

    def loss(self, encoded: EncodedEdus, gold: Tensor) -> Tensor:
        """The cross entropy of gold splits (n_splits, 3) in any order, and of what exploration
        finds, summed."""
        table = self._make_table(encoded)
        starts, splits, ends = gold.unbind(1)
        log_probs, candidates = self.score_spans(table, starts, ends)
        loss = -log_probs.index_select(0, candidates.first + splits - starts - 1).sum()
        return loss + self.exploration * self._explore(table, gold) if self.exploration else loss

    def _explore(self, table: _ScoreTable, gold: Tensor) -> Tensor:
        """The cross entropy of the best splits of spans that are not in the gold trees.

        The best split of any span is that of the smallest gold span around it, for this keeps all
        gold spans that still can be kept. Of the gold splits within the span it is the one with the
        longest gold span.
        """
        with torch.no_grad():
            own = self._decode_greedily(table)[0]
        n_edus = len(table.encoded.edus)
        keys, gold_keys = (spans[:, 0] * (n_edus + 1) + spans[:, 2] for spans in (own, gold))
        starts, _, ends = own[~torch.isin(keys, gold_keys)].unbind(1)
        if not len(starts):
            return table.rows.new_zeros(())
        gold_lengths = table.rows.new_zeros(n_edus)
        gold_lengths[gold[:, 1]] = (gold[:, 2] - gold[:, 0]).to(gold_lengths.dtype)
        log_probs, candidates = self.score_spans(table, starts, ends)
        best = self.pick(gold_lengths[candidates.splits], candidates.spans, candidates.first)
        return -log_probs.index_select(0, best).sum()

    def gold_choices(self, encoded: EncodedEdus, gold: Tensor) -> Choices:
        """Compare the candidates of gold spans with the gold splits, in spans that leave a
        choice."""
        starts, splits, ends = gold[gold[:, 2] - gold[:, 0] > 2].unbind(1)
        log_probs, candidates = self.score_spans(self._make_table(encoded), starts, ends)
        return Choices(log_probs, candidates.spans, candidates.first + splits - starts - 1)

    @torch.no_grad()
    def apply_temperature(self, temperature: float) -> None:
        """Divide the scores of all candidates by a temperature, by way of the weights. The best
        candidate of a span stays the best."""
        self.score.weight /= temperature

    def decode(self, encoded: EncodedEdus) -> tuple[Tensor, Tensor]:
        """Split all documents, at least one of them with two EDUs. Returns the absolute splits (n,
        3) and their probabilities, on the CPU."""
        table = self._make_table(encoded)
        spans, log_probs = self._decode_greedily(table)
        if self.search_edus:
            spans, log_probs = self._search(table, spans, log_probs)
        return spans.cpu(), log_probs.exp().cpu()

    def _decode_greedily(self, table: _ScoreTable) -> tuple[Tensor, Tensor]:
        """Split documents top-down, a level of all trees at a time."""
        bounds = torch.tensor(table.encoded.bounds, device=table.rows.device)
        starts, ends = bounds[bounds[:, 1] - bounds[:, 0] > 1].unbind(1)
        found: list[Tensor] = []
        found_log_probs: list[Tensor] = []
        while len(starts):
            log_probs, candidates = self.score_spans(table, starts, ends)
            picks = self.pick(log_probs, candidates.spans, candidates.first)
            splits = candidates.splits.index_select(0, picks)
            found.append(torch.stack([starts, splits, ends], dim=1))
            found_log_probs.append(log_probs.index_select(0, picks))
            starts, ends = torch.cat([starts, splits]), torch.cat([splits, ends])
            is_open = ends - starts > 1
            starts, ends = starts[is_open], ends[is_open]
        return torch.cat(found), torch.cat(found_log_probs)

    def _search(
        self, table: _ScoreTable, spans: Tensor, log_probs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Replace what greedy decoding found below spans that are not too large."""
        is_large = spans[:, 2] - spans[:, 0] > self.search_edus
        if is_large.all():
            return spans, log_probs

        def score(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
            places = (torch.from_numpy(column).to(spans.device) for column in (starts, ends))
            return self.score_spans(table, *places)[0].cpu().numpy()

        chart = SpanChart(spans[~is_large].cpu().numpy())
        found, found_log_probs = map(torch.from_numpy, chart.best_trees(score))
        return (
            torch.cat([spans[is_large].cpu(), found]),
            torch.cat([log_probs[is_large].cpu(), found_log_probs]),
        )

    def pick(self, log_probs: Tensor, spans: Tensor, first: Tensor) -> Tensor:
        """Choose a candidate for each span; of equal ones, the one nearest to the span's middle, so
        that a text that repeats itself does not become a chain. What differs by no more than
        rounding errors, which change with the batch, counts as equal. `spans` and `first` are those
        of `Candidates`."""
        best = segment_max(log_probs, spans, len(first))
        is_best = log_probs >= best.index_select(0, spans) - ROUNDING_ERROR
        positions = is_best.nonzero().squeeze(1)
        spans = spans.index_select(0, positions)
        ends = torch.cat([first[1:], first.new_tensor([len(log_probs)])])
        distances = (2 * positions - (first + ends - 1).index_select(0, spans)).abs()
        # The distance decides, then the position, which can be read off the sum.
        keys = distances * len(log_probs) + positions
        return -segment_max(-keys, spans, len(first)) % len(log_probs)

    def _make_table(self, encoded: EncodedEdus) -> _ScoreTable:
        """Apply the first layer to the EDUs, less the mean of their document.

        The sums then stay small at any length, and keep their digits in float32. The means, in
        which all parts of a document agree, go to the borders instead.
        """
        first_edus, ends = torch.tensor(encoded.bounds, device=encoded.edus.device).unbind(1)
        counts = ends - first_edus
        sums = encoded.sums.index_select(0, ends) - encoded.sums.index_select(0, first_edus)
        means = (sums / counts.clamp(min=1).unsqueeze(1)).to(encoded.edus.dtype)
        # No gradient: what a mean adds at the borders it takes away from the sums.
        means = means.detach().repeat_interleave(counts, dim=0)
        centred = encoded.edus - means
        left, right, last, following, whole = self.mix.weight.chunk(5, dim=1)
        sums_by_block = [
            prefix_sums(F.linear(centred, block)).to(centred.dtype)
            for block in (left, right, whole)
        ]
        borders = F.linear(encoded.edus[:-1], last, self.mix.bias)
        borders = borders + F.linear(encoded.edus[1:], following)
        borders = borders + F.linear(means[1:], left + right + whole)
        codes = [] if self.boundary is None else [self.boundary.weight]
        rows = torch.cat([*sums_by_block, borders, *codes])
        return _ScoreTable(encoded, rows, len(encoded.edus) + 1)

    def score_spans(
        self, table: _ScoreTable, starts: Tensor, ends: Tensor
    ) -> tuple[Tensor, Candidates]:
        """Score all candidates of spans of two EDUs or more, in bounded memory: their log
        probabilities within their spans, and the candidates."""
        candidates = all_candidates(starts, ends)
        splits, spans, _ = candidates
        n_rows = TRAINING_ROWS if torch.is_grad_enabled() else CANDIDATE_ROWS
        chunks = [
            (starts.index_select(0, owners), places, ends.index_select(0, owners))
            for places, owners in zip(splits.split(n_rows), spans.split(n_rows), strict=True)
        ]
        if torch.is_grad_enabled() and len(chunks) > 1:
            scores = [
                checkpoint(self._score_chunk, table, *chunk, use_reentrant=False)
                for chunk in chunks
            ]
        else:
            scores = [self._score_chunk(table, *chunk) for chunk in chunks]
        return segment_log_softmax(torch.cat(scores), spans, len(starts)), candidates

    def _score_chunk(
        self, table: _ScoreTable, starts: Tensor, splits: Tensor, ends: Tensor
    ) -> Tensor:
        n_places = table.n_places
        per_left, per_right = 1 / (splits - starts), 1 / (ends - splits)
        per_edu = 1 / (ends - starts)
        once = torch.ones_like(per_left)
        weighted_rows = [
            (splits, per_left),
            (starts, -per_left),
            (ends + n_places, per_right),
            (splits + n_places, -per_right),
            (ends + 2 * n_places, per_edu),
            (starts + 2 * n_places, -per_edu),
            (splits - 1 + 3 * n_places, once),
        ]
        if self.boundary is not None:
            codes = table.encoded.get_boundaries().codes(starts, splits, ends)
            weighted_rows.append((codes + len(table.rows) - self.boundary.num_embeddings, once))
        rows, weights = (torch.stack(column, dim=1) for column in zip(*weighted_rows, strict=True))
        hidden = F.embedding_bag(rows, table.rows, per_sample_weights=weights, mode="sum")
        return self.dropout(F.relu(hidden, inplace=True)) @ self.score.weight[0]


Splitter = PointerSplitter | SpanSplitter
