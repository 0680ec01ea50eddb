"""What the bundled pipeline costs: time and memory from raw text to tree, on one core.

Texts are the committed samples one after the other, up to the wanted number of words; or your own,
given with --text. Each length runs in a process of its own, so that its memory is its own: what the
process holds when the pipeline is loaded, after the parse ("resident"), and at most ("peak"), with
Python, spaCy and torch in all of them. Times are CPU time on one thread, of which other work on the
machine takes little away. Run it from the root of the repository:

    python benchmarks/bundled.py --words 100 1000 10000 100000

What it prints also goes to benchmarks/results/bundled.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
WORDS_PER_SECOND = 2_000
MEGABYTES = 600
LOAD_SECONDS = 5
TIMED = "import time; start = time.process_time(); {code}; print(time.process_time() - start)"
STARTS = {
    "import spacy": "import spacy",
    "import spacy_rst": "import spacy_rst",
    "import spacy_rst and load": "import spacy_rst; spacy_rst.load()",
}


def sample_text(n_words: int, path: Path | None = None) -> str:
    """RETURNS (str): A text of so many words, from a file or from the committed samples."""
    if path is None:
        import spacy

        from tests.sample import sample_docs

        texts = [doc.text for doc in sample_docs(spacy.blank("xx"))]
    else:
        texts = path.read_text(encoding="utf8").split("\n\n")
    paragraphs = [text.split() for text in texts if text.split()]
    words = (
        f"\n\n{word}" if place == 0 else word
        for paragraph in cycle(paragraphs)
        for place, word in enumerate(paragraph)
    )
    return " ".join(islice(words, n_words)).strip()


def resident_megabytes() -> float:
    """RETURNS (float): The memory of this process; the most it has had where no other is known."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_megabytes()
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak_megabytes() -> float:
    """RETURNS (float): The most memory this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(text_path: Path, repeats: int) -> dict[str, float]:
    """Parse a text in this process.

    text_path (Path): The text.
    repeats (int): How often; the quickest run counts.
    RETURNS (dict[str, float]): Seconds by component, sizes in megabytes, tokens and EDUs.
    """
    import spacy_rst

    began = time.process_time()
    nlp = spacy_rst.load()
    row: dict[str, float] = {"load": time.process_time() - began, "loaded": resident_megabytes()}
    nlp.max_length = 10**9
    nlp("It rained, so we stayed.")
    text = text_path.read_text(encoding="utf8")
    runs: list[dict[str, float]] = []
    for _ in range(repeats):
        doc = None  # two results at a time would not be one
        times = {}
        began = time.process_time()
        doc = nlp.make_doc(text)
        times["tokenizer"] = time.process_time() - began
        for name, component in nlp.pipeline:
            began = time.process_time()
            doc = component(doc)
            times[name] = time.process_time() - began
        runs.append(times)
    row |= {"resident": resident_megabytes(), "peak": peak_megabytes()}
    row |= {"tokens": len(doc), "edus": len(doc.spans["edus"])}
    return row | min(runs, key=lambda times: sum(times.values()))


def run_measurement(text: str, repeats: int, path: Path) -> dict[str, float]:
    """Measure a text in a fresh process.

    text (str): The text.
    repeats (int): How often to parse it.
    path (Path): A file to hand it over in.
    RETURNS (dict[str, float]): What `measure` found.
    """
    path.write_text(text, encoding="utf8")
    command = [sys.executable, __file__, "--measure", str(path), "--repeats", str(repeats)]
    return json.loads(run(command).splitlines()[-1])


def run(command: list[str], root: Path = ROOT) -> str:
    """Run a command with one thread.

    command (list[str]): The command.
    root (Path): Where the package lies.
    RETURNS (str): What the command printed.
    """
    paths = filter(None, [str(root), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if finished.returncode:
        sys.exit(finished.returncode)
    return finished.stdout


def print_starts(runs: int) -> dict[str, list[float]]:
    """Time imports and loading in fresh processes, and print the medians.

    runs (int): The processes for each of them.
    RETURNS (dict[str, list[float]]): The CPU seconds.
    """
    print(f"{'CPU seconds':28}  median     min     max")
    measured: dict[str, list[float]] = {}
    for label, code in STARTS.items():
        command = [sys.executable, "-c", TIMED.format(code=code)]
        seconds = measured[label] = [float(run(command)) for _ in range(runs)]
        print(f"{label:28}{median(seconds):8.2f}{min(seconds):8.2f}{max(seconds):8.2f}", flush=True)
    return measured


def main() -> None:
    """Measure each length and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--text", type=Path, help="a file to take the words from, in UTF-8")
    parser.add_argument("--repeats", type=int, default=3, help="runs of texts below 20,000 words")
    parser.add_argument("--starts", type=int, default=3, help="processes per import; 0 for none")
    parser.add_argument("--output", type=Path, default=RESULTS / "bundled.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.measure:
        print(json.dumps(measure(options.measure, options.repeats)))
        return

    import tempfile

    from spacy_rst.util import write_atomically

    starts = print_starts(options.starts) if options.starts else {}
    rows: list[dict[str, float]] = []
    before: tuple[int, float] | None = None
    columns: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for n_words in sorted(options.words):
            text = sample_text(n_words, options.text)
            repeats = options.repeats if n_words < 20_000 else 1
            row = run_measurement(text, repeats, Path(folder) / "text.txt")
            rows.append({"words": n_words, **row})
            sizes = ("load", "loaded", "resident", "peak", "tokens", "edus")
            if not columns:
                columns = [name for name in row if name not in sizes]
                header = ["words", "tokens", "EDUs", *columns, "all", "words/s", "growth"]
                print("\nOne thread; CPU seconds by component, megabytes")
                header += ["load s", "loaded MB", "resident MB", "peak MB"]
                print("".join(f"{name:>14}" for name in header))
            total = sum(row[name] for name in columns)
            growth = "-"
            if before is not None:
                exponent = math.log(total / before[1]) / math.log(n_words / before[0])
                growth = f"n^{exponent:.2f}"
            cells = [n_words, row["tokens"], row["edus"]]
            cells += [f"{row[name]:.3f}" for name in columns]
            cells += [f"{total:.3f}", f"{n_words / total:.0f}", growth, f"{row['load']:.2f}"]
            cells += [f"{row[name]:.0f}" for name in ("loaded", "resident", "peak")]
            print("".join(f"{cell:>14}" for cell in cells), flush=True)
            before = n_words, total
    write_atomically(options.output, json.dumps({"starts": starts, "texts": rows}, indent=1))
    print(
        f"Aims: {WORDS_PER_SECOND} words/s, n^1.0, less than {MEGABYTES} MB, "
        f"loaded in less than {LOAD_SECONDS} s"
    )


if __name__ == "__main__":
    main()
