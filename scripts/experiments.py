"""The paper's experiments: train and score a grid of parsers with several seeds, and write their
tables and charts. docs/research/experiments.md explains the grid files."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import spacy
import srsly
import typer
from pydantic import BaseModel, Field, StrictInt, ValidationError, model_validator
from spacy.util import combine_score_weights
from thinc.api import Config
from wasabi import msg

from spacy_rst.configs import read_config
from spacy_rst.scoring.scorer import LANGUAGE_MEAN_PREFIX, PREFIX, language_mean_key
from spacy_rst.treebank.docbin import SUFFIX
from spacy_rst.util import write_atomically

SPLITS = ("train", "dev", "test")
SCORED_SPLITS = ("dev", "test")
PACKAGES = ("spacy_rst", "spacy", "thinc", "torch", "spacy-transformers", "numpy")

Training = Literal["en", "multi", "mono"]
# Names become a part of file names, and must not lead to other folders.
Name = Annotated[str, Field(pattern=r"^[\w-]+$")]
Seed = Annotated[StrictInt, Field(ge=0)]
Treebanks = Annotated[list[str], Field(min_length=1)]


def main(
    grid_path: Annotated[Path, typer.Argument(metavar="GRID", help="Grid file (YAML)")],
    output: Annotated[Path, typer.Argument(help="Folder for results, models and tables")],
    n_process: Annotated[int, typer.Option(min=1, help="Cells to run at a time")] = 1,
    only: Annotated[str, typer.Option(help="Cells to run, e.g. 'multi.*' or '*.seed0'")] = "*",
    report: Annotated[bool, typer.Option("--report", help="Run nothing, write the tables")] = False,
    gpu_id: Annotated[int, typer.Option(help="GPU to use, -1 for the CPU")] = -1,
) -> None:
    """Train parsers on English, on all languages and on each language alone, with several seeds;
    score each on all dev and test sets, and write the means as tables and charts.

    Finished cells are skipped: run it again after a crash. If a cell fails, the others are run
    all the same, and the exit code is 1."""
    from report import write_charts, write_tables

    grid = read_grid(grid_path)
    cells = grid.cells()
    missing = [cell for cell in cells if fnmatchcase(cell.name, only)]
    if not missing:
        names = ", ".join(cell.name for cell in cells)
        raise SystemExit(f"No cell is named '{only}'. The cells of the grid are: {names}.")
    missing = [cell for cell in missing if read_result(grid, cell, output) is None and not report]
    msg.info(f"{len(missing)} of {len(cells)} cells are to be run")
    with ThreadPoolExecutor(n_process) as pool:
        is_done = list(pool.map(lambda cell: run_cell(grid, cell, output, gpu_id), missing))
    done = {cell: result for cell in cells if (result := read_result(grid, cell, output))}
    if done:
        write_tables(grid, done, output / "report")
        write_charts(grid, done, output / "report")
        msg.good(f"Wrote tables and charts of {len(done)} cells to {output / 'report'}")
    if not all(is_done):
        raise SystemExit(1)


@dataclass(frozen=True)
class Cell:
    """One training run: "en", "multi" or "mono-de" with an approach and a seed, and the languages
    that it learns and that choose its checkpoint."""

    training: str
    approach: str
    seed: int
    languages: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.training}.{self.approach}.seed{self.seed}"


class Approach(BaseModel, extra="forbid", frozen=True):
    """A way to read many languages: an encoder that knows them, or English translations. Its corpus
    has train, dev and test with one file per treebank, as `rst convert` writes them."""

    config: Path
    corpus: Path
    trainings: list[Training] | None = None
    overrides: dict[str, Any] = {}

    def files(self, split: str, treebanks: Iterable[str]) -> list[Path]:
        """The converted treebanks of a split. Some have only a test set."""
        paths = (self.corpus / split / f"{treebank}{SUFFIX}" for treebank in treebanks)
        found = [path for path in paths if path.exists()]
        if not found:
            raise SystemExit(f"{self.corpus / split} has none of the grid's treebanks.")
        return found


class Grid(BaseModel, extra="forbid", frozen=True):
    """The content of a grid file. All languages are scored in every cell. Overrides are changes to
    the configs, by training or for "all"; those of an approach come last."""

    approaches: dict[Name, Approach] = Field(min_length=1)
    languages: dict[Name, Treebanks] = Field(min_length=1)
    trainings: list[Training] = ["en", "multi"]
    seeds: list[Seed] = Field([0, 1, 2], min_length=1)
    edus: Literal["gold", "predicted", "both"] = "gold"
    overrides: dict[Training | Literal["all"], dict[str, Any]] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        for values in (self.trainings, self.seeds, self.treebanks(self.languages)):
            if len(set(values)) < len(values):
                raise ValueError(f"something occurs twice in {values}")
        if "en" in self.trainings and "en" not in self.languages:
            raise ValueError("the training 'en' needs 'en' among the languages")
        return self

    def cells(self) -> list[Cell]:
        """All cells, the first seed of every training before the second."""
        return [
            Cell(training, approach, seed, languages)
            for seed in self.seeds
            for approach, settings in self.approaches.items()
            for training, languages in self._trainings().items()
            if settings.trainings is None or kind_of(training) in settings.trainings
        ]

    def _trainings(self) -> dict[str, tuple[str, ...]]:
        trainings: dict[str, tuple[str, ...]] = {}
        if "en" in self.trainings:
            trainings["en"] = ("en",)
        if "multi" in self.trainings:
            trainings["multi"] = tuple(self.languages)
        if "mono" in self.trainings:
            # English alone is EN-Training, and need not be trained twice.
            alone = [name for name in self.languages if (name,) not in trainings.values()]
            trainings |= {f"mono-{name}": (name,) for name in alone}
        return trainings

    def treebanks(self, languages: Iterable[str]) -> list[str]:
        """The treebanks of some languages."""
        return [treebank for language in languages for treebank in self.languages[language]]


def read_grid(path: Path) -> Grid:
    """Read a grid file (YAML), and say what is wrong with it."""
    try:
        return Grid.model_validate(srsly.read_yaml(path))
    except ValidationError as error:
        raise SystemExit(f"{path} cannot be used. {error}") from error


def kind_of(training: str) -> str:
    """What a grid calls a training: "mono" for "mono-de"."""
    return training.partition("-")[0]


def cell_config(grid: Grid, cell: Cell) -> Config:
    """Make the config of a cell. The checkpoint is chosen on the dev sets of the languages that it
    learns: each score that counts in the base config is replaced by its mean over them."""
    approach = grid.approaches[cell.approach]
    overrides: dict[str, Any] = {"system.seed": cell.seed}
    for part in ("train", "dev"):
        overrides[f"paths.{part}"] = str(approach.corpus / part)
        # Not by language: translated documents say that they are English.
        overrides[f"corpora.{part}.languages"] = None
        overrides[f"corpora.{part}.treebanks"] = sorted(grid.treebanks(cell.languages))
    for key in ("all", kind_of(cell.training)):
        overrides |= grid.overrides.get(key, {})  # type: ignore[call-overload]
    overrides |= approach.overrides
    config = read_config(approach.config, overrides)
    nlp = spacy.blank(config["nlp"]["lang"])  # which registers all factories
    factories = [block["factory"] for block in config["components"].values() if "factory" in block]
    defaults = [nlp.get_factory_meta(name).default_score_weights or {} for name in factories]
    weights = combine_score_weights(defaults, config["training"].get("score_weights", {}))
    means = dict(weights)
    for key, weight in weights.items():
        if weight and key.startswith(PREFIX) and not key.startswith(LANGUAGE_MEAN_PREFIX):
            # Null, as spaCy would bring back the default of a score that is missing.
            means |= {key: None, language_mean_key(key): weight}
    config["training"]["score_weights"] = means
    return config


def fingerprint(grid: Grid, cell: Cell) -> str:
    """SHA-256 of what a cell does: its config, its data wherever it lies, and what is scored."""
    approach = grid.approaches[cell.approach]
    config = cell_config(grid, cell)
    config["paths"] |= {"train": None, "dev": None}
    treebanks = grid.treebanks(grid.languages)
    facts = hashlib.sha256(json.dumps([config, sorted(treebanks), grid.edus]).encode("utf8"))
    for split in SPLITS:
        for path in sorted(approach.files(split, treebanks)):
            facts.update(f"{split}/{path.name}".encode() + path.read_bytes())
    return facts.hexdigest()


def read_result(grid: Grid, cell: Cell, output: Path) -> dict[str, Any] | None:
    """The result of a finished cell; None if there is none, or one of another config or data."""
    path = output / cell.name / "result.json"
    if not path.exists():
        return None
    result = srsly.read_json(path)
    return result if result["fingerprint"] == fingerprint(grid, cell) else None


def run_cell(grid: Grid, cell: Cell, output: Path, gpu_id: int = -1) -> bool:
    """Train and score a cell in processes of its own, which give their memory back, and keep all
    that is worth knowing about it in its folder. RETURNS (bool): Whether it succeeded."""
    place, approach = output / cell.name, grid.approaches[cell.approach]
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    config, curve, log = place / "config.cfg", place / "curve.jsonl", place / "log.txt"
    logger = {"@loggers": "spacy.ConsoleLogger.v3", "output_file": str(curve)}
    settings = cell_config(grid, cell)
    settings["training"]["logger"] = logger
    settings.to_disk(config)
    commands: list[list[object]] = [["train", config, "--output", place]]
    for split in SCORED_SPLITS:
        files = approach.files(split, grid.treebanks(grid.languages))
        options = ["--edus", grid.edus, "--output", place / f"{split}.json"]
        commands.append(["rst", "evaluate", place / "model-best", *files, *options])
    for command in commands:
        arguments = map(str, ("-m", "spacy", *command, "--gpu-id", gpu_id))
        with log.open("a", encoding="utf8") as lines:
            run = subprocess.run([sys.executable, *arguments], stdout=lines, stderr=lines)
        if run.returncode:
            msg.fail(f"{cell.name} failed; see {log}")
            return False
    scores = {split: srsly.read_json(place / f"{split}.json") for split in SCORED_SPLITS}
    points = [(line["step"], line["score"]) for line in srsly.read_jsonl(curve)]
    result = {
        "cell": cell.name,
        "fingerprint": fingerprint(grid, cell),
        "versions": {package: version(package) for package in PACKAGES},
        "curve": points,
        "scores": {
            split: scores[split] if grid.edus == "both" else {grid.edus: scores[split]}
            for split in SCORED_SPLITS
        },
    }
    shutil.rmtree(place / "model-last")
    write_atomically(place / "result.json", json.dumps(result) + "\n")
    msg.good(f"{cell.name}: {max(score for _, score in points):.4f} on dev")
    return True


if __name__ == "__main__":
    typer.run(main)
