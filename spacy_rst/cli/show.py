"""`python -m spacy rst show`: draw the trees of a file."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..treebank.convert import with_classes
from . import rst_app
from ._formats import TreeFormat
from ._outputs import choose_output
from ._texts import Origin
from ._trees import read_trees
from ._util import clean_errors


class Drawing(StrEnum):
    """The ways in which a tree can be drawn."""

    text = "text"
    svg = "svg"
    html = "html"


@rst_app.command("show")
def show_cli(
    input_path: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A treebank file or a DocBin")
    ],
    style: Annotated[
        Drawing, typer.Option("--format", "-f", "--style", help="How to draw")
    ] = Drawing.text,
    output_path: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write instead of standard output")
    ] = None,
    classes: Annotated[
        bool, typer.Option(help="Show the 18 classes instead of the file's labels")
    ] = False,
    color: Annotated[
        bool | None, typer.Option(help="Use colours. Default: where the output is a terminal")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many trees at most, 0 for all")] = 1,
) -> None:
    """Draw the trees of a treebank file (rs3, rs4, dis, DISRPT) or of a DocBin.

    \b
    Examples:
      python -m spacy rst show assets/sample/en/harbour_ferry.rs3
      python -m spacy rst show corpus.spacy --format svg --output tree.svg
      python -m spacy rst show corpus.spacy --format html --limit 20 --output trees.html
    """
    with clean_errors("show"):
        output = choose_output(output_path, TreeFormat(style.value), color=color)
        with output.open():
            for name, path, tree in islice(read_trees(input_path), limit or None):
                if tree is not None and classes:
                    tree = with_classes(tree, source=str(path))
                output.write(Origin(name, str(path), path), tree)
        if output_path is not None:
            msg.good(f"Wrote {output_path}")
