"""Blocks of Markdown, and where they come from."""

from __future__ import annotations

import pytest

from spacy_rst.layout import read_markdown

from .blocks import described, find_last, read_text, words_in_source


def test_readme():
    assert described(read_markdown, read_text("readme.md")) == [
        ("heading 1", "tidy-notes"),
        (
            "paragraph",
            "tidy-notes keeps your notes in order. It reads plain text files, sorts them by date "
            "& finds the ones that you forgot.",
        ),
        ("heading 2", "Features"),
        ("item 1", "Works offline"),
        ("item 1", "Knows three formats:"),
        ("item 2", "Plain text"),
        ("item 2", "Markdown, with code in it"),
        ("item 2 +", "Tables are kept, too."),
        ("item 1", "Never deletes a file"),
        ("heading 2", "Usage"),
        ("paragraph", "Run it in a folder, as in the guide:"),
        ("code", 'tidy-notes sort ~/notes\n\ntidy-notes find "lost"'),
        ("row", "Option\tMeaning"),
        ("row", "--dry\tChange nothing"),
        ("row", "--deep\tRead folders below"),
        ("quotation 1", '"I found my thesis again."'),
        ("quotation 1 +", "A happy user"),
        ("paragraph", "Licence: MIT © the authors."),
    ]


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_words_are_found_in_the_source(line_break):
    source = read_text("readme.md").replace("\n", line_break)
    for word, found in words_in_source(read_markdown(source), source):
        found = found.replace("&copy;", "©")
        assert (found[0], found[-1]) == (word[0], word[-1])


@pytest.mark.parametrize(
    ("source", "word", "found"),
    [
        ('[a](x "B") B', "B", "B"),
        ("[a](<x B> 'B') B", "B", "B"),
        ("[a][B] B\n\n[b]: x", "B", "B"),
        ("![B](B) B", "B", "B"),
        ("<i title=B>B</i>", "B", "B"),
        ("a &lt;B", "<B", "&lt;B"),
        (r"a \*B", "*B", r"\*B"),
        ("> a\n> `b\n> c` B", "B", "B"),
        ("- 1\n  1. 1 B", "B", "B"),
        ("# B #", "B", "B"),
        ("> ```\n> a\n> B\n> ```", "B", "B"),
        ("a\n\n<p title=B>x &amp; <b>B</b></p>\n", "B", "B"),
        ("|x\\|y|B|\n|--|--|", "B", "B"),
    ],
)
def test_a_word_among_marks_is_found_in_the_source(source, word, found):
    assert find_last(read_markdown, source, word) == found
    layout = read_markdown(source)
    assert layout.source_offset(layout.text.rindex(word)) == source.rindex(found)


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        ("a  \nb\nc", [("paragraph", "a\nb c")]),
        ("> a\n> > b", [("quotation 1", "a"), ("quotation 2", "b")]),
        ("- > a\n- b", [("quotation 1", "a"), ("item 1", "b")]),
        ("- a\n\n      x = 1\n\n  b", [("item 1", "a"), ("code", "x = 1"), ("item 1 +", "b")]),
        ("a\n***\nb", [("paragraph", "a"), ("paragraph", "b")]),
        ("T\n=\nx ~~y~~", [("heading 1", "T"), ("paragraph", "x y")]),
        (
            "**Anna:** Hi!\n\n**Tom:** Hello.\n\n**Anna:** Come in.",
            [
                ("turn Anna", "Anna: Hi!"),
                ("turn Tom", "Tom: Hello."),
                ("turn Anna", "Anna: Come in."),
            ],
        ),
        ("![a](b)", []),
        ("", []),
    ],
)
def test_blocks(source, blocks):
    assert described(read_markdown, source) == blocks
