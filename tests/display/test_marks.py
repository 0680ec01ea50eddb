"""Headings, paragraphs and other blocks in the drawings."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from spacy.tokens import Doc

from spacy_rst.display.html import render_html
from spacy_rst.display.marks import ASCII_MARKS, UNICODE_MARKS, find_blocks
from spacy_rst.display.text import render_text
from spacy_rst.doc_layout import set_layout
from spacy_rst.layout import KINDS, Block
from spacy_rst.tree import RstTree

from .trees import BLOCKS, LAID_OUT, doc_with_blocks


@pytest.fixture
def doc() -> Doc:
    return doc_with_blocks()


def test_blocks_are_found_by_their_first_edu(doc):
    assert find_blocks(doc._.rst_tree) == dict(zip([0, 1, 3, 4, 5], BLOCKS, strict=True))


def test_edus_may_begin_with_the_white_space_before_a_block(doc):
    spans = list(doc.spans["edus"])
    wider = [spans[0], *(doc[left.end : right.end] for left, right in pairwise(spans))]
    assert wider[1].text.startswith("\n\n")
    tree = doc._.rst_tree.with_edus(wider)
    assert list(find_blocks(tree)) == [0, 1, 3, 4, 5]


def test_nothing_is_marked_without_layout(doc):
    plain = RstTree.from_dict(doc._.rst_tree.to_dict())
    assert find_blocks(plain) == {}
    set_layout(doc, None)
    assert find_blocks(doc._.rst_tree) == {}
    set_layout(doc, [Block(0, len(LAID_OUT), "paragraph")])
    assert find_blocks(doc._.rst_tree) == {}
    del doc.spans["layout"]
    assert find_blocks(doc._.rst_tree) == {}
    assert render_text(doc._.rst_tree, max_width=80) == render_text(plain, max_width=80)


def leaves(drawing: str) -> list[str]:
    return re.findall(r"\[\d\] .*", drawing)


def test_the_terminal_marks_blocks(doc):
    assert leaves(render_text(doc._.rst_tree, max_width=80)) == [
        "[1] ## Soup",
        "[2] ¶ It warms ,",
        "[3] and fills .",
        "[4] • Cut the leek",
        "[5] ¶ slowly .",
        "[6] — Anna: Good !",
    ]
    drawing = render_text(doc._.rst_tree, max_width=80, ascii=True)
    assert drawing.isascii()
    assert leaves(drawing)[1:4] == ["[2] P It warms ,", "[3] and fills .", "[4] * Cut the leek"]


def test_headings_are_bold_where_there_are_colours(doc):
    colored = render_text(doc._.rst_tree, max_width=80, color=True)
    assert "\x1b[1mSoup\x1b[0m" in colored
    assert "\x1b[1mIt warms" not in colored
    set_layout(doc, [Block(0, 28, "heading", level=1), Block(30, len(LAID_OUT), "paragraph")])
    colored = render_text(doc._.rst_tree, max_width=80, color=True)
    assert "\x1b[1mand fills .\x1b[0m" in colored
    assert "\x1b[1mCut" not in colored


def test_marks_leave_lines_as_narrow_as_asked(doc):
    assert max(map(len, render_text(doc._.rst_tree, max_width=40).splitlines())) <= 40


@pytest.mark.parametrize("marks", [UNICODE_MARKS, ASCII_MARKS])
def test_every_kind_has_a_mark_of_its_own(marks):
    assert set(marks) == set(KINDS)
    assert len(set(marks.values())) == len(KINDS)


def test_the_page_marks_blocks(doc):
    page = render_html(doc._.rst_tree)
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S)[1])
    assert data["trees"][0]["blocks"] == {
        "0": ["##", "heading", "heading, level 2"],
        "1": ["¶", "paragraph", "paragraph"],
        "3": ["•", "item", "item, level 1"],
        "4": ["¶", "item", "further paragraph, level 1"],
        "5": ["—", "turn", "turn, An<na>"],
    }
    assert "An<na>" not in page
