"""Training with several workers, or after an interruption, through spaCy's own loop."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

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
from .parameters import Parameter, trained_parameters
from .workers import Worker

Batch = tuple[int, list[Example]]
Step = tuple[list[Example], dict[str, Any], bool | None]
Evaluate = Callable[[], tuple[float, dict[str, Any]]]
NO_CHECKPOINT = Checkpoint(step=-1, scores=[], n_updates={}, arrays={})


class _Setup(NamedTuple):
    """What a training needs beside the pipeline.

    settings (dict[str, Any]): The block [training], with its objects.
    seed (int): Where random numbers begin.
    train_corpus (Any): The reader of the training data.
    dev_corpus (Any): The reader of the development data.
    parameters (list[Parameter]): All that is learned.
    """

    settings: dict[str, Any]
    seed: int
    train_corpus: Any
    dev_corpus: Any
    parameters: list[Parameter]


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
    setup = _set_up(nlp, worker, use_gpu)
    done = NO_CHECKPOINT
    if resume:
        done = Checkpoint.read(output / CHECKPOINT_FILE)
        done.check(setup.parameters, output / CHECKPOINT_FILE)
        done.restore(setup.parameters, setup.settings["optimizer"])
    steps = _learn(nlp, setup, worker, done)
    if not worker.is_first:
        for _ in steps:
            pass
        return
    if resume:
        msg.info(f"Going on after step {done.step}")
    else:
        clean_output_dir(output)
        (output / CHECKPOINT_FILE).unlink(missing_ok=True)
    _record(nlp, setup, steps, output)
    msg.good("Saved pipeline to output directory", str(output / DIR_MODEL_LAST))


def _set_up(nlp: Language, worker: Worker, use_gpu: int) -> _Setup:
    """Make what the config says, alike in all workers."""
    config = nlp.config.interpolate()
    if use_gpu >= 0 and config["training"]["gpu_allocator"]:
        set_gpu_allocator(config["training"]["gpu_allocator"])
    seed = _common_seed(config["training"]["seed"], worker)
    fix_random_seed(seed)
    settings = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    names = [settings["train_corpus"], settings["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(config, names)
    parameters = trained_parameters(nlp, settings["frozen_components"])
    begin_alike(parameters, worker)
    return _Setup(settings, seed, train_corpus, dev_corpus, parameters)


def _learn(nlp: Language, setup: _Setup, worker: Worker, done: Checkpoint) -> Iterator[Step]:
    """Run spaCy's loop, and yield what it does after a checkpoint."""
    settings = setup.settings
    optimizer = settings["optimizer"]
    shared_optimizer = SharedOptimizer(optimizer, setup.parameters, worker)
    batches = create_train_batches(
        nlp, setup.train_corpus, settings["batcher"], settings["max_epochs"]
    )
    evaluate = create_evaluation_callback(nlp, setup.dev_corpus, settings["score_weights"])
    steps = train_while_improving(
        nlp,
        cast(Optimizer, shared_optimizer) if worker.count > 1 else optimizer,
        _skip(_share(_draw_apart(batches), worker), done.step + 1, shared_optimizer),
        _evaluate_once(evaluate, done.scores, setup.seed, worker),
        dropout=settings["dropout"],
        accumulate_gradient=settings["accumulate_gradient"],
        patience=settings["patience"],
        max_steps=settings["max_steps"],
        eval_frequency=settings["eval_frequency"],
        exclude=settings["frozen_components"],
        annotating_components=settings["annotating_components"],
        before_update=settings["before_update"],
    )
    return (step for step in steps if step[1]["step"] > done.step)


def _record(nlp: Language, setup: _Setup, steps: Iterable[Step], output: Path) -> None:
    """Report the steps, and save the pipeline and a checkpoint with each evaluation."""
    settings, optimizer = setup.settings, setup.settings["optimizer"]
    before_to_disk = create_before_to_disk_callback(settings["before_to_disk"])

    def save_pipeline(name: str) -> None:
        new = temporary_beside(output / name)
        with nlp.use_params(optimizer.averages or {}):
            before_to_disk(nlp).to_disk(new)
        replace_folder(new, output / name)

    msg.info(f"Pipeline: {nlp.pipe_names}")
    with nlp.select_pipes(disable=settings["frozen_components"]):
        log_step, finalize_logger = settings["logger"](nlp, sys.stdout, sys.stderr)
    try:
        for _, info, is_best in steps:
            if is_best is not None:
                with nlp.select_pipes(disable=settings["frozen_components"]):
                    update_meta(settings, nlp, info)
                if is_best:
                    save_pipeline(DIR_MODEL_BEST)
                save_pipeline(DIR_MODEL_LAST)
                info["output_path"] = str(output / DIR_MODEL_LAST)
                scores = [score for score, _ in info["checkpoints"]]
                checkpoint = Checkpoint.take(info["step"], scores, setup.parameters, optimizer)
                checkpoint.write(output / CHECKPOINT_FILE)
            log_step(info if is_best is not None else None)
    finally:
        finalize_logger()
    save_pipeline(DIR_MODEL_LAST)


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


def _skip(batches: Iterator[Batch], n_done: int, optimizer: SharedOptimizer) -> Iterator[Batch]:
    """Make the batches that were learned from before an interruption empty."""
    for step, (epoch, batch) in enumerate(batches):
        optimizer.is_idle = step < n_done
        yield epoch, [] if optimizer.is_idle else batch


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
