"""Blocks of HTML, and where they come from."""

from __future__ import annotations

import html

import pytest

from spacy_rst.layout import read_html

from .blocks import described, find_last, read_text, words_in_source


def test_news():
    assert described(read_html, read_text("news.html")) == [
        ("heading 1", "Old bridge reopens after two years"),
        ("paragraph", "By Jane Doe"),
        (
            "paragraph",
            "The stone bridge in the old town was opened again on Monday, the mayor said. It had "
            "been closed since a flood damaged two of its pillars.",
        ),
        ("caption", "The bridge in 1912 & today"),
        ("heading 2", "What it cost"),
        ("caption", "Costs in million euros"),
        ("row", "Part\tPlanned\tPaid"),
        ("row", "Pillars\t1.2\t1.9"),
        ("quotation 1", "We are proud."),
        ("quotation 1 +", "It was worth every cent."),
        ("paragraph", "Next year, the town wants to\nrepair:"),
        ("item 1", "the harbour wall"),
        ("item 1", "the theatre"),
        ("item 1 +", "It has been empty since 1999."),
    ]


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_words_are_found_in_the_source(line_break):
    source = read_text("news.html").replace("\n", line_break)
    for word, found in words_in_source(read_html(source), source):
        assert html.unescape(found) == word


HIDDEN = """\
<script>x</script>
<style>x</style>
<template>x</template>
<noscript>x</noscript>
<!-- x -->
<nav>x</nav>
<div role=navigation>x</div>
<div hidden><p>x</div>
<div aria-hidden=true>x</div>
<p style='display:none'>x</p>
<p style='color:red; Visibility : hidden'>x</p>
<dialog>x</dialog>
<select><option>x</select>
<ruby><rt>x</rt></ruby>
<svg><text>x</text></svg>
"""


@pytest.mark.parametrize("hidden", HIDDEN.splitlines())
def test_hidden_parts_are_dropped(hidden):
    assert described(read_html, f"<p>a</p>{hidden}<p>b</p>") == [
        ("paragraph", "a"),
        ("paragraph", "b"),
    ]


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        ("a <b>b</b>c", [("paragraph", "a bc")]),
        ("a<div>b</div>c", [("paragraph", "a"), ("paragraph", "b"), ("paragraph", "c")]),
        ("<p>a<p>b", [("paragraph", "a"), ("paragraph", "b")]),
        ("<ul><li>a<ol><li>b</ol>c</ul>", [("item 1", "a"), ("item 2", "b"), ("item 1 +", "c")]),
        ("<dl><dt>a<dd>b</dl>", [("item 1", "a"), ("item 1 +", "b")]),
        ("<pre>\n a\n\n b\n</pre>", [("code", "a\n\n b")]),
        ("<h2><div>a</div><div>b</div></h2>", [("heading 2", "a b")]),
        ("<table><tr><td><p>a</p><td><p>b</table>", [("row", "a\tb")]),
        ("<table><tr><td><h1>a</h1><p>b</table>", [("heading 1", "a"), ("paragraph", "b")]),
        ("<li><blockquote>a</blockquote>", [("quotation 1", "a")]),
        ("a &lt; b &notanentity; &amp c < d", [("paragraph", "a < b ¬anentity; & c < d")]),
        ("<p>a</x>b", [("paragraph", "ab")]),
        (
            "<p><b>Q:</b> Why?<p><b>A:</b> So.<p><b>Q:</b> Oh.",
            [("turn Q", "Q: Why?"), ("turn A", "A: So."), ("turn Q", "Q: Oh.")],
        ),
        ("<p> <br> </p>", []),
        ("", []),
    ],
)
def test_blocks(source, blocks):
    assert described(read_html, source) == blocks


@pytest.mark.parametrize(
    ("source", "word", "found"),
    [
        ("a&nbsp;b", "b", "b"),
        ("a &lt;b", "<b", "&lt;b"),
        ("a</x>b", "ab", "a</x>b"),
        ("\r\n a\r\n b", "b", "b"),
        ("<pre>\na\r\nb</pre>", "b", "b"),
        ("a < b", "b", "b"),
    ],
)
def test_a_word_is_found_in_the_source(source, word, found):
    assert find_last(read_html, source, word) == found


def test_deep_nesting_is_read():
    depth = 5_000
    assert described(read_html, "<div>" * depth + "a") == [("paragraph", "a")]
    assert described(read_html, "<blockquote>" * depth + "a") == [(f"quotation {depth}", "a")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a &#1; b", "a b"),
        ("a &#x; b", "a &#x; b"),
        ("a &#²; b", "a &#\ufffd; b"),
        ("a &#1²; b", "a \ufffd; b"),
        (f"a &#{'9' * 4400}; b", "a \ufffd b"),
    ],
)
def test_references_to_no_character(source, text):
    assert " ".join(read_html(source).text.replace("\x01", "").split()) == text
