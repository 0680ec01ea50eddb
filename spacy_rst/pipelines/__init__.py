"""Trained pipelines that come with the package, ready to be used offline."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypedDict, Unpack

from catalogue import Registry
from spacy.language import Language
from spacy.util import load_model, registry
from spacy.vocab import Vocab

from ..errors import Errors, RstError

FOLDER = Path(__file__).parent
DEFAULT_PIPELINE = "xx_rst_sm"
TRANSFORMERS = "spacy_transformers"


class LoadOptions(TypedDict, total=False):
    """What `spacy.load` takes beside the name.

    vocab (Vocab | bool): A vocabulary to use. True, the default, makes a new one.
    disable (str | Iterable[str]): Components to load but not to run.
    enable (str | Iterable[str]): Components to run; all others are disabled.
    exclude (str | Iterable[str]): Components not to load.
    config (dict[str, Any]): Overrides of the config, nested or with dots in the keys.
    """

    vocab: Vocab | bool
    disable: str | Iterable[str]
    enable: str | Iterable[str]
    exclude: str | Iterable[str]
    config: dict[str, Any]


def load(name: str | Path = DEFAULT_PIPELINE, **options: Unpack[LoadOptions]) -> Language:
    """Load a pipeline: by default the one that comes with the package.

    Its weights are not under the MIT licence of the code but under CC BY-NC-SA 4.0, which excludes
    commercial use; a part of them is Google's, under Apache-2.0. LICENSE and LICENSES_SOURCES in
    the pipeline's folder have the texts.

    spaCy imports all installed components when a pipeline is made. Here spacy-transformers is left
    out, as no bundled pipeline needs it and it costs five seconds and 150 MB. Before you add a
    `transformer` to the pipeline, `import spacy_transformers`.

    name (str | Path): The name of a bundled pipeline or of an installed package, or a folder.
    **options (Any): As for `spacy.load`: vocab, disable, enable, exclude and config.
    RETURNS (Language): The pipeline.
    RAISES (RstError): If it cannot be loaded.

    DOCS: docs/models.md
    """
    bundled = pipeline_names()
    token = _without_transformers.set(name in bundled)
    try:
        return load_model(FOLDER / name if name in bundled else name, **options)
    except (OSError, ValueError, ImportError) as error:
        message = Errors.R091.format(model=name, known=", ".join(bundled), error=error)
        raise RstError(message) from error
    finally:
        _without_transformers.reset(token)


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
        raise RstError(Errors.R550.format(name=name, known=", ".join(known) or "none"))
    return FOLDER / name


class _Factories(Registry):
    """spaCy's list of the components of installed packages.

    Making a pipeline imports all of them, and spaCy has no option to leave some out. This list has
    one, which each thread sets for itself.
    """

    def get_entry_points(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): The functions that make components, by name."""
        if not _without_transformers.get():
            return super().get_entry_points()
        return {
            point.name: point.load()
            for point in entry_points(group=self.entry_point_namespace)
            if point.module.partition(".")[0] != TRANSFORMERS
        }


_without_transformers = ContextVar("_without_transformers", default=False)
registry._entry_point_factories = _Factories(
    registry._entry_point_factories.namespace, entry_points=True
)
