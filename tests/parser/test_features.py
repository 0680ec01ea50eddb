from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc

from spacy_rst.doc import doc_from_edus, get_edus
from spacy_rst.parser.features import EDU_FEATURES, edu_features


def features_of(doc: Doc) -> list[set[str]]:
    """The names of the facts that hold for each EDU."""
    rows = edu_features(doc, get_edus(doc))
    return [{EDU_FEATURES[i] for i in row.nonzero()[0]} for row in rows]


def from_edus(*edus, **options):
    return features_of(doc_from_edus(spacy.blank("xx"), edus, **options))


def test_describes_each_edu():
    assert from_edus("Well,", "he said:", "'It rains.'", "(He stayed", "at home.)") == [
        {"ends_with_comma", "is_first"},
        {"ends_with_colon", "upper_case_follows"},
        {"ends_sentence", "upper_case_follows"},
        set(),
        {"ends_sentence", "is_last"},
    ]


@pytest.mark.parametrize(
    "edu",
    ["Gut!", "¿Qué?", "等等…", "下雨了。", "下雨了。”", "باران؟", "بارش ہے۔", "वर्षा है।"],
)
def test_knows_the_sentence_ends_of_many_scripts(edu):
    assert "ends_sentence" in from_edus(edu)[0]


@pytest.mark.parametrize("edu", ["雨，", "雨、", "باران،"])
def test_knows_the_commas_of_many_scripts(edu):
    assert "ends_with_comma" in from_edus(edu)[0]


@pytest.mark.parametrize("edu", ["雨；", "雨：", "باران؛", "rain;"])
def test_knows_the_colons_of_many_scripts(edu):
    assert "ends_with_colon" in from_edus(edu)[0]


def test_sees_upper_case_behind_quotes_and_in_other_scripts():
    assert "upper_case_follows" in from_edus("a", "«Über")[0]
    assert "upper_case_follows" in from_edus("a", "Собака")[0]
    assert "upper_case_follows" not in from_edus("a", "狗")[0]


@pytest.mark.parametrize("place", ["between", "inside the first", "inside the second"])
def test_sees_a_blank_line_wherever_its_token_belongs(place):
    doc = Doc(
        spacy.blank("xx").vocab,
        words=["One", ".", "\n \n", "Two", "\n", "three"],
        spaces=[False] * 6,
    )
    borders = {"between": [(0, 2), (3, 5), (5, 6)], "inside the first": [(0, 3), (3, 5), (5, 6)],
               "inside the second": [(0, 2), (2, 5), (5, 6)]}  # fmt: skip
    doc.spans["edus"] = [doc[start:end] for start, end in borders[place]]
    found = [i for i, names in enumerate(features_of(doc)) if "paragraph_precedes" in names]
    assert found == [1]


def test_sees_paragraphs_of_doc_from_edus():
    described = from_edus("One.", "Two.", "Three.", paragraph_starts=[2])
    assert ["paragraph_precedes" in names for names in described] == [False, False, True]


def test_uses_sentence_starts_where_there_are_any():
    doc = doc_from_edus(spacy.blank("xx"), ["One two", "three .", "Four ."])
    assert not any("starts_sentence" in names for names in features_of(doc))
    for token in doc:
        token.is_sent_start = token.i in (0, 4)
    assert ["starts_sentence" in names for names in features_of(doc)] == [True, False, True]


def test_an_edu_of_white_space_or_quotes_alone_breaks_nothing():
    assert from_edus("a", '"', "b")[1] == set()
    doc = Doc(spacy.blank("xx").vocab, words=["a", "\n\n", "b"], spaces=[False] * 3)
    doc.spans["edus"] = [doc[0:1], doc[1:2], doc[2:3]]
    assert edu_features(doc, get_edus(doc)).shape == (3, len(EDU_FEATURES))


def test_a_doc_without_edus_has_no_rows():
    assert edu_features(Doc(spacy.blank("xx").vocab), []).shape == (0, len(EDU_FEATURES))
