from itertools import pairwise

import pytest

from spacy_rst.display.geometry import (
    LABEL_SIZE,
    MARGIN,
    ROW_HEIGHT,
    Diagram,
    lay_out,
    text_width,
    wrap_text,
)
from spacy_rst.tree import RstTree

from .trees import left_branching, mixed_tree, random_tree, right_branching

LONG_RELATIONS = ("Textual-Organization", "elaboration-object-attribute-embedded", "x")


def text_extents(diagram: Diagram) -> list[tuple[int, float, float]]:
    """Baseline, left and right of all labels and numbers above the EDUs."""
    texts = [(edge.label.y, edge.label.x, edge.label.text) for edge in diagram.arcs]
    texts += [(group.label.y, group.label.x, group.label.text) for group in diagram.groups]
    for line in diagram.lines:
        numbers = f"{line.node.start + 1}-{line.node.end}"
        texts.append((line.y + 13, line.x, numbers))
    widths = [text_width(text, LABEL_SIZE) / 2 for _, _, text in texts]
    return [(y, x - half, x + half) for (y, x, _), half in zip(texts, widths, strict=True)]


@pytest.mark.parametrize("align_edus", [True, False])
@pytest.mark.parametrize("relations", [(), LONG_RELATIONS])
@pytest.mark.parametrize("n_edus", [2, 5, 12, 40, 300])
def test_labels_do_not_overlap(n_edus, relations, align_edus):
    for seed in range(5):
        diagram = lay_out(
            random_tree(n_edus, seed, relations), edu_width=150, align_edus=align_edus
        )
        extents = sorted(text_extents(diagram))
        assert all(left >= 0 and right <= diagram.width for _, left, right in extents)
        for i, (y, left, right) in enumerate(extents):
            for other_y, other_left, other_right in extents[i + 1 :]:
                if other_y >= y + LABEL_SIZE:
                    break
                assert other_right <= left or right <= other_left


@pytest.mark.parametrize("relations", [(), LONG_RELATIONS])
@pytest.mark.parametrize("seed", range(5))
def test_labels_keep_off_the_nucleus_line(seed, relations):
    for arc in lay_out(random_tree(40, seed, relations), edu_width=150).arcs:
        half = text_width(arc.label.text, LABEL_SIZE) / 2
        assert abs(arc.label.x - arc.nucleus_x) > half


def test_class_names_are_never_cut():
    for seed in range(10):
        diagram = lay_out(random_tree(40, seed), edu_width=150)
        for edge in (*diagram.arcs, *diagram.groups):
            assert edge.label.text == edge.node.relation


@pytest.mark.parametrize("nuclearity", ["NS", "SN", "NN"])
def test_labels_without_room_are_cut(nuclearity):
    relation = "a-relation-with-a-name-as-long-as-a-sentence-or-a-paragraph"
    diagram = lay_out(right_branching(2, f"{relation}-{nuclearity}"), edu_width=80)
    ((_, left, right),) = text_extents(diagram._replace(lines=()))
    (label,) = (edge.label for edge in (*diagram.arcs, *diagram.groups))
    assert label.text.endswith("…") and relation.startswith(label.text[:-1])
    assert diagram.lines[0].left <= left and right <= diagram.lines[0].right


def test_boxes_stand_side_by_side_in_the_order_of_the_text():
    diagram = lay_out(random_tree(40), edu_width=150)
    assert [box.node.start for box in diagram.boxes] == list(range(40))
    for left, right in pairwise(diagram.boxes):
        assert left.x + left.width // 2 < right.x - right.width // 2
    assert len({box.top for box in diagram.boxes}) == 1
    assert max(box.line_y for box in diagram.boxes) == diagram.boxes[0].top


def test_mirrored_picture_begins_on_the_right():
    plain, mirrored = (lay_out(mixed_tree(), 150, mirror=mirror) for mirror in (False, True))
    assert [box.x for box in mirrored.boxes] == [plain.width - box.x for box in plain.boxes]
    assert [(line.left, line.right) for line in mirrored.lines] == [
        (plain.width - line.right, plain.width - line.left) for line in plain.lines
    ]


def test_edus_hang_on_their_lines_unless_aligned():
    diagram = lay_out(mixed_tree(), edu_width=150, align_edus=False)
    assert all(box.top == box.line_y for box in diagram.boxes)
    assert len({box.top for box in diagram.boxes}) > 1


def test_span_hangs_above_its_nucleus():
    diagram = lay_out(mixed_tree(), edu_width=150)
    for arc in diagram.arcs:
        (parent,) = (line for line in diagram.lines if line.node == arc.node)
        (nucleus,) = (line for line in diagram.lines if line.node == arc.nucleus)
        assert arc.nucleus.role == "N" and arc.satellite.role == "S"
        assert parent.x == nucleus.x == arc.nucleus_x
        assert arc.y == nucleus.y == parent.y + ROW_HEIGHT


def test_right_branching_nuclei_of_one_relation_form_one_group():
    diagram = lay_out(right_branching(7, "Joint-NN"), edu_width=150)
    (group,) = diagram.groups
    assert [node.start for node in group.nuclei] == list(range(7))
    assert len(diagram.lines) == 8
    assert {box.line_y for box in diagram.boxes} == {MARGIN + ROW_HEIGHT}


def test_other_nuclei_stay_apart():
    assert len(lay_out(left_branching(7, "Joint-NN"), edu_width=150).groups) == 6
    splits = [(0, 1, 3, "Joint-NN"), (1, 2, 3, "Contrast-NN")]
    assert len(lay_out(RstTree.from_splits(splits), edu_width=150).groups) == 2
    splits = [(0, 1, 3, "Contrast-NS"), (1, 2, 3, "Contrast-NN")]
    assert len(lay_out(RstTree.from_splits(splits), edu_width=150).groups) == 1


@pytest.mark.parametrize(
    "text",
    ["a few words that need several lines", "https://example.org/" + "path/" * 30, "中文" * 40,
     "سلام دنیا " * 10, "word中文word " * 9],
)  # fmt: skip
def test_wrapping_loses_nothing_and_fits(text):
    wrapped = wrap_text(text, max_width=100)
    assert "".join(wrapped.lines).replace(" ", "") == text.replace(" ", "")
    assert len(wrapped.lines) > 1
    assert wrapped.width <= 100
    assert max(map(text_width, wrapped.lines)) <= 100


def test_chinese_punctuation_does_not_begin_a_line():
    for width in range(40, 120):
        lines = wrap_text("他说，今天（星期一）下雨。" * 4, width).lines
        assert not any(line[0] in "，）。" for line in lines)
        assert not any(line.endswith("（") for line in lines)


def test_combining_marks_stay_with_their_letter():
    lines = wrap_text("e\u0301" * 100, 60).lines
    assert len(lines) > 1 and all(line[0] == "e" for line in lines)


def test_text_can_be_cut():
    wrapped = wrap_text("one two three", 200, max_chars=8)
    assert wrapped.lines == ("one two…",)
    assert wrapped.shortened
    assert not wrap_text("one two three", 200, max_chars=13).shortened
