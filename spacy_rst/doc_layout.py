"""How a layout lies on a Doc: its blocks are the Spans of `doc.spans["layout"]`.

A Span's label is the kind of its block. The attributes of the group hold the blocks once more, as
a list for each field of `Block`: that is what is read here, so that nothing goes wrong where tokens
are merged or split. A Doc without the group was not looked at yet; an empty group says that the
layout is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.attrs import IDX, IS_SPACE, LENGTH
from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup

from . import layout
from .layout import Block, Layout, Segment, check_blocks, read_plain

LAYOUT_KEY = "layout"
# In `doc.user_data`: where the text comes from, as a list of lists.
SEGMENTS_KEY = "rst_layout_segments"


def set_layout(doc: Doc, blocks: Sequence[Block] | None) -> None:
    """Put a layout on a Doc, before it is parsed.

    doc (Doc): The Doc.
    blocks (Optional[Sequence[Block]]): Its blocks in characters; a token that lies in two of them
        goes to the one in which it starts. None or no blocks: the layout is unknown, and is not
        read from the text either.
    RAISES (RstError): If the blocks do not lie side by side or do not cover the text.
    """
    check_blocks(doc.text, blocks or ())
    _store(doc, blocks or ())


def _store(doc: Doc, blocks: Sequence[Block]) -> None:
    """Let blocks begin and end with tokens, and put them on a Doc."""
    tokens = doc.to_array([IDX, LENGTH, IS_SPACE]).astype(np.int64)
    words = np.flatnonzero(tokens[:, 2] == 0)
    firsts = np.searchsorted(tokens[words, 0], [block.start for block in blocks])
    lasts = np.append(firsts[1:], len(words)) - 1
    spans, kept = [], []
    for block, first, last in zip(blocks, firsts.tolist(), lasts.tolist(), strict=False):
        if first <= last:
            span = Span(doc, int(words[first]), int(words[last]) + 1, label=block.kind)
            spans.append(span)
            kept.append(block._replace(start=span.start_char, end=span.end_char))
    columns = map(list, zip(*kept, strict=True))
    attrs = dict(zip(Block._fields, columns, strict=False))
    doc.spans[LAYOUT_KEY] = SpanGroup(doc, name=LAYOUT_KEY, spans=spans, attrs=attrs)


def get_layout(doc: Doc) -> list[Block] | None:
    """Get the layout of a Doc.

    doc (Doc): The Doc. The Spans of its layout may have been set by hand, with or without the
        levels, the speakers or what continues others as lists in the attributes of the group.
    RETURNS (Optional[List[Block]]): Its blocks, None where the layout is unknown or was not read.
    RAISES (RstError): If the blocks do not lie side by side or do not cover the text.
    """
    group = doc.spans.get(LAYOUT_KEY)
    if not group:
        return None
    if "start" in group.attrs:
        columns = [group.attrs[field] for field in Block._fields]
        return [Block(*values) for values in zip(*columns, strict=True)]
    places = [(span.start_char, span.end_char, span.label_) for span in group]
    given = [
        group.attrs.get(field) or [default] * len(group)
        for field, default in Block._field_defaults.items()
    ]
    details = zip(*given, strict=True)
    blocks = [Block(*place, *rest) for place, rest in zip(places, details, strict=True)]
    check_blocks(doc.text, blocks)
    return blocks


def read_layout(doc: Doc) -> list[Block] | None:
    """Read the layout of a Doc from its text, unless it was set or read before. The components do
    this before they look at a Doc; all other functions here take what is there.

    doc (Doc): The Doc, which keeps what is read.
    RETURNS (Optional[List[Block]]): Its blocks, None where the layout is unknown.
    """
    if LAYOUT_KEY not in doc.spans:
        _store(doc, read_plain(doc.text))
    settle_layout(doc)
    return get_layout(doc)


def settle_layout(doc: Doc) -> None:
    """Put the Spans of the blocks back in place if tokens were merged or split."""
    group = doc.spans.get(LAYOUT_KEY)
    if not group or "start" not in group.attrs:
        return
    try:
        last = group[len(group) - 1]
    except IndexError:  # there are fewer tokens than before
        last = None
    if last is None or doc[last.start].idx != last.start_char:
        _store(doc, get_layout(doc) or ())


def copy_layout(source: Doc, target: Doc) -> None:
    """Give a Doc the layout, if there is any, of another with the same text."""
    is_missing = LAYOUT_KEY in source.spans and LAYOUT_KEY not in target.spans
    if is_missing and source.text == target.text:
        set_layout(target, get_layout(source))


def token_blocks(doc: Doc) -> np.ndarray:
    """RETURNS (np.ndarray): Int (n_tokens,), the number of each token's block, from 0; white space
    after a block belongs to it. -1 before the first block, and where the layout is unknown."""
    starts = [block.start for block in get_layout(doc) or ()]
    return np.searchsorted(starts, doc.to_array(IDX), side="right") - 1


def block_starts(doc: Doc) -> np.ndarray:
    """RETURNS (np.ndarray): Bool (n_tokens,), true for the first token of each block, which is
    never white space."""
    return np.diff(token_blocks(doc), prepend=-1) > 0


def doc_from_layout(nlp: Language, content: Layout) -> Doc:
    """Make a Doc of a text with its layout, without running the pipeline's components."""
    doc = nlp.make_doc(content.text)
    set_layout(doc, content.blocks)
    doc.user_data[SEGMENTS_KEY] = [list(segment) for segment in content.segments]
    return doc


def read_markdown(nlp: Language, source: str) -> Doc:
    """Read Markdown, and run a pipeline over its text.

    nlp (Language): The pipeline.
    source (str): The Markdown.
    RETURNS (Doc): The Doc of the text without marks.
    """
    return nlp(doc_from_layout(nlp, layout.read_markdown(source)))


def read_html(nlp: Language, source: str) -> Doc:
    """Read HTML, and run a pipeline over the text that a reader of the page sees.

    nlp (Language): The pipeline.
    source (str): The HTML.
    RETURNS (Doc): The Doc.
    """
    return nlp(doc_from_layout(nlp, layout.read_html(source)))


def source_range(span: Span) -> tuple[int, int]:
    """Find a part of a Doc in the Markdown or HTML that it was read from.

    span (Span): The part.
    RETURNS (Tuple[int, int]): Its start and end in the source, which may be the text itself.
    """
    segments = span.doc.user_data.get(SEGMENTS_KEY)
    if segments is None:
        return span.start_char, span.end_char
    content = Layout(span.doc.text, (), [Segment(*segment) for segment in segments])
    return content.source_range(span.start_char, span.end_char)
