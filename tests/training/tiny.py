"""A training that takes seconds, and what came out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.training.initialize import init_nlp
from spacy.util import load_config

from spacy_rst.training.loop import train
from spacy_rst.training.parameters import trained_parameters
from spacy_rst.training.workers import Worker
from tests.sample import sample_docs, write_corpus
from tests.test_configs import CONFIGS

TINY = CONFIGS / "tiny_test.cfg"
# A single step downhill, so that the change of the weights is the gradient.
ONE_STEP = {
    "training.max_epochs": 1,
    "training.dropout": 0.0,
    "components.rst_parser.model.dropout": 0.0,
}
DOWNHILL = {"@optimizers": "SGD.v1", "learn_rate": 0.1, "grad_clip": 0.0, "use_averages": False}


def write_sample(folder: Path) -> str:
    """Write four documents of the sample treebank."""
    return str(write_corpus(folder / "sample.spacy", sample_docs(spacy.blank("xx"), ["en"])[:4]))


def init_tiny(corpus: str, optimizer: Any = None, **overrides: Any) -> Language:
    """Initialize the tiny pipeline."""
    paths = {"paths.train": corpus, "paths.dev": corpus}
    config = load_config(TINY, overrides={**paths, **overrides})
    if optimizer is not None:
        config["training"]["optimizer"] = optimizer
    return init_nlp(config)


def one_step(worker: Worker, corpus: str, output: Path, batch_size: int) -> None:
    """Train until the corpus was read once, with batches of so many documents."""
    options = {**ONE_STEP, "training.batcher.size": batch_size, "training.max_steps": 0}
    train(init_tiny(corpus, DOWNHILL, **options), output, worker=worker)


def saved_weights(pipeline: Path) -> dict[str, torch.Tensor]:
    """All weights of a saved pipeline, by their places."""
    parameters = trained_parameters(spacy.load(pipeline))
    return {parameter.place: torch.tensor(parameter.read()) for parameter in parameters}


def difference(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
    """How far weights are apart at the most."""
    assert first.keys() == second.keys() and first
    return max(float((first[place] - second[place]).abs().max()) for place in first)
