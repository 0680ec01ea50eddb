"""`python -m spacy rst export`: trees from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from . import rst_app
from ._formats import TreeFormat
from ._outputs import choose_output
from ._texts import Origin
from ._trees import read_trees
from ._util import clean_errors, progress


@rst_app.command("export")
def export_cli(
    input_path: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A treebank file or a DocBin")
    ],
    output_path: Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder or file to write")],
    file_format: Annotated[
        TreeFormat, typer.Option("--format", "-f", help="What to write")
    ] = TreeFormat.rs3,
) -> None:
    """Write trees in another format, each to a file of its own.

    \b
    Example:
      python -m spacy rst export parsed.spacy trees/ --format rs3
    """
    with clean_errors("export"):
        n_written, n_without = export_trees(input_path, output_path, file_format)
        if n_without:
            msg.warn(f"{n_without} documents have no tree and were left out.")
        msg.good(f"Wrote {n_written} {file_format.value} files to {output_path}")


def export_trees(input_path: Path, output_path: str, file_format: TreeFormat) -> tuple[int, int]:
    """Write the trees of a file in another format.

    input_path (Path): A treebank file or a DocBin.
    output_path (str): The folder for the files, named after the documents, or a file.
    file_format (TreeFormat): What to write.
    RETURNS (Tuple[int, int]): How many were written, and how many had no tree.
    """
    n_written = n_without = 0
    output = choose_output(output_path, file_format)
    with output.open():
        for name, path, tree in progress(read_trees(input_path), f"Writing {file_format.value}"):
            if tree is None:
                n_without += 1
                continue
            output.write(Origin(name, str(path), path), tree)
            n_written += 1
    return n_written, n_without
