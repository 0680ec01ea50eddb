"""A grid on the sample treebank that takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import spacy
import srsly

from spacy_rst.lab.grid import Cell, Grid, make_grid, read_grid
from tests.sample import sample_docs, write_corpus
from tests.test_configs import CONFIGS

LANGUAGES = ("en", "eu")
SPLITS = {"train": slice(0, 2), "dev": slice(2, 3), "test": slice(3, 4)}


def write_parts(folder: Path) -> Path:
    """Write the sample treebank as `spacy rst prepare` does: train, dev and test."""
    nlp = spacy.blank("xx")
    for language in LANGUAGES:
        docs = sample_docs(nlp, [language])
        for split, part in SPLITS.items():
            (folder / split).mkdir(parents=True, exist_ok=True)
            write_corpus(folder / split / f"sample.{language}.spacy", docs[part])
    return folder


def grid_content(corpus: Path, **changes: Any) -> dict[str, Any]:
    """The content of a grid file."""
    return {
        "approaches": {
            "encoder": {"config": str(CONFIGS / "tiny_test.cfg"), "corpus": str(corpus)}
        },
        "languages": {language: [f"sample.{language}"] for language in LANGUAGES},
        "seeds": [0],
        "overrides": {"all": {"training.max_epochs": 2, "training.eval_frequency": 1}},
        **changes,
    }


def tiny_grid(corpus: Path, **changes: Any) -> Grid:
    """A grid on a corpus."""
    return make_grid(grid_content(corpus, **changes))


def write_grid(path: Path, corpus: Path, **changes: Any) -> Grid:
    """Write a grid file."""
    srsly.write_yaml(path, grid_content(corpus, **changes))
    return read_grid(path)


def named(grid: Grid, name: str) -> Cell:
    """The cell of a name."""
    (cell,) = [cell for cell in grid.cells() if cell.name == name]
    return cell
