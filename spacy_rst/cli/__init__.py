"""The command line: `python -m spacy rst COMMAND`."""

from __future__ import annotations

import typer
from spacy.cli._util import app as spacy_app

rst_app = typer.Typer(
    name="rst",
    help="Discourse trees: convert, look at and export RST treebanks, and score parsers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
spacy_app.add_typer(rst_app)

from . import (  # noqa: E402, F401  (registering the commands)
    analyze,
    bundle,
    convert,
    evaluate,
    experiments,
    export,
    parse,
    prepare,
    show,
    split,
    topics,
    translate,
)
