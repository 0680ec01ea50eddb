"""DocBins on disk: finding, reading and writing `.spacy` files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors, RstError
from ..languages import blank_pipeline
from ..util import atomic_path
from .files import list_files

SUFFIX = ".spacy"
ATTRS = ("ORTH", "SPACY", "SENT_START", "POS", "HEAD", "DEP")


def find_docbins(path: str | Path | None) -> list[Path]:
    """List the `.spacy` files at a path, sorted: a file, or those in and below a folder."""
    if path is None:
        raise RstError(Errors.R220)
    return list_files(Path(path), (SUFFIX,))


def read_docbin(path: str | Path, vocab: Vocab | None = None) -> Iterator[Doc]:
    """Read the Docs of a `.spacy` file, by default with a vocabulary for no language."""
    with _coded_errors(path):
        vocab = blank_pipeline().vocab if vocab is None else vocab
        yield from DocBin().from_disk(path).get_docs(vocab)


def count_docs(path: str | Path) -> int:
    """Count the Docs of a `.spacy` file without making them."""
    with _coded_errors(path):
        return len(DocBin().from_disk(path))


@contextmanager
def _coded_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # zlib, msgpack, numpy and spaCy each have their own
        raise RstError(Errors.R501.format(path=path, error=error)) from error


def new_docbin(docs: Iterable[Doc] = ()) -> DocBin:
    """Collect Docs with words, sentences, syntax, EDUs and user data."""
    return DocBin(attrs=list(ATTRS), store_user_data=True, docs=docs)


def write_docbin(path: str | Path, docbin: DocBin) -> None:
    """Write a `.spacy` file as a whole or not at all."""
    with atomic_path(path) as temporary:
        docbin.to_disk(temporary)
