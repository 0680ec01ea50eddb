"""What is learned of syntax: the gold parts of speech, heads and labels of an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, POS
from spacy.tokens import Doc
from spacy.training import Example

from ..gold import check_same_text


class GoldSyntax(NamedTuple):
    """The gold syntax of a document, over the tokens of its predicted Doc.

    tags (list[str]): Parts of speech, "" where there is none.
    heads (np.ndarray): Int (n_tokens,), the number of each token's head; a root's is its own. -1
        where there is none.
    labels (list[str]): Labels of dependencies, "" where there is none.
    """

    tags: list[str]
    heads: np.ndarray
    labels: list[str]


def read_gold_syntax(example: Example) -> GoldSyntax | None:
    """Get the gold syntax of an example.

    example (Example): The example.
    RETURNS (GoldSyntax | None): The syntax, None where the reference has none. White space and
        tokens that do not match one of the reference have none either.
    RAISES (RstError): If the texts differ.
    """
    reference, predicted = example.reference, example.predicted
    if not len(reference) or not reference.has_annotation("DEP"):
        return None
    check_same_text(predicted, reference)
    if not has_same_tokens(predicted, reference):
        return _aligned(example)
    columns = reference.to_array([POS, HEAD, DEP, IS_SPACE])
    strings = reference.vocab.strings
    tags, labels = ([strings[n] for n in columns[:, i].tolist()] for i in (0, 2))
    heads = columns[:, 1].astype(np.int64) + np.arange(len(reference))
    is_space = columns[:, 3] == 1
    heads[is_space] = -1
    for number in np.flatnonzero(is_space).tolist():
        tags[number] = labels[number] = ""
    return GoldSyntax(tags, heads, labels)


def has_same_tokens(one: Doc, other: Doc) -> bool:
    """RETURNS (bool): Whether two Docs of the same text are cut into the same tokens."""
    return len(one) == len(other) and bool((one.to_array("IDX") == other.to_array("IDX")).all())


def _aligned(example: Example) -> GoldSyntax:
    heads, labels = example.get_aligned_parse(projectivize=False)
    tags = example.get_aligned("POS", as_string=True)
    found = [
        -1 if head is None or token.is_space else head
        for token, head in zip(example.predicted, heads, strict=True)
    ]
    return GoldSyntax(
        [tag or "" for tag in tags],
        np.array(found, dtype=np.int64),
        [label or "" for label in labels],
    )


def local_targets(
    gold: GoldSyntax | None,
    lengths: Sequence[int],
    tag_numbers: Mapping[str, int],
    label_numbers: Mapping[str, int],
    unknown: int,
) -> np.ndarray:
    """Number the gold syntax of a document for a net that reads it in chunks.

    gold (GoldSyntax | None): The gold syntax.
    lengths (Sequence[int]): The number of tokens of each chunk.
    tag_numbers (Mapping[str, int]): The numbers of the parts of speech.
    label_numbers (Mapping[str, int]): The numbers of the labels.
    unknown (int): What stands where there is nothing to learn: for other tags and labels, and for
        heads in another chunk.
    RETURNS (np.ndarray): Int (3, n_tokens): tags, heads as numbers in the chunk (-1 for a root),
        and labels.
    """
    n_tokens = sum(lengths)
    if gold is None:
        return np.full((3, n_tokens), unknown, dtype=np.int64)
    starts = np.repeat(np.cumsum([0, *lengths])[:-1], lengths)
    ends = starts + np.repeat(lengths, lengths)
    is_root = gold.heads == np.arange(n_tokens)
    is_near = (gold.heads >= starts) & (gold.heads < ends)
    heads = np.where(is_root, -1, np.where(is_near, gold.heads - starts, unknown))
    tags = [tag_numbers.get(tag, unknown) for tag in gold.tags]
    labels = [label_numbers.get(label, unknown) for label in gold.labels]
    return np.stack([np.array(tags), heads, np.array(labels)]).astype(np.int64)
