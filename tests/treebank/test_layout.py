"""Layout of treebanks, from files of its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from spacy_rst.doc_layout import get_layout
from spacy_rst.errors import RstError
from spacy_rst.languages import blank_pipeline
from spacy_rst.layout import Block, Layout
from spacy_rst.treebank.convert import ConversionOptions, ConversionReport, convert_document
from spacy_rst.treebank.corpus import make_example
from spacy_rst.treebank.document import TreebankDocument, paragraph_blocks
from spacy_rst.treebank.layout import read_gcdt_layout, read_layouts, with_layout
from spacy_rst.treebank.rs3 import parse_rs3

from ..layout.blocks import describe
from .rs3_files import nuclei, rs3


def sentence(words: str, block: str = "") -> str:
    """A sentence in CoNLL-U; a word that ends in _ has no space after it, and a + joins the tokens
    of one word."""
    lines = ["# newpar", f"# newpar_block = {block}"] if block else []
    number = 1
    for word in words.split():
        misc = "SpaceAfter=No" if word.endswith("_") else "_"
        tokens = word.removesuffix("_").split("+")
        if len(tokens) > 1:
            ids = f"{number}-{number + len(tokens) - 1}"
            lines.append("\t".join([ids, "".join(tokens), *"_______", misc]))
            misc = "_"
        for token in tokens:
            lines.append("\t".join([str(number), token, *"_______", misc]))
            number += 1
    return "\n".join(lines)


def read_gum(*sentences: str) -> Layout:
    with TemporaryDirectory() as folder:
        Path(folder, "name.conllu").write_text("\n\n".join(sentences) + "\n", encoding="utf8")
        return read_layouts(Path(folder))["name"]


def make_document(*edus: str) -> TreebankDocument:
    return parse_rs3(rs3(nuclei(*edus)), source="name.rs3")


GUM_CASES = {
    "blocks": (
        [sentence("A title", "head (1 s)"),
         sentence("One_ .", "p (2 s)"),
         sentence("Do+n't go_ !_ I wo+n't_ ."),
         sentence("First", 'list type:::"ordered" (3 s) | item (3 s) | p (1 s)'),
         sentence("More", "p (1 s)"),
         sentence("Below", "list (1 s) | item (1 s)"),
         sentence("A picture", 'figure rend:::"a | (1 s)" (1 s) | caption (1 s)'),
         sentence("Steps", "head (1 s)")],
        [("heading 1", "A title"), ("paragraph", "One. Don't go!I won't."),
         ("item 1", "First"), ("item 1 +", "More"), ("item 2", "Below"),
         ("caption", "A picture"), ("heading 2", "Steps")],
    ),
    "speakers": (
        [sentence("Hi_ !", 'sp who:::"#Ann" whom:::"#Tom" (3 s) | p (2 s)'),
         sentence("Come in_ ."),
         sentence("Sit down_ .", "p (1 s)"),
         sentence("Apples", 'sp who:::"#Tom" (1 s) | list (1 s) | item (1 s)'),
         sentence("They left_ .", "p (1 s)")],
        [("turn Ann", "Hi! Come in."), ("turn Ann +", "Sit down."), ("item 1 Tom", "Apples"),
         ("paragraph", "They left.")],
    ),
    "speech inside of a paragraph is part of it": (
        [sentence("He came_ .", "p (3 s)"),
         sentence("Hello_ !", 'sp who:::"#He" (1 s)'),
         sentence("Then he left_ ."),
         sentence("As they say_ :", "quote (1 s)")],
        [("paragraph", "He came. Hello! Then he left."), ("quotation 1", "As they say:")],
    ),
    "what follows a block inside of another is a block": (
        [sentence("Text", "p (3 s)"),
         sentence("A picture", "figure (1 s) | caption (1 s)"),
         sentence("More text")],
        [("paragraph", "Text"), ("caption", "A picture"), ("paragraph", "More text")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("sentences", "expected"), GUM_CASES.values(), ids=GUM_CASES)
def test_gum(sentences, expected):
    layout = read_gum(*sentences)
    assert describe(layout.text, layout.blocks) == expected


GCDT = """<text id="x" sourceURL="http://example.org/?a=1&b=2">
题目

第一句 &amp; 。
第二句。

<section>
1. 引言

段落 one.
Two.

<subsection>
小节

<list>
苹果
梨
</list>

尾段。
</subsection>
</section>

<speaker who="#WN">
问？

又问？
</speaker>
<longquote>
引文。
</longquote>
</text>"""


def test_gcdt_blocks():
    layout = read_gcdt_layout(GCDT)
    assert describe(layout.text, layout.blocks) == [
        ("heading 1", "题目"),
        ("paragraph", "第一句 & 。第二句。"),
        ("heading 2", "1. 引言"),
        ("paragraph", "段落 one. Two."),
        ("heading 3", "小节"),
        ("item 1", "苹果"),
        ("item 1", "梨"),
        ("paragraph", "尾段。"),
        ("turn WN", "问？"),
        ("turn WN +", "又问？"),
        ("quotation 1", "引文。"),
    ]


def test_layouts_are_found_by_the_names_of_documents(tmp_path):
    (tmp_path / "dev").mkdir()
    several = [f"# newdoc id = {name}\n{sentence('A title', 'head (1 s)')}" for name in "ab"]
    several.append("# newdoc id = plain\n" + sentence("No layout"))
    (tmp_path / "all.conllu").write_text("\n\n".join(several), encoding="utf8")
    (tmp_path / "dev" / "c.xml").write_text(GCDT, encoding="utf8")
    (tmp_path / "d.conllu").write_bytes(b"\xff")
    (tmp_path / "e.xml").write_bytes(b"\xff")
    (tmp_path / "f.conllu").write_text("1\ttoo few columns\n", encoding="utf8")
    found = read_layouts(tmp_path)
    assert sorted(found) == ["a", "b", "c", "d", "e", "f"]
    assert found["a"].text == found["b"].text == "A title"
    assert found["c"].text.startswith("题目")
    problems = [(found[name].code, f"{name}." in str(found[name])) for name in "def"]
    assert problems == [("R134", True), ("R134", True), ("R143", True)]


LAYOUT = read_gum(
    sentence("A title", "head (1 s)"),
    sentence("Do+n't go_ ,_ -LSB-_ 1_ -RSB- he said_ .", "p (1 s)"),
    sentence("Bye_ .", 'sp who:::"#Ann" (1 s)'),
)
EDUS = ["A title", "Do n't go ,", "-LSB- 1 -RSB- he said .", "Bye ."]


@pytest.mark.parametrize(
    ("edus", "written", "borders", "crossing"),
    [
        (EDUS, ["A title", "Don't go,", "[1] he said.", "Bye."], (0, 1, 3, 4), []),
        # A block that begins inside an EDU begins after it.
        (["A title Do n't go ,", *EDUS[2:]], ["A title Don't go,", "[1] he said.", "Bye."],
         (0, 1, 2, 3), [0]),
    ],
)  # fmt: skip
def test_blocks_and_spaces_of_a_document(edus, written, borders, crossing):
    document = with_layout(make_document(*edus), LAYOUT)
    heading, paragraph, turn = pairwise(borders)
    assert document.blocks == [
        Block(*heading, "heading", 1), Block(*paragraph, "paragraph"),
        Block(*turn, "turn", speaker="Ann"),
    ]  # fmt: skip
    assert document.edus == written and document.crossing_edus == crossing


@pytest.mark.parametrize("raw_text", [False, True])
def test_docs_get_layout(raw_text):
    report = ConversionReport()
    options = ConversionOptions(lang="en", raw_text=raw_text)
    doc = convert_document(with_layout(make_document(*EDUS), LAYOUT), options, report=report)
    assert doc.text == "A title\n\nDon't go,[1] he said.\n\nBye."
    edus = ["A title", "Don't go,", "[1] he said.", "Bye."]
    assert [edu.text for edu in doc.spans["edus"]] == edus
    blocks = [Block(0, 7, "heading", 1), Block(9, 30, "paragraph"), Block(32, 36, "turn", 0, "Ann")]
    assert get_layout(doc) == blocks
    assert (report.layout, report.blocks, report.crossing) == (1, 3, 0)
    example = make_example(blank_pipeline("en"), doc)
    assert get_layout(example.predicted) == get_layout(doc)


@pytest.mark.parametrize("edus", [("A title", "Do go ,", *EDUS[2:]), ("B other", *EDUS[1:])])
def test_another_text_is_refused(edus):
    with pytest.raises(RstError, match="R140"):
        with_layout(make_document(*edus), LAYOUT)


def test_paragraphs_of_a_document_are_its_layout():
    document = make_document("One.", "Two.", "Three.")
    assert get_layout(convert_document(document)) is None
    document.blocks = paragraph_blocks([0, 2], 3)
    doc = convert_document(document)
    assert doc.text == "One. Two.\n\nThree."
    assert get_layout(doc) == [Block(0, 9, "paragraph"), Block(11, 17, "paragraph")]
