"""Trees: what they check, what they answer, and the round trips."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_rst.errors import RstError
from spacy_rst.tree import Dependency, Relation, RstNode, RstTree, Score, Split

from .strategies import chain_tree, trees

properties = settings(max_examples=40)

#                    0:6 Background-SN
#                   /                 \
#        0:2 Attribution-SN       2:6 Contrast-NN
#          /        \             /             \
#       0 says    1 it rains   2:4 Elaboration-NS   4:6 Joint-NN
#                              /        \            /       \
#                          2 we stay  3 at home   4 you go  5 or not
EDUS = ["He says", "it rains ,", "we stay", "at home ,", "you go", "or not ."]
SPLITS = [
    (0, 2, 6, "Background-SN"),
    (0, 1, 2, "Attribution-SN"),
    (2, 4, 6, "Contrast-NN"),
    (2, 3, 4, "Elaboration-NS"),
    (4, 5, 6, "Joint-NN"),
]
SCORES = [(0.9, 0.8), (0.7, 0.6), (0.5, 0.4), (0.3, 0.2), (0.1, 0.05)]
RST_LABEL = "Joint-NN"


@pytest.fixture
def tree() -> RstTree:
    return RstTree.from_splits(SPLITS, EDUS, SCORES)


def places(nodes) -> list[tuple[int, int]]:
    return [(node.start, node.end) for node in nodes]


def node_at(tree: RstTree, start: int, end: int) -> RstNode:
    (node,) = [node for node in tree if (node.start, node.end) == (start, end)]
    return node


# The hand-made tree


def test_nodes_come_depth_first_left_first(tree):
    expected = [
        (0, 6), (0, 2), (0, 1), (1, 2), (2, 6), (2, 4), (2, 3), (3, 4), (4, 6), (4, 5), (5, 6),
    ]  # fmt: skip
    assert places(tree.nodes()) == expected
    assert places(tree) == expected
    assert [node.index for node in tree] == list(range(11))
    assert places(tree.leaves()) == [(i, i + 1) for i in range(6)]
    assert tree.edus == tuple(EDUS)
    assert places(node_at(tree, 2, 6).descendants()) == expected[4:]
    assert len(tree) == 6
    assert len(node_at(tree, 2, 6)) == 4


def test_links_between_nodes(tree):
    root, contrast = tree.root, node_at(tree, 2, 6)
    assert (root.nucleus, root.satellite) == (contrast, node_at(tree, 0, 2))
    assert (contrast.nucleus, contrast.satellite) == (node_at(tree, 2, 4), None)
    assert root.parent is None
    assert root.right == contrast
    assert contrast.parent == root
    assert contrast.children == (node_at(tree, 2, 4), node_at(tree, 4, 6))
    leaf = node_at(tree, 3, 4)
    assert leaf.children == ()
    assert {leaf.left, leaf.right, leaf.nucleus, leaf.satellite, leaf.split, leaf.score} == {None}
    assert (leaf.label, leaf.relation, leaf.nuclearity) == (None, None, None)
    assert leaf.is_leaf and not contrast.is_leaf
    assert contrast.split == 4
    elaboration = node_at(tree, 2, 4)
    assert places([elaboration.nucleus, elaboration.satellite]) == [(2, 3), (3, 4)]
    assert (elaboration.text, elaboration.span) == ("we stay at home ,", None)
    assert elaboration.edus == ("we stay", "at home ,")
    assert [node.depth for node in tree] == [0, 1, 2, 2, 1, 2, 3, 3, 2, 3, 3]


def test_labels_roles_and_relations_to_the_parent(tree):
    contrast = node_at(tree, 2, 6)
    assert contrast.label == "Contrast-NN"
    assert (contrast.relation, contrast.nuclearity) == ("Contrast", "NN")
    assert [node.role for node in tree] == [
        None, "S", "S", "N", "N", "N", "N", "S", "N", "N", "N",
    ]  # fmt: skip
    assert [node.relation_to_parent for node in tree] == [
        None, "Background", "Attribution", "span", "span", "Contrast", "span", "Elaboration",
        "Contrast", "Joint", "Joint",
    ]  # fmt: skip


def test_scores_follow_their_splits():
    tree = RstTree.from_splits(SPLITS[::-1], EDUS, SCORES[::-1])
    assert node_at(tree, 2, 4).score == Score(split=0.3, label=0.2)
    assert tree.scores == tuple(Score(*score) for score in SCORES)
    assert RstTree.from_splits(SPLITS).scores is None
    assert RstTree.from_splits([], ["one"], []).scores is None


def test_splits_may_come_in_any_order_and_from_numpy(tree):
    assert tree.splits == tuple(Split(*split) for split in SPLITS)
    numbers = [(*np.array(split[:3]), split[3]) for split in SPLITS[::-1]]
    rebuilt = RstTree.from_splits(numbers, EDUS, SCORES[::-1])
    assert rebuilt == tree
    assert json.loads(json.dumps(rebuilt.to_dict())) == tree.to_dict()


def test_the_same_tree_over_other_edus(tree):
    letters = tree.with_edus("abcdef")
    assert letters == RstTree.from_splits(SPLITS, "abcdef", SCORES)
    assert letters.root.tree is letters
    assert tree.edus == tuple(EDUS)
    with pytest.raises(RstError, match="R021"):
        tree.with_edus("abc")


def test_find(tree):
    assert places(tree.find()) == [(0, 6), (0, 2), (2, 6), (2, 4), (4, 6)]
    assert places(tree.find(relation="contrast")) == [(2, 6)]
    assert places(tree.find(relation=["Joint", "Attribution"])) == [(0, 2), (4, 6)]
    assert places(tree.find(nuclearity="NN")) == [(2, 6), (4, 6)]
    assert places(tree.find(nuclearity={"SN", "NS"})) == [(0, 6), (0, 2), (2, 4)]
    assert places(tree.find(relation="Joint", nuclearity="NS")) == []
    assert places(tree.find(relation=[])) == []
    with pytest.raises(RstError, match=r"R013.*'xx'"):
        list(tree.find(nuclearity="XX"))


def test_covering(tree):
    expected = {
        (0, 1): (0, 1), (2, 3): (2, 3), (0, 2): (0, 2), (1, 3): (0, 6), (3, 5): (2, 6),
        (4, 6): (4, 6), (0, 6): (0, 6),
    }  # fmt: skip
    assert {place: places([tree.covering(*place)])[0] for place in expected} == expected
    for start, end in [(-1, 2), (2, 2), (3, 2), (0, 7)]:
        with pytest.raises(RstError, match="R009"):
            tree.covering(start, end)


def test_relations_and_records(tree):
    background, attribution, contrast, *_ = tree.relations()
    assert background == Relation(
        relation="Background",
        nuclearity="SN",
        nucleus="we stay at home , you go or not .",
        satellite="He says it rains ,",
        nucleus_span=None,
        satellite_span=None,
        depth=0,
        score=pytest.approx(0.9 * 0.8),
    )
    assert (attribution.nucleus, attribution.satellite) == ("it rains ,", "He says")
    assert (contrast.nucleus, contrast.satellite) == ("we stay at home ,", "you go or not .")
    assert [entry.relation for entry in tree.relations()] == [node.relation for node in tree.find()]
    assert {entry.score for entry in RstTree.from_splits(SPLITS).relations()} == {None}
    assert list(RstTree.from_splits([], ["one"]).relations()) == []
    records = tree.to_records()
    assert json.loads(json.dumps(records)) == records
    places = dict.fromkeys(("nucleus_start", "nucleus_end", "satellite_start", "satellite_end"))
    for record, entry in zip(records, tree.relations(), strict=True):
        values = {name: value for name, value in entry._asdict().items() if "span" not in name}
        assert record == {**values, **places}


def test_head_and_promotion(tree):
    assert tree.head().start == 2
    assert [tree.head(node).start for node in tree] == [2, 1, 0, 1, 2, 2, 2, 3, 4, 4, 5]
    assert places(tree.promotion()) == [(2, 3), (4, 5), (5, 6)]
    assert places(tree.promotion(node_at(tree, 0, 2))) == [(1, 2)]
    assert places(tree.promotion(node_at(tree, 3, 4))) == [(3, 4)]


def test_salience_and_summary(tree):
    assert tree.salience() == (2, 3, 4, 1, 4, 4)
    expected = {0: [], 1: [2], 2: [2, 4], 3: [2, 4, 5], 4: [1, 2, 4, 5], 99: [0, 1, 2, 3, 4, 5]}
    assert {n: [leaf.start for leaf in tree.summary(n)] for n in expected} == expected
    with pytest.raises(ValueError, match="-1 units"):
        tree.summary(-1)


def test_dependencies(tree):
    assert tree.to_dependencies() == (
        Dependency(0, 1, "Attribution", "SN"),
        Dependency(1, 2, "Background", "SN"),
        Dependency(2, -1, None, None),
        Dependency(3, 2, "Elaboration", "NS"),
        Dependency(4, 2, "Contrast", "NN"),
        Dependency(5, 4, "Joint", "NN"),
    )


def test_one_edu_is_a_tree_of_one_leaf():
    tree = RstTree.from_splits([], ["All of it."])
    assert places(tree) == [(0, 1)]
    assert tree.root.is_leaf and tree.root.text == "All of it."
    assert (tree.splits, list(tree.find()), tree.salience()) == ((), [], (1,))
    assert tree.to_dependencies() == (Dependency(0, -1, None, None),)
    assert places(tree.summary(1)) == places(tree.promotion()) == [(0, 1)]
    assert RstTree.from_dict(tree.to_dict()) == tree
    assert RstTree.from_rs3(tree.to_rs3()) == tree
    assert RstTree.from_dis(tree.to_dis()) == tree


def test_repr(tree):
    assert repr(tree) == "RstTree(6 EDUs, root Background-SN)"
    assert repr(RstTree.from_splits([], ["x"])) == "RstTree(1 EDUs)"
    assert repr(node_at(tree, 2, 6)) == "RstNode(2:6 'Contrast-NN')"
    assert repr(node_at(tree, 2, 3)) == "RstNode(2:3 'we stay')"


# Immutable values


@pytest.mark.parametrize("name", ["root", "edus", "_edus", "start", "label", "_index", "new"])
def test_trees_and_nodes_cannot_be_changed(tree, name):
    for value in (tree, tree.root):
        with pytest.raises(AttributeError, match=f"{name} .*immutable"):
            setattr(value, name, ())


def test_a_tree_is_independent_of_the_lists_it_was_built_from(tree):
    splits, edus = [list(split) for split in SPLITS], list(EDUS)
    built = RstTree.from_splits(splits, edus, SCORES)
    splits[0][3], edus[0] = "Joint-NN", "changed"
    built.to_dict()["splits"][0][3] = "Joint-NN"
    assert built == tree


def test_equality_sees_structure_labels_texts_and_scores(tree):
    assert RstTree.from_splits(SPLITS, EDUS, SCORES) == tree
    other_shape = [(0, 1, 3, RST_LABEL), (1, 2, 3, RST_LABEL)]
    same_size = [(0, 2, 3, RST_LABEL), (0, 1, 2, RST_LABEL)]
    assert RstTree.from_splits(other_shape) != RstTree.from_splits(same_size)
    relabelled = [(*SPLITS[0][:3], "Background-NS"), *SPLITS[1:]]
    assert RstTree.from_splits(relabelled, EDUS, SCORES) != tree
    assert RstTree.from_splits(SPLITS, [*EDUS[:-1], "else"], SCORES) != tree
    assert RstTree.from_splits(SPLITS, EDUS) != tree
    assert tree != SPLITS
    twin = RstTree.from_splits(SPLITS, EDUS, SCORES)
    tree.head()  # fills a cache
    assert {tree, twin} == {tree} == {twin}
    assert len({tree.root, tree.root, tree.root.right}) == 2
    assert tree.root == tree.root != twin.root
    assert tree.root != "root"


def test_pickle_and_copies(tree):
    for made in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
        assert made == tree
    node = pickle.loads(pickle.dumps(node_at(tree, 2, 6)))
    assert (node.start, node.end, node.tree) == (2, 6, tree)


# Bad input


@pytest.mark.parametrize(
    "splits, n_edus, code, named",
    [
        pytest.param([], 2, "R004", "0:2", id="no split at all"),
        pytest.param([(0, 1, 3, RST_LABEL)], 3, "R004", "1:3", id="missing split"),
        pytest.param([(1, 2, 3, RST_LABEL)], 3, "R004", "0:3", id="missing root"),
        pytest.param(
            [(0, 2, 3, RST_LABEL), (1, 2, 3, RST_LABEL)], 3, "R004", "0:2", id="overlapping"
        ),
        pytest.param(
            [(0, 1, 3, RST_LABEL), (1, 2, 3, RST_LABEL), (0, 1, 2, RST_LABEL)],
            3, "R004", "0:2 is not a span", id="unreachable",
        ),
        pytest.param(
            [(0, 1, 2, RST_LABEL), (0, 2, 5, RST_LABEL)],
            2, "R004", "0:5 is not a span", id="out of range",
        ),
        pytest.param(
            [(0, 1, 3, RST_LABEL), (0, 2, 3, RST_LABEL)], 3, "R004", "two splits", id="same span"
        ),
        pytest.param([(0, 1, 2, RST_LABEL)] * 2, 2, "R004", "two splits", id="same split twice"),
        pytest.param([(0, 0, 2, RST_LABEL)], 2, "R011", r"\(0, 0, 2", id="empty left child"),
        pytest.param([(0, 2, 2, RST_LABEL)], 2, "R011", r"\(0, 2, 2", id="empty right child"),
        pytest.param([(2, 1, 0, RST_LABEL)], 2, "R011", r"\(2, 1, 0", id="backwards"),
        pytest.param([(-1, 0, 1, RST_LABEL)], 2, "R011", r"\(-1, 0, 1", id="negative"),
        pytest.param([(0, 1.5, 3, RST_LABEL)], 3, "R011", r"1\.5", id="fraction"),
        pytest.param([("0", "1", "2", RST_LABEL)], 2, "R011", "'0'", id="strings for numbers"),
        pytest.param([(0, None, 2, RST_LABEL)], 2, "R011", "None", id="None for a number"),
        pytest.param([(0, 1, 2)], 2, "R011", r"\(0, 1, 2\)", id="no label"),
        pytest.param([(0, 1, 2, None)], 2, "R011", "None", id="None for a label"),
        pytest.param([(0, 1, 2, ["Joint-NN"])], 2, "R011", "Joint", id="list for a label"),
        pytest.param([7], 2, "R011", "7", id="not a sequence"),
        pytest.param(7, 2, "R011", "7", id="no splits at all"),
        pytest.param([(0, 1, 10**5000, RST_LABEL)], 2, "R011", "tuple", id="endless number"),
        pytest.param([(0, 1, 2, "Joint")], 2, "R013", "'Joint'", id="label without nuclearity"),
        pytest.param([(0, 1, 2, "Joint-SS")], 2, "R013", "Joint-SS", id="unknown nuclearity"),
        pytest.param([(0, 1, 2, "Joint-nn")], 2, "R013", "Joint-nn", id="small letters"),
        pytest.param([(0, 1, 2, "-NN")], 2, "R013", "-NN", id="label without relation"),
        pytest.param([(0, 1, 2, "")], 2, "R013", "''", id="empty label"),
        pytest.param([], 0, "R001", "at least one EDU", id="no EDUs"),
    ],
)  # fmt: skip
def test_splits_that_form_no_tree(splits, n_edus, code, named):
    with pytest.raises(RstError, match=named) as caught:
        RstTree.from_splits(splits, ["text"] * n_edus)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "scores",
    [
        [],
        SCORES[:-1],
        [*SCORES, (1.0, 1.0)],
        (0.5, 0.5),
        *([*SCORES[:-1], wrong] for wrong in [(1.0,), 1.0, ("high", "low"), None, (1.0, 1.0, 1.0)]),
        *([*SCORES[:-1], (0.5, wrong)] for wrong in [math.nan, math.inf, 10**400, 10**5000, -0.01]),
        [*SCORES[:-1], (2.0, 0.5)],
        7,
    ],
)
def test_scores_that_do_not_fit(scores):
    with pytest.raises(RstError, match="R012"):
        RstTree.from_splits(SPLITS, EDUS, scores)


@pytest.mark.parametrize(
    "data, code",
    [
        *((data, "R005") for data in ({}, [], None, {"edus": ["a", "b"]}, {"splits": []})),
        ({"edus": None, "splits": []}, "R005"),
        ({"edus": "ab", "splits": [[0, 1, 2, "Joint-NN"]]}, "R005"),
        ({"edus": [1, 2], "splits": [[0, 1, 2, "Joint-NN"]]}, "R005"),
        ({"edus": ["a", "b", "c"], "splits": [[0, 1, 3, "Joint-NN"]]}, "R004"),
        ({"edus": ["a"], "splits": None}, "R011"),
        ({"edus": ["a"], "splits": [], "scores": 3}, "R012"),
    ],
)
def test_from_dict_refuses_other_things(data, code):
    with pytest.raises(RstError, match=code):
        RstTree.from_dict(data)


def test_scores_may_be_off_by_rounding():
    tree = RstTree.from_splits([(0, 1, 2, RST_LABEL)], scores=[(np.float32(1.0000001), -1e-9)])
    assert tree.scores == ((1.0, 0.0),)


@pytest.mark.parametrize("edus", [[None, "b"], [b"a", "b"], [1, 2], [["a"], ["b"]], 7])
def test_edus_must_be_texts(edus):
    with pytest.raises(RstError, match="R014"):
        RstTree.from_splits([(0, 1, 2, RST_LABEL)], edus)
    with pytest.raises(RstError, match="R014"):
        RstTree.from_splits([(0, 1, 2, RST_LABEL)]).with_edus(edus)


@pytest.mark.parametrize("version", [0, 2, "1", None, [1], pytest.param(10**5000, id="endless")])
def test_from_dict_refuses_unknown_versions(tree, version):
    data = tree.to_dict()
    with pytest.raises(RstError, match=r"R005.*version"):
        RstTree.from_dict({**data, "version": version})
    del data["version"]
    assert RstTree.from_dict(data) == tree


# Properties of random trees


@properties
@given(trees())
def test_splits_json_and_pickle_round_trips(tree):
    rebuilt = RstTree.from_splits(tree.splits, tree.edus, tree.scores)
    assert (rebuilt, rebuilt.splits, rebuilt.scores) == (tree, tree.splits, tree.scores)
    assert len(tree.splits) == len(tree) - 1
    assert RstTree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree


@properties
@given(trees(with_scores=True))
def test_file_formats_lose_the_scores_only(tree):
    bare = RstTree.from_splits(tree.splits, tree.edus)
    assert RstTree.from_rs3(tree.to_rs3()) == bare
    assert RstTree.from_dis(tree.to_dis()) == bare


@properties
@given(trees())
def test_nodes_are_linked_both_ways(tree):
    nodes = list(tree)
    assert len(nodes) == 2 * len(tree) - 1
    assert [leaf.start for leaf in tree.leaves()] == list(range(len(tree)))
    for node in nodes:
        assert all(child.parent == node for child in node.children)
        if not node.is_leaf:
            left, right = node.children
            assert (left.start, left.end, right.start, right.end) == (
                node.start, node.split, node.split, node.end,
            )  # fmt: skip
            assert left.depth == right.depth == node.depth + 1
            assert f"{left.role}{right.role}" == node.nuclearity
        assert tree.covering(node.start, node.end) == node


@properties
@given(trees(st.integers(1, 60)))
def test_salience_is_the_height_of_the_highest_promotion(tree):
    levels = max(node.depth for node in tree) + 1
    highest = [0] * len(tree)
    for node in tree:
        for leaf in tree.promotion(node):
            highest[leaf.start] = max(highest[leaf.start], levels - node.depth)
    assert tree.salience() == tuple(highest)
    most_salient = [i for i, value in enumerate(highest) if value == levels]
    assert [leaf.start for leaf in tree.promotion()] == most_salient
    assert [leaf.start for leaf in tree.summary(len(most_salient))] == most_salient


@properties
@given(trees())
def test_dependencies_follow_the_nuclei(tree):
    links = tree.to_dependencies()
    assert [link.edu for link in links] == list(range(len(tree)))
    assert [link.edu for link in links if link.head == -1] == [tree.head().start]
    for node in tree.find():
        left, right = (tree.head(child).start for child in node.children)
        dependent, head = (left, right) if node.nuclearity == "SN" else (right, left)
        assert links[dependent] == Dependency(dependent, head, node.relation, node.nuclearity)
        assert tree.head(node).start == head
        assert tree.head(node) in tree.promotion(node)
    for link in links:
        if link.head != -1:
            assert (link.head > link.edu) == (link.nuclearity == "SN")


# Deep trees: nothing recursive, nothing whose output grows faster than the tree


@pytest.mark.parametrize("direction", ["left", "right"])
def test_ten_thousand_edus(direction):
    n_edus = 10_000
    tree = chain_tree(n_edus, direction)
    assert max(node.depth for node in tree) == n_edus - 1
    assert RstTree.from_splits(tree.splits, tree.edus) == tree
    assert RstTree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
    assert RstTree.from_rs3(tree.to_rs3()) == tree
    assert RstTree.from_dis(tree.to_dis()) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(tree) == hash(RstTree.from_splits(tree.splits, tree.edus))
    assert len(tree.salience()) == len(tree.to_dependencies()) == n_edus
    assert len(tree.summary(10)) == 10
    deepest = n_edus - 1 if direction == "right" else 0
    assert tree.covering(deepest, deepest + 1).depth == n_edus - 1
    assert tree.root.text.count("unit") == n_edus
    assert tree.render("text").count("unit") >= n_edus


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("write", [RstTree.to_rs3, RstTree.to_dis, RstTree.render])
def test_output_grows_with_the_tree(direction, write):
    small, large = (len(write(chain_tree(n_edus, direction))) for n_edus in (500, 5000))
    assert large < 12 * small
