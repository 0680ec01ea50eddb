"""Turn the SVG into a picture with a real renderer. Needs rsvg-convert: make test-system."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from spacy_rst import RstTree

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
MISSING = "rsvg-convert is not there; `make test-system` installs it"

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason=MISSING),
]


@pytest.mark.parametrize("path", sorted(SAMPLE.glob("*/*.rs3")), ids=lambda path: path.stem)
def test_every_sample_tree_becomes_a_picture(path, tmp_path):
    tree = RstTree.from_rs3(path.read_text(encoding="utf8"))
    svg, png = tmp_path / "tree.svg", tmp_path / "tree.png"
    svg.write_text(tree.render("svg"), encoding="utf8")
    subprocess.run(["rsvg-convert", svg, "-o", png], check=True)
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert width > 60 * len(tree)
    assert height > 100
