"""Translated documents as further training data: `spacy_rst.TranslatedCopies.v1`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from spacy.tokens import Doc
from spacy.util import registry
from spacy.vocab import Vocab

from ..doc import BLANKED_KEY, NAME_KEY, TRANSLATED_FROM_KEY, get_meta, original_language
from ..errors import Errors, RstError
from .docbin import find_docbins, read_docbin

Paths = list[str] | str | Path | None


@registry.readers("spacy_rst.TranslatedCopies.v1")
@dataclass(eq=False)
class TranslatedCopies:
    """Translated documents as further training data: the `augment` of a `spacy_rst.Corpus.v1`.

    Of what `python -m spacy rst translate` wrote, it takes the documents that were translated, not
    those that were in the target language before.

    A translation of a document has its tree, so one of a development or test document would give
    the answers away. Such documents are left out, with a warning. They are known by their names,
    without the language at the end that parallel treebanks add to them ("GUM_bio_byron_RU").

    path (list[str] | str | Path | None): What `python -m spacy rst translate` wrote: .spacy files
        or folders of them. One path, a list, or paths with commas between them.
    held_out (list[str] | str | Path | None): The development and test data, likewise.
    languages (list[str] | str | None): Take only documents that were translated from these
        languages: a list, or codes with commas between them.
    weight (float): How often a document is yielded in a pass, on average.
    """

    path: Paths
    held_out: Paths
    languages: list[str] | str | None = None
    weight: float = 1.0
    _warned: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.held_out:
            raise RstError(Errors.R640)
        check_weight("augment", self.weight)

    def sample(self, vocab: Vocab, draw: Random) -> Iterator[Doc]:
        """Read the documents, as often as their weight says.

        vocab (Vocab): The vocabulary.
        draw (Random): Decides about the part of a weight behind its point.
        YIELDS (Doc): The translated gold Docs.
        RAISES (RstError): If there are none.
        """
        for doc in self.read(vocab):
            yield from [doc] * draw_copies(self.weight, draw)

    def read(self, vocab: Vocab) -> Iterator[Doc]:
        """Read the documents, each once, without those that are held out.

        vocab (Vocab): The vocabulary.
        YIELDS (Doc): The translated gold Docs.
        RAISES (RstError): If there are none.
        """
        # A document without a name cannot be told from one that is held out.
        held_out = {None, *map(_shared_name, _read_all(self.held_out, vocab))}
        languages = listed(self.languages)
        n_taken, left_out = 0, []
        for doc in _read_all(self.path, vocab):
            is_translated = get_meta(doc, TRANSLATED_FROM_KEY) is not None
            if not is_translated or (languages and original_language(doc) not in languages):
                continue
            if _shared_name(doc) in held_out:
                left_out.append(str(get_meta(doc, NAME_KEY)))
                continue
            n_taken += 1
            yield doc
        if left_out and not self._warned:
            self._warned = True
            warnings.warn(Errors.R642.format(number=len(left_out), name=left_out[0]), stacklevel=2)
        if not n_taken:
            raise RstError(
                Errors.R641.format(
                    paths=self.path, n_held_out=len(left_out), languages=self.languages
                )
            )


def usable_docs(files: Iterable[Path], vocab: Vocab) -> Iterator[Doc]:
    """Read the documents that have words to learn from.

    files (Iterable[Path]): The `.spacy` files.
    vocab (Vocab): The vocabulary.
    YIELDS (Doc): Their Docs, but for empty ones and those with blanked words.
    """
    for file in files:
        for doc in read_docbin(file, vocab):
            if len(doc) and not get_meta(doc, BLANKED_KEY):
                yield doc


def listed(names: Sequence[str] | str | None) -> Sequence[str]:
    """RETURNS (Sequence[str]): Names as a list, also if they were given with commas between."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else names or ()


def check_weight(key: str, weight: float) -> None:
    """Refuse a sampling weight that is negative or no number.

    key (str): Whose weight it is.
    weight (float): The weight.
    """
    if not weight >= 0:
        raise RstError(Errors.R224.format(key=key, weight=weight))


def draw_copies(weight: float, draw: Random) -> int:
    """RETURNS (int): How often to yield a document of some weight this time."""
    return int(weight) + (draw.random() < weight % 1)


def _read_all(paths: Paths, vocab: Vocab) -> Iterator[Doc]:
    for path in (paths,) if isinstance(paths, Path) else listed(paths) or (None,):
        yield from usable_docs(find_docbins(path), vocab)


def _shared_name(doc: Doc) -> str | None:
    """Find the name that a document shares with its translations. None where it has no name."""
    name, language = get_meta(doc, NAME_KEY), str(original_language(doc))
    if name is None:
        return None
    return name.removesuffix(f"_{language}").removesuffix(f"_{language.upper()}")
