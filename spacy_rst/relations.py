"""Relation classes, nuclearity and labels, and the map from a treebank's labels to classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from .errors import Errors, RstError
from .tables import read_table

NUCLEARITIES = ("NS", "SN", "NN")

RELATION_CLASSES = (
    "Attribution",
    "Background",
    "Cause",
    "Comparison",
    "Condition",
    "Contrast",
    "Elaboration",
    "Enablement",
    "Evaluation",
    "Explanation",
    "Joint",
    "Manner-Means",
    "Same-Unit",
    "Summary",
    "Temporal",
    "Textual-Organization",
    "Topic-Change",
    "Topic-Comment",
)

# Classes that can join several nuclei, and those of them that do nothing else.
ALWAYS_MULTINUCLEAR = ("Joint", "Same-Unit")
MULTINUCLEAR_CLASSES = (
    "Cause",
    "Comparison",
    "Contrast",
    "Temporal",
    "Textual-Organization",
    "Topic-Change",
    "Topic-Comment",
    *ALWAYS_MULTINUCLEAR,
)

ANY_TREEBANK = "*"
# "-e": inside a sentence part (RST-DT); "-s", "-n", "-m", "-mn", "-nn": which part carries it.
PART_MARK = re.compile(r"-(?:e|s|n|m|mn|nn)$")
MAX_PART_MARKS = 2  # "consequence-n-e"
RELATIONS_FILE = Path(__file__).parent / "relations.tsv"
RelationTable = Mapping[tuple[str, str], str]


def join_label(relation: str, nuclearity: str) -> str:
    """Join a relation and a nuclearity: "Elaboration-NS"."""
    if not relation or nuclearity not in NUCLEARITIES:
        raise RstError(Errors.R013.format(label=f"{relation}-{nuclearity}"))
    return f"{relation}-{nuclearity}"


@lru_cache(maxsize=4096)
def split_label(label: str) -> tuple[str, str]:
    """Split a label such as "Elaboration-NS" into relation and nuclearity."""
    relation, dash, nuclearity = label.rpartition("-")
    if not dash or not relation or nuclearity not in NUCLEARITIES:
        raise RstError(Errors.R013.format(label=label))
    return relation, nuclearity


@lru_cache(maxsize=8)
def read_relations(path: Path = RELATIONS_FILE) -> RelationTable:
    """Read a table of the classes of treebanks' labels.

    path (Path): A TSV file with the columns treebank ("*" for any), label and class; by default the
        package's own.
    RETURNS (RelationTable): (treebank or "*", original label) -> class.
    RAISES (RstError): If it is not such a table, or maps a label to an unknown class.
    """
    table: dict[tuple[str, str], str] = {}
    for number, row in read_table(path, ("treebank", "label", "class")):
        if row["class"] not in RELATION_CLASSES:
            known = ", ".join(RELATION_CLASSES)
            raise RstError(
                Errors.R100.format(path=path, line=number, name=row["class"], known=known)
            )
        table[row["treebank"], normalize_relation(row["label"])] = row["class"]
    return table


def normalize_relation(label: str) -> str:
    """Bring a treebank's label to the spelling of relations.tsv: in lower case, with single hyphens
    for spaces and underscores."""
    return "-".join(label.strip().lower().replace("_", " ").replace("-", " ").split())


def _spellings(label: str) -> Iterator[str]:
    """Yield a label, then the label without the marks that say which part carries it."""
    normalized = normalize_relation(label)
    yield normalized
    for _ in range(MAX_PART_MARKS):
        normalized = PART_MARK.sub("", normalized)
        yield normalized


def relation_class(
    label: str,
    treebank: str | None = None,
    source: str | None = None,
    relations: RelationTable | None = None,
) -> str:
    """Map a treebank's own relation to one of the 18 classes.

    label (str): The relation as it is in the treebank.
    treebank (str | None): The treebank's name, whose own rows come before the general ones.
    source (str | None): The file, named in the error for an unknown label.
    relations (RelationTable | None): A table that comes before the package's own.
    RETURNS (str): The class.
    RAISES (RstError): For a label that no table lists.
    """
    keys = [
        (name, spelling)
        for spelling in _spellings(label)
        for name in (treebank or ANY_TREEBANK, ANY_TREEBANK)
    ]
    own = {key: label for key in keys} if label in RELATION_CLASSES else {}
    for table in (relations or {}, own, read_relations()):
        for key in keys:
            if key in table:
                return table[key]
    row = "\\t".join((treebank or ANY_TREEBANK, normalize_relation(label), "<class>"))
    raise RstError(Errors.R101.format(label=label, source=source or "the input", row=row))
