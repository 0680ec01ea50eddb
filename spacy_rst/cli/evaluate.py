"""`python -m spacy rst evaluate`: score a pipeline's trees, on gold or predicted EDUs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code, setup_gpu
from wasabi import msg

from ..errors import Errors, RstError
from ..scoring.evaluation import EDU_SOURCES, make_report, parse_docs, read_gold
from ..scoring.parseval import METRICS
from ..util import write_atomically
from . import rst_app
from ._util import clean_errors, load_trained

COLUMNS = ("Span", "Nuc", "Rel", "Full")
TABLES = {"Micro": "", "Macro": "macro_"}


class EduSource(StrEnum):
    """Where the EDUs come from."""

    gold = "gold"
    predicted = "predicted"
    both = "both"


@rst_app.command("evaluate")
def evaluate_cli(
    model: Annotated[str, typer.Argument(help="A pipeline: xx_rst_sm, a package or a folder")],
    corpora: Annotated[
        list[Path],
        typer.Argument(
            metavar="CORPUS...", help="Converted treebanks: .spacy files, or folders of them"
        ),
    ],
    edus: Annotated[
        EduSource,
        typer.Option(
            help="Parse gold EDUs on gold tokens, run the pipeline on the raw text, or do both"
        ),
    ] = EduSource.gold,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file for the scores")
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            help="Score trees that need no parser, too: branching to one side, sentence by "
            "sentence, and gold trees with the commonest label"
        ),
    ] = False,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Documents to buffer")] = None,
    gpu_id: Annotated[int, typer.Option("--gpu-id", "-g", help="GPU to use, -1 for the CPU")] = -1,
    code: Annotated[
        Path | None, typer.Option("--code", "-c", help="Python file to import first")
    ] = None,
) -> None:
    """Score the trees of a pipeline with RST-Parseval and original Parseval, and with predicted
    EDUs its segmentation too.

    Micro scores pool the spans of all documents, macro scores are means over the documents.

    **Examples**

    `python -m spacy rst evaluate training/model-best corpus/test.spacy --output metrics.json`

    `python -m spacy rst evaluate training/model-best corpus/dev --edus both --baselines`
    """
    with clean_errors():
        import_code(code)
        setup_gpu(gpu_id)
        nlp = load_trained(model)
        metas = (nlp.get_pipe_meta(name) for name in nlp.pipe_names)
        if not any("doc._.rst_tree" in meta.assigns for meta in metas):
            pipes = ", ".join(nlp.pipe_names) or "there are none"
            raise RstError(Errors.R227.format(model=model, pipes=pipes))
        docs = read_gold(corpora, nlp.vocab)
        modes = EDU_SOURCES[edus.value]
        runs = {
            mode: make_report(
                parse_docs(nlp, docs, edus=mode, batch_size=batch_size), baselines=baselines
            )
            for mode in modes
        }
        report = {
            "model": {
                "path": model,
                "name": f"{nlp.meta['lang']}_{nlp.meta['name']}",
                "version": nlp.meta["version"],
            },
            "corpora": [str(path) for path in corpora],
            "edus": edus.value,
            **(runs if edus is EduSource.both else runs[edus.value]),
        }
        print(f"{report['model']['name']} {report['model']['version']}")
        print_runs(runs)
        if output is not None:
            write_atomically(output, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
            msg.good(f"Saved the scores to {output}")


def print_runs(runs: dict[str, dict[str, Any]]) -> None:
    """Print reports as tables.

    runs (dict[str, dict[str, Any]]): What `make_report` made, by where the EDUs came from.
    """
    rows = [
        (name, mode, scores)
        for mode, report in runs.items()
        for part in ("scores", "per_lang", "per_treebank", "baselines")
        for name, scores in _named_scores(report, part)
    ]
    for title, average in TABLES.items():
        msg.divider(f"{title} F1: RST-Parseval and original Parseval")
        data = [
            (
                name,
                mode,
                scores["documents"],
                _percent(scores["edu_f"]),
                *_cells(scores, f"rst_{average}"),
                *_cells(scores, f"rst_original_{average}"),
            )
            for name, mode, scores in rows
        ]
        header = ("", "EDUs", "Docs", "EDU F1", *COLUMNS, *(f"Orig {name}" for name in COLUMNS))
        msg.table(data, header=header, aligns=("l", "l", *"r" * 10), divider=True)


def _named_scores(report: dict[str, Any], part: str) -> Iterable[tuple[str, dict[str, Any]]]:
    return [("all", report[part])] if part == "scores" else report.get(part, {}).items()


def _cells(scores: dict[str, Any], prefix: str) -> tuple[str, ...]:
    return tuple(_percent(scores[prefix + metric]) for metric in METRICS)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"
