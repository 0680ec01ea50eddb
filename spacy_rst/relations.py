"""Relation classes, nuclearity and labels, and the map from a treebank's labels to classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
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

ANY_TREEBANK = "*"
# "-e": inside a sentence part (RST-DT); "-s", "-n", "-m", "-mn", "-nn": which part carries it.
PART_MARK = re.compile(r"-(?:e|s|n|m|mn|nn)$")
RELATIONS_FILE = Path(__file__).parent / "relations.tsv"


def join_label(relation: str, nuclearity: str) -> str:
    """Make the joint label of a relation and a nuclearity.

    relation (str): The relation, e.g. "Elaboration".
    nuclearity (str): "NS", "SN" or "NN".
    RETURNS (str): The label, e.g. "Elaboration-NS".
    """
    if not relation or nuclearity not in NUCLEARITIES:
        raise RstError(Errors.R013.format(label=f"{relation}-{nuclearity}"))
    return f"{relation}-{nuclearity}"


@lru_cache(maxsize=4096)
def split_label(label: str) -> tuple[str, str]:
    """Take a joint label apart.

    label (str): The label, e.g. "Elaboration-NS".
    RETURNS (Tuple[str, str]): Relation and nuclearity, e.g. ("Elaboration", "NS").
    """
    relation, dash, nuclearity = label.rpartition("-")
    if not dash or not relation or nuclearity not in NUCLEARITIES:
        raise RstError(Errors.R013.format(label=label))
    return relation, nuclearity


@lru_cache(maxsize=1)
def relation_table() -> dict[tuple[str, str], str]:
    """Read the map that comes with the package.

    RETURNS (Dict[Tuple[str, str], str]): (treebank or "*", original label) -> class.
    """
    rows = read_table(RELATIONS_FILE, ("treebank", "label", "class"))
    return {(row["treebank"], row["label"]): row["class"] for _, row in rows}


def normalize_relation(label: str) -> str:
    """Bring a treebank's label to the spelling used in relations.tsv.

    label (str): The label as it stands in a file.
    RETURNS (str): The label in lower case, with single hyphens for spaces and underscores.
    """
    return "-".join(label.strip().lower().replace("_", " ").replace("-", " ").split())


def _spellings(label: str) -> Iterator[str]:
    """Yield a label, then the label without the marks that say which part carries it."""
    normalized = normalize_relation(label)
    yield normalized
    while (stem := PART_MARK.sub("", normalized)) != normalized:
        yield stem
        normalized = stem


def relation_class(label: str, treebank: str | None = None, source: str | None = None) -> str:
    """Map a treebank's own relation to one of the 18 classes.

    label (str): The relation as it stands in the treebank.
    treebank (Optional[str]): The treebank's name, whose own rows come before the general ones.
    source (Optional[str]): The file, named in the error for an unknown label.
    RETURNS (str): The class.
    RAISES (RstError): For a label that relations.tsv does not list.
    """
    if label in RELATION_CLASSES:
        return label
    table = relation_table()
    for spelling in _spellings(label):
        for name in (treebank, ANY_TREEBANK):
            if name is not None and (name, spelling) in table:
                return table[name, spelling]
    row = "\\t".join((treebank or ANY_TREEBANK, normalize_relation(label), "<class>", "<reason>"))
    raise RstError(Errors.R101.format(label=label, source=source or "the input", row=row))
