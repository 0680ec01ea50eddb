from __future__ import annotations

import pytest

from spacy_rst import RstError, RstTree
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.rs3 import parse_rs3, read_rs3

from .rs3_files import group, nuclei, rs3, segment


def splits(content: str, **options: bool) -> list[tuple[int, int, int, str]]:
    return [tuple(split) for split in binarize(parse_rs3(content, **options)).splits]


BOTH_WAYS = {"cause": ("rst", "multinuc"), "joint": ("multinuc",)}
EXTRAS = (
    '<secedges><secedge id="1-2" source="1" target="2" relname="evidence"/></secedges>'
    '<signals><signal source="2" type="dm" subtype="dm" tokens="1"/></signals>'
)
CASES = {
    "nucleus and satellite": (
        segment(1, "a", 3) + segment(2, "b", 1, "elaboration") + group(3, "span"),
        [(0, 1, 2, "elaboration-NS")],
    ),
    "the header tells a satellite of a multinuclear group": (
        nuclei("a", "b", parent=5) + segment(8, "c", 9, "elaboration") + group(5, "span"),
        [(0, 2, 3, "elaboration-NS"), (0, 1, 2, "joint-NN")],
    ),
    "satellite of a satellite without a span group": (
        segment(1, "a", 4) + segment(2, "b", 1, "elaboration") + segment(3, "c", 2, "evidence")
        + group(4, "span"),
        [(0, 1, 3, "elaboration-NS"), (1, 2, 3, "evidence-NS")],
    ),
    "several satellites, nearest first and right before left": (
        segment(1, "far left", 3, "background") + segment(2, "near left", 3, "background")
        + segment(3, "nucleus", 6) + segment(4, "near right", 3, "elaboration")
        + segment(5, "far right", 3, "evidence") + group(6, "span"),
        [(0, 1, 5, "background-SN"), (1, 4, 5, "evidence-NS"), (1, 2, 4, "background-SN"),
         (2, 3, 4, "elaboration-NS")],
    ),
    "a multinuclear group with one nucleus collapses": (
        segment(1, "a", 4, "joint") + group(4, "multinuc", 5, "joint")
        + segment(2, "b", 5, "joint") + group(5, "multinuc"),
        [(0, 1, 2, "joint-NN")],
    ),
    "mixed relations in one group": (
        segment(1, "a", 4, "same-unit") + segment(2, "b", 4, "same-unit")
        + segment(3, "c", 4, "joint") + group(4, "multinuc"),
        [(0, 1, 3, "same-unit-NN"), (1, 2, 3, "same-unit-NN")],
    ),
    "a multinuclear relation on a segment is a further nucleus": (
        segment(1, "a", 2, "joint") + segment(2, "b", 3) + group(3, "span"),
        [(0, 1, 2, "joint-NN")],
    ),
    "a span group with two nuclei is joined": (
        segment(1, "a", 3) + segment(2, "b", 3) + group(3, "span"), [(0, 1, 2, "joint-NN")]
    ),
    "nuclei chain to the right": (
        nuclei("a", "b", "c", "d"),
        [(0, 1, 4, "joint-NN"), (1, 2, 4, "joint-NN"), (2, 3, 4, "joint-NN")],
    ),
    "signals and secondary edges of rs4 are ignored": (
        segment(1, "a", 3) + segment(2, "b", 1, "elaboration") + group(3, "span") + EXTRAS,
        [(0, 1, 2, "elaboration-NS")],
    ),
    "a root may carry a relation name without a parent": (
        segment(1, "a", 3) + segment(2, "b", 1, "elaboration")
        + '<group id="3" type="span" relname="span"/>',
        [(0, 1, 2, "elaboration-NS")],
    ),
    "empty groups disappear": (
        segment(1, "a", 4) + segment(3, "c", 1, "evidence") + group(4, "span")
        + group(5, "multinuc", 1, "elaboration"),
        [(0, 1, 2, "evidence-NS")],
    ),
    "a blank relation is none": (
        segment(1, "a", 3, "  ") + segment(2, "b", 1, "evidence") + group(3, "span"),
        [(0, 1, 2, "evidence-NS")],
    ),
    "one segment is a tree of one leaf": (segment(1, "alone"), []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES)
def test_what_nodes_are_to_each_other(body, expected):
    assert splits(rs3(body)) == expected


def test_label_declared_both_ways_is_a_nucleus_under_a_multinuclear_group():
    both = nuclei("a", "b", relation="cause")
    assert splits(rs3(both, BOTH_WAYS)) == [(0, 1, 2, "cause-NN")]
    satellite = segment(1, "a", 3) + segment(2, "b", 1, "cause") + group(3, "span")
    assert splits(rs3(satellite, BOTH_WAYS)) == [(0, 1, 2, "cause-NS")]


@pytest.mark.parametrize(("headline", "removed"), [("Headline", [(0, "Headline")]), (" ", [])])
def test_segments_that_are_not_linked_are_removed_and_counted(headline, removed):
    body = segment(9, headline) + segment(1, "a", 3) + segment(2, "b", 1, "elaboration")
    document = parse_rs3(rs3(body + group(3, "span")))
    assert document.edus == ["a", "b"] and document.removed == removed


def test_text_order_is_the_order_of_the_file_not_of_the_ids():
    body = segment(20, "first", 30, "joint") + segment(3, "second", 30, "joint")
    document = parse_rs3(rs3(body + group(30, "multinuc")))
    assert document.edus == ["first", "second"]


@pytest.mark.parametrize(
    ("texts", "edus"),
    [
        (("\n  &lt;P&gt;A &amp;\n B  ", "##### c", "&lt;P&gt;d"), ["A & B", "c", "d"]),
        (("\n\nA", "\n B", "\n \nC"), ["A", "B", "C"]),
    ],
)
def test_text_is_cleaned_and_marks_and_blank_lines_begin_paragraphs(texts, edus):
    document = parse_rs3(rs3(nuclei(*texts)))
    assert document.edus == edus
    assert [(block.start, block.end) for block in document.blocks] == [(0, 2), (2, 3)]


TWO_TREES = segment(1, "a", 10) + segment(2, "b", 1, "elaboration") + group(10, "span")
TWO_TREES += segment(3, "c", 11) + segment(4, "d", 3, "elaboration")
TWO_TREES += segment(5, "e", 3, "evidence") + group(11, "span")
CROSSING = segment(1, "a", 5) + segment(2, "b", 6, "joint") + segment(3, "c", 1, "elaboration")
CROSSING += segment(4, "d", 6, "joint") + group(5, "span", 6, "joint") + group(6, "multinuc")
NO_NUCLEUS = segment(1, "a", 3, "elaboration") + segment(2, "b", 3, "evidence") + group(3, "span")
BOMB = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        ("<rst><body>", "R102", "file.rs3"),
        ("not xml at all", "R102", "file.rs3"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><rst><body>&a;</body></rst>', "R103", "file.rs3"),
        ('<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><rst>&a;</rst>', "R103", "file"),
        ('<!DOCTYPE rst PUBLIC "-//x//y" "file:///etc/passwd">' + rs3(""), "R103", "file"),
        ('<!DOCTYPE rst SYSTEM "http://127.0.0.1/rst.dtd">' + rs3(""), "R103", "file.rs3"),
        (f'<!DOCTYPE r [<!ENTITY e0 "boom">{BOMB}]><rst>&e11;</rst>', "R103", "file.rs3"),
        (rs3(""), "R104", "file.rs3"),
        (rs3(segment(1, " ") + segment(2, "")), "R104", "file.rs3"),
        (rs3(segment(1, "a", 1) + segment(1, "b")), "R105", "(1)"),
        (rs3("<segment>a</segment>"), "R105", "None"),
        (rs3(segment(1, "a", 7) + segment(2, "b")), "R105", "7, which does not exist"),
        (rs3(segment(1, "a", 2, "joint") + segment(2, "b", 1, "joint")), "R105", "cycle"),
        (rs3(segment(1, "a") + segment(2, "b") + group(3, "span", 3)), "R105", "Node 3"),
        (rs3(CROSSING), "R105", "Node 1 of file.rs3 has parts that do not lie side by side"),
        (rs3(NO_NUCLEUS), "R105", "Node 3 of file.rs3 has satellites but no nucleus"),
        *(
            (rs3(nuclei("a", text)), "R105", "Node 2 of file.rs3 belongs to the tree but has no")
            for text in ("", " ", "\n", "&lt;P&gt;", "#####")
        ),
        (rs3(TWO_TREES), "R108", "10 (2 segments) and 11 (3 segments)"),
        (rs3(segment(1, "a") + segment(2, "b")), "R109", "2 EDUs"),
    ],
)  # fmt: skip
def test_malformed_files_get_a_coded_error(content, code, named):
    with pytest.raises(RstError) as caught:
        parse_rs3(content, source="file.rs3")
    assert caught.value.code == code
    assert named in str(caught.value)
    assert "file.rs3" in str(caught.value)


def test_largest_tree_is_kept_on_demand():
    document = parse_rs3(rs3(TWO_TREES), largest_tree=True)
    assert document.edus == ["c", "d", "e"]
    assert document.removed == [(0, "a"), (0, "b")]


def test_declared_encoding_and_byte_order_mark(tmp_path):
    body = segment(1, "é", 3) + segment(2, "ß", 1, "elaboration") + group(3, "span")
    latin = tmp_path / "latin.rs3"
    latin.write_bytes(('<?xml version="1.0" encoding="ISO-8859-1"?>' + rs3(body)).encode("latin1"))
    marked = tmp_path / "marked.rs3"
    marked.write_text(rs3(body), encoding="utf-8-sig")
    assert read_rs3(latin).edus == read_rs3(marked).edus == ["é", "ß"]
    assert read_rs3(latin).name == "latin"


def test_written_text_is_escaped():
    tree = RstTree.from_splits([(0, 1, 2, 'a<"b&-NS')], ['<x> & "y"', "bell\x07"])
    again = RstTree.from_rs3(tree.to_rs3())
    assert again.splits == tree.splits
    assert again.edus == ('<x> & "y"', "bell\ufffd")
