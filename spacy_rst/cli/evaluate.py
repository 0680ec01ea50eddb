"""`python -m spacy rst evaluate`: score a pipeline's trees, on gold or predicted EDUs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.cli._util import import_code, setup_gpu
from wasabi import msg

from ..errors import Errors, RstError
from ..evaluation import EDU_SOURCES, has_tree, make_report, parse_docs, read_gold
from ..pipelines import load
from ..scoring.parseval import METRICS, SPANS_BY_METHOD
from ..scoring.scorer import score_name
from ..util import write_atomically
from . import rst_app
from ._options import BatchSize, Code, GpuId
from ._util import OverridesCommand, clean_errors

COLUMNS = ("Span", "Nuc", "Rel", "Full")


@rst_app.command("evaluate", cls=OverridesCommand)
def evaluate_cli(
    ctx: typer.Context,
    model: Annotated[str, typer.Argument(help="A pipeline: xx_rst_sm, a package or a folder")],
    corpora: Annotated[
        list[Path],
        typer.Argument(
            metavar="CORPUS...", help="Converted treebanks: .spacy files, or folders of them"
        ),
    ],
    edus: Annotated[
        Literal["gold", "predicted", "both"],
        typer.Option(
            help="Parse gold EDUs on gold tokens, run the pipeline on the raw text, or do both"
        ),
    ] = "gold",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file for the scores")
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            help="Score trees without a parser, too: branching to one side, by sentence, and gold "
            "trees with the commonest label"
        ),
    ] = False,
    hide_layout: Annotated[
        bool, typer.Option("--hide-layout", help="Parse running text, without paragraphs and such")
    ] = False,
    batch_size: BatchSize = None,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Score the trees of a pipeline with RST-Parseval and original Parseval, and with predicted
    EDUs its segmentation too.

    Micro scores pool the spans of all documents, macro scores are means over the documents.
    Settings of the pipeline's config can be given as options.

    \b
    Examples:
      python -m spacy rst evaluate training/model-best corpus/test.spacy --output metrics.json
      python -m spacy rst evaluate training/model-best corpus/dev --edus both --baselines
      python -m spacy rst evaluate training/model-best corpus/dev
        --components.rst_parser.model.splitter.search_edus 50
    """
    with clean_errors():
        import_code(code)
        setup_gpu(gpu_id)
        overrides = ctx.meta["overrides"]
        nlp = load(model, config=overrides)
        metas = (nlp.get_pipe_meta(name) for name in nlp.pipe_names)
        if not any("doc._.rst_tree" in meta.assigns for meta in metas):
            pipes = ", ".join(nlp.pipe_names) or "none"
            advice = "add 'rst_parser' to it"
            raise RstError(
                Errors.R554.format(model=model, what="trees", pipes=pipes, advice=advice)
            )
        # Without a tree there is nothing to score but EDUs, and those only if they are predicted.
        docs = read_gold(
            corpora, nlp.vocab, edus_only=edus != "gold", hide_layout=float(hide_layout)
        )
        runs = {}
        for mode in EDU_SOURCES[edus]:
            scored = docs if mode == "predicted" else filter(has_tree, docs)
            examples = parse_docs(nlp, scored, edus=mode, batch_size=batch_size)
            runs[mode] = make_report(examples, baselines=baselines)
        name, version = f"{nlp.meta['lang']}_{nlp.meta['name']}", nlp.meta["version"]
        report = {
            "model": {"path": model, "name": name, "version": version},
            "corpora": [str(path) for path in corpora],
            "edus": edus,
            "layout": "hidden" if hide_layout else "as in the corpora",
            "overrides": overrides,
            **(runs if edus == "both" else runs[edus]),
        }
        print(name, version)
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
    header = ("", "EDUs", "Docs", "EDU F1", *COLUMNS, *(f"Orig {name}" for name in COLUMNS))
    for average in ("micro", "macro"):
        names = [score_name(method, average, m) for method in SPANS_BY_METHOD for m in METRICS]
        data = [
            (name, mode, scores["documents"], *(_percent(scores[n]) for n in ("edu_f", *names)))
            for name, mode, scores in rows
        ]
        msg.divider(f"{average.title()} F1: RST-Parseval and original Parseval")
        msg.table(data, header=header, aligns=("l", "l", *"r" * 10), divider=True)


def _named_scores(report: dict[str, Any], part: str) -> Iterable[tuple[str, dict[str, Any]]]:
    return [("all", report[part])] if part == "scores" else report.get(part, {}).items()


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"
