"""`python -m spacy rst show`: draw the trees of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated

from spacy.cli._util import Opt

from ..tree import RstTree
from ..treebank.convert import with_classes
from . import rst_app
from ._formats import TreeFormat, choose_format
from ._inputs import Origin, Outcome, read_trees
from ._options import Classes, Format, LargestTree, OutputPlace, TreesInput
from ._outputs import choose_output
from ._util import clean_errors, report_problem


@rst_app.command("show")
def show_cli(
    input_path: TreesInput,
    file_format: Format = None,
    output_path: OutputPlace = None,
    classes: Classes = False,
    color: Annotated[bool | None, Opt(help="Use colours. Default: in a terminal")] = None,
    largest_tree: LargestTree = False,
    limit: Annotated[int, Opt(min=0, help="How many trees at most, 0 for all")] = 1,
) -> None:
    """Draw the trees of a file.

    Without --format and --output they are drawn in the terminal.

    \b
    Examples:
      python -m spacy rst show assets/sample/en/harbour_ferry.rs3
      python -m spacy rst show corpus.spacy --format svg --output tree.svg
      python -m spacy rst show corpus.spacy --format html --limit 20 --output trees.html
    """
    with clean_errors("show"):
        chosen = choose_format(file_format, output_path, default=TreeFormat.text)
        output = choose_output(output_path, chosen, color=color)
        trees = _drawable(read_trees(input_path, largest_tree=largest_tree))
        with output.open():
            for number, (origin, tree) in enumerate(islice(trees, limit or None)):
                output.check_room(number)
                shown = with_classes(tree, source=origin.place) if classes else tree
                output.write(origin, shown)
        if next(trees, None) is not None:
            report_problem("show", f"{input_path} has more trees. --limit 0 shows all of them.")


def _drawable(outcomes: Iterable[Outcome]) -> Iterator[tuple[Origin, RstTree]]:
    for origin, tree in outcomes:
        if isinstance(tree, Exception):
            report_problem("show", tree)
        elif tree is not None:
            yield origin, tree
