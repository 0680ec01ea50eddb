"""The command line: `python -m spacy rst COMMAND`."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

import typer
from spacy.cli._util import app as spacy_app

rst_app = typer.Typer(
    name="rst",
    help="Discourse trees: parse texts, convert, compare and export treebanks, score parsers.",
    no_args_is_help=True,
)
spacy_app.add_typer(rst_app)


@rst_app.callback()
def end_like_ctrl_c() -> None:
    """Let a request to end (SIGTERM) be like Ctrl-C in all commands: they tidy up first."""
    if threading.current_thread() is not threading.main_thread():
        return  # where signals cannot be handled
    main_process = os.getpid()

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() != main_process:  # a worker, which has nothing to tidy up
            os._exit(128 + number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, handle)


from . import (  # noqa: E402, F401  (registering the commands)
    agree,
    analyze,
    bundle,
    convert,
    evaluate,
    experiments,
    export,
    parse,
    prepare,
    show,
    split,
    topics,
    translate,
)
