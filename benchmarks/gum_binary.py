"""Compare our binary trees with the ones a treebank ships itself, file by file.

GUM has both: `rst/rstweb/*.rs4` and `rst/lisp_binary/*.dis`.
Example: python benchmarks/gum_binary.py gum/rst/rstweb gum/rst/lisp_binary
"""

from __future__ import annotations

import argparse
from pathlib import Path

from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.dis import read_dis
from spacy_rst.treebank.rs3 import read_rs3


def main() -> None:
    """Print how many trees are equal, and where the others differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("ours", type=Path, help="folder with rs3 or rs4 files")
    parser.add_argument("theirs", type=Path, help="folder with binary .dis files")
    arguments = parser.parse_args()
    n_equal = n_compared = 0
    for path in sorted(arguments.ours.glob("*.rs[34]")):
        shipped = arguments.theirs / f"{path.stem}.dis"
        if not shipped.exists():
            continue
        n_compared += 1
        ours, theirs = binarize(read_rs3(path)).splits, binarize(read_dis(shipped)).splits
        n_equal += ours == theirs
        if ours != theirs:
            print(f"{path.stem}: {len(set(ours) ^ set(theirs))} splits differ")
    print(f"{n_equal} of {n_compared} trees equal: same spans, nuclearity and relations")


if __name__ == "__main__":
    main()
