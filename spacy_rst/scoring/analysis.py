"""Where a parser errs: the numbers behind the charts, as pure functions on pairs of trees."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from ..errors import Errors, RstError
from ..relations import NUCLEARITIES, RELATION_CLASSES, split_label
from ..tree import RstTree
from .parseval import METRICS, SPANS_BY_METHOD, EduOffsets, F1Scores
from .report import MetricKey, Row

OTHER = "other"
Curve = Sequence[tuple[float, float]]
Place = tuple[int, int]


class TreePair(NamedTuple):
    """A gold tree and the predicted one of the same text.

    gold (RstTree): The gold tree.
    predicted (RstTree | None): The predicted tree, None where there is none.
    gold_edus (EduOffsets | None): Start and end of each gold EDU in the text, needed where the
        predicted EDUs are others than the gold ones.
    predicted_edus (EduOffsets | None): The same for the predicted EDUs.
    """

    gold: RstTree
    predicted: RstTree | None
    gold_edus: EduOffsets | None = None
    predicted_edus: EduOffsets | None = None


Pairs = Iterable[TreePair | tuple[RstTree, RstTree | None]]


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a gold label (row) was predicted as another (column).

    labels (tuple[str, ...]): The labels of rows and columns.
    counts (tuple[tuple[int, ...], ...]): The counts, one tuple per row.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """RETURNS (int): The number of spans that were compared."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float | None:
        """RETURNS (float | None): The share of equal labels, None where there is none at all."""
        right = sum(row[number] for number, row in enumerate(self.counts))
        return right / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class BinScores:
    """The scores of the spans in one bin.

    name (str): What the bin holds, e.g. "5-8".
    gold (int): The number of gold spans in it.
    predicted (int): The number of predicted spans in it.
    scores (F1Scores | None): Their F1, None where there is no span.
    """

    name: str
    gold: int
    predicted: int
    scores: F1Scores | None


@dataclass(frozen=True, slots=True)
class TransferMatrix:
    """What a parser trained on one language (row) scores on another (column).

    trained_on (tuple[str, ...]): The names of the rows.
    tested_on (tuple[str, ...]): The names of the columns.
    values (tuple[tuple[float | None, ...], ...]): Scores between 0 and 1, None where unknown.
    """

    trained_on: tuple[str, ...]
    tested_on: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


def confusion_matrix(pairs: Pairs, *, of: str = "relation", n_labels: int = 0) -> Confusion:
    """Compare the labels of the spans that both trees have, inner nodes with the root.

    pairs (Iterable[TreePair]): The trees; plain tuples of two trees over the same EDUs will do.
    of (str): "relation" or "nuclearity".
    n_labels (int): Keep the so many most frequent gold and predicted labels and call the rest
        "other"; 0 for all.
    RETURNS (Confusion): The counts. Relation classes come in alphabetical order, other relations
        after them.
    """
    part = {"relation": 0, "nuclearity": 1}[of]
    counted: Counter[tuple[str, str]] = Counter()
    for pair in map(_as_pair, pairs):
        if pair.predicted is None:
            continue
        gold = _inner_labels(pair.gold, pair.gold_edus)
        predicted = _inner_labels(pair.predicted, pair.predicted_edus)
        for place in gold.keys() & predicted.keys():
            labels = split_label(gold[place])[part], split_label(predicted[place])[part]
            counted[labels] += 1
    names = _kept_labels(counted, n_labels)
    merged: Counter[tuple[str, str]] = Counter()
    for (gold_label, predicted_label), count in counted.items():
        key = tuple(label if label in names else OTHER for label in (gold_label, predicted_label))
        merged[key] += count  # type: ignore[index]
    return Confusion(tuple(names), tuple(tuple(merged[g, p] for p in names) for g in names))


def _inner_labels(tree: RstTree, edus: EduOffsets | None) -> dict[Place, str]:
    return {_place(start, end, edus): label for start, _, end, label in tree.splits}


def _kept_labels(counted: Counter[tuple[str, str]], n_labels: int) -> list[str]:
    frequencies: Counter[str] = Counter()
    for labels, count in counted.items():
        for label in labels:
            frequencies[label] += count
    known = (*RELATION_CLASSES, *NUCLEARITIES)
    ordered = [label for label in known if label in frequencies]
    ordered += sorted(frequencies.keys() - set(ordered))
    if not n_labels or len(ordered) <= n_labels:
        return ordered
    ranked = sorted(ordered, key=lambda label: -frequencies[label])[:n_labels]
    return [label for label in ordered if label in ranked] + [OTHER]


def scores_by_length(pairs: Pairs, *, method: str = "original") -> list[BinScores]:
    """Score spans by their number of EDUs, in bins that double: 1, 2, 3-4, 5-8, 9-16, ...

    pairs (Iterable[TreePair]): The trees.
    method (str): "original" for inner nodes with the root, "rst" for all nodes but the root.
    RETURNS (list[BinScores]): The bins from the shortest to the longest, without gaps.
    """
    bins = _scores_by(pairs, method, lambda length, depth: (length - 1).bit_length())
    return [_named(_length_name(number), scores) for number, scores in bins]


def _length_name(number: int) -> str:
    shortest, longest = 2 ** (number - 1) + 1 if number else 1, 2**number
    return str(longest) if shortest == longest else f"{shortest}-{longest}"


def scores_by_depth(
    pairs: Pairs, *, method: str = "original", n_depths: int = 10
) -> list[BinScores]:
    """Score spans by the number of nodes above them. What is matched may lie at another depth of
    the other tree: recall counts it at its gold depth, precision at its predicted one.

    pairs (Iterable[TreePair]): The trees.
    method (str): "original" for inner nodes with the root (depth 0), "rst" for all nodes but the
        root.
    n_depths (int): How many depths to tell apart; the last bin takes all that are deeper.
    RETURNS (list[BinScores]): The bins from the root downwards.
    """
    bins = _scores_by(pairs, method, lambda length, depth: min(depth, n_depths - 1))
    return [
        _named(f"{depth}+" if depth == n_depths - 1 else str(depth), scores)
        for depth, scores in bins
    ]


def _named(name: str, scores: BinScores) -> BinScores:
    return BinScores(name, scores.gold, scores.predicted, scores.scores)


def _scores_by(
    pairs: Pairs, method: str, choose_bin: Callable[[int, int], int]
) -> list[tuple[int, BinScores]]:
    """Count gold and predicted spans, and those of either that match, in the bin of each."""
    if method not in SPANS_BY_METHOD:
        raise RstError(Errors.R701.format(method=method, known=", ".join(SPANS_BY_METHOD)))
    totals: tuple[Counter[int], Counter[int]] = Counter(), Counter()
    hits: tuple[Counter[tuple[int, str]], Counter[tuple[int, str]]] = Counter(), Counter()
    for pair in map(_as_pair, pairs):
        sides = [
            _binned_spans(tree, edus, method, choose_bin)
            for tree, edus in ((pair.gold, pair.gold_edus), (pair.predicted, pair.predicted_edus))
        ]
        for side, other, total, hit in zip(sides, reversed(sides), totals, hits, strict=True):
            for place, (bin_number, labels) in side.items():
                total[bin_number] += 1
                if place in other:
                    for metric in _agreeing(labels, other[place][1]):
                        hit[bin_number, metric] += 1
    gold, predicted = totals
    numbers = gold.keys() | predicted.keys()
    scored = []
    for number in range(min(numbers, default=0), max(numbers, default=-1) + 1):
        f1 = {
            metric: _f1(
                (hits[0][number, metric], gold[number]),
                (hits[1][number, metric], predicted[number]),
            )
            for metric in METRICS
        }
        any_span = gold[number] + predicted[number]
        scores = F1Scores(**f1) if any_span else None
        scored.append((number, BinScores("", gold[number], predicted[number], scores)))
    return scored


def _binned_spans(
    tree: RstTree | None,
    edus: EduOffsets | None,
    method: str,
    choose_bin: Callable[[int, int], int],
) -> dict[Place, tuple[int, tuple[str, str]]]:
    if tree is None:
        return {}
    labels = SPANS_BY_METHOD[method](tree.splits, edus)
    spans = {}
    for node in tree.nodes():
        place = _place(node.start, node.end, edus)
        # The spans of a tree are those of its nodes: only the leaves or the root are left over.
        if place in labels:
            spans[place] = choose_bin(len(node), node.depth), labels[place]
    return spans


def _agreeing(first: tuple[str, str], second: tuple[str, str]) -> list[str]:
    nuclearity, relation = first[0] == second[0], first[1] == second[1]
    agreed = {"nuclearity": nuclearity, "relation": relation, "full": nuclearity and relation}
    return ["span", *(metric for metric, agrees in agreed.items() if agrees)]


def _f1(recall: tuple[int, int], precision: tuple[int, int]) -> float:
    """F1 of two shares, each given as a part and its whole."""
    (found, gold), (right, predicted) = recall, precision
    if not found or not right:
        return 0.0
    return 2 / (gold / found + predicted / right)


def _as_pair(pair: TreePair | tuple[RstTree, RstTree | None]) -> TreePair:
    return TreePair(*pair)


def _place(first: int, last: int, edus: EduOffsets | None) -> Place:
    return (first, last) if edus is None else (edus[first][0], edus[last - 1][1])


def transfer_matrix(
    rows: Iterable[Row], metric: MetricKey, columns: Sequence[str] | None = None
) -> TransferMatrix:
    """Arrange the scores of parsers by what they were trained and tested on.

    rows (Iterable[Row]): One row for each parser, named after what it was trained on.
    metric (Metric): Which score, e.g. ("original_parseval", "micro", "full").
    columns (Sequence[str] | None): The test languages or treebanks in their order. By default all
        that occur, those first that are also rows, so that the diagonal is the language itself.
    RETURNS (TransferMatrix): The matrix of means over seeds.
    """
    rows = list(rows)
    trained_on = tuple(row.system for row in rows)
    if columns is None:
        tested = {column for row in rows for column in row.scores}
        columns = [name for name in trained_on if name in tested]
        columns = [*columns, *sorted(tested - set(columns))]
    values = tuple(tuple(_mean(row, column, metric) for column in columns) for row in rows)
    return TransferMatrix(trained_on, tuple(columns), values)


def _mean(row: Row, column: str, metric: MetricKey) -> float | None:
    value = row.scores.get(column, {}).get(metric)
    return None if value is None else value.mean


def average_curves(curves: Sequence[Curve]) -> list[tuple[float, float]]:
    """Average the learning curves of several seeds.

    curves (Sequence): Curves of points (step or epoch, score).
    RETURNS (list[tuple[float, float]]): The mean score at each step that all curves have.
    """
    by_step = [dict(curve) for curve in curves]
    steps = sorted(set.intersection(*map(set, by_step))) if by_step else []
    return [(step, fmean(curve[step] for curve in by_step)) for step in steps]


def read_training_log(
    path: str | Path, score: str = "score", x: str = "step"
) -> list[tuple[float, float]]:
    """Read the learning curve that spaCy's console logger wrote to its `output_file`.

    path (str | Path): The JSON Lines file.
    score (str): "score" for the weighted score by which the best model is chosen, or the name of
        one score, such as "rst_original_full".
    x (str): "step" or "epoch".
    RETURNS (list[tuple[float, float]]): Points (step or epoch, score between 0 and 1).
    RAISES (RstError): If the file is no such log.
    """
    points = []
    lines = Path(path).read_text(encoding="utf8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            entry: Mapping[str, Any] = json.loads(line)
            if score == "score":
                points.append((float(entry[x]), float(entry["score"])))
            elif score in entry["scores"]:
                # The logger writes these in percent, unlike the weighted score.
                points.append((float(entry[x]), float(entry["scores"][score]) / 100))
        except (ValueError, KeyError, TypeError) as error:
            reason = f"line {number} ({type(error).__name__}: {error})"
            raise RstError(Errors.R722.format(path=path, error=reason)) from error
    return points
