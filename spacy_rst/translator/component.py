"""The pipeline component `translated_rst_parser`: trees for a language that has no parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Config

from ..doc import get_edus, get_tree, set_edus, set_tree
from ..errors import Errors, RstError
from ..parser.component import SCORE_WEIGHTS
from ..pipe import BatchPipe
from ..pipelines import load
from ..scoring.scorer import score_trees
from ..tree import RstTree
from .edus import translate_docs
from .protocol import EngineUnavailable, Translator

PARSER_FACTORY = "rst_parser"
PARSER_FOLDER = "parser"


class TranslatedRstParser(BatchPipe):
    """Builds the discourse tree of each Doc by way of another language: its EDUs are translated,
    a parser of that language parses the translation, and the tree is put on the Doc.

    DOCS: docs/translated_parser.md
    """

    hopeless_errors = (EngineUnavailable,)

    def __init__(
        self,
        engine: Any = None,  # for a protocol, spaCy's check of the type would fail
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
        self.engine: Translator | None = engine
        self.name = name
        self.source = source
        self.target = target
        self.scorer = scorer
        self._parser: Language | str | Path | None = None
        if parser is not None:
            self.parser = parser

    @property
    def parser(self) -> Language:
        """The pipeline that parses the translations; it can be replaced.

        RETURNS (Language): The pipeline, which is loaded where that has not been done yet.
        RAISES (RstError): If there is none, or it has no `rst_parser`.
        """
        if self._parser is None:
            raise RstError(Errors.R631.format(name=self.name))
        if not isinstance(self._parser, Language):
            self._parser = _checked(load(self._parser))
        return self._parser

    @parser.setter
    def parser(self, parser: Language | str | Path) -> None:
        self._parser = _checked(parser) if isinstance(parser, Language) else parser

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Load the parser, so that a mistake shows at once. There is nothing to learn."""
        self.parser  # noqa: B018

    def parse(self, docs: Sequence[Doc]) -> None:
        """Parse Docs together.

        docs (Sequence[Doc]): The Docs, with EDUs.
        RAISES (RstError): If EDUs are missing or wrong, or they cannot be translated.
        """
        edus = [get_edus(doc) for doc in docs]
        divided = [doc for doc, found in zip(docs, edus, strict=True) if len(found) > 1]
        if divided:
            pipeline = self.parser.pipeline
            segmenters = [name for name, pipe in pipeline if getattr(pipe, "makes_edus", False)]
            parsed = self.parser.pipe(self.translate(divided), disable=segmenters)
            for doc, translated in zip(divided, parsed, strict=True):
                tree = get_tree(translated)
                if tree is None:
                    raise RstError(Errors.R634.format(name=self.name))
                set_tree(doc, RstTree.from_splits(tree.splits, scores=tree.scores))
        # A Doc of one EDU has nothing to divide, and needs no translation.
        for doc, found in zip(docs, edus, strict=True):
            if len(found) < 2:
                set_tree(doc, RstTree.from_splits([]) if found else None)

    def translate(self, docs: Sequence[Doc]) -> list[Doc]:
        """Translate Docs, without parsing them.

        docs (Sequence[Doc]): The Docs, with EDUs.
        RETURNS (list[Doc]): Docs with the same EDUs in the parser's language, as the parser gets
            them.
        RAISES (RstError): If EDUs are missing or wrong, or they cannot be translated.
        """
        if self.engine is None:
            raise RstError(Errors.R630.format(name=self.name))
        nlp = self.parser
        translated = translate_docs(docs, self.engine, self.source, self.target, nlp=nlp)
        return [_bare_copy(doc, nlp.vocab) for doc in translated]

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Save the parser, so that the component does not need its files any more.

        exclude (Iterable[str]): Names of parts to leave out: "parser".
        RETURNS (bytes): The parser.
        """
        parts: dict[str, Callable[[], bytes]] = {}
        if self._parser is not None:
            parts = {"config": self.parser.config.to_bytes, PARSER_FOLDER: self.parser.to_bytes}
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> TranslatedRstParser:
        """Load the parser from what `to_bytes` gave."""
        content = srsly.msgpack_loads(bytes_data)
        if PARSER_FOLDER in content and PARSER_FOLDER not in exclude:
            config = Config().from_bytes(content["config"])
            self.parser = util.load_model_from_config(config).from_bytes(content[PARSER_FOLDER])
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the parser in the component's folder, like `to_bytes`."""
        if self._parser is not None and PARSER_FOLDER not in exclude:
            Path(path).mkdir(parents=True, exist_ok=True)
            self.parser.to_disk(Path(path) / PARSER_FOLDER)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TranslatedRstParser:
        """Load the parser from the component's folder."""
        folder = Path(path) / PARSER_FOLDER
        if folder.exists() and PARSER_FOLDER not in exclude:
            self.parser = util.load_model_from_path(folder)
        return self


make_translated_rst_parser = Language.factory(
    "translated_rst_parser",
    assigns=["doc._.rst_tree"],
    requires=["doc.spans"],
    default_config={"scorer": {"@scorers": "spacy_rst.rst_scorer.v1"}},
    default_score_weights=dict.fromkeys(SCORE_WEIGHTS),
    func=TranslatedRstParser,
)


def _bare_copy(doc: Doc, vocab: Vocab) -> Doc:
    """Copy a Doc's words and EDUs alone. Sentence boundaries are not for the parser, which knows
    them from its own pipeline or has never seen any; and a Doc that was in the parser's language
    already has the vocabulary and the annotations of the outer pipeline."""
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    bare = Doc(vocab, words=words, spaces=spaces)
    set_edus(bare, [bare[edu.start : edu.end] for edu in get_edus(doc)])
    return bare


def _checked(parser: Language) -> Language:
    factories = {parser.get_pipe_meta(name).factory for name in parser.pipe_names}
    if PARSER_FACTORY not in factories:
        pipes = ", ".join(parser.pipe_names) or "there are none"
        raise RstError(Errors.R633.format(parser=parser.meta["name"], pipes=pipes))
    return parser
