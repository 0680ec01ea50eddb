"""Which document belongs to train, dev and test.

Official splits come from a table; where there is none, documents are drawn as in the paper: a
fixed number per language for the test, by a seed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from ..tables import read_table

SPLIT_NAMES = ("train", "dev", "test")
SPLIT_COLUMNS = ("treebank", "doc", "split", "source")
PAPER_TEST_SIZE = 38
ALL_OTHERS = "*"
PART_OF_DOCUMENT = re.compile(r"_part_\d+$")  # ru.rrt: the trees of one document, a file each


class SplitTable:
    """The splits of treebanks, as a TSV file with the columns treebank, doc and split lists them.
    The document "*" stands for all that have no row of their own."""

    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Collect rows of treebank, document and split."""
        self._splits: dict[tuple[str, str], list[str]] = {}
        for treebank, doc, split in rows:
            self._splits.setdefault((treebank, doc), []).append(split)

    @classmethod
    def from_file(cls, path: str | Path) -> SplitTable:
        """Read a table."""
        rows = read_table(path, SPLIT_COLUMNS[:3])
        return cls((row["treebank"], row["doc"], row["split"]) for _, row in rows)

    @classmethod
    def official(cls) -> SplitTable:
        """Read the official splits of public treebanks, which the package brings along."""
        return cls.from_file(Path(__file__).with_name("splits.tsv"))

    @property
    def treebanks(self) -> list[str]:
        """The treebanks in the table."""
        return sorted({treebank for treebank, _ in self._splits})

    def split_of(self, name: str, treebank: str, source: str = "") -> str | None:
        """Look up the split of a document, which its parts `NAME_part_3` share. Where it stands in
        several (an extra annotation of it, say), the folder of its file decides."""
        for candidate in (name, PART_OF_DOCUMENT.sub("", name), ALL_OTHERS):
            splits = self._splits.get((treebank, candidate))
            if splits:
                folder = Path(source).parent.name
                return folder if len(set(splits)) > 1 and folder in splits else splits[0]
        return None


def draw_splits(
    names: Collection[str],
    *,
    seed: int = 0,
    n_test: int = PAPER_TEST_SIZE,
    n_dev: int = PAPER_TEST_SIZE,
) -> dict[str, str]:
    """Draw a split for each document where a treebank gives none: at most a fifth of the documents
    for each of dev and test. The same seed draws the same documents on every machine, and parts of
    a document stay together."""
    documents = {PART_OF_DOCUMENT.sub("", name) for name in names}
    most = max(1, len(documents) // 5) if len(documents) > 2 else 0
    n_test, n_dev = min(n_test, most), min(n_dev, most)
    drawn = sorted(documents, key=lambda doc: hashlib.sha256(f"{seed}:{doc}".encode()).digest())
    split_of = dict.fromkeys(drawn, "train")
    split_of.update(dict.fromkeys(drawn[:n_test], "test"))
    split_of.update(dict.fromkeys(drawn[n_test : n_test + n_dev], "dev"))
    return {name: split_of[PART_OF_DOCUMENT.sub("", name)] for name in sorted(names)}
