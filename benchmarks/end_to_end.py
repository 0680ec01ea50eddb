"""Words per second from raw text to tree, and how the time and the memory grow with the text.

The pipeline is that of the config small_cpu, trained for some steps on the sample treebank so that
its EDUs are about as long as real ones; or a trained one, given with --model. Texts are the sample
documents one after the other, up to the wanted number of words. Times are CPU time on one thread,
of which other work on the machine takes little away. Run it from the root of the repository:

    python benchmarks/end_to_end.py --words 100 1000 10000 100000
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import spacy
import torch
from spacy.language import Language
from spacy.util import fix_random_seed, load_model_from_config, minibatch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from spacy_rst.configs import read_config  # noqa: E402
from tests.sample import examples_from, sample_docs  # noqa: E402


def make_pipeline(config: str, steps: int) -> Language:
    """Train a pipeline a little.

    config (str): The training config: a packaged one, or a file.
    steps (int): The number of batches to learn from.
    RETURNS (Language): The pipeline.
    """
    fix_random_seed(0)
    nlp = load_model_from_config(read_config(config), auto_fill=True)
    examples = examples_from(nlp, sample_docs(nlp))
    optimizer = nlp.initialize(lambda: examples)
    for batch in islice(minibatch(cycle(examples), 4), steps):
        nlp.update(batch, sgd=optimizer)
    return nlp


def sample_text(n_words: int) -> str:
    """RETURNS (str): A text of so many words, with a paragraph per sample document."""

    def parts() -> Iterator[str]:
        texts = [doc.text for doc in sample_docs(spacy.blank("xx"))]
        for text in cycle(texts):
            first, *others = text.split()
            yield f"\n\n{first}"
            yield from others

    return " ".join(islice(parts(), n_words)).strip()


def peak_megabytes() -> float:
    """RETURNS (float): The most memory this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(nlp: Language, text: str, repeats: int) -> dict[str, float]:
    """Parse a text.

    nlp (Language): The pipeline.
    text (str): The text.
    repeats (int): How often; the quickest run counts.
    RETURNS (dict[str, float]): Seconds by component, and the number of tokens and EDUs.
    """
    runs: list[dict[str, float]] = []
    for _ in range(repeats):
        times = {}
        began = time.process_time()
        doc = nlp.make_doc(text)
        times["tokenizer"] = time.process_time() - began
        for name, component in nlp.pipeline:
            began = time.process_time()
            doc = component(doc)
            times[name] = time.process_time() - began
        assert len(doc._.rst_tree) == len(doc.spans["edus"])
        runs.append(times)
    best = min(runs, key=lambda times: sum(times.values()))
    return {**best, "tokens": len(doc), "edus": len(doc.spans["edus"])}


def main() -> None:
    """Measure each length and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--model", help="a trained pipeline: a package's name or a folder")
    parser.add_argument("--config", default="small_cpu")
    parser.add_argument("--steps", type=int, default=40, help="training steps without --model")
    parser.add_argument("--repeats", type=int, default=3, help="runs of texts below 20,000 words")
    options = parser.parse_args()
    torch.set_num_threads(1)
    nlp = (
        spacy.load(options.model) if options.model else make_pipeline(options.config, options.steps)
    )
    nlp.max_length = 10**8
    nlp(sample_text(50))
    columns = ["tokenizer", *nlp.pipe_names]
    print(f"{nlp.pipe_names}, one thread; seconds by component")
    header = ["words", "tokens", "EDUs", *columns, "all", "words/s", "growth", "peak MB"]
    print("".join(f"{name:>14}" for name in header))
    before: tuple[int, float] | None = None
    for n_words in sorted(options.words):
        row = measure(nlp, sample_text(n_words), options.repeats if n_words < 20_000 else 1)
        total = sum(row[name] for name in columns)
        growth = "-"
        if before is not None:
            exponent = math.log(total / before[1]) / math.log(n_words / before[0])
            growth = f"n^{exponent:.2f}"
        cells = [n_words, row["tokens"], row["edus"]]
        cells += [f"{row[name]:.3f}" for name in columns]
        cells += [f"{total:.3f}", f"{n_words / total:.0f}", growth, f"{peak_megabytes():.0f}"]
        print("".join(f"{cell:>14}" for cell in cells), flush=True)
        before = n_words, total


if __name__ == "__main__":
    main()
