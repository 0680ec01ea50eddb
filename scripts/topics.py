"""What treebanks are about: topics of documents (LDA), and a map of the documents (t-SNE)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import spacy
import typer
from analyze import write_tsv
from charts import draw_topics, save_chart
from spacy.tokens import Doc
from spacy.util import get_lang_class
from wasabi import msg

from spacy_rst.doc import LANGUAGE_KEY, NAME_KEY, TREEBANK_KEY, get_meta
from spacy_rst.treebank.corpus import Corpus
from spacy_rst.util import require_extra

with require_extra("scikit-learn", "analysis"):
    from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import normalize
    from threadpoolctl import threadpool_limits

MIN_LETTERS = 3
MAX_WORDS = 5000
N_KEYWORDS = 10
# From this number of documents on, words of very few documents and of very many are left out.
MIN_DOCS_TO_FILTER = 20
MIN_SHARE_OF_DOCS = 0.005
MAX_SHARE_OF_DOCS = 0.2
# How much a keyword's frequency in its topic counts against its being peculiar to it (Sievert &
# Shirley 2014).
RELEVANCE = 0.6
PERPLEXITY = 30.0
LDA_ROUNDS = 50
# LDA ends in one of many local optima: the best of several runs is taken.
LDA_STARTS = 3
WORD_DIMENSIONS = 50


def main(
    corpora: Annotated[list[Path], typer.Argument(help="Documents: .spacy files or folders")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for map and numbers")],
    n_topics: Annotated[int, typer.Option("--topics", min=2, help="Number of topics")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same map")] = 0,
) -> None:
    """Find the topics of documents and draw a map of the documents, coloured by treebank. The
    documents should be in one language: translate the others first with 'rst translate'."""
    vocab = spacy.blank("xx").vocab
    docs = [doc for path in corpora for doc in Corpus(path).read(vocab)]
    topic_map = find_topics(docs, n_topics=n_topics, seed=seed)
    languages = sorted({str(get_meta(doc, LANGUAGE_KEY)) for doc in docs})
    if len(languages) > 1:
        msg.warn(f"Topics will tell languages apart rather than subjects: {', '.join(languages)}")
    for topic in topic_map.topics:
        print(f"Topic {topic.number} ({topic.n_documents} documents):", *topic.keywords)
    write_topics(topic_map, output)
    print(f"Drew {len(topic_map.documents)} of {len(docs)} documents; the map is in {output}")


class Topic(NamedTuple):
    """A topic. Topic 1 is the main topic of most documents; `place` is the middle of them."""

    number: int
    keywords: tuple[str, ...]
    n_documents: int
    place: list[float] | None


class TopicDocument(NamedTuple):
    """A document on the map, with the number of its main topic and its share of each."""

    treebank: str
    name: str
    topic: int
    place: tuple[float, ...]
    shares: tuple[float, ...]


class TopicMap(NamedTuple):
    """Documents and their topics."""

    topics: list[Topic]
    documents: list[TopicDocument]


def find_topics(docs: Iterable[Doc], *, n_topics: int = 5, seed: int = 0) -> TopicMap:
    """Find the topics of documents with LDA, and arrange the documents with t-SNE. Documents
    without words are left out."""
    described = [(doc, words) for doc in docs if (words := topic_words(doc))]
    if len(described) < n_topics:
        raise SystemExit(f"{n_topics} topics need as many documents, not {len(described)}.")
    counts, vocabulary = _count_words([words for _, words in described])
    # The order of sums in several threads is not always the same.
    with threadpool_limits(1):
        shares, word_weights = _fit_topics(counts, n_topics, seed)
        places = _arrange(counts, shares, seed)
    main = shares.argmax(axis=1)
    sizes = np.bincount(main, minlength=n_topics)
    order = np.argsort(-sizes, kind="stable").tolist()
    keywords = _keywords(word_weights, counts, vocabulary)
    topics = []
    for number, topic in enumerate(order, start=1):
        middle = np.median(places[main == topic], axis=0).tolist() if sizes[topic] else None
        topics.append(Topic(number, keywords[topic], int(sizes[topic]), middle))
    documents = [
        TopicDocument(
            str(get_meta(doc, TREEBANK_KEY) or ""),
            str(get_meta(doc, NAME_KEY) or ""),
            order.index(main[row]) + 1,
            tuple(places[row].tolist()),
            tuple(shares[row, order].tolist()),
        )
        for row, (doc, _) in enumerate(described)
    ]
    return TopicMap(topics, documents)


def write_topics(topic_map: TopicMap, output: Path) -> None:
    """Write the map as PNG and SVG, and topics and documents as TSV."""
    save_chart(draw_topics(topic_map), output / "topics")
    numbers = [f"topic_{topic.number}" for topic in topic_map.topics]
    topics = ((t.number, t.n_documents, " ".join(t.keywords)) for t in topic_map.topics)
    write_tsv(output / "topics.tsv", ("topic", "documents", "keywords"), topics)
    header = ("treebank", "name", "topic", "x", "y", *numbers)
    documents = ((*d[:3], *d.place, *d.shares) for d in topic_map.documents)
    write_tsv(output / "documents.tsv", header, documents)


def topic_words(doc: Doc) -> list[str]:
    """The words that can tell what a document is about, in lower case: no stop words of its
    language, no numbers, no punctuation, and none of one or two letters."""
    stop_words = _stop_words(str(get_meta(doc, LANGUAGE_KEY)))
    words = [token.text.casefold() for token in doc]
    found = [word for word in words if word.replace("-", "").isalpha()]
    return [word for word in found if len(word) >= MIN_LETTERS and word not in stop_words]


@lru_cache(maxsize=64)
def _stop_words(language: str) -> frozenset[str]:
    try:
        return frozenset(map(str.casefold, get_lang_class(language).Defaults.stop_words))
    except ImportError:
        return frozenset()


def _count_words(documents: Sequence[list[str]]) -> tuple[Any, list[str]]:
    """Count the words of documents. Counts are damped: otherwise a few long documents that repeat
    their own words are topics by themselves."""
    limits: dict[str, float] = {}
    if len(documents) >= MIN_DOCS_TO_FILTER:
        least = max(2, math.ceil(MIN_SHARE_OF_DOCS * len(documents)))
        limits = {"min_df": least, "max_df": MAX_SHARE_OF_DOCS}
    vectorizer = CountVectorizer(analyzer=list, max_features=MAX_WORDS, **limits)
    counts = vectorizer.fit_transform(documents).astype(np.float64)
    counts.data = 1 + np.log(counts.data)
    return counts, vectorizer.get_feature_names_out().tolist()


def _fit_topics(counts: Any, n_topics: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of each topic in each document, and of each word in each topic."""
    fitted = [
        LatentDirichletAllocation(n_topics, max_iter=LDA_ROUNDS, random_state=start).fit(counts)
        for start in range(seed * LDA_STARTS, (seed + 1) * LDA_STARTS)
    ]
    best = min(fitted, key=lambda lda: lda.bound_)
    return best.transform(counts), normalize(best.components_, norm="l1")


def _arrange(counts: Any, shares: np.ndarray, seed: int) -> np.ndarray:
    """Find a place for each document by its topics and its words: by a few topics alone, t-SNE
    would string the documents on threads from one topic to the next."""
    weighted = TfidfTransformer().fit_transform(counts)
    dimensions = min(WORD_DIMENSIONS, min(weighted.shape) - 1)
    words = normalize(TruncatedSVD(dimensions, random_state=seed).fit_transform(weighted))
    # Square roots make Euclidean distances those of Hellinger, which suit shares.
    features = np.hstack([np.sqrt(shares), words])
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(features)


def _keywords(weights: np.ndarray, counts: Any, words: Sequence[str]) -> list[tuple[str, ...]]:
    overall = np.asarray(counts.sum(axis=0)).ravel()
    lift = np.log(weights) - np.log(overall / overall.sum())
    relevance = RELEVANCE * np.log(weights) + (1 - RELEVANCE) * lift
    best = np.argsort(-relevance, axis=1, kind="stable")[:, :N_KEYWORDS]
    return [tuple(words[column] for column in row) for row in best]


if __name__ == "__main__":
    typer.run(main)
