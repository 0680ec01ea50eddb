from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_rst.syntax.component import score_syntax

NLP = spacy.blank("xx")
WORDS = ["Ann", "saw", "the", "sea", "."]
PLAIN = Doc(NLP.vocab, words=WORDS)
GOLD = {
    "heads": [1, 1, 3, 1, 1],
    "deps": ["nsubj", "ROOT", "det", "obj", "punct"],
    "pos": ["PROPN", "VERB", "DET", "NOUN", "PUNCT"],
}


def make_doc(**changes):
    """A parsed Doc, in which some tokens, by their numbers, are other than in the gold one."""
    columns = {name: list(column) for name, column in GOLD.items()}
    for name, others in changes.items():
        for number, value in others.items():
            columns[name][number] = value
    return Doc(NLP.vocab, words=WORDS, **columns)


def score(*predictions, gold=None):
    return score_syntax([Example(predicted, gold or make_doc()) for predicted in predictions])


@pytest.mark.parametrize(
    ("changes", "tags", "heads", "labels"),
    [
        ({}, 1.0, 1.0, 1.0),
        ({"pos": {0: "NOUN"}}, 4 / 5, 1.0, 1.0),
        ({"heads": {2: 1}}, 1.0, 3 / 4, 3 / 4),
        ({"deps": {3: "nsubj"}}, 1.0, 1.0, 3 / 4),
        ({"heads": {4: 3}}, 1.0, 1.0, 1.0),  # punctuation does not count
    ],
)
def test_tags_heads_and_labels_are_counted(changes, tags, heads, labels):
    scores = score(make_doc(**changes))
    assert scores == pytest.approx({"pos_acc": tags, "dep_uas": heads, "dep_las": labels})


def test_tokens_are_pooled_over_the_documents_with_syntax():
    wrong = make_doc(pos={0: "NOUN"})
    assert score(make_doc(), wrong)["pos_acc"] == pytest.approx(9 / 10)
    assert score(wrong, PLAIN) == score(wrong)
    assert score(make_doc(), gold=PLAIN) == {}
    assert score(PLAIN) == {}
    assert score_syntax([]) == {}
