"""Training with several workers, or after an interruption, through spaCy's own loop."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    clean_output_dir,
    create_before_to_disk_callback,
    create_evaluation_callback,
    create_train_batches,
    train_while_improving,
    update_meta,
)
from spacy.util import registry, resolve_dot_names
from thinc.api import Optimizer, fix_random_seed, set_gpu_allocator
from wasabi import msg

from ..util import replace_folder, temporary_beside
from .checkpoint import CHECKPOINT_FILE, Checkpoint
from .optimizer import SharedOptimizer, begin_alike
from .parameters import trained_parameters
from .workers import Worker

Batch = tuple[int, list[Example]]
Evaluate = Callable[[], tuple[float, dict[str, Any]]]
NO_CHECKPOINT = Checkpoint(step=-1, scores=[], n_updates={}, arrays={})


def train(
    nlp: Language,
    output: Path,
    *,
    worker: Worker | None = None,
    use_gpu: int = -1,
    resume: bool = False,
) -> None:
    """Train a pipeline as `spacy train` does, alone or together with other workers.

    In each step every worker learns from a batch of its own. The first evaluates, reports and
    writes: `model-best`, `model-last` and a checkpoint.

    nlp (Language): The pipeline, initialized, with the full config.
    output (Path): The folder to write to.
    worker (Worker | None): This process, if it is one of several.
    use_gpu (int): The number of a GPU, -1 for the CPU.
    resume (bool): Go on from the checkpoint in the folder. The steps before are counted again, with
        all batches, schedules and scores, but not learned from again, so that spaCy's loop is where
        it was.
    RAISES (RstError): If there is no checkpoint to go on from, or that of another pipeline.
    """
    worker = worker or Worker()
    config = nlp.config.interpolate()
    if use_gpu >= 0 and config["training"]["gpu_allocator"]:
        set_gpu_allocator(config["training"]["gpu_allocator"])
    seed = _common_seed(config["training"]["seed"], worker)
    fix_random_seed(seed)
    settings = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    corpora = resolve_dot_names(config, [settings["train_corpus"], settings["dev_corpus"]])
    frozen = settings["frozen_components"]
    parameters = trained_parameters(nlp, frozen)
    begin_alike(parameters, worker)
    done = NO_CHECKPOINT
    if resume:
        done = Checkpoint.read(output / CHECKPOINT_FILE)
        done.check(parameters, output / CHECKPOINT_FILE)
    own_optimizer: Optimizer = settings["optimizer"]
    shared_optimizer = SharedOptimizer(own_optimizer, parameters, worker)
    shared_optimizer.is_idle = resume

    def go_on() -> None:
        shared_optimizer.is_idle = False
        if resume:
            done.restore(parameters, own_optimizer)

    batches = create_train_batches(nlp, corpora[0], settings["batcher"], settings["max_epochs"])
    evaluation = create_evaluation_callback(nlp, corpora[1], settings["score_weights"])
    steps = train_while_improving(
        nlp,
        cast(Optimizer, shared_optimizer) if worker.count > 1 else own_optimizer,
        _skip(_share(_draw_apart(batches), worker), done.step + 1, go_on),
        _evaluate_once(evaluation, done.scores, seed, worker),
        dropout=settings["dropout"],
        accumulate_gradient=settings["accumulate_gradient"],
        patience=settings["patience"],
        max_steps=settings["max_steps"],
        eval_frequency=settings["eval_frequency"],
        exclude=frozen,
        annotating_components=settings["annotating_components"],
        before_update=settings["before_update"],
    )
    new_steps = (step for step in steps if step[1]["step"] > done.step)
    if not worker.is_first:
        for _ in new_steps:
            pass
        return
    if not resume:
        clean_output_dir(output)
        (output / CHECKPOINT_FILE).unlink(missing_ok=True)
    before_to_disk = create_before_to_disk_callback(settings["before_to_disk"])

    def save(is_best: bool) -> None:
        with nlp.use_params(own_optimizer.averages or {}):
            before_to_disk(nlp).to_disk(output / DIR_MODEL_LAST)
        if is_best:
            _copy_folder(output / DIR_MODEL_LAST, output / DIR_MODEL_BEST)

    msg.info(f"Pipeline: {nlp.pipe_names}")
    if resume:
        msg.info(f"Going on after step {done.step}")
    with nlp.select_pipes(disable=frozen):
        log_step, finalize_logger = settings["logger"](nlp, sys.stdout, sys.stderr)
    try:
        for _, info, is_best in new_steps:
            if is_best is not None:
                with nlp.select_pipes(disable=frozen):
                    update_meta(settings, nlp, info)
                save(is_best)
                scores = [score for score, _ in info["checkpoints"]]
                checkpoint = Checkpoint.take(info["step"], scores, parameters, own_optimizer)
                checkpoint.write(output / CHECKPOINT_FILE)
                info["output_path"] = str(output / DIR_MODEL_LAST)
            log_step(info if is_best is not None else None)
    finally:
        finalize_logger()
    save(is_best=False)
    msg.good("Saved pipeline to output directory", str(output / DIR_MODEL_LAST))


def _common_seed(seed: int | None, worker: Worker) -> int:
    """Draw a seed where the config has none: all workers must shuffle alike."""
    numbers = torch.tensor([random.getrandbits(31) if seed is None else seed])
    worker.copy_first(numbers)
    return int(numbers[0])


def _draw_apart(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Draw batches as if nothing else used `random`: what does so, differs between workers."""
    own = random.getstate()
    while True:
        others = random.getstate()
        random.setstate(own)
        try:
            batch = next(batches)
        except StopIteration:
            return
        finally:
            own = random.getstate()
            random.setstate(others)
        yield batch


def _share(batches: Iterator[Batch], worker: Worker) -> Iterator[Batch]:
    """Give each worker every so-manieth batch. If the last ones do not suffice for all, some are
    given out twice, so that all workers end together."""
    while group := list(islice(batches, worker.count)):
        epoch, _ = group[0]
        _, batch = group[worker.rank % len(group)]
        yield epoch, batch


def _skip(batches: Iterator[Batch], n_done: int, go_on: Callable[[], None]) -> Iterator[Batch]:
    """Make the first batches empty, and do something before the first that is not."""
    for step, (epoch, batch) in enumerate(batches):
        if step == n_done:
            go_on()
        yield epoch, batch if step >= n_done else []


def _evaluate_once(
    evaluate: Evaluate, known_scores: list[float], seed: int, worker: Worker
) -> Evaluate:
    """Evaluate in the first worker only, and not what was evaluated before an interruption.

    After each evaluation every worker begins a new row of random numbers: each its own, for
    dropout, and the same again when the training goes on from there.
    """
    known = iter(known_scores)
    number = 0

    def evaluate_once() -> tuple[float, dict[str, Any]]:
        nonlocal number
        scores: dict[str, Any] = {}
        score = next(known, None)
        if score is None:
            score = 0.0
            if worker.is_first:
                with _all_threads(worker):
                    score, scores = evaluate()
            score = _score_of_first(score, worker)
        _seed_everything(seed, worker.rank, number)
        number += 1
        return score, scores

    return evaluate_once


def _score_of_first(score: float, worker: Worker) -> float:
    number = torch.tensor([score], dtype=torch.float64)
    worker.copy_first(number)
    return float(number[0])


@contextmanager
def _all_threads(worker: Worker) -> Iterator[None]:
    """Use the threads of all workers, since the others are waiting."""
    threads = torch.get_num_threads()
    torch.set_num_threads(threads * worker.count)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _seed_everything(*numbers: int) -> None:
    fix_random_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a folder to its place, where an old one stays until the new one is complete."""
    new = temporary_beside(target)
    shutil.copytree(source, new)
    replace_folder(new, target)
