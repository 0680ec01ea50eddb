"""What the commands write: charts, each with its numbers as TSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..scoring.parseval import METRICS
from ..util import write_atomically
from .analysis import (
    BinScores,
    Confusion,
    TreePair,
    confusion_matrix,
    scores_by_depth,
    scores_by_length,
)
from .charts import draw_bins, draw_confusion, draw_topics, save_chart

if TYPE_CHECKING:
    from .topics import TopicMap


def write_analysis(
    pairs: Sequence[TreePair],
    output: Path,
    *,
    method: str = "original",
    n_relations: int = 0,
    n_depths: int = 10,
) -> list[Path]:
    """Write all charts of a parser's errors, and their numbers: see `confusion_matrix` and
    `scores_by_depth` for the options. RETURNS (list[Path]): The files."""
    relations = confusion_matrix(pairs, n_labels=n_relations)
    nuclearity = confusion_matrix(pairs, of="nuclearity")
    lengths = scores_by_length(pairs, method=method)
    depths = scores_by_depth(pairs, method=method, n_depths=n_depths)
    length_name, depth_name = "Length of the span in EDUs", "Depth of the node (root: 0)"
    files = []
    for name, figure, rows in (
        ("relations", draw_confusion(relations), _confusion_rows(relations)),
        ("nuclearity", draw_confusion(nuclearity, what="Nuclearity"), _confusion_rows(nuclearity)),
        ("length", draw_bins(lengths, x_name=length_name, method=method), _bin_rows(lengths)),
        ("depth", draw_bins(depths, x_name=depth_name, method=method), _bin_rows(depths)),
    ):
        files += [*save_chart(figure, output / name), _write_tsv(output / f"{name}.tsv", rows)]
    return files


def write_topics(topic_map: TopicMap, output: Path) -> list[Path]:
    """Write the map as PNG and SVG, and the topics, treebanks and documents as TSV. RETURNS
    (list[Path]): The files."""
    numbers = [f"topic_{topic.number}" for topic in topic_map.topics]
    topics = [
        (topic.number, topic.n_documents, " ".join(topic.keywords)) for topic in topic_map.topics
    ]
    shares = topic_map.shares_by_treebank().items()
    documents = [
        (
            document.treebank,
            document.original_language,
            document.language,
            " ".join(document.name.split()),
            document.topic,
            *_rounded(document.place),
            *_rounded(document.shares),
        )
        for document in topic_map.documents
    ]
    about = ("treebank", "original_language", "language", "name", "topic", "x", "y", *numbers)
    tables: dict[str, list[Sequence[object]]] = {
        "topics": [("topic", "documents", "keywords"), *topics],
        "treebanks": [("treebank", *numbers), *((name, *_rounded(part)) for name, part in shares)],
        "documents": [about, *documents],
    }
    files = save_chart(draw_topics(topic_map), output / "topics")
    return files + [_write_tsv(output / f"{name}.tsv", rows) for name, rows in tables.items()]


def _confusion_rows(confusion: Confusion) -> list[Sequence[object]]:
    rows = zip(confusion.labels, confusion.counts, strict=True)
    return [("gold \\ predicted", *confusion.labels), *((label, *counts) for label, counts in rows)]


def _bin_rows(bins: Iterable[BinScores]) -> list[Sequence[object]]:
    rows: list[Sequence[object]] = [("bin", "gold", "predicted", *METRICS)]
    for entry in bins:
        scores = _rounded(entry.scores.as_dict().values()) if entry.scores else [""] * len(METRICS)
        rows.append((entry.name, entry.gold, entry.predicted, *scores))
    return rows


def _rounded(numbers: Iterable[float]) -> list[str]:
    return [f"{number:.4f}" for number in numbers]


def _write_tsv(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    write_atomically(path, "".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path
