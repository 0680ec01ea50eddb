"""What the trainable components learn from: gold EDUs, trees and syntax, checked and aligned to the
tokens of the predicted Doc."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, IS_SPACE, POS
from spacy.tokens import Doc, Span
from spacy.training import Example

from .doc import (
    EDUS_KEY,
    NAME_KEY,
    SOURCE_KEY,
    TREE_KEY,
    edu_places,
    get_edus,
    get_meta,
    get_tree,
    trimmed_chars,
)
from .errors import Errors, RstError

SHOWN_CHARACTERS = 20


def document_name(doc: Doc) -> str:
    """How a message names a document: what its user data says, or the beginning of its text."""
    for key in (SOURCE_KEY, NAME_KEY):
        if fact := get_meta(doc, key):
            return f"'{fact}'"
    return f"'{doc.text[: 2 * SHOWN_CHARACTERS]} ...'"


def check_same_text(predicted: Doc, reference: Doc) -> None:
    """Refuse an example whose two Docs differ in their text, with the document and the place."""
    found, gold = predicted.text, reference.text
    if found == gold:
        return
    pairs = enumerate(zip_longest(found, gold))
    position = next(number for number, (own, other) in pairs if own != other)
    shown = slice(position, position + SHOWN_CHARACTERS)
    raise RstError(
        Errors.R201.format(
            document=document_name(reference),
            position=position,
            predicted=found[shown],
            gold=gold[shown],
        )
    )


@dataclass(frozen=True)
class GoldTree:
    """The gold tree of a document: the EDUs as Spans of the predicted Doc, and (start, split, end)
    and the label of each inner node, depth-first and left-first."""

    edus: list[Span]
    splits: list[tuple[int, int, int]]
    labels: list[str]


def read_gold_tree(example: Example, labels: Collection[str] | None = None) -> GoldTree | None:
    """Get the gold tree of an example over the tokens of its predicted Doc, None where it has none.
    A tree that does not fit the text, the tokens or `labels`, those that may occur, is refused."""
    reference, predicted = example.reference, example.predicted
    if reference.user_data.get(TREE_KEY) is None:
        return None
    document = document_name(reference)
    try:
        gold_edus, tree = get_edus(reference), get_tree(reference)
        if tree is None:
            raise ValueError("Its EDUs were exchanged after the tree was set: set them before.")
    except (ValueError, KeyError, TypeError) as error:  # a tree in user_data may be anything
        raise RstError(Errors.R203.format(document=document, error=error)) from error
    check_same_text(predicted, reference)
    for _, _, _, label in tree.splits:
        if labels is not None and label not in labels:
            raise RstError(Errors.R204.format(label=label, document=document, n_labels=len(labels)))
    return GoldTree(
        edus=[_align(predicted, edu) for edu in gold_edus],
        splits=[(start, split, end) for start, split, end, _ in tree.splits],
        labels=[label for _, _, _, label in tree.splits],
    )


def _align(predicted: Doc, edu: Span) -> Span:
    """Find the tokens of a gold EDU, by characters. White space at its ends does not count."""
    start, end = trimmed_chars(edu)
    aligned = predicted.char_span(start, end) if start < end else None
    if aligned is None:
        raise RstError(Errors.R202.format(edu=edu.text.strip(), document=document_name(edu.doc)))
    return aligned


@dataclass(frozen=True)
class GoldStarts:
    """The tokens of the predicted Doc at which gold EDUs begin: bool (n_tokens,). `n_misaligned`
    EDUs begin inside a token, which then counts as their start."""

    starts: np.ndarray
    n_edus: int
    n_misaligned: int


def read_gold_starts(example: Example) -> GoldStarts | None:
    """Find the tokens of an example's predicted Doc at which its gold EDUs begin, by characters;
    None where the reference has no EDUs."""
    reference, predicted = example.reference, example.predicted
    if not reference.spans.get(EDUS_KEY):
        return None
    try:
        get_edus(reference)
    except RstError as error:
        document = document_name(reference)
        raise RstError(Errors.R203.format(document=document, error=error)) from error
    check_same_text(predicted, reference)
    chars = np.array([start for start, _ in edu_places(reference)], dtype=np.int64)
    token_chars = predicted.to_array(IDX).astype(np.int64)
    tokens = np.searchsorted(token_chars, chars, side="right") - 1
    starts = np.zeros(len(predicted), dtype=bool)
    starts[tokens] = True
    return GoldStarts(starts, len(chars), int((token_chars[tokens] != chars).sum()))


class GoldSyntax(NamedTuple):
    """The gold syntax of a document, over the tokens of its predicted Doc: parts of speech and
    labels of dependencies, "" where there is none; and the number of each token's head, its own for
    a root, -1 where there is none."""

    tags: list[str]
    heads: np.ndarray
    labels: list[str]


def read_gold_syntax(example: Example) -> GoldSyntax | None:
    """Get the gold syntax of an example, None where the reference has none. White space and tokens
    that do not match one of the reference have none either."""
    reference, predicted = example.reference, example.predicted
    if not len(reference) or not reference.has_annotation("DEP"):
        return None
    check_same_text(predicted, reference)
    is_space = predicted.to_array(IS_SPACE) == 1
    if has_same_tokens(predicted, reference):  # by far the faster way
        columns = reference.to_array([POS, HEAD, DEP])
        strings = reference.vocab.strings
        tags, labels = ([strings[n] for n in columns[:, i].tolist()] for i in (0, 2))
        heads = columns[:, 1].astype(np.int64) + np.arange(len(reference))
    else:
        found, names = example.get_aligned_parse(projectivize=False)
        heads = np.array([-1 if head is None else head for head in found], dtype=np.int64)
        labels = [name or "" for name in names]
        tags = [tag or "" for tag in example.get_aligned("POS", as_string=True)]
    heads[is_space] = -1
    for number in np.flatnonzero(is_space).tolist():
        tags[number] = labels[number] = ""
    return GoldSyntax(tags, heads, labels)


def has_same_tokens(one: Doc, other: Doc) -> bool:
    """Whether two Docs of the same text are cut into the same tokens."""
    return len(one) == len(other) and bool((one.to_array(IDX) == other.to_array(IDX)).all())


def number_syntax(
    gold: GoldSyntax | None,
    lengths: Sequence[int],
    tag_numbers: Mapping[str, int],
    label_numbers: Mapping[str, int],
    unknown: int,
    first: int = 0,
) -> np.ndarray:
    """Number the gold syntax of a document for a net that reads it in chunks of these lengths, from
    the token `first` on: int (3, n_tokens), tags, heads as numbers in the chunk (-1 for a root),
    and labels.

    `unknown` stands where there is nothing to learn: for other tags and labels, and for heads in
    another chunk."""
    n_tokens = sum(lengths)
    if gold is None:
        return np.full((3, n_tokens), unknown, dtype=np.int64)
    starts = np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
    ends = starts + np.repeat(lengths, lengths)
    read = slice(first, first + n_tokens)
    heads = gold.heads[read] - first
    is_root = heads == np.arange(n_tokens)
    is_near = (heads >= starts) & (heads < ends)
    heads = np.where(is_root, -1, np.where(is_near, heads - starts, unknown))
    tags = [tag_numbers.get(tag, unknown) for tag in gold.tags[read]]
    labels = [label_numbers.get(label, unknown) for label in gold.labels[read]]
    return np.stack([np.array(tags), heads, np.array(labels)]).astype(np.int64)
