"""Two ways to split spans of EDUs, in plain torch.

The pointer splitter follows Liu, Shi & Chen (2020), appendix A. The span splitter replaces the
recurrent pointer by a score for every candidate of a span, which needs no state: all spans of a
level are split in one call, and trees can be searched for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
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
    prefix_sums,
    segment_log_softmax,
    segment_max,
    span_means,
)

# Rows scored at a time: few enough to stay in a CPU's cache, many enough to hide the call costs.
CANDIDATE_ROWS = 1024
# Spans of so many EDUs are scored one by one, as slices of tables, which need not be gathered, and
# with what was computed for the span around them; shorter ones all together.
LARGE_SPAN = 128
SLICE_ROWS = 1024
# In training, candidates beyond these are scored in chunks whose hidden layer is not kept, but
# computed again on the way back.
TRAINING_ROWS = 100_000
# Log probabilities that differ by less are equal.
ROUNDING_ERROR = 1e-5


def embed_codes(n_codes: int, width: int) -> nn.Embedding | None:
    """Make vectors for the codes of boundaries, which say nothing before something is learned.

    n_codes (int): The number of codes.
    width (int): The width of the vectors.
    RETURNS (nn.Embedding | None): The vectors, None where there are no codes.
    """
    return nn.Embedding.from_pretrained(torch.zeros(n_codes, width), False) if n_codes else None


class Splitter(nn.Module):
    """Chooses the split points of spans. A span start:end has the candidates start+1 ... end-1.

    hidden_width (int): Width of the EDU vectors.
    n_codes (int): Number of codes for boundaries between EDUs, 0 for a splitter that takes none.
    """

    def __init__(self, hidden_width: int, n_codes: int = 0):
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        self.boundary = embed_codes(n_codes, hidden_width)

    @abstractmethod
    def gold_log_probs(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """The log probabilities of gold splits.

        encoded (EncodedEdus): The encoded documents.
        spans (Tensor): Long (n_splits, 3), the absolute splits of all documents with two or more
            EDUs, each depth-first and left-first.
        RETURNS (Tensor): Float (n_splits,).
        """

    def explored_log_probs(self, encoded: EncodedEdus, gold: Tensor) -> Tensor:
        """Let the splitter divide the documents by itself, and compare with the gold trees where
        its spans are none of theirs.

        encoded (EncodedEdus): The encoded documents.
        gold (Tensor): Long (n_splits, 3), as for `gold_log_probs`.
        RETURNS (Tensor): Float (n_spans,), the log probabilities of the best splits of spans that
            are not in the gold trees.
        RAISES (ValueError): If the scores depend on earlier splits.
        """
        raise ValueError(f"{type(self).__name__} has no scores for spans outside a gold tree.")

    def gold_choices(self, encoded: EncodedEdus, spans: Tensor) -> Choices | None:
        """Compare the candidates of gold spans with the gold splits.

        encoded (EncodedEdus): The encoded documents.
        spans (Tensor): Long (n_splits, 3), as for `gold_log_probs`.
        RETURNS (Choices | None): The choices in spans that leave one. None from a splitter that
            knows no temperature.
        """
        return None

    def apply_temperature(self, temperature: float) -> None:
        """Divide the scores of all candidates by a temperature, by way of the weights. The best
        candidate of a span stays the best.

        temperature (float): More than 1 for lower probabilities of what is chosen.
        RAISES (ValueError): If no weight scales the scores alone.
        """
        raise ValueError(f"{type(self).__name__} has no weight that scales its scores alone.")

    @abstractmethod
    def decode(self, encoded: EncodedEdus, search_edus: int = 0) -> tuple[Tensor, Tensor]:
        """Split all documents; at least one must have two EDUs.

        encoded (EncodedEdus): The encoded documents.
        search_edus (int): Below spans of at most so many EDUs, find the trees of which the most
            spans are expected to be right, instead of taking the best split of each span from the
            top.
        RETURNS (tuple[Tensor, Tensor]): Absolute splits (n, 3) and their probabilities, on the CPU.
        RAISES (ValueError): If a search is asked for, and the scores depend on earlier splits.
        """


class PointerSplitter(Splitter):
    """The paper's decoder: a GRU reads the spans depth-first, and its state points at an EDU.

    The candidate k is scored by the dot product of the GRU's state and the last EDU of the left
    part, e_(k-1), to which the vector of the boundary between the parts is added, if there is one.
    """

    def __init__(self, hidden_width: int, n_codes: int = 0):
        super().__init__(hidden_width, n_codes)
        self.gru = nn.GRU(hidden_width, hidden_width, batch_first=True)

    def gold_log_probs(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """See `Splitter`. All decoder inputs are known beforehand, with teacher forcing."""
        documents = [i for i, count in enumerate(encoded.edu_counts) if count > 1]
        steps = [encoded.edu_counts[i] - 1 for i in documents]
        starts, splits, ends = spans.unbind(1)
        inputs = span_means(encoded.sums, starts, ends).split(steps)
        states, _ = run_packed(self.gru, inputs, encoded.state[documents].unsqueeze(0))
        edus = encoded.edus.split(encoded.edu_counts)
        keys = pad_sequence([edus[i] for i in documents], batch_first=True)
        queries = self.dropout(pad_sequence(states, batch_first=True))
        scores = torch.bmm(queries, keys.transpose(1, 2))
        step_counts = torch.tensor(steps, device=spans.device)
        is_step = torch.arange(max(steps), device=spans.device) < step_counts.unsqueeze(1)
        # Splits lie in document order, so the real rows of the padded scores line up with them.
        scores = scores[is_step]
        offsets = torch.tensor([encoded.bounds[i][0] for i in documents], device=spans.device)
        column = torch.arange(scores.shape[1], device=spans.device) + 1
        column = column + offsets.repeat_interleave(step_counts).unsqueeze(1)
        legal = (column > starts.unsqueeze(1)) & (column < ends.unsqueeze(1))
        scores = scores.masked_fill(~legal, -torch.inf)
        if self.boundary is not None:
            steps_of, _ = legal.nonzero().unbind(1)
            codes = encoded.get_boundaries().codes(starts[steps_of], column[legal], ends[steps_of])
            by_code = queries[is_step] @ self.boundary.weight.t()
            scores[legal] += by_code[steps_of, codes]
        log_probs = scores.log_softmax(1)
        return log_probs.gather(1, (splits - column[:, 0]).unsqueeze(1)).squeeze(1)

    def decode(self, encoded: EncodedEdus, search_edus: int = 0) -> tuple[Tensor, Tensor]:
        """See `Splitter`. Each step takes one span of every unfinished document.

        The steps run in NumPy on the CPU. They are tiny and wait for each other, so that what
        counts is the cost of a call: NumPy's is half of torch's, and below a GPU kernel's launch.
        """
        if search_edus:
            raise ValueError("The pointer's scores depend on earlier splits: no search.")
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
                        scores += np.vecdot(by_code, state)[codes]
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
        """Choose a candidate of a span; of equal ones, that nearest to the middle.

        scores (np.ndarray): Float (n_candidates,).
        RETURNS (tuple[int, float]): The candidate's index and its probability.
        """
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


class _SpanTables(NamedTuple):
    """The first layer of the span scorer, applied to the EDUs once per batch.

    left, right: prefix sums of the EDUs through the blocks for the mean of the left part and of
    the right part; border: row u is the sum of the blocks for the EDUs u and u+1, and the bias;
    whole: the block for the mean of the whole span, which is applied to each span when it is split.
    """

    encoded: EncodedEdus

    left: Tensor
    right: Tensor
    border: Tensor
    whole: Tensor


class _ScoreTable(NamedTuple):
    """What the span scorer needs to know of the EDUs in some spans that do not overlap, such that
    the hidden layer of a candidate is a weighted sum of a few rows, which is a single call.

    rows: below each other, for every place in the spans and at their ends, the sums of the EDUs
    before it through the blocks for the left part, for the right part and for the whole span; then
    the borders, and the vectors of boundaries. Sums begin anew with each span: in floats they would
    lose digits in a long document.
    n_places: the number of places; shifts: for each EDU, the row of the place before it, less its
    own number.
    """

    encoded: EncodedEdus

    rows: Tensor
    n_places: int
    shifts: Tensor


class _OpenSpan(NamedTuple):
    """A span that is to be split, and what was computed for the span around it.

    shares_start: whether both start together, so that a candidate's left part is the same in both,
    or else end together; known: for each candidate, what that part and the border add to the hidden
    layer, if it was computed.
    """

    start: int
    end: int
    shares_start: bool = False
    known: Tensor | None = None


class SpanSplitter(Splitter):
    """Scores each candidate k of a span on its own, without a recurrent state:

    w . ReLU(W [mean left; mean right; e_(k-1); e_k; mean span] + b), softmax over the candidates.
    The vector of the boundary between the parts, if there is one, is added to b.
    """

    def __init__(self, hidden_width: int, n_codes: int = 0):
        super().__init__(hidden_width, n_codes)
        self.mix = nn.Linear(5 * hidden_width, hidden_width)
        # A bias would cancel in the softmax.
        self.score = nn.Linear(hidden_width, 1, bias=False)

    def gold_log_probs(self, encoded: EncodedEdus, spans: Tensor) -> Tensor:
        """See `Splitter`. The order of the spans does not matter."""
        starts, splits, ends = spans.unbind(1)
        log_probs, candidates = self._log_probs(self._tables(encoded), starts, ends)
        return log_probs.index_select(0, candidates.first + splits - starts - 1)

    def explored_log_probs(self, encoded: EncodedEdus, gold: Tensor) -> Tensor:
        """See `Splitter`.

        A gold tree says how any span is split best: where the smallest gold span around it is
        split, for this keeps all gold spans that still can be kept. Of the gold splits within the
        span it is the one with the longest gold span.
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
        log_probs, candidates = self._log_probs(self._tables(encoded), starts, ends)
        best = self.pick(gold_lengths[candidates.splits], candidates.spans, candidates.first)
        return log_probs.index_select(0, best)

    def gold_choices(self, encoded: EncodedEdus, spans: Tensor) -> Choices:
        """See `Splitter`."""
        starts, splits, ends = spans[spans[:, 2] - spans[:, 0] > 2].unbind(1)
        log_probs, candidates = self._log_probs(self._tables(encoded), starts, ends)
        return Choices(log_probs, candidates.spans, candidates.first + splits - starts - 1)

    @torch.no_grad()
    def apply_temperature(self, temperature: float) -> None:
        """See `Splitter`."""
        self.score.weight /= temperature

    def decode(self, encoded: EncodedEdus, search_edus: int = 0) -> tuple[Tensor, Tensor]:
        """See `Splitter`. Large spans are split one by one, then all others together."""
        tables = self._tables(encoded)
        found: list[Tensor] = []
        found_log_probs: list[Tensor] = []
        stack = [_OpenSpan(start, end) for start, end in encoded.bounds if end - start > 1]
        small = []
        while stack:
            span = stack.pop()
            if span.end - span.start < max(LARGE_SPAN, search_edus + 1):
                small.append((span.start, span.end))
                continue
            split, log_prob, children = self._split_large(tables, span)
            found.append(torch.tensor([[span.start, split, span.end]]))
            found_log_probs.append(log_prob.cpu())
            stack += [child for child in children if child.end - child.start > 1]
        if small:
            table = self._score_table(tables, small)
            spans, log_probs = self._split_levels(table, small)
            if search_edus:
                spans, log_probs = self._lower_risk(table, spans, log_probs, search_edus)
            found.append(spans.cpu())
            found_log_probs.append(log_probs.cpu())
        return torch.cat(found), torch.cat(found_log_probs).exp()

    def pick(self, log_probs: Tensor, spans: Tensor, first: Tensor) -> Tensor:
        """Choose a candidate for each span; of equal ones, that nearest to the span's middle, so
        that a text that repeats itself does not become a chain. What differs by no more than
        rounding errors, which change with the batch, counts as equal.

        log_probs (Tensor): Float (n_candidates,), the candidates of all spans.
        spans (Tensor): Long (n_candidates,), the span of each.
        first (Tensor): Long (n_spans,), the position of each span's first candidate.
        RETURNS (Tensor): Long (n_spans,), the positions of the chosen ones.
        """
        if len(first) == 1:
            best = log_probs.max()
            positions = (log_probs >= best - ROUNDING_ERROR).nonzero().squeeze(1)
            return positions[(2 * positions - len(log_probs) + 1).abs().argmin()].unsqueeze(0)
        best = segment_max(log_probs, spans, len(first))
        is_best = log_probs >= best.index_select(0, spans) - ROUNDING_ERROR
        positions = is_best.nonzero().squeeze(1)
        spans = spans.index_select(0, positions)
        ends = torch.cat([first[1:], first.new_tensor([len(log_probs)])])
        distances = (2 * positions - (first + ends - 1).index_select(0, spans)).abs()
        # The distance decides, then the position, which can be read off the sum.
        keys = distances * len(log_probs) + positions
        return -segment_max(-keys, spans, len(first)) % len(log_probs)

    def _split_large(
        self, tables: _SpanTables, span: _OpenSpan
    ) -> tuple[int, Tensor, list[_OpenSpan]]:
        start, end, shares_start, known = span
        device = tables.border.device
        lengths = torch.arange(1, end - start, dtype=torch.float32, device=device).unsqueeze(1)
        chunks = [slice(low, low + SLICE_ROWS) for low in range(0, len(lengths), SLICE_ROWS)]
        inside = slice(start + 1, end)

        def left(rows: slice) -> tuple[Tensor, Tensor]:
            return (tables.left[inside][rows] - tables.left[start]).float(), lengths[rows]

        def right(rows: slice) -> tuple[Tensor, Tensor]:
            totals = (tables.right[end] - tables.right[inside][rows]).float()
            return totals, lengths.flip(0)[rows]

        old, new = (left, right) if shares_start else (right, left)
        if known is None:
            border = tables.border[start : end - 1]
            known = torch.cat([torch.addcdiv(border[rows], *old(rows)) for rows in chunks])
        total = tables.encoded.sums[end] - tables.encoded.sums[start]
        whole = F.linear(total.float() / (end - start), tables.whole)
        parts = []
        for rows in chunks:
            hidden = torch.addcdiv(known[rows], *new(rows))
            hidden += whole
            if self.boundary is not None:
                codes = tables.encoded.get_boundaries().codes_within(start, end)[rows]
                hidden += self.boundary(torch.from_numpy(codes).to(device))
            parts.append(self._finish(hidden))
        scores = torch.cat(parts)
        log_probs = scores.log_softmax(0)
        origin = torch.zeros(1, dtype=torch.long, device=scores.device)
        pick = int(self.pick(log_probs, origin.expand(len(scores)), origin))
        split = start + 1 + pick
        children = [
            _OpenSpan(start, split, True, known[:pick] if shares_start else None),
            _OpenSpan(split, end, False, None if shares_start else known[pick + 1 :]),
        ]
        return split, log_probs[pick : pick + 1], children

    def _split_levels(
        self, table: _ScoreTable, bounds: Sequence[tuple[int, int]]
    ) -> tuple[Tensor, Tensor]:
        """Split spans and their parts from the top, a level of all trees at a time."""
        starts, ends = torch.tensor(bounds, device=table.rows.device).unbind(1)
        found: list[Tensor] = []
        found_log_probs: list[Tensor] = []
        while len(starts):
            log_probs, candidates = self._look_up(table, starts, ends)
            picks = self.pick(log_probs, candidates.spans, candidates.first)
            splits = candidates.splits.index_select(0, picks)
            found.append(torch.stack([starts, splits, ends], dim=1))
            found_log_probs.append(log_probs.index_select(0, picks))
            starts, ends = torch.cat([starts, splits]), torch.cat([splits, ends])
            is_open = ends - starts > 1
            starts, ends = starts[is_open], ends[is_open]
        return torch.cat(found), torch.cat(found_log_probs)

    def _lower_risk(
        self, table: _ScoreTable, spans: Tensor, log_probs: Tensor, search_edus: int
    ) -> tuple[Tensor, Tensor]:
        """Search for better trees than those that were found from the top, below spans that are not
        too large."""
        is_large = spans[:, 2] - spans[:, 0] > search_edus
        if is_large.all():
            return spans, log_probs

        def score(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
            places = (torch.from_numpy(column).to(spans.device) for column in (starts, ends))
            return self._look_up(table, *places)[0].cpu().numpy()

        chart = SpanChart(spans[~is_large].cpu().numpy())
        found, found_log_probs = map(torch.from_numpy, chart.best_trees(score))
        return (
            torch.cat([spans[is_large].cpu(), found]),
            torch.cat([log_probs[is_large].cpu(), found_log_probs]),
        )

    def _tables(self, encoded: EncodedEdus) -> _SpanTables:
        left, right, last, following, whole = self.mix.weight.chunk(5, dim=1)
        border = F.linear(encoded.edus[:-1], last, self.mix.bias)
        border = border + F.linear(encoded.edus[1:], following)
        left, right = (prefix_sums(F.linear(encoded.edus, block)) for block in (left, right))
        return _SpanTables(encoded, left, right, border, whole)

    def _score_table(self, tables: _SpanTables, bounds: Sequence[tuple[int, int]]) -> _ScoreTable:
        device = tables.border.device
        starts, ends = torch.tensor(bounds, device=device).unbind(1)
        counts = ends - starts + 1
        shifts = counts.cumsum(0) - counts - starts
        places = torch.arange(int(counts.sum()), device=device)
        places -= shifts.repeat_interleave(counts)
        first_places = starts.repeat_interleave(counts)

        def sums(prefix: Tensor) -> Tensor:
            return (prefix.index_select(0, places) - prefix.index_select(0, first_places)).float()

        whole = F.linear(sums(tables.encoded.sums), tables.whole)
        rows = [sums(tables.left), sums(tables.right), whole, tables.border]
        if self.boundary is not None:
            rows.append(self.boundary.weight)
        shift_of_edu = torch.zeros(len(tables.encoded.edus), dtype=torch.long, device=device)
        # A span's last place is no EDU of its own.
        inside = places < ends.repeat_interleave(counts)
        shift_of_edu[places[inside]] = shifts.repeat_interleave(counts)[inside]
        return _ScoreTable(tables.encoded, torch.cat(rows), len(places), shift_of_edu)

    def _look_up(
        self, table: _ScoreTable, starts: Tensor, ends: Tensor
    ) -> tuple[Tensor, Candidates]:
        """The log probabilities of all candidates of spans, without gradients."""
        candidates = all_candidates(starts, ends)
        splits, spans, _ = candidates
        starts_of, ends_of = starts.index_select(0, spans), ends.index_select(0, spans)
        at_start, at_split = (
            place + table.shifts.index_select(0, place) for place in (starts_of, splits)
        )
        at_end = ends_of + table.shifts.index_select(0, ends_of - 1)
        left, right, whole, borders = (part * table.n_places for part in range(4))
        numbers = [at_split + left, at_start + left, at_end + right, at_split + right]
        numbers += [at_end + whole, at_start + whole, splits - 1 + borders]
        shares = [1 / lengths for lengths in (splits - starts_of, ends_of - splits)]
        shares = [shares[0], -shares[0], shares[1], -shares[1]]
        shares += [1 / (ends_of - starts_of), -1 / (ends_of - starts_of)]
        shares.append(torch.ones_like(shares[0]))
        if self.boundary is not None:
            codes = table.encoded.get_boundaries().codes(starts_of, splits, ends_of)
            numbers.append(codes + borders + len(table.encoded.edus) - 1)
            shares.append(shares[-1])
        chunks = zip(
            torch.stack(numbers, dim=1).split(CANDIDATE_ROWS),
            torch.stack(shares, dim=1).split(CANDIDATE_ROWS),
            strict=True,
        )
        scores = torch.cat(
            [
                self._finish(
                    F.embedding_bag(chunk, table.rows, per_sample_weights=weights, mode="sum")
                )
                for chunk, weights in chunks
            ]
        )
        return segment_log_softmax(scores, spans, len(starts)), candidates

    def _log_probs(
        self, tables: _SpanTables, starts: Tensor, ends: Tensor
    ) -> tuple[Tensor, Candidates]:
        """The same, for training: a bounded number at a time."""
        candidates = all_candidates(starts, ends)
        splits, spans, _ = candidates
        whole = F.linear(span_means(tables.encoded.sums, starts, ends), tables.whole)
        row_starts, row_ends = starts.index_select(0, spans), ends.index_select(0, spans)
        rows = torch.stack([row_starts, splits, row_ends, spans])
        chunks = rows.split(TRAINING_ROWS, dim=1)
        if len(chunks) == 1:
            scores = self._score_rows(tables, whole, rows)
        else:
            scores = torch.cat(
                [
                    checkpoint(self._score_rows, tables, whole, chunk, use_reentrant=False)
                    for chunk in chunks
                ]
            )
        return segment_log_softmax(scores, spans, len(starts)), candidates

    def _score_rows(self, tables: _SpanTables, whole: Tensor, rows: Tensor) -> Tensor:
        starts, splits, ends, spans = rows
        hidden = span_means(tables.left, starts, splits)
        hidden += span_means(tables.right, splits, ends)
        hidden += tables.border.index_select(0, splits - 1)
        hidden += whole.index_select(0, spans)
        if self.boundary is not None:
            codes = tables.encoded.get_boundaries().codes(starts, splits, ends)
            hidden += self.boundary(codes)
        return self._finish(hidden)

    def _finish(self, hidden: Tensor) -> Tensor:
        """The second layer of the scorer."""
        return self.dropout(F.relu(hidden, inplace=True)) @ self.score.weight[0]


SPLITTERS: dict[str, type[Splitter]] = {"pointer": PointerSplitter, "span": SpanSplitter}
