"""What all drawings have in common."""

import pytest

import spacy_rst
from spacy_rst.display import render_tree
from spacy_rst.errors import RstError
from spacy_rst.tree import RstTree

from ..processes import run_python
from .trees import left_branching, mixed_tree, right_branching


@pytest.mark.parametrize(
    ("style", "options", "start"),
    [
        ("text", {"max_width": 60}, "Background "),
        ("svg", {"edu_width": 90}, "<svg "),
        ("html", {"title": "x"}, "<!DOCTYPE html>"),
    ],
)
def test_tree_draws_itself(style, options, start):
    tree = mixed_tree()
    drawing = render_tree(tree, style, **options)
    assert drawing.startswith(start)
    assert drawing == tree.render(style, **options) == spacy_rst.render(tree, style, None, options)
    assert tree._repr_svg_() == render_tree(tree, "svg") and str(tree) == render_tree(tree)


@pytest.mark.parametrize("branching", [left_branching, right_branching])
@pytest.mark.parametrize("label", ["Elaboration-NS", "Background-SN", "Joint-NN"])
@pytest.mark.parametrize("style", ["text", "svg", "html"])
def test_drawings_grow_linearly(branching, label, style):
    empty = len(render_tree(branching(1, label), style))
    short, long = (len(render_tree(branching(n, label), style)) - empty for n in (200, 2000))
    assert long < 12 * short


def test_tree_without_texts_can_be_drawn():
    tree = RstTree.from_splits([(0, 1, 2, "Contrast-NN")])
    assert tree.render().splitlines()[1:] == ["├─ N [1]", "└─ N [2]"]
    assert tree.render("svg").count('class="edu"') == 2


@pytest.mark.parametrize(
    ("style", "options"),
    [
        ("text", {"max_width": 39}),
        ("text", {"max_indent": -1}),
        ("svg", {"edu_width": 10}),
        ("svg", {"edu_width": 99.5}),
        ("svg", {"max_edu_chars": 0}),
        ("html", {"levels": 0}),
        ("html", {"names": ["a", "b"]}),
    ],
)
def test_senseless_options_are_refused(style, options):
    with pytest.raises(RstError, match=next(iter(options))) as error:
        render_tree(mixed_tree(), style, **options)
    assert error.value.code == "R300"


@pytest.mark.parametrize("draw", [render_tree, spacy_rst.render])
def test_unknown_style_names_the_known_ones(draw):
    with pytest.raises(RstError, match=r"R300.*text, svg, html"):
        draw(mixed_tree(), style="png")


def test_renderers_are_imported_late_and_never_import_spacy():
    # A bare package in place of spacy_rst keeps its __init__, which does import spaCy, out of this.
    code = """
import sys, types
package = sys.modules["spacy_rst"] = types.ModuleType("spacy_rst")
package.__path__ = [sys.argv[1]]
from spacy_rst.tree import RstTree
for style in ("text", "svg", "html"):
    assert f"spacy_rst.display.{style}" not in sys.modules
    RstTree.from_splits([(0, 1, 2, "Joint-NN")]).render(style)
assert not {"spacy", "torch", "spacy_rst.display.server"} & sys.modules.keys()
"""
    run_python(code, spacy_rst.__path__[0])
