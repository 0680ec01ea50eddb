"""Commands in processes of their own, to be stopped or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def start_python(*arguments: object, cwd: Path, **environment: object) -> subprocess.Popen[str]:
    """Start Python with one thread. Both of its outputs can be read as one."""
    variables = {name: str(value) for name, value in environment.items()}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell lets what it runs in the background ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
