"""`python -m spacy rst split`: draw train, dev and test where a treebank gives none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from spacy.cli._util import Arg, Opt
from wasabi import msg

from ..errors import RstError
from ..treebank.convert import find_files, read_file
from ..treebank.splits import PAPER_TEST_SIZE, SPLIT_COLUMNS, SPLIT_NAMES, draw_splits
from ..util import write_atomically
from . import rst_app
from ._util import clean_errors, progress


@rst_app.command("split")
def split_cli(
    input_path: Annotated[Path, Arg(metavar="INPUT", help="A treebank file, or a folder")],
    output_path: Annotated[Path, Arg(metavar="SPLITS.tsv", help="The table to write")],
    treebank: Annotated[str, Opt(help="Name of the treebank, e.g. es.rststb")],
    test: Annotated[int, Opt(help="Documents to hold out for the test")] = PAPER_TEST_SIZE,
    dev: Annotated[int, Opt(help="Documents to hold out for development")] = PAPER_TEST_SIZE,
    seed: Annotated[int, Opt(help="Another seed draws other documents")] = 0,
) -> None:
    """Draw train, dev and test documents at random.

    By default, dev and test get 38 documents each, as in the paper, but at most a fifth of them.

    \b
    Example:
      python -m spacy rst split rhetalho/ splits.tsv --treebank pt.rhetalho
    """
    with clean_errors():
        names = []
        for path in progress(find_files(input_path), f"Reading {input_path.name}"):
            for document in read_file(path, largest_tree=True):
                if isinstance(document, RstError):
                    msg.warn(f"Left out: {document}")
                else:
                    names.append(document.name)
        drawn = draw_splits(names, seed=seed, n_test=test, n_dev=dev)
        rows = [(treebank, name, split, f"drawn with seed {seed}") for name, split in drawn.items()]
        lines = ["\t".join(row) for row in (SPLIT_COLUMNS, *rows)]
        write_atomically(output_path, "\n".join(lines) + "\n")
        sizes = [(name, sum(split == name for split in drawn.values())) for name in SPLIT_NAMES]
        msg.table(sizes, header=("Split", "Documents"), aligns=("l", "r"))
        msg.good(f"Wrote {output_path}")
