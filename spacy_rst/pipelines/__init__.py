"""Trained pipelines that come with the package, ready to be used offline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from threading import RLock, get_ident
from typing import Any

from spacy.language import Language
from spacy.util import load_model, registry

from ..errors import Errors, RstError

FOLDER = Path(__file__).parent
DEFAULT_PIPELINE = "xx_rst_sm"
TRANSFORMERS = "spacy_transformers"
_LOADING = RLock()


def load(name: str | Path = DEFAULT_PIPELINE, **options: Any) -> Language:
    """Load a pipeline: by default the one that comes with the package.

    Its weights are not under the MIT licence of the code but under CC BY-NC-SA 4.0, which excludes
    commercial use; a part of them is Google's, under Apache-2.0. LICENSE and LICENSES_SOURCES in
    the pipeline's folder have the texts.

    spaCy imports all installed components when it makes a pipeline. For a bundled one,
    spacy-transformers is left out, which costs seconds and 150 MB: `import spacy_transformers`
    before you add a `transformer` to it.

    name (str | Path): The name of a bundled pipeline or of an installed package, or a folder.
    **options (Any): As for `spacy.load`: vocab, disable, enable, exclude and config.
    RETURNS (Language): The pipeline.
    RAISES (RstError): If it cannot be loaded.

    DOCS: docs/models.md
    """
    bundled = pipeline_names()
    try:
        with _without_transformers() if name in bundled else nullcontext():
            return load_model(FOLDER / name if name in bundled else name, **options)
    except (OSError, ValueError, ImportError) as error:
        message = Errors.R091.format(model=name, known=", ".join(bundled), error=error)
        raise RstError(message) from error


@contextmanager
def _without_transformers() -> Iterator[None]:
    """Let spaCy leave out spacy-transformers when this thread makes a pipeline."""
    factories, thread = registry._entry_point_factories, get_ident()

    def import_factories() -> dict[str, Any]:
        points = entry_points(group=factories.entry_point_namespace)
        is_left_out = TRANSFORMERS if get_ident() == thread else ""
        return {p.name: p.load() for p in points if p.module.split(".")[0] != is_left_out}

    with _LOADING:
        factories.get_entry_points = import_factories
        try:
            yield
        finally:
            vars(factories).pop("get_entry_points", None)


def pipeline_names() -> list[str]:
    """RETURNS (list[str]): The names of the bundled pipelines."""
    return sorted(config.parent.name for config in FOLDER.glob("*/config.cfg"))


def pipeline_path(name: str = DEFAULT_PIPELINE) -> Path:
    """Find a bundled pipeline, for instance to name it as a `source` in a config.

    name (str): The pipeline's name.
    RETURNS (Path): Its folder.
    RAISES (RstError): If there is no such pipeline.
    """
    known = pipeline_names()
    if name not in known:
        message = Errors.R091.format(model=name, known=", ".join(known), error="It is not bundled.")
        raise RstError(message)
    return FOLDER / name
