"""Minimum-risk decoding, in plain NumPy: a search for the tree with the largest expected number of
correct spans.

A splitter gives the probability of each split point of a span. Multiplied top-down, these give the
probability that a span is reached, that is, that it is in the tree. The sum of these over the spans
of a tree is the expected number of spans that it shares with the right one.

Spans that are hardly ever reached are left out, but for those of a tree that is known already, so
that there is always a tree to be found. Tables have a row for each EDU and a column for each number
of EDUs: a span stands in the row of its first EDU.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Spans that are reached less often are left out.
LEAST_REACH = 1e-3
# Expectations that differ by less are equal.
ROUNDING_ERROR = 1e-4

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


class SpanChart:
    """Spans of some documents, how often they are reached, and how they may be split. `trees`
    (n_splits, 3) holds a binary tree of each document; EDUs are counted through all of them."""

    def __init__(self, trees: np.ndarray) -> None:
        starts, splits, ends = trees.T
        shape = ends.max(), (ends - starts).max() + 1
        self._is_known, is_part = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        self._is_known[starts, ends - starts] = True
        is_part[starts, splits - starts] = is_part[splits, ends - splits] = True
        self._is_root = self._is_known & ~is_part
        self._reach = self._is_root.astype(float)
        # Where the log probabilities of the split points of each span begin.
        self._places = np.full(shape, -1)
        self._log_probs = np.zeros(0, dtype=np.float32)
        # For each length that occurs, the starts of the spans.
        self._starts: dict[int, np.ndarray] = {}

    def best_trees(self, score: Score) -> tuple[np.ndarray, np.ndarray]:
        """Find the trees with the largest expected number of correct spans: their splits, and the
        log probability of each. `score` takes the starts and ends of spans, and gives the log
        probabilities of all their split points, span by span."""
        self._descend(score)
        best = self._ascend()
        found: list[tuple[int, int, int]] = []
        stack = [(start, start + length) for start, length in np.argwhere(self._is_root).tolist()]
        while stack:
            start, end = stack.pop()
            if end - start > 1:
                split = start + int(best[start, end - start])
                found.append((start, split, end))
                stack += [(start, split), (split, end)]
        trees = np.array(found)
        starts, splits, ends = trees.T
        return trees, self._log_probs[self._places[starts, ends - starts] + splits - starts - 1]

    def _descend(self, score: Score) -> None:
        """Find out how often spans are reached, from long ones to short ones."""
        for length in range(self._reach.shape[1] - 1, 1, -1):
            reach = self._reach[:, length]
            (starts,) = np.nonzero(self._is_known[:, length] | (reach >= LEAST_REACH))
            if not len(starts):
                continue
            self._starts[length] = starts
            if (self._places[starts, length] < 0).any():
                self._open(score, length)
            led_to = np.exp(self._rows(length)) * reach[starts, np.newaxis]
            self._reach[starts, 1:length] += led_to
            left_lengths = np.arange(1, length)
            self._reach[starts[:, np.newaxis] + left_lengths, length - left_lengths] += led_to

    def _open(self, score: Score, longest: int) -> None:
        """Score all spans up to a length that are known to be needed, so that there are few calls
        for many spans."""
        is_wanted = self._is_known | (self._reach >= LEAST_REACH)
        is_wanted &= self._places < 0
        starts, lengths = np.nonzero(is_wanted[:, 2 : longest + 1])
        lengths += 2
        counts = lengths - 1
        self._places[starts, lengths] = len(self._log_probs) + np.cumsum(counts) - counts
        self._log_probs = np.append(self._log_probs, score(starts, starts + lengths))

    def _rows(self, length: int) -> np.ndarray:
        """The log probabilities of the split points of all spans of a length, a row for each."""
        places = self._places[self._starts[length], length]
        return self._log_probs[places[:, np.newaxis] + np.arange(length - 1)]

    def _ascend(self) -> np.ndarray:
        """Find the best length of the left part of each span, from short spans to long ones."""
        gains = np.full_like(self._reach, -np.inf)
        gains[:, 1] = 0
        best = np.zeros(gains.shape, dtype=int)
        for length in reversed(self._starts):
            starts = self._starts[length]
            left_lengths = np.arange(1, length)
            totals = gains[starts, 1:length]
            totals += gains[starts[:, np.newaxis] + left_lengths, length - left_lengths]
            most = totals.max(1)
            gains[starts, length] = self._reach[starts, length] + most
            # Of equal ones that nearest to the middle: a text that repeats itself is not a chain.
            is_best = totals >= most[:, np.newaxis] - ROUNDING_ERROR
            centrality = length - np.abs(2 * left_lengths - length)
            best[starts, length] = (is_best * centrality).argmax(1) + 1
        return best
