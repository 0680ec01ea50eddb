from __future__ import annotations

import pickle
import re

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.segmenter import tokenizer
from spacy_rst.segmenter.tokenizer import MAX_CHARACTERS, MAX_MARKS, cut_runs

CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "spacy_rst.Tokenizer.v1"}}}
NLP = spacy.blank("xx", config=CONFIG)
PLAIN = spacy.blank("xx")


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("狗睡，下雨。", ["狗", "睡", "，", "下", "雨", "。"]),
        ("用USB3.0线（新）", ["用", "USB3.0", "线", "（", "新", "）"]),
        ("犬は\n\nカメ", ["犬", "は", "\n\n", "カ", "メ"]),
        ("か\u3099葛\U000e0100は", ["か\u3099", "葛\U000e0100", "は"]),
        ("한국어는 띄어 쓴다.", ["한국어는", "띄어", "쓴다", "."]),
    ],
)
def test_splits_what_is_written_without_spaces(text, tokens):
    assert [token.text for token in NLP(text)] == tokens


@given(st.text(st.characters(max_codepoint=0x2DFF)))
def test_other_scripts_are_split_as_before(text):
    assert [token.text for token in NLP(text)] == [token.text for token in PLAIN(text)]


def test_survives_a_reload(tmp_path):
    NLP.to_disk(tmp_path)
    assert len(spacy.load(tmp_path)("狗睡")) == 2


ENDLESS = {
    "marks": "(" * 5000,
    "mixed marks": "\"'_" * 2000,
    "emoji": "😀" * 3000,
    "one word": "a" * 10_000,
    "times": "1:" * 3000,
    "Chinese": "狗在花园里睡觉，虽然下着雨。" * 1000,
}


@pytest.mark.parametrize("run", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("text", ["{}", "It rained. {} Then\n\n{}  it stopped.", " {}\n"])
def test_spacy_is_never_given_an_endless_run(text, run):
    text = text.format(run, run)
    parts = cut_runs(text)
    assert "".join(parts) == text
    for part in parts:
        assert max(map(len, part.split())) <= MAX_CHARACTERS
        marks = "".join("x" if character.isalnum() else character for character in part)
        assert max(len(found) for found in re.split(r"[x\s]", marks)) <= 2 * MAX_MARKS
    doc = NLP(text)
    assert doc.text == text
    assert [token.text for token in doc if token.is_space] == [
        token.text for token in NLP(text.replace(run, "word")) if token.is_space
    ]


@given(
    st.text(st.sampled_from('ab狗，か\u3099\ufe00(" \n'), max_size=900),
    st.integers(1, 5),
    st.integers(1, 9),
)
def test_cut_texts_keep_their_characters(text, max_marks, max_characters):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "MAX_CHARACTERS", max_characters)
        patch.setattr(tokenizer, "LONG_RUN", re.compile(rf"(?<!\S)\S{{{max_marks + 1},}}"))
        patch.setattr(tokenizer, "MANY_MARKS", re.compile(rf"(?:[^\w\s]|_){{{max_marks}}}"))
        parts = cut_runs(text)
        assert "".join(parts) == text
        # A part that began with a space would make that a token.
        assert not any(part[:1].isspace() for part in parts[1:])
        assert NLP(text).text == text


def test_usual_texts_are_not_cut():
    usual = f"https://example.org/{'path/' * 300}?q=1 (see {'.' * 90}) {'狗' * 1900}"
    assert cut_runs(usual) == [usual]
    assert cut_runs("") == [""]


def test_long_chinese_has_the_tokens_of_short_chinese():
    clause = "狗在花园里睡觉，虽然下着雨。"
    assert [token.text for token in NLP(clause * 1000)] == [*clause] * 1000


def test_can_be_pickled():
    loaded = pickle.loads(pickle.dumps(NLP.tokenizer))
    assert [token.text for token in loaded("狗睡 " + "(" * 300)] == ["狗", "睡", *"(" * 300]
