"""Without the libraries of the extra `[analysis]`, everything but charts and topics works."""

from __future__ import annotations

from tests.processes import run_python

WITHOUT_EXTRA = """
import sys
sys.modules["sklearn"] = sys.modules["matplotlib"] = sys.modules["pyarrow"] = None
import importlib, pkgutil
import spacy_rst
from spacy_rst.errors import RstError
needing = []
for module in pkgutil.walk_packages(spacy_rst.__path__, "spacy_rst."):
    try:
        importlib.import_module(module.name)
    except RstError as error:
        assert error.code == "R090" and "spacy_rst[analysis]" in str(error)
        needing.append(module.name)
    except ModuleNotFoundError as error:  # what only `load_arrow` imports, for the extra [ray]
        assert (module.name, error.name) == ("spacy_rst.cli._arrow", "pyarrow")
print(*needing)

from typer.testing import CliRunner
from spacy_rst.cli import rst_app
for command in ("topics", "analyze"):
    result = CliRunner().invoke(rst_app, [command, "gold.spacy", "--output", "x"])
    assert result.exit_code == 1 and "R090" in result.output, result.output
"""


def test_only_charts_and_topics_need_the_extra():
    needing = run_python(WITHOUT_EXTRA).split()
    assert needing == ["spacy_rst.lab.charts", "spacy_rst.lab.files", "spacy_rst.lab.topics"]
