"""`python -m spacy rst train`: `spacy train` with several processes, which can be resumed."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code, parse_config_overrides, setup_gpu, show_validation_error
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from wasabi import msg

from ..errors import Errors, RstError
from ..training.checkpoint import CHECKPOINT_FILE
from ..training.workers import Worker, run_workers
from . import rst_app
from ._options import Code, GpuId
from ._util import clean_errors


@dataclass(frozen=True)
class Job:
    """What all workers are told."""

    config_path: Path
    output: Path
    overrides: dict[str, Any]
    code: Path | None
    gpu_id: int
    resume: bool


@rst_app.command(
    "train", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def train_cli(
    ctx: typer.Context,
    config_path: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Config file", exists=True, dir_okay=False)
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for the trained pipeline", file_okay=False),
    ],
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that train together, each on a batch of its own")
    ] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last evaluation in the output folder")
    ] = False,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Train a pipeline as spacy train does, with several processes on a CPU, or further after an
    interruption. Settings of the config can be given as options, e.g. --training.max_steps 100.

    \b
    Example:
      python -m spacy rst train spacy_rst/configs/joint_cpu.cfg --output training --workers 2
        --paths.train corpus/train --paths.dev corpus/dev
    """
    with clean_errors():
        if workers > 1 and gpu_id >= 0:
            raise RstError(Errors.R584)
        if resume and not (output / CHECKPOINT_FILE).is_file():
            raise RstError(Errors.R581.format(path=output / CHECKPOINT_FILE))
        overrides = parse_config_overrides(ctx.args)
        output.mkdir(parents=True, exist_ok=True)
        job = Job(config_path, output, overrides, code, gpu_id, resume)
        if workers == 1:
            run_job(Worker(), job)
        else:
            run_workers(workers, run_in_worker, job)


def run_in_worker(worker: Worker, job: Job) -> None:
    """Train in this process, one of several: a problem is printed and ends it.

    worker (Worker): What it is among the others.
    job (Job): What all of them do.
    """
    try:
        with clean_errors(f"rst, worker {worker.rank + 1}"):
            run_job(worker, job)
    except typer.Exit as end:
        sys.exit(end.exit_code)


def run_job(worker: Worker, job: Job) -> None:
    """Train in this process.

    worker (Worker): What it is among the others.
    job (Job): What all of them do.
    """
    from ..training.loop import train

    if not worker.is_first:  # what all would say is said by the first
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        warnings.simplefilter("ignore")
    import_code(job.code)
    setup_gpu(job.gpu_id)
    with show_validation_error(job.config_path):
        config = load_config(job.config_path, overrides=job.overrides, interpolate=False)
    msg.divider("Initializing pipeline")
    with show_validation_error(job.config_path, hint_fill=False):
        nlp = init_nlp(config, use_gpu=job.gpu_id)
    msg.good("Initialized pipeline")
    msg.divider("Training pipeline")
    train(nlp, job.output, worker=worker, use_gpu=job.gpu_id, resume=job.resume)
