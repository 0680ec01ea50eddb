"""`python -m spacy rst convert`: treebank files to a DocBin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..languages import MULTI_LANGUAGE
from ..relations import read_relations
from ..treebank.convert import (
    ConversionOptions,
    ConversionReport,
    FileFormat,
    LabelSet,
    convert_files,
    find_files,
)
from ..treebank.splits import SplitTable
from . import rst_app
from ._util import clean_errors, progress

LabelsOption = Annotated[LabelSet, typer.Option(help="The 18 classes, or the treebank's own")]
RelationsOption = Annotated[
    Path | None,
    typer.Option(
        help="TSV with the columns treebank, label and class, which comes before our own table"
    ),
]
SkipBadOption = Annotated[
    bool, typer.Option(help="Report documents that cannot be read, and go on")
]
RawTextOption = Annotated[
    bool,
    typer.Option(
        help="Guess the spaces that a treebank lost, and tokenize as a multilingual pipeline does"
    ),
]


@rst_app.command("convert")
def convert_cli(
    input_path: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A treebank file, or a folder")
    ],
    output_path: Annotated[
        Path, typer.Argument(metavar="OUTPUT.spacy", help="The DocBin to write")
    ],
    file_format: Annotated[
        FileFormat, typer.Option("--format", help="Format of the input")
    ] = FileFormat.auto,
    treebank: Annotated[str, typer.Option(help="Name of the treebank, e.g. en.gum")] = "",
    lang: Annotated[
        str, typer.Option(help="Language code. Default: what the treebank's name begins with")
    ] = "",
    splits: Annotated[
        Path | None,
        typer.Option(
            help="TSV with the columns treebank, doc and split. Default: the official splits"
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Only the documents of this split, e.g. train")
    ] = None,
    labels: LabelsOption = LabelSet.coarse,
    relations: RelationsOption = None,
    skip_bad: SkipBadOption = False,
    largest_tree: Annotated[
        bool, typer.Option(help="Of a file with several trees, keep the largest")
    ] = False,
    keep_blanked: Annotated[
        bool, typer.Option(help="Keep documents whose words are blanked")
    ] = False,
    raw_text: RawTextOption = False,
    layout: Annotated[
        Path | None,
        typer.Option(help="A folder with the layout of the documents: GUM's dep, GCDT's xml"),
    ] = None,
    syntax: Annotated[
        Path | None,
        typer.Option(help="A folder with CoNLL-U files that have the syntax of the documents"),
    ] = None,
    edus_only: Annotated[
        bool, typer.Option("--edus-only", help="Read the EDUs of DISRPT files, and no trees")
    ] = False,
) -> None:
    """Convert an RST treebank (rs3, rs4, dis or DISRPT) into a DocBin for training.

    \b
    Examples:
      python -m spacy rst convert gum/rst/rstweb gum.spacy --treebank en.gum
      python -m spacy rst convert pcc/ dev.spacy --lang de --splits splits.tsv --split dev
    """
    with clean_errors():
        files = find_files(input_path, file_format)
        options = ConversionOptions(
            file_format=file_format,
            treebank=treebank,
            lang=lang or _language_of(treebank),
            labels=labels,
            relations=None if relations is None else read_relations(relations),
            skip_bad=skip_bad,
            largest_tree=largest_tree,
            keep_blanked=keep_blanked,
            raw_text=raw_text,
            layout=layout,
            syntax=syntax,
            edus_only=edus_only,
        )
        report = convert_files(
            progress(files, f"Reading {input_path.name}"),
            {split: output_path},
            options,
            None if split is None else split_table(splits, treebank),
        )
        print_reports({treebank or input_path.name: report})
        counts = ", ".join(f"{label} {count}" for label, count in report.labels.most_common())
        msg.text(f"Labels: {counts}")
        msg.good(f"Wrote {output_path}")


def split_table(path: Path | None, treebank: str) -> SplitTable | None:
    """Get the splits of a treebank.

    path (Optional[Path]): The user's own table, which comes first.
    treebank (str): The treebank's name.
    RETURNS (Optional[SplitTable]): The table, None where there is none for this treebank.
    """
    if path is not None:
        return SplitTable.from_file(path)
    official = SplitTable.official()
    return official if treebank in official.treebanks else None


def _language_of(treebank: str) -> str:
    prefix = treebank.split(".")[0] if "." in treebank else ""
    return prefix if len(prefix) in (2, 3) and prefix.isalpha() else MULTI_LANGUAGE


def print_reports(reports: Mapping[str, ConversionReport]) -> None:
    """Say what was left out, and what was done.

    reports (Mapping[str, ConversionReport]): The reports by the names of treebanks.
    """
    for name, report in reports.items():
        for error in report.skipped:
            msg.warn(f"{name}: skipped. {error}")
        if report.blanked:
            msg.warn(f"{name}: words are blanked, left out. {', '.join(report.blanked)}")
        if report.other_words:
            names = ", ".join(report.other_words)
            msg.warn(f"{name}: the syntax has other words, left out. {names}")
    rows = [(name, *report.rows().values()) for name, report in reports.items()]
    header = ("Treebank", *ConversionReport().rows())
    msg.table(rows, header=header, divider=True, aligns=("l", *"r" * len(header[1:])))
    msg.text(
        "Labels: different ones. Removed: units not linked to the tree. Kept: documents that keep "
        "the treebank's tokens in spite of --raw-text, as an EDU begins inside of one of ours. "
        "Other: documents of another split, or of none."
    )
