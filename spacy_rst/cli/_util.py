"""What the subcommands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from spacy.tokens import Doc, DocBin
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors, RstError
from ..treebank.convert import blank_pipeline

Item = TypeVar("Item")


@contextmanager
def clean_errors() -> Iterator[None]:
    """Show a problem as one message, without a traceback, and end with exit code 1."""
    try:
        yield
    except (RstError, OSError) as error:
        msg.fail(str(error), exits=1)


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterable[Item]:
    """Show a progress bar on standard error, if that is a terminal.

    items (Iterable): What to go through.
    description (str): What is being done.
    total (Optional[int]): How many there are, where `items` cannot tell.
    RETURNS (Iterable): The same items.
    """
    return tqdm(items, desc=description, total=total, unit="file", disable=not sys.stderr.isatty())


def read_docbin(path: Path) -> Iterator[Doc]:
    """Read the Docs of a `.spacy` file.

    path (Path): The file.
    YIELDS (Doc): Its Docs.
    """
    try:
        docbin = DocBin().from_disk(path)
    except OSError:
        raise
    except Exception as error:  # whatever zlib and msgpack raise on bytes that are no DocBin
        raise RstError(Errors.R501.format(path=path)) from error
    yield from docbin.get_docs(blank_pipeline("xx").vocab)
