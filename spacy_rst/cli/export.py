"""`python -m spacy rst export`: trees from one format to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from ..errors import Errors, RstError
from . import rst_app
from ._formats import TreeFormat, choose_format
from ._outputs import choose_output
from ._texts import Origin
from ._trees import TREES_HELP, LargestTreeOption, read_trees
from ._util import ParseCommand, Tally, clean_errors, progress


@rst_app.command("export", cls=ParseCommand)
def export_cli(
    input_path: Annotated[Path, typer.Argument(metavar="INPUT", help=TREES_HELP)],
    output_path: Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder or file to write")],
    file_format: Annotated[
        TreeFormat | None,
        typer.Option("--format", "-f", help="What to write. Default: as OUTPUT ends, or rs3"),
    ] = None,
    largest_tree: LargestTreeOption = False,
) -> None:
    """Write trees in another format.

    What cannot be read is reported; the rest is written all the same. Exit codes: 0 if all went
    well, 2 if some trees could not be read, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst export parsed.spacy trees/ --format rs3
      python -m spacy rst export article.rs3 article.dis
      python -m spacy rst export treebank/ relations.tsv
    """
    with clean_errors("export"):
        chosen = choose_format(file_format, output_path, default=TreeFormat.rs3)
        output = choose_output(output_path, chosen)
        tally = Tally()
        with output.open():
            trees = read_trees(input_path, largest_tree=largest_tree)
            for item in progress(trees, f"Writing {chosen.value}"):
                if isinstance(item, RstError):
                    tally.fail("export", item)
                    continue
                if output.would_overwrite(item.path.resolve()):
                    raise RstError(Errors.R522.format(output=output_path, input=item.path))
                output.check_room(tally.written)
                output.write(Origin(item.name, str(item.path), item.path), item.tree)
                tally.count(item.tree)
    tqdm.write(str(tally), file=sys.stderr)
    raise typer.Exit(tally.exit_code)
