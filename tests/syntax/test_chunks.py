from __future__ import annotations

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from spacy_rst.syntax.chunks import cut_at_ends, cut_doc
from spacy_rst.syntax.gold import local_targets, read_gold_syntax


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(2, 20))
def test_chunks_cover_the_text_and_are_no_longer_than_allowed(ends, size):
    lengths = cut_at_ends(np.array(ends), size)
    assert sum(lengths) == len(ends) and max(lengths) <= size and min(lengths) > 0


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("One two. Three four. Five six.", [6, 3]),
        ("One two three four five six seven eight nine.", [7, 3]),
        ("“One two.” Three four five six. Seven.", [5, 7]),
        ("One two three\n\nFour five six seven.", [4, 5]),
        ("", []),
    ],
)
def test_chunks_end_with_sentences(text, sizes):
    assert cut_doc(spacy.blank("xx")(text), 7) == sizes


def test_targets_count_heads_within_the_chunk():
    nlp = spacy.blank("xx")
    words = ["a", "b", "c", "d"]
    gold = Doc(
        nlp.vocab, words=words, heads=[1, 1, 0, 1], deps=["x", "ROOT", "y", "z"], pos=["X"] * 4
    )
    syntax = read_gold_syntax(Example(Doc(nlp.vocab, words=words), gold))
    targets = local_targets(syntax, [2, 2], {"X": 0}, {"x": 0, "ROOT": 1, "y": 2}, -100)
    assert targets.tolist() == [[0, 0, 0, 0], [1, -1, -100, -100], [0, 1, 2, -100]]


def test_gold_of_other_tokens_is_aligned():
    nlp = spacy.blank("xx")
    gold = Doc(
        nlp.vocab,
        words=["New", "York", "is", "large"],
        heads=[1, 3, 3, 3],
        deps=["flat", "nsubj", "cop", "ROOT"],
        pos=["PROPN", "PROPN", "AUX", "ADJ"],
    )
    predicted = Doc(nlp.vocab, words=["New", "York", "is", "lar", "ge"], spaces=[1, 1, 1, 0, 1])
    syntax = read_gold_syntax(Example(predicted, gold))
    assert syntax.heads[0] == 1 and syntax.labels[0] == "flat" and syntax.tags[2] == "AUX"
    assert len(syntax.heads) == 5
    assert read_gold_syntax(Example(predicted, nlp(gold.text))) is None
