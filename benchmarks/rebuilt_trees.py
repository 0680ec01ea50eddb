"""Measure how well trees rebuilt from DISRPT dependencies agree with the trees they came from.

The Potsdam Commentary Corpus is published in both forms, so it tells how far the rebuilt trees of
treebanks that only exist as dependencies can be trusted:

    python benchmarks/rebuilt_trees.py assets/de.pcc2.2/rs3 assets/de.pcc-disrpt/*.rels
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from spacy_rst.errors import RstError
from spacy_rst.tree import RstTree
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.disrpt import read_disrpt
from spacy_rst.treebank.rs3 import read_rs3

INNER_COLUMNS = ("span", "nuclearity", "full")
CHILD_COLUMNS = ("span", "nuclearity")


def count_agreement(gold: RstTree, rebuilt: RstTree) -> Counter[str]:
    """Count the spans of two trees over the same EDUs.

    gold (RstTree): The tree as published.
    rebuilt (RstTree): The tree from dependencies.
    RETURNS (Counter[str]): Matching and total numbers, to be added up over documents.
    """
    inner_gold = {(n.start, n.end): n.nuclearity for n in gold.nodes() if not n.is_leaf}
    inner_rebuilt = {(n.start, n.end): n.nuclearity for n in rebuilt.nodes() if not n.is_leaf}
    child_gold = {(n.start, n.end): n.role for n in gold.nodes() if n.role}
    child_rebuilt = {(n.start, n.end): n.role for n in rebuilt.nodes() if n.role}
    labels_gold = {(n.start, n.end): n.label for n in gold.nodes() if not n.is_leaf}
    labels_rebuilt = {(n.start, n.end): n.label for n in rebuilt.nodes() if not n.is_leaf}
    return Counter(
        documents=1,
        exact=int(gold.splits == rebuilt.splits),
        inner=len(inner_gold),
        inner_span=len(inner_gold.keys() & inner_rebuilt.keys()),
        inner_nuclearity=len(inner_gold.items() & inner_rebuilt.items()),
        inner_full=len(labels_gold.items() & labels_rebuilt.items()),
        child=len(child_gold),
        child_span=len(child_gold.keys() & child_rebuilt.keys()),
        child_nuclearity=len(child_gold.items() & child_rebuilt.items()),
    )


def compare(gold_folder: Path, rels_path: Path) -> Counter[str]:
    """Compare all documents of a `.rels` file with the rs3 files of the same names.

    gold_folder (Path): Where the rs3 files are.
    rels_path (Path): The `.rels` file.
    RETURNS (Counter[str]): The counts of `count_agreement`; `skipped` documents are printed.
    """
    counts: Counter[str] = Counter()
    for document in read_disrpt(rels_path, largest_tree=True):
        if isinstance(document, RstError):
            print(document)
            counts["skipped"] += 1
            continue
        gold = read_rs3(gold_folder / f"{document.name}.rs3", largest_tree=True)
        if len(gold.edus) != len(document.edus):
            print(f"{document.name}: {len(gold.edus)} EDUs against {len(document.edus)}")
            counts["skipped"] += 1
            continue
        counts += count_agreement(binarize(gold), binarize(document))
    return counts


def main() -> None:
    """Print the agreement for each file and for all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gold", type=Path, help="folder of the rs3 files")
    parser.add_argument("rels", type=Path, nargs="+", help=".rels files with their tokens beside")
    arguments = parser.parse_args()
    results = {path.stem: compare(arguments.gold, path) for path in arguments.rels}
    if len(results) > 1:
        results["all"] = sum(results.values(), Counter())
    print("Agreement in % of the m-1 inner nodes (span, with nuclearity, with nuclearity and")
    print("relation), and of the 2m-2 children that RST-Parseval counts (span, with nuclearity):")
    print(f"{'file':24} {'docs':>5} {'exact':>5}   {'span':>5} {'nuc':>5} {'full':>5}", end="")
    print(f"   {'span':>5} {'nuc':>5}")
    for name, counts in results.items():
        cells = [
            *(counts[f"inner_{what}"] / max(counts["inner"], 1) for what in INNER_COLUMNS),
            *(counts[f"child_{what}"] / max(counts["child"], 1) for what in CHILD_COLUMNS),
        ]
        percentages = [f"{100 * cell:5.1f}" for cell in cells]
        print(f"{name:24} {counts['documents']:5} {counts['exact']:5}   ", end="")
        print(" ".join(percentages[:3]) + "   " + " ".join(percentages[3:]))


if __name__ == "__main__":
    main()
