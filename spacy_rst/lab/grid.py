"""The grid of experiments: what a grid file says, its cells, and the config of each of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import srsly
from pydantic import BaseModel, Field, StrictInt, ValidationError, model_validator
from spacy.util import load_config
from thinc.api import Config

from ..errors import Errors, RstError
from ..scoring.scorer import LANGUAGE_MEAN_PREFIX, PREFIX, language_mean_key
from ..treebank.docbin import SUFFIX

ENGLISH = "en"
SPLITS = ("train", "dev", "test")

Training = Literal["en", "multi", "mono"]
# Names become a part of file names, and must not lead to other folders.
Name = Annotated[str, Field(pattern=r"^[\w-]+$")]
Seed = Annotated[StrictInt, Field(ge=0)]


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


class Approach(BaseModel, extra="forbid", frozen=True):
    """A way to read many languages: an encoder that knows them, or English translations.

    config (Path): The training config.
    corpus (Path): The folder with `train`, `dev` and `test`, as `spacy rst prepare` or
        `spacy rst translate` makes it.
    trainings (list[str] | None): Which of the grid's trainings to run, None for all.
    overrides (dict[str, Any]): Changes to the config, which come before those of the grid.
    """

    config: Path
    corpus: Path
    trainings: list[Training] | None = None
    overrides: dict[str, Any] = {}


class Grid(BaseModel, extra="forbid", frozen=True):
    """What a grid file says. Paths are relative to the working directory, as everywhere in spaCy.

    approaches (dict[str, Approach]): The approaches by name, "encoder" and "translated" in the
        paper.
    languages (dict[str, list[str]]): The languages of the experiment, each with its treebanks;
        all are scored in every cell.
    trainings (list[str]): Of "en", "multi" and "mono", which to run.
    seeds (list[int]): The seeds of each training.
    edus (str): Score on "gold" EDUs, "predicted" ones or "both".
    overrides (dict[str, dict[str, Any]]): Changes to the configs, by training or for "all":
        `{"all": {"training.max_epochs": 10}}`.
    """

    approaches: dict[Name, Approach] = Field(min_length=1)
    languages: dict[Name, Annotated[list[str], Field(min_length=1)]] = Field(min_length=1)
    trainings: list[Training] = ["en", "multi"]
    seeds: list[Seed] = Field([0, 1, 2], min_length=1)
    edus: Literal["gold", "predicted", "both"] = "gold"
    overrides: dict[Training | Literal["all"], dict[str, Any]] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        for values in (self.trainings, self.seeds, self.treebanks()):
            if len(set(values)) < len(values):
                raise ValueError(f"something stands twice in {values}")
        if "en" in self.trainings and ENGLISH not in self.languages:
            raise ValueError("the training 'en' needs 'en' among the languages")
        return self

    def cells(self) -> list[Cell]:
        """RETURNS (list[Cell]): All cells, the first seed of every training before the second."""
        return [
            Cell(training, approach, seed, languages)
            for seed in self.seeds
            for approach, settings in self.approaches.items()
            for training, languages in self._trainings().items()
            if settings.trainings is None or _kind(training) in settings.trainings
        ]

    def _trainings(self) -> dict[str, tuple[str, ...]]:
        together = {"en": (ENGLISH,), "multi": tuple(self.languages)}
        trainings: dict[str, tuple[str, ...]] = {
            name: languages for name, languages in together.items() if name in self.trainings
        }
        if "mono" in self.trainings:
            # English alone is EN-Training, and need not be trained twice.
            alone = [name for name in self.languages if (name,) not in trainings.values()]
            trainings |= {f"mono-{name}": (name,) for name in alone}
        return trainings

    def treebanks(self, languages: Iterable[str] | None = None) -> list[str]:
        """RETURNS (list[str]): The treebanks of languages, by default of all."""
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
    """Check the content of a grid file, whose name is for messages. See `read_grid`."""
    try:
        return Grid.model_validate(content)
    except ValidationError as error:
        problems = [
            ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"])))
            for problem in error.errors(include_url=False)
        ]
        raise RstError(Errors.R731.format(path=path, problems="; ".join(problems))) from error


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
    overrides: dict[str, Any] = {"system.seed": cell.seed, "training.seed": cell.seed}
    for part in ("train", "dev"):
        overrides[f"paths.{part}"] = str(approach.corpus / part)
        # Not by language: translated documents say that they are English.
        overrides[f"corpora.{part}.languages"] = None
        overrides[f"corpora.{part}.treebanks"] = sorted(grid.treebanks(cell.languages))
    for key in ("all", _kind(cell.training)):
        overrides |= grid.overrides.get(key, {})  # type: ignore[call-overload]
    overrides |= approach.overrides
    try:
        config = load_config(approach.config, overrides=overrides, interpolate=False)
        weights = config["training"]["score_weights"]
        config["training"]["score_weights"] = _mean_over_languages(weights)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise RstError(Errors.R732.format(path=approach.config, error=error)) from error
    return config


def _kind(training: str) -> str:
    """RETURNS (str): What a grid calls a training: "mono" for "mono-de"."""
    return training.partition("-")[0]


def _mean_over_languages(weights: Mapping[str, float | None]) -> dict[str, float | None]:
    """Move the weights of tree scores to their means over the languages. The old ones stay there
    as null: spaCy would bring the defaults back for those that are missing."""
    moved = dict(weights)
    for key, weight in weights.items():
        is_tree_score = key.startswith(PREFIX) and not key.startswith(LANGUAGE_MEAN_PREFIX)
        if weight and is_tree_score:
            moved |= {key: None, language_mean_key(key): weight}
    return moved


@lru_cache(maxsize=16)
def hash_corpus(folder: Path) -> dict[str, str]:
    """RETURNS (dict[str, str]): SHA-256 of each DocBin of a corpus by its place in the folder."""
    hashes: dict[str, str] = {}
    for split in SPLITS:
        files = sorted((folder / split).rglob(f"*{SUFFIX}"))
        if not files:
            raise RstError(Errors.R733.format(folder=folder / split))
        for path in files:
            hashes[path.relative_to(folder).as_posix()] = _sha256(path.read_bytes())
    return hashes


def fingerprint(grid: Grid, cell: Cell) -> str:
    """RETURNS (str): SHA-256 of what a cell does: its config, its data, and what it is scored on.
    Where the corpus lies makes no difference."""
    config = cell_config(grid, cell)
    config["paths"] |= {"train": None, "dev": None}
    data = hash_corpus(grid.approaches[cell.approach].corpus)
    facts = {"config": config, "data": data, "scored": [sorted(grid.treebanks()), grid.edus]}
    return _sha256(json.dumps(facts, sort_keys=True).encode("utf8"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
