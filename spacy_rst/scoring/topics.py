"""What treebanks are about: topics of documents (LDA), and a map of the documents (t-SNE).

scikit-learn is imported when the first map is made.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import get_lang_class

from ..doc import LANGUAGE_KEY, NAME_KEY, TREEBANK_KEY, document_fact, original_language
from ..errors import Errors, RstError
from ..orthography import is_unspaced

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
    place (tuple[float, float] | None): The middle of these documents on the map, None if there
        are none.
    """

    number: int
    keywords: tuple[str, ...]
    n_documents: int
    place: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """A document on the map.

    name (str): Its name.
    treebank (str): Its treebank.
    language (str): The language of its text.
    original_language (str): The language it was written in, if it was translated.
    topic (int): The number of its main topic.
    shares (tuple[float, ...]): The share of each topic.
    place (tuple[float, float]): Where it stands.
    """

    name: str
    treebank: str
    language: str
    original_language: str
    topic: int
    shares: tuple[float, ...]
    place: tuple[float, float]


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
        """RETURNS (dict[str, tuple[float, ...]]): For each treebank the mean share of each
        topic."""
        collected: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for document in self.documents:
            collected[document.treebank].append(document.shares)
        return {
            name: tuple(np.mean(collected[name], axis=0).tolist()) for name in sorted(collected)
        }


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
    RAISES (RstError): If there are too few documents or words, or scikit-learn is not installed.
    """
    for name, value, minimum in (
        ("n_topics", n_topics, 2),
        ("n_keywords", n_keywords, 1),
        ("max_features", max_features, 1),
    ):
        if value < minimum:
            raise RstError(Errors.R720.format(name=name, value=value, minimum=minimum))
    try:
        import sklearn  # noqa: F401  (asked for before the work begins)
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise RstError(Errors.R715.format(library="scikit-learn")) from error
    described = [(_description(doc), list(topic_words(doc))) for doc in docs]
    described = [(description, words) for description, words in described if words]
    if len(described) < n_topics:
        raise RstError(Errors.R718.format(n_topics=n_topics, n_docs=len(described)))
    vocabulary = _choose_vocabulary([words for _, words in described], max_features)
    counts = _count_matrix([words for _, words in described], vocabulary)
    # Sums in several threads come out in another order each time.
    with threadpool_limits(1):
        shares, word_weights = _fit_topics(counts, n_topics, seed)
        places = _lay_out(counts, shares, seed)
    main = shares.argmax(axis=1)
    order = sorted(range(n_topics), key=lambda topic: (-int((main == topic).sum()), topic))
    keywords = _keywords(word_weights, counts, vocabulary, n_keywords)
    topics = tuple(
        Topic(
            number=number,
            keywords=keywords[topic],
            n_documents=int((main == topic).sum()),
            place=_middle(places[main == topic]),
        )
        for number, topic in enumerate(order, start=1)
    )
    documents = tuple(
        TopicDocument(
            *description,
            topic=order.index(int(main[row])) + 1,
            shares=tuple(shares[row, order].tolist()),
            place=(float(places[row, 0]), float(places[row, 1])),
        )
        for row, (description, _) in enumerate(described)
    )
    return TopicMap(topics, documents, len(vocabulary))


def topic_words(doc: Doc) -> Iterator[str]:
    """List the words of a document that can tell what it is about: no stop words of its language,
    no numbers, no punctuation, none of one or two letters. Of Chinese and Japanese, the tokens of
    two to four characters; where the text is not divided into such words, pairs of characters.

    doc (Doc): The Doc.
    YIELDS (str): The words in lower case.
    """
    stop_words = _stop_words(str(document_fact(doc, LANGUAGE_KEY) or ""))
    tokens = [token.text.casefold() for token in doc]
    for word in _with_pairs_of_characters(tokens):
        if word not in stop_words and (_is_unspaced_word(word) or _is_word(word)):
            yield word


def _with_pairs_of_characters(tokens: Sequence[str]) -> Iterator[str]:
    """Put the pairs of neighbouring characters in the place of Chinese and Japanese tokens that
    are clauses or, where most tokens are, single characters."""
    unspaced = [token for token in tokens if _is_unspaced(token)]
    n_words = sum(map(_is_unspaced_word, unspaced))
    is_divided = n_words > len(unspaced) / MAX_UNSPACED_WORD
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
        words: Iterable[str] = get_lang_class(language).Defaults.stop_words
    except ImportError:
        return frozenset()
    return frozenset(word.casefold() for word in words)


def _description(doc: Doc) -> tuple[str, str, str, str]:
    name, treebank, language = (
        str(document_fact(doc, key) or "") for key in (NAME_KEY, TREEBANK_KEY, LANGUAGE_KEY)
    )
    return name, treebank, language, original_language(doc) or ""


def _choose_vocabulary(documents: Sequence[Sequence[str]], max_features: int) -> list[str]:
    n_documents = Counter(word for words in documents for word in set(words))
    frequencies = Counter(word for words in documents for word in words)
    if len(documents) >= MIN_DOCS_TO_FILTER:
        least = max(2.0, MIN_SHARE_OF_DOCS * len(documents))
        most = MAX_SHARE_OF_DOCS * len(documents)
        kept = [word for word, number in n_documents.items() if least <= number <= most]
    else:
        kept = list(n_documents)
    if not kept:
        raise RstError(Errors.R719.format(n_words=len(n_documents)))
    return sorted(sorted(kept, key=lambda word: (-frequencies[word], word))[:max_features])


def _count_matrix(documents: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Any:
    """Count the words of documents. Counts are damped: otherwise a few long documents that repeat
    their own words are topics by themselves."""
    from scipy.sparse import csr_matrix

    columns = {word: column for column, word in enumerate(vocabulary)}
    rows, places, values = [], [], []
    for row, words in enumerate(documents):
        for word, count in sorted(Counter(words).items()):
            if word in columns:
                rows.append(row)
                places.append(columns[word])
                values.append(1 + math.log(count))
    shape = (len(documents), len(vocabulary))
    return csr_matrix((values, (rows, places)), shape=shape, dtype=np.float64)


def _fit_topics(counts: Any, n_topics: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the share of each topic in each document, and of each word in each topic."""
    from sklearn.decomposition import LatentDirichletAllocation

    fitted = [
        LatentDirichletAllocation(n_topics, max_iter=LDA_ROUNDS, random_state=start).fit(counts)
        for start in range(seed * LDA_STARTS, (seed + 1) * LDA_STARTS)
    ]
    best = min(fitted, key=lambda lda: lda.bound_)
    weights = best.components_ / best.components_.sum(axis=1, keepdims=True)
    return best.transform(counts), weights


def _lay_out(counts: Any, shares: np.ndarray, seed: int) -> np.ndarray:
    """Find a place for each document by its topics and its words: by its few topics alone, t-SNE
    would string the documents on threads from one topic to the next."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import normalize

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


def _middle(places: np.ndarray) -> tuple[float, float] | None:
    if not len(places):
        return None
    x, y = np.median(places, axis=0)
    return float(x), float(y)
