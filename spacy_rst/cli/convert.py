"""`python -m spacy rst convert`: treebanks to DocBins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from spacy.cli._util import Arg, Opt
from wasabi import msg

from ..errors import Errors, RstError
from ..languages import MULTI_LANGUAGE
from ..relations import read_relations
from ..tables import read_table
from ..treebank.convert import (
    ConversionOptions,
    ConversionReport,
    FileFormat,
    LabelSet,
    convert_files,
    find_files,
)
from ..treebank.splits import SPLIT_NAMES, SplitTable
from . import rst_app
from ._options import LargestTree
from ._util import clean_errors, progress

LIST_COLUMNS = ("treebank", "lang", "path")
PATH_COLUMNS = ("path", "splits", "layout", "syntax")
FLAGS = ("largest_tree", "edus_only")  # what the column `options` may say


class Treebank(NamedTuple):
    """A treebank to convert: its files, its table of splits, and how to read them."""

    path: Path
    splits: Path | None
    options: ConversionOptions


@rst_app.command("convert")
def convert_cli(
    input_path: Annotated[Path, Arg(metavar="INPUT", help="Treebank file, folder, or list (.tsv)")],
    output_path: Annotated[Path, Arg(metavar="OUTPUT", help="DocBin; for a list, a folder")],
    file_format: Annotated[
        FileFormat, Opt("--format", "-f", help="Format of the input")
    ] = FileFormat.auto,
    treebank: Annotated[str, Opt(help="Name of the treebank, e.g. en.gum")] = "",
    lang: Annotated[str, Opt(help="Language code. Default: start of the treebank's name")] = "",
    only: Annotated[str, Opt(help="Of a list, the treebanks whose name fits, e.g. 'en.*'")] = "*",
    splits: Annotated[Path | None, Opt(help="TSV: treebank, doc, split. Default: official")] = None,
    split: Annotated[str | None, Opt(help="Only the documents of this split, e.g. train")] = None,
    labels: Annotated[LabelSet, Opt(help="18 classes, or the treebank's own")] = LabelSet.coarse,
    relations: Annotated[
        Path | None, Opt(help="TSV: treebank, label, class. It comes before the built-in table")
    ] = None,
    skip_bad: Annotated[bool, Opt("--skip-bad", help="Report bad documents, and go on")] = False,
    largest_tree: LargestTree = False,
    keep_blanked: Annotated[
        bool, Opt("--keep-blanked", help="Keep documents whose words are blanked")
    ] = False,
    raw_text: Annotated[
        bool, Opt("--raw-text", help="Guess lost spaces, and use a multilingual tokenizer")
    ] = False,
    layout: Annotated[Path | None, Opt(help="Folder with layout: GUM's dep, GCDT's xml")] = None,
    syntax: Annotated[Path | None, Opt(help="Folder with syntax in CoNLL-U files")] = None,
    edus_only: Annotated[bool, Opt("--edus-only", help="Read EDUs of DISRPT, no trees")] = False,
) -> None:
    """Convert RST treebanks into DocBins for training.

    Formats are rs3, rs4, dis and DISRPT. INPUT may be a list of treebanks: a TSV file with the
    columns treebank, lang and path, and where needed splits, options (largest_tree, edus_only),
    layout and syntax. Its paths start from its folder, and an empty cell stands for the option of
    the same name. Treebanks that are not there are passed over. Each split of each treebank becomes
    OUTPUT/SPLIT/TREEBANK.spacy.

    \b
    Examples:
      python -m spacy rst convert gum/rst/rstweb gum.spacy --treebank en.gum
      python -m spacy rst convert pcc/ dev.spacy --lang de --splits splits.tsv --split dev
      python -m spacy rst convert assets/treebanks.tsv corpus --only 'sample.*'
    """
    with clean_errors("convert"):
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
        is_list = input_path.suffix == ".tsv"
        banks = [Treebank(input_path, splits, options)]
        if is_list:
            banks = read_list(input_path, options, splits, only)
        reports: dict[str, ConversionReport] = {}
        for bank in banks:
            name = bank.options.treebank or bank.path.name
            outputs: dict[str | None, Path] = {split: output_path}
            if is_list:
                parts = (split,) if split else SPLIT_NAMES
                outputs = {part: output_path / part / f"{name}.spacy" for part in parts}
            files = progress(find_files(bank.path, file_format), f"Reading {name}")
            table = None if None in outputs else _split_table(bank)
            reports[name] = convert_files(files, outputs, bank.options, table)
        _print_reports(reports)
        msg.good(f"Wrote {output_path}")


def read_list(
    path: Path, options: ConversionOptions, splits: Path | None = None, only: str = "*"
) -> list[Treebank]:
    """Read those treebanks of a list that exist and whose name fits the pattern `only`. Options and
    splits stand for empty cells."""
    banks: list[Treebank] = []
    for _, row in read_table(path, LIST_COLUMNS):
        name, words = row["treebank"], (row.get("options") or "").split()
        places = {column: path.parent / row[column] for column in PATH_COLUMNS if row.get(column)}
        if not fnmatchcase(name, only):
            continue
        # `Path.exists` raises for what cannot be a path.
        if not os.path.exists(places.get("path", "")):
            msg.warn(f"{name}: nothing at {places.get('path')}, passed over")
            continue
        own: dict[str, Any] = {flag: True for flag in FLAGS if flag in words}
        for kind in ("layout", "syntax"):
            if kind in places and os.path.exists(places[kind]):
                own[kind] = places[kind]
            elif kind in places:
                msg.warn(f"{name}: nothing at {places[kind]}, converted without {kind}")
                own[kind] = None
        own |= {"treebank": name, "lang": row["lang"] or options.lang}
        splits_path = places.get("splits", splits)
        banks.append(Treebank(places["path"], splits_path, replace(options, **own)))
    if not banks:
        raise RstError(Errors.R139.format(path=path, only=only))
    return banks


def _split_table(bank: Treebank) -> SplitTable | None:
    """Get the user's own table, or the official splits of the treebank where there are any."""
    if bank.splits is not None:
        return SplitTable.from_file(bank.splits)
    official = SplitTable.official()
    return official if bank.options.treebank in official.treebanks else None


def _language_of(treebank: str) -> str:
    prefix = treebank.split(".")[0] if "." in treebank else ""
    return prefix if len(prefix) in (2, 3) and prefix.isalpha() else MULTI_LANGUAGE


def _print_reports(reports: Mapping[str, ConversionReport]) -> None:
    """Print what was left out, and what was done, by the names of treebanks."""
    for name, report in reports.items():
        for error in report.skipped:
            msg.warn(f"{name}: skipped. {error}")
        if report.blanked:
            msg.warn(f"{name}: words are blanked, left out. {', '.join(report.blanked)}")
        if report.mismatched:
            names = ", ".join(report.mismatched)
            msg.warn(f"{name}: the syntax has other words, left out. {names}")
    rows = [(name, *report.rows().values()) for name, report in reports.items()]
    header = ("treebank", *ConversionReport().rows())
    msg.table(rows, header=header, divider=True, aligns=("l", *"r" * len(header[1:])))
    msg.text(
        "labels: different ones. removed: units not linked to the tree. kept: documents that keep "
        "the treebank's tokens in spite of --raw-text, because an EDU begins inside a token. "
        "crossing: EDUs across the border of a block. other: documents of another split."
    )
