from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_rst.doc import doc_from_edus, get_edus, get_tree, set_edus, set_tree
from spacy_rst.doc_layout import LAYOUT_KEY, doc_from_layout, set_layout
from spacy_rst.layout import Block, read_markdown
from spacy_rst.parser.features import (
    BOUNDARY_KINDS,
    LAYOUT_FEATURES,
    MARK_FEATURES,
    describe_edus,
)
from spacy_rst.parser.spans import CODES_OF_A_KIND, Boundaries
from spacy_rst.pipe import read_layouts
from spacy_rst.tree import RstTree
from spacy_rst.treebank.corpus import make_example
from tests.parser.pipelines import own_encoder_pipeline, train

NLP = spacy.blank("xx")
ARTICLE = """# Dogs

Dogs bark. They sleep.

They also

- eat
- run
  - fast

## Wolves

Wolves howl.
"""
EDUS = ["Dogs", "Dogs bark.", "They sleep.", "They also", "eat", "run", "fast", "Wolves",
        "Wolves howl."]  # fmt: skip


def marks_of(doc: Doc) -> list[set[str]]:
    """The marks of each EDU."""
    read_layouts([doc])
    rows = describe_edus(doc, get_edus(doc)).features[:, : len(MARK_FEATURES)]
    return [{MARK_FEATURES[i] for i in row.nonzero()[0]} for row in rows]


def from_edus(*edus, **options):
    return marks_of(doc_from_edus(NLP, edus, **options))


def test_describes_each_edu():
    assert from_edus("Well,", "he said:", "'It rains.'", "(He stayed", "at home.)") == [
        {"ends_with_comma", "is_first"},
        {"ends_with_colon", "upper_case_follows"},
        {"ends_sentence", "upper_case_follows"},
        set(),
        {"ends_sentence", "is_last"},
    ]


@pytest.mark.parametrize(
    "mark, edus",
    [
        ("ends_sentence", ["Gut!", "¿Qué?", "等等…", "下雨了。”", "باران؟", "بارش ہے۔", "वर्षा है।"]),
        ("ends_with_comma", ["雨，", "雨、", "باران،"]),
        ("ends_with_colon", ["雨；", "雨：", "باران؛", "rain;"]),
    ],
)  # fmt: skip
def test_knows_the_marks_of_many_scripts(mark, edus):
    for edu in edus:
        assert mark in from_edus(edu)[0], edu


def test_sees_upper_case_behind_quotes_and_in_other_scripts():
    assert "upper_case_follows" in from_edus("a", "«Über")[0]
    assert "upper_case_follows" in from_edus("a", "Собака")[0]
    assert "upper_case_follows" not in from_edus("a", "狗")[0]


@pytest.mark.parametrize("place", ["between", "inside the first", "inside the second"])
def test_sees_a_blank_line_wherever_its_token_belongs(place):
    words = ["One", ".", "\n \n", "Two", "\n", "three"]
    doc = Doc(NLP.vocab, words=words, spaces=[False] * 6)
    borders = {"between": [(0, 2), (3, 5), (5, 6)], "inside the first": [(0, 3), (3, 5), (5, 6)],
               "inside the second": [(0, 2), (2, 5), (5, 6)]}  # fmt: skip
    doc.spans["edus"] = [doc[start:end] for start, end in borders[place]]
    found = [i for i, names in enumerate(marks_of(doc)) if "paragraph_precedes" in names]
    assert found == [1]


def test_uses_sentence_starts_where_there_are_any():
    doc = doc_from_edus(spacy.blank("xx"), ["One two", "three .", "Four ."])
    assert not any("starts_sentence" in names for names in marks_of(doc))
    for token in doc:
        token.is_sent_start = token.i in (0, 4)
    assert ["starts_sentence" in names for names in marks_of(doc)] == [True, False, True]


def test_an_edu_of_white_space_or_quotes_alone_breaks_nothing():
    assert from_edus("a", '"', "b")[1] == set()
    doc = Doc(spacy.blank("xx").vocab, words=["a", "\n\n", "b"], spaces=[False] * 3)
    doc.spans["edus"] = [doc[0:1], doc[1:2], doc[2:3]]
    assert len(marks_of(doc)) == 3


def article():
    doc = doc_from_layout(NLP, read_markdown(ARTICLE))
    set_edus(doc, edus_by_text(doc, EDUS))
    return doc


def edus_by_text(doc, texts):
    position, edus = 0, []
    for text in texts:
        position = doc.text.index(text, position)
        edus.append(doc.char_span(position, position + len(text)))
        position += len(text)
    return edus


def kinds_of(doc):
    facts = describe_edus(doc, get_edus(doc))
    return [BOUNDARY_KINDS[kind] for kind in facts.kinds]


def layout_of(doc):
    return describe_edus(doc, get_edus(doc)).features[:, len(MARK_FEATURES) :]


def names_of(doc):
    """The features of the layout of each EDU that are not 0, but for place and size."""
    shown = set(LAYOUT_FEATURES) - {"place_in_block", "size_of_block"}
    return [{LAYOUT_FEATURES[i] for i in row.nonzero()[0]} & shown for row in layout_of(doc)]


def test_boundaries_have_kinds_and_levels():
    doc = article()
    assert kinds_of(doc) == [
        "heading", "after_heading", "sentence", "paragraph", "item", "item", "inner", "heading",
        "after_heading",
    ]  # fmt: skip
    levels = describe_edus(doc, get_edus(doc)).levels
    assert sorted(range(1, 9), key=lambda place: levels[place]) == [2, 6, 4, 5, 3, 1, 8, 7]
    assert levels[0] > levels[7]  # a title is stronger than a heading below it
    assert levels[4] == levels[5]


def test_features_say_where_an_edu_stands():
    doc = article()
    names = names_of(doc)
    starts = {"starts_sentence", "starts_block", "starts_paragraph"}
    ends = {"ends_sentence", "ends_block", "ends_paragraph"}
    assert names[0] == starts | ends | {"in_heading", "rank_of_heading"}
    assert names[1] == starts | {"ends_sentence", "in_paragraph"}
    assert names[2] == {"starts_sentence", "in_paragraph"} | ends
    assert names[5] == {"starts_sentence", "starts_block", "ends_sentence", "ends_block",
                        "in_item", "depth"}  # fmt: skip
    place, size, depth = (layout_of(doc)[:, LAYOUT_FEATURES.index(name)] for name in
                          ("place_in_block", "size_of_block", "depth"))  # fmt: skip
    assert place.tolist() == [0, 0, 0.5, 0, 0, 0, 0, 0, 0]
    assert size[1] == size[2] > size[3] > 0
    assert depth[6] > depth[5] > 0


def test_speakers():
    text = "Hi. How are you? Fine. And you?"
    doc = doc_from_edus(NLP, ["Hi.", "How are you?", "Fine.", "And you?"])
    assert doc.text == text
    blocks = [Block(0, 16, "turn", speaker="A"), Block(17, 22, "turn", speaker="B"),
              Block(23, 31, "turn", speaker="B", continues=True)]  # fmt: skip
    set_layout(doc, blocks)
    assert kinds_of(doc)[1:] == ["sentence", "turn", "item"]
    assert ["has_new_speaker" in names for names in names_of(doc)] == [False, False, True, False]


def test_an_unknown_layout_is_the_same_as_none():
    hidden = article()
    set_layout(hidden, None)
    plain = doc_from_edus(NLP, EDUS)
    found = describe_edus(hidden, get_edus(hidden))
    expected = describe_edus(plain, get_edus(plain))
    assert LAYOUT_KEY not in plain.spans  # describing changes nothing
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    assert kinds_of(plain) == [
        "unknown", "unknown", "sentence_of_unknown", "sentence_of_unknown",
        *["unknown"] * 5,
    ]  # fmt: skip
    assert all("is_unknown" in names for names in names_of(plain))


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=3),
)
def test_codes_compare_a_boundary_with_those_around_it(documents):
    levels = np.concatenate(documents)
    boundaries = Boundaries(levels, levels, [len(document) for document in documents])
    offset = 0
    for document in documents:
        places = range(offset, offset + len(document) + 1)
        for start, end in combinations(places, 2):
            expected = []
            for split in range(start + 1, end):
                own, before, after = (
                    levels[split],
                    levels[start + 1 : split],
                    levels[split + 1 : end],
                )
                stronger = (before > own).any(), (after > own).any()
                as_strong = (before >= own).any(), (after >= own).any()
                bits = [8, 4, 2, 1]
                flags = zip(bits, stronger + as_strong, strict=True)
                code = sum(bit for bit, is_near in flags if not is_near)
                expected.append(own * CODES_OF_A_KIND + code)
            assert boundaries.codes_within(start, end).tolist() == expected
        offset += len(document)


# With spaCy


def laid_out_docs(nlp):
    """Trees over the same words, which only the layout can tell apart."""
    words = ["a b", "a b", "a b", "a b"]
    trees = {
        1: [(0, 1, 4, "Joint-NN"), (1, 2, 4, "Joint-NN"), (2, 3, 4, "Joint-NN")],
        2: [(0, 2, 4, "Contrast-NN"), (0, 1, 2, "Joint-NN"), (2, 3, 4, "Joint-NN")],
        3: [(0, 3, 4, "Cause-SN"), (0, 1, 3, "Joint-NN"), (1, 2, 3, "Joint-NN")],
    }
    for place, splits in trees.items():
        doc = doc_from_edus(nlp, words)
        start = 4 * place
        kind = "heading" if place == 3 else "paragraph"
        set_layout(doc, [Block(0, start - 1, "paragraph"), Block(start, len(doc.text), kind, 1)])
        set_tree(doc, RstTree.from_splits(splits))
        yield doc


@pytest.mark.parametrize("splitter", ["pointer", "span"])
def test_learns_from_layout_alone(splitter, tmp_path):
    nlp = own_encoder_pipeline(splitter=splitter, text_features=True)
    examples = [make_example(nlp, doc) for doc in laid_out_docs(nlp)]
    train(nlp, examples, epochs=100)
    expected = [get_tree(doc).splits for doc in laid_out_docs(nlp)]
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        docs = list(laid_out_docs(pipeline))
        for doc in docs:
            set_tree(doc, None)
        assert [get_tree(doc).splits for doc in pipeline.pipe(docs)] == expected
    none = [doc_from_edus(nlp, [edu.text for edu in get_edus(doc)]) for doc in docs]
    assert len({str(get_tree(doc).splits) for doc in nlp.pipe(none)}) == 1
