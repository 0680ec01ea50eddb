"""`python -m spacy rst analyze`: charts of where a parser errs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.cli._util import import_code, setup_gpu
from wasabi import msg

from ..errors import Errors, RstError
from ..evaluation import match_docs, parse_docs, read_gold
from ..languages import blank_pipeline
from ..pipelines import load
from . import rst_app
from ._options import BatchSize, Code, GpuId, Languages, Treebanks
from ._util import clean_errors


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
        Literal["gold", "predicted"],
        typer.Option(help="With --model: parse gold EDUs, or the raw text"),
    ] = "gold",
    method: Annotated[
        Literal["original", "rst"],
        typer.Option("--metric", help="Score inner nodes (original) or all but the root (rst)"),
    ] = "original",
    languages: Languages = None,
    treebanks: Treebanks = None,
    n_relations: Annotated[
        int, typer.Option(min=0, help="Show so many frequent relations, 0 for all")
    ] = 0,
    n_depths: Annotated[int, typer.Option(min=2, help="Tell so many depths apart")] = 10,
    batch_size: BatchSize = None,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Draw where a parser errs: which relations and nuclearities it confuses, and its F1 by the
    length and by the depth of spans. Each chart is written as PNG and SVG, its numbers as TSV.

    \b
    Examples:
      python -m spacy rst analyze corpus/dev --model training/model-best --output analysis
      python -m spacy rst analyze gold.spacy parsed.spacy --output analysis --n-relations 10
    """
    with clean_errors():
        from ..lab.analysis import tree_pair
        from ..lab.files import write_analysis

        filters: dict[str, Any] = {"languages": languages, "treebanks": treebanks}
        if model is not None and predicted is None:
            import_code(code)
            setup_gpu(gpu_id)
            nlp = load(model)
            docs = read_gold([gold], nlp.vocab, **filters)
            examples = parse_docs(nlp, docs, edus=edus, batch_size=batch_size)
        elif predicted is not None and model is None:
            vocab = blank_pipeline("xx").vocab
            examples = match_docs(read_gold([gold], vocab, **filters), predicted, vocab)
        else:
            raise RstError(Errors.R717)
        pairs = [tree_pair(example) for example in examples]
        files = write_analysis(
            pairs, output, method=method, n_relations=n_relations, n_depths=n_depths
        )
        msg.good(f"Compared {len(pairs)} trees and wrote {len(files)} files to {output}")
