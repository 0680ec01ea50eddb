from __future__ import annotations

import pytest

from spacy_rst import RstError, RstTree
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.dis import parse_dis, read_dis

NESTED = """( Root (span 1 4)
  ( Satellite (leaf 1) (rel2par attribution) (text _!She said_!) )
  ( Nucleus (span 2 4) (rel2par span)
    ( Nucleus (leaf 2) (rel2par List) (text _!that (it) rains,_!) )
    ( Nucleus (leaf 3) (rel2par List) (text _!snows<P>_!) )
    ( Nucleus (leaf 4) (rel2par List) (text _!and hails._!) )
  )
)
"""


def paragraphs(document):
    return [block.start for block in document.blocks]


def test_nary_brackets_are_read_and_chained_to_the_right():
    document = parse_dis(NESTED)
    assert document.edus == ["She said", "that (it) rains,", "snows", "and hails."]
    assert paragraphs(document) == [0, 3]
    chain = [(1, 2, 4, "List-NN"), (2, 3, 4, "List-NN")]
    assert [*map(tuple, binarize(document).splits)] == [(0, 1, 4, "attribution-SN"), *chain]


def test_satellites_on_both_sides():
    content = """( Root (span 1 3)
      ( Satellite (leaf 1) (rel2par background) (text _!a_!) )
      ( Nucleus (leaf 2) (rel2par span) (text _!b_!) )
      ( Satellite (leaf 3) (rel2par example-e) (text _!c_!) ) )"""
    assert [tuple(split) for split in RstTree.from_dis(content).splits] == [
        (0, 1, 3, "background-SN"),
        (1, 2, 3, "example-e-NS"),
    ]


def test_bracket_spans_may_be_wrong_since_the_leaves_decide():
    content = NESTED.replace("(span 2 4)", "(span 3 4)")
    assert RstTree.from_dis(content) == RstTree.from_dis(NESTED)


def test_companion_file_gives_the_texts(tmp_path):
    path = tmp_path / "wsj_0601.out.dis"
    path.write_text(NESTED, encoding="utf8")
    (tmp_path / "wsj_0601.out.edus").write_text(
        "    She said \n    that (it) rains,\n    snows <P>\n    and hails.\n\n", encoding="utf8"
    )
    document = read_dis(path)
    assert document.name == "wsj_0601"
    assert document.edus == ["She said", "that (it) rains,", "snows", "and hails."]


def test_leaves_without_text_take_it_from_the_companion_file(tmp_path):
    (tmp_path / "x.dis").write_text(pair(""), encoding="utf8")
    (tmp_path / "x.edus").write_text("One,\ntwo.\n", encoding="utf8")
    assert read_dis(tmp_path / "x.dis").edus == ["One,", "two."]


def test_companion_file_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "a.dis"
    path.write_text(NESTED, encoding="utf8")
    (tmp_path / "a.edus").write_text("one line only\n", encoding="utf8")
    with pytest.raises(RstError, match=r"R140.*4 EDUs.*1 lines"):
        read_dis(path)


@pytest.mark.parametrize(
    ("article", "expected"),
    [
        ("She said that (it)\nrains,\n\nsnows\n  \nand hails.\n", [0, 2, 3]),
        ("She said that (it) rains, snows and hails.", [0]),
        ("Another article.\n\nWith paragraphs.", [0, 3]),
    ],
)
def test_raw_article_tells_the_paragraphs(tmp_path, article, expected):
    path = tmp_path / "wsj_0601.out.dis"
    path.write_text(NESTED, encoding="utf8")
    (tmp_path / "wsj_0601.out").write_text(article, encoding="utf8")
    assert paragraphs(read_dis(path)) == expected


def test_old_encodings_are_read(tmp_path):
    path = tmp_path / "a.dis"
    path.write_bytes(NESTED.replace("rains", "r\x92ains").encode("latin1"))
    assert read_dis(path).edus[1] == "that (it) r\u2019ains,"


def pair(second: str = "(text _!b_!)", relation: str = "span") -> str:
    first = f"( Nucleus (leaf 1) (rel2par {relation}) (text _!a_!) )"
    return f"( Root (span 1 2)\n{first}\n( Satellite (leaf 2) (rel2par cause) {second}))"


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        ("", "R104", "file.dis"),
        ("just text", "R120", "Line 1"),
        (NESTED + "garbage", "R120", "Line 9"),
        (NESTED + NESTED, "R120", "Line 9 of file.dis"),
        (NESTED.rstrip()[:-1], "R120", "Line 1 of file.dis"),
        (NESTED.replace("leaf 3", "leaf 2"), "R120", "Line 5"),
        (NESTED.replace("(leaf 4)", ""), "R120", "Line 6"),
        (NESTED.replace("_!) )", "_!)", 1), "R120", "Line 4"),
        (f"( Root (leaf {'1' * 5000}) (text _!a_!) )", "R120", "Line 1"),
        *((pair(text), "R120", "Line 3") for text in ("(text _!_!)", "(text _! <P> _!)", "")),
        *((pair(relation=name), "R120", "Line 2") for name in ("", "  ", "\n")),
        (pair(relation=" " * 100_000 + "span ("), "R120", "Line 2"),
        (NESTED.replace("( Nucleus", "( Satellite"), "R105", "EDUs 1 to 4"),
    ],
)
def test_malformed_files_get_a_coded_error(content, code, named):
    with pytest.raises(RstError) as caught:
        binarize(parse_dis(content, source="file.dis"))
    assert caught.value.code == code
    assert named in str(caught.value) and "file.dis" in str(caught.value)


def test_text_marks_inside_a_text_do_not_break_the_file():
    tree = RstTree.from_splits([(0, 1, 2, "List-NN")], ["wow_!) (leaf 9)", "b"])
    assert RstTree.from_dis(tree.to_dis()).edus == ("wow_ !) (leaf 9)", "b")
