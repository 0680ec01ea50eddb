"""What components share that hold a whole pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import srsly
from spacy import util
from spacy.language import Language
from spacy.training import Example
from thinc.api import Config

from ..errors import Errors, RstError
from ..pipe import BatchPipe
from . import load, pipeline_names

PIPELINE_FOLDER = "pipeline"
CONFIG_FILE = "cfg"


class PipelinePipe(BatchPipe):
    """A component that parses with a pipeline of its own: a bundled one, a package, a folder or the
    pipeline itself. It is loaded when it is first needed, and saved with the component; of a
    bundled one (`bundled` is its name) the name and version alone."""

    def __init__(
        self,
        model: str | Path | Language,
        name: str,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        self.name = name
        self.scorer = scorer
        self.bundled = str(model) if str(model) in pipeline_names() else None
        self._source = "" if isinstance(model, Language) else model
        self._pipeline = _checked(model) if isinstance(model, Language) else None

    @property
    def pipeline(self) -> Language:
        """The pipeline that parses, which is loaded where that has not been done yet."""
        if self._pipeline is None:
            self._pipeline = _checked(load(self._source))
        return self._pipeline

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Load the pipeline, so that a mistake shows at once. There is nothing to learn."""
        self.pipeline  # noqa: B018

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Save the pipeline, unless "pipeline" is in `exclude`; of a bundled one the name and
        version alone."""
        parts = {CONFIG_FILE: lambda: srsly.json_dumps(self._name_and_version())}
        if self.bundled is None:
            parts["config"] = self.pipeline.config.to_bytes
            parts[PIPELINE_FOLDER] = self.pipeline.to_bytes
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_bytes` gave."""
        content = srsly.msgpack_loads(bytes_data)
        if PIPELINE_FOLDER in content and PIPELINE_FOLDER not in exclude:
            nlp = util.load_model_from_config(Config().from_bytes(content["config"]))
            self._use(nlp.from_bytes(content[PIPELINE_FOLDER]))
        self._check_version(srsly.json_loads(content[CONFIG_FILE]))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the pipeline in the component's folder, like `to_bytes`."""
        parts = {CONFIG_FILE: lambda file: srsly.write_json(file, self._name_and_version())}
        if self.bundled is None:
            parts[PIPELINE_FOLDER] = self.pipeline.to_disk
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_disk` wrote."""
        folder = Path(path)
        if (folder / PIPELINE_FOLDER).exists() and PIPELINE_FOLDER not in exclude:
            self._use(util.load_model(folder / PIPELINE_FOLDER))
        self._check_version(srsly.read_json(folder / CONFIG_FILE))
        return self

    def _use(self, pipeline: Language) -> None:
        self.bundled, self._pipeline = None, _checked(pipeline)

    def _name_and_version(self) -> dict[str, str]:
        if self.bundled is None:
            return {}
        return {"model": self.bundled, "version": self.pipeline.meta["version"]}

    def _check_version(self, saved: dict[str, str]) -> None:
        """Warn if the bundled pipeline is not the one that the component was saved with."""
        installed = self._name_and_version()
        if saved and installed and saved != installed:
            message = Errors.R555.format(
                model=saved["model"], version=saved["version"], installed=installed["version"]
            )
            warnings.warn(message, stacklevel=3)


def _checked(pipeline: Language) -> Language:
    metas = map(pipeline.get_pipe_meta, pipeline.pipe_names)
    if not any("doc._.rst_tree" in meta.assigns for meta in metas):
        model, pipes = pipeline.meta["name"], ", ".join(pipeline.pipe_names) or "none"
        advice = "give one with 'rst_parser'"
        raise RstError(Errors.R554.format(model=model, what="trees", pipes=pipes, advice=advice))
    return pipeline
