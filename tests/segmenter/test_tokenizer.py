from __future__ import annotations

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.text(st.sampled_from("a狗，。か\u3099\ufe00 .\n(（３")))
def test_no_character_is_lost(text):
    assert NLP(text).text == text


def test_survives_a_reload(tmp_path):
    NLP.to_disk(tmp_path)
    assert len(spacy.load(tmp_path)("狗睡")) == 2
