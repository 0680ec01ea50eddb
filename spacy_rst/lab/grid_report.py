"""The tables of a grid: means over seeds, beside baselines on the same data and published rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
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
APPROACH_NAMES = {"encoder": "cross-lingual encoder", "translated": "translated"}
# Treebanks that come as dependencies; their trees are rebuilt, and not the annotators' own.
REBUILT_SUFFIX = ".rels"
# The tables, each with the part that is scored and what its columns are.
TABLES = {"test": ("test", "lang"), "dev": ("dev", "lang"), "treebanks": ("test", "treebank")}

Result = dict[str, Any]
Document = dict[str, Any]
Scores = dict[str, dict[str, float]]


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

    grid (Grid): The grid.
    folder (ResultFolder): Where the results are. The charts go into its `report`.
    RETURNS (list[Path]): The files, none if no cell is done.
    RAISES (RstError): If matplotlib is not installed.
    """
    from .charts import draw_learning_curves, draw_transfer, save_chart

    by_approach: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for cell, result in finished_results(grid, folder).items():
        by_approach[cell.approach][cell.training].append(result)
    written: list[Path] = []
    for approach, trainings in by_approach.items():
        curves, rows = {}, []
        for training, seeds in trainings.items():
            name = SYSTEM_NAMES.get(training, training)
            curves[name] = average_curves([_curve(result) for result in seeds])
            scores = aggregate_scores(map(_test_scores, seeds))
            rows.append(Row(training.removeprefix("mono-"), "", scores))
        matrix = transfer_matrix(rows, "rst_original_full", list(grid.languages))
        transfer = draw_transfer(matrix, score_name="Full, original Parseval, micro F1 (test)")
        written += save_chart(
            draw_learning_curves(curves), folder.report / f"learning_curves_{approach}"
        )
        written += save_chart(transfer, folder.report / f"transfer_{approach}")
    return written


def _curve(result: Result) -> list[tuple[float, float]]:
    return [(point["step"], point["score"]) for point in result["curve"]]


def _test_scores(result: Result) -> Scores:
    documents = result["documents"]["test"]
    return _score_groups(documents.get("gold") or documents["predicted"], "lang")


def system_rows(
    grid: Grid, results: dict[Cell, Result], split: str, mode: str, key: str
) -> list[Row]:
    """Average what the seeds of each training gave.

    grid (Grid): The grid.
    results (dict[Cell, Result]): The results.
    split (str): "dev" or "test".
    mode (str): The EDUs: "gold" or "predicted".
    key (str): What the columns are: "lang" or "treebank".
    RETURNS (list[Row]): A row for each training and approach. That of languages alone has in each
        column the parser that learned this language.
    """
    seeds: dict[tuple[str, str], dict[int, Scores]] = defaultdict(lambda: defaultdict(dict))
    data: dict[str, str] = {}
    for cell, result in results.items():
        documents = result["documents"][split][mode]
        data[cell.approach] = describe_data(documents, split)
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


def _baseline_rows(baselines: dict[str, list[Document]], split: str, key: str) -> list[Row]:
    return [
        Row(
            system=f"Baseline: {name}",
            data=describe_data(documents, split),
            scores=aggregate_scores([_score_groups(documents, key)]),
            note="Gold EDUs, no model",
        )
        for name, documents in baselines.items()
    ]


def _by_language(docs: Iterable[Doc]) -> dict[str, list[Doc]]:
    groups: dict[str, list[Doc]] = defaultdict(list)
    for doc in docs:
        groups[str(original_language(doc))].append(doc)
    return groups


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


def describe_data(documents: Sequence[Document], split: str) -> str:
    """Say what scores were measured on.

    documents (Sequence[Document]): What `document_counts` made.
    split (str): "dev" or "test".
    RETURNS (str): The treebanks, and which of them have rebuilt trees.
    """
    sources = {(document["treebank"], str(document["source"])) for document in documents}
    treebanks = {treebank for treebank, _ in sources}
    rebuilt = {treebank for treebank, source in sources if source.endswith(REBUILT_SUFFIX)}
    description = f"{split} parts of {', '.join(sorted(treebanks))}"
    if rebuilt:
        description += f"; trees rebuilt from dependencies in {', '.join(sorted(rebuilt))}"
    return description
