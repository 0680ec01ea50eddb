"""How EDU segmentation is scored: starts as in DISRPT's shared tasks, and whole units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from spacy.training import Example
from spacy.util import registry

from ..doc import edu_places, original_language

Place = tuple[int, int]


class EduCounts(NamedTuple):
    """EDUs of the gold segmentation, of the predicted one, and those that agree in their start or
    in both borders."""

    gold: int
    predicted: int
    starts: int
    spans: int


def count_edus(gold: Collection[Place], predicted: Collection[Place]) -> EduCounts:
    """Compare two segmentations of a text. Its first EDU counts like any other."""
    gold_starts, predicted_starts = {start for start, _ in gold}, {start for start, _ in predicted}
    return EduCounts(
        gold=len(gold_starts),
        predicted=len(predicted_starts),
        starts=len(gold_starts & predicted_starts),
        spans=len(set(gold) & set(predicted)),
    )


def edu_scores(counts: Iterable[EduCounts]) -> dict[str, float | None]:
    """Pool the counts of documents: `edu_p`, `edu_r` and `edu_f` of the starts, and `edu_span_f`
    of the whole units. None where there is no EDU at all."""
    columns = list(zip(*counts, strict=True))
    gold, predicted, starts, spans = map(sum, columns) if columns else (0, 0, 0, 0)
    if not gold + predicted:
        return dict.fromkeys(("edu_p", "edu_r", "edu_f", "edu_span_f"))
    return {
        "edu_p": starts / predicted if predicted else 0.0,
        "edu_r": starts / gold if gold else 0.0,
        "edu_f": 2 * starts / (gold + predicted),
        "edu_span_f": 2 * spans / (gold + predicted),
    }


def score_edus(examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
    """Score predicted EDUs against gold ones, by their characters, so that the tokens may differ.
    Documents without gold EDUs are left out.

    examples (Iterable[Example]): The documents.
    RETURNS (dict[str, Any]): What `edu_scores` gives, and `edu_per_lang` with the same for each
        language that the Docs name.
    """
    counts: list[EduCounts] = []
    by_language: dict[str, list[EduCounts]] = defaultdict(list)
    for example in examples:
        if gold := edu_places(example.reference):
            counts.append(count_edus(gold, edu_places(example.predicted)))
            if (language := original_language(example.reference)) is not None:
                by_language[language].append(counts[-1])
    per_language = {name: edu_scores(by_language[name]) for name in sorted(by_language)}
    return {**edu_scores(counts), "edu_per_lang": per_language or None}


@registry.scorers("spacy_rst.edu_scorer.v1")
def make_edu_scorer() -> Callable[..., dict[str, Any]]:
    """RETURNS (Callable): The scorer of EDUs, `score_edus`."""
    return score_edus
