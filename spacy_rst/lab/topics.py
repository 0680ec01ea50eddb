"""What treebanks are about: topics of documents (LDA), and a map of the documents (t-SNE)."""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import get_lang_class

from ..doc import LANGUAGE_KEY, NAME_KEY, TREEBANK_KEY, get_meta, original_language
from ..errors import Errors, RstError
from ..orthography import is_unspaced
from ..util import require_extra

with require_extra("scikit-learn", "analysis"):
    from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import normalize
    from threadpoolctl import threadpool_limits

MIN_LETTERS = 3
# Words of Chinese and Japanese are hardly ever longer; longer tokens are whole clauses.
MAX_UNSPACED_WORD = 4
JOINERS = "-'’\u200c"
# From so many documents on, words of very few documents and of very many are left out.
MIN_DOCS_TO_FILTER = 20
MIN_SHARE_OF_DOCS = 0.005
MAX_SHARE_OF_DOCS = 0.2
# How much a keyword's frequency in its topic counts against its being peculiar to it (Sievert &
# Shirley 2014).
RELEVANCE = 0.6
PERPLEXITY = 30.0
LDA_ROUNDS = 50
# LDA ends in one of many optima: the best of some is taken.
LDA_STARTS = 3
WORD_DIMENSIONS = 50


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic.

    number (int): Its number; 1 is the topic of most documents.
    keywords (tuple[str, ...]): Its words, the most relevant first.
    n_documents (int): How many documents have it as their main topic.
    place (tuple[float, ...] | None): The middle of these documents on the map, None if there are
        none.
    """

    number: int
    keywords: tuple[str, ...]
    n_documents: int
    place: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """A document on the map.

    name (str): Its name.
    treebank (str): Its treebank.
    language (str): The language of its text.
    original_language (str): The language it was written in, if it was translated.
    topic (int): The number of its main topic.
    shares (tuple[float, ...]): The share of each topic.
    place (tuple[float, ...]): Where it stands.
    """

    name: str
    treebank: str
    language: str
    original_language: str
    topic: int
    shares: tuple[float, ...]
    place: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TopicMap:
    """Documents and their topics.

    topics (tuple[Topic, ...]): The topics.
    documents (tuple[TopicDocument, ...]): The documents in the order they were given.
    n_words (int): The number of different words that were used.
    """

    topics: tuple[Topic, ...]
    documents: tuple[TopicDocument, ...]
    n_words: int

    @property
    def languages(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): The languages of the texts, sorted."""
        return tuple(sorted({document.language for document in self.documents}))

    def shares_by_treebank(self) -> dict[str, tuple[float, ...]]:
        """RETURNS (dict[str, tuple[float, ...]]): The mean share of each topic by treebank."""
        shares: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for document in self.documents:
            shares[document.treebank].append(document.shares)
        return {name: tuple(np.mean(shares[name], axis=0).tolist()) for name in sorted(shares)}


def find_topics(
    docs: Iterable[Doc],
    *,
    n_topics: int = 5,
    n_keywords: int = 10,
    max_features: int = 5000,
    seed: int = 0,
) -> TopicMap:
    """Find the topics of documents with LDA, and lay the documents out with t-SNE.

    docs (Iterable[Doc]): The documents. Those without words are left out. They should be in one
        language: otherwise each language is a topic of its own.
    n_topics (int): The number of topics, at least 2.
    n_keywords (int): How many keywords to list for each.
    max_features (int): Use so many words at most, the most frequent ones.
    seed (int): Makes the map repeatable.
    RETURNS (TopicMap): The map.
    RAISES (RstError): If there are too few documents or words.
    """
    if n_topics < 2:
        raise ValueError("a topic map needs at least 2 topics")
    described = [(_description(doc), words) for doc in docs if (words := list(_topic_words(doc)))]
    if len(described) < n_topics:
        raise RstError(Errors.R718.format(n_topics=n_topics, n_docs=len(described)))
    counts, vocabulary = _count_words([words for _, words in described], max_features)
    # Sums in several threads come out in another order each time.
    with threadpool_limits(1):
        shares, word_weights = _fit_topics(counts, n_topics, seed)
        places = _lay_out(counts, shares, seed)
    main = shares.argmax(axis=1)
    sizes = np.bincount(main, minlength=n_topics)
    order = np.argsort(-sizes, kind="stable").tolist()
    keywords = _keywords(word_weights, counts, vocabulary, n_keywords)
    topics = tuple(
        Topic(number, keywords[topic], int(sizes[topic]), _middle(places[main == topic]))
        for number, topic in enumerate(order, start=1)
    )
    documents = tuple(
        TopicDocument(
            *description,
            order.index(main[row]) + 1,
            tuple(shares[row, order].tolist()),
            tuple(places[row].tolist()),
        )
        for row, (description, _) in enumerate(described)
    )
    return TopicMap(topics, documents, len(vocabulary))


def _topic_words(doc: Doc) -> Iterator[str]:
    """List the words of a document that can tell what it is about, in lower case: no stop words of
    its language, no numbers, no punctuation, none of one or two letters. Of Chinese and Japanese,
    the tokens of two to four characters; where the text is not divided into such words, pairs of
    characters."""
    stop_words = _stop_words(str(get_meta(doc, LANGUAGE_KEY) or ""))
    tokens = [token.text.casefold() for token in doc]
    for word in _with_pairs_of_characters(tokens):
        if word not in stop_words and (_is_unspaced_word(word) or _is_word(word)):
            yield word


def _with_pairs_of_characters(tokens: Sequence[str]) -> Iterator[str]:
    """Put the pairs of neighbouring characters in the place of Chinese and Japanese tokens that
    are clauses or, where most tokens are, single characters."""
    unspaced = [token for token in tokens if _is_unspaced(token)]
    is_divided = sum(map(_is_unspaced_word, unspaced)) > len(unspaced) / MAX_UNSPACED_WORD
    characters = ""
    # The empty token at the end closes the last run of characters.
    for token in (*tokens, ""):
        is_word = _is_unspaced_word(token) or (is_divided and len(token) == 1)
        if _is_unspaced(token) and not is_word:
            characters += token
            continue
        yield from map("".join, pairwise(characters))
        characters = ""
        yield token


def _is_unspaced(text: str) -> bool:
    return text.isalpha() and all(map(is_unspaced, text))


def _is_unspaced_word(text: str) -> bool:
    return 1 < len(text) <= MAX_UNSPACED_WORD and _is_unspaced(text)


def _is_word(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    return letters >= MIN_LETTERS and all(
        char.isalpha() or char in JOINERS or unicodedata.category(char) in ("Mn", "Mc")
        for char in text
    )


@lru_cache(maxsize=64)
def _stop_words(language: str) -> frozenset[str]:
    try:
        return frozenset(map(str.casefold, get_lang_class(language).Defaults.stop_words))
    except ImportError:
        return frozenset()


def _description(doc: Doc) -> tuple[str, str, str, str]:
    name, treebank, language = (
        str(get_meta(doc, key) or "") for key in (NAME_KEY, TREEBANK_KEY, LANGUAGE_KEY)
    )
    return name, treebank, language, original_language(doc) or ""


def _count_words(documents: Sequence[list[str]], max_features: int) -> tuple[Any, Sequence[str]]:
    """Count the words of documents. Counts are damped: otherwise a few long documents that repeat
    their own words are topics by themselves."""
    limits: dict[str, float] = {}
    if len(documents) >= MIN_DOCS_TO_FILTER:
        least = max(2, math.ceil(MIN_SHARE_OF_DOCS * len(documents)))
        limits = {"min_df": least, "max_df": MAX_SHARE_OF_DOCS}
    vectorizer = CountVectorizer(analyzer=list, max_features=max_features, **limits)
    try:
        counts = vectorizer.fit_transform(documents).astype(np.float64)
    except ValueError as error:
        raise RstError(Errors.R719.format(n_words=len(set().union(*documents)))) from error
    counts.data = 1 + np.log(counts.data)
    return counts, vectorizer.get_feature_names_out().tolist()


def _fit_topics(counts: Any, n_topics: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the share of each topic in each document, and of each word in each topic."""
    fitted = [
        LatentDirichletAllocation(n_topics, max_iter=LDA_ROUNDS, random_state=start).fit(counts)
        for start in range(seed * LDA_STARTS, (seed + 1) * LDA_STARTS)
    ]
    best = min(fitted, key=lambda lda: lda.bound_)
    return best.transform(counts), normalize(best.components_, norm="l1")


def _lay_out(counts: Any, shares: np.ndarray, seed: int) -> np.ndarray:
    """Find a place for each document by its topics and its words: by its few topics alone, t-SNE
    would string the documents on threads from one topic to the next."""
    weighted = TfidfTransformer().fit_transform(counts)
    dimensions = min(WORD_DIMENSIONS, min(weighted.shape) - 1)
    # Square roots make Euclidean distances those of Hellinger, which suit shares.
    features = [np.sqrt(shares)]
    if dimensions:
        words = TruncatedSVD(dimensions, random_state=seed).fit_transform(weighted)
        features.append(normalize(words))
    joined = np.hstack(features)
    # Documents that are all alike have no principal components to start from.
    start = "pca" if np.ptp(joined, axis=0).any() else "random"
    perplexity = min(PERPLEXITY, (len(joined) - 1) / 3)
    return TSNE(perplexity=perplexity, init=start, random_state=seed).fit_transform(joined)


def _keywords(
    weights: np.ndarray, counts: Any, vocabulary: Sequence[str], n_keywords: int
) -> list[tuple[str, ...]]:
    overall = np.asarray(counts.sum(axis=0)).ravel()
    lift = np.log(weights) - np.log(overall / overall.sum())
    relevance = RELEVANCE * np.log(weights) + (1 - RELEVANCE) * lift
    best = np.argsort(-relevance, axis=1, kind="stable")[:, :n_keywords]
    return [tuple(vocabulary[column] for column in row) for row in best]


def _middle(places: np.ndarray) -> tuple[float, ...] | None:
    return tuple(np.median(places, axis=0).tolist()) if len(places) else None
