"""Blocks, and the way back to the source."""

from __future__ import annotations

import pytest

from spacy_rst.errors import RstError
from spacy_rst.layout import Block, Layout, Segment, check_blocks, read_document

TEXT = "A title\n\nSome text."


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ([Block(0, 7, "title"), Block(9, 19, "paragraph")], "0:7 is of the kind 'title'"),
        ([Block(0, 9, "heading"), Block(8, 19, "paragraph")], "8:19 overlaps"),
        ([Block(9, 19, "paragraph"), Block(0, 7, "heading")], "'A title' belongs to no block"),
        ([Block(0, 7, "heading"), Block(9, 20, "paragraph")], "9:20 is empty or does not lie"),
        ([Block(0, 0, "heading"), Block(0, 19, "paragraph")], "0:0 is empty"),
        ([Block(0, 7, "heading")], "'Some text.' belongs to no block"),
        ([Block(9, 19, "paragraph")], "'A title' belongs to no block"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, problem):
    with pytest.raises(RstError, match=f"R032.*{problem}"):
        check_blocks(TEXT, blocks)
    for fitting in ([], [Block(0, 7, "heading", 1), Block(9, 19, "paragraph")]):
        check_blocks(TEXT, fitting)


def test_source_of_a_text():
    # "a &amp; b<p>c" read as "a & b", a break, and "c".
    layout = Layout(
        "a & b\n\nc",
        (),
        [Segment(0, 2, 0, 2), Segment(2, 3, 2, 7), Segment(3, 5, 7, 9), Segment(7, 8, 12, 13)],
    )
    assert [layout.source_offset(i) for i in range(9)] == [0, 1, 2, 7, 8, 9, 9, 12, 13]
    assert layout.source_range(2, 3) == (2, 7)
    assert layout.source_range(0, 5) == (0, 9)
    assert layout.source_range(0, 8) == (0, 13)
    assert layout.source_range(3, 3) == (7, 7)


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("a/b.md", "# T\n\n*x*", "T\n\nx"),
        (".MARKDOWN", "# T\n\n*x*", "T\n\nx"),
        ("b.html", "<h1>T</h1><p>x", "T\n\nx"),
        ("b.txt", "T\n\n*x*", "T\n\n*x*"),
        ("README", "T\n\n*x*", "T\n\n*x*"),
    ],
)
def test_documents_are_read_by_their_names(name, source, text):
    layout = read_document(name, source)
    assert layout.text == text
    assert len(layout.blocks) == 2
    assert layout.source_range(len(text) - 1, len(text))[1] <= len(source)
