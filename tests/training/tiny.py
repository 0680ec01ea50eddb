"""A training that takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.training.initialize import init_nlp

from spacy_rst.configs import read_config
from tests.sample import sample_docs, write_corpus


def write_sample(folder: Path) -> str:
    """Write four documents of the sample treebank."""
    return str(write_corpus(folder / "sample.spacy", sample_docs(spacy.blank("xx"), ["en"])[:4]))


def init_tiny(corpus: str, changes: dict[str, Any] | None = None, **overrides: Any) -> Language:
    """Initialize the tiny pipeline, with other values for some settings of [training]."""
    paths = {"paths.train": corpus, "paths.dev": corpus}
    config = read_config("tiny_test", {**paths, **overrides})
    config["training"] |= changes or {}
    return init_nlp(config)
