"""Long sequences in overlapping windows, and batches of bounded size: plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class Window(NamedTuple):
    """A part of a document with context around it; token numbers count through the batch.

    start, end (int): The tokens that are read.
    keep_start, keep_end (int): Those whose scores are kept.
    """

    start: int
    end: int
    keep_start: int
    keep_end: int


def cut_windows(lengths: Sequence[int], window: int, margin: int) -> Iterator[Window]:
    """Cut documents, given their numbers of tokens, into overlapping windows: `margin` tokens of
    context at each side of what is kept, but for a document's ends. What the windows keep covers
    each token once, in order. A document that fits into one stays whole."""
    for offset, length in zip(accumulate(lengths, initial=0), lengths, strict=False):
        kept, document_end = offset, offset + length
        while kept < document_end:
            start = max(offset, kept - margin)
            end = min(start + window, document_end)
            keep_end = end if end == document_end else end - margin
            yield Window(start, end, kept, keep_end)
            kept = keep_end


def batch_by_size(
    items: Iterable[Item],
    max_size: int,
    size: Callable[[Item], int] = len,  # type: ignore[assignment]
    padded: bool = False,
) -> Iterator[list[Item]]:
    """Group items in their order, so that a long stream needs no more memory than a batch. A larger
    item goes alone. If `padded`, each item of a group takes as much room as its largest one."""
    batch: list[Item] = []
    total = largest = 0
    for item in items:
        total, largest = total + size(item), max(largest, size(item))
        if batch and (largest * (len(batch) + 1) if padded else total) > max_size:
            yield batch
            batch, total, largest = [], size(item), size(item)
        batch.append(item)
    if batch:
        yield batch
