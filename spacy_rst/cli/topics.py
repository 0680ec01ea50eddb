"""`python -m spacy rst topics`: what treebanks are about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..languages import blank_pipeline
from ..treebank.corpus import Corpus
from . import rst_app
from ._options import Languages, Treebanks
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
    languages: Languages = None,
    treebanks: Treebanks = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the map repeatable")] = 0,
) -> None:
    """Find the topics of documents (LDA) and draw a map of the documents (t-SNE), coloured by
    treebank.

    The documents should be in one language: translate the others first with 'spacy rst translate'.

    \b
    Example:
      python -m spacy rst topics corpus/train/en.gum.spacy translated/ --topics 5 --output topics
    """
    with clean_errors():
        from ..lab.files import write_topics
        from ..lab.topics import find_topics

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
