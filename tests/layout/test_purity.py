"""The room knows neither spaCy nor torch."""

from __future__ import annotations

from pathlib import Path

import spacy_rst

from ..processes import run_python

WITHOUT_SPACY = """
import sys, types
for name in ("spacy", "torch", "thinc", "numpy"):
    sys.modules[name] = None
package = types.ModuleType("spacy_rst")
package.__path__ = [sys.argv[1]]
sys.modules["spacy_rst"] = package
from spacy_rst.layout import read_html, read_markdown, read_plain
assert read_markdown("# T\\n\\nx").blocks == read_html("<h1>T</h1>x").blocks
assert len(read_plain("T\\n\\nx")) == 2
print("done")
"""


def test_layout_is_read_without_spacy_and_torch():
    package = Path(spacy_rst.__file__).parent
    assert run_python(WITHOUT_SPACY, str(package)).strip() == "done"
