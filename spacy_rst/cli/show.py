"""`python -m spacy rst show`: draw the trees of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..display.html import render_html
from ..doc import NAME_KEY, document_fact, get_tree
from ..errors import RstError
from ..tree import RstTree
from ..treebank.binarize import binarize
from ..treebank.convert import find_files, read_file, with_classes
from ..treebank.docbin import read_docbin
from ..util import write_atomically
from . import rst_app
from ._util import clean_errors


class DrawingStyle(StrEnum):
    """The ways in which a tree can be drawn."""

    text = "text"
    svg = "svg"
    html = "html"


@rst_app.command("show")
def show_cli(
    input_path: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A treebank file or a DocBin")
    ],
    style: Annotated[DrawingStyle, typer.Option(help="How to draw")] = DrawingStyle.text,
    output: Annotated[
        Path | None, typer.Option(help="File to write instead of standard output")
    ] = None,
    classes: Annotated[
        bool, typer.Option(help="Show the 18 classes instead of the file's labels")
    ] = False,
    color: Annotated[
        bool | None, typer.Option(help="Use colours. Default: where the output is a terminal")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many trees at most, 0 for all")] = 1,
) -> None:
    """Draw the trees of a treebank file (rs3, rs4, dis, DISRPT) or of a DocBin.

    **Examples**

    `python -m spacy rst show assets/sample/en/harbour_ferry.rs3`

    `python -m spacy rst show corpus.spacy --style svg --output tree.svg`

    `python -m spacy rst show corpus.spacy --style html --limit 20 --output trees.html`
    """
    with clean_errors():
        chosen = list(islice(_trees(input_path), limit or None))
        names = [name for name, _ in chosen]
        trees = [tree for _, tree in chosen]
        if classes:
            trees = [with_classes(tree, source=str(input_path)) for tree in trees]
        if color is None:
            color = output is None and sys.stdout.isatty()
        drawing = _draw(names, trees, style, color)
        if output is None:
            typer.echo(drawing)
        else:
            write_atomically(output, drawing + "\n")
            msg.good(f"Wrote {output}")


def _draw(names: list[str], trees: list[RstTree], style: DrawingStyle, color: bool) -> str:
    if style is DrawingStyle.html:
        return render_html(trees, names=names)
    if style is DrawingStyle.svg:
        return "\n\n".join(tree.render("svg") for tree in trees)
    named = zip(names, trees, strict=True)
    return "\n\n".join(f"{name}\n{tree.render(color=color)}" for name, tree in named)


def _trees(input_path: Path) -> Iterator[tuple[str, RstTree]]:
    if input_path.suffix == ".spacy":
        for doc in read_docbin(input_path):
            tree = get_tree(doc)
            if tree is not None:
                yield document_fact(doc, NAME_KEY) or "", tree
        return
    for path in find_files(input_path):
        for document in read_file(path):
            if isinstance(document, RstError):
                raise document
            yield document.name, binarize(document)
