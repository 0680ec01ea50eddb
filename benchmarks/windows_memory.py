"""Peak memory of the XLM-R encoder against the length of one document.

Beyond the vectors of pieces and tokens, memory should stay flat: it is bounded by the cap on the
word pieces that run at once, not by the document. Each length runs in a process of its own, on a
model with random weights. Run it from the root of the repository:

    python benchmarks/windows_memory.py --layers 6 --pieces 1000 10000 100000
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def peak_megabytes() -> float:
    """RETURNS (float): The most memory this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(
    checkpoint: str, n_pieces: int, cap: int, train: bool, recompute: bool
) -> dict[str, float]:
    """Encode one document in this process.

    checkpoint (str): The directory of the model.
    n_pieces (int): The length of the document.
    cap (int): The most word pieces that run through the model at once.
    train (bool): Whether to backpropagate as well.
    recompute (bool): Whether to use gradient checkpointing.
    RETURNS (dict[str, float]): Sizes in megabytes, and seconds.
    """
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from spacy_rst.encoder.xlmr import XlmrEncoder, XlmrModel
    from tests.tiny_models import SENTENCES

    transformer = XlmrModel(
        checkpoint, max_batch_pieces=cap, trainable_layers=1, gradient_checkpointing=recompute
    )
    encoder = XlmrEncoder(transformer)
    encoder.initialize()
    words = " ".join(SENTENCES).split()
    pieces_per_round = len(transformer.shims[0].tokenizer.encode(" ".join(words))[0])
    rounds = max(1, round(n_pieces / pieces_per_round))
    doc = Doc(Vocab(), words=words * rounds)
    before = peak_megabytes()
    started = time.perf_counter()
    if train:
        vectors, backprop = encoder.begin_update([doc])
        backprop(vectors)
    else:
        vectors = encoder.predict([doc])
    return {
        "pieces": rounds * pieces_per_round,
        "tokens": len(doc),
        "seconds": time.perf_counter() - started,
        "before": before,
        "peak": peak_megabytes(),
        "vectors": vectors[0].nbytes / 1e6,
    }


def main() -> None:
    """Build a model, measure each length, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pieces", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--cap", type=int, default=1024, help="max_batch_pieces of the encoder")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--train", action="store_true", help="measure a training step (one layer)")
    parser.add_argument("--recompute", action="store_true", help="use gradient checkpointing")
    parser.add_argument("--measure", metavar="CHECKPOINT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.measure:
        row = measure(
            options.measure, options.pieces[0], options.cap, options.train, options.recompute
        )
        print(json.dumps(row))
        return

    from tests.tiny_models import build_tiny_xlmr

    with tempfile.TemporaryDirectory() as directory:
        build_tiny_xlmr(
            Path(directory),
            layers=options.layers,
            width=options.width,
            heads=options.width // 32,
            inner_width=options.width * 4,
        )
        print(
            f"{options.layers} layers, width {options.width}, cap {options.cap}, "
            f"{'training' if options.train else 'inference'}; megabytes"
        )
        print(f"{'pieces':>8} {'tokens':>8} {'peak':>8} {'grown':>8} {'vectors':>8} "
              f"{'the rest':>8} {'pieces/s':>9}")  # fmt: skip
        for n_pieces in options.pieces:
            command = [sys.executable, __file__, "--measure", directory, "--pieces", str(n_pieces)]
            command += ["--cap", str(options.cap)]
            command += ["--train"] * options.train + ["--recompute"] * options.recompute
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            row = json.loads(run.stdout.splitlines()[-1])
            grown = row["peak"] - row["before"]
            print(
                f"{row['pieces']:>8} {row['tokens']:>8} {row['peak']:>8.0f} {grown:>8.0f} "
                f"{row['vectors']:>8.1f} {grown - row['vectors']:>8.0f} "
                f"{row['pieces'] / row['seconds']:>9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
