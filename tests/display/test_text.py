import re

import pytest

from spacy_rst.display.characters import count_cells
from spacy_rst.display.colors import relation_color
from spacy_rst.display.text import render_text
from spacy_rst.tree import RstTree

from .trees import left_branching, mixed_tree, random_tree, right_branching, single

ANSI = re.compile("\x1b\\[[0-9;]*m")

MIXED_DRAWING = """\
Background S→N [1-6]
├─ S Attribution S→N [1-2]
│  ├─ S [1] She said
│  └─ N [2] it rained.
└─ N Elaboration N←S [3-6]
   ├─ N Joint N↔N [3-5]
   │  ├─ N [3] We stayed,
   │  └─ N Joint N↔N [4-5]
   │     ├─ N [4] we cooked
   │     └─ N [5] and we slept.
   └─ S [6] It was a good day, all things considered."""


def test_whole_drawing():
    assert render_text(mixed_tree(), max_width=80) == MIXED_DRAWING


def test_ascii_guides():
    drawing = render_text(mixed_tree(), max_width=40, ascii=True)
    assert drawing.isascii()
    assert drawing.splitlines()[1] == "|- S Attribution S->N [1-2]"
    assert drawing.splitlines()[-1].endswith("...")
    assert "?" in render_text(single("a\x07b"), max_width=40, ascii=True)


@pytest.mark.parametrize("max_width", [40, 60, 100])
@pytest.mark.parametrize("text", ["long " * 50, "中文" * 80, "سلام دنیا " * 30, "e\u0301" * 200])
def test_no_line_is_wider_than_asked(max_width, text):
    shape = random_tree(60, seed=3)
    tree = RstTree.from_splits(shape.splits, [text] * 60)
    lines = render_text(tree, max_width=max_width).splitlines()
    assert len(lines) == 2 * 60 - 1
    assert max(map(count_cells, lines)) in (max_width, max_width - 1)


def test_narrowest_width_has_room_for_large_trees():
    tree = right_branching(3000, "a-very-long-relation-name-from-some-treebank-NS")
    lines = render_text(tree, max_width=40).splitlines()
    assert max(map(count_cells, lines)) <= 40
    assert all(re.search(r"a-ver.*… N←S \[\d+-3000\]$", line) for line in lines[::2][:-1])


def test_width_of_the_terminal_is_the_default(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert count_cells(render_text(single("x" * 500))) == 50
    monkeypatch.setenv("COLUMNS", "10")
    assert count_cells(render_text(single("x" * 500))) == 40


def test_line_breaks_stay_inside_the_line():
    drawing = render_text(single("one\ntwo\r\n\tthree\u2028four"), max_width=80)
    assert drawing == "[1] one two three four"


@pytest.mark.parametrize("color", [False, True])
def test_no_control_character_of_the_input_gets_out(color):
    evil = "\x1b[31mred\x1b]0;title\x07 \x9b2J \x00 \u202etxt"
    tree = RstTree.from_splits([(0, 1, 2, f"Rel{evil}-NS")], [evil, "fine"])
    plain = render_text(tree, max_width=100, color=color)
    if color:
        plain = ANSI.sub("", plain)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", plain)
    assert "[1] \ufffd[31mred\ufffd]0;title" in plain


def test_colour_changes_nothing_else():
    tree = random_tree(30, seed=1)
    colored = render_text(tree, max_width=70, color=True)
    assert "\x1b[" in colored
    assert "\x1b" not in render_text(tree, max_width=70)
    assert ANSI.sub("", colored) == render_text(tree, max_width=70)


@pytest.mark.parametrize("relation", ["Elaboration", "elaboration-additional", "Cause"])
def test_colour_depends_on_the_relation(relation):
    drawing = render_text(right_branching(2, f"{relation}-NS"), color=True)
    assert drawing.startswith(f"\x1b[1;{relation_color(relation).ansi}m{relation}")


def test_deep_levels_are_folded():
    lines = render_text(right_branching(6), max_width=80, max_indent=2).splitlines()
    assert lines == [
        "Elaboration N←S [1-6]",
        "├─ N [1] This is unit 1.",
        "└─ S Elaboration N←S [2-6]",
        "   ├─ N [2] This is unit 2.",
        "   └─ S Elaboration N←S [3-6]",
        "      ┆3 N [3] This is unit 3.",
        "      ┆3 S Elaboration N←S [4-6]",
        "      ┆4 N [4] This is unit 4.",
        "      ┆4 S Elaboration N←S [5-6]",
        "      ┆5 N [5] This is unit 5.",
        "      ┆5 S [6] This is unit 6.",
    ]


def test_guides_go_on_past_folded_levels():
    lines = render_text(left_branching(4), max_width=80, max_indent=1).splitlines()
    assert [line.split(" This")[0] for line in lines] == [
        "Elaboration N←S [1-4]",
        "├─ N Elaboration N←S [1-3]",
        "│  ┆2 N Elaboration N←S [1-2]",
        "│  ┆3 N [1]",
        "│  ┆3 S [2]",
        "│  ┆2 S [3]",
        "└─ S [4]",
    ]
