"""The trees of files, whatever their format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..doc import NAME_KEY, get_meta, get_tree
from ..errors import Errors, RstError
from ..tree import RstTree
from ..treebank.binarize import binarize
from ..treebank.convert import SUFFIXES, read_file
from ..treebank.docbin import SUFFIX as DOCBIN_SUFFIX
from ..treebank.docbin import read_docbin
from ..util import find_below

TREES_HELP = "Trees: rs3, rs4, dis, DISRPT, JSON, a DocBin, or a folder of these"
LargestTreeOption = Annotated[
    bool, typer.Option(help="Keep the largest tree of a document that has several")
]
JSON_SUFFIXES = (".json", ".jsonl")
ENDINGS = (*SUFFIXES, DOCBIN_SUFFIX, *JSON_SUFFIXES)


class NamedTree(NamedTuple):
    """A tree from a file.

    name (str): The document's name.
    path (Path): The file.
    tree (RstTree | None): The tree, None for a document that has none.
    """

    name: str
    path: Path
    tree: RstTree | None


def read_trees(path: Path, *, largest_tree: bool = False) -> Iterator[NamedTree | RstError]:
    """Read trees in any format: rs3, rs4, dis, DISRPT, DocBins, and JSON as `parse` writes it.

    path (Path): A file, or a folder that is searched with all folders below it.
    largest_tree (bool): Keep the largest tree of a document that has several.
    YIELDS (NamedTree | RstError): The trees, binary and with the files' own labels, or why one
        cannot be read.
    RAISES (RstError): If there is nothing to read.
    """
    if not path.exists():
        raise RstError(Errors.R131.format(path=path))
    files, unreadable = [path], list[OSError]()
    if path.is_dir():
        files, unreadable = find_below(path, ENDINGS)
    elif path.suffix not in ENDINGS:
        raise RstError(Errors.R526.format(path=path, endings=", ".join(ENDINGS)))
    if not files and not unreadable:
        raise RstError(Errors.R132.format(path=path, suffixes=", ".join(ENDINGS)))
    for problem in unreadable:
        yield RstError(Errors.R134.format(path=problem.filename, error=problem))
    for file in files:
        try:
            yield from _read_file(file, largest_tree)
        except RstError as error:
            yield error
        except Exception as error:  # whatever is wrong with a file, the others can be read
            yield RstError(Errors.R134.format(path=file, error=str(error) or type(error).__name__))


def _read_file(path: Path, largest_tree: bool) -> Iterator[NamedTree | RstError]:
    if path.suffix == DOCBIN_SUFFIX:
        for number, doc in enumerate(read_docbin(path), start=1):
            name = get_meta(doc, NAME_KEY) or f"document_{number}"
            yield NamedTree(name, path, get_tree(doc))
    elif path.suffix == ".json":
        yield _read_json(path.read_bytes(), path, str(path))
    elif path.suffix == ".jsonl":
        lines = path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _read_json(line, path, f"{path}, line {number}")
    else:
        for document in read_file(path, largest_tree=largest_tree):
            if isinstance(document, RstError):
                yield document
            else:
                yield NamedTree(document.name, path, binarize(document))


def _read_json(content: bytes, path: Path, place: str) -> NamedTree | RstError:
    """Read a tree, or a line that holds a name and a tree."""
    try:
        data, name = json.loads(content), path.stem
        if path.suffix == ".jsonl":
            data, name = data["tree"], str(data["name"])
        return NamedTree(name, path, None if data is None else RstTree.from_dict(data))
    except Exception as error:  # whatever is wrong with it, the others can be read
        return RstError(Errors.R134.format(path=place, error=str(error) or type(error).__name__))
