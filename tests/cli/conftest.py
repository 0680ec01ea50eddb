"""The command line in a folder of its own."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from spacy_rst.cli import rst_app


@pytest.fixture
def rst(tmp_path, monkeypatch):
    """Run a command from the test's folder, check its exit code, and give the result."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0, stdin=None):
        result = CliRunner().invoke(rst_app, list(map(str, arguments)), input=stdin)
        assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
        return result

    return run
