"""The pipeline component `rst`: trees for the Docs of any pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model, load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config

from ..doc import EDUS_KEY, TREE_KEY, knows_sentences, set_edus
from ..doc_layout import LAYOUT_KEY, get_layout, set_layout
from ..errors import Errors, RstError
from ..parser.component import SCORE_WEIGHTS
from ..pipe import BatchPipe
from ..scoring.scorer import score_trees
from . import DEFAULT_PIPELINE, load, pipeline_names

PIPELINE_FOLDER = "pipeline"
CONFIG_FILE = "cfg"


@Language.factory(
    "rst",
    assigns=["doc.spans", "doc._.rst_tree"],
    default_config={
        "model": DEFAULT_PIPELINE,
        "scorer": {"@scorers": "spacy_rst.rst_scorer.v1"},
    },
    default_score_weights=dict.fromkeys(SCORE_WEIGHTS),
)
def make_rst(
    nlp: Language,
    name: str,
    model: str | Path,
    scorer: Callable[..., dict[str, Any]] | None,
) -> Rst:
    """Make an `rst` component. See `Rst` for the arguments.

    nlp (Language): The pipeline.
    name (str): The component's name.
    RETURNS (Rst): The component.
    """
    component = Rst(model, name, scorer=scorer)
    if component.bundled is not None:
        component.pipeline  # noqa: B018  (now, so that processes that are forked later share it)
    return component


class Rst(BatchPipe):
    """Gives Docs EDUs and trees with a whole pipeline of its own, so that it does not matter which
    encoder, tokenizer or sentences the pipeline around it has.

    DOCS: docs/rst_component.md
    """

    def __init__(
        self,
        model: str | Path | Language = DEFAULT_PIPELINE,
        name: str = "rst",
        *,
        scorer: Callable[..., dict[str, Any]] | None = score_trees,
    ) -> None:
        """Make the component.

        model (str | Path | Language): The pipeline that parses: the name of a bundled one, of a
            package, a folder, or the pipeline itself. Packages and folders are loaded when they
            are first needed, and saved with the component.
        name (str): The component's name.
        scorer (Callable | None): The scoring method.
        """
        self.name = name
        self.scorer = scorer
        self._source: str | Path | None = None
        self._pipeline: Language | None = None
        if isinstance(model, Language):
            self._use(model)
        else:
            self._source = model

    @property
    def bundled(self) -> str | None:
        """RETURNS (str | None): The pipeline's name, if it is one that comes with the package."""
        return str(self._source) if str(self._source) in pipeline_names() else None

    @property
    def pipeline(self) -> Language:
        """The pipeline that parses, which is loaded where that has not been done yet.

        RETURNS (Language): The pipeline.
        RAISES (RstError): If it cannot be loaded, or makes no trees.
        """
        if self._pipeline is None:
            assert self._source is not None
            self._pipeline = _checked(load(self._source))
        return self._pipeline

    def _use(self, pipeline: Language) -> None:
        self._source, self._pipeline = None, _checked(pipeline)

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Load the pipeline, so that a mistake shows at once. There is nothing to learn.

        get_examples (Callable): Not used.
        nlp (Language | None): Not used.
        """
        self.pipeline  # noqa: B018

    def parse(self, docs: Sequence[Doc]) -> None:
        """Parse Docs together.

        docs (Sequence[Doc]): The Docs.
        """
        copies = [_copy_words(doc, self.pipeline.vocab) for doc in docs]
        for doc, parsed in zip(docs, self.pipeline.pipe(copies), strict=True):
            set_edus(doc, [doc[edu.start : edu.end] for edu in parsed.spans.get(EDUS_KEY) or ()])
            if TREE_KEY in parsed.user_data:
                doc.user_data[TREE_KEY] = parsed.user_data[TREE_KEY]

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Save the pipeline; of a bundled one the name and version alone.

        exclude (Iterable[str]): Names of parts to leave out: "pipeline".
        RETURNS (bytes): The pipeline.
        """
        content: dict[str, Any] = {CONFIG_FILE: self._config()}
        if self._is_saved(exclude):
            content["config"] = self.pipeline.config.to_bytes()
            content[PIPELINE_FOLDER] = self.pipeline.to_bytes()
        return srsly.msgpack_dumps(content)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Rst:
        """Load what `to_bytes` gave."""
        content = srsly.msgpack_loads(bytes_data)
        if PIPELINE_FOLDER in content and PIPELINE_FOLDER not in exclude:
            config = Config().from_bytes(content["config"])
            self._use(load_model_from_config(config).from_bytes(content[PIPELINE_FOLDER]))
        self._check_version(content[CONFIG_FILE])
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the pipeline in the component's folder, like `to_bytes`."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        srsly.write_json(folder / CONFIG_FILE, self._config())
        if self._is_saved(exclude):
            self.pipeline.to_disk(folder / PIPELINE_FOLDER)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Rst:
        """Load what `to_disk` wrote."""
        folder = Path(path)
        if (folder / PIPELINE_FOLDER).exists() and PIPELINE_FOLDER not in exclude:
            self._use(load_model(folder / PIPELINE_FOLDER))
        self._check_version(srsly.read_json(folder / CONFIG_FILE))
        return self

    def _is_saved(self, exclude: Iterable[str]) -> bool:
        return self.bundled is None and PIPELINE_FOLDER not in exclude

    def _config(self) -> dict[str, str]:
        if self.bundled is None:
            return {}
        return {"model": self.bundled, "version": self.pipeline.meta["version"]}

    def _check_version(self, saved: dict[str, str]) -> None:
        """Warn if the bundled pipeline is not the one that the component was saved with."""
        if saved and self.bundled == saved["model"]:
            installed = self.pipeline.meta["version"]
            if installed != saved["version"]:
                message = Errors.R555.format(
                    model=saved["model"], version=saved["version"], installed=installed
                )
                warnings.warn(message, stacklevel=3)


def _copy_words(doc: Doc, vocab: Vocab) -> Doc:
    """A Doc with what the pipeline inside may use of another one."""
    copy = Doc(
        vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        sent_starts=[token.is_sent_start for token in doc] if knows_sentences(doc) else None,
    )
    if LAYOUT_KEY in doc.spans:
        set_layout(copy, get_layout(doc))
    if doc.spans.get(EDUS_KEY):
        set_edus(copy, [copy[edu.start : edu.end] for edu in doc.spans[EDUS_KEY]])
    return copy


def _checked(pipeline: Language) -> Language:
    metas = map(pipeline.get_pipe_meta, pipeline.pipe_names)
    if not any("doc._.rst_tree" in meta.assigns for meta in metas):
        pipes = ", ".join(pipeline.pipe_names) or "there are none"
        raise RstError(Errors.R554.format(model=pipeline.meta["name"], pipes=pipes))
    return pipeline
