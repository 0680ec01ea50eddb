"""`python -m spacy rst agree`: the agreement of two annotations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.cli._util import Arg, Opt
from wasabi import table

from ..display.characters import clean_text
from ..errors import Errors, RstError
from ..relations import RELATION_CLASSES
from ..scoring.agreement import Agreement, compare_trees, pool
from ..scoring.parseval import METRICS
from ..tree import RstTree
from ..treebank.convert import with_classes
from ..util import write_atomically
from . import rst_app
from ._inputs import Outcome, read_trees
from ._options import TREES_HELP, Classes, LargestTree
from ._util import Counts, ParseCommand, clean_errors, percent, report_problem

POOLED = "all documents"
HEADINGS = {
    "edu_f": "EDU",
    **{f"rst_{metric}": f"RST {metric[0].upper()}" for metric in METRICS},
    **{f"original_{metric}": f"Orig {metric[0].upper()}" for metric in METRICS},
    "kappa_nuclearity": "kappa N",
    "kappa_relation": "kappa R",
}


@rst_app.command("agree", cls=ParseCommand)
def agree_cli(
    first_path: Annotated[Path, Arg(metavar="FIRST", help=TREES_HELP)],
    second_path: Annotated[Path, Arg(metavar="SECOND", help=TREES_HELP)],
    classes: Classes = False,
    largest_tree: LargestTree = False,
    differences: Annotated[bool, Opt("--differences", help="List where the trees differ")] = False,
    file_format: Annotated[
        Literal["text", "json"], Opt("--format", "-f", help="What to write")
    ] = "text",
    output_path: Annotated[
        Path | None, Opt("--output", "-o", help="File to write. Default: standard output")
    ] = None,
) -> None:
    """Measure the agreement of two annotations.

    One of them may be a parse. F1 of EDUs, of spans (S) and their nuclearity (N), relation (R) or
    both (F) in RST-Parseval and in original Parseval, and Cohen's kappa on the inner nodes that
    both have. Documents are matched by their names. Exit codes: 0 if all went well, 2 if some
    documents could not be compared, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst agree anna.rs3 ben.rs3 --differences
      python -m spacy rst agree gold/ parsed.jsonl --classes
    """
    with clean_errors("agree"):
        tally = Counts()
        first, second = (
            _by_name(read_trees(path, largest_tree=largest_tree), classes, tally)
            for path in (first_path, second_path)
        )
        pairs = _match(first, second)
        if not pairs:
            raise RstError(Errors.R741.format(problem=f"{first_path} and {second_path} share none"))
        for path, own, other in ((first_path, first, second), (second_path, second, first)):
            if len(own) > len(pairs):
                report_problem("agree", f"{len(own) - len(pairs)} documents are in {path} only")
            if not classes and _has_classes(own) and not _has_classes(other):
                report_problem("agree", f"Only {path} has the 18 classes as labels. Use --classes.")
        agreements: dict[str, Agreement] = {}
        for name, (one, two) in pairs.items():
            try:
                agreements[name] = compare_trees(one, two)
                tally.count(one)
            except RstError as error:
                tally.fail(name, error)
        if agreements:
            write = format_json if file_format == "json" else format_table
            content = write(agreements, differences)
            if output_path is None:
                typer.echo(content.encode(), nl=False)
            else:
                write_atomically(output_path, content)
    raise typer.Exit(tally.exit_code)


def _by_name(trees: Iterable[Outcome], classes: bool, tally: Counts) -> dict[str, RstTree]:
    found: dict[str, RstTree] = {}
    for (name, file, *_), tree in trees:
        try:
            if isinstance(tree, Exception):
                raise tree
            if name in found:
                problem = f"{file.location} has the same as another: {name}"
                raise RstError(Errors.R741.format(problem=problem))
            if tree is not None:
                found[name] = with_classes(tree, source=file.location) if classes else tree
        except RstError as error:
            tally.fail("agree", error)
    return found


def _match(
    first: dict[str, RstTree], second: dict[str, RstTree]
) -> dict[str, tuple[RstTree, RstTree]]:
    if len(first) == len(second) == 1:  # two files may well have different names
        ((name, one),), (two,) = first.items(), second.values()
        return {name: (one, two)}
    return {name: (tree, second[name]) for name, tree in first.items() if name in second}


def _has_classes(trees: dict[str, RstTree]) -> bool:
    relations = {node.relation for tree in trees.values() for node in tree.find()}
    return bool(relations) and relations <= set(RELATION_CLASSES)


def format_table(agreements: Mapping[str, Agreement], differences: bool = False) -> str:
    """Write agreements, by document, as a table with a line for each and one for all of them."""
    rows = dict(agreements)
    if len(rows) > 1:
        rows[POOLED] = pool(list(agreements.values()))
    cells = []
    for name, agreement in rows.items():
        scores = agreement.scores()
        counts = (*agreement.edus[:2], len(agreement.labels))
        figures = [_figure(name, scores[name]) for name in HEADINGS]
        cells.append((clean_text(name), *map(str, counts), *figures))
    header = ("document", "EDUs", "EDUs", "shared", *HEADINGS.values())
    aligns = ("l", *"r" * (len(header) - 1))
    content = table(cells, header=header, divider=True, aligns=aligns).strip("\n") + "\n"
    if differences:
        for name, agreement in agreements.items():
            content += f"\n{clean_text(name)}\n"
            for text, one, two in agreement.differences:
                content += f"  {one or '-'} | {two or '-'} | {clean_text(text)}\n"
    return content


def _figure(name: str, value: float | None) -> str:
    is_kappa = value is not None and name.startswith("kappa")
    return f"{value:.2f}" if is_kappa else percent(value)


def format_json(agreements: Mapping[str, Agreement], differences: bool = True) -> str:
    """Write agreements, by document, and that of all documents as JSON."""

    def describe(agreement: Agreement, differences: bool) -> dict[str, Any]:
        listed = [entry._asdict() for entry in agreement.differences]
        return {
            "edus": list(agreement.edus[:2]),
            "shared_nodes": len(agreement.labels),
            **agreement.scores(),
            **({"differences": listed} if differences else {}),
        }

    report = {
        "documents": {name: describe(entry, differences) for name, entry in agreements.items()},
        "all": describe(pool(list(agreements.values())), False),
    }
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"
