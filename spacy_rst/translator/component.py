"""The component `translated_rst_parser`: trees by way of another language."""

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

PARSER_FOLDER = "parser"


class TranslatedRstParser(BatchPipe):
    """Builds the discourse tree of each Doc by way of another language: its EDUs are translated,
    a parser of that language parses the translation, and the tree is put on the Doc.

    DOCS: docs/translation.md
    """

    hopeless_errors = (EngineUnavailable,)

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
        self.engine = engine
        self.parser = parser
        self.name = name
        self.source = source
        self.target = target
        self.scorer = scorer

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Load the parser, so that a mistake shows at once. There is nothing to learn."""
        self.load_parser()

    def load_parser(self) -> Language:
        """Load the pipeline that parses the translations, if that has not been done yet.

        RETURNS (Language): The pipeline, which is `parser` from now on.
        RAISES (RstError): If there is none, or it cannot be loaded.
        """
        if self.parser is None:
            raise RstError(Errors.R630.format(name=self.name, part="parser"))
        if not isinstance(self.parser, Language):
            self.parser = load(self.parser)
        return self.parser

    def parse(self, docs: Sequence[Doc]) -> None:
        """Parse Docs together.

        docs (Sequence[Doc]): The Docs, with EDUs.
        RAISES (RstError): If EDUs are missing or wrong, or they cannot be translated.
        """
        n_edus = [len(get_edus(doc)) for doc in docs]
        divisible = [doc for doc, number in zip(docs, n_edus, strict=True) if number > 1]
        if divisible:
            parser = self.load_parser()
            segmenters = [
                name for name, pipe in parser.pipeline if getattr(pipe, "makes_edus", False)
            ]
            parsed = parser.pipe(self.translate(divisible), disable=segmenters)
            for doc, translated in zip(divisible, parsed, strict=True):
                tree = get_tree(translated)
                if tree is None:
                    pipes = ", ".join(parser.pipe_names) or "none"
                    raise RstError(Errors.R633.format(parser=parser.meta["name"], pipes=pipes))
                set_tree(doc, RstTree.from_splits(tree.splits, scores=tree.scores))
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
        nlp = self.load_parser()
        translated = translate_docs(docs, self.engine, self.source, self.target, nlp=nlp)
        return [_bare_copy(doc, nlp.vocab) for doc in translated]

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Save the parser, so that the component does not need its files any more.

        exclude (Iterable[str]): Names of parts to leave out: "parser".
        RETURNS (bytes): The parser.
        """
        parts: dict[str, Callable[[], bytes]] = {}
        if self.parser is not None:
            parser = self.load_parser()
            parts = {"config": parser.config.to_bytes, PARSER_FOLDER: parser.to_bytes}
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> TranslatedRstParser:
        """Load the parser from what `to_bytes` returned."""
        content = srsly.msgpack_loads(bytes_data)
        if PARSER_FOLDER in content and PARSER_FOLDER not in exclude:
            config = Config().from_bytes(content["config"])
            self.parser = util.load_model_from_config(config).from_bytes(content[PARSER_FOLDER])
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the parser in the component's folder, like `to_bytes`."""
        if self.parser is not None and PARSER_FOLDER not in exclude:
            Path(path).mkdir(parents=True, exist_ok=True)
            self.load_parser().to_disk(Path(path) / PARSER_FOLDER)

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
    """Copy a Doc's words and EDUs, without annotations of the outer pipeline such as sentences."""
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    bare = Doc(vocab, words=words, spaces=spaces)
    set_edus(bare, [bare[edu.start : edu.end] for edu in get_edus(doc)])
    return bare
