"""Score a pipeline on every treebank of a folder."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.cli._util import setup_gpu
from wasabi import msg

from spacy_rst.evaluation import EDU_SOURCES, has_tree, make_report, parse_docs, read_gold
from spacy_rst.pipelines import load
from spacy_rst.scoring.parseval import METRICS
from spacy_rst.scoring.scorer import score_name
from spacy_rst.util import write_atomically

LAYOUTS = {"shown": ["shown"], "hidden": ["hidden"], "both": ["shown", "hidden"]}
ORIGINAL = [score_name("original", "micro", metric) for metric in METRICS]
HEADER = ("Treebank", "Layout", "EDUs", "Docs", "EDU F1", "Span", "Nuc", "Rel", "Full")


def main(
    model: Annotated[str, typer.Argument(help="A pipeline: xx_rst_sm, a package or a folder")],
    corpus: Annotated[Path, typer.Argument(help="Folder with one .spacy file per treebank")],
    output: Annotated[Path, typer.Argument(help="Folder for the scores, as JSON")],
    only: Annotated[str, typer.Option(help="Names of treebanks, e.g. 'en.*'")] = "*",
    layout: Annotated[
        Literal["shown", "hidden", "both"],
        typer.Option(help="Parse with paragraphs and such, as running text, or both"),
    ] = "both",
    gpu_id: Annotated[int, typer.Option(help="GPU to use, -1 for the CPU")] = -1,
) -> None:
    """Score a pipeline over gold EDUs and from raw text, beside the baselines. Treebanks without
    trees are scored from raw text for their EDUs alone."""
    setup_gpu(gpu_id)
    nlp = load(model)
    rows = []
    for path in sorted(corpus.glob("*.spacy")):
        if not fnmatchcase(path.stem, only):
            continue
        report: dict[str, Any] = {"model": nlp.meta["name"], "version": nlp.meta["version"]}
        for name in LAYOUTS[layout]:
            hide = float(name == "hidden")
            docs = read_gold([path], nlp.vocab, edus_only=True, hide_layout=hide)
            report[name] = {}
            for mode in EDU_SOURCES["both" if all(map(has_tree, docs)) else "predicted"]:
                scored = make_report(parse_docs(nlp, docs, edus=mode), baselines=mode == "gold")
                report[name][mode] = scored
                scores = [scored["scores"][key] for key in ("edu_f", *ORIGINAL)]
                percents = ("-" if score is None else f"{100 * score:.1f}" for score in scores)
                rows.append((path.stem, name, mode, len(docs), *percents))
        write_atomically(output / f"{path.stem}.json", json.dumps(report, indent=2) + "\n")
    if not rows:
        raise SystemExit(f"There is no treebank '{only}' in {corpus}.")
    msg.divider("Original Parseval, micro F1")
    msg.table(rows, header=HEADER, aligns=("l", "l", "l", *"r" * 6), divider=True)


if __name__ == "__main__":
    typer.run(main)
