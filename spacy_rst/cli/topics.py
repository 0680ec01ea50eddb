"""`python -m spacy rst topics`: what treebanks are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..display.charts import draw_topics, save_chart
from ..errors import Errors
from ..languages import blank_pipeline
from ..scoring.topics import TopicMap, find_topics
from ..treebank.corpus import Corpus
from ..util import write_atomically
from . import rst_app
from ._util import clean_errors


@rst_app.command("topics")
def topics_cli(
    corpora: Annotated[
        list[Path],
        typer.Argument(metavar="CORPUS...", help="Documents: .spacy files, or folders of them"),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the map and its numbers")
    ],
    topics: Annotated[int, typer.Option("--topics", "-n", min=2, help="Number of topics")] = 5,
    keywords: Annotated[int, typer.Option(min=1, help="Keywords to list for each topic")] = 10,
    max_features: Annotated[
        int, typer.Option(min=1, help="Use so many words at most, the most frequent ones")
    ] = 5000,
    languages: Annotated[
        str | None, typer.Option(help="Take these languages alone, with commas between them")
    ] = None,
    treebanks: Annotated[
        str | None, typer.Option(help="Take these treebanks alone, with commas between them")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the map repeatable")] = 0,
) -> None:
    """Find the topics of documents (LDA) and draw a map of the documents (t-SNE), coloured by
    treebank.

    The documents should be in one language: translate the others first with `spacy rst translate`.

    **Example**

    `python -m spacy rst topics corpus/train/en.gum.spacy translated/ --topics 5 --output topics`
    """
    with clean_errors():
        vocab = blank_pipeline("xx").vocab
        docs = [
            doc
            for path in corpora
            for doc in Corpus(path, languages=languages, treebanks=treebanks).read(vocab)
        ]
        topic_map = find_topics(
            docs, n_topics=topics, n_keywords=keywords, max_features=max_features, seed=seed
        )
        found = topic_map.languages
        if len(found) > 1:
            names = ", ".join(name or "unknown" for name in found)
            msg.warn(Errors.R723.format(n_languages=len(found), languages=names))
        files = write_topics(topic_map, output)
        for topic in topic_map.topics:
            heading = f"Topic {topic.number} ({topic.n_documents} documents)"
            msg.text(f"{heading}: {', '.join(topic.keywords)}")
        if len(topic_map.documents) < len(docs):
            msg.warn(f"{len(docs) - len(topic_map.documents)} documents have no words.")
        msg.good(f"Wrote {len(files)} files to {output}")


def write_topics(topic_map: TopicMap, output: Path) -> list[Path]:
    """Write the map as PNG and SVG, and the topics, treebanks and documents as TSV.

    topic_map (TopicMap): The map.
    output (Path): The folder.
    RETURNS (list[Path]): The files.
    """
    numbers = [f"topic_{topic.number}" for topic in topic_map.topics]
    tables: dict[str, list[Sequence[str]]] = {
        "topics": [("topic", "documents", "keywords")],
        "treebanks": [("treebank", *numbers)],
        "documents": [
            ("treebank", "original_language", "language", "name", "topic", "x", "y", *numbers)
        ],
    }
    for topic in topic_map.topics:
        row = (str(topic.number), str(topic.n_documents), " ".join(topic.keywords))
        tables["topics"].append(row)
    for treebank, shares in topic_map.shares_by_treebank().items():
        tables["treebanks"].append((treebank, *_rounded(shares)))
    for document in topic_map.documents:
        languages = (document.original_language, document.language)
        name = " ".join(document.name.split())
        figures = (*_rounded(document.place), *_rounded(document.shares))
        tables["documents"].append(
            (document.treebank, *languages, name, str(document.topic), *figures)
        )
    files = save_chart(draw_topics(topic_map), output / "topics")
    for name, rows in tables.items():
        path = output / f"{name}.tsv"
        write_atomically(path, "".join("\t".join(row) + "\n" for row in rows))
        files.append(path)
    return files


def _rounded(numbers: Iterable[float]) -> list[str]:
    return [f"{number:.4f}" for number in numbers]
