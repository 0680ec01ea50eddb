"""What holds for every reader and any source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.layout import Layout, check_blocks, read_document

HTML = (
    "<p>|</p>|<li>|<ul>|</ul>|<td>|<table>|</table>|<pre>|<b hidden>|</b>|&amp;|&|<|>|a| |\r\n|<h1>"
    "|<br>|\0|&am|<!--|-->|<b"
)
SOURCES = {
    ".txt": st.text(alphabet="ab AB.,:>-#|1)`\n\t\u2029「。：", max_size=200),
    ".md": st.text(alphabet="ab *_`[]()<>!#-+|&;\\\n\t1.~", max_size=120),
    ".html": st.lists(st.sampled_from(HTML.split("|")), max_size=40).map("".join),
}
WHITE_SPACE = st.text(alphabet=" \n\t\r\u2029\f\x85\xa0", max_size=6)

each_reader = pytest.mark.parametrize("suffix", SOURCES)


def check(layout: Layout, source: str) -> None:
    check_blocks(layout.text, layout.blocks)
    for segment in layout.segments:
        assert 0 <= segment.source_start <= segment.source_end <= len(source)


@each_reader
@given(st.data())
def test_any_source_is_read(suffix, data):
    source = data.draw(SOURCES[suffix])
    check(read_document(suffix, source), source)


@each_reader
@given(st.data())
def test_white_space_at_the_ends_says_nothing(suffix, data):
    source = data.draw(SOURCES[suffix]).strip()
    before, after = data.draw(WHITE_SPACE), data.draw(WHITE_SPACE)
    layout = read_document(suffix, source)
    padded = read_document(suffix, before + source + after)
    shift = len(before) if suffix == ".txt" else 0  # plain text stays as it is
    assert [
        block._replace(start=block.start + shift, end=block.end + shift) for block in layout.blocks
    ] == list(padded.blocks)
    for position in range(len(layout.text)):
        found = padded.source_offset(position + shift)
        assert found == layout.source_offset(position) + len(before)


@pytest.mark.parametrize(
    "unit", ["> ", "- ", "1. ", "# ", "|", "\t", "a: ", "`", "\n", " ", "x\n", "x:\n\n", "- x\n"]
)
def test_long_runs_of_marks_are_read(unit):
    text = unit * 20_000
    check(read_document(".txt", text), text)


@pytest.mark.parametrize(
    ("suffix", "source"),
    [(".txt", "- a\n B"), (".txt", "A.\n  B\n\nC"), (".md", "code"), (".md", "---\na: b\n---\nc")],
)
def test_the_first_line_may_be_indented(suffix, source):
    expected = read_document(suffix, source)
    for before in ("\n", "    ", "\n\t"):
        padded = read_document(suffix, f"{before}{source}\n")
        assert [block.kind for block in padded.blocks] == [block.kind for block in expected.blocks]
        assert padded.text.strip() == expected.text
