"""Trees without a model: what a parser must beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from spacy.tokens import Doc
from spacy.training import Example

from ..doc import EDUS_KEY, get_tree, set_tree
from ..orthography import ends_sentence
from ..tree import RstTree, Split

MAJORITY_LABEL = "majority-label"
BASELINES = ("right-branching", "left-branching", "sentence-wise", MAJORITY_LABEL)


def left_branching(n_edus: int, label: str) -> list[Split]:
    """Split off one EDU after the other from the right end; all splits get the label."""
    return [Split(0, end - 1, end, label) for end in range(n_edus, 1, -1)]


def sentence_wise(sentence_ends: Sequence[bool], label: str) -> list[Split]:
    """Branch to the right over the sentences, and within each of them over its EDUs: those at which
    a sentence ends are marked, and the last one counts as such."""
    n_edus = len(sentence_ends)
    ends = [number for number, is_end in enumerate(sentence_ends[:-1], start=1) if is_end]
    splits = []
    for start, end in pairwise((0, *ends, n_edus)):
        if end < n_edus:
            splits.append(Split(start, end, n_edus, label))
        splits += [Split(first, first + 1, end, label) for first in range(start, end - 1)]
    return splits


def majority_label(labels: Iterable[str]) -> str | None:
    """Find the most frequent label; of equally frequent ones, the first in the alphabet."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label), default=None)


def gold_labels(docs: Iterable[Doc]) -> list[str]:
    """List the labels of all trees of Docs, some of which may have none."""
    trees = filter(None, map(get_tree, docs))
    return [split.label for tree in trees for split in tree.splits]


def baseline_examples(
    examples: Sequence[Example], name: str, label: str | None = None
) -> list[Example]:
    """Give copies of the predicted Docs the trees of a baseline, over the EDUs that they have.

    name (str): One of `BASELINES`. For "sentence-wise", a sentence ends with the EDU that has its
        final punctuation; "majority-label" takes the gold tree, so that only labels are guessed.
    label (str | None): The label of all splits, such as the commonest one of a training corpus. By
        default the commonest gold label of these documents.
    """
    if name not in BASELINES:
        raise ValueError(f"'{name}' is not one of {', '.join(BASELINES)}")
    if label is None:
        label = majority_label(gold_labels(example.reference for example in examples))
    guessed = []
    for example in examples:
        gold = example.reference
        predicted = (gold if name == MAJORITY_LABEL else example.predicted).copy()
        splits = None if label is None else _baseline_splits(predicted, name, label)
        set_tree(predicted, None if splits is None else RstTree.from_splits(splits))
        guessed.append(Example(predicted, gold))
    return guessed


def _baseline_splits(doc: Doc, name: str, label: str) -> list[Split] | None:
    if name == MAJORITY_LABEL:
        gold = get_tree(doc)
        return None if gold is None else [split._replace(label=label) for split in gold.splits]
    if not (edus := doc.spans.get(EDUS_KEY)):
        return None
    if name == "left-branching":
        return left_branching(len(edus), label)
    ends = [name == "sentence-wise" and ends_sentence(edu.text) for edu in edus]
    return sentence_wise(ends, label)
