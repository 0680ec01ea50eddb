"""The trees of files, whatever their format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..doc import NAME_KEY, document_fact, get_tree
from ..errors import RstError
from ..tree import RstTree
from ..treebank.binarize import binarize
from ..treebank.convert import find_files, read_file
from ..treebank.docbin import read_docbin


class NamedTree(NamedTuple):
    """A tree from a file.

    name (str): The document's name.
    path (Path): The file.
    tree (RstTree | None): The tree, None for a Doc that has none.
    """

    name: str
    path: Path
    tree: RstTree | None


def read_trees(path: Path) -> Iterator[NamedTree]:
    """Read trees.

    path (Path): A `.spacy` file, a treebank file, or a folder of treebank files.
    YIELDS (NamedTree): The trees, with the files' own labels.
    RAISES (RstError): If a file cannot be read.
    """
    if path.suffix == ".spacy":
        for number, doc in enumerate(read_docbin(path), start=1):
            yield NamedTree(
                document_fact(doc, NAME_KEY) or f"document_{number}", path, get_tree(doc)
            )
        return
    for file in find_files(path):
        for document in read_file(file):
            if isinstance(document, RstError):
                raise document
            yield NamedTree(document.name, file, binarize(document))
