"""The grid of experiments: what a grid file says, its cells, and the config of each of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import srsly
from spacy.util import load_config
from thinc.api import Config

from ..errors import Errors, RstError
from ..scoring.evaluation import EDU_SOURCES
from ..scoring.scorer import LANGUAGE_MEAN_PREFIX, PREFIX, language_mean_key
from ..treebank.docbin import SUFFIX

ENGLISH = "en"
TRAININGS = ("en", "multi", "mono")
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Approach:
    """A way to read many languages: an encoder that knows them, or English translations.

    config (Path): The training config.
    corpus (Path): The folder with `train`, `dev` and `test`, as `spacy rst prepare` or
        `spacy rst translate` makes it.
    """

    config: Path
    corpus: Path


@dataclass(frozen=True)
class Cell:
    """One training run of a grid.

    training (str): What it learns from: "en" (EN-Training), "multi" (Multi-Training), or "mono-de"
        and so on for one language alone.
    approach (str): The name of its approach in the grid.
    seed (int): Its seed.
    languages (tuple[str, ...]): The languages that it learns and that choose its checkpoint.
    """

    training: str
    approach: str
    seed: int
    languages: tuple[str, ...]

    @property
    def name(self) -> str:
        """RETURNS (str): The name of its files."""
        return f"{self.training}.{self.approach}.seed{self.seed}"


@dataclass(frozen=True)
class Grid:
    """What a grid file says. Paths are relative to the working directory, as everywhere in spaCy.

    approaches (dict[str, Approach]): The approaches by name, "encoder" and "translated" in the
        paper.
    languages (dict[str, tuple[str, ...]]): The languages of the experiment, each with its
        treebanks; all are scored in every cell.
    trainings (tuple[str, ...]): Of "en", "multi" and "mono", which to run.
    seeds (tuple[int, ...]): The seeds of each training.
    edus (str): Score on "gold" EDUs, "predicted" ones or "both".
    overrides (dict[str, dict[str, Any]]): Changes to the configs, by training or for "all":
        `{"all": {"training.max_epochs": 10}}`.
    """

    approaches: dict[str, Approach]
    languages: dict[str, tuple[str, ...]]
    trainings: tuple[str, ...] = ("en", "multi")
    seeds: tuple[int, ...] = (0, 1, 2)
    edus: str = "gold"
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """RETURNS (list[Cell]): All cells, the first seed of every training before the second."""
        return [
            Cell(training, approach, seed, languages)
            for seed in self.seeds
            for approach in self.approaches
            for training, languages in self._trainings().items()
        ]

    def _trainings(self) -> dict[str, tuple[str, ...]]:
        trainings: dict[str, tuple[str, ...]] = {}
        if "en" in self.trainings:
            trainings["en"] = (ENGLISH,)
        if "multi" in self.trainings:
            trainings["multi"] = tuple(self.languages)
        if "mono" in self.trainings:
            # English alone is EN-Training, and need not be trained twice.
            alone = [name for name in self.languages if (name,) not in trainings.values()]
            trainings |= {f"mono-{name}": (name,) for name in alone}
        return trainings

    def treebanks(self, languages: Iterable[str] | None = None) -> list[str]:
        """List the treebanks of languages.

        languages (Iterable[str] | None): The languages, by default all.
        RETURNS (list[str]): Their treebanks.
        """
        chosen = self.languages if languages is None else languages
        return [treebank for language in chosen for treebank in self.languages[language]]


def read_grid(path: Path) -> Grid:
    """Read a grid file (YAML).

    path (Path): The file.
    RETURNS (Grid): The grid.
    RAISES (RstError): If something in it is missing, unknown or contradictory.
    """
    try:
        content = srsly.read_yaml(path)
    except OSError:
        raise
    except Exception as error:  # srsly lets its YAML library's many errors through
        raise RstError(Errors.R730.format(path=path, error=error)) from error
    return make_grid(content, str(path))


def make_grid(content: Any, path: str = "grid") -> Grid:
    """Check the content of a grid file.

    content (Any): The content.
    path (str): The name of the file, for messages.
    RETURNS (Grid): The grid.
    RAISES (RstError): If something in it is missing, unknown or contradictory.
    """

    def refuse(problem: str) -> RstError:
        return RstError(Errors.R731.format(path=path, problem=problem))

    if not isinstance(content, Mapping):
        raise refuse("it is not a list of settings such as 'seeds: [0, 1, 2]'")
    known = [setting.name for setting in fields(Grid)]
    for key in content:
        if key not in known:
            raise refuse(f"there is no setting '{key}'; the settings are {', '.join(known)}")
    for key in ("approaches", "languages"):
        if not content.get(key):
            raise refuse(f"'{key}' is missing")
    values: dict[str, Any] = {
        key: tuple(_as_list(content[key], refuse, key))
        for key in ("trainings", "seeds")
        if content.get(key) is not None
    }
    approaches = content["approaches"]
    if not isinstance(approaches, Mapping):
        raise refuse("'approaches' needs a name for each approach")
    for name, approach in approaches.items():
        if not isinstance(approach, Mapping) or set(approach) != {"config", "corpus"}:
            raise refuse(f"the approach '{name}' needs 'config' and 'corpus', and nothing else")
    values["approaches"] = {
        str(name): Approach(Path(approach["config"]), Path(approach["corpus"]))
        for name, approach in approaches.items()
    }
    languages = content["languages"]
    if not isinstance(languages, Mapping):
        raise refuse("'languages' needs a list of treebanks for each language")
    values["languages"] = {
        language: tuple(_as_list(treebanks, refuse, language))
        for language, treebanks in languages.items()
    }
    values["edus"] = content.get("edus", "gold")
    values["overrides"] = content.get("overrides") or {}
    grid = Grid(**values)
    _check(grid, refuse)
    return grid


def _as_list(value: Any, refuse: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise refuse(f"'{key}' must be a list")
    if len(set(map(str, value))) < len(value):
        raise refuse(f"'{key}' names something twice")
    return value


def _check(grid: Grid, refuse: Any) -> None:
    for training in grid.trainings:
        if training not in TRAININGS:
            raise refuse(f"there is no training '{training}'; use {', '.join(TRAININGS)}")
    if "en" in grid.trainings and ENGLISH not in grid.languages:
        raise refuse("the training 'en' needs 'en' among the languages")
    if not grid.seeds or not all(type(seed) is int and seed >= 0 for seed in grid.seeds):
        raise refuse("'seeds' needs whole numbers from 0")
    if grid.edus not in EDU_SOURCES:
        raise refuse(f"'edus' must be one of {', '.join(EDU_SOURCES)}")
    # A code such as `no` means "false" to YAML.
    for name in (*grid.languages, *grid.treebanks()):
        if not isinstance(name, str):
            raise refuse(f"{name!r} is no name; put it between quotes")
    if len(set(grid.treebanks())) < len(grid.treebanks()) or not all(grid.languages.values()):
        raise refuse("each language needs treebanks of its own")
    for name in grid.approaches:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise refuse(f"'{name}' cannot be a part of file names; use letters and numbers")
    if not isinstance(grid.overrides, Mapping):
        raise refuse("'overrides' needs 'all' or a training above the changes")
    for key, changes in grid.overrides.items():
        if key not in ("all", *TRAININGS) or not isinstance(changes, Mapping):
            raise refuse(
                f"'overrides' needs {', '.join(TRAININGS)} or all, with changes, not {key}"
            )


def cell_config(grid: Grid, cell: Cell) -> Config:
    """Make the complete config of a cell, with variables.

    The checkpoint is chosen on the development data of the languages that the cell learns: each
    score that counts in the base config is replaced by its mean over these languages.

    grid (Grid): The grid.
    cell (Cell): The cell.
    RETURNS (Config): The config, for `spacy train`.
    RAISES (RstError): If the base config does not fit.
    """
    approach = grid.approaches[cell.approach]
    # Not by language: translated documents say that they are English.
    treebanks = sorted(grid.treebanks(cell.languages))
    overrides = {
        "paths.train": str(approach.corpus / "train"),
        "paths.dev": str(approach.corpus / "dev"),
        "system.seed": cell.seed,
        "training.seed": cell.seed,
        "corpora.train.languages": None,
        "corpora.train.treebanks": treebanks,
        "corpora.dev.languages": None,
        "corpora.dev.treebanks": treebanks,
        **grid.overrides.get("all", {}),
        **grid.overrides.get(cell.training.partition("-")[0], {}),
    }
    try:
        config = load_config(approach.config, overrides=overrides, interpolate=False)
        weights = config["training"]["score_weights"]
    except (ValueError, KeyError, OSError) as error:
        raise RstError(Errors.R732.format(path=approach.config, error=error)) from error
    config["training"]["score_weights"] = _mean_over_languages(weights)
    return config


def _mean_over_languages(weights: Mapping[str, float | None]) -> dict[str, float | None]:
    """Move the weights of tree scores to their means over the languages. The old ones stay there
    as null: spaCy would bring the defaults back for those that are missing."""
    moved: dict[str, float | None] = {}
    for key, weight in weights.items():
        is_tree_score = key.startswith(PREFIX) and not key.startswith(LANGUAGE_MEAN_PREFIX)
        if weight and is_tree_score:
            moved |= {key: None, language_mean_key(key): weight}
        else:
            moved[key] = weight
    return moved


@lru_cache(maxsize=16)
def hash_corpus(folder: Path) -> dict[str, str]:
    """Hash the DocBins of a corpus.

    folder (Path): The folder with `train`, `dev` and `test`.
    RETURNS (dict[str, str]): SHA-256 of each file by its place in the folder.
    RAISES (RstError): If a part has no files.
    """
    hashes: dict[str, str] = {}
    for split in SPLITS:
        files = sorted((folder / split).rglob(f"*{SUFFIX}"))
        if not files:
            raise RstError(Errors.R733.format(folder=folder / split))
        for path in files:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            hashes[path.relative_to(folder).as_posix()] = digest
    return hashes


def fingerprint(grid: Grid, cell: Cell) -> str:
    """Identify what a cell does: its config, its data, and what it is scored on. Where the corpus
    lies makes no difference.

    grid (Grid): The grid.
    cell (Cell): The cell.
    RETURNS (str): SHA-256. A result with the same fingerprint need not be made again.
    """
    config = cell_config(grid, cell)
    config["paths"] = {**config["paths"], "train": None, "dev": None}
    facts = {
        "config": config,
        "data": hash_corpus(grid.approaches[cell.approach].corpus),
        "scored": [sorted(grid.treebanks()), grid.edus],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf8")).hexdigest()
