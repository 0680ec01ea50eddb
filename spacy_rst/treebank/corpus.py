"""The training reader `spacy_rst.Corpus.v1`: converted treebanks as Examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from random import Random

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..doc import BLANKED_KEY, EDUS_KEY, LANGUAGE_KEY, TREEBANK_KEY, get_meta, set_edus
from ..doc_layout import LAYOUT_KEY, copy_layout
from ..errors import Errors, RstError
from .corrupt import DAMAGES, damaged
from .docbin import find_docbins, read_docbin
from .strip_layout import as_running_text

NumberedDoc = tuple[int, Doc]  # with the place of the Doc among those that were read
Surface = tuple[int, bool, str | None]  # a Doc, whether its layout is hidden, and its damage


@registry.readers("spacy_rst.Corpus.v1")
@dataclass(eq=False)
class Corpus:
    """Reads converted treebanks. Each pass gives the same documents; spaCy shuffles them.

    path (str | Path | None): A .spacy file, or a folder that holds some at any depth.
    gold_edus (bool): Put the gold EDUs on the predicted Docs. Without them a segmenter must come
        before the parser.
    languages (list[str] | str | None): Read only documents in these languages: a list, or codes
        with commas between them.
    treebanks (list[str] | str | None): Read only documents of these treebanks, likewise.
    min_edus (int): Leave out documents with fewer EDUs.
    sampling_weights (dict[str, float] | None): How often a document of a treebank or language is
        yielded in a pass, on average: `{"eu": 2.0, "ru": 0.5}`. A treebank's own weight comes
        before its language's; the others have 1. Each copy is drawn separately for `hide_layout`
        and `noise`.
    hide_layout (float): Share of the documents that are read as running text, without their
        layout: a parser that must also work without it needs such texts in training.
    noise (float): Share of the documents that are read with a damaged surface: a third of them in
        lower case, a third without marks at the ends of sentences, a third with neither.
    seed (int): Makes all draws repeatable.
    """

    path: str | Path | None
    _: KW_ONLY
    gold_edus: bool = True
    languages: list[str] | str | None = None
    treebanks: list[str] | str | None = None
    min_edus: int = 0
    sampling_weights: dict[str, float] | None = None
    hide_layout: float = 0.0
    noise: float = 0.0
    seed: int = 0
    _vocab: Vocab | None = field(default=None, init=False, repr=False)
    _docs: list[Doc] = field(default_factory=list, init=False, repr=False)
    _surfaces: dict[Surface, Doc] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for key, weight in (self.sampling_weights or {}).items():
            if not weight >= 0:
                name = f"sampling_weights.{key}"
                raise RstError(Errors.R300.format(name=name, value=weight, wanted="at least 0"))

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Read the documents as Examples for a pipeline, with their gold tokens on both sides."""
        self._read_once(nlp.vocab)
        for doc in self._draw_surfaces(self._sample(enumerate(self._docs))):
            yield make_example(nlp, doc, gold_edus=self.gold_edus)

    def read(self, vocab: Vocab) -> Iterator[Doc]:
        """Read the gold Docs that fit the filters, each once."""
        self._read_once(vocab)
        yield from self._draw_surfaces(enumerate(self._docs))

    def _read_once(self, vocab: Vocab) -> None:
        """Keep the Docs: spaCy makes several passes to initialize, and reading takes longest."""
        if self._vocab is not vocab:
            self._docs, self._surfaces = self._read_files(vocab), {}
            self._vocab = vocab

    def _read_files(self, vocab: Vocab) -> list[Doc]:
        languages, treebanks = _split_names(self.languages), _split_names(self.treebanks)
        docs: list[Doc] = []
        found: list[tuple[str, str]] = []
        for file in find_docbins(self.path):
            for doc in read_docbin(file, vocab):
                if not len(doc) or get_meta(doc, BLANKED_KEY):
                    continue
                language = str(get_meta(doc, LANGUAGE_KEY))
                treebank = str(get_meta(doc, TREEBANK_KEY))
                found.append((language, treebank))
                is_wanted = not languages or language in languages
                is_wanted &= not treebanks or treebank in treebanks
                if is_wanted and len(doc.spans.get(EDUS_KEY, ())) >= self.min_edus:
                    docs.append(doc)
        if docs:
            return docs
        message = Errors.R223.format(
            n_docs=len(found),
            path=self.path,
            filters=f"languages: {self.languages}, treebanks: {self.treebanks}, "
            f"at least {self.min_edus} EDUs, with text",
            languages=", ".join(sorted({language for language, _ in found})),
            treebanks=", ".join(sorted({treebank for _, treebank in found})),
        )
        raise RstError(message)

    def _sample(self, docs: Iterable[NumberedDoc]) -> Iterator[NumberedDoc]:
        """Repeat documents as often as their weights say; fractions are chances."""
        weights = self.sampling_weights or {}
        draw = Random(f"{self.seed} draw 0")
        for number, doc in docs:
            weight = weights.get(str(get_meta(doc, LANGUAGE_KEY)), 1.0)
            weight = weights.get(str(get_meta(doc, TREEBANK_KEY)), weight)
            n_copies = int(weight) + (draw.random() < weight % 1)
            yield from [(number, doc)] * n_copies

    def _draw_surfaces(self, docs: Iterable[NumberedDoc]) -> Iterator[Doc]:
        """Hide the layout of some documents, and damage some. Equal copies are one Doc."""
        layout, noise = (Random(f"{self.seed} {name} 0") for name in ("layout", "noise"))
        for number, doc in docs:
            # Where the list of blocks is empty there is nothing to hide; where there is none, the
            # layout would still be read from the text.
            is_unknown = LAYOUT_KEY in doc.spans and not doc.spans[LAYOUT_KEY]
            is_hidden = layout.random() < self.hide_layout and not is_unknown
            is_damaged, damage = noise.random() < self.noise, noise.choice(DAMAGES)
            key = number, is_hidden, damage if is_damaged else None
            if key not in self._surfaces:
                shown = as_running_text(doc) if is_hidden else doc
                self._surfaces[key] = damaged(shown, damage) if is_damaged else shown
            yield self._surfaces[key]


def _split_names(names: list[str] | str | None) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else names or []


def make_example(nlp: Language, gold: Doc, *, gold_edus: bool = True) -> Example:
    """Pair a gold Doc with a predicted one that has the same tokens, language and layout."""
    words = [token.text for token in gold]
    predicted = Doc(nlp.vocab, words=words, spaces=[bool(token.whitespace_) for token in gold])
    copy_language(gold, predicted)
    copy_layout(gold, predicted)
    if gold_edus and EDUS_KEY in gold.spans:
        set_edus(predicted, [predicted[edu.start : edu.end] for edu in gold.spans[EDUS_KEY]])
    return Example(predicted, gold)


def copy_language(gold: Doc, predicted: Doc) -> None:
    """Copy language and treebank to a predicted Doc, for components that use them."""
    for key in (LANGUAGE_KEY, TREEBANK_KEY):
        fact = get_meta(gold, key)
        if fact is not None:
            predicted.user_data[key] = fact
