from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_rst import RstError
from spacy_rst.doc import LANGUAGE_KEY, NAME_KEY, SOURCE_KEY, TREEBANK_KEY, get_meta
from spacy_rst.languages import multilingual_pipeline
from spacy_rst.relations import relation_class
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.convert import (
    ConversionOptions,
    convert_document,
    convert_files,
    find_files,
    read_file,
    with_classes,
)
from spacy_rst.treebank.docbin import read_docbin
from spacy_rst.treebank.document import EduTokens, TreebankDocument
from spacy_rst.treebank.rs3 import parse_rs3
from spacy_rst.treebank.splits import SplitTable
from spacy_rst.treebank.text import clean_edu_text, is_blanked, is_space_tokenized

from .rs3_files import group, rs3, segment

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
OUR_PIPELINE = multilingual_pipeline()
ENGLISH = ConversionOptions(lang="en")
ENGLISH_RAW = ConversionOptions(lang="en", raw_text=True)
GOOD = rs3(
    segment(9, "Title")
    + segment(1, "It rained,", 3)
    + segment(2, "so we stayed.", 1, "elaboration")
    + group(3, "span")
)


@pytest.fixture
def treebank(tmp_path):
    folder = tmp_path / "bank"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.rs3").write_text(GOOD, encoding="utf8")
    (folder / "deeper" / "b.rs4").write_text(GOOD, encoding="utf8")
    (folder / "blanked.rs3").write_text(
        rs3(
            segment(1, "___ _ __", 3, "joint")
            + segment(2, "__ .", 3, "joint")
            + group(3, "multinuc")
        ),
        encoding="utf8",
    )
    (folder / "notes.txt").write_text("no treebank", encoding="utf8")
    return folder


def read_back(path):
    return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))


def test_folder_becomes_a_docbin(treebank, tmp_path):
    output = tmp_path / "out" / "corpus.spacy"
    options = ConversionOptions(treebank="en.test", lang="en")
    report = convert_files(find_files(treebank), {None: output}, options)
    assert (report.files, report.documents, report.edus, report.removed) == (3, 2, 4, 2)
    assert report.rows()["documents"] == 2 and report.rows()["blanked"] == 1
    assert report.blanked == ["blanked"]
    assert report.labels == {"Elaboration-NS": 2}
    docs = read_back(output)
    assert [doc.text for doc in docs] == ["It rained, so we stayed."] * 2
    assert [get_meta(doc, NAME_KEY) for doc in docs] == ["a", "b"]
    assert get_meta(docs[0], LANGUAGE_KEY) == "en"
    assert get_meta(docs[0], TREEBANK_KEY) == "en.test"
    assert get_meta(docs[0], SOURCE_KEY) == "a.rs3"
    assert docs[0]._.rst_tree.root.left.text == "It rained,"
    assert all(key.startswith("rst_") for key in docs[0].user_data)


def test_one_docbin_per_split(treebank, tmp_path):
    table = SplitTable([("t", "a", "train"), ("t", "b", "dev"), ("t", "blanked", "other")])
    outputs = {"train": tmp_path / "train.spacy", "dev": tmp_path / "dev.spacy"}
    report = convert_files(find_files(treebank), outputs, ConversionOptions(treebank="t"), table)
    assert (report.documents, report.other) == (2, 1)
    assert [get_meta(doc, NAME_KEY) for doc in read_back(outputs["dev"])] == ["b"]


def test_split_without_a_table_or_a_row_is_refused(treebank, tmp_path):
    outputs = {"train": tmp_path / "train.spacy"}
    with pytest.raises(RstError, match="R137"):
        convert_files(find_files(treebank), outputs, ConversionOptions())
    with pytest.raises(RstError, match="R136"):
        convert_files(find_files(treebank), outputs, ConversionOptions(), SplitTable([]))


def test_original_labels_are_kept_on_demand(treebank, tmp_path):
    output = tmp_path / "corpus.spacy"
    report = convert_files(
        find_files(treebank), {None: output}, ConversionOptions(labels="original")
    )
    assert report.labels == {"elaboration-NS": 2}


def test_bad_file_stops_and_leaves_the_old_output(treebank, tmp_path):
    (treebank / "bad.rs3").write_text("<rst>", encoding="utf8")
    output = tmp_path / "corpus.spacy"
    output.write_bytes(b"old")
    with pytest.raises(RstError, match="R102"):
        convert_files(find_files(treebank), {None: output}, ConversionOptions())
    assert output.read_bytes() == b"old"
    assert list(tmp_path.glob(".*")) == []


def test_whatever_is_wrong_with_a_file_is_reported_and_skipped_on_demand(
    treebank, tmp_path, monkeypatch
):
    def fail(*_, **__):
        raise KeyError("surprise")

    monkeypatch.setattr("spacy_rst.treebank.convert.read_dis", fail)
    (treebank / "any.dis").touch()
    (treebank / "bad.rs3").write_text("<rst>", encoding="utf8")
    (treebank / "lost.rs3").symlink_to("nowhere.rs3")
    (treebank / "folder.rs3").mkdir()
    (treebank / "na\udcffme.rs3").write_text("<rst>", encoding="utf8")
    unknown = GOOD.replace("elaboration", "made-up")
    (treebank / "unknown.rs3").write_text(unknown, encoding="utf8")
    options = ConversionOptions(treebank="en.test", skip_bad=True)
    report = convert_files(find_files(treebank), {None: tmp_path / "corpus.spacy"}, options)
    problems = {error.code: str(error) for error in report.skipped}
    assert [error.code for error in report.skipped] == ["R134", "R102", "R134", "R102", "R101"]
    assert "any.dis" in str(report.skipped[0]) and "surprise" in str(report.skipped[0])
    assert "lost.rs3" in problems["R134"] and "na?me" in problems["R102"]
    for part in ("made-up", "unknown.rs3", "en.test\\tmade-up\\t<class>"):
        assert part in problems["R101"]
    assert report.documents == 2


def test_whatever_a_conversion_raises_is_reported_with_its_file(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RstError("[R026] EDU 3 is empty.")

    monkeypatch.setattr("spacy_rst.treebank.convert.binarize", fail)
    files = [SAMPLE / "en" / "harbour_ferry.rs3"]
    with pytest.raises(RstError, match=r"R026.*harbour_ferry\.rs3"):
        convert_files(files, {None: tmp_path / "x.spacy"}, ConversionOptions())


def test_file_names_need_not_be_unicode(treebank, tmp_path):
    path = (treebank / "a.rs3").rename(treebank / "na\udcffme.rs3")
    convert_files([path], {None: tmp_path / "x.spacy"}, ConversionOptions())
    (doc,) = read_back(tmp_path / "x.spacy")
    assert get_meta(doc, NAME_KEY) == "na?me"


def test_missing_and_empty_inputs(tmp_path):
    with pytest.raises(RstError, match="R131"):
        find_files(tmp_path / "nowhere")
    with pytest.raises(RstError, match=r"R132.*\.rs3"):
        find_files(tmp_path)
    strange = tmp_path / "file.strange"
    strange.write_text("x", encoding="utf8")
    (error,) = read_file(strange)
    assert isinstance(error, RstError) and error.code == "R133"


@pytest.mark.parametrize("content", [b"", b"junk", b"\x00" * 100, b"\x80", b"\x93\x01\x02\x03"])
@pytest.mark.parametrize("pack", [bytes, zlib.compress])
def test_what_is_not_a_docbin_is_refused(tmp_path, content, pack):
    path = tmp_path / "x.spacy"
    path.write_bytes(pack(content))
    with pytest.raises(RstError, match=r"R501.*x\.spacy"):
        list(read_docbin(path))


def test_a_docbin_that_is_cut_off_is_refused(treebank, tmp_path):
    convert_files(find_files(treebank), {None: tmp_path / "x.spacy"}, ConversionOptions())
    docbin = DocBin().from_disk(tmp_path / "x.spacy")
    docbin.spaces = docbin.spaces[:1]
    docbin.cats = []
    docbin.to_disk(tmp_path / "y.spacy")
    with pytest.raises(RstError, match=r"R501.*y\.spacy"):
        list(read_docbin(tmp_path / "y.spacy"))


def test_space_tokenised_text_keeps_its_tokens():
    body = segment(1, "Is it , then ?", 3, "joint") + segment(2, "It is n't .", 3, "joint")
    doc = convert_document(parse_rs3(rs3(body + group(3, "multinuc"))), ENGLISH)
    assert [token.text for token in doc][-3:] == ["is", "n't", "."]
    assert [edu.text for edu in doc.spans["edus"]] == ["Is it , then ?", "It is n't ."]


@pytest.mark.parametrize("text", ["raw text, as it is.", "with spaces , everywhere ."])
def test_paragraphs_become_blank_lines(text):
    body = segment(1, text, 3, "joint") + segment(2, f"&lt;P&gt;{text}", 3, "joint")
    doc = convert_document(parse_rs3(rs3(body + group(3, "multinuc"))), ENGLISH)
    assert doc.text == f"{text}\n\n{text}" or doc.text == f"{text}\n\n{text} "
    assert [edu.text for edu in doc.spans["edus"]] == [text, text]


def two_edus(first: str, second: str) -> TreebankDocument:
    body = segment(1, first, 3, "joint") + segment(2, second, 3, "joint")
    return parse_rs3(rs3(body + group(3, "multinuc")))


@pytest.mark.parametrize(
    ("lang", "first", "second", "text"),
    [
        ("en", "Is n't it , then ?", "It can not be .", "Isn't it, then? It cannot be."),
        ("zh", "今天 很 好 ，", "虽然 下 着 雨 。", "今天很好，虽然下着雨。"),
        ("zh", "他 写 了 诗 -LSB- 3 -RSB- ，", "很 好 。", "他写了诗[3]，很好。"),
    ],
)  # fmt: skip
def test_raw_text_is_written_and_tokenized_as_a_pipeline_meets_it(lang, first, second, text):
    document = two_edus(first, second)
    doc = convert_document(document, ConversionOptions(lang=lang, raw_text=True))
    assert doc.text == text
    assert [token.text for token in doc] == [token.text for token in OUR_PIPELINE.make_doc(text)]
    for edu, written in zip(doc.spans["edus"], document.edus, strict=True):
        written = written.replace("-LSB-", "[").replace("-RSB-", "]")
        assert edu.text.replace(" ", "") == written.replace(" ", "")


def test_raw_text_of_sample_documents_is_that_of_the_treebank(tmp_path):
    files = find_files(SAMPLE)
    plain, raw = tmp_path / "plain.spacy", tmp_path / "raw.spacy"
    convert_files(files, {None: plain}, ConversionOptions(lang="xx"))
    convert_files(files, {None: raw}, ConversionOptions(lang="xx", raw_text=True))
    for doc, expected in zip(read_back(raw), read_back(plain), strict=True):
        assert doc.text.rstrip() == expected.text.rstrip()
        assert [edu.text for edu in doc.spans["edus"]] == [
            edu.text for edu in expected.spans["edus"]
        ]
        assert doc._.rst_tree.splits == expected._.rst_tree.splits
        assert [token.text for token in doc] == [
            token.text for token in OUR_PIPELINE.make_doc(doc.text)
        ]


def test_raw_text_keeps_paragraphs():
    doc = convert_document(two_edus("It rained .", "&lt;P&gt;It stopped ."), ENGLISH_RAW)
    assert doc.text == "It rained.\n\nIt stopped."
    assert [edu.text for edu in doc.spans["edus"]] == ["It rained.", "It stopped."]


def test_tokens_of_the_treebank_stay_where_an_edu_would_begin_inside_of_one():
    document = two_edus("well , I ca", "n't go .")
    assert [token.text for token in OUR_PIPELINE.make_doc("can't")] == ["can't"]
    doc = convert_document(document, ENGLISH_RAW)
    assert doc.text == "well, I can't go."
    assert [token.text for token in doc] == " ".join(document.edus).split()
    assert [edu.text for edu in doc.spans["edus"]] == ["well, I ca", "n't go."]


def test_documents_that_keep_their_tokens_are_counted(treebank, tmp_path):
    body = segment(1, "well , I ca", 3, "joint") + segment(2, "n't go .", 3, "joint")
    (treebank / "c.rs3").write_text(rs3(body + group(3, "multinuc")), encoding="utf8")
    for raw_text, n_kept in ((True, 1), (False, 0)):
        options = ConversionOptions(lang="en", raw_text=raw_text)
        report = convert_files(find_files(treebank), {None: tmp_path / "c.spacy"}, options)
        assert (report.documents, report.kept) == (3, n_kept)


def test_tokens_with_known_spaces_are_tokenized_again():
    tokens = [
        EduTokens(["Dr", ".", "No"], [False, True, False], [True, False, False]),
        EduTokens([",", "yes"], [True, False], [False, False]),
    ]
    document = two_edus("Dr. No", ", yes")
    document = replace(document, edus=["Dr. No", ", yes"], tokens=tokens)
    doc = convert_document(document, ENGLISH_RAW)
    assert doc.text == "Dr. No, yes"
    assert [token.text for token in doc] == [
        token.text for token in OUR_PIPELINE.make_doc(doc.text)
    ]
    assert [edu.text for edu in doc.spans["edus"]] == ["Dr. No", ", yes"]


def test_long_labels_take_no_time():
    with pytest.raises(RstError, match="R101"):
        relation_class("made-up" + "-e" * 100_000)


def test_classes_keep_the_shape():
    tree = binarize(parse_rs3(GOOD))
    assert [tuple(split) for split in with_classes(tree).splits] == [(0, 1, 2, "Elaboration-NS")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a\n b ", "a b"),
        ("<P>a", "a"),
        ("a.<P>", "a."),
        ("##### a ######", "a"),
        ("C# and #hashtag", "C# and #hashtag"),
    ],
)
def test_cleaning(text, expected):
    assert clean_edu_text(text) == expected


@pytest.mark.parametrize(
    ("edus", "expected"),
    [
        (["___ __ _ .", "_____"], True),
        (["snake_case is fine", "yes"], False),
        ([], False),
        (["_" * 200_000 + "a"], False),  # takes no time
    ],
)
def test_blanked_texts_are_recognised(edus, expected):
    assert is_blanked(edus) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Well , yes .", True), ("今天 很 好 。", True), ("Well, yes.", False), ("no marks", False)],
)
def test_tokenised_texts_are_recognised(text, expected):
    assert is_space_tokenized([text]) == expected
