"""`python -m spacy rst export`: the trees of a DocBin as rs3, dis or JSON."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from spacy.tokens import Doc
from wasabi import msg

from ..doc import NAME_KEY, document_fact, get_json, get_tree
from ..errors import Errors, RstError
from ..treebank.docbin import read_docbin
from ..util import write_atomically
from . import rst_app
from ._util import FileNames, clean_errors, progress


class ExportFormat(StrEnum):
    """The formats that can be written."""

    rs3 = "rs3"
    dis = "dis"
    json = "json"


@rst_app.command("export")
def export_cli(
    input_path: Annotated[Path, typer.Argument(metavar="INPUT.spacy", help="The DocBin to read")],
    output_path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files shall go")],
    file_format: Annotated[
        ExportFormat, typer.Option("--format", help="What to write")
    ] = ExportFormat.rs3,
) -> None:
    """Write the tree of each document of a DocBin to a file of its own.

    **Example**

    `python -m spacy rst export parsed.spacy trees/ --format rs3`
    """
    with clean_errors():
        n_written, n_without = export_docs(input_path, output_path, file_format.value)
        if n_without:
            msg.warn(f"{n_without} documents have no tree and were left out.")
        msg.good(f"Wrote {n_written} {file_format.value} files to {output_path}")


def export_docs(input_path: Path, output_path: Path, file_format: str) -> tuple[int, int]:
    """Write the trees of a DocBin.

    input_path (Path): The `.spacy` file.
    output_path (Path): The folder for the files, named after the documents.
    file_format (str): "rs3", "dis" or "json".
    RETURNS (Tuple[int, int]): How many were written, and how many had no tree.
    """
    names = FileNames()
    n_written = n_without = 0
    for number, doc in enumerate(progress(read_docbin(input_path), f"Writing {file_format}")):
        content = tree_as(doc, file_format)
        if content is None:
            n_without += 1
            continue
        name = names.claim(document_fact(doc, NAME_KEY) or f"document_{number + 1}")
        write_atomically(output_path / f"{name}.{file_format}", content)
        n_written += 1
    return n_written, n_without


def tree_as(doc: Doc, file_format: str) -> str | None:
    """Write the tree of a Doc in a format.

    doc (Doc): The Doc.
    file_format (str): "rs3", "dis" or "json".
    RETURNS (Optional[str]): The content of the file, None where there is no tree.
    """
    tree = get_tree(doc)
    if tree is None:
        return None
    if file_format == "rs3":
        return tree.to_rs3()
    if file_format == "dis":
        return tree.to_dis()
    if file_format == "json":
        return json.dumps(get_json(doc), ensure_ascii=False, indent=2) + "\n"
    raise RstError(Errors.R502.format(name=file_format))
