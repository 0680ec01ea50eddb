from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_rst import RstTree
from spacy_rst.doc import NAME_KEY
from spacy_rst.treebank.docbin import read_docbin
from spacy_rst.treebank.rs3 import read_rs3
from tests.treebank.rs3_files import group, rs3, segment
from tests.treebank.test_disrpt import conllu, save

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
FERRY = SAMPLE / "en" / "harbour_ferry.rs3"


@pytest.fixture
def run(rst):
    return lambda *arguments, code=0: rst(*arguments, code=code).output


def write_list(path: Path, *rows: dict[str, object]) -> None:
    """Write a list of treebanks, with the sample's splits where a row does not say otherwise."""
    rows = [{"splits": SAMPLE / "splits.tsv", **row} for row in rows]
    lines = [list(rows[0]), *(row.values() for row in rows)]
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf8")


def read_docs(path: Path | str) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def test_convert_reports_and_export_gives_the_trees_back(run, tmp_path):
    corpus = tmp_path / "de.spacy"
    output = run("convert", SAMPLE / "de", corpus, "--lang", "de", "--labels", "original")
    assert "removed" in output and "Wrote" in output
    for file_format, read in (("rs3", RstTree.from_rs3), ("dis", RstTree.from_dis)):
        folder = tmp_path / file_format
        run("export", corpus, folder, "--format", file_format)
        for path in sorted((SAMPLE / "de").glob("*.rs3")):
            expected = RstTree.from_rs3(path.read_text(encoding="utf8"))
            written = (folder / f"{path.stem}.{file_format}").read_text(encoding="utf8")
            assert read(written) == expected
    run("export", corpus, tmp_path / "json", "--format", "json")
    data = json.loads((tmp_path / "json" / "library_hours.json").read_text(encoding="utf8"))
    assert RstTree.from_dict(data).splits
    assert len(data["edu_chars"]) == len(data["edus"])


def test_convert_takes_one_split(run):
    table = SAMPLE / "splits.tsv"
    options = ("--treebank", "sample.en", "--splits", table, "--split", "dev")
    assert "documents" in run("convert", SAMPLE / "en", "dev.spacy", *options)
    assert [doc.user_data[NAME_KEY] for doc in read_docs("dev.spacy")] == ["harbour_ferry"]


def test_a_list_becomes_one_file_per_treebank_and_split(run, tmp_path):
    output = run("convert", SAMPLE.parent / "treebanks.tsv", tmp_path, "--only", "sample.*")
    assert "sample.eu" in output
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.spacy"))
    languages = ("de", "en", "es", "eu", "nl", "pt")
    assert written == [
        f"{split}/sample.{lang}.spacy" for split in ("dev", "test", "train") for lang in languages
    ]


def test_options_hold_for_the_empty_cells_of_a_list(run, tmp_path):
    there = {"treebank": "sample.en", "lang": "en", "path": SAMPLE / "en", "splits": ""}
    missing = {"treebank": "sample.x", "lang": "x", "path": "nowhere", "splits": ""}
    write_list(tmp_path / "list.tsv", there, missing)
    options = ("--splits", SAMPLE / "splits.tsv", "--split", "dev", "--labels", "original")
    output = run("convert", tmp_path / "list.tsv", tmp_path / "out", *options)
    assert "sample.x: nothing at" in output
    (path,) = (tmp_path / "out").rglob("*.spacy")
    assert path == tmp_path / "out" / "dev" / "sample.en.spacy"
    (doc,) = read_docbin(path)
    assert {node.relation for node in doc._.rst_tree} & {"evidence", "elaboration", "joint"}


def test_raw_text_guesses_the_spaces(run, tmp_path):
    bank = tmp_path / "bank"
    bank.mkdir()
    text = FERRY.read_text(encoding="utf8")
    (bank / "harbour_ferry.rs3").write_text(re.sub(r"([.,;?!])(?=\s*<)", r" \1", text), "utf8")
    write_list(tmp_path / "list.tsv", {"treebank": "sample.en", "lang": "en", "path": "bank"})
    run("convert", bank, tmp_path / "plain.spacy", "--lang", "en")
    run("convert", bank, tmp_path / "raw.spacy", "--lang", "en", "--raw-text")
    run("convert", FERRY, tmp_path / "original.spacy", "--lang", "en")
    run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--raw-text")
    files = ("plain.spacy", "raw.spacy", "original.spacy", "corpus/dev/sample.en.spacy")
    plain, raw, original, from_list = (read_docs(tmp_path / file)[0].text for file in files)
    assert " ." in plain and plain.split() != original.split()
    assert raw.split() == original.split()
    assert from_list == raw


def test_layout_comes_from_a_folder(run, tmp_path):
    edus = [edu.replace(" ", "") for edu in read_rs3(FERRY).edus]
    texts = ["".join(edus[:3]), "".join(edus[3:])]
    layout = tmp_path / "layout" / "dev"
    layout.mkdir(parents=True)
    (layout / "harbour_ferry.xml").write_text("\n\n".join(texts), encoding="utf8")
    write_list(
        tmp_path / "list.tsv",
        {"treebank": "sample.en", "lang": "en", "path": SAMPLE / "en", "layout": "layout"},
        {"treebank": "sample.de", "lang": "de", "path": SAMPLE / "de", "layout": "nowhere"},
    )
    output = run("convert", tmp_path / "list.tsv", tmp_path / "corpus")
    assert "nowhere, converted without layout" in " ".join(output.split())
    run("convert", FERRY, tmp_path / "ferry.spacy", "--lang", "en", "--layout", layout)
    for path in ("corpus/dev/sample.en.spacy", "ferry.spacy"):
        (doc,) = read_docs(tmp_path / path)
        assert [span.label_ for span in doc.spans["layout"]] == ["paragraph", "paragraph"]
        assert doc.spans["layout"][1].start == doc.spans["edus"][3].start
    (doc,) = read_docs(tmp_path / "corpus/dev/sample.de.spacy")
    assert not doc.spans["layout"]


def test_syntax_comes_from_a_folder(run, tmp_path):
    words = " ".join(read_rs3(FERRY).edus).split()
    lines = [
        "\t".join([str(i), word, "_", "X", "_", "_", str(i - 1), "dep", "_", "_"])
        for i, word in enumerate(words, start=1)
    ]
    (tmp_path / "syntax").mkdir()
    text = "\n".join(["# newdoc id = harbour_ferry", *lines, ""])
    (tmp_path / "syntax" / "all.conllu").write_text(text, encoding="utf8")
    write_list(
        tmp_path / "list.tsv",
        {"treebank": "sample.en", "lang": "en", "path": SAMPLE / "en", "syntax": "syntax"},
        {"treebank": "sample.de", "lang": "de", "path": SAMPLE / "de", "syntax": "nowhere"},
    )
    output = run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--raw-text")
    assert "nowhere, converted without syntax" in " ".join(output.split())
    run("convert", FERRY, tmp_path / "ferry.spacy", "--syntax", tmp_path / "syntax")
    for path in ("corpus/dev/sample.en.spacy", "ferry.spacy"):
        (doc,) = read_docs(tmp_path / path)
        assert doc.has_annotation("DEP") and len(list(doc.sents)) == 1
    (doc,) = read_docs(tmp_path / "corpus/dev/sample.de.spacy")
    assert not doc.has_annotation("DEP")


def test_edus_alone_are_converted_on_demand(run, tmp_path):
    bank = tmp_path / "bank"
    bank.mkdir()
    save(bank, conllu("d", ["It rained ,", "so we stayed ."]), [])
    (tmp_path / "splits.tsv").write_text("treebank\tdoc\tsplit\nen.x\t*\ttrain\n")
    bank_of_edus = {"treebank": "en.x", "lang": "en", "path": "bank", "options": "edus_only"}
    write_list(tmp_path / "list.tsv", {**bank_of_edus, "splits": "splits.tsv"})
    run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--raw-text")
    run("convert", bank, tmp_path / "x.spacy", "--treebank", "en.x", "--raw-text", "--edus-only")
    for path in ("corpus/train/en.x.spacy", "x.spacy"):
        (doc,) = read_docs(tmp_path / path)
        assert [edu.text for edu in doc.spans["edus"]] == ["It rained,", "so we stayed."]
        assert doc._.rst_tree is None
    output = run("convert", FERRY, tmp_path / "ferry.spacy", "--edus-only", code=1)
    assert "R521" in output


def test_raw_text_needs_no_tokenizer_of_the_language(run, tmp_path):
    """spaCy's own for Japanese needs another package."""
    first, second = "雨が降ったので、", "家にいた。"
    content = rs3(segment(1, first, 2, "evidence") + segment(2, second, 3) + group(3, "span"))
    (tmp_path / "x.rs3").write_text(content, encoding="utf8")
    run("convert", tmp_path / "x.rs3", tmp_path / "x.spacy", "--lang", "ja", "--raw-text")
    (doc,) = read_docbin(tmp_path / "x.spacy")
    assert doc.text == first + second
    assert doc.user_data["rst_lang"] == "ja" and len(doc._.rst_tree) == 2


def test_labels_can_have_classes_of_ones_own(run, tmp_path):
    bank, own = tmp_path / "bank", tmp_path / "own.tsv"
    bank.mkdir()
    text = FERRY.read_text(encoding="utf8").replace('"evidence"', '"proof"')
    (bank / "harbour_ferry.rs3").write_text(text, encoding="utf8")
    write_list(tmp_path / "list.tsv", {"treebank": "sample.en", "lang": "en", "path": "bank"})
    output = run("convert", bank, tmp_path / "x.spacy", code=1).replace("\n", " ")
    assert "R101" in output and "--relations" in output
    own.write_text("treebank\tlabel\tclass\n*\tproof\tExplanation\n", encoding="utf8")
    run("convert", bank, tmp_path / "x.spacy", "--relations", own)
    run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--relations", own)
    for path in (tmp_path / "x.spacy", tmp_path / "corpus" / "dev" / "sample.en.spacy"):
        (doc,) = read_docbin(path)
        assert "Explanation" in {node.relation for node in doc._.rst_tree}


def test_a_list_of_which_nothing_is_there_is_refused(run, tmp_path):
    output = run("convert", SAMPLE.parent / "treebanks.tsv", tmp_path, "--only", "x.*", code=1)
    assert "R139" in output


def test_split_draws_the_same_table_again(run):
    for name in ("one.tsv", "two.tsv"):
        run("split", SAMPLE, name, "--treebank", "sample", "--seed", 3)
    first, second = (Path(name).read_text(encoding="utf8") for name in ("one.tsv", "two.tsv"))
    assert first == second
    assert first.startswith("treebank\tdoc\tsplit\tsource\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("convert", "nowhere", "out.spacy"), "R131"),
        (("convert", FERRY, "out.spacy", "--split", "dev"), "R137"),
        (("export", "nowhere.spacy", "folder"), "nowhere.spacy"),
    ],
)
def test_problems_end_with_a_message_and_exit_code_1(run, arguments, expected):
    output = run(*arguments, code=1)
    assert expected in output
    assert "Traceback" not in output
