from __future__ import annotations

import numpy as np
import pytest
import spacy
import torch
from hypothesis import given
from hypothesis import strategies as st
from spacy_rst.parser.layout import BOUNDARY_KINDS, LAYOUT_FEATURES, describe_edus

from spacy_rst.doc import doc_from_edus, get_edus, get_tree, set_edus, set_tree
from spacy_rst.doc_layout import LAYOUT_KEY, doc_from_layout, set_layout
from spacy_rst.layout import Block, read_markdown
from spacy_rst.parser.spans import CODES_OF_A_KIND, Boundaries
from spacy_rst.tree import RstTree
from spacy_rst.treebank.corpus import make_example
from spacy_rst.treebank.strip_layout import as_running_text
from tests.parser.pipelines import own_encoder_pipeline, train
from tests.sample import examples_from, sample_docs

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


def kinds_of(doc, **settings):
    facts = describe_edus(doc, get_edus(doc), **{"layout": "all", **settings})
    return [BOUNDARY_KINDS[kind] for kind in facts.kinds]


def names_of(doc, **settings):
    """The features of each EDU that are not 0, but for place and size."""
    rows = describe_edus(doc, get_edus(doc), **{"layout": "all", **settings}).features
    shown = set(LAYOUT_FEATURES) - {"place_in_block", "size_of_block"}
    return [{LAYOUT_FEATURES[i] for i in row.nonzero()[0]} & shown for row in rows]


def test_boundaries_have_kinds_and_levels():
    doc = article()
    assert kinds_of(doc) == [
        "heading", "after_heading", "sentence", "paragraph", "item", "item", "inner", "heading",
        "after_heading",
    ]  # fmt: skip
    levels = describe_edus(doc, get_edus(doc), layout="all").levels
    assert sorted(range(1, 9), key=lambda place: levels[place]) == [2, 6, 4, 5, 3, 1, 8, 7]
    assert levels[0] > levels[7]  # a title is stronger than a heading below it
    assert levels[4] == levels[5]


def test_paragraphs_alone_have_one_kind():
    doc = article()
    kinds = kinds_of(doc, layout="paragraphs")
    assert kinds == ["paragraph"] * 2 + ["sentence"] + ["paragraph"] * 6
    names = set().union(*names_of(doc, layout="paragraphs"))
    assert names == {f"{side}_{what}" for side in ("starts", "ends")
                     for what in ("sentence", "block", "paragraph")}  # fmt: skip


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
    rows = describe_edus(doc, get_edus(doc), layout="all").features
    place, size, depth = (rows[:, LAYOUT_FEATURES.index(name)] for name in
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


@pytest.mark.parametrize("mode", ["paragraphs", "all"])
def test_an_unknown_layout_is_the_same_as_none(mode):
    hidden = article()
    set_layout(hidden, None)
    plain = doc_from_edus(NLP, EDUS)
    found = describe_edus(hidden, get_edus(hidden), use_features=True, layout=mode)
    expected = describe_edus(plain, get_edus(plain), use_features=True, layout=mode)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    assert kinds_of(plain) == [
        "unknown", "unknown", "sentence_of_unknown", "sentence_of_unknown",
        *["unknown"] * 5,
    ]  # fmt: skip
    assert all("is_unknown" in names for names in names_of(plain))
    assert LAYOUT_KEY in plain.spans


def test_without_layout_nothing_is_read():
    doc = doc_from_edus(NLP, EDUS)
    facts = describe_edus(doc, get_edus(doc), use_features=False)
    assert facts.features.shape == (len(EDUS), 0)
    assert LAYOUT_KEY not in doc.spans


def test_docs_without_edus_have_no_facts():
    doc = NLP(" \n\n ")
    for layout in ("none", "paragraphs", "all"):
        facts = describe_edus(doc, [], use_features=True, layout=layout)
        assert [len(column) for column in facts] == [0, 0, 0]


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=3),
)
def test_codes_compare_a_boundary_with_those_around_it(documents):
    levels = np.concatenate(documents)
    counts = [len(document) for document in documents]
    boundaries = Boundaries(levels, levels, counts)
    offset = 0
    for count in counts:
        for start in range(offset, offset + count):
            for end in range(start + 2, offset + count + 1):
                inside = range(start + 1, end)
                expected = []
                for split in inside:
                    before, after = levels[start + 1 : split], levels[split + 1 : end]
                    own = levels[split]
                    flags = (
                        not (before > own).any(),
                        not (after > own).any(),
                        not (before >= own).any(),
                        not (after >= own).any(),
                    )
                    bits = sum(bool(flag) * 2**place for place, flag in enumerate(flags[::-1]))
                    expected.append(own * CODES_OF_A_KIND + bits)
                splits = torch.tensor(inside)
                codes = boundaries.codes(
                    torch.full_like(splits, start), splits, torch.full_like(splits, end)
                )
                assert codes.tolist() == expected
                assert boundaries.codes_within(start, end).tolist() == expected
        offset += count


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
    nlp = own_encoder_pipeline(splitter=splitter, layout="all")
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


@pytest.mark.parametrize("splitter", ["pointer", "span"])
def test_learns_its_training_data_by_heart_with_some_layout_hidden(splitter):
    nlp = own_encoder_pipeline(splitter=splitter, layout="paragraphs", edu_features=True)
    docs = sample_docs(nlp, ["eu"])
    docs[1:] = [as_running_text(doc) for doc in docs[1:]]
    examples = examples_from(nlp, docs)
    train(nlp, examples)
    assert nlp.evaluate(examples)["rst_full"] == 1.0
