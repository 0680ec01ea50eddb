"""The component `translated_rst_parser`: trees by way of another language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..doc import get_edus, get_tree, set_edus, set_tree
from ..errors import Errors, RstError
from ..parser.component import SCORE_WEIGHTS
from ..pipelines.pipe import PipelinePipe
from ..scoring.scorer import score_trees
from ..tree import RstTree
from .edus import translate_docs
from .protocol import EngineUnavailable, Translator


class TranslatedRstParser(PipelinePipe):
    """Builds the discourse tree of each Doc by way of another language: its EDUs are translated,
    a parser of that language parses the translation, and the tree is put on the Doc.

    DOCS: docs/translation.md
    """

    fatal_errors = (EngineUnavailable,)

    def __init__(
        self,
        engine: Translator | None = None,
        parser: Language | str | Path | None = None,
        name: str = "translated_rst_parser",
        *,
        source: str | None = None,
        target: str = "en",
        scorer: Callable[..., dict[str, Any]] | None = score_trees,
        nlp: Language | None = None,
    ) -> None:
        """Make the component.

        engine (Translator | None): Translates the EDUs, e.g. a `spacy_rst.TableTranslator.v1`. It
            can be set later, like the parser.
        parser (Language | str | Path | None): The pipeline that parses the translations, or its
            package's name or folder. It is loaded when it is first needed, and saved with the
            component.
        name (str): The component's name.
        source (str | None): The language of all Docs. By default the one that a Doc names in its
            user data, else the pipeline's.
        target (str): The language to translate into, which is that of the parser.
        scorer (Callable | None): The scoring method.
        nlp (Language | None): Not used; spaCy gives it to every factory.
        """
        super().__init__(parser or "", name, scorer)
        self.bundled = None  # a bundled parser is saved like any other
        self.engine = engine
        self.source = source
        self.target = target

    @property
    def pipeline(self) -> Language:
        """The pipeline that parses the translations, which is loaded if necessary."""
        if not self._pipeline and not self._source:
            raise RstError(Errors.R630.format(name=self.name, part="parser"))
        return super().pipeline

    @property
    def parser(self) -> Language:
        """The same pipeline. It can be set, as for the component's options."""
        return self.pipeline

    @parser.setter
    def parser(self, parser: Language | str | Path) -> None:
        PipelinePipe.__init__(self, parser, self.name, self.scorer)
        self.bundled = None

    def parse(self, docs: Sequence[Doc]) -> None:
        """Parse Docs with EDUs together."""
        n_edus = [len(get_edus(doc)) for doc in docs]
        divisible = [doc for doc, number in zip(docs, n_edus, strict=True) if number > 1]
        if divisible:
            pipes = self.pipeline.pipeline
            segmenters = [name for name, pipe in pipes if getattr(pipe, "makes_edus", False)]
            parsed = self.pipeline.pipe(self.translate(divisible), disable=segmenters)
            for doc, translated in zip(divisible, parsed, strict=True):
                tree = get_tree(translated)
                set_tree(doc, None if tree is None else tree.with_edus())
        # A Doc of one EDU needs no translation.
        for doc, number in zip(docs, n_edus, strict=True):
            if number < 2:
                set_tree(doc, RstTree.from_splits([]) if number else None)

    def translate(self, docs: Sequence[Doc]) -> list[Doc]:
        """Translate Docs, without parsing them.

        docs (Sequence[Doc]): The Docs, with EDUs.
        RETURNS (list[Doc]): Docs with the same EDUs in the parser's language, as the parser gets
            them.
        RAISES (RstError): If EDUs are missing or wrong, or they cannot be translated.
        """
        if self.engine is None:
            raise RstError(Errors.R630.format(name=self.name, part="engine"))
        nlp = self.pipeline
        translated = translate_docs(docs, self.engine, self.source, self.target, nlp=nlp)
        return [_bare_copy(doc, nlp.vocab) for doc in translated]


make_translated_rst_parser = Language.factory(
    "translated_rst_parser",
    assigns=["doc._.rst_tree"],
    requires=["doc.spans"],
    default_config={"scorer": {"@scorers": "spacy_rst.rst_scorer.v1"}},
    default_score_weights=dict.fromkeys(SCORE_WEIGHTS),
    func=TranslatedRstParser,
)


def _bare_copy(doc: Doc, vocab: Vocab) -> Doc:
    """Copy a Doc's words and EDUs, without annotations of the outer pipeline such as sentences."""
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    bare = Doc(vocab, words=words, spaces=spaces)
    set_edus(bare, [bare[edu.start : edu.end] for edu in get_edus(doc)])
    return bare
