from __future__ import annotations

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_rst.doc import get_edus, set_edus
from spacy_rst.doc_layout import doc_from_layout, set_layout
from spacy_rst.layout import Block, read_markdown
from spacy_rst.pipe import read_layouts
from spacy_rst.segmenter.boundaries import edus_from_starts, read_borders
from spacy_rst.segmenter.features import (
    LAYOUT_FEATURES,
    MARK_FEATURES,
    N_FEATURES,
    describe_tokens,
)

NLP = spacy.blank("xx")


def borders_of(doc):
    read_layouts([doc])
    return read_borders(doc)


def marked(doc, marks):
    return [doc[int(i)].text for i in np.flatnonzero(marks)]


def segmented(doc, starts):
    return [edu.text for edu in edus_from_starts(doc, starts, borders_of(doc))]


def hard_starts(doc):
    return borders_of(doc).choose_starts(np.zeros(len(doc), dtype=bool))


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
    borders = borders_of(doc)
    assert marked(doc, borders.blocks) == ["one", "three"] * is_paragraph
    assert marked(doc, borders.lines) == ["three"] * is_line


def test_a_blank_line_may_be_spread_over_several_tokens():
    doc = Doc(NLP.vocab, words=["one", "\n", " ", "\n", "two"], spaces=[False] * 5)
    assert marked(doc, borders_of(doc).blocks) == ["one", "two"]


def test_a_sentence_that_begins_with_white_space_is_marked_at_its_word():
    words, starts = ["One", ".", "\n", " ", "Two", "\n"], [1, 0, 1, 0, 0, 1]
    doc = Doc(NLP.vocab, words=words, sent_starts=[bool(start) for start in starts])
    set_layout(doc, None)
    borders = read_borders(doc)
    assert marked(doc, borders.sentences) == ["One", "Two"]
    nothing = np.zeros(len(doc), dtype=bool)
    assert marked(doc, borders.choose_starts(nothing)) == ["One", "Two"]
    assert marked(doc, borders.choose_starts(nothing, use_sentences=False)) == ["One"]


def test_edus_are_trimmed_but_may_hold_white_space():
    doc = NLP(" one\ntwo \n\n three   four \n")
    starts = hard_starts(doc)
    assert segmented(doc, starts) == ["one\ntwo", "three   four"]
    # A start at white space is none.
    assert segmented(doc, np.array([token.is_space for token in doc])) == [
        "one\ntwo \n\n three   four"
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_no_text_no_edus(text):
    doc = NLP(text)
    assert segmented(doc, np.ones(len(doc), dtype=bool)) == []
    assert not hard_starts(doc).any()
    assert describe_tokens(doc, borders_of(doc)).shape == (len(doc), N_FEATURES)


@given(
    st.lists(
        st.sampled_from(["a", "Bé", ".", "，", "狗", "\n", "\n\n", " ", "\t", "🙂"]), max_size=30
    ),
    st.data(),
)
def test_any_choice_of_starts_gives_a_partition(words, data):
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    starts = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    borders = borders_of(doc)
    edus = edus_from_starts(doc, np.array(starts, dtype=bool), borders)
    set_edus(doc, edus)
    get_edus(doc)  # refuses what is not a partition
    assert all(not edu[0].is_space and not edu[-1].is_space for edu in edus)
    wanted = {token.i for token in doc if starts[token.i] and token.text[0].isalnum()}
    if any(map(str.isalnum, doc.text)):
        assert all(any(map(str.isalnum, edu.text)) for edu in edus)
        assert len(edus) <= len(wanted | {token.i for token in doc if starts[token.i]}) + 1
    else:
        assert len(edus) <= 1
    assert len(edus) >= len(wanted)


@pytest.mark.parametrize(
    "edus",
    [
        ["„Uns fehlt das Geld.“"],
        ["„Uns fehlt das Geld.“", "Dann ging er."],
        ["»Nein!«", "rief er.", "»Ja!«"],
        ["(Yes.)", "“No.”", "Well ..."],
        ["“Yes”"],
        ["!? ... -- „“"],
    ],
)
def test_no_edu_is_without_letters_and_none_begins_with_what_closes(edus):
    doc = NLP(" ".join(edus))
    starts = {edu[0] for edu in edus} | set("“”«)")
    likely = np.array([token.text[0] in starts or token.text == "--" for token in doc])
    assert segmented(doc, likely) == edus


def test_marks_go_to_the_block_they_stand_in():
    doc = NLP("One two\n\n- ( three\n\n* * *\n\nfour !\n\n***")
    blocks = [Block(0, 7, "paragraph"), Block(9, 18, "item"), Block(20, 25, "paragraph"),
              Block(27, 33, "paragraph"), Block(35, 38, "paragraph")]  # fmt: skip
    set_layout(doc, blocks)
    every_word = np.ones(len(doc), dtype=bool)
    found = segmented(doc, every_word)
    assert found == ["One", "two", "- ( three\n\n* * *", "four !\n\n***"]


@pytest.mark.parametrize(
    "sentences",
    [
        ["आज बारिश हुई।", "हम घर पर रहे।", "क्यों?", "पता नहीं।"],
        ["آج بارش ہوئی۔", "ہم گھر پر رہے۔"],
        ["هل تمطر؟", "نعم.", "بقينا في البيت!"],
        ["«باران می‌بارد؟»", "ما در خانه ماندیم."],
        ["วันนี้ฝนตก", "เราอยู่บ้าน", "พวกเขา ๆ เล่น 3 คน"],
        ["今日は雨でした。", "「そうですか？」", "家にいました｡", "はい！"],
        ["下雨了。", "“好。”", "我们在家！"],
    ],
)
def test_sentence_ends_of_other_scripts_count(sentences):
    japanese = any("\u3000" <= character <= "\uff9f" for character in sentences[0])
    nlp = spacy.blank(
        "xx", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_rst.Tokenizer.v1"}}}
    )
    doc = nlp(("" if japanese else " ").join(sentences))
    assert segmented(doc, hard_starts(doc)) == sentences
    nothing = np.zeros(len(doc), dtype=bool)
    assert len(segmented(doc, read_borders(doc).choose_starts(nothing, False))) == 1


@pytest.mark.parametrize("text", ["Dr. No. 3 lives!! Here? Yes.", "د. أحمد", "3.5 و 4.5", ""])
def test_marks_that_leave_doubts_are_left_to_the_model(text):
    doc = NLP(text)
    assert len(segmented(doc, hard_starts(doc))) == bool(text)


def names_of(doc, columns):
    """The names of the columns in which each token has something."""
    rows = describe_tokens(doc, borders_of(doc))
    all_names = [f"mark {name}" for name in MARK_FEATURES]
    all_names += [f"layout {name}" for name in LAYOUT_FEATURES]
    names = [{all_names[i] for i in row.nonzero()[0]} for row in rows]
    return [{name.split()[1] for name in own if name.startswith(columns)} for own in names]


def test_features_say_what_the_text_shows():
    words = ["«", "Well", ",", "\n", "yes", "」", "。", "\n\n", "No"]
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    doc[8].is_sent_start = True
    assert names_of(doc, "mark") == [
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


MARKDOWN = """# A title. With two sentences

We wrote it, because we could.

- one thing
- another thing

| a. | b. |
|----|----|
| c. | d. |

```
first_line()
second_line()
```
"""


def test_blocks_are_divided_and_headings_rows_and_code_are_not():
    doc = doc_from_layout(NLP, read_markdown(MARKDOWN))
    for token in doc:
        token.is_sent_start = doc[token.i - 1].text == "." if token.i else True
    likely = np.ones(len(doc), dtype=bool)
    everywhere = segmented(doc, read_borders(doc).choose_starts(likely))
    assert everywhere[0] == "A title. With two sentences"
    assert everywhere[1:8] == ["We", "wrote", "it,", "because", "we", "could.", "one"]
    assert everywhere[8:] == [
        "thing", "another", "thing", "a.\tb.", "c.\td.", "first_line()\nsecond_line()",
    ]  # fmt: skip
    assert segmented(doc, hard_starts(doc)) == [
        "A title. With two sentences",
        "We wrote it, because we could.",
        "one thing",
        "another thing",
        *everywhere[-3:],
    ]


def test_a_layout_of_ones_own_comes_before_that_of_the_text():
    doc = NLP("one two\n\nthree four")
    set_layout(doc, [Block(0, 3, "paragraph"), Block(4, 19, "code")])
    assert segmented(doc, hard_starts(doc)) == ["one", "two\n\nthree four"]
    doc = NLP("one two\n\nthree four")
    set_layout(doc, None)
    assert segmented(doc, hard_starts(doc)) == ["one two\n\nthree four"]


def test_layout_features_say_which_block_a_token_stands_in():
    doc = NLP("  One\nTwo words\nThree")
    blocks = [Block(2, 5, "heading", 1), Block(6, 15, "turn", speaker="A")]
    set_layout(doc, [*blocks, Block(16, 21, "turn", speaker="A", continues=True)])
    facts = zip(doc, names_of(doc, "layout"), strict=True)
    assert {token.text: names for token, names in facts if not token.is_space} == {
        "One": {"in_heading", "starts_heading"},
        "Two": {"in_turn", "starts_turn", "has_new_speaker"},
        "words": {"in_turn"},
        "Three": {"in_turn", "starts_turn"},
    }


def test_a_text_without_any_break_has_an_unknown_layout():
    doc = NLP("One two. Three four.")
    assert names_of(doc, "layout") == [{"layout_is_unknown"}] * len(doc)
