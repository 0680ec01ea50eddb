from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_rst.doc import set_edus
from spacy_rst.errors import RstError
from spacy_rst.gold import number_syntax, read_gold_starts, read_gold_syntax

NLP = spacy.blank("xx")


def gold_doc(words, spaces, borders):
    doc = Doc(NLP.vocab, words=words, spaces=spaces)
    set_edus(doc, [doc[start:end] for start, end in borders])
    return doc


def starts_of(predicted, reference):
    gold = read_gold_starts(Example(predicted, reference))
    return [token.text for token in predicted if gold.starts[token.i]], gold


def test_starts_are_found_by_characters():
    reference = gold_doc(["Do", "n't", "go", ",", "stay"], [False, True, False, True, False],
                         [(0, 4), (4, 5)])  # fmt: skip
    predicted = Doc(
        NLP.vocab, words=["Don't", "go,", "st", "ay"], spaces=[True, True, False, False]
    )
    words, gold = starts_of(predicted, reference)
    assert words == ["Don't", "st"]
    assert (gold.n_edus, gold.n_misaligned) == (2, 0)


def test_a_start_inside_a_token_becomes_that_token_and_is_counted():
    reference = gold_doc(list("我来，他去。"), [False] * 6, [(0, 3), (3, 6)])
    predicted = Doc(NLP.vocab, words=["我来", "，他", "去。"], spaces=[False] * 3)
    words, gold = starts_of(predicted, reference)
    assert words == ["我来", "，他"]
    assert (gold.n_edus, gold.n_misaligned) == (2, 1)


def test_white_space_around_gold_edus_does_not_matter():
    words, spaces = ["\n", "one", "\n\n", "two"], [False] * 4
    reference = gold_doc(words, spaces, [(0, 2), (2, 4)])
    found, gold = starts_of(Doc(NLP.vocab, words=words, spaces=spaces), reference)
    assert found == ["one", "two"]
    assert gold.n_misaligned == 0


def test_no_edus_is_missing_annotation():
    doc = NLP("one two")
    assert read_gold_starts(Example(NLP("one two"), doc)) is None
    set_edus(doc, [])
    assert read_gold_starts(Example(NLP("one two"), doc)) is None


def test_another_text_is_refused_with_the_documents_name():
    reference = gold_doc(["one", "two"], [True, False], [(0, 2)])
    reference.user_data["rst_source"] = "file.rs3"
    with pytest.raises(RstError, match=r"R201.*file\.rs3.*character 4.*'four' instead of 'two'"):
        read_gold_starts(Example(NLP("one four"), reference))


def test_gold_edus_that_do_not_cover_the_text_are_refused():
    reference = gold_doc(["one", "two", "three"], [True, True, False], [(0, 1), (2, 3)])
    reference.user_data["rst_name"] = "gappy"
    with pytest.raises(RstError, match=r"R203.*gappy.*'two'"):
        read_gold_starts(Example(NLP("one two three"), reference))


# Syntax


def test_targets_count_heads_within_the_chunk():
    words = ["a", "b", "c", "d"]
    gold = Doc(
        NLP.vocab, words=words, heads=[1, 1, 0, 1], deps=["x", "ROOT", "y", "z"], pos=["X"] * 4
    )
    syntax = read_gold_syntax(Example(Doc(NLP.vocab, words=words), gold))
    targets = number_syntax(syntax, [2, 2], {"X": 0}, {"x": 0, "ROOT": 1, "y": 2}, -100)
    assert targets.tolist() == [[0, 0, 0, 0], [1, -1, -100, -100], [0, 1, 2, -100]]
    later = number_syntax(syntax, [2], {"X": 0}, {"x": 0, "ROOT": 1, "y": 2}, -100, first=1)
    assert later.tolist() == [[0, 0], [-1, -100], [1, 2]]


def test_gold_of_other_tokens_is_aligned():
    gold = Doc(
        NLP.vocab,
        words=["New", "York", "is", "large"],
        heads=[1, 3, 3, 3],
        deps=["flat", "nsubj", "cop", "ROOT"],
        pos=["PROPN", "PROPN", "AUX", "ADJ"],
    )
    predicted = Doc(NLP.vocab, words=["New", "York", "is", "lar", "ge"], spaces=[1, 1, 1, 0, 1])
    syntax = read_gold_syntax(Example(predicted, gold))
    assert syntax.heads[0] == 1 and syntax.labels[0] == "flat" and syntax.tags[2] == "AUX"
    assert len(syntax.heads) == 5
    assert read_gold_syntax(Example(predicted, NLP(gold.text))) is None
