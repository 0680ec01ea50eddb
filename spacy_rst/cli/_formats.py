"""What a tree can be written as."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from spacy.tokens import Span

from ..display import render_tree
from ..tree import RstTree


class TreeFormat(StrEnum):
    """What a tree can be written as."""

    text = "text"
    svg = "svg"
    html = "html"
    json = "json"
    jsonl = "jsonl"
    rs3 = "rs3"
    dis = "dis"

    @property
    def ending(self) -> str:
        """RETURNS (str): How the names of its files end."""
        return ".txt" if self is TreeFormat.text else f".{self.value}"


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
    name (str): The document's name, which stands in JSONL.
    file_format (TreeFormat): The format.
    fields (Mapping[str, Any] | None): What else stands in JSONL.
    color (bool): Draw text in colours.
    RETURNS (str | None): The content with a line break at its end. No tree is null in JSON and
        JSONL, and None in other formats.
    """
    if file_format is TreeFormat.jsonl:
        line = {"name": name, **(fields or {}), "tree": tree_json(tree)}
        return json.dumps({**line, "name": name}, ensure_ascii=False) + "\n"
    if file_format is TreeFormat.json:
        return json.dumps(tree_json(tree), ensure_ascii=False, indent=2) + "\n"
    if tree is None:
        return None
    if file_format is TreeFormat.rs3:
        return tree.to_rs3()
    if file_format is TreeFormat.dis:
        return tree.to_dis()
    if file_format is TreeFormat.html:
        return render_tree(tree, "html", names=[name])
    options = {"color": color} if file_format is TreeFormat.text else {}
    return render_tree(tree, file_format.value, **options).rstrip("\n") + "\n"


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
