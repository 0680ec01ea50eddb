"""The two ways in which RST parsers are scored, as pure functions.

RST-Parseval (Marcu 2000; the paper's): every split contributes its two children, so the leaves
count and the root does not, 2m-2 spans in all. A satellite carries its relation and its nucleus
`span`; two nuclei both carry theirs.

Original Parseval (Morey et al. 2017; what most report now): the m-1 inner nodes with the root,
each with its relation and nuclearity.

Span, Nuclearity and Relation are judged independently on matched spans; Full needs both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from ..relations import split_label

METRICS = ("span", "nuclearity", "relation", "full")
NUCLEUS_RELATION = "span"

LabelledSpans = Mapping[tuple[int, int], tuple[str, str]]
TreeSplits = Iterable[tuple[int, int, int, str]]
EduOffsets = Sequence[tuple[int, int]]


class SpanCounts(NamedTuple):
    """What one document contributes: spans of the gold tree, of the predicted one, and matches."""

    gold: int
    predicted: int
    span: int
    nuclearity: int
    relation: int
    full: int


@dataclass(frozen=True, slots=True)
class F1Scores:
    """F1 of the four judgements, between 0 and 1."""

    span: float
    nuclearity: float
    relation: float
    full: float

    def as_dict(self) -> dict[str, float]:
        """RETURNS (dict[str, float]): The scores by name."""
        return asdict(self)


def rst_spans(splits: TreeSplits, edus: EduOffsets | None = None) -> LabelledSpans:
    """Map the spans that RST-Parseval compares to their role, "N" or "S", and relation."""
    spans: dict[tuple[int, int], tuple[str, str]] = {}
    for start, split, end, label in splits:
        relation, nuclearity = split_label(label)
        for first, last, role in ((start, split, nuclearity[0]), (split, end, nuclearity[1])):
            carried = NUCLEUS_RELATION if role == "N" and nuclearity != "NN" else relation
            spans[span_offsets(first, last, edus)] = (role, carried)
    return spans


def original_spans(splits: TreeSplits, edus: EduOffsets | None = None) -> LabelledSpans:
    """Map the spans that original Parseval compares to their nuclearity and relation."""
    return {
        span_offsets(start, end, edus): split_label(label)[::-1] for start, _, end, label in splits
    }


SPANS_BY_METHOD = {"rst": rst_spans, "original": original_spans}


def count_spans(gold: LabelledSpans, predicted: LabelledSpans) -> SpanCounts:
    """Compare the spans of two trees over the same text, listed by the same function."""
    matched = [(gold[span], predicted[span]) for span in gold.keys() & predicted.keys()]
    return SpanCounts(
        gold=len(gold),
        predicted=len(predicted),
        span=len(matched),
        nuclearity=sum(g[0] == p[0] for g, p in matched),
        relation=sum(g[1] == p[1] for g, p in matched),
        full=sum(g == p for g, p in matched),
    )


def count_trees(
    gold: TreeSplits,
    predicted: TreeSplits,
    *,
    method: str = "rst",
    gold_edus: EduOffsets | None = None,
    predicted_edus: EduOffsets | None = None,
) -> SpanCounts:
    """Compare two trees over the same text.

    gold (Iterable): The splits of the gold tree.
    predicted (Iterable): The splits of the predicted tree.
    method (str): "rst" or "original".
    gold_edus (Sequence[tuple[int, int]] | None): Start and end of each gold EDU in the text,
        needed where the predicted EDUs differ from the gold ones.
    predicted_edus (Sequence[tuple[int, int]] | None): The same for the predicted EDUs.
    RETURNS (SpanCounts): The counts.
    """
    if method not in SPANS_BY_METHOD:
        raise ValueError(f"'{method}' is not one of {', '.join(SPANS_BY_METHOD)}")
    list_spans = SPANS_BY_METHOD[method]
    return count_spans(list_spans(gold, gold_edus), list_spans(predicted, predicted_edus))


def micro_scores(counts: Iterable[SpanCounts]) -> F1Scores | None:
    """Pool the counts of all documents.

    counts (Iterable[SpanCounts]): The counts of each document.
    RETURNS (F1Scores | None): F1 over all spans, None where there is no span at all.
    """
    totals = [sum(column) for column in zip(*counts, strict=True)]
    return _f1_scores(SpanCounts(*totals)) if totals else None


def macro_scores(counts: Iterable[SpanCounts]) -> F1Scores | None:
    """Average the F1 scores of the documents. One without any span, gold or predicted, is left
    out; None where none is left."""
    scores = [score for score in map(_f1_scores, counts) if score is not None]
    if not scores:
        return None
    means = {m: sum(getattr(score, m) for score in scores) / len(scores) for m in METRICS}
    return F1Scores(**means)


def _f1_scores(counts: SpanCounts) -> F1Scores | None:
    total = counts.gold + counts.predicted
    if not total:
        return None
    return F1Scores(**{metric: 2 * getattr(counts, metric) / total for metric in METRICS})


def span_offsets(first: int, last: int, edus: EduOffsets | None) -> tuple[int, int]:
    """Find where EDUs first:last lie in the text, if that is known; else keep their numbers."""
    return (first, last) if edus is None else (edus[first][0], edus[last - 1][1])
