"""Measure what `import spacy_rst` adds to `import spacy`.

Each import runs in fresh processes, in turn, so that a busy moment hits both. The difference of
the medians should stay below 0.3 seconds.

    python benchmarks/imports.py --runs 9
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median

TIMED = "import time; start = time.{clock}(); {code}; print(time.{clock}() - start)"
IMPORTS = {
    "import spacy": "import spacy",
    "import spacy, spacy_rst": "import spacy, spacy_rst",
}
CLOCKS = {"processor": "process_time", "wall clock": "perf_counter"}
LIMIT = 0.3


def time_import(code: str, clock: str) -> float:
    """Time an import in a fresh process.

    code (str): The import statement.
    clock (str): The function of `time` to measure with.
    RETURNS (float): Seconds.
    """
    finished = subprocess.run(
        [sys.executable, "-c", TIMED.format(clock=clock, code=code)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(finished.stdout)


def main() -> None:
    """Print the medians and what the package adds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="fresh processes per import and clock")
    arguments = parser.parse_args()
    for name, clock in CLOCKS.items():
        seconds: dict[str, list[float]] = {label: [] for label in IMPORTS}
        time_import("import spacy, spacy_rst", clock)  # fills the file caches
        for _ in range(arguments.runs):
            for label, code in IMPORTS.items():
                seconds[label].append(time_import(code, clock))
        medians = [median(values) for values in seconds.values()]
        print(f"\n{name} (seconds)              median     min     max")
        for label, values in seconds.items():
            print(f"{label:32}{median(values):8.3f}{min(values):8.3f}{max(values):8.3f}")
        added = medians[1] - medians[0]
        print(f"{'added by spacy_rst':32}{added:8.3f}   (limit {LIMIT}: {added < LIMIT})")


if __name__ == "__main__":
    main()
