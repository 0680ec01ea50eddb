"""How a layout lies on a Doc: its blocks are the Spans of `doc.spans["layout"]`.

A Span's label is the kind of its block; levels, speakers and which blocks continue others are
lists in the attributes of the group, one value for each Span. A Doc without the group was not
looked at yet; an empty group says that the layout is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.attrs import IDX, IS_SPACE
from spacy.language import Language
from spacy.tokens import Doc, Span

from . import layout
from .layout import Block, Layout, Segment, check_blocks, read_plain
from .spans import SteadySpans

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
    if not blocks:
        doc.spans[LAYOUT_KEY] = SteadySpans(doc, name=LAYOUT_KEY)
        return
    words = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
    word_starts = doc.to_array(IDX).astype(np.int64)[words]
    firsts = np.searchsorted(word_starts, [block.start for block in blocks])
    ends = np.append(firsts[1:], len(words))
    kept = [
        (block, int(words[first]), int(words[end - 1]) + 1)
        for block, first, end in zip(blocks, firsts, ends, strict=False)
        if first < end
    ]
    doc.spans[LAYOUT_KEY] = SteadySpans(
        doc,
        name=LAYOUT_KEY,
        spans=[Span(doc, start, end, label=block.kind) for block, start, end in kept],
        attrs={
            "level": [block.level for block, _, _ in kept],
            "speaker": [block.speaker for block, _, _ in kept],
            "continues": [block.continues for block, _, _ in kept],
        },
    )


def get_layout(doc: Doc) -> list[Block] | None:
    """Get the layout of a Doc.

    doc (Doc): The Doc. The Spans of its layout may have been set by hand.
    RETURNS (Optional[List[Block]]): Its blocks, None where the layout is unknown or was not read.
    RAISES (RstError): If the blocks do not lie side by side or do not cover the text.
    """
    group = doc.spans.get(LAYOUT_KEY)
    if not group:
        return None
    n_blocks = len(group)
    blocks = [
        Block(span.start_char, span.end_char, span.label_, level, speaker, continues)
        for span, level, speaker, continues in zip(
            group,
            group.attrs.get("level") or [0] * n_blocks,
            group.attrs.get("speaker") or [None] * n_blocks,
            group.attrs.get("continues") or [False] * n_blocks,
            strict=True,
        )
    ]
    if not group.attrs:  # set by hand, so that nothing was checked yet
        check_blocks(doc.text, blocks)
    return blocks


def ensure_layout(doc: Doc) -> list[Block] | None:
    """Get the layout of a Doc, read from its text unless it was set or read before.

    doc (Doc): The Doc.
    RETURNS (Optional[List[Block]]): Its blocks, None where the layout is unknown.
    """
    if LAYOUT_KEY not in doc.spans:
        _store(doc, read_plain(doc.text))
    return get_layout(doc)


def copy_layout(source: Doc, target: Doc) -> None:
    """Give a Doc the layout of another that has the same text.

    source (Doc): The Doc with the layout, if it has any.
    target (Doc): The Doc that gets it, unless it has one already.
    """
    is_missing = LAYOUT_KEY in source.spans and LAYOUT_KEY not in target.spans
    if is_missing and source.text == target.text:
        set_layout(target, get_layout(source))


def token_blocks(doc: Doc) -> np.ndarray:
    """Tell in which block each token lies.

    doc (Doc): The Doc.
    RETURNS (np.ndarray): Int (n_tokens,), the number of the block, from 0; white space behind a
        block belongs to it. -1 for tokens before the first block, and where the layout is unknown.
    """
    starts = [span.start for span in doc.spans.get(LAYOUT_KEY) or ()]
    return np.searchsorted(starts, np.arange(len(doc)), side="right") - 1


def block_starts(doc: Doc) -> np.ndarray:
    """Mark the tokens at which blocks begin, which are never white space.

    doc (Doc): The Doc.
    RETURNS (np.ndarray): Bool (n_tokens,), nowhere true where the layout is unknown.
    """
    starts = np.zeros(len(doc), dtype=bool)
    starts[[span.start for span in doc.spans.get(LAYOUT_KEY) or ()]] = True
    return starts


def doc_from_layout(nlp: Language, content: Layout) -> Doc:
    """Make a Doc of a text with its layout.

    nlp (Language): The pipeline whose tokenizer is used; its components are not run.
    content (Layout): The text and its blocks.
    RETURNS (Doc): The Doc with `doc.spans["layout"]`.
    """
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
    RETURNS (Tuple[int, int]): Where it starts and ends in the source, in characters. The Doc's own
        places where its text is the source.
    """
    segments = span.doc.user_data.get(SEGMENTS_KEY)
    if segments is None:
        return span.start_char, span.end_char
    content = Layout(span.doc.text, (), [Segment(*segment) for segment in segments])
    return content.source_range(span.start_char, span.end_char)
