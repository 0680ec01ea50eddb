"""Measure how the operations on trees grow with the number of EDUs.

For left-branching, right-branching and balanced trees, each operation's seconds at every size and
the factor from one size to the next. A linear operation grows about as the size does; caches and
the garbage collector add a little.

    python benchmarks/trees.py --sizes 1000 10000
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator

from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_rst.doc import set_edus
from spacy_rst.relations import NUCLEARITIES, RELATION_CLASSES, join_label
from spacy_rst.tree import RstTree

LABELS = [join_label(relation, n) for n in NUCLEARITIES for relation in RELATION_CLASSES]
SHAPES: dict[str, Callable[[int, int], int]] = {
    "left-branching": lambda start, end: end - 1,
    "right-branching": lambda start, end: start + 1,
    "balanced": lambda start, end: (start + end) // 2,
}
WORDS_PER_EDU = 4
SHORT_RUN = 0.05  # seconds under which an operation is repeated


def make_splits(n_edus: int, shape: str) -> Iterator[tuple[int, int, int, str]]:
    """Divide `0:n_edus` down to single EDUs.

    n_edus (int): The number of EDUs.
    shape (str): One of `SHAPES`.
    YIELDS (Tuple[int, int, int, str]): The splits, with all labels in turn.
    """
    stack, count = [(0, n_edus)], 0
    while stack:
        start, end = stack.pop()
        if end - start > 1:
            middle = SHAPES[shape](start, end)
            yield start, middle, end, LABELS[count * 7 % len(LABELS)]
            count += 1
            stack += [(start, middle), (middle, end)]


def make_doc(n_edus: int) -> Doc:
    """Make a Doc of EDUs that all have `WORDS_PER_EDU` words.

    n_edus (int): The number of EDUs.
    RETURNS (Doc): The Doc with its EDUs.
    """
    doc = Doc(Vocab(), words=[f"word{i % 1000}" for i in range(n_edus * WORDS_PER_EDU)])
    starts = range(0, len(doc), WORDS_PER_EDU)
    set_edus(doc, [doc[start : start + WORDS_PER_EDU] for start in starts])
    return doc


def operations(n_edus: int, shape: str) -> dict[str, Callable[[], object]]:
    """Prepare what is measured.

    n_edus (int): The number of EDUs.
    shape (str): One of `SHAPES`.
    RETURNS (Dict[str, Callable]): The operations by name.
    """
    splits = list(make_splits(n_edus, shape))
    doc = make_doc(n_edus)
    texts = [edu.text for edu in doc.spans["edus"]]
    tree = RstTree.from_splits(splits, texts)
    doc._.rst_tree = tree
    data, rs3, dis = tree.to_dict(), tree.to_rs3(), tree.to_dis()
    content = doc.to_bytes()
    return {
        "build": lambda: RstTree.from_splits(splits, texts),
        "walk all nodes": lambda: [(node.label, node.role, node.depth) for node in tree],
        "dict out": tree.to_dict,
        "dict in": lambda: RstTree.from_dict(data),
        "rs3 out": tree.to_rs3,
        "rs3 in": lambda: RstTree.from_rs3(rs3),
        "dis out": tree.to_dis,
        "dis in": lambda: RstTree.from_dis(dis),
        "set on a Doc": lambda: doc._.set("rst_tree", tree),
        "get from a Doc": lambda: doc._.rst_tree,
        "Doc bytes out": doc.to_bytes,
        "Doc bytes in": lambda: Doc(doc.vocab).from_bytes(content)._.rst_tree,
        "dependencies": lambda: RstTree.from_splits(splits, texts).to_dependencies(),
        "salience": tree.salience,
        "draw as text": lambda: tree.render("text"),
    }


def measure(run: Callable[[], object]) -> float:
    """Time an operation: the best of three where it is short.

    run (Callable): The operation.
    RETURNS (float): Processor seconds.
    """
    seconds: list[float] = []
    while not seconds or (len(seconds) < 3 and seconds[-1] < SHORT_RUN):
        gc.collect()
        gc.freeze()  # else each run pays for scanning whatever else is in memory
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
        gc.unfreeze()
    return min(seconds)


def main() -> None:
    """Print a table for each shape."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="numbers of EDUs"
    )
    parser.add_argument(
        "--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES), help="kinds of trees"
    )
    arguments = parser.parse_args()
    for shape in arguments.shapes:
        columns = []
        for size in arguments.sizes:
            columns.append({name: measure(run) for name, run in operations(size, shape).items()})
        print(f"\n{shape + ' (seconds)':28}", end="")
        print("".join(f"{f'{size:,} EDUs':>16}{'growth':>8}" for size in arguments.sizes))
        for name in columns[0]:
            print(f"{name:28}", end="")
            for number, column in enumerate(columns):
                growth = ""
                if number:
                    growth = f"x{column[name] / max(columns[number - 1][name], 1e-9):.1f}"
                print(f"{column[name]:16.4f}{growth:>8}", end="")
            print()


if __name__ == "__main__":
    main()
