"""Strip a trained pipeline of what only training needs, so that it can be handed on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import srsly
from spacy.util import load_config, load_model
from thinc.api import Config

from ..errors import Errors, RstError
from ..shims import LazyNetShim
from ..util import replace_folder, restore_folder, temporary_beside

SCORE_DIGITS = 4
# What `spacy package` puts into packages, too.
LICENCE_FILES = ("LICENSE", "LICENSES_SOURCES")


def bundle_pipeline(source: Path, target: Path, meta: Mapping[str, Any]) -> Path:
    """Copy a trained pipeline without the words of its training texts, paths, losses and scores per
    language, and with facts for its `meta.json`. Weights are kept in half precision, which changes
    a parse only where two are equally good."""
    with replaced_pipeline(target, licences=target) as copy:
        # A vocabulary that is not loaded is that of a blank pipeline.
        nlp = load_model(source, exclude=["vocab"])
        models = [pipe.model for _, pipe in nlp.components if hasattr(pipe, "model")]
        for node in (node for model in models for node in model.walk()):
            for shim in node.shims:
                if isinstance(shim, LazyNetShim):
                    shim.saves_halves = True
        nlp.to_disk(copy)
        config_path, meta_path = copy / "config.cfg", copy / "meta.json"
        without_paths(load_config(config_path)).to_disk(config_path, interpolate=False)
        written = srsly.read_json(meta_path)
        scores = short_scores(written.get("performance", {}))
        srsly.write_json(meta_path, {**written, **meta, "performance": scores})
    return Path(os.path.realpath(target))


@contextmanager
def replaced_pipeline(target: Path, licences: Path) -> Iterator[Path]:
    """Give a folder to write a pipeline to, which replaces the target at the end. Licences are
    taken over from another folder, if it has any."""
    target = Path(os.path.realpath(target))
    check_target(target)
    copy = temporary_beside(target)
    try:
        yield copy
        for name in LICENCE_FILES:
            if (licences / name).is_file():
                shutil.copy(licences / name, copy)
        replace_folder(copy, target)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def check_target(target: Path) -> None:
    """Refuse to write a pipeline to a folder that holds something else."""
    restore_folder(Path(os.path.realpath(target)))
    if target.exists() and not (target / "config.cfg").is_file():
        raise RstError(
            Errors.R522.format(output=target, problem="it is there and is not a pipeline")
        )


def without_paths(config: Config) -> Config:
    """Copy a config without the paths of the machine on which a pipeline was trained: those of
    `[paths]`, and absolute ones wherever they are."""
    copied = config.copy()
    copied["paths"] = dict.fromkeys(copied.get("paths", {}))
    sections: list[dict[str, Any]] = [copied]
    while sections:
        section = sections.pop()
        for key, value in section.items():
            if isinstance(value, dict):
                sections.append(value)
            elif isinstance(value, str) and Path(value).is_absolute():
                section[key] = None
    return copied


def short_scores(performance: Mapping[str, Any]) -> dict[str, float]:
    """Choose the scores over all languages, rounded, from what training noted down."""
    return {
        name: round(value, SCORE_DIGITS)
        for name, value in performance.items()
        if isinstance(value, float) and not name.endswith("_loss")
    }
