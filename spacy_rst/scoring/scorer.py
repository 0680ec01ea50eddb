"""The registered scorer: both metrics, micro and macro, over all documents and per language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spacy.training import Example
from spacy.util import registry

from ..doc import get_tree, original_language, trimmed_chars
from ..tree import RstTree
from .parseval import METRICS, SPANS_BY_METHOD, SpanCounts, count_spans, macro_scores, micro_scores

PREFIX = "rst_"
LANGUAGE_MEAN_PREFIX = f"{PREFIX}lang_mean_"
AVERAGES = {"micro": micro_scores, "macro": macro_scores}
Counts = dict[str, SpanCounts]


def score_trees(examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
    """Score predicted trees against gold ones. Documents without a gold tree are left out.

    examples (Iterable[Example]): The documents.
    RETURNS (dict[str, Any]): `rst_span`, `rst_nuclearity`, `rst_relation`, `rst_full`
        (RST-Parseval, micro), the same with `rst_macro_`, and with `rst_original_` and
        `rst_original_macro_` for original Parseval; `rst_per_lang` with all of them for each
        language that the Docs name (translated ones count for the original's), and
        `rst_lang_mean_span` and so on with their means, in which each language counts the same.
        None where no document could be scored.
    """
    counts: list[Counts] = []
    by_language: dict[str, list[Counts]] = defaultdict(list)
    for example in examples:
        if get_tree(example.reference) is not None:
            counts.append(count_example(example))
            if (language := original_language(example.reference)) is not None:
                by_language[language].append(counts[-1])
    summary = summarize_counts(counts)
    per_language = {name: summarize_counts(by_language[name]) for name in sorted(by_language)}
    means = {
        language_mean_key(key): _mean(scores[key] for scores in per_language.values())
        for key in summary
    }
    return {**summary, **means, "rst_per_lang": per_language or None}


def score_name(method: str, average: str, metric: str) -> str:
    """Name a score, such as `rst_full` or `rst_original_macro_span`."""
    marks = ("original_" if method == "original" else "", "macro_" if average == "macro" else "")
    return f"{PREFIX}{''.join(marks)}{metric}"


def language_mean_key(key: str) -> str:
    """Name the mean of a score over the languages: `rst_lang_mean_full` for `rst_full`."""
    return LANGUAGE_MEAN_PREFIX + key.removeprefix(PREFIX)


def count_example(example: Example) -> Counts:
    """Compare the trees of a document, which has a gold one, by the characters that they cover."""
    trees = get_tree(example.reference), get_tree(example.predicted)
    given = [((), ()) if tree is None else (tree.splits, edu_chars(tree)) for tree in trees]
    return {
        method: count_spans(*(list_spans(*splits_and_edus) for splits_and_edus in given))
        for method, list_spans in SPANS_BY_METHOD.items()
    }


def edu_chars(tree: RstTree | None) -> list[tuple[int, int]]:
    """Find where the EDUs of a Doc's tree begin and end, without white space at their edges, which
    may belong to an EDU or to none."""
    return [] if tree is None else [trimmed_chars(edu) for edu in tree.edus]  # type: ignore[arg-type]


def summarize_counts(counts: Sequence[Counts]) -> dict[str, float | None]:
    """Get all scores by name from the counts of documents, None where none has a span."""
    summary: dict[str, float | None] = {}
    for method in SPANS_BY_METHOD:
        for average, summarize in AVERAGES.items():
            scores = summarize(of_document[method] for of_document in counts)
            values = dict.fromkeys(METRICS) if scores is None else scores.as_dict()
            summary |= {score_name(method, average, m): value for m, value in values.items()}
    return summary


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@registry.scorers("spacy_rst.rst_scorer.v1")
def make_rst_scorer() -> Callable[..., dict[str, Any]]:
    """RETURNS (Callable): The scorer of discourse trees, `score_trees`."""
    return score_trees
