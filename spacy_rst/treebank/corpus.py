"""The training reader `spacy_rst.Corpus.v1`: converted treebanks as Examples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..doc import (
    BLANKED_KEY,
    EDUS_KEY,
    LANGUAGE_KEY,
    NAME_KEY,
    TRANSLATED_FROM_KEY,
    TREEBANK_KEY,
    set_edus,
)
from ..errors import Errors, RstError

SUFFIX = ".spacy"


@registry.readers("spacy_rst.Corpus.v1")
def make_corpus(
    path: Path | None,
    gold_edus: bool = True,
    gold_sentences: bool = False,
    languages: list[str] | str | None = None,
    treebanks: list[str] | str | None = None,
    min_edus: int = 0,
    max_edus: int = 0,
    limit: int = 0,
    sampling_weights: dict[str, float] | None = None,
    resample: bool = False,
    shuffle: bool = False,
    seed: int = 0,
    augment: TranslatedCopies | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """Make a reader of converted treebanks.

    path (Path | None): A .spacy file, or a folder that holds some at any depth.
    gold_edus (bool): Put the gold EDUs on the predicted Docs. Without them a segmenter must come
        before the parser.
    gold_sentences (bool): Put the gold sentence boundaries on the predicted Docs, where there are
        any.
    languages (list[str] | str | None): Read only documents in these languages: a list, or codes
        with commas between them.
    treebanks (list[str] | str | None): Read only documents of these treebanks, likewise.
    min_edus (int): Leave out documents with fewer EDUs.
    max_edus (int): Leave out documents with more EDUs; 0 for no limit.
    limit (int): Read at most so many documents; 0 for no limit.
    sampling_weights (dict[str, float] | None): How often a document of a treebank or language is
        yielded in a pass, on average: `{"eu": 2.0, "ru": 0.5}`. A treebank's own weight comes
        before its language's; the others have 1.
    resample (bool): Draw the sample anew in each pass, instead of once for all. A pass is an epoch
        if `[training] max_epochs` is -1; otherwise spaCy makes one pass and keeps it.
    shuffle (bool): Yield the documents in a new order in each pass. For `max_epochs = -1`; in other
        cases spaCy shuffles by itself.
    seed (int): Makes sample and order repeatable.
    augment (TranslatedCopies | None): Translated documents to train on, too: a
        `spacy_rst.TranslatedCopies.v1`. They come after all others.
    RETURNS (Callable[[Language], Iterator[Example]]): The reader.
    """
    return Corpus(
        path,
        gold_edus=gold_edus,
        gold_sentences=gold_sentences,
        languages=languages,
        treebanks=treebanks,
        min_edus=min_edus,
        max_edus=max_edus,
        limit=limit,
        sampling_weights=sampling_weights,
        resample=resample,
        shuffle=shuffle,
        seed=seed,
        augment=augment,
    )


class Corpus:
    """Reads converted treebanks. See `make_corpus` for the arguments."""

    def __init__(
        self,
        path: str | Path | None,
        *,
        gold_edus: bool = True,
        gold_sentences: bool = False,
        languages: Sequence[str] | str | None = None,
        treebanks: Sequence[str] | str | None = None,
        min_edus: int = 0,
        max_edus: int = 0,
        limit: int = 0,
        sampling_weights: Mapping[str, float] | None = None,
        resample: bool = False,
        shuffle: bool = False,
        seed: int = 0,
        augment: TranslatedCopies | None = None,
    ) -> None:
        for key, weight in (sampling_weights or {}).items():
            if not weight >= 0:
                raise RstError(Errors.R224.format(key=key, weight=weight))
        self.path = None if path is None else Path(path)
        self.gold_edus = gold_edus
        self.gold_sentences = gold_sentences
        self.languages = _names(languages)
        self.treebanks = _names(treebanks)
        self.min_edus = min_edus
        self.max_edus = max_edus
        self.limit = limit
        self.sampling_weights = sampling_weights
        self.resample = resample
        self.shuffle = shuffle
        self.seed = seed
        self.augment = augment
        self._passes = 0
        self._kept: tuple[Vocab, list[Doc]] | None = None

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Read the documents.

        nlp (Language): The pipeline that will get the Docs.
        YIELDS (Example): Each document, with its gold tokens on both sides.
        RAISES (RstError): If there are no documents.
        """
        drawn = self._passes if self.resample else 0
        order = Random(f"{self.seed} order {self._passes}")
        self._passes += 1
        docs = self._sample(self.read(nlp.vocab), Random(f"{self.seed} draw {drawn}"))
        if self.augment is not None:
            # Drawn by themselves, so that they change nothing in the sample of the others.
            copies = self.augment.sample(nlp.vocab, Random(f"{self.seed} copies {drawn}"))
            docs = chain(docs, filter(self._has_fitting_size, copies))
        if self.shuffle:
            shuffled = list(docs)
            order.shuffle(shuffled)
            docs = iter(shuffled)
        for doc in docs:
            yield make_example(
                nlp, doc, gold_edus=self.gold_edus, gold_sentences=self.gold_sentences
            )

    def read(self, vocab: Vocab) -> Iterator[Doc]:
        """Read the gold Docs that fit the filters, each once. They are kept in memory: to
        initialize a pipeline spaCy makes several passes, and reading takes longer than the rest.

        vocab (Vocab): The vocabulary.
        YIELDS (Doc): The gold Docs.
        RAISES (RstError): If there are none.
        """
        if self._kept is None or self._kept[0] is not vocab:
            self._kept = vocab, list(self._read_files(vocab))
        yield from self._kept[1]

    def _read_files(self, vocab: Vocab) -> Iterator[Doc]:
        n_docs = n_fitting = 0
        languages: set[str] = set()
        treebanks: set[str] = set()
        for path in self._files():
            for doc in _read_docbin(path, vocab):
                n_docs += 1
                languages.add(str(doc.user_data.get(LANGUAGE_KEY)))
                treebanks.add(str(doc.user_data.get(TREEBANK_KEY)))
                if not self._fits(doc):
                    continue
                n_fitting += 1
                yield doc
                if n_fitting == self.limit:
                    return
        if not n_fitting:
            raise RstError(
                Errors.R223.format(
                    n_docs=n_docs,
                    path=self.path,
                    filters=f"languages: {self.languages}, treebanks: {self.treebanks}, "
                    f"EDUs: {self.min_edus} to {self.max_edus or 'any number'}, with text",
                    languages=", ".join(sorted(languages)),
                    treebanks=", ".join(sorted(treebanks)),
                )
            )

    def _files(self) -> list[Path]:
        if self.path is None:
            raise RstError(Errors.R220)
        if not self.path.exists():
            raise RstError(Errors.R221.format(path=self.path))
        if not self.path.is_dir():
            return [self.path]
        files = sorted(self.path.rglob(f"*{SUFFIX}"))
        if not files:
            raise RstError(Errors.R222.format(path=self.path))
        return files

    def _fits(self, doc: Doc) -> bool:
        data = doc.user_data
        return (
            len(doc) > 0
            and not data.get(BLANKED_KEY)
            and (self.languages is None or data.get(LANGUAGE_KEY) in self.languages)
            and (self.treebanks is None or data.get(TREEBANK_KEY) in self.treebanks)
            and self._has_fitting_size(doc)
        )

    def _has_fitting_size(self, doc: Doc) -> bool:
        n_edus = len(doc.spans[EDUS_KEY]) if EDUS_KEY in doc.spans else 0
        return n_edus >= self.min_edus and (not self.max_edus or n_edus <= self.max_edus)

    def _sample(self, docs: Iterator[Doc], draw: Random) -> Iterator[Doc]:
        if not self.sampling_weights:
            yield from docs
            return
        for doc in docs:
            weight = self.sampling_weights.get(str(doc.user_data.get(LANGUAGE_KEY)), 1.0)
            weight = self.sampling_weights.get(str(doc.user_data.get(TREEBANK_KEY)), weight)
            yield from [doc] * _copies(weight, draw)


@registry.readers("spacy_rst.TranslatedCopies.v1")
class TranslatedCopies:
    """Translated documents as further training data: the `augment` of a `spacy_rst.Corpus.v1`.

    Of what `python -m spacy rst translate` wrote, it takes the documents that were translated, not
    those that were in the target language before.

    A translation of a document has its tree, so one of a development or test document would give
    the answers away. Such documents are left out, with a warning. They are known by their names,
    without the language at the end that parallel treebanks add to them ("GUM_bio_byron_RU").
    """

    def __init__(
        self,
        path: list[str] | str | Path | None,
        held_out: list[str] | str | Path | None,
        languages: list[str] | str | None = None,
        weight: float = 1.0,
    ) -> None:
        """Make the reader.

        path (list[str] | str | Path | None): What `python -m spacy rst translate` wrote: .spacy
            files or folders of them. One path, a list, or paths with commas between them.
        held_out (list[str] | str | Path | None): The development and test data, likewise.
        languages (list[str] | str | None): Take only documents that were translated from these
            languages: a list, or codes with commas between them.
        weight (float): How often a document is yielded in a pass, on average.
        RAISES (RstError): If there are no held-out data or the weight is negative.
        """
        self.paths = _paths(path)
        self.held_out = _paths(held_out)
        self.languages = _names(languages)
        self.weight = weight
        self._warned = False
        if not self.held_out:
            raise RstError(Errors.R640)
        if not weight >= 0:
            raise RstError(Errors.R224.format(key="augment", weight=weight))

    def sample(self, vocab: Vocab, draw: Random) -> Iterator[Doc]:
        """Read the documents, as often as their weight says.

        vocab (Vocab): The vocabulary.
        draw (Random): Decides about the part of a weight behind its point.
        YIELDS (Doc): The translated gold Docs.
        RAISES (RstError): If there are none.
        """
        for doc in self.read(vocab):
            yield from [doc] * _copies(self.weight, draw)

    def read(self, vocab: Vocab) -> Iterator[Doc]:
        """Read the documents, each once, without those that are held out.

        vocab (Vocab): The vocabulary.
        YIELDS (Doc): The translated gold Docs.
        RAISES (RstError): If there are none.
        """
        # A document without a name cannot be told from one that is held out.
        held_out = {None, *(_shared_name(doc) for doc in _read_all(self.held_out, vocab))}
        n_taken, left_out = 0, []
        for doc in _read_all(self.paths or [None], vocab):
            if not self._fits(doc):
                continue
            if _shared_name(doc) in held_out:
                left_out.append(str(doc.user_data.get(NAME_KEY)))
                continue
            n_taken += 1
            yield doc
        if left_out and not self._warned:
            self._warned = True
            warnings.warn(Errors.R642.format(number=len(left_out), name=left_out[0]), stacklevel=2)
        if not n_taken:
            paths = ", ".join(map(str, self.paths))
            raise RstError(
                Errors.R641.format(paths=paths, n_held_out=len(left_out), languages=self.languages)
            )

    def _fits(self, doc: Doc) -> bool:
        is_translated = TRANSLATED_FROM_KEY in doc.user_data
        return is_translated and (
            self.languages is None or _original_language(doc) in self.languages
        )


def _read_all(paths: Iterable[Path | None], vocab: Vocab) -> Iterator[Doc]:
    return chain.from_iterable(Corpus(path).read(vocab) for path in paths)


def _original_language(doc: Doc) -> str | None:
    data = doc.user_data
    return data.get(TRANSLATED_FROM_KEY, {}).get("language", data.get(LANGUAGE_KEY))


def _shared_name(doc: Doc) -> str | None:
    """Find the name that a document shares with its translations. None where it has no name."""
    name, language = doc.user_data.get(NAME_KEY), str(_original_language(doc))
    if name is None:
        return None
    return name.removesuffix(f"_{language}").removesuffix(f"_{language.upper()}")


def _copies(weight: float, draw: Random) -> int:
    return int(weight) + (draw.random() < weight % 1)


def make_example(
    nlp: Language, gold: Doc, *, gold_edus: bool = True, gold_sentences: bool = False
) -> Example:
    """Pair a gold Doc with a predicted one that has the same tokens and names the same language.

    nlp (Language): The pipeline that will get the predicted Doc.
    gold (Doc): The gold Doc.
    gold_edus (bool): Put the gold EDUs on the predicted Doc.
    gold_sentences (bool): Put the gold sentence boundaries on the predicted Doc.
    RETURNS (Example): The example.
    """
    has_sentences = gold_sentences and gold.has_annotation("SENT_START")
    predicted = Doc(
        nlp.vocab,
        words=[token.text for token in gold],
        spaces=[bool(token.whitespace_) for token in gold],
        sent_starts=[token.is_sent_start for token in gold] if has_sentences else None,
    )
    copy_language(gold, predicted)
    if gold_edus and EDUS_KEY in gold.spans:
        set_edus(predicted, [predicted[edu.start : edu.end] for edu in gold.spans[EDUS_KEY]])
    return Example(predicted, gold)


def copy_language(gold: Doc, predicted: Doc) -> None:
    """Let a predicted Doc know its language, for components that go by it.

    gold (Doc): The gold Doc.
    predicted (Doc): The predicted one.
    """
    if LANGUAGE_KEY in gold.user_data:
        predicted.user_data[LANGUAGE_KEY] = gold.user_data[LANGUAGE_KEY]


def _read_docbin(path: Path, vocab: Vocab) -> Iterator[Doc]:
    try:
        docs = DocBin().from_disk(path)
    except Exception as error:  # zlib, msgpack and spaCy each have their own
        raise RstError(Errors.R225.format(path=path, error=error)) from error
    return docs.get_docs(vocab)


def _paths(paths: Sequence[str] | str | Path | None) -> list[Path]:
    return [paths] if isinstance(paths, Path) else [Path(path) for path in _names(paths) or ()]


def _names(names: Sequence[str] | str | None) -> Sequence[str] | None:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else names
