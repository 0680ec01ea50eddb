"""Topics: which words count, and maps that are the same each time."""

from __future__ import annotations

import random

import pytest
import spacy
from spacy.tokens import Doc

from tests.sample import sample_docs, write_corpus
from tests.scripts import invoke, script_app

for library in ("matplotlib", "sklearn"):
    pytest.importorskip(library, reason=f"topics need {library}: pip install '.[analysis]'")

from topics import find_topics, topic_words  # noqa: E402

SEA = "harbour ferry captain island sailor anchor wave tide fisherman lighthouse"
FOOD = "kitchen recipe oven flour butter bakery supper pepper garlic onion"
SUBJECTS = {"sea": SEA.split(), "food": FOOD.split()}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("xx")


def make_doc(nlp, text, language="en", treebank="made"):
    doc = Doc(nlp.vocab, words=text.split())
    doc.user_data.update(rst_lang=language, rst_treebank=treebank, rst_name=text[:10])
    return doc


def two_subjects(nlp, n_docs=12):
    rng = random.Random(0)
    subjects = [("sea", "food")[number % 2] for number in range(n_docs)]
    return [
        make_doc(nlp, " ".join(rng.choices(SUBJECTS[subject], k=40)), treebank=subject)
        for subject in subjects
    ]


@pytest.mark.parametrize(
    "language, text, words",
    [
        ("en", "The Ferry is n't 3.5 late , it 's co-owned by me & you", "ferry late co-owned"),
        ("de", "Die Straße", "strasse"),
        ("es", "el barco pero también muy tarde", "barco"),
        ("", "the ferry", "the ferry"),  # nothing is known about stop words
    ],
)
def test_words_of_a_language(nlp, language, text, words):
    assert topic_words(make_doc(nlp, text, language=language)) == words.split()


def test_subjects_are_found(nlp):
    found = find_topics(two_subjects(nlp), n_topics=2)
    by_treebank = {}
    for document in found.documents:
        by_treebank.setdefault(document.treebank, set()).add(document.topic)
        assert sum(document.shares) == pytest.approx(1)
        assert document.shares[document.topic - 1] == max(document.shares)
    assert sorted(map(sorted, by_treebank.values())) == [[1], [2]]
    for topic in found.topics:
        (subject,) = [name for name, numbers in by_treebank.items() if numbers == {topic.number}]
        assert set(topic.keywords) == set(SUBJECTS[subject])
        assert topic.n_documents == 6 and topic.place is not None


def test_the_seed_makes_maps_repeatable(nlp):
    docs = two_subjects(nlp)
    assert find_topics(docs, n_topics=2, seed=3) == find_topics(docs, n_topics=2, seed=3)


def test_the_largest_topic_is_the_first(nlp):
    docs = [doc for doc in two_subjects(nlp, 16) if doc.user_data["rst_treebank"] == "sea"]
    docs += [doc for doc in two_subjects(nlp, 6) if doc.user_data["rst_treebank"] == "food"]
    sizes = [topic.n_documents for topic in find_topics(docs, n_topics=2).topics]
    assert sizes == [8, 3]


def test_words_of_nearly_all_and_of_single_documents_are_left_out(nlp):
    words = [f"only{chr(97 + n % 26) * 3}{'x' * (n // 26)}" for n in range(40)]
    docs = [
        make_doc(nlp, f"{doc.text} omnipresent {word}")
        for doc, word in zip(two_subjects(nlp, 40), words, strict=True)
    ]
    # The subjects' words stand in half of the documents each, so that nothing is left.
    with pytest.raises(ValueError, match="no terms remain"):
        find_topics(docs, n_topics=2)


def test_documents_without_words_are_left_out_and_few_are_refused(nlp):
    docs = [*two_subjects(nlp), nlp.make_doc(""), nlp.make_doc("3 4 !")]
    assert len(find_topics(docs, n_topics=2).documents) == 12
    with pytest.raises(SystemExit, match="5 topics need as many documents, not 2"):
        find_topics(two_subjects(nlp, 2))


def test_the_map_is_drawn_with_its_numbers(nlp, tmp_path):
    corpus = write_corpus(tmp_path / "docs.spacy", sample_docs(nlp, ["en", "eu"]))
    output = tmp_path / "map"
    result = invoke(script_app("topics"), corpus, "--output", output, "--topics", 2)
    assert "languages apart rather than subjects: en, eu" in result.output.replace("\n", " ")
    names = {"topics.png", "topics.svg", "topics.tsv", "documents.tsv"}
    assert {path.name for path in output.iterdir()} == names
    header, *lines = (output / "documents.tsv").read_text("utf8").splitlines()
    assert header.split("\t")[-1] == "topic_2" and len(lines) == len(sample_docs(nlp, ["en", "eu"]))
    assert "Topic 1" in result.output
