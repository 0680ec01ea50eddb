"""`python -m spacy rst evaluate`: score a pipeline's trees, on gold or predicted EDUs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code, setup_gpu
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model
from tqdm import tqdm
from wasabi import msg

from ..doc import EDUS_KEY, LANGUAGE_KEY, TREE_KEY, TREEBANK_KEY, set_tree
from ..errors import Errors, RstError
from ..scoring.baselines import BASELINES, majority_label
from ..scoring.parseval import METRICS
from ..scoring.scorer import score_trees
from ..scoring.segmentation import score_edus
from ..tree import RstTree
from ..treebank.corpus import Corpus, make_example
from ..util import write_atomically
from . import rst_app
from ._util import clean_errors

COLUMNS = ("Span", "Nuc", "Rel", "Full")
TABLES = {"Micro": "", "Macro": "macro_"}
PER_LANGUAGE = ("edu_per_lang", "rst_per_lang")


class EduSource(StrEnum):
    """Where the EDUs come from."""

    gold = "gold"
    predicted = "predicted"
    both = "both"


@rst_app.command("evaluate")
def evaluate_cli(
    model: Annotated[str, typer.Argument(help="A pipeline: a package's name or a folder")],
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
        bool, typer.Option(help="Score left- and right-branching trees, too")
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
        nlp = load_model(model)
        if "rst_parser" not in {nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}:
            pipes = ", ".join(nlp.pipe_names) or "there are none"
            raise RstError(Errors.R227.format(model=model, pipes=pipes))
        docs = [doc for path in corpora for doc in Corpus(path).read(nlp.vocab)]
        docs = [doc for doc in docs if doc.user_data.get(TREE_KEY) is not None]
        if not docs:
            raise RstError(Errors.R226.format(paths=", ".join(map(str, corpora))))
        modes = ("gold", "predicted") if edus is EduSource.both else (edus.value,)
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


def parse_docs(
    nlp: Language, docs: Iterable[Doc], *, edus: str = "gold", batch_size: int | None = None
) -> list[Example]:
    """Parse the texts of gold Docs.

    nlp (Language): The pipeline.
    docs (Iterable[Doc]): The gold Docs.
    edus (str): "gold" keeps the gold tokens and EDUs and leaves segmenters out; "predicted" runs
        the whole pipeline on the text.
    batch_size (int | None): Documents to buffer.
    RETURNS (list[Example]): The parsed Docs with their gold ones.
    """
    if edus == "gold":
        examples = [make_example(nlp, doc) for doc in docs]
        disable = [name for name in nlp.pipe_names if _makes_spans(nlp, name)]
    else:
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
        disable = []
    inputs = [example.predicted for example in examples]
    parsed = nlp.pipe(inputs, batch_size=batch_size, disable=disable)
    parsed = tqdm(parsed, total=len(inputs), desc="Parsing", unit="doc", disable=None)
    for example, doc in zip(examples, parsed, strict=True):
        example.predicted = doc
    return examples


def _makes_spans(nlp: Language, name: str) -> bool:
    meta = nlp.get_pipe_meta(name)
    return meta.factory == "edu_segmenter" or "doc.spans" in meta.assigns


def make_report(examples: Sequence[Example], *, baselines: bool = False) -> dict[str, Any]:
    """Score parsed documents.

    examples (Sequence[Example]): The documents.
    baselines (bool): Score left- and right-branching trees over the same EDUs, too.
    RETURNS (dict[str, Any]): The number of documents and the scores between 0 and 1: of all
        documents, per language, per treebank where there are several, and of the baselines.
    """
    report: dict[str, Any] = {
        "documents": len(examples),
        "scores": _scores(examples),
        "per_lang": _scores_by(examples, LANGUAGE_KEY),
    }
    per_treebank = _scores_by(examples, TREEBANK_KEY)
    if len(per_treebank) > 1:
        report["per_treebank"] = per_treebank
    if baselines:
        report["baselines"] = {name: _scores(_baseline(examples, name)) for name in BASELINES}
    return report


def _scores(examples: Sequence[Example]) -> dict[str, Any]:
    scores = {**score_edus(examples), **score_trees(examples)}
    flat = {key: value for key, value in scores.items() if key not in PER_LANGUAGE}
    return {"documents": len(examples), **flat}


def _scores_by(examples: Sequence[Example], key: str) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        group = example.reference.user_data.get(key)
        if group is not None:
            groups[group].append(example)
    return {group: _scores(groups[group]) for group in sorted(groups)}


def _baseline(examples: Sequence[Example], name: str) -> list[Example]:
    """Hang trees of one shape on copies of the parsed Docs, with the commonest gold label."""
    gold_labels = (
        label for example in examples for label in example.reference.user_data[TREE_KEY]["labels"]
    )
    label = majority_label(gold_labels)
    trees = []
    for example in examples:
        predicted = example.predicted.copy()
        n_edus = len(predicted.spans[EDUS_KEY]) if EDUS_KEY in predicted.spans else 0
        tree = None
        if n_edus and label is not None:
            tree = RstTree.from_splits(BASELINES[name](n_edus, label))
        set_tree(predicted, tree)
        trees.append(Example(predicted, example.reference))
    return trees


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
