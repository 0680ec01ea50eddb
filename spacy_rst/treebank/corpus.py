"""The training reader `spacy_rst.Corpus.v1`: converted treebanks as Examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..doc import EDUS_KEY, LANGUAGE_KEY, TREEBANK_KEY, get_meta, set_edus
from ..doc_layout import LAYOUT_KEY, copy_layout
from ..errors import Errors, RstError
from .augment import TranslatedCopies, check_weight, draw_copies, listed, usable_docs
from .corrupt import damaged, draw_damage
from .docbin import find_docbins
from .strip_layout import as_running_text

# A Doc and its place among those that were read.
NumberedDoc = tuple[int, Doc]


@registry.readers("spacy_rst.Corpus.v1")
@dataclass(eq=False)
class Corpus:
    """Reads converted treebanks.

    path (str | Path | None): A .spacy file, or a folder that holds some at any depth.
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
        before its language's; the others have 1. It is drawn for each copy by itself whether its
        layout is hidden and its surface damaged.
    hide_layout (float): Share of the documents that are read as running text, without their
        layout: a parser that shall do without it, too, must have seen such texts.
    noise (float): Share of the documents that are read with a damaged surface: a third of them in
        lower case, a third without marks at the ends of sentences, a third with neither.
    resample (bool): Draw the sample, and whose layout is hidden and whose surface damaged, anew in
        each pass of training, instead of once for all. A pass is an epoch if `[training]
        max_epochs` is -1; otherwise spaCy makes one pass and keeps it.
    shuffle (bool): Yield the documents in a new order in each pass of training. For `max_epochs =
        -1`; in other cases spaCy shuffles by itself.
    seed (int): Makes sample and order repeatable.
    augment (TranslatedCopies | None): Translated documents to train on, too: a
        `spacy_rst.TranslatedCopies.v1`. They come after all others.
    """

    path: str | Path | None
    _: KW_ONLY
    gold_edus: bool = True
    gold_sentences: bool = False
    languages: list[str] | str | None = None
    treebanks: list[str] | str | None = None
    min_edus: int = 0
    max_edus: int = 0
    limit: int = 0
    sampling_weights: dict[str, float] | None = None
    hide_layout: float = 0.0
    noise: float = 0.0
    resample: bool = False
    shuffle: bool = False
    seed: int = 0
    augment: TranslatedCopies | None = None
    _passes: int = field(default=0, init=False, repr=False)
    _vocab: Vocab | None = field(default=None, init=False, repr=False)
    _kept: list[Doc] = field(default_factory=list, init=False, repr=False)
    _surfaces: dict[tuple[int, bool, str | None], Doc] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        for key, weight in (self.sampling_weights or {}).items():
            check_weight(key, weight)

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Read the documents.

        nlp (Language): The pipeline that will get the Docs.
        YIELDS (Example): Each document, with its gold tokens on both sides.
        RAISES (RstError): If there are no documents.
        """
        drawn = self._passes if self.resample else 0
        order = Random(f"{self.seed} order {self._passes}")
        # spaCy sets it at the end of `nlp.initialize`, in which components make any number of
        # passes: what is learned later must not depend on how many.
        if nlp._optimizer is not None:
            self._passes += 1
        self._read_once(nlp.vocab)
        sample = self._sample(enumerate(self._kept), Random(f"{self.seed} draw {drawn}"))
        docs = self._draw_surfaces(sample, drawn)
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
        self._read_once(vocab)
        yield from self._draw_surfaces(enumerate(self._kept))

    def _read_once(self, vocab: Vocab) -> None:
        if self._vocab is not vocab:
            self._kept, self._surfaces = list(self._read_files(vocab)), {}
            self._vocab = vocab

    def _draw_surfaces(self, docs: Iterable[NumberedDoc], drawn: int = 0) -> Iterator[Doc]:
        """Hide the layout of some of the documents, and damage some, each copy by itself."""
        layout, noise = (Random(f"{self.seed} {name} {drawn}") for name in ("layout", "noise"))
        for number, doc in docs:
            # Where the list of blocks is empty there is nothing to hide; where there is none, the
            # layout would still be read from the text.
            is_unknown = LAYOUT_KEY in doc.spans and not doc.spans[LAYOUT_KEY]
            is_hidden = layout.random() < self.hide_layout and not is_unknown
            key = number, is_hidden, draw_damage(self.noise, noise)
            if key not in self._surfaces:
                self._surfaces[key] = _change_surface(doc, *key[1:])
            yield self._surfaces[key]

    def _read_files(self, vocab: Vocab) -> Iterator[Doc]:
        n_docs = n_fitting = 0
        wanted = {LANGUAGE_KEY: listed(self.languages), TREEBANK_KEY: listed(self.treebanks)}
        found: dict[str, set[str]] = {key: set() for key in wanted}
        for doc in usable_docs(find_docbins(self.path), vocab):
            n_docs += 1
            facts = {key: str(get_meta(doc, key)) for key in wanted}
            for key, fact in facts.items():
                found[key].add(fact)
            is_wanted = all(not names or facts[key] in names for key, names in wanted.items())
            if not is_wanted or not self._has_fitting_size(doc):
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
                    languages=", ".join(sorted(found[LANGUAGE_KEY])),
                    treebanks=", ".join(sorted(found[TREEBANK_KEY])),
                )
            )

    def _has_fitting_size(self, doc: Doc) -> bool:
        n_edus = len(doc.spans[EDUS_KEY]) if EDUS_KEY in doc.spans else 0
        return n_edus >= self.min_edus and (not self.max_edus or n_edus <= self.max_edus)

    def _sample(self, docs: Iterable[NumberedDoc], draw: Random) -> Iterator[NumberedDoc]:
        weights = self.sampling_weights
        if not weights:
            yield from docs
            return
        for number, doc in docs:
            weight = weights.get(str(get_meta(doc, LANGUAGE_KEY)), 1.0)
            weight = weights.get(str(get_meta(doc, TREEBANK_KEY)), weight)
            yield from [(number, doc)] * draw_copies(weight, draw)


def _change_surface(doc: Doc, is_hidden: bool, damage: str | None) -> Doc:
    shown = as_running_text(doc) if is_hidden else doc
    return damaged(shown, damage) if damage else shown


def make_example(
    nlp: Language, gold: Doc, *, gold_edus: bool = True, gold_sentences: bool = False
) -> Example:
    """Pair a gold Doc with a predicted one that has the same tokens, language and layout.

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
    copy_layout(gold, predicted)
    if gold_edus and EDUS_KEY in gold.spans:
        set_edus(predicted, [predicted[edu.start : edu.end] for edu in gold.spans[EDUS_KEY]])
    return Example(predicted, gold)


def copy_language(gold: Doc, predicted: Doc) -> None:
    """Let a predicted Doc know its language and treebank, for components that go by them.

    gold (Doc): The gold Doc.
    predicted (Doc): The predicted one.
    """
    for key in (LANGUAGE_KEY, TREEBANK_KEY):
        fact = get_meta(gold, key)
        if fact is not None:
            predicted.user_data[key] = fact
