"""Training that can be resumed: spaCy's own loop, and a checkpoint with each evaluation."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example, loop
from spacy.util import registry, resolve_dot_names
from thinc.api import Config, Model, Optimizer, PyTorchShim, fix_random_seed, to_numpy, torch2xp
from thinc.backends import get_array_ops
from thinc.types import FloatsXd
from wasabi import msg

from ..errors import Errors, RstError
from ..util import atomic_path, replace_folder, temporary_beside

CHECKPOINT_FILE = "checkpoint.safetensors"
WEIGHTS = "weights"
# What thinc's optimizer keeps for each weight.
OPTIMIZER_ARRAYS = ("mom1", "mom2", "averages")
# What spaCy's loop takes from [training] as it is.
LOOP_SETTINGS = ["dropout", "accumulate_gradient", "patience", "max_steps", "eval_frequency"]

Batch = tuple[int, list[Example]]
Step = tuple[list[Example], dict[str, Any], bool | None]


class _Weight(NamedTuple):
    """A trained array: what the optimizer knows it by in this process, and the layer or tensor."""

    key: tuple[int, str]
    owner: Model | torch.nn.Parameter

    def read(self) -> FloatsXd:
        if isinstance(self.owner, Model):
            return self.owner.get_param(self.key[1])
        return cast(FloatsXd, torch2xp(self.owner.data))

    def write(self, value: Any) -> None:
        if isinstance(self.owner, Model):
            self.owner.set_param(self.key[1], cast(FloatsXd, self.owner.ops.asarray(value)))
        else:
            self.owner.data.copy_(torch.from_numpy(value))


def _trained_weights(nlp: Language, frozen: Collection[str]) -> dict[str, _Weight]:
    """Find what is trained, by its place: component, number of the layer and name."""
    weights = {}
    for pipe_name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        if pipe_name in frozen or not isinstance(model, Model):
            continue
        for number, layer in enumerate(model.walk()):
            place = f"{pipe_name}/{number}"
            for name in filter(layer.has_param, layer.param_names):
                weights[f"{place}/{name}"] = _Weight((layer.id, name), layer)
            for shim in layer.shims:
                net: Any = shim._model if isinstance(shim, PyTorchShim) else None
                for name, tensor in net.named_parameters() if net is not None else ():
                    if tensor.requires_grad:
                        weights[f"{place}/net/{name}"] = _Weight((shim.id, name), tensor)
    return weights


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training after an evaluation: the seed that it began with, the step, the main
    scores of all evaluations, how often each weight was updated (by its place), and weights,
    moments and averages as KIND:PLACE."""

    seed: int
    step: int = -1
    scores: list[float] = field(default_factory=list)
    n_updates: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Load a checkpoint, or raise an RstError if there is none that can be read."""
        try:
            with safe_open(path, framework="numpy") as file:
                state = json.loads((file.metadata() or {})["state"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return cls(**state, arrays=arrays)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise RstError(Errors.R580.format(path=path, error=error)) from error

    def write(self, path: Path) -> None:
        """Save it, as a whole or not at all."""
        state = {name: value for name, value in vars(self).items() if name != "arrays"}
        with atomic_path(path) as temporary:
            save_file(self.arrays, temporary, metadata={"state": json.dumps(state)})


def _take_checkpoint(
    seed: int, info: dict[str, Any], weights: dict[str, _Weight], optimizer: Optimizer
) -> Checkpoint:
    arrays = {}
    for place, weight in weights.items():
        arrays[f"{WEIGHTS}:{place}"] = to_numpy(weight.read())
        for kind in OPTIMIZER_ARRAYS:
            known = getattr(optimizer, kind) or {}
            if weight.key in known:
                arrays[f"{kind}:{place}"] = to_numpy(known[weight.key])
    n_updates = {place: optimizer.nr_update[weight.key] for place, weight in weights.items()}
    scores = [score for score, _ in info["checkpoints"]]
    return Checkpoint(seed, info["step"], scores, n_updates, arrays)


def _restore(
    path: Path, checkpoint: Checkpoint, weights: dict[str, _Weight], optimizer: Optimizer
) -> None:
    """Give weights and optimizer the state of a checkpoint, but for the optimizer's schedules."""
    arrays = checkpoint.arrays
    saved = {name: arrays[name].shape for name in arrays if name.startswith(f"{WEIGHTS}:")}
    own = {f"{WEIGHTS}:{place}": weight.read().shape for place, weight in weights.items()}
    if saved != own:
        differing = sorted(name for name in saved | own if saved.get(name) != own.get(name))
        raise RstError(Errors.R581.format(path=path, weights=", ".join(differing[:3])))
    for place, weight in weights.items():
        weight.write(arrays[f"{WEIGHTS}:{place}"])
        optimizer.nr_update[weight.key] = checkpoint.n_updates[place]
        for kind in OPTIMIZER_ARRAYS:
            array, known = arrays.get(f"{kind}:{place}"), getattr(optimizer, kind)
            if array is not None and known is not None:
                known[weight.key] = get_array_ops(weight.read()).asarray(array)


def train(nlp: Language, output: Path, *, resume: bool = False) -> None:
    """Train an initialized pipeline as `spacy train` does, with a checkpoint at each evaluation.

    To resume, earlier steps are counted again with their batches, schedules and scores, but without
    updates, so that spaCy's loop arrives at the checkpoint in the output folder.
    """
    config = nlp.config.interpolate()
    settings = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    weights = _trained_weights(nlp, settings["frozen_components"])
    optimizer, path = settings["optimizer"], output / CHECKPOINT_FILE
    if resume:
        done = Checkpoint.read(path)
        _restore(path, done, weights, optimizer)
        msg.info(f"Resuming after step {done.step}")
    else:
        seed = settings["seed"]
        done = Checkpoint(random.getrandbits(31) if seed is None else seed)
        loop.clean_output_dir(output)
        path.unlink(missing_ok=True)
    for info in _log_and_save(nlp, settings, _steps(nlp, config, settings, done), output):
        _take_checkpoint(done.seed, info, weights, optimizer).write(path)
    msg.good("Saved pipeline to output directory", str(output / loop.DIR_MODEL_LAST))


def _steps(
    nlp: Language, config: Config, settings: dict[str, Any], done: Checkpoint
) -> Iterator[Step]:
    """Run spaCy's loop, and yield its steps after the checkpoint."""
    names = [settings["train_corpus"], settings["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(config, names)
    batches = loop.create_train_batches(
        nlp, train_corpus, settings["batcher"], settings["max_epochs"]
    )
    evaluate = loop.create_evaluation_callback(nlp, dev_corpus, settings["score_weights"])
    scores = iter(done.scores)

    def evaluate_once() -> tuple[float, dict[str, Any]]:
        return (score, {}) if (score := next(scores, None)) is not None else evaluate()

    steps = loop.train_while_improving(
        nlp,
        settings["optimizer"],
        _repeat_batches(batches, done),
        evaluate_once,
        exclude=settings["frozen_components"],
        annotating_components=settings["annotating_components"],
        before_update=settings["before_update"],
        **{name: settings[name] for name in LOOP_SETTINGS},
    )
    return (step for step in steps if step[1]["step"] > done.step)


def _repeat_batches(batches: Iterator[Batch], done: Checkpoint) -> Iterator[Batch]:
    """Yield the batches, those before the checkpoint without their examples. Each step has random
    numbers of its own, so that they do not depend on updates that are not repeated."""
    for step in count():
        fix_random_seed(int(np.random.SeedSequence([done.seed, step]).generate_state(1)[0]))
        epoch, batch = next(batches, (0, None))
        if batch is None:
            return
        yield epoch, batch if step > done.step else []


def _log_and_save(
    nlp: Language, settings: dict[str, Any], steps: Iterable[Step], output: Path
) -> Iterator[dict[str, Any]]:
    """Log all steps, save the pipeline with each evaluation, and yield what is known of these."""
    before_to_disk = loop.create_before_to_disk_callback(settings["before_to_disk"])

    def save_pipeline(name: str) -> None:
        new = temporary_beside(output / name)
        with nlp.use_params(settings["optimizer"].averages or {}):
            before_to_disk(nlp).to_disk(new)
        replace_folder(new, output / name)

    msg.info(f"Pipeline: {nlp.pipe_names}")
    with nlp.select_pipes(disable=settings["frozen_components"]):
        log_step, finalize_logger = settings["logger"](nlp, sys.stdout, sys.stderr)
    try:
        for _, info, is_best in steps:
            if is_best is not None:
                with nlp.select_pipes(disable=settings["frozen_components"]):
                    loop.update_meta(settings, nlp, info)
                if is_best:
                    save_pipeline(loop.DIR_MODEL_BEST)
                save_pipeline(loop.DIR_MODEL_LAST)
                info["output_path"] = str(output / loop.DIR_MODEL_LAST)
                yield info
            log_step(info if is_best is not None else None)
    finally:
        finalize_logger()
    save_pipeline(loop.DIR_MODEL_LAST)
