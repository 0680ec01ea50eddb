"""What a tree can be written as."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

from spacy.tokens import Span

from ..display.html import render_html
from ..display.svg import render_svg
from ..display.text import render_text
from ..tree import RstTree
from ._inputs import Origin

TABLE_COLUMNS = (
    "document", "relation", "nuclearity", "nucleus", "satellite", "nucleus_start", "nucleus_end",
    "satellite_start", "satellite_end", "depth", "score",
)  # fmt: skip


class TreeFormat(StrEnum):
    """The names of the formats."""

    text = "text"
    svg = "svg"
    html = "html"
    json = "json"
    jsonl = "jsonl"
    rs3 = "rs3"
    dis = "dis"
    tsv = "tsv"
    csv = "csv"


class Format(NamedTuple):
    """How a format is written: the ending of its files, what writes a tree, whether a file has room
    for several, and what stands above the first of them."""

    ending: str
    write: Callable[[RstTree, Origin], str]
    holds_many: bool = False
    heading: str = ""


def tree_json(tree: RstTree) -> dict[str, Any]:
    """Describe a tree as `doc._.rst_json` does: with the place of each EDU if it is on a Doc."""
    data, edus = tree.to_dict(), tree.edus
    if isinstance(edus[0], Span):
        data["edu_chars"] = [[edu.start_char, edu.end_char] for edu in cast(Sequence[Span], edus)]
    return data


def json_line(fields: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> str:
    """Write a line of JSONL: the name first, then the fields of the input, then ours."""
    return json.dumps({"name": "", **(fields or {}), **ours}, ensure_ascii=False) + "\n"


def _write_json(tree: RstTree, _: Origin) -> str:
    return json.dumps(tree_json(tree), ensure_ascii=False, indent=2) + "\n"


def _write_jsonl(tree: RstTree | None, origin: Origin) -> str:
    return json_line(origin.fields, {"name": origin.name, "tree": tree and tree_json(tree)})


def _table(ending: str, **dialect: Any) -> Format:
    """Make a format that has a row for each relation."""

    def row(cells: Sequence[str]) -> str:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n", **dialect).writerow(cells)
        return line.getvalue()

    def write(tree: RstTree, origin: Origin) -> str:
        records = ({"document": origin.name, **record} for record in tree.to_records())
        return "".join(row([_cell(record[key]) for key in TABLE_COLUMNS]) for record in records)

    return Format(ending, write, holds_many=True, heading=row(TABLE_COLUMNS))


def _cell(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


FORMATS = {
    TreeFormat.text: Format(".txt", lambda tree, _: render_text(tree) + "\n", holds_many=True),
    TreeFormat.svg: Format(".svg", lambda tree, _: render_svg(tree) + "\n"),
    TreeFormat.html: Format(
        ".html", lambda tree, origin: render_html(tree, names=[origin.name]), holds_many=True
    ),
    TreeFormat.json: Format(".json", _write_json),
    TreeFormat.jsonl: Format(".jsonl", _write_jsonl, holds_many=True),
    TreeFormat.rs3: Format(".rs3", lambda tree, _: tree.to_rs3()),
    TreeFormat.dis: Format(".dis", lambda tree, _: tree.to_dis()),
    TreeFormat.tsv: _table(".tsv", delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None),
    TreeFormat.csv: _table(".csv"),
}


def choose_format(
    chosen: TreeFormat | None, output_path: str | None, default: TreeFormat
) -> TreeFormat:
    """Tell the format from the name of the file where none was chosen."""
    known = {entry.ending: name for name, entry in FORMATS.items()}
    return chosen or known.get(Path(output_path or "").suffix.lower(), default)


def format_tree(tree: RstTree | None, origin: Origin, file_format: TreeFormat) -> str | None:
    """Write a tree in a format, with a line break at its end. No tree is null in JSON and JSONL,
    and None in other formats."""
    if tree is not None:
        return FORMATS[file_format].write(tree, origin)
    if file_format is TreeFormat.jsonl:
        return _write_jsonl(None, origin)
    return "null\n" if file_format is TreeFormat.json else None
