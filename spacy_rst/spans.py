"""Spans that stay where they are in the text when the tokens of a Doc are merged or split.

spaCy's retokenizer leaves the Spans of a group at their old token numbers: they then cover other
text, or none, and the Doc can no longer be serialised. But they still know their characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any

import srsly
from spacy.attrs import IDX
from spacy.tokens import Doc, Span, SpanGroup

# How a group is serialised: id, knowledge base id, label; start and end in tokens, in characters.
PACKED_SPAN = Struct(">QQQllll")


class SteadySpans(SpanGroup):
    """A SpanGroup that finds its tokens again after the Doc was retokenized. What a DocBin or
    `Doc.copy` gives back is a plain SpanGroup, for which there is `find_tokens_again`."""

    def __init__(self, doc: Doc, **options: Any) -> None:
        """See `SpanGroup`."""
        super().__init__(doc, **options)
        self._tokens = token_starts(doc)

    def __iter__(self) -> Iterator[Span]:
        self._settle()
        return (SpanGroup.__getitem__(self, number) for number in range(len(self)))

    def __getitem__(self, number: int) -> Span:
        self._settle()
        return super().__getitem__(number)

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): The serialised group."""
        self._settle()
        return super().to_bytes()

    def _settle(self) -> None:
        tokens = token_starts(self.doc)
        if tokens != self._tokens:
            find_tokens_again(self)
            self._tokens = tokens


def token_starts(doc: Doc) -> int:
    """Sum up where the tokens of a Doc begin.

    doc (Doc): The Doc.
    RETURNS (int): A number that changes when tokens are merged or split.
    """
    return hash(doc.to_array(IDX).tobytes())


def find_tokens_again(group: SpanGroup) -> None:
    """Give the Spans of a group the tokens of their characters. A token that reaches over the end
    of a Span belongs to it, and not to the next one.

    group (SpanGroup): The group, which is changed.
    """
    doc = group.doc
    starts = doc.to_array(IDX)
    # Spans beyond the last token cannot be read, but serialised.
    content = srsly.msgpack_loads(SpanGroup.to_bytes(group))
    unpacked = [PACKED_SPAN.unpack(packed) for packed in content["spans"]]
    content["spans"] = []
    for *names, _, _, start_char, end_char in unpacked:
        start, end = starts.searchsorted((start_char, end_char)).tolist()
        span = doc[start:end]
        place = (start, end, span.start_char, span.end_char) if span else (start, end, 0, 0)
        content["spans"].append(PACKED_SPAN.pack(*names, *place))
    group.from_bytes(srsly.msgpack_dumps(content))
