"""What a tree can be written as."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from spacy.tokens import Span

from ..display import render_tree
from ..tree import RstTree

TABLE_COLUMNS = (
    "document", "relation", "nuclearity", "nucleus", "satellite", "nucleus_start", "nucleus_end",
    "satellite_start", "satellite_end", "depth", "score",
)  # fmt: skip


class TreeFormat(StrEnum):
    """What a tree can be written as."""

    text = "text"
    svg = "svg"
    html = "html"
    json = "json"
    jsonl = "jsonl"
    rs3 = "rs3"
    dis = "dis"
    tsv = "tsv"
    csv = "csv"

    @property
    def ending(self) -> str:
        """RETURNS (str): How the names of its files end."""
        return ".txt" if self is TreeFormat.text else f".{self.value}"

    @property
    def is_table(self) -> bool:
        """RETURNS (bool): Whether it has a row for each relation, below a row of headings."""
        return self in (TreeFormat.tsv, TreeFormat.csv)


def choose_format(
    chosen: TreeFormat | None, output_path: str | None, default: TreeFormat
) -> TreeFormat:
    """Tell the format from the name of the file where none was chosen.

    chosen (TreeFormat | None): What the user chose.
    output_path (str | None): Where the trees shall go.
    default (TreeFormat): The format for paths that tell nothing.
    RETURNS (TreeFormat): The format.
    """
    endings = {known.ending: known for known in TreeFormat}
    return chosen or endings.get(Path(output_path or "").suffix.lower(), default)


def format_tree(
    tree: RstTree | None,
    name: str,
    file_format: TreeFormat,
    *,
    fields: Mapping[str, Any] | None = None,
    color: bool = False,
) -> str | None:
    """Write a tree in a format.

    tree (RstTree | None): The tree, None for a document that has none.
    name (str): The document's name, which stands in JSONL and tables.
    file_format (TreeFormat): The format.
    fields (Mapping[str, Any] | None): What else stands in JSONL.
    color (bool): Draw text in colours.
    RETURNS (str | None): The content with a line break at its end. No tree is null in JSON and
        JSONL, and None in other formats.
    """
    if file_format is TreeFormat.jsonl:
        ours = {"name": name, "tree": tree_json(tree)}
        return json.dumps({"name": name, **(fields or {}), **ours}, ensure_ascii=False) + "\n"
    if file_format is TreeFormat.json:
        return json.dumps(tree_json(tree), ensure_ascii=False, indent=2) + "\n"
    if tree is None:
        return None
    if file_format.is_table:
        rows = ({"document": name, **record} for record in tree.to_records())
        return "".join(_table_row([row[key] for key in TABLE_COLUMNS], file_format) for row in rows)
    if file_format is TreeFormat.rs3:
        return tree.to_rs3()
    if file_format is TreeFormat.dis:
        return tree.to_dis()
    if file_format is TreeFormat.html:
        return render_tree(tree, "html", names=[name])
    options = {"color": color} if file_format is TreeFormat.text else {}
    return render_tree(tree, file_format.value, **options).rstrip("\n") + "\n"


def format_heading(file_format: TreeFormat) -> str:
    """RETURNS (str): What stands above the first tree of a file."""
    return _table_row(TABLE_COLUMNS, file_format) if file_format.is_table else ""


def _table_row(cells: Sequence[Any], file_format: TreeFormat) -> str:
    clean = ["" if cell is None else " ".join(str(cell).split()) for cell in cells]
    if file_format is TreeFormat.tsv:
        return "\t".join(clean) + "\n"
    row = io.StringIO()
    csv.writer(row, lineterminator="\n").writerow(clean)
    return row.getvalue()


def tree_json(tree: RstTree | None) -> dict[str, Any] | None:
    """Describe a tree as `doc._.rst_json` does.

    tree (RstTree | None): The tree.
    RETURNS (dict[str, Any] | None): What `RstTree.to_dict` gives, and the place of each EDU in the
        text if the tree hangs on a Doc.
    """
    if tree is None:
        return None
    data, edus = tree.to_dict(), tree.edus
    if isinstance(edus[0], Span):
        data["edu_chars"] = [[edu.start_char, edu.end_char] for edu in cast(Sequence[Span], edus)]
    return data
