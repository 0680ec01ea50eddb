"""`python -m tests.fuzz`: many damaged inputs of each kind, with counts."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from .kinds import KINDS
from .runner import run_cases

MAX_MEMORY = 6 * 1024**3


def main() -> None:
    """Run the cases and print what became of them; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--cases", type=int, default=20_000, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other cases")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print one case, run nothing")
    options = parser.parse_args()
    unknown = set(options.kinds) - KINDS.keys()
    if unknown:
        parser.error(f"there is no kind {', '.join(sorted(unknown))}")
    chosen = [KINDS[name] for name in options.kinds or KINDS]
    if options.show is not None:
        for kind in chosen:
            print(repr(kind.case(options.show, options.seed)))
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    n_failures = 0
    for kind in chosen:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_cases(kind, range(options.cases), Path(folder), options.seed)
        n_failures += sum(map(len, outcome.failures.values()))
        codes = " ".join(f"{code}:{count}" for code, count in sorted(outcome.refused.items()))
        print(
            f"{kind.name}: {options.cases} cases, {outcome.read} read, "
            f"{outcome.refused.total()} refused ({codes}), "
            f"{sum(map(len, outcome.failures.values()))} failures, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
        for failure, numbers in sorted(outcome.failures.items(), key=lambda item: -len(item[1])):
            print(f"  {len(numbers)} x {failure}, e.g. case {numbers[0]}", flush=True)
    sys.exit(1 if n_failures else 0)


if __name__ == "__main__":
    main()
