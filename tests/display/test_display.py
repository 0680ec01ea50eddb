import subprocess
import sys

import pytest

import spacy_rst
from spacy_rst.display import render_tree
from spacy_rst.errors import RstError
from spacy_rst.tree import RstTree

from .trees import mixed_tree


def test_styles_are_told_apart():
    tree = mixed_tree()
    assert render_tree(tree, "svg").startswith("<svg ")
    assert render_tree(tree, "text", max_width=60).startswith("Background ")


def test_tree_draws_itself():
    tree = mixed_tree()
    assert tree.render("svg", edu_width=90) == render_tree(tree, "svg", edu_width=90)
    assert tree._repr_svg_() == render_tree(tree, "svg")
    assert str(tree) == render_tree(tree)


def test_tree_without_texts_can_be_drawn():
    tree = RstTree.from_splits([(0, 1, 2, "Contrast-NN")])
    assert tree.render().splitlines()[1:] == ["├─ N [1]", "└─ N [2]"]
    assert tree.render("svg").count('class="edu"') == 2


def test_unknown_style_names_the_known_ones():
    with pytest.raises(RstError, match="text, svg") as error:
        render_tree(mixed_tree(), "png")
    assert error.value.code == "R530"


@pytest.mark.parametrize(
    ("style", "options"),
    [
        ("text", {"max_width": 39}),
        ("text", {"max_indent": -1}),
        ("svg", {"edu_width": 10}),
        ("svg", {"edu_width": 99.5}),
        ("svg", {"max_edu_chars": 0}),
    ],
)
def test_options_without_room_are_refused(style, options):
    with pytest.raises(RstError, match=next(iter(options))) as error:
        render_tree(mixed_tree(), style, **options)
    assert error.value.code == "R530"


def test_renderers_are_imported_late_and_never_import_spacy():
    # A bare package in place of spacy_rst keeps its __init__, which does import spaCy, out of this.
    code = f"""
import sys, types
package = sys.modules["spacy_rst"] = types.ModuleType("spacy_rst")
package.__path__ = {list(spacy_rst.__path__)!r}
import spacy_rst.display
assert "spacy_rst.display.svg" not in sys.modules
assert "spacy_rst.display.text" not in sys.modules
from spacy_rst.tree import RstTree
for style in ("text", "svg"):
    RstTree.from_splits([(0, 1, 2, "Joint-NN")]).render(style)
assert "spacy" not in sys.modules and "torch" not in sys.modules
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
