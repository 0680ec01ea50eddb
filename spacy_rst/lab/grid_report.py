"""The tables of a grid: means over seeds, beside baselines on the same data and published rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc

from ..doc import original_language
from ..evaluation import EDU_SOURCES, read_gold
from ..scoring.baselines import BASELINES, baseline_examples, gold_labels, majority_label
from ..scoring.parseval import SPANS_BY_METHOD, SpanCounts
from ..scoring.scorer import summarize_counts
from ..treebank.corpus import make_example
from ..util import write_atomically
from .analysis import average_curves, transfer_matrix
from .grid import SPLITS, Cell, Grid
from .runner import SCORED_SPLITS, ResultFolder, State, document_counts
from .tables import METHOD_NAMES, Row, aggregate_scores, published_rows, write_table

FORMATS = {"md": "markdown", "csv": "csv", "tex": "latex"}
SYSTEM_NAMES = {"en": "EN-Training", "multi": "Multi-Training", "mono": "One language alone"}
APPROACH_NAMES = {
    "encoder": "cross-lingual encoder",
    "encoder_copies": "cross-lingual encoder and translated copies",
    "translated": "translated",
}
# Treebanks that come as dependencies; their trees are rebuilt, and not the annotators' own.
REBUILT_SUFFIX = ".rels"
TRANSFER_SCORE = "Full, original Parseval, micro F1 (test)"
# The tables, each with the part that is scored and what its columns are.
TABLES = {"test": ("test", "lang"), "dev": ("dev", "lang"), "treebanks": ("test", "treebank")}

Result = dict[str, Any]
Document = dict[str, Any]
Scores = dict[str, dict[str, float]]


def _finished_results(grid: Grid, folder: ResultFolder) -> dict[Cell, Result]:
    done = [cell for cell in grid.cells() if folder.state(grid, cell) is State.done]
    return {cell: result for cell in done if (result := folder.read(cell)) is not None}


def write_report(grid: Grid, folder: ResultFolder) -> list[Path]:
    """Write the tables of what is done, as Markdown, CSV and LaTeX, into the folder's `report`.

    `test` has the test scores per language with gold EDUs beside the published ones, `dev` the
    development scores, `treebanks` the test scores per treebank; with predicted EDUs there are
    `test_predicted` and so on.

    RETURNS (list[Path]): The files, none if no cell is done.
    """
    results = _finished_results(grid, folder)
    if not results:
        return []
    baselines = _baseline_documents(grid)
    written: list[Path] = []
    for mode in EDU_SOURCES[grid.edus]:
        for name, (split, key) in TABLES.items():
            rows = _system_rows(grid, results, split, mode, key)
            if mode == "gold":
                rows = _baseline_rows(baselines[split], split, key) + rows
            if mode == "gold" and name == "test":
                rows = published_rows() + rows
            path = folder.report / (name if mode == "gold" else f"{name}_{mode}")
            for ending, format in FORMATS.items():
                written.append(path.with_suffix(f".{ending}"))
                write_atomically(written[-1], write_table(rows, format, methods=list(METHOD_NAMES)))
    return written


def write_charts(grid: Grid, folder: ResultFolder) -> list[Path]:
    """Draw the learning curves and the transfer matrix of what is done, as PNG and SVG.

    RETURNS (list[Path]): The files, none if no cell is done.
    RAISES (RstError): If matplotlib is not installed.
    """
    from .charts import draw_learning_curves, draw_transfer, save_chart

    by_approach: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for cell, result in _finished_results(grid, folder).items():
        by_approach[cell.approach][cell.training].append(result)
    written: list[Path] = []
    mode = EDU_SOURCES[grid.edus][0]
    for approach, trainings in by_approach.items():
        curves, rows = {}, []
        for training, seeds in trainings.items():
            points = [[(point["step"], point["score"]) for point in r["curve"]] for r in seeds]
            curves[SYSTEM_NAMES.get(training, training)] = average_curves(points)
            scores = [_score_groups(r["documents"]["test"][mode], "lang") for r in seeds]
            rows.append(Row(training.removeprefix("mono-"), "", aggregate_scores(scores)))
        matrix = transfer_matrix(rows, "rst_original_full", list(grid.languages))
        charts = {
            "learning_curves": draw_learning_curves(curves),
            "transfer": draw_transfer(matrix, score_name=TRANSFER_SCORE),
        }
        for name, chart in charts.items():
            written += save_chart(chart, folder.report / f"{name}_{approach}")
    return written


def _system_rows(
    grid: Grid, results: dict[Cell, Result], split: str, mode: str, key: str
) -> list[Row]:
    """Average over the seeds of each training and approach. The row of languages alone has in each
    column the parser that learned this language."""
    seeds: dict[tuple[str, str], dict[int, Scores]] = defaultdict(lambda: defaultdict(dict))
    data: dict[str, str] = {}
    for cell, result in results.items():
        documents = result["documents"][split][mode]
        data[cell.approach] = _describe_data(documents, split)
        if len(cell.languages) == 1 and "mono" in grid.trainings:
            treebanks = grid.treebanks(cell.languages)
            own = [document for document in documents if document["treebank"] in treebanks]
            seeds[cell.approach, "mono"][cell.seed] |= _score_groups(own, key)
        if cell.training in ("en", "multi"):
            seeds[cell.approach, cell.training][cell.seed] = _score_groups(documents, key)
    return [
        Row(
            system=f"{APPROACH_NAMES.get(approach, approach)}, {SYSTEM_NAMES[kind]}",
            data=data[approach],
            scores=aggregate_scores(seeds[approach, kind].values()),
            note=f"{mode.capitalize()} EDUs, {grid.approaches[approach].config.stem}; checkpoint "
            "chosen on dev",
        )
        for approach in sorted(grid.approaches)
        for kind in SYSTEM_NAMES
        if (approach, kind) in seeds
    ]


def _baseline_documents(grid: Grid) -> dict[str, dict[str, list[Document]]]:
    """Compare trees that need no model with the gold ones of the first approach's corpus: counts by
    split and baseline. Every tree gets the commonest label of its language's training data."""
    nlp = spacy.blank("xx")
    corpus = next(iter(grid.approaches.values())).corpus
    groups: dict[str, dict[str, list[Doc]]] = {}
    for split in SPLITS:
        groups[split] = defaultdict(list)
        for doc in read_gold([corpus / split], nlp.vocab, treebanks=grid.treebanks()):
            groups[split][str(original_language(doc))].append(doc)
    labels = {name: majority_label(gold_labels(docs)) for name, docs in groups["train"].items()}
    counts: dict[str, dict[str, list[Document]]] = {split: {} for split in SCORED_SPLITS}
    for split, name in product(SCORED_SPLITS, BASELINES):
        counts[split][name] = []
        for language, docs in groups[split].items():
            examples = [make_example(nlp, doc) for doc in docs]
            parsed = baseline_examples(examples, name, labels.get(language))
            counts[split][name] += map(document_counts, parsed)
    return counts


def _baseline_rows(baselines: dict[str, list[Document]], split: str, key: str) -> list[Row]:
    return [
        Row(
            system=f"Baseline: {name}",
            data=_describe_data(documents, split),
            scores=aggregate_scores([_score_groups(documents, key)]),
            note="Gold EDUs, no model",
        )
        for name, documents in baselines.items()
    ]


def _score_groups(documents: Iterable[Document], key: str) -> Scores:
    """Score documents from their counts, by language or treebank."""
    groups: dict[str, dict[str, list[SpanCounts]]] = defaultdict(lambda: defaultdict(list))
    for document in documents:
        for method in SPANS_BY_METHOD:
            groups[document[key]][method].append(SpanCounts(*document[method]))
    return {
        group: {name: score for name, score in scores.items() if score is not None}
        for group, counts in groups.items()
        if (scores := summarize_counts(counts))
    }


def _describe_data(documents: Iterable[Document], split: str) -> str:
    """Say what scores were measured on: the treebanks, and which of them have rebuilt trees."""
    sources = {(document["treebank"], str(document["source"])) for document in documents}
    rebuilt = {treebank for treebank, source in sources if source.endswith(REBUILT_SUFFIX)}
    description = f"{split} parts of {', '.join(sorted({treebank for treebank, _ in sources}))}"
    if rebuilt:
        description += f"; trees rebuilt from dependencies in {', '.join(sorted(rebuilt))}"
    return description
