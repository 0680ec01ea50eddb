"""rs3 -> Doc -> rs3: nothing that an annotator made is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from spacy_rst import RstError, RstTree
from spacy_rst.doc import UNLINKED_KEY
from spacy_rst.relations import MULTINUCLEAR_CLASSES, RELATION_CLASSES
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.convert import ConversionOptions, convert_document, convert_files
from spacy_rst.treebank.docbin import read_docbin
from spacy_rst.treebank.rs3 import parse_rs3, read_rs3

from .rs3_files import DEFAULT_RELATIONS, group, nuclei, rs3, segment

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
UNITS = segment(9, "Headline") + segment(1, "It rained,", 3) + segment(8, "- 3 -")
UNITS += segment(2, "so we stayed.", 1, "elaboration") + group(3, "span") + segment(7, "The end")
WITH_HEADLINES = rs3(UNITS)


def to_rs3_and_back(content: str, folder: Path):
    """By way of a DocBin, as `convert` and `export` do."""
    (folder / "x.rs3").write_text(content, encoding="utf8")
    options = ConversionOptions(labels="original")
    convert_files([folder / "x.rs3"], {None: folder / "x.spacy"}, options)
    (doc,) = read_docbin(folder / "x.spacy")
    return parse_rs3(doc._.rst_tree.to_rs3())


def test_units_beside_the_tree_stay_in_their_places(tmp_path):
    original, again = parse_rs3(WITH_HEADLINES), to_rs3_and_back(WITH_HEADLINES, tmp_path)
    assert original.removed == [(0, "Headline"), (1, "- 3 -"), (2, "The end")]
    assert again.removed == original.removed
    assert again.edus == original.edus
    assert binarize(again) == binarize(original)


def test_the_relations_of_the_treebank_stay_declared(tmp_path):
    declared = [(name, kind) for name, kinds in DEFAULT_RELATIONS.items() for kind in kinds]
    assert to_rs3_and_back(WITH_HEADLINES, tmp_path).declared == declared


def test_classes_are_declared_for_an_editor_to_offer():
    doc = convert_document(parse_rs3(WITH_HEADLINES))
    for tree in (doc._.rst_tree, RstTree.from_splits([], ["alone"])):
        declared = parse_rs3(tree.to_rs3()).declared
        assert {name for name, _ in declared} == set(RELATION_CLASSES)
        assert [name for name, kind in declared if kind == "multinuc"] == list(MULTINUCLEAR_CLASSES)


def test_relations_that_are_no_classes_are_declared_as_they_are_used():
    tree = RstTree.from_splits([(0, 1, 3, "odd-NS"), (1, 2, 3, "even-NN")], ["a", "b", "c"])
    assert parse_rs3(tree.to_rs3()).declared == [("even", "multinuc"), ("odd", "rst")]


def test_nuclei_under_one_relation_stay_one_group(tmp_path):
    again = to_rs3_and_back(rs3(nuclei(*"abcd")), tmp_path)
    assert [child.relation for child in again.root.children] == ["joint"] * 4


def test_groups_in_groups_stay_where_a_treebank_has_them(tmp_path):
    body = segment(1, "a", 9, "joint") + group(9, "multinuc") + group(8, "multinuc", 9, "joint")
    body += segment(2, "b", 8, "joint") + segment(3, "c", 8, "joint")
    again = to_rs3_and_back(rs3(body), tmp_path)
    assert [len(child.node.children) for child in again.root.children] == [0, 2]


def test_groups_of_several_relations_stay_one(tmp_path):
    relations = ("joint", "contrast", "joint", "joint")
    units = (segment(i, f"point {i}", 9, name) for i, name in enumerate(relations, start=1))
    again = to_rs3_and_back(rs3("".join(units) + group(9, "multinuc")), tmp_path)
    assert [child.relation for child in again.root.children] == list(relations)


def test_nuclei_that_a_parser_chained_become_one_group():
    splits = [(0, 1, 3, "Joint-NN"), (1, 2, 3, "Joint-NN")]
    document = parse_rs3(RstTree.from_splits(splits, list("abc")).to_rs3())
    assert len(document.root.children) == 3


@pytest.mark.parametrize(
    "splits",
    [
        [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Joint-NN"), (2, 3, 4, "Contrast-NN")],
        *(
            [(0, 2, 3, f"{relation}-NS"), (0, 1, 2, "Joint-NN")]
            for relation in (*MULTINUCLEAR_CLASSES, "Elaboration")
        ),
    ],
)
def test_other_groups_and_satellites_of_nuclei_stay_apart(splits):
    tree = RstTree.from_splits(splits, list("abcd")[: splits[0][2]])
    assert RstTree.from_rs3(tree.to_rs3()) == tree


def test_damaged_facts_are_refused():
    doc = convert_document(parse_rs3(WITH_HEADLINES))
    for damage in (7, [3], [["x", "y"]], "text"):
        doc.user_data[UNLINKED_KEY] = damage
        with pytest.raises(RstError, match="R114"):
            doc._.rst_tree.to_rs3()


@pytest.mark.parametrize("path", sorted(SAMPLE.glob("*/*.rs3")), ids=lambda path: path.stem)
def test_the_sample_treebank_loses_nothing(path, tmp_path):
    original = read_rs3(path)
    again = to_rs3_and_back(path.read_text(encoding="utf8"), tmp_path)
    assert (again.edus, again.removed) == (original.edus, original.removed)
    assert again.declared[: len(original.declared)] == original.declared
    assert binarize(again) == binarize(original)
    assert relations_of(again) == relations_of(original)


def relations_of(document) -> Counter[tuple[str, str]]:
    nodes = document.root.descendants()
    children = (child for node in nodes for child in node.children)
    return Counter((child.role, child.relation) for child in children if child.relation != "span")
