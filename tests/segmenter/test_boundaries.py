from __future__ import annotations

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_rst.doc import get_edus, set_edus
from spacy_rst.segmenter.boundaries import edus_from_starts, read_layout
from spacy_rst.segmenter.features import TOKEN_FEATURES, token_features

NLP = spacy.blank("xx")


def marked(doc, marks):
    return [doc[int(i)].text for i in np.flatnonzero(marks)]


def segmented(doc, starts):
    layout = read_layout(doc)
    return [edu.text for edu in edus_from_starts(doc, starts, layout.is_space)]


@pytest.mark.parametrize(
    "gap, is_paragraph, is_line",
    [
        (" ", False, False),
        ("   ", False, False),
        ("\n", False, True),
        ("\n\n", True, True),
        (" \n \t\n  ", True, True),
        ("\r\n\r\n", True, True),
        ("\n\n\n\n", True, True),
        ("\u2029", True, False),
    ],
)
def test_paragraphs_begin_after_blank_lines(gap, is_paragraph, is_line):
    doc = NLP(f"one two{gap}three four")
    layout = read_layout(doc)
    assert marked(doc, layout.paragraphs) == ["three"] * is_paragraph
    assert marked(doc, layout.lines) == ["three"] * is_line


def test_a_blank_line_may_be_spread_over_several_tokens():
    doc = Doc(NLP.vocab, words=["one", "\n", " ", "\n", "two"], spaces=[False] * 5)
    assert marked(doc, read_layout(doc).paragraphs) == ["two"]


def test_a_sentence_that_begins_with_white_space_is_marked_at_its_word():
    words, starts = ["One", ".", "\n", " ", "Two", "\n"], [1, 0, 1, 0, 0, 1]
    doc = Doc(NLP.vocab, words=words, sent_starts=[bool(start) for start in starts])
    layout = read_layout(doc)
    assert marked(doc, layout.sentences) == ["One", "Two"]
    assert marked(doc, layout.hard_starts()) == ["One", "Two"]
    assert marked(doc, layout.hard_starts(use_sentences=False)) == ["One"]


def test_the_first_word_is_a_start_even_behind_white_space():
    doc = NLP("\n\n  one two")
    assert marked(doc, read_layout(doc).hard_starts()) == ["one"]


def test_edus_are_trimmed_but_may_hold_white_space():
    doc = NLP(" one\ntwo \n\n three   four \n")
    starts = read_layout(doc).hard_starts()
    assert segmented(doc, starts) == ["one\ntwo", "three   four"]
    # A start at white space is none.
    assert segmented(doc, np.array([token.is_space for token in doc])) == [
        "one\ntwo \n\n three   four"
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_no_text_no_edus(text):
    doc = NLP(text)
    assert segmented(doc, np.ones(len(doc), dtype=bool)) == []
    assert not read_layout(doc).hard_starts().any()


@given(
    st.lists(
        st.sampled_from(["a", "Bé", ".", "，", "狗", "\n", "\n\n", " ", "\t", "🙂"]), max_size=30
    ),
    st.data(),
)
def test_any_choice_of_starts_gives_a_partition(words, data):
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    starts = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    layout = read_layout(doc)
    edus = edus_from_starts(doc, np.array(starts, dtype=bool), layout.is_space)
    set_edus(doc, edus)
    get_edus(doc)  # refuses what is not a partition
    assert all(not edu[0].is_space and not edu[-1].is_space for edu in edus)
    wanted = {token.i for token in doc if starts[token.i] and not token.is_space}
    assert wanted <= {edu.start for edu in edus}
    assert len(edus) <= len(wanted) + 1


def test_features_say_what_the_text_shows():
    words = ["«", "Well", ",", "\n", "yes", "」", "。", "\n\n", "No"]
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    doc[8].is_sent_start = True
    rows = token_features(doc, read_layout(doc))
    facts = [
        {name for name, value in zip(TOKEN_FEATURES, row, strict=True) if value} for row in rows
    ]
    assert facts == [
        {"opening", "starts_sentence"},
        {"upper_case", "after_opening"},
        {"comma"},
        {"is_space", "after_comma"},
        {"after_comma", "starts_line"},
        {"closing"},
        {"sentence_end", "after_closing"},
        {"is_space", "after_sentence_end"},
        {"upper_case", "after_sentence_end", "starts_line", "starts_paragraph", "starts_sentence"},
    ]


def test_an_empty_doc_has_no_features():
    doc = NLP("")
    assert token_features(doc, read_layout(doc)).shape == (0, len(TOKEN_FEATURES))
