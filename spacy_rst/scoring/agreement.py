"""How far two trees of the same text agree: two annotations, or a parse and a gold tree.

All scores are symmetric. Spans are matched by their characters, as the EDUs may differ. White space
does not count, so that one of the texts may be tokenized, and either may have passages that the
other one lacks, such as a headline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple
from unicodedata import normalize

from ..errors import Errors, RstError
from ..tree import RstTree, edu_text
from . import parseval
from .parseval import METRICS, SPANS_BY_METHOD, EduOffsets, SpanCounts
from .segmentation import EduCounts, Place, count_edus, edu_scores

MAX_DIFFERING_CHARS = 10_000
MIN_SHARED = 0.5
EXCERPT = 40
EDU = "EDU"

Label = tuple[str, str]


class Difference(NamedTuple):
    """A place where two trees differ.

    text (str): The text of the EDU, or of the first and the last EDU of a span.
    first (str | None): What it is in the first tree: a label such as "Cause-NS", or "EDU". None
        where that tree has no such span.
    second (str | None): The same for the second tree.
    """

    text: str
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far trees agree, of one document or of several.

    edus (EduCounts): EDUs of both, and those with the same start or the same borders.
    spans (dict[str, SpanCounts]): Spans of both and matches, by metric: "rst" and "original".
    labels (tuple[tuple[Label, Label], ...]): Nuclearity and relation in both trees of every inner
        node that both have.
    differences (tuple[Difference, ...]): Where they differ, in the order of the text.
    """

    edus: EduCounts
    spans: dict[str, SpanCounts]
    labels: tuple[tuple[Label, Label], ...]
    differences: tuple[Difference, ...]

    def scores(self) -> dict[str, float | None]:
        """RETURNS (dict[str, float | None]): F1 of EDUs (`edu_f`, `edu_span_f`) and of all four
        judgements of both metrics (`rst_span`, `original_full`, ...), and kappa of nuclearity and
        relation on shared inner nodes. None where there is nothing to compare.
        """
        found = edu_scores([self.edus])
        scores = {name: found[name] for name in ("edu_f", "edu_span_f")}
        for method, counts in self.spans.items():
            f1 = parseval.micro_scores([counts])
            values = f1.as_dict() if f1 else dict.fromkeys(METRICS)
            scores.update({f"{method}_{metric}": value for metric, value in values.items()})
        for place, name in enumerate(("nuclearity", "relation")):
            pairs = [(first[place], second[place]) for first, second in self.labels]
            scores[f"kappa_{name}"] = cohen_kappa(pairs)
        return scores


def compare_trees(first: RstTree, second: RstTree) -> Agreement:
    """Compare two trees of the same text.

    first (RstTree): A tree.
    second (RstTree): Another one.
    RETURNS (Agreement): How far they agree.
    RAISES (RstError): If the texts have too little in common.
    """
    first_edus, second_edus = align_edus(*(list(map(edu_text, t.edus)) for t in (first, second)))
    spans = {
        method: parseval.count_spans(
            list_spans(first.splits, first_edus), list_spans(second.splits, second_edus)
        )
        for method, list_spans in SPANS_BY_METHOD.items()
    }
    first_nodes = parseval.original_spans(first.splits, first_edus)
    second_nodes = parseval.original_spans(second.splits, second_edus)
    shared = sorted(first_nodes.keys() & second_nodes.keys())
    return Agreement(
        edus=count_edus(first_edus, second_edus),
        spans=spans,
        labels=tuple((first_nodes[span], second_nodes[span]) for span in shared),
        differences=tuple(_differences(first, first_edus, second, second_edus)),
    )


def pool(agreements: Sequence[Agreement]) -> Agreement:
    """Put documents together, so that each span counts the same.

    agreements (Sequence[Agreement]): Those of the documents, at least one.
    RETURNS (Agreement): That of all of them.
    """
    edus = zip(*(agreement.edus for agreement in agreements), strict=True)
    spans = {
        method: zip(*(agreement.spans[method] for agreement in agreements), strict=True)
        for method in SPANS_BY_METHOD
    }
    return Agreement(
        edus=EduCounts(*map(sum, edus)),
        spans={method: SpanCounts(*map(sum, columns)) for method, columns in spans.items()},
        labels=tuple(chain.from_iterable(agreement.labels for agreement in agreements)),
        differences=tuple(chain.from_iterable(agreement.differences for agreement in agreements)),
    )


def cohen_kappa(pairs: Collection[tuple[str, str]]) -> float | None:
    """Correct an agreement for what chance would give: 1 is full agreement, 0 that of chance.
    None where there are no items, or chance cannot be told from agreement."""
    n_pairs = len(pairs)
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    by_chance = sum(first[label] * second[label] for label in first)
    if by_chance == n_pairs**2:
        return None
    agreed = n_pairs * sum(one == other for one, other in pairs)
    return (agreed - by_chance) / (n_pairs**2 - by_chance)


def _all_labels(tree: RstTree, edus: EduOffsets) -> dict[Place, tuple[str, str]]:
    """Map EDUs and inner nodes to their labels and texts, of which first and last EDU are shown."""
    texts = [" ".join(edu_text(edu).split()) for edu in tree.edus]
    found = {place: (EDU, text) for place, text in zip(edus, texts, strict=True)}
    for start, _, end, label in tree.splits:
        found[parseval.span_offsets(start, end, edus)] = (
            label,
            f"{texts[start]} ... {texts[end - 1]}",
        )
    return found


def _differences(
    first: RstTree, first_edus: EduOffsets, second: RstTree, second_edus: EduOffsets
) -> Iterator[Difference]:
    ours, theirs = _all_labels(first, first_edus), _all_labels(second, second_edus)
    # Larger spans come before the parts that they begin with.
    for place in sorted(ours.keys() | theirs.keys(), key=lambda place: (place[0], -place[1])):
        one, other = ours.get(place), theirs.get(place)
        labels = [None if found is None else found[0] for found in (one, other)]
        if labels[0] != labels[1]:
            yield Difference((one or other or ("", ""))[1], *labels)


# Alignment


def align_edus(first: Sequence[str], second: Sequence[str]) -> tuple[EduOffsets, EduOffsets]:
    """Give start and end of each EDU of two versions of a text, in characters of both versions
    laid over each other without white space."""
    first_edus, second_edus = list(map(_without_space, first)), list(map(_without_space, second))
    positions = _align("".join(first_edus), "".join(second_edus))
    return _offsets(first_edus, positions[0]), _offsets(second_edus, positions[1])


def _without_space(text: str) -> str:
    return "".join(normalize("NFC", text).split())


def _offsets(edus: Sequence[str], positions: Sequence[int]) -> list[tuple[int, int]]:
    offsets = []
    n_chars = end = 0
    for edu in edus:
        start = positions[n_chars] if edu else end
        n_chars += len(edu)
        end = positions[n_chars - 1] + 1 if edu else end
        offsets.append((start, end))
    return offsets


def _align(first: str, second: str) -> tuple[Sequence[int], Sequence[int]]:
    """Give each character of two texts its position in both of them laid over each other."""
    if first == second:
        return range(len(first)), range(len(second))
    blocks = list(_blocks(first, second))
    n_shared = sum(length for kind, length, _ in blocks if kind == "equal")
    if n_shared < MIN_SHARED * max(len(first), len(second)):
        raise RstError(Errors.R740.format(first=first[:EXCERPT], second=second[:EXCERPT]))
    positions: tuple[list[int], list[int]] = ([], [])
    width = 0
    for _, *lengths in blocks:
        block_width = max(lengths)
        for length, places in zip(lengths, positions, strict=True):
            # Both versions of a passage begin and end at the same place, whatever their lengths.
            places += range(width, width + length - 1)
            places += [width + block_width - 1] * (length > 0)
        width += block_width
    return positions


def _blocks(first: str, second: str) -> Iterator[tuple[str, int, int]]:
    """Divide two texts into equal and other passages, as their kinds and lengths. Whole words are
    compared first, as comparing takes quadratic time."""
    old_words, new_words = (re.findall(r"\w+|\W", text) for text in (first, second))
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        old, new = "".join(old_words[i1:i2]), "".join(new_words[j1:j2])
        if kind == "replace" and max(len(old), len(new)) <= MAX_DIFFERING_CHARS:
            letters = SequenceMatcher(None, old, new, autojunk=False)
            yield from ((part, b - a, d - c) for part, a, b, c, d in letters.get_opcodes())
        else:
            yield kind, len(old), len(new)
