"""Topics: which words count, and maps that are the same each time."""

from __future__ import annotations

import random

import pytest
import spacy
from spacy.tokens import Doc

from spacy_rst.doc import doc_from_edus
from spacy_rst.errors import RstError
from tests.sample import sample_docs

pytest.importorskip("sklearn", reason="topics need scikit-learn: pip install '.[analysis]'")

from spacy_rst.lab.topics import _topic_words, find_topics

SEA = "harbour ferry captain island sailor anchor wave tide fisherman lighthouse"
FOOD = "kitchen recipe oven flour butter bakery supper pepper garlic onion"
SUBJECTS = {"sea": SEA.split(), "food": FOOD.split()}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("xx")


def make_doc(nlp, text, language="en", treebank="made"):
    doc = Doc(nlp.vocab, words=text.split())
    doc.user_data.update(lang=language, treebank=treebank, name=text[:10])
    return doc


def two_subjects(nlp, n_docs=12):
    rng = random.Random(0)
    docs = []
    for number in range(n_docs):
        subject = ("sea", "food")[number % 2]
        text = " ".join(rng.choices(SUBJECTS[subject], k=40))
        docs.append(make_doc(nlp, text, treebank=subject))
    return docs


def test_words_of_a_language(nlp):
    doc = make_doc(nlp, "The Ferry is n't 3.5 late , it 's co-owned by me & you Straße")
    assert list(_topic_words(doc)) == ["ferry", "late", "co-owned", "strasse"]
    spanish = make_doc(nlp, "el barco pero también muy tarde", language="es")
    assert list(_topic_words(spanish)) == ["barco"]
    # Without a language nothing is known about stop words.
    unknown = make_doc(nlp, "the ferry", language="")
    assert list(_topic_words(unknown)) == ["the", "ferry"]
    persian = make_doc(nlp, "نظامی‌گنجوی است", language="fa")
    assert list(_topic_words(persian)) == ["نظامی‌گنجوی"]


def test_words_of_chinese(nlp):
    divided = make_doc(nlp, "人口 老龄化 的 进程 ， 3", language="zh")
    assert list(_topic_words(divided)) == ["人口", "老龄化", "进程"]
    # Characters alone, and clauses that nobody divided, give pairs of characters.
    characters = make_doc(nlp, "人 口 老 龄", language="zh")
    assert list(_topic_words(characters)) == ["人口", "口老", "老龄"]
    clause = make_doc(nlp, "人口老龄化 ， 进 程", language="zh")
    assert list(_topic_words(clause)) == ["人口", "口老", "老龄", "龄化", "进程"]
    # In a text of words, single characters are function words.
    mixed = make_doc(nlp, "人口 在 了 进程 人口老龄化", language="zh")
    assert list(_topic_words(mixed)) == ["人口", "进程", "人口", "口老", "老龄", "龄化"]


def test_subjects_are_found(nlp):
    found = find_topics(two_subjects(nlp), n_topics=2, n_keywords=5)
    assert found.n_words == 20 and found.languages == ("en",)
    by_treebank = {}
    for document in found.documents:
        by_treebank.setdefault(document.treebank, set()).add(document.topic)
        assert sum(document.shares) == pytest.approx(1)
        assert document.shares[document.topic - 1] == max(document.shares)
    assert sorted(map(sorted, by_treebank.values())) == [[1], [2]]
    for topic in found.topics:
        (subject,) = [name for name, numbers in by_treebank.items() if numbers == {topic.number}]
        assert len(topic.keywords) == 5 and set(topic.keywords) <= set(SUBJECTS[subject])
        assert topic.n_documents == 6 and topic.place is not None
    shares = found.shares_by_treebank()
    assert set(shares) == {"sea", "food"}
    assert shares["sea"][next(iter(by_treebank["sea"])) - 1] > 0.9


def test_the_seed_makes_maps_repeatable(nlp):
    docs = two_subjects(nlp)
    assert find_topics(docs, n_topics=2, seed=3) == find_topics(docs, n_topics=2, seed=3)


def test_the_largest_topic_is_the_first(nlp):
    docs = [doc for doc in two_subjects(nlp, 16) if doc.user_data["treebank"] == "sea"]
    docs += [doc for doc in two_subjects(nlp, 6) if doc.user_data["treebank"] == "food"]
    sizes = [topic.n_documents for topic in find_topics(docs, n_topics=2).topics]
    assert sizes == [8, 3]


def test_a_handful_of_documents(nlp):
    docs = sample_docs(nlp, ["en"])
    found = find_topics(docs, n_topics=2)
    assert len(found.documents) == len(docs)
    assert all(isinstance(number, float) for number in found.documents[0].place)
    two = find_topics(docs[:2], n_topics=2)
    assert len(two.documents) == 2


def test_documents_that_are_all_alike(nlp):
    docs = [make_doc(nlp, "ferry captain") for _ in range(4)]
    found = find_topics(docs, n_topics=2)
    assert all(place == place for document in found.documents for place in document.place)


def test_words_of_nearly_all_and_of_single_documents_are_left_out(nlp):
    docs = two_subjects(nlp, 40)
    docs = [make_doc(nlp, f"{doc.text} omnipresent only{chr(97 + n % 26) * 3}{'x' * (n // 26)}")
            for n, doc in enumerate(docs)]  # fmt: skip
    with pytest.raises(RstError, match=r"R719.*61 different"):
        find_topics(docs, n_topics=2)


def test_fewer_words(nlp):
    docs = two_subjects(nlp)
    assert find_topics(docs, n_topics=2, max_features=6).n_words == 6


def test_translated_documents_keep_their_origin(nlp):
    docs = two_subjects(nlp)
    docs[0].user_data["translated_from"] = {"language": "es"}
    found = find_topics(docs, n_topics=2)
    assert found.languages == ("en",)
    assert found.documents[0].original_language == "es"
    assert found.documents[1].original_language == "en"


def test_documents_without_words_are_left_out(nlp):
    docs = [*two_subjects(nlp), nlp.make_doc(""), nlp.make_doc("3 4 !")]
    assert len(find_topics(docs, n_topics=2).documents) == 12


def test_too_few_documents(nlp):
    with pytest.raises(RstError, match=r"R718.*5 topics.*there are 2"):
        find_topics(two_subjects(nlp, 2))
    with pytest.raises(RstError, match="R718"):
        find_topics([], n_topics=2)


def test_one_topic_is_no_map(nlp):
    with pytest.raises(ValueError, match="at least 2"):
        find_topics(two_subjects(nlp), n_topics=1)


def test_docs_of_the_package_serve_as_they_are(nlp):
    doc = doc_from_edus(nlp, ["The ferry left ,", "because the tide was high ."])
    assert list(_topic_words(doc)) == [
        "the",
        "ferry",
        "left",
        "because",
        "the",
        "tide",
        "was",
        "high",
    ]
