"""The command line: `python -m spacy rst COMMAND`."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import active_children
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
def handle_signals() -> None:
    """Let all commands tidy up when Ctrl-C or SIGTERM stops them."""
    if threading.current_thread() is not threading.main_thread():
        return  # where signals cannot be handled
    main_process = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != main_process:  # a worker, which has nothing to tidy up
            os._exit(128 + number)
        for worker in active_children():  # spaCy would wait for them, and they for spaCy
            worker.terminate()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


from . import (  # noqa: E402, F401  (registering the commands)
    agree,
    bundle,
    calibrate,
    convert,
    evaluate,
    export,
    parse,
    show,
    split,
    train,
    translate,
)
