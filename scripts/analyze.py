"""Where a parser errs: confused labels, and F1 by the length and depth of spans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer
from charts import draw_bins, draw_confusion, save_chart
from spacy.training import Example
from tables import METHOD_NAMES

from spacy_rst.doc import get_tree
from spacy_rst.evaluation import parse_docs, read_gold
from spacy_rst.pipelines import load
from spacy_rst.relations import NUCLEARITIES, RELATION_CLASSES
from spacy_rst.scoring.parseval import (
    METRICS,
    EduOffsets,
    F1Scores,
    LabelledSpans,
    count_spans,
    original_spans,
    span_offsets,
)
from spacy_rst.scoring.scorer import edu_chars
from spacy_rst.tree import RstNode, RstTree
from spacy_rst.util import write_atomically

# The last bin takes all deeper nodes.
N_DEPTHS = 10
ChooseBin = Callable[[int, int], int]


def main(
    model: Annotated[str, typer.Argument(help="A pipeline: xx_rst_sm, a package or a folder")],
    corpora: Annotated[list[Path], typer.Argument(help="Gold trees: .spacy files or folders")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for charts and numbers")],
    edus: Annotated[
        Literal["gold", "predicted"], typer.Option(help="Parse gold EDUs, or the raw text")
    ] = "gold",
) -> None:
    """Parse gold documents and draw which relations and nuclearities are confused, and F1 by the
    length and the depth of spans, as PNG and SVG, with the numbers as TSV."""
    nlp = load(model)
    examples = parse_docs(nlp, read_gold(corpora, nlp.vocab), edus=edus)
    write_analysis([tree_pair(example) for example in examples], output)
    print(f"Compared {len(examples)} trees; the charts are in {output}")


class TreePair(NamedTuple):
    """A gold tree and the predicted one of the same text, if any. Where their EDUs differ, start
    and end of each EDU in the text are needed."""

    gold: RstTree
    predicted: RstTree | None
    gold_edus: EduOffsets | None = None
    predicted_edus: EduOffsets | None = None

    @property
    def gold_spans(self) -> LabelledSpans:
        """The inner nodes of the gold tree."""
        return original_spans(self.gold.splits, self.gold_edus)

    @property
    def predicted_spans(self) -> LabelledSpans:
        """The inner nodes of the predicted tree."""
        splits = () if self.predicted is None else self.predicted.splits
        return original_spans(splits, self.predicted_edus)


def tree_pair(example: Example) -> TreePair:
    """The trees of a document, compared by the characters of their EDUs."""
    gold, predicted = get_tree(example.reference), get_tree(example.predicted)
    assert gold is not None
    return TreePair(gold, predicted, edu_chars(gold), edu_chars(predicted))


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a gold label (row) was predicted as another (column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """The number of spans that were compared."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """The share of equal labels."""
        right = sum(row[number] for number, row in enumerate(self.counts))
        return right / max(self.total, 1)


@dataclass(frozen=True, slots=True)
class BinScores:
    """The number of gold and predicted spans in a bin, and their F1 (None without spans)."""

    name: str
    gold: int
    predicted: int
    scores: F1Scores | None


def write_analysis(pairs: Sequence[TreePair], output: Path) -> None:
    """Write all charts and their numbers into a folder."""
    for name in ("relation", "nuclearity"):
        confusion = confusion_matrix(pairs, of=name)
        if not confusion.total:
            raise SystemExit("The gold and the predicted trees have no span in common.")
        save_chart(draw_confusion(confusion, what=name.title()), output / name)
        rows = zip(confusion.labels, confusion.counts, strict=True)
        lines = ((label, *counts) for label, counts in rows)
        write_tsv(output / f"{name}.tsv", ("gold \\ predicted", *confusion.labels), lines)
    for name, bins, x_name in (
        ("length", scores_by_length(pairs), "Length of the span in EDUs"),
        ("depth", scores_by_depth(pairs), "Depth of the node (root: 0)"),
    ):
        figure = draw_bins(bins, x_name=x_name, score_name=METHOD_NAMES["original"])
        save_chart(figure, output / name)
        lines = (
            (b.name, b.gold, b.predicted, *(b.scores.as_dict().values() if b.scores else ()))
            for b in bins
        )
        write_tsv(output / f"{name}.tsv", ("bin", "gold", "predicted", *METRICS), lines)


def write_tsv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table. Numbers are rounded to four digits."""
    cells = [[f"{c:.4f}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    write_atomically(path, "".join("\t".join(row) + "\n" for row in (header, *cells)))


def confusion_matrix(pairs: Iterable[TreePair], *, of: str = "relation") -> Confusion:
    """Compare the relations or the nuclearity of the spans that both trees have, as inner nodes
    with the root. Relation classes come in alphabetical order, other relations after them."""
    part = ("nuclearity", "relation").index(of)
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        gold, predicted = pair.gold_spans, pair.predicted_spans
        both = gold.keys() & predicted.keys()
        counts.update((gold[place][part], predicted[place][part]) for place in both)
    found = set(chain.from_iterable(counts))
    known = (*RELATION_CLASSES, *NUCLEARITIES)
    names = [*(label for label in known if label in found), *sorted(found - set(known))]
    return Confusion(tuple(names), tuple(tuple(counts[g, p] for p in names) for g in names))


def scores_by_length(pairs: Iterable[TreePair]) -> list[BinScores]:
    """Score inner nodes by their number of EDUs, in bins that double: 2, 3-4, 5-8, 9-16, ..."""

    def name(number: int) -> str:
        return f"{2**number // 2 + 1}-{2**number}" if number > 1 else str(2**number)

    return _scores_by(pairs, lambda length, depth: (length - 1).bit_length(), name)


def scores_by_depth(pairs: Iterable[TreePair], *, n_depths: int = N_DEPTHS) -> list[BinScores]:
    """Score inner nodes by the number of nodes above them. A matched span may have another depth
    in the other tree: recall counts it at its gold depth, precision at its predicted one."""
    deepest = n_depths - 1

    def name(depth: int) -> str:
        return f"{depth}+" if depth == deepest else str(depth)

    return _scores_by(pairs, lambda length, depth: min(depth, deepest), name)


def _scores_by(
    pairs: Iterable[TreePair], choose_bin: ChooseBin, name: Callable[[int], str]
) -> list[BinScores]:
    """Compare the gold spans of each bin with all predicted ones (recall), and the predicted spans
    of each bin with all gold ones (precision)."""
    recalls: dict[int, Counter[str]] = defaultdict(Counter)
    precisions: dict[int, Counter[str]] = defaultdict(Counter)
    for pair in pairs:
        gold, predicted = pair.gold_spans, pair.predicted_spans
        for node, place in _inner_nodes(pair.gold, pair.gold_edus):
            counts = count_spans({place: gold[place]}, predicted)
            recalls[choose_bin(len(node), node.depth)].update(counts._asdict())
        for node, place in _inner_nodes(pair.predicted, pair.predicted_edus):
            counts = count_spans(gold, {place: predicted[place]})
            precisions[choose_bin(len(node), node.depth)].update(counts._asdict())
    numbers = recalls.keys() | precisions.keys()
    bins = []
    for number in range(min(numbers, default=0), max(numbers, default=-1) + 1):
        recall, precision = recalls[number], precisions[number]
        n_gold, n_predicted = recall["gold"], precision["predicted"]
        f1 = F1Scores(**{metric: _f1(recall, precision, metric) for metric in METRICS})
        bins.append(
            BinScores(name(number), n_gold, n_predicted, f1 if n_gold + n_predicted else None)
        )
    return bins


def _inner_nodes(
    tree: RstTree | None, edus: EduOffsets | None
) -> Iterator[tuple[RstNode, tuple[int, int]]]:
    for node in () if tree is None else tree.nodes():
        if not node.is_leaf:
            yield node, span_offsets(node.start, node.end, edus)


def _f1(recall: Counter[str], precision: Counter[str], metric: str) -> float:
    found, right = recall[metric], precision[metric]
    return 2 / (recall["gold"] / found + precision["predicted"] / right) if found and right else 0.0


if __name__ == "__main__":
    typer.run(main)
