"""PNG and PDF, made with the real library, looked at pixel by pixel."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread

from spacy_rst.display.geometry import GAP, lay_out
from spacy_rst.display.pictures import render_pdf, render_png
from spacy_rst.errors import RstError
from spacy_rst.tree import RstTree

from ..sample import SAMPLE
from .trees import mixed_tree, random_tree, single

PERSIAN = ["هوا سرد بود،", "اما ما به پارک Central Park رفتیم،", "که در سال ۱۹۹۹ ساخته شد."]
CHINESE = ["虽然下着雨，", "我们还是去了公园，", "但是很快就回家了。"]
ENGLISH = ["It was cold,", "but we went to Central Park,", "which was built in 1999."]
SPLITS = [(0, 1, 3, "Background-SN"), (1, 2, 3, "Elaboration-NS")]


def pixels(png: bytes) -> np.ndarray:
    return imread(io.BytesIO(png))[..., :3]


def size_of(tree: RstTree) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', tree.render("svg"))
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("scale", [1, 2, 0.5])
def test_png_has_the_size_of_the_svg(scale):
    width, height = size_of(mixed_tree())
    shape = pixels(render_png(mixed_tree(), scale=scale)).shape
    assert shape == (round(height * scale), round(width * scale), 3)


# Typst brings fonts for Latin scripts alone.
needs_fonts = pytest.mark.system


@pytest.mark.parametrize(
    "edus",
    [pytest.param(PERSIAN, marks=needs_fonts), pytest.param(CHINESE, marks=needs_fonts), ENGLISH],
)
def test_texts_are_drawn_inside_their_boxes(edus):
    tree = RstTree.from_splits(SPLITS, edus)
    picture = pixels(render_png(tree, scale=1))
    diagram = lay_out(tree, 150, mirror=edus is PERSIAN)
    bottom = diagram.boxes[0].top + 30
    for box in diagram.boxes:
        left, right = box.x - box.width // 2, box.x + box.width // 2
        rows = slice(box.top + 15, box.top + box.height - 2)
        assert picture[rows, left + 3 : right - 3].min() < 0.5  # ink
        assert picture[bottom:, right + 2 : right + GAP - 2].min() == 1  # nothing but paper
    empty = pixels(render_png(RstTree.from_splits(SPLITS, [""] * 3), scale=1))
    assert empty[diagram.boxes[0].top + 15 :].min() > 0.5


@needs_fonts
def test_signs_of_one_letter_are_set_together():
    """Vowels that stand before or above their consonant take no room of their own."""
    consonants, syllables = (
        pixels(render_png(single(text), scale=1))[40:, 20:] for text in ("कककककक", "किकोकैकीकुकि")
    )
    ends = [
        np.flatnonzero(picture.min(axis=(0, 2)) < 0.5).max() for picture in (consonants, syllables)
    ]
    assert ends[1] < 2 * ends[0]


@pytest.mark.system
@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="`make test-system` installs it")
@pytest.mark.parametrize("path", sorted(SAMPLE.glob("*/*.rs3")), ids=lambda path: path.stem)
def test_another_program_draws_the_svg(path, tmp_path):
    tree = RstTree.from_rs3(path.read_text(encoding="utf8"))
    svg, png = tmp_path / "tree.svg", tmp_path / "tree.png"
    svg.write_text(tree.render("svg"), encoding="utf8")
    subprocess.run(["rsvg-convert", svg, "-o", png], check=True)
    height, width, _ = pixels(png.read_bytes()).shape
    assert width > 60 * len(tree) and height > 100


def test_options_of_the_svg_hold():
    assert render_png(mixed_tree(), edu_width=90) != render_png(mixed_tree())
    with pytest.raises(RstError, match="R300"):
        render_png(mixed_tree(), edu_width=1)


def test_trees_draw_themselves():
    tree = mixed_tree()
    assert tree.to_png(scale=1) == render_png(tree, scale=1)
    assert tree.to_pdf() == render_pdf(tree)


def test_pdf():
    pdf = render_pdf(RstTree.from_splits(SPLITS, PERSIAN))
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    assert len(pdf) > len(render_pdf(single("")))


@pytest.mark.parametrize(
    ("tree", "scale"),
    [(mixed_tree(), scale) for scale in (0, -1, float("nan"), float("inf"), "2")]
    + [(random_tree(2000), 2)],  # no memory holds it
)
def test_scales_without_room_are_refused(tree, scale):
    with pytest.raises(RstError, match=r"R300.*scale.*PDF"):
        render_png(tree, scale=scale)


def test_the_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    for render in (render_png, render_pdf):
        with pytest.raises(RstError, match=r"R090.*spacy_rst\[pictures\]"):
            render(mixed_tree())
