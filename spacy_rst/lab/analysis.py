"""Where a parser errs: the numbers behind the charts, as pure functions on pairs of trees."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from spacy.training import Example

from ..doc import get_tree
from ..errors import Errors, RstError
from ..relations import NUCLEARITIES, RELATION_CLASSES
from ..scoring.parseval import (
    METRICS,
    EduOffsets,
    F1Scores,
    LabelledSpans,
    count_spans,
    span_offsets,
    spans_of,
)
from ..scoring.scorer import edu_chars
from ..tree import RstTree
from .tables import Row

OTHER = "other"
Curve = Sequence[tuple[float, float]]
ChooseBin = Callable[[int, int], int]


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


def tree_pair(example: Example) -> TreePair:
    """RETURNS (TreePair): The trees of a document, with the places of their EDUs in the text."""
    gold, predicted = get_tree(example.reference), get_tree(example.predicted)
    if gold is None:
        raise ValueError("the document has no gold tree")
    return TreePair(gold, predicted, edu_chars(gold), edu_chars(predicted))


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


def confusion_matrix(pairs: Pairs, *, of: str = "relation", n_labels: int = 0) -> Confusion:
    """Compare the labels of the spans that both trees have, inner nodes with the root.

    pairs (Iterable[TreePair]): The trees; plain tuples of two trees over the same EDUs will do.
    of (str): "relation" or "nuclearity".
    n_labels (int): Keep the so many most frequent gold and predicted labels and call the rest
        "other"; 0 for all.
    RETURNS (Confusion): The counts. Relation classes come in alphabetical order, other relations
        after them.
    """
    part = ("nuclearity", "relation").index(of)
    compared: list[tuple[str, str]] = []
    for pair in pairs:
        gold, predicted = _labelled_spans(TreePair(*pair), "original")
        both = gold.keys() & predicted.keys()
        compared += ((gold[place][part], predicted[place][part]) for place in both)
    names = _kept_labels(Counter(chain.from_iterable(compared)), n_labels)
    counts = Counter(tuple(n if n in names else OTHER for n in labels) for labels in compared)
    return Confusion(tuple(names), tuple(tuple(counts[g, p] for p in names) for g in names))


def _labelled_spans(pair: TreePair, method: str) -> tuple[LabelledSpans, LabelledSpans]:
    list_spans = spans_of(method)
    predicted = () if pair.predicted is None else pair.predicted.splits
    return list_spans(pair.gold.splits, pair.gold_edus), list_spans(predicted, pair.predicted_edus)


def _kept_labels(frequencies: Counter[str], n_labels: int) -> list[str]:
    known = (*RELATION_CLASSES, *NUCLEARITIES)
    ordered = [label for label in known if label in frequencies]
    ordered += sorted(frequencies.keys() - set(known))
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

    def name(number: int) -> str:
        shortest, longest = 2**number // 2 + 1, 2**number
        return f"{shortest}-{longest}" if number > 1 else str(longest)

    return _scores_by(pairs, method, lambda length, depth: (length - 1).bit_length(), name)


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
    deepest = n_depths - 1

    def name(depth: int) -> str:
        return f"{depth}+" if depth == deepest else str(depth)

    return _scores_by(pairs, method, lambda length, depth: min(depth, deepest), name)


def _scores_by(
    pairs: Pairs, method: str, choose_bin: ChooseBin, name: Callable[[int], str]
) -> list[BinScores]:
    """Compare the gold spans of each bin with all predicted ones (recall), and the predicted spans
    of each bin with all gold ones (precision)."""
    recalls: dict[int, Counter[str]] = defaultdict(Counter)
    precisions: dict[int, Counter[str]] = defaultdict(Counter)
    for pair in (TreePair(*pair) for pair in pairs):
        gold, predicted = _labelled_spans(pair, method)
        for number, spans in _binned(pair.gold, pair.gold_edus, gold, choose_bin).items():
            recalls[number].update(count_spans(spans, predicted)._asdict())
        binned = _binned(pair.predicted, pair.predicted_edus, predicted, choose_bin)
        for number, spans in binned.items():
            precisions[number].update(count_spans(gold, spans)._asdict())
    numbers = recalls.keys() | precisions.keys()
    bins = []
    for number in range(min(numbers, default=0), max(numbers, default=-1) + 1):
        recall, precision = recalls[number], precisions[number]
        f1 = F1Scores(**{metric: _f1(recall, precision, metric) for metric in METRICS})
        n_gold, n_predicted = recall["gold"], precision["predicted"]
        scores = f1 if n_gold + n_predicted else None
        bins.append(BinScores(name(number), n_gold, n_predicted, scores))
    return bins


def _binned(
    tree: RstTree | None, edus: EduOffsets | None, spans: LabelledSpans, choose_bin: ChooseBin
) -> dict[int, dict[tuple[int, int], tuple[str, str]]]:
    bins: dict[int, dict[tuple[int, int], tuple[str, str]]] = defaultdict(dict)
    for node in () if tree is None else tree.nodes():
        place = span_offsets(node.start, node.end, edus)
        # The spans of a tree are those of its nodes: only the leaves or the root are left over.
        if place in spans:
            bins[choose_bin(len(node), node.depth)][place] = spans[place]
    return bins


def _f1(recall: Counter[str], precision: Counter[str], metric: str) -> float:
    found, right = recall[metric], precision[metric]
    return 2 / (recall["gold"] / found + precision["predicted"] / right) if found and right else 0.0


def transfer_matrix(
    rows: Sequence[Row], score: str, columns: Sequence[str] | None = None
) -> dict[str, dict[str, float | None]]:
    """Arrange the scores of parsers by what they were trained and tested on.

    rows (Sequence[Row]): One row for each parser, named after what it was trained on.
    score (str): The name of the score, e.g. `rst_original_full`.
    columns (Sequence[str] | None): The test languages or treebanks in their order. By default all
        that occur, those first that are also rows, so that the diagonal is the language itself.
    RETURNS (dict): Trained on -> tested on -> mean over seeds, None where it is unknown.
    """
    if columns is None:
        tested = {column for row in rows for column in row.scores}
        columns = [row.system for row in rows if row.system in tested]
        columns += sorted(tested - set(columns))

    def mean(row: Row, column: str) -> float | None:
        value = row.scores.get(column, {}).get(score)
        return None if value is None else value.mean

    return {row.system: {column: mean(row, column) for column in columns} for row in rows}


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
            entry = json.loads(line)
            if score == "score":
                points.append((float(entry[x]), float(entry["score"])))
            elif score in entry["scores"]:
                # The logger writes these in percent, unlike the weighted score.
                points.append((float(entry[x]), float(entry["scores"][score]) / 100))
        except (ValueError, KeyError, TypeError) as error:
            reason = f"line {number} ({type(error).__name__}: {error})"
            raise RstError(Errors.R722.format(path=path, error=reason)) from error
    return points
