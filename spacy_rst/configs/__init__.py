"""The training configs that come with the package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import CONFIG_SECTION_ORDER, SimpleFrozenDict, load_config
from thinc.api import Config

from ..errors import Errors, RstError
from ..pipelines import pipeline_names, pipeline_path

FOLDER = Path(__file__).parent


def config_names() -> list[str]:
    """RETURNS (list[str]): The names of the packaged configs."""
    return sorted(path.stem for path in FOLDER.glob("*.cfg"))


def config_path(name: str | Path) -> Path:
    """Find a config.

    name (str | Path): A packaged config, such as "small_cpu", or the path of a file.
    RETURNS (Path): The file.
    RAISES (RstError): If there is no such config.
    """
    if Path(name).is_file():
        return Path(name)
    if str(name) not in config_names():
        raise RstError(Errors.R582.format(name=name, known=", ".join(config_names())))
    return FOLDER / f"{name}.cfg"


def read_config(name: str | Path, overrides: Mapping[str, Any] = SimpleFrozenDict()) -> Config:
    """Read a config for `init_nlp`. What it leaves out has spaCy's defaults.

    name (str | Path): A packaged config, or the path of a file. The `source` of a component may be
        a bundled pipeline.
    overrides (Mapping[str, Any]): Settings to change, with dots in their names.
    RETURNS (Config): The config, with its variables.
    RAISES (RstError): If there is no such config.
    """
    base = Config(Language.default_config).merge(load_config(config_path(name)))
    config = Config(section_order=CONFIG_SECTION_ORDER)
    config.from_str(base.to_str(), interpolate=False, overrides=dict(overrides))
    for component, block in config.interpolate()["components"].items():
        if block.get("source") in pipeline_names():
            config["components"][component]["source"] = str(pipeline_path(block["source"]))
    return config
