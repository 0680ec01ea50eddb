"""The tables of a grid: means over seeds, beside baselines on the same data and published rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc

from ..display.charts import draw_learning_curves, draw_transfer, save_chart
from ..doc import original_language
from ..scoring.analysis import average_curves, transfer_matrix
from ..scoring.baselines import BASELINES, baseline_examples, gold_labels, majority_label
from ..scoring.evaluation import EDU_SOURCES, read_gold
from ..scoring.parseval import SPANS_BY_METHOD, SpanCounts
from ..scoring.report import (
    METHODS,
    Metric,
    MetricKey,
    Row,
    aggregate_scores,
    published_rows,
    scores_from_counts,
    write_table,
)
from ..treebank.corpus import make_example
from ..util import write_atomically
from .grid import SPLITS, Cell, Grid
from .runner import SCORED_SPLITS, ResultFolder, State, document_counts

FORMATS = {"md": "markdown", "csv": "csv", "tex": "latex"}
SYSTEM_NAMES = {"en": "EN-Training", "multi": "Multi-Training", "mono": "One language alone"}
APPROACH_NAMES = {"encoder": "cross-lingual encoder", "translated": "translated"}
# Treebanks that come as dependencies; their trees are rebuilt, and not the annotators' own.
REBUILT_SUFFIX = ".rels"

# What a document in a result says about itself.
LANGUAGE_KEY, TREEBANK_KEY = "lang", "treebank"

TRANSFER_METRIC = Metric("original_parseval", "micro", "full")
# The tables, each with the part that is scored and what its columns are.
TABLES = {
    "test": ("test", LANGUAGE_KEY),
    "dev": ("dev", LANGUAGE_KEY),
    "treebanks": ("test", TREEBANK_KEY),
}

Result = dict[str, Any]
Document = dict[str, Any]
Scores = dict[str, dict[MetricKey, float]]


def finished_results(grid: Grid, folder: ResultFolder) -> dict[Cell, Result]:
    """Read the results of the cells that are done and up to date.

    grid (Grid): The grid.
    folder (ResultFolder): Where the results are.
    RETURNS (dict[Cell, Result]): The results.
    """
    done = [cell for cell in grid.cells() if folder.state(grid, cell) is State.done]
    return {cell: result for cell in done if (result := folder.read(cell)) is not None}


def write_report(grid: Grid, folder: ResultFolder) -> list[Path]:
    """Write the tables of what is done, as Markdown, CSV and LaTeX.

    `test` has the test scores per language with gold EDUs beside the published ones, `dev` the
    development scores, `treebanks` the test scores per treebank; with predicted EDUs there are
    `test_predicted` and so on.

    grid (Grid): The grid.
    folder (ResultFolder): Where the results are. The tables go into its `report`.
    RETURNS (list[Path]): The files, none if no cell is done.
    """
    results = finished_results(grid, folder)
    if not results:
        return []
    baselines = baseline_documents(grid)
    written: list[Path] = []
    for mode in EDU_SOURCES[grid.edus]:
        for name, (split, key) in TABLES.items():
            rows = system_rows(grid, results, split, mode, key)
            if mode == "gold":
                rows = [*baseline_rows(baselines[split], split, key), *rows]
                path = folder.report / name
            else:
                path = folder.report / f"{name}_{mode}"
            if path.name == "test":
                rows = [*published_rows(), *rows]
            written += _write(path, rows)
    return written


def write_charts(grid: Grid, folder: ResultFolder) -> list[Path]:
    """Draw the learning curves and the transfer matrix of what is done, as PNG and SVG.

    grid (Grid): The grid.
    folder (ResultFolder): Where the results are. The charts go into its `report`.
    RETURNS (list[Path]): The files, none if no cell is done.
    RAISES (RstError): If matplotlib is not installed.
    """
    results = finished_results(grid, folder)
    written: list[Path] = []
    for approach in grid.approaches:
        by_training: dict[str, list[Result]] = defaultdict(list)
        for cell, result in results.items():
            if cell.approach == approach:
                by_training[cell.training].append(result)
        if not by_training:
            continue
        curves = {
            SYSTEM_NAMES.get(training, training): average_curves(
                [_curve(result) for result in seeds]
            )
            for training, seeds in by_training.items()
        }
        written += save_chart(
            draw_learning_curves(curves), folder.report / f"learning_curves_{approach}"
        )
        rows = [
            Row(training.removeprefix("mono-"), "", aggregate_scores(map(_test_scores, seeds)))
            for training, seeds in by_training.items()
        ]
        matrix = transfer_matrix(rows, TRANSFER_METRIC, list(grid.languages))
        chart = draw_transfer(matrix, score_name="Full, original Parseval, micro F1 (test)")
        written += save_chart(chart, folder.report / f"transfer_{approach}")
    return written


def _curve(result: Result) -> list[tuple[float, float]]:
    return [(point["step"], point["score"]) for point in result["curve"]]


def _test_scores(result: Result) -> Scores:
    documents = result["documents"]["test"]
    return score_groups(documents.get("gold") or documents["predicted"], LANGUAGE_KEY)


def _write(path: Path, rows: Sequence[Row]) -> list[Path]:
    files = {path.with_suffix(f".{ending}"): name for ending, name in FORMATS.items()}
    for file, name in files.items():
        write_atomically(file, write_table(rows, name, methods=METHODS))
    return list(files)


def system_rows(
    grid: Grid, results: dict[Cell, Result], split: str, mode: str, key: str
) -> list[Row]:
    """Average what the seeds of each training gave.

    grid (Grid): The grid.
    results (dict[Cell, Result]): The results.
    split (str): "dev" or "test".
    mode (str): The EDUs: "gold" or "predicted".
    key (str): What the columns are: `LANGUAGE_KEY` or `TREEBANK_KEY`.
    RETURNS (list[Row]): A row for each training and approach. That of languages alone has in each
        column the parser that learned this language.
    """
    seeds: dict[tuple[str, str], dict[int, Scores]] = defaultdict(lambda: defaultdict(dict))
    notes: dict[tuple[str, str], str] = {}
    for cell, result in results.items():
        documents = result["documents"][split][mode]
        kind = cell.training.partition("-")[0]
        if len(cell.languages) == 1 and "mono" in grid.trainings:
            treebanks = grid.treebanks(cell.languages)
            own = [document for document in documents if document[TREEBANK_KEY] in treebanks]
            seeds["mono", cell.approach][cell.seed] |= score_groups(own, key)
            notes["mono", cell.approach] = describe_data(documents, split)
        if kind != "mono":
            seeds[kind, cell.approach][cell.seed] = score_groups(documents, key)
            notes[kind, cell.approach] = describe_data(documents, split)
    order = list(SYSTEM_NAMES)
    return [
        Row(
            system=f"{APPROACH_NAMES.get(approach, approach)}, {SYSTEM_NAMES[kind]}",
            data=notes[kind, approach],
            scores=aggregate_scores(seeds[kind, approach].values()),
            note=f"{mode.capitalize()} EDUs, {grid.approaches[approach].config.stem}; checkpoint "
            "chosen on dev",
        )
        for kind, approach in sorted(seeds, key=lambda pair: (pair[1], order.index(pair[0])))
    ]


def baseline_documents(grid: Grid) -> dict[str, dict[str, list[Document]]]:
    """Compare trees that need no model with the gold ones. Every split gets the commonest label of
    the language's training data.

    grid (Grid): The grid, of which the first approach's corpus is taken.
    RETURNS (dict[str, dict[str, list[Document]]]): The counts of each document by split and name
        of the baseline.
    """
    nlp = spacy.blank("xx")
    corpus = next(iter(grid.approaches.values())).corpus
    by_split = {
        split: _by_language(read_gold([corpus / split], nlp.vocab, treebanks=grid.treebanks()))
        for split in SPLITS
    }
    labels = {name: majority_label(gold_labels(docs)) for name, docs in by_split["train"].items()}
    return {
        split: {
            name: [
                document_counts(example)
                for language, docs in by_split[split].items()
                for example in baseline_examples(
                    [make_example(nlp, doc) for doc in docs], name, labels.get(language)
                )
            ]
            for name in BASELINES
        }
        for split in SCORED_SPLITS
    }


def baseline_rows(baselines: dict[str, list[Document]], split: str, key: str) -> list[Row]:
    """Score baselines.

    baselines (dict[str, list[Document]]): The counts of each document by name of the baseline.
    split (str): "dev" or "test".
    key (str): What the columns are: `LANGUAGE_KEY` or `TREEBANK_KEY`.
    RETURNS (list[Row]): A row for each baseline.
    """
    return [
        Row(
            system=f"Baseline: {name}",
            data=describe_data(documents, split),
            scores=aggregate_scores([score_groups(documents, key)]),
            note="Gold EDUs, no model",
        )
        for name, documents in baselines.items()
    ]


def _by_language(docs: Iterable[Doc]) -> dict[str, list[Doc]]:
    groups: dict[str, list[Doc]] = defaultdict(list)
    for doc in docs:
        groups[str(original_language(doc))].append(doc)
    return groups


def score_groups(documents: Iterable[Document], key: str) -> Scores:
    """Score documents from their counts, by language or treebank.

    documents (Iterable[Document]): What `document_counts` made.
    key (str): `LANGUAGE_KEY` or `TREEBANK_KEY`.
    RETURNS (Scores): Language or treebank -> metric -> score.
    """
    groups: dict[str, dict[str, list[SpanCounts]]] = defaultdict(lambda: defaultdict(list))
    for document in documents:
        for method in SPANS_BY_METHOD:
            groups[document[key]][method].append(SpanCounts(*document[method]))
    return {group: scores_from_counts(counts) for group, counts in groups.items()}


def describe_data(documents: Sequence[Document], split: str) -> str:
    """Say what scores were measured on.

    documents (Sequence[Document]): What `document_counts` made.
    split (str): "dev" or "test".
    RETURNS (str): The treebanks, and which of them have rebuilt trees.
    """
    treebanks = sorted({document[TREEBANK_KEY] for document in documents})
    rebuilt = sorted(
        {
            document[TREEBANK_KEY]
            for document in documents
            if str(document["source"]).endswith(REBUILT_SUFFIX)
        }
    )
    description = f"{split} parts of {', '.join(treebanks)}"
    if rebuilt:
        description += f"; trees rebuilt from dependencies in {', '.join(rebuilt)}"
    return description
