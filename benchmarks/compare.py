"""Compare the speed and memory of the bundled pipeline at two commits.

The working tree is compared with a commit, whose files are put into a temporary folder. Both run
in turn, in fresh processes with the same packages, so that a busy moment hits both. Times are CPU
time on one thread. "30x500" stands for a stream of 500 texts of 30 words each; a single text goes
alone. Sizes of less than 20,000 words are parsed once before they are timed. Run it from the root
of the repository:

    python benchmarks/compare.py main --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bundled import RESULTS, ROOT, peak_megabytes, resident_megabytes, run, sample_text

SIZES = ["30x1", "30x500", "500x1", "5000x1", "50000x1"]
FEWEST_WORDS_OF_ONE_RUN = 20_000
# Short texts are parsed again and again for so many seconds.
SHORT_RUN = 0.3
MOST_REPEATS = 200


class Size(NamedTuple):
    """How much is parsed at once.

    n_words (int): Words of a text.
    n_texts (int): Texts.
    """

    n_words: int
    n_texts: int

    @property
    def total(self) -> int:
        """RETURNS (int): Words of all texts."""
        return self.n_words * self.n_texts

    def __str__(self) -> str:
        return f"{self.n_words}x{self.n_texts}"

    @classmethod
    def read(cls, written: str) -> Size:
        """RETURNS (Size): What a string like "30x500" says."""
        n_words, _, n_texts = written.partition("x")
        return cls(int(n_words), int(n_texts or 1))


def cut_texts(words: list[str], size: Size) -> list[str]:
    """RETURNS (list[str]): As many texts of as many words as the size says."""
    starts = range(0, size.total, size.n_words)
    return [" ".join(words[start : start + size.n_words]).strip() for start in starts]


def measure(texts_by_size: dict[str, list[str]]) -> dict[str, Any]:
    """Parse texts in this process.

    texts_by_size (dict[str, list[str]]): The texts.
    RETURNS (dict[str, Any]): Where the package lies, megabytes, and the quickest run of each size
        in seconds.
    """
    import spacy_rst

    nlp = spacy_rst.load()
    nlp.max_length = 10**9
    row: dict[str, Any] = {"package": str(Path(spacy_rst.__file__).parent)}
    row |= {"loaded": resident_megabytes(), "peak_of_loading": peak_megabytes(), "seconds": {}}
    for size, texts in texts_by_size.items():
        seconds: list[float] = []
        if Size.read(size).total < FEWEST_WORDS_OF_ONE_RUN:
            list(nlp.pipe(texts))
        while sum(seconds) < SHORT_RUN and len(seconds) < MOST_REPEATS:
            began = time.process_time()
            for _ in nlp.pipe(texts) if len(texts) > 1 else map(nlp, texts):
                pass
            seconds.append(time.process_time() - began)
        row["seconds"][size] = min(seconds)
    return row | {"resident": resident_megabytes(), "peak": peak_megabytes()}


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Put the files of a commit into a temporary folder.

    revision (str): The commit.
    YIELDS (Path): The folder, which is there for as long as the block runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git("worktree", "add", "--quiet", "--detach", str(tree), revision)
        try:
            write_entry_points(tree)
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*arguments: str) -> str:
    """RETURNS (str): What git printed."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def write_entry_points(tree: Path) -> None:
    """Let Python find the components of a tree in place of those that are installed.

    tree (Path): The tree, with its `setup.cfg`.
    """
    config = ConfigParser()
    config.read(tree / "setup.cfg", encoding="utf8")
    groups = config["options.entry_points"].items()
    facts = tree / "spacy_rst.egg-info"
    facts.mkdir()
    (facts / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: spacy_rst\nVersion: 0\n")
    content = "\n".join(f"[{group}]{entries}\n" for group, entries in groups)
    (facts / "entry_points.txt").write_text(content, encoding="utf8")


def compare(base: str, sizes: list[Size], rounds: int, text: Path | None) -> dict[str, Any]:
    """Measure a commit and the working tree in turn.

    base (str): The commit.
    sizes (list[Size]): What to parse.
    rounds (int): How often each of them is measured.
    text (Path | None): A file to take the words from.
    RETURNS (dict[str, Any]): The measurements of both, and what they were made of.
    """
    revisions = {"base": git("rev-parse", "--verify", base), "present": git("rev-parse", "HEAD")}
    words = sample_text(max(size.total for size in sizes), text).split(" ")
    rows: dict[str, list[dict[str, Any]]] = {"base": [], "present": []}
    with checked_out(base) as tree, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps({str(size): cut_texts(words, size) for size in sizes}))
        command = [sys.executable, __file__, "--measure", str(path)]
        for _ in range(rounds):
            for name, root in (("base", tree), ("present", ROOT)):
                row = json.loads(run(command, root).splitlines()[-1])
                if Path(row["package"]).parent != root.resolve():
                    sys.exit(f"{row['package']} was measured in place of {root}")
                rows[name].append(row)
    return {"revisions": revisions, "cpus": os.cpu_count(), **rows}


def print_table(result: dict[str, Any], sizes: list[Size]) -> None:
    """Print the quickest and the median run of both, and their ratios."""
    header = ["words", "base ms", "present ms", "ratio", "base median", "present median", "ratio"]
    print("".join(f"{name:>16}" for name in [*header, "words/s"]))
    for size in sizes:
        both = [[row["seconds"][str(size)] for row in result[name]] for name in ("base", "present")]
        cells: list[str] = []
        for choose in (min, median):
            base, present = (choose(seconds) for seconds in both)
            cells += [f"{base * 1e3:.2f}", f"{present * 1e3:.2f}", f"{base / present:.2f}"]
        speed = size.total / min(both[1])
        print("".join(f"{cell:>16}" for cell in [str(size), *cells, f"{speed:.0f}"]))
    for name in ("loaded", "peak_of_loading", "resident", "peak"):
        base, present = (median(row[name] for row in result[key]) for key in ("base", "present"))
        print(f"{name.replace('_', ' '):>16}{base:13.0f} MB{present:13.0f} MB")


def main() -> None:
    """Compare, print a table, and write what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", default="HEAD", help="the commit to compare with")
    parser.add_argument("--sizes", nargs="+", type=Size.read, default=[*map(Size.read, SIZES)])
    parser.add_argument("--rounds", type=int, default=5, help="processes for each of the two")
    parser.add_argument("--text", type=Path, help="a file to take the words from, in UTF-8")
    parser.add_argument("--output", type=Path, default=RESULTS / "compare.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(json.loads(options.measure.read_text()))))
        return
    sys.path.insert(0, str(ROOT))
    from spacy_rst.util import write_atomically

    result = compare(options.base, options.sizes, options.rounds, options.text)
    print_table(result, options.sizes)
    write_atomically(options.output, json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
