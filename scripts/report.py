"""The tables and charts of a grid: means over seeds, beside baselines on the same data and
published figures."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import spacy
from experiments import SCORED_SPLITS, SPLITS, Cell, Grid, kind_of
from spacy.tokens import Doc
from tables import WRITERS, Row, aggregate_scores, published_rows, write_table

from spacy_rst.doc import SOURCE_KEY, TREEBANK_KEY, get_meta, original_language
from spacy_rst.evaluation import EDU_SOURCES, make_report, read_gold
from spacy_rst.scoring.baselines import BASELINES, baseline_examples, gold_labels, majority_label
from spacy_rst.treebank.corpus import make_example
from spacy_rst.util import write_atomically

SYSTEM_NAMES = {"en": "EN-Training", "multi": "Multi-Training", "mono": "One language alone"}
APPROACH_NAMES = {"encoder": "cross-lingual encoder"}
# Treebanks that come as dependencies: their trees are rebuilt, and not the annotators' own.
REBUILT_SUFFIX = ".rels"
TRANSFER_SCORE = "rst_original_full"
# The tables, each with the split that is scored and what its columns are.
TABLES = {
    "test": ("test", "per_lang"),
    "dev": ("dev", "per_lang"),
    "treebanks": ("test", "per_treebank"),
}

Scores = dict[str, dict[str, float]]
Results = dict[Cell, dict[str, Any]]


def write_tables(grid: Grid, results: Results, output: Path) -> None:
    """Write the tables as Markdown and LaTeX: `test` with the test scores per language beside
    the published ones, `dev` with those of the dev sets, `treebanks` with the test scores per
    treebank; with predicted EDUs also `test_predicted` and so on."""
    docs = {split: _read_docs(grid, split) for split in SPLITS}
    data = {split: describe_data(split, docs[split]) for split in SCORED_SPLITS}
    baselines = {split: _baseline_reports(docs[split], docs["train"]) for split in SCORED_SPLITS}
    for mode in EDU_SOURCES[grid.edus]:
        for name, (split, key) in TABLES.items():
            if key == "per_treebank" and len(grid.treebanks(grid.languages)) == 1:
                continue
            rows = published_rows() if name == "test" and mode == "gold" else []
            if mode == "gold":
                rows += [
                    Row(
                        f"Baseline: {baseline}",
                        data[split],
                        aggregate_scores([_scores(report, key)]),
                        note="Gold EDUs, no model",
                    )
                    for baseline, report in baselines[split].items()
                ]
            rows += _system_rows(grid, results, split, mode, key, data[split])
            path = output / (name if mode == "gold" else f"{name}_{mode}")
            for format in WRITERS:
                write_atomically(path.with_suffix(f".{format}"), write_table(rows, format))


def write_charts(grid: Grid, results: Results, output: Path) -> None:
    """Draw the learning curves and the transfer matrix of each approach, as PNG and SVG."""
    from charts import draw_learning_curves, draw_matrix, save_chart

    mode = EDU_SOURCES[grid.edus][0]
    for approach in grid.approaches:
        by_training: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for cell, result in results.items():
            if cell.approach == approach:
                by_training[cell.training].append(result)
        if not by_training:
            continue
        curves: dict[str, list[tuple[float, float]]] = {}
        matrix = {}
        for training, seeds in by_training.items():
            name = SYSTEM_NAMES.get(training, training)
            curves[name] = average_curves([result["curve"] for result in seeds])
            scores = aggregate_scores(
                _scores(result["scores"]["test"][mode], "per_lang") for result in seeds
            )
            matrix[training.removeprefix("mono-")] = {
                language: scores[language][TRANSFER_SCORE].mean for language in grid.languages
            }
        save_chart(draw_learning_curves(curves), output / f"learning_curves_{approach}")
        title = "Full, original Parseval, micro F1 (test)"
        figure = draw_matrix(matrix, title, ("Trained on", "Tested on"), "F1, %", 1)
        save_chart(figure, output / f"transfer_{approach}")


def average_curves(curves: list[list[tuple[float, float]]]) -> list[tuple[float, float]]:
    """The mean score at each step that the learning curves of all seeds have."""
    by_step = [dict(curve) for curve in curves]
    steps = sorted(set.intersection(*map(set, by_step)))
    return [(step, fmean(curve[step] for curve in by_step)) for step in steps]


def _read_docs(grid: Grid, split: str) -> list[Doc]:
    """The documents of the first approach: the same trees as those of the others."""
    approach = next(iter(grid.approaches.values()))
    files = approach.files(split, grid.treebanks(grid.languages))
    return read_gold(files, spacy.blank("xx").vocab)


def _system_rows(
    grid: Grid, results: Results, split: str, mode: str, key: str, data: str
) -> list[Row]:
    """Average over the seeds of each training and approach. The row of languages alone has in each
    column the parser that learned this language."""
    seeds: dict[tuple[str, str], dict[int, Scores]] = defaultdict(lambda: defaultdict(dict))
    for cell, result in results.items():
        scores = _scores(result["scores"][split][mode], key)
        if len(cell.languages) == 1 and "mono" in grid.trainings:
            own = {*cell.languages, *grid.treebanks(cell.languages)}
            only_own = {name: scores[name] for name in scores if name in own}
            seeds[cell.approach, "mono"][cell.seed] |= only_own
        if kind_of(cell.training) != "mono":
            seeds[cell.approach, cell.training][cell.seed] |= scores
    return [
        Row(
            system=f"{APPROACH_NAMES.get(approach, approach)}, {SYSTEM_NAMES[kind]}",
            data=data,
            scores=aggregate_scores(seeds[approach, kind].values()),
            note=f"{mode.capitalize()} EDUs, {grid.approaches[approach].config.stem}; checkpoint "
            "chosen on dev",
        )
        for approach, kind in product(sorted(grid.approaches), SYSTEM_NAMES)
        if (approach, kind) in seeds
    ]


def _baseline_reports(docs: list[Doc], train_docs: list[Doc]) -> dict[str, Any]:
    """Score trees that need no parser. All get the commonest label of their language's training
    data."""
    labels = {
        language: majority_label(gold_labels(own))
        for language, own in _by_language(train_docs).items()
    }
    nlp = spacy.blank("xx")
    reports = {}
    for name in BASELINES:
        examples = []
        for language, own in _by_language(docs).items():
            pairs = [make_example(nlp, doc) for doc in own]
            examples += baseline_examples(pairs, name, labels.get(language))
        reports[name] = make_report(examples)
    return reports


def _by_language(docs: list[Doc]) -> dict[str, list[Doc]]:
    groups: dict[str, list[Doc]] = defaultdict(list)
    for doc in docs:
        groups[str(original_language(doc))].append(doc)
    return groups


def _scores(report: dict[str, Any], key: str) -> Scores:
    """The known scores of a report by language or treebank."""
    return {
        group: {name: score for name, score in scores.items() if score is not None}
        for group, scores in report[key].items()
    }


def describe_data(split: str, docs: list[Doc]) -> str:
    """Say what scores were measured on: the treebanks, and which of them have rebuilt trees."""
    sources = {(str(get_meta(d, TREEBANK_KEY)), str(get_meta(d, SOURCE_KEY))) for d in docs}
    rebuilt = {treebank for treebank, source in sources if source.endswith(REBUILT_SUFFIX)}
    description = f"{split} parts of {', '.join(sorted({treebank for treebank, _ in sources}))}"
    if rebuilt:
        description += f"; trees rebuilt from dependencies in {', '.join(sorted(rebuilt))}"
    return description
