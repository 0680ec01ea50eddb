"""`python -m spacy rst train`: `spacy train` that can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import (
    Arg,
    Opt,
    import_code,
    parse_config_overrides,
    setup_gpu,
    show_validation_error,
)
from spacy.training.initialize import init_nlp
from wasabi import msg

from ..configs import config_path, read_config
from ..training.resume import CHECKPOINT_FILE, Checkpoint, train
from . import rst_app
from ._options import Code, GpuId, Resume
from ._util import clean_errors


@rst_app.command(
    "train", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def train_cli(
    ctx: typer.Context,
    config: Annotated[
        str, Arg(metavar="CONFIG", help="Config file, or the name of a packaged config")
    ],
    output: Annotated[
        Path, Opt("--output", "-o", help="Folder for the trained pipeline", file_okay=False)
    ],
    resume: Resume = False,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Train a pipeline, or resume its training.

    As in spacy train, settings of the config can be given as options, e.g.
    --training.max_steps 100.

    \b
    Example:
      python -m spacy rst train small_cpu --output training
        --paths.train corpus/train --paths.dev corpus/dev
    """
    with clean_errors():
        path = config_path(config)
        if resume:  # refused before the corpus is read
            Checkpoint.read(output / CHECKPOINT_FILE)
        import_code(code)
        setup_gpu(gpu_id)
        with show_validation_error(path):
            settings = read_config(path, parse_config_overrides(ctx.args))
        output.mkdir(parents=True, exist_ok=True)
        msg.divider("Initializing pipeline")
        with show_validation_error(path, hint_fill=False):
            nlp = init_nlp(settings, use_gpu=gpu_id)
        msg.good("Initialized pipeline")
        msg.divider("Training pipeline")
        train(nlp, output, resume=resume)


@rst_app.command("config")
def config_cli(
    name: Annotated[str, Arg(metavar="NAME", help="A packaged config, such as small_cpu")],
) -> None:
    """Print a packaged training config.

    \b
    Example:
      python -m spacy rst config small_cpu > my.cfg
    """
    with clean_errors():
        typer.echo(config_path(name).read_text(encoding="utf8"), nl=False)
