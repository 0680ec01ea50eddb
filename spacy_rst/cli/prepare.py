"""`python -m spacy rst prepare`: convert a whole list of treebanks, one DocBin per split."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from wasabi import msg

from ..errors import Errors, RstError
from ..relations import read_relations
from ..tables import read_table
from ..treebank.convert import (
    ConversionOptions,
    ConversionReport,
    LabelSet,
    convert_files,
    find_files,
)
from ..treebank.splits import SPLIT_NAMES
from . import rst_app
from ._util import clean_errors, progress
from .convert import (
    LabelsOption,
    RawTextOption,
    RelationsOption,
    SkipBadOption,
    print_reports,
    split_table,
)

LIST_COLUMNS = ("treebank", "lang", "path")


class ListedTreebank(NamedTuple):
    """A line of the list: where the files and the table of splits are, and how to read them."""

    name: str
    lang: str
    path: Path
    splits: Path | None
    options: frozenset[str]
    layout: Path | None
    syntax: Path | None


@rst_app.command("prepare")
def prepare_cli(
    list_path: Annotated[
        Path, typer.Argument(metavar="TREEBANKS.tsv", help="The list of treebanks")
    ],
    output_path: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the DocBins shall go")
    ],
    only: Annotated[
        str, typer.Option(help="Only treebanks whose name fits, e.g. 'sample.*'")
    ] = "*",
    labels: LabelsOption = LabelSet.coarse,
    relations: RelationsOption = None,
    skip_bad: SkipBadOption = False,
    raw_text: RawTextOption = False,
) -> None:
    """Convert a list of treebanks into FOLDER/SPLIT/TREEBANK.spacy, so that a folder holds all
    treebanks of a split.

    The list is a TSV file with the columns treebank, lang, path, splits (a table; empty for the
    official splits), options (largest_tree, edus_only), and layout and syntax (folders with files
    that tell them); paths start from the list's folder. Treebanks that are not there are named and
    passed over.

    \b
    Example:
      python -m spacy rst prepare assets/treebanks.tsv corpus --only 'sample.*'
    """
    with clean_errors():
        table = None if relations is None else read_relations(relations)
        listed = [bank for bank in _read_list(list_path) if fnmatchcase(bank.name, only)]
        there = [bank for bank in listed if bank.path.exists()]
        for bank in listed:
            if bank not in there:
                msg.warn(f"{bank.name}: nothing at {bank.path}, passed over")
                continue
            for kind, folder in (("layout", bank.layout), ("syntax", bank.syntax)):
                if folder and not folder.exists():
                    msg.warn(f"{bank.name}: nothing at {folder}, converted without {kind}")
        if not there:
            fitting = "" if only == "*" else f", or none fits '{only}'"
            raise RstError(Errors.R139.format(path=list_path, only=fitting))
        reports: dict[str, ConversionReport] = {}
        for bank in there:
            options = ConversionOptions(
                treebank=bank.name,
                lang=bank.lang,
                labels=labels,
                relations=table,
                skip_bad=skip_bad,
                largest_tree="largest_tree" in bank.options,
                raw_text=raw_text,
                layout=bank.layout,
                syntax=bank.syntax,
                edus_only="edus_only" in bank.options,
            )
            reports[bank.name] = convert_files(
                progress(find_files(bank.path), bank.name),
                {split: output_path / split / f"{bank.name}.spacy" for split in SPLIT_NAMES},
                options,
                split_table(bank.splits, bank.name),
            )
        print_reports(reports)
        msg.good(f"Wrote {len(reports) * len(SPLIT_NAMES)} files below {output_path}")


def _read_list(path: Path) -> list[ListedTreebank]:
    return [
        ListedTreebank(
            name=row["treebank"],
            lang=row["lang"],
            path=path.parent / row["path"],
            splits=path.parent / row["splits"] if row.get("splits") else None,
            options=frozenset((row.get("options") or "").split()),
            layout=path.parent / row["layout"] if row.get("layout") else None,
            syntax=path.parent / row["syntax"] if row.get("syntax") else None,
        )
        for _, row in read_table(path, LIST_COLUMNS)
    ]
