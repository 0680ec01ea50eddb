"""The training reader `spacy_rst.Corpus.v1`: converted treebanks as Examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..doc import BLANKED_KEY, EDUS_KEY, LANGUAGE_KEY, TREEBANK_KEY, set_edus
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
        self._passes = 0

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Read the documents.

        nlp (Language): The pipeline that will get the Docs.
        YIELDS (Example): Each document, with its gold tokens on both sides.
        RAISES (RstError): If there are no documents.
        """
        draw = Random(f"{self.seed} draw {self._passes if self.resample else 0}")
        order = Random(f"{self.seed} order {self._passes}")
        self._passes += 1
        docs = self._sample(self.read(nlp.vocab), draw)
        if self.shuffle:
            shuffled = list(docs)
            order.shuffle(shuffled)
            docs = iter(shuffled)
        for doc in docs:
            yield make_example(
                nlp, doc, gold_edus=self.gold_edus, gold_sentences=self.gold_sentences
            )

    def read(self, vocab: Vocab) -> Iterator[Doc]:
        """Read the gold Docs that fit the filters, each once.

        vocab (Vocab): The vocabulary.
        YIELDS (Doc): The gold Docs.
        RAISES (RstError): If there are none.
        """
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
        n_edus = len(doc.spans[EDUS_KEY]) if EDUS_KEY in doc.spans else 0
        return (
            len(doc) > 0
            and not data.get(BLANKED_KEY)
            and (self.languages is None or data.get(LANGUAGE_KEY) in self.languages)
            and (self.treebanks is None or data.get(TREEBANK_KEY) in self.treebanks)
            and n_edus >= self.min_edus
            and (not self.max_edus or n_edus <= self.max_edus)
        )

    def _sample(self, docs: Iterator[Doc], draw: Random) -> Iterator[Doc]:
        if not self.sampling_weights:
            yield from docs
            return
        for doc in docs:
            weight = self.sampling_weights.get(str(doc.user_data.get(LANGUAGE_KEY)), 1.0)
            weight = self.sampling_weights.get(str(doc.user_data.get(TREEBANK_KEY)), weight)
            copies = int(weight) + (draw.random() < weight % 1)
            yield from [doc] * copies


def make_example(
    nlp: Language, gold: Doc, *, gold_edus: bool = True, gold_sentences: bool = False
) -> Example:
    """Pair a gold Doc with a predicted one that has the same tokens.

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
    if gold_edus and EDUS_KEY in gold.spans:
        set_edus(predicted, [predicted[edu.start : edu.end] for edu in gold.spans[EDUS_KEY]])
    return Example(predicted, gold)


def _read_docbin(path: Path, vocab: Vocab) -> Iterator[Doc]:
    try:
        docs = DocBin().from_disk(path)
    except Exception as error:  # zlib, msgpack and spaCy each have their own
        raise RstError(Errors.R225.format(path=path, error=error)) from error
    return docs.get_docs(vocab)


def _names(names: Sequence[str] | str | None) -> Sequence[str] | None:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else names
