"""What a parser learns from: gold EDUs and trees, checked and aligned to the predicted Doc."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from spacy.tokens import Doc, Span
from spacy.training import Example

from ..doc import TREE_KEY, get_edus, get_tree, trimmed_chars
from ..errors import Errors, RstError
from ..gold import check_same_text, document_name


@dataclass(frozen=True)
class GoldAnnotation:
    """The gold tree of a document.

    edus (list[Span]): The gold EDUs as Spans of the predicted Doc.
    splits (list[tuple[int, int, int]]): (start, split, end) of each inner node, depth first, left
        first.
    labels (list[str]): The label of each inner node.
    """

    edus: list[Span]
    splits: list[tuple[int, int, int]]
    labels: list[str]


def read_gold(example: Example, labels: Collection[str] | None = None) -> GoldAnnotation | None:
    """Get the gold tree of an example, over the tokens of its predicted Doc.

    example (Example): The example.
    labels (Collection[str] | None): The labels that may occur. Any by default.
    RETURNS (GoldAnnotation | None): The gold tree, None where the example has none.
    RAISES (RstError): If the tree does not fit the text, the tokens or the labels. The message
        names the document.
    """
    reference, predicted = example.reference, example.predicted
    if reference.user_data.get(TREE_KEY) is None:
        return None
    try:
        gold_edus, tree = get_edus(reference), get_tree(reference)
        if tree is None:
            raise RstError(Errors.R206)
    except (RstError, KeyError, TypeError) as error:  # a tree in user_data may be anything
        document = document_name(reference)
        raise RstError(Errors.R203.format(document=document, error=error)) from error
    check_same_text(predicted, reference)
    for _, _, _, label in tree.splits:
        if labels is not None and label not in labels:
            document = document_name(reference)
            raise RstError(Errors.R204.format(label=label, document=document, n_labels=len(labels)))
    return GoldAnnotation(
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
