"""What damaged and hostile files do to the readers: a coded error that names the file, at once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from spacy.tokens import DocBin

from spacy_rst import RstError
from spacy_rst.relations import relation_class
from spacy_rst.tables import read_table
from spacy_rst.treebank.convert import ConversionOptions, convert_files, find_files, read_file
from spacy_rst.treebank.dis import parse_dis
from spacy_rst.treebank.docbin import read_docbin
from spacy_rst.treebank.rs3 import parse_rs3
from spacy_rst.treebank.splits import SplitTable
from spacy_rst.treebank.text import is_blanked

from .rs3_files import group, rs3, segment

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
RELS_HEADER = "doc\tunit1_toks\tunit2_toks\tdir\torig_label\n"


@pytest.fixture
def no_hang():
    """What is tested here would otherwise take hours."""

    def stop(*_):
        raise TimeoutError("it hangs")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


def write_disrpt(folder: Path, tokens: list[str], relations: str = "") -> Path:
    """A document whose tokens are given as `number form [mark]`."""
    lines = ["# newdoc id = one"]
    for token in tokens:
        number, form, *marks = token.split(" ")
        lines.append("\t".join([number, form, *"_______", "|".join(marks) or "_"]))
    (folder / "x.tok").write_text("\n".join(lines) + "\n", encoding="utf8")
    (folder / "x.rels").write_text(RELS_HEADER + relations, encoding="utf8")
    return folder / "x.rels"


def problem_of(path: Path) -> RstError:
    (problem,) = read_file(path)
    assert isinstance(problem, RstError), problem
    assert path.name in str(problem) or path.stem in str(problem)
    return problem


# DISRPT


@pytest.mark.parametrize("number", ["2-1", "2-999999999", "1-" + "9" * 5000, "9" * 5000, "0-1"])
def test_word_ranges_that_cannot_be_are_refused(tmp_path, number, no_hang):
    tokens = ["1 We Seg=B-seg", f"{number} were", "2 wet", "3 , Seg=B-seg", "4 so"]
    path = write_disrpt(tmp_path, tokens, "one\t3-4\t1-2\t1>2\tcause\n")
    assert problem_of(path).code == "R146"


def test_word_ranges_that_overlap_are_refused(tmp_path, no_hang):
    tokens = ["1-2 im", "1 in", "2-3 dem", "2 dem", "3 Haus"]
    assert problem_of(write_disrpt(tmp_path, tokens)).code == "R146"


def test_a_word_range_stays_one_word(tmp_path):
    tokens = ["1-2 im Seg=B-seg", "1 in Seg=B-seg", "2 dem", "3 Haus", "4 , Seg=B-seg", "5 ja"]
    (document,) = read_file(write_disrpt(tmp_path, tokens, "one\t4-5\t1-3\t1>2\tcause\n"))
    assert document.edus == ["im Haus", ", ja"]


@pytest.mark.parametrize("form", ["", " ", "\u2003"])
def test_words_without_a_form_are_refused(tmp_path, form):
    path = write_disrpt(tmp_path, ["1 x Seg=B-seg", "2 y"])
    tokens = path.with_suffix(".tok")
    tokens.write_text(tokens.read_text("utf8").replace("2\ty", f"2\t{form}"), encoding="utf8")
    assert problem_of(path).code == "R146"


def test_numbers_of_any_length_in_relations_are_refused(tmp_path):
    relations = f"one\t{'9' * 5000}\t1\t1>2\tcause\n"
    assert problem_of(write_disrpt(tmp_path, ["1 x"], relations)).code == "R145"


# dis


def test_blanks_in_a_relation_take_no_time(no_hang):
    content = f"( Root (span 1 2)\n ( Nucleus (leaf 1) (rel2par {' ' * 100_000}span x"
    with pytest.raises(RstError, match=r"R120.*2"):
        parse_dis(content)


@pytest.mark.parametrize("relation", ["", "  ", "\n"])
def test_a_relation_without_a_name_is_refused(relation):
    content = f"( Root (span 1 2) ( Nucleus (leaf 1) (rel2par {relation}) (text _!a_!) )"
    with pytest.raises(RstError, match="R120"):
        parse_dis(content)


def test_leaves_with_numbers_of_any_length_are_refused(tmp_path):
    path = tmp_path / "x.dis"
    path.write_text(f"( Root (leaf {'1' * 5000}) (text _!a_!) )", encoding="utf8")
    assert problem_of(path).code == "R120"


@pytest.mark.parametrize("text", ["(text _!_!)", "(text _! <P> _!)", ""])
def test_leaves_without_text_are_refused(tmp_path, text):
    leaf = "( Satellite (leaf 2) (rel2par cause) "
    content = f"( Root (span 1 2)\n( Nucleus (leaf 1) (rel2par span) (text _!a_!) )\n{leaf}{text}))"
    (tmp_path / "x.dis").write_text(content, encoding="utf8")
    problem = problem_of(tmp_path / "x.dis")
    assert problem.code == "R125" and "line 3" in str(problem)


def test_leaves_without_text_take_it_from_the_list_of_edus(tmp_path):
    content = (
        "( Root (span 1 2) ( Nucleus (leaf 1) (rel2par span)) ( Satellite (leaf 2) (rel2par a)))"
    )
    (tmp_path / "x.dis").write_text(content, encoding="utf8")
    (tmp_path / "x.edus").write_text("One,\ntwo.\n", encoding="utf8")
    (document,) = read_file(tmp_path / "x.dis")
    assert document.edus == ["One,", "two."]


# rs3


@pytest.mark.parametrize("text", ["", " ", "\n", "&lt;P&gt;", "#####"])
def test_linked_segments_without_text_are_refused(text):
    body = segment(1, "a", 3, "joint") + segment(2, text, 3, "joint") + group(3, "multinuc")
    with pytest.raises(RstError, match=r"R113\] Segment 2 of"):
        parse_rs3(rs3(body))


def test_unlinked_segments_without_text_do_no_harm():
    body = segment(9, " ") + segment(1, "a", 3) + segment(2, "b", 1, "evidence") + group(3, "span")
    document = parse_rs3(rs3(body))
    assert document.edus == ["a", "b"] and document.removed == []


def test_a_blank_relation_is_none():
    body = segment(1, "a", 3, "  ") + segment(2, "b", 1, "evidence") + group(3, "span")
    assert parse_rs3(rs3(body)).edus == ["a", "b"]


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE rst SYSTEM "http://127.0.0.1/rst.dtd">',
        '<!DOCTYPE rst PUBLIC "-//x//y" "file:///etc/passwd">',
        '<!DOCTYPE rst [<!ENTITY a "b">]>',
    ],
)
def test_files_that_refer_to_others_are_refused(doctype):
    with pytest.raises(RstError, match="R103"):
        parse_rs3(doctype + rs3(segment(1, "a")))


# All readers


def test_whatever_a_reader_raises_is_reported_and_skipped(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise KeyError("surprise")

    (tmp_path / "bank").mkdir()
    good = (SAMPLE / "en" / "harbour_ferry.rs3").read_bytes()
    for name in ("bad.dis", "good.rs3"):
        (tmp_path / "bank" / name).write_bytes(good)
    monkeypatch.setattr("spacy_rst.treebank.convert.read_dis", fail)
    options = ConversionOptions(skip_bad=True)
    report = convert_files(find_files(tmp_path / "bank"), {None: tmp_path / "x.spacy"}, options)
    assert report.documents == 1
    (problem,) = report.skipped
    assert problem.code == "R134" and "bad.dis" in str(problem) and "surprise" in str(problem)


def test_whatever_a_conversion_raises_is_reported_with_its_file(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RstError("[R026] EDU 3 is empty.")

    monkeypatch.setattr("spacy_rst.treebank.convert.binarize", fail)
    files = [SAMPLE / "en" / "harbour_ferry.rs3"]
    with pytest.raises(RstError, match=r"R026.*harbour_ferry\.rs3"):
        convert_files(files, {None: tmp_path / "x.spacy"}, ConversionOptions())


def test_file_names_that_are_no_unicode_can_be_converted(tmp_path):
    path = tmp_path / "na\udcffme.rs3"
    path.write_bytes((SAMPLE / "en" / "harbour_ferry.rs3").read_bytes())
    convert_files([path], {None: tmp_path / "x.spacy"}, ConversionOptions())
    (doc,) = read_docbin(tmp_path / "x.spacy")
    assert doc.user_data["rst_name"] == "na?me"
    path.write_bytes(b"<rst>")
    (problem,) = read_file(path)
    assert "na?me" in str(problem)


def test_long_runs_of_marks_take_no_time(no_hang):
    assert not is_blanked(["_" * 200_000 + "a"])
    with pytest.raises(RstError, match="R101"):
        relation_class("made-up" + "-e" * 100_000)


# DocBins and tables


@pytest.mark.parametrize("content", [b"", b"junk", b"\x00" * 100, b"\x80", b"\x93\x01\x02\x03"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_docbin_is_refused(tmp_path, content, packed):
    import zlib

    path = tmp_path / "x.spacy"
    path.write_bytes(zlib.compress(content) if packed else content)
    with pytest.raises(RstError, match=r"R501.*x\.spacy"):
        list(read_docbin(path))


def test_a_docbin_that_is_cut_off_is_refused(tmp_path):
    convert_files(find_files(SAMPLE / "en"), {None: tmp_path / "x.spacy"}, ConversionOptions())
    docbin = DocBin().from_disk(tmp_path / "x.spacy")
    docbin.spaces = docbin.spaces[:1]
    docbin.cats = []
    docbin.to_disk(tmp_path / "y.spacy")
    with pytest.raises(RstError, match=r"R501.*y\.spacy"):
        list(read_docbin(tmp_path / "y.spacy"))


COLUMNS = ("treebank", "doc", "split")


@pytest.mark.parametrize(
    "content, problem",
    [
        (b"", "does not name treebank, doc, split"),
        (b"treebank\tdoc\n", "does not name split"),
        ("treebank\tdoc\tsplit\nt\t\u00e9\tdev\n".encode("latin1"), "codec"),
        (b"treebank\tdoc\tsplit\nt\tx\n", "line 2 has 2 cells"),
        (b"treebank\tdoc\tsplit\nt\tx\tdev\t\tmore\n", "line 2 has 5 cells"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, content, problem):
    path = tmp_path / "splits.tsv"
    path.write_bytes(content)
    with pytest.raises(RstError, match=rf"R130.*splits\.tsv.*{problem}"):
        SplitTable.from_file(path)


def test_tables_may_have_a_byte_order_mark_long_cells_and_quotes(tmp_path):
    path = tmp_path / "splits.tsv"
    name = '"' + "x" * 200_000
    path.write_bytes(f"\ufefftreebank\tdoc\tsplit\r\n\r\nt\t{name}\tdev\r\n".encode())
    assert list(read_table(path, COLUMNS)) == [(3, {"treebank": "t", "doc": name, "split": "dev"})]
    assert SplitTable.from_file(path).split_of(name, "t") == "dev"
