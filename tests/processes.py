"""Run code in a fresh Python process."""

from __future__ import annotations

import os
import subprocess
import sys


def run_python(code: str, *arguments: str, python_path: str | None = None) -> str:
    """Run code with one thread, and give what it printed.

    code (str): The code, run with `python -c`.
    *arguments (str): What it finds in `sys.argv[1:]`.
    python_path (Optional[str]): A folder to import from beside the usual ones.
    RETURNS (str): The standard output.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if python_path is not None:
        paths = [python_path, os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    finished = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
