"""Layout on Docs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

import spacy_rst
from spacy_rst.doc_layout import block_starts, doc_from_layout, read_layout, token_blocks
from spacy_rst.errors import RstError
from spacy_rst.layout import Block, read_document

from .blocks import TEXTS, describe, read_text

TEXT = "Small talk\n\nAnna: Hi! \n\nTom: Hello."
BLOCKS = [
    Block(0, 10, "heading", level=1),
    Block(12, 21, "turn", speaker="Anna"),
    Block(24, 35, "turn", speaker="Tom", continues=True),
]


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


@pytest.fixture
def doc(nlp):
    doc = nlp(TEXT)
    spacy_rst.set_layout(doc, BLOCKS)
    return doc


def test_layout_is_spans(doc):
    assert spacy_rst.get_layout(doc) == BLOCKS
    assert [span.label_ for span in doc.spans["layout"]] == ["heading", "turn", "turn"]
    assert spacy_rst.source_range(doc[1:2]) == (6, 10)  # a text is its own source
    assert [span.text for span in doc.spans["layout"]] == ["Small talk", "Anna: Hi!", "Tom: Hello."]


def through_docbin(doc: Doc) -> Doc:
    docbin = DocBin(store_user_data=True, docs=[doc])
    return next(DocBin().from_bytes(docbin.to_bytes()).get_docs(spacy.blank("en").vocab))


def test_layout_is_kept(doc, nlp):
    for kept in (
        Doc(spacy.blank("en").vocab).from_bytes(doc.to_bytes()),
        through_docbin(doc),
        doc.copy(),
        pickle.loads(pickle.dumps(doc)),
        *nlp.pipe([doc, doc], n_process=2),
    ):
        assert spacy_rst.get_layout(kept) == BLOCKS


def test_unknown_layout_is_not_read_again(nlp):
    assert read_layout(nlp("")) is read_layout(nlp(" \n\n ")) is None
    doc = nlp(TEXT)
    assert spacy_rst.get_layout(doc) is None
    spacy_rst.set_layout(doc, None)
    assert read_layout(doc) is None
    assert read_layout(through_docbin(doc)) is None


def test_one_paragraph_is_not_unknown(nlp):
    doc = nlp("One paragraph.")
    assert read_layout(doc) is None
    spacy_rst.set_layout(doc, [Block(0, 14, "paragraph")])
    assert read_layout(doc) == [Block(0, 14, "paragraph")]


def test_plain_text_is_read_once(nlp):
    doc = nlp(TEXT)
    blocks = read_layout(doc)
    assert [kind for kind, _ in describe(TEXT, blocks)] == ["heading 1", "paragraph", "paragraph"]
    doc.spans["layout"].attrs["level"] = [4, 0, 0]
    assert read_layout(doc)[0].level == 4


def test_layout_set_by_hand(nlp):
    doc = nlp("Title Text here.")
    doc.spans["layout"] = [Span(doc, 0, 1, "heading"), Span(doc, 1, 4, "paragraph")]
    assert read_layout(doc) == [Block(0, 5, "heading"), Block(6, 16, "paragraph")]
    doc.spans["layout"] = [Span(doc, 1, 4, "paragraph")]
    with pytest.raises(RstError, match="R032"):
        read_layout(doc)
    with pytest.raises(RstError, match="R032"):
        spacy_rst.set_layout(nlp(TEXT), [*BLOCKS[:2], Block(24, 99, "turn")])


def test_a_token_belongs_to_the_block_in_which_it_starts(nlp):
    doc = Doc(nlp.vocab, words=["One", "two-three", "four", "-", "five"], spaces=[True] * 5)
    blocks = [Block(0, 8, "heading"), Block(8, 18, "paragraph"), Block(19, 25, "paragraph")]
    spacy_rst.set_layout(doc, blocks)
    assert [span.text for span in doc.spans["layout"]] == ["One two-three", "four", "- five"]
    assert spacy_rst.get_layout(doc)[1] == Block(14, 18, "paragraph")
    # A block without a token of its own is left out.
    doc = Doc(nlp.vocab, words=["one", "two-three"], spaces=[True, False])
    spacy_rst.set_layout(doc, [Block(0, 7, "heading"), Block(7, 13, "paragraph")])
    assert spacy_rst.get_layout(doc) == [Block(0, 13, "heading")]


def test_blocks_of_tokens(doc, nlp):
    words = [token.text for token in doc]
    starts = block_starts(doc)
    assert [word for word, is_start in zip(words, starts, strict=True) if is_start] == [
        *("Small", "Anna", "Tom"),
    ]
    numbers = token_blocks(doc)
    assert [words[i] for i in np.flatnonzero(numbers == 1)][:4] == ["Anna", ":", "Hi", "!"]
    assert token_blocks(nlp("  One"))[0] == -1
    assert not block_starts(nlp("One")).any()
    assert len(block_starts(nlp(""))) == 0


@pytest.mark.parametrize("path", sorted(TEXTS.iterdir()), ids=lambda path: path.name)
def test_every_block_has_its_tokens(nlp, path):
    layout = read_document(path, path.read_text(encoding="utf8"))
    doc = doc_from_layout(nlp, layout)
    assert spacy_rst.get_layout(doc) == list(layout.blocks)
    assert block_starts(doc).sum() == len(layout.blocks)


@pytest.mark.parametrize(
    ("read", "name"), [(spacy_rst.read_markdown, "readme.md"), (spacy_rst.read_html, "news.html")]
)
def test_documents_run_through_the_pipeline(read, name):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    source = read_text(name)
    doc = through_docbin(read(nlp, source))
    assert doc.has_annotation("SENT_START")
    heading = doc.spans["layout"][0]
    assert heading.label_ == "heading"
    start, end = spacy_rst.source_range(heading[:1])
    assert source[start:end] == heading[:1].text


def test_layout_survives_retokenization(doc, nlp):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    assert spacy_rst.get_layout(doc) == BLOCKS
    assert block_starts(doc).sum() == 3
    assert read_layout(doc) == BLOCKS
    assert [span.text for span in doc.spans["layout"]] == ["Small talk", "Anna: Hi!", "Tom: Hello."]
    assert spacy_rst.get_layout(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == BLOCKS
