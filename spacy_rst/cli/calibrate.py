"""`python -m spacy rst calibrate`: make a parser's probabilities reliable."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from spacy.cli._util import Opt, import_code, setup_gpu
from wasabi import msg

from ..evaluation import EDU_SOURCES, read_gold
from ..parser.calibration import VIEWS, Calibration, calibrate, find_parser
from ..pipelines import load
from ..pipelines.bundle import check_target, replaced_pipeline
from ..util import write_atomically
from . import rst_app
from ._options import BatchSize, Code, Corpora, EduSource, GpuId, ModelArgument
from ._util import clean_errors, percent


@rst_app.command("calibrate")
def calibrate_cli(
    model: ModelArgument,
    corpora: Corpora,
    output: Annotated[Path | None, Opt("--output", "-o", help="Calibrated pipeline")] = None,
    json_path: Annotated[Path | None, Opt("--json", help="JSON file for the numbers")] = None,
    edus: EduSource = "gold",
    batch_size: BatchSize = None,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Make a parser's probabilities reliable.

    The probabilities of splits, labels and nodes are compared with how often these are right on
    treebanks that were not trained on. With --output, the temperatures that calibrate them are
    built into the weights of a copy of the pipeline. Its trees are the same, unless it searches.

    \b
    Example:
      python -m spacy rst calibrate training/model-best corpus/dev --output training/calibrated
    """
    with clean_errors():
        if output is not None:
            check_target(output)
        import_code(code)
        setup_gpu(gpu_id)
        nlp = load(model)
        find_parser(nlp)
        docs = read_gold(corpora, nlp.vocab, min_edus=2)
        calibration = calibrate(nlp, docs, edus=EDU_SOURCES[edus], batch_size=batch_size)
        print_calibration(calibration)
        if json_path is not None:
            about = {"model": model, "corpora": list(map(str, corpora)), "documents": len(docs)}
            report = {**about, **asdict(calibration)}
            write_atomically(json_path, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
            msg.good(f"Saved the numbers to {json_path}")
        if output is not None:
            # Loaded anew, as the vocabulary has got the words of the documents.
            nlp = load(model)
            nlp.get_pipe(find_parser(nlp)).apply_temperature(**calibration.temperatures)  # type: ignore[attr-defined]
            with replaced_pipeline(output, licences=nlp.path or output) as folder:
                nlp.to_disk(folder)
            msg.good(f"Saved the pipeline to {output}")


def print_calibration(calibration: Calibration) -> None:
    """Print reliability tables before and after, and the temperatures."""
    part = ("n", "mean", "right")
    header = ("probability", *(f"{name}, {when}" for when in ("before", "after") for name in part))
    for name, before in calibration.before.items():
        after = calibration.after[name]
        msg.divider(VIEWS[name])
        width = 1 / len(before.bins)
        rows = []
        for number, bins in enumerate(zip(before.bins, after.bins, strict=True)):
            old, new = ((str(b.n), percent(b.probability), percent(b.right)) for b in bins)
            rows.append((f"{number * width:.1f}-{(number + 1) * width:.1f}", *old, *new))
        msg.table(rows, header=header, aligns=("l", *"r" * 6), divider=True)
        errors = [percent(reliability.error) for reliability in (before, after)]
        print(f"Expected calibration error: {errors[0]} % before, {errors[1]} % after")
    msg.divider("Temperatures")
    for name, temperature in calibration.temperatures.items():
        if temperature is None:
            msg.warn(f"{name}: the scores of a pointer cannot be calibrated")
        else:
            print(f"{name}: {temperature:.3f}")
    print(f"Trees that changed: {calibration.n_changed} of {calibration.n_trees}")
