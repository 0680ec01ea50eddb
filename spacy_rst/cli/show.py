"""`python -m spacy rst show`: draw the trees of a file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from ..errors import RstError
from ..tree import RstTree
from ..treebank.convert import with_classes
from . import rst_app
from ._formats import TreeFormat, choose_format
from ._outputs import choose_output
from ._texts import Origin
from ._trees import TREES_HELP, LargestTreeOption, read_trees
from ._util import clean_errors, report_problem


@rst_app.command("show")
def show_cli(
    input_path: Annotated[Path, typer.Argument(metavar="INPUT", help=TREES_HELP)],
    file_format: Annotated[
        TreeFormat | None,
        typer.Option(
            "--format", "-f", "--style", help="How to draw. Default: as OUTPUT ends, or text"
        ),
    ] = None,
    output_path: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Folder or file to write. Default: standard output"),
    ] = None,
    classes: Annotated[
        bool, typer.Option(help="Show the 18 classes instead of the file's labels")
    ] = False,
    color: Annotated[
        bool | None, typer.Option(help="Use colours. Default: where the output is a terminal")
    ] = None,
    largest_tree: LargestTreeOption = False,
    limit: Annotated[int, typer.Option(min=0, help="How many trees at most, 0 for all")] = 1,
) -> None:
    """Draw trees.

    \b
    Examples:
      python -m spacy rst show assets/sample/en/harbour_ferry.rs3
      python -m spacy rst show corpus.spacy --format svg --output tree.svg
      python -m spacy rst show corpus.spacy --format html --limit 20 --output trees.html
    """
    with clean_errors("show"):
        chosen = choose_format(file_format, output_path, default=TreeFormat.text)
        output = choose_output(output_path, chosen, color=color)
        trees = _read_drawable(input_path, largest_tree)
        with output.open():
            for number, (name, path, tree) in enumerate(islice(trees, limit or None)):
                output.check_room(number)
                shown = with_classes(tree, source=str(path)) if classes else tree
                output.write(Origin(name, str(path), path), shown)
        if next(trees, None) is not None:
            report_problem("show", f"{input_path} has more trees. --limit 0 shows all of them.")


def _read_drawable(path: Path, largest_tree: bool) -> Iterator[tuple[str, Path, RstTree]]:
    for item in read_trees(path, largest_tree=largest_tree):
        if isinstance(item, RstError):
            report_problem("show", item)
        elif item.tree is not None:
            yield item.name, item.path, item.tree
