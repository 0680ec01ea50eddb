"""`python -m spacy rst analyze`: charts of where a parser errs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code, setup_gpu
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model
from spacy.vocab import Vocab
from wasabi import msg

from ..display.charts import draw_bins, draw_confusion, save_chart
from ..doc import NAME_KEY, document_fact, get_tree, trimmed_chars
from ..errors import Errors, RstError
from ..languages import blank_pipeline
from ..scoring.analysis import (
    BinScores,
    Confusion,
    TreePair,
    confusion_matrix,
    scores_by_depth,
    scores_by_length,
)
from ..scoring.evaluation import parse_docs, read_gold
from ..scoring.parseval import METRICS
from ..tree import RstTree
from ..treebank.corpus import Corpus
from ..util import write_atomically
from . import rst_app
from ._util import clean_errors


class ScoreMethod(StrEnum):
    """The two metrics."""

    original = "original"
    rst = "rst"


class GivenEdus(StrEnum):
    """Where the EDUs come from."""

    gold = "gold"
    predicted = "predicted"


@rst_app.command("analyze")
def analyze_cli(
    gold: Annotated[
        Path, typer.Argument(metavar="GOLD", help="Gold trees: a .spacy file or a folder of them")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the charts and their numbers")
    ],
    predicted: Annotated[
        Path | None,
        typer.Argument(
            metavar="PREDICTED", help="The same documents with predicted trees, in any order"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Or a pipeline that parses them: a name or a folder"),
    ] = None,
    edus: Annotated[
        GivenEdus, typer.Option(help="With --model: parse gold EDUs, or the raw text")
    ] = GivenEdus.gold,
    method: Annotated[
        ScoreMethod,
        typer.Option("--metric", help="Score inner nodes (original) or all but the root (rst)"),
    ] = ScoreMethod.original,
    languages: Annotated[
        str | None, typer.Option(help="Take these languages alone, with commas between them")
    ] = None,
    treebanks: Annotated[
        str | None, typer.Option(help="Take these treebanks alone, with commas between them")
    ] = None,
    n_relations: Annotated[
        int, typer.Option(min=0, help="Show so many frequent relations, 0 for all")
    ] = 0,
    n_depths: Annotated[int, typer.Option(min=2, help="Tell so many depths apart")] = 10,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Documents to buffer")] = None,
    gpu_id: Annotated[int, typer.Option("--gpu-id", "-g", help="GPU to use, -1 for the CPU")] = -1,
    code: Annotated[
        Path | None, typer.Option("--code", "-c", help="Python file to import first")
    ] = None,
) -> None:
    """Draw where a parser errs: which relations and nuclearities it confuses, and its F1 by the
    length and by the depth of spans. Each chart is written as PNG and SVG, its numbers as TSV.

    **Examples**

    `python -m spacy rst analyze corpus/dev --model training/model-best --output analysis`

    `python -m spacy rst analyze gold.spacy parsed.spacy --output analysis --n-relations 10`
    """
    with clean_errors():
        if (predicted is None) == (model is None):
            raise RstError(Errors.R717)
        filters: dict[str, Any] = {"languages": languages, "treebanks": treebanks}
        if model is not None:
            import_code(code)
            setup_gpu(gpu_id)
            nlp = load_model(model)
            docs = read_gold([gold], nlp.vocab, **filters)
            examples = parse_docs(nlp, docs, edus=edus.value, batch_size=batch_size)
        else:
            assert predicted is not None
            vocab = blank_pipeline("xx").vocab
            examples = match_docs(read_gold([gold], vocab, **filters), predicted, vocab)
        pairs = [tree_pair(example) for example in examples]
        files = write_analysis(
            pairs, output, method=method.value, n_relations=n_relations, n_depths=n_depths
        )
        msg.good(f"Compared {len(pairs)} trees and wrote {len(files)} files to {output}")


def match_docs(gold: Iterable[Doc], predicted: Path, vocab: Vocab) -> list[Example]:
    """Find the parsed Doc of each gold Doc, by its text.

    gold (Iterable[Doc]): The gold Docs.
    predicted (Path): A .spacy file, or a folder of them.
    vocab (Vocab): The vocabulary.
    RETURNS (list[Example]): The pairs, in the order of the gold Docs.
    RAISES (RstError): If a gold Doc has none.
    """
    by_text: dict[str, list[Doc]] = defaultdict(list)
    for doc in Corpus(predicted).read(vocab):
        by_text[doc.text].append(doc)
    examples = []
    for doc in gold:
        found = by_text[doc.text]
        if not found:
            name = str(document_fact(doc, NAME_KEY) or doc.text[:40])
            raise RstError(Errors.R716.format(document=name))
        # The same text may stand in a corpus twice, each time with a tree of its own.
        examples.append(Example(found.pop(0) if len(found) > 1 else found[0], doc))
    return examples


def tree_pair(example: Example) -> TreePair:
    """Take the trees of a document, with the places of their EDUs in the text.

    example (Example): The document, with a gold tree.
    RETURNS (TreePair): The trees.
    """
    gold, predicted = get_tree(example.reference), get_tree(example.predicted)
    assert gold is not None
    return TreePair(gold, predicted, _edu_places(gold), _edu_places(predicted))


def _edu_places(tree: RstTree | None) -> list[tuple[int, int]]:
    return [] if tree is None else [trimmed_chars(edu) for edu in tree.edus]  # type: ignore[arg-type]


def write_analysis(
    pairs: Sequence[TreePair],
    output: Path,
    *,
    method: str = "original",
    n_relations: int = 0,
    n_depths: int = 10,
) -> list[Path]:
    """Write all charts of a parser's errors, and their numbers.

    pairs (Sequence[TreePair]): Gold and predicted trees.
    output (Path): The folder.
    method (str): "original" or "rst", for the F1 by length and depth.
    n_relations (int): Show so many frequent relations and call the rest "other"; 0 for all.
    n_depths (int): Tell so many depths apart.
    RETURNS (list[Path]): The files.
    """
    relations = confusion_matrix(pairs, of="relation", n_labels=n_relations)
    nuclearities = confusion_matrix(pairs, of="nuclearity")
    lengths = scores_by_length(pairs, method=method)
    depths = scores_by_depth(pairs, method=method, n_depths=n_depths)
    charts = {
        "relations": (draw_confusion(relations, what="Relation"), confusion_table(relations)),
        "nuclearity": (
            draw_confusion(nuclearities, what="Nuclearity"),
            confusion_table(nuclearities),
        ),
        "length": (
            draw_bins(lengths, x_name="Length of the span in EDUs", method=method),
            bins_table(lengths),
        ),
        "depth": (
            draw_bins(depths, x_name="Depth of the node (root: 0)", method=method),
            bins_table(depths),
        ),
    }
    files = []
    for name, (figure, table) in charts.items():
        files += save_chart(figure, output / name)
        write_atomically(output / f"{name}.tsv", table)
        files.append(output / f"{name}.tsv")
    return files


def confusion_table(confusion: Confusion) -> str:
    """RETURNS (str): The counts of a confusion matrix as TSV, gold labels as rows."""
    rows = [("gold \\ predicted", *confusion.labels)]
    for label, counts in zip(confusion.labels, confusion.counts, strict=True):
        rows.append((label, *map(str, counts)))
    return _tsv(rows)


def bins_table(bins: Iterable[BinScores]) -> str:
    """RETURNS (str): Scores by length or depth as TSV, between 0 and 1."""
    rows: list[tuple[str, ...]] = [("bin", "gold", "predicted", *METRICS)]
    for entry in bins:
        scores = {} if entry.scores is None else entry.scores.as_dict()
        f1 = (f"{scores[metric]:.4f}" if scores else "" for metric in METRICS)
        rows.append((entry.name, str(entry.gold), str(entry.predicted), *f1))
    return _tsv(rows)


def _tsv(rows: Iterable[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)
