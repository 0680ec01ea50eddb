"""DocBins on disk: finding, reading and writing `.spacy` files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors, RstError
from ..languages import blank_pipeline
from ..util import atomic_path, find_below

SUFFIX = ".spacy"
ATTRS = ("ORTH", "SPACY", "SENT_START", "POS", "HEAD", "DEP")


def find_docbins(path: str | Path | None) -> list[Path]:
    """List the `.spacy` files at a path.

    path (str | Path | None): A file, or a folder that is searched with all folders below it.
    RETURNS (list[Path]): The files, sorted.
    RAISES (RstError): If there is none.
    """
    files: list[Path] = []
    if path is not None and Path(path).exists():
        files = find_below(Path(path), (SUFFIX,))[0] if Path(path).is_dir() else [Path(path)]
    if not files:
        raise RstError(Errors.R221.format(path=path))
    return files


def read_docbin(path: str | Path, vocab: Vocab | None = None) -> Iterator[Doc]:
    """Read the Docs of a `.spacy` file.

    path (str | Path): The file.
    vocab (Vocab | None): The vocabulary, by default one for no language in particular.
    YIELDS (Doc): Its Docs.
    RAISES (RstError): If it is not a DocBin.
    """
    with _coded_errors(path):
        vocab = blank_pipeline().vocab if vocab is None else vocab
        yield from DocBin().from_disk(path).get_docs(vocab)


def count_docs(path: str | Path) -> int:
    """RETURNS (int): The number of Docs in a `.spacy` file, which are not made."""
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
    """Collect Docs with what a treebank's documents have: words, sentences, syntax, EDUs
    and user data.

    docs (Iterable[Doc]): The first Docs.
    RETURNS (DocBin): The DocBin.
    """
    return DocBin(attrs=list(ATTRS), store_user_data=True, docs=docs)


def write_docbin(path: str | Path, docbin: DocBin) -> None:
    """Write a `.spacy` file as a whole or not at all.

    path (str | Path): The file.
    docbin (DocBin): The Docs.
    """
    with atomic_path(path) as temporary:
        docbin.to_disk(temporary)
