from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

import spacy_rst.cli  # noqa: F401  (registers the commands)
from spacy_rst import RstTree
from spacy_rst.treebank.docbin import read_docbin
from spacy_rst.treebank.rs3 import read_rs3
from tests.treebank.rs3_files import group, rs3, segment
from tests.treebank.test_disrpt import conllu, save

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
FERRY = SAMPLE / "en" / "harbour_ferry.rs3"


@pytest.fixture
def run():
    def invoke(*arguments: object, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["rst", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    return invoke


@pytest.mark.parametrize("command", ["convert", "export", "show", "split"])
def test_help_shows_an_example(run, command):
    assert f"python -m spacy rst {command}" in run(command, "--help").replace("\n", " ")


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


def test_convert_takes_one_split(run, tmp_path):
    table = SAMPLE / "splits.tsv"
    output = run(
        "convert", SAMPLE / "en", tmp_path / "dev.spacy", "--treebank", "sample.en", "--lang", "en",
        "--splits", table, "--split", "dev",
    )  # fmt: skip
    assert "documents" in output
    run("export", tmp_path / "dev.spacy", tmp_path / "dev")
    assert [path.stem for path in (tmp_path / "dev").iterdir()] == ["harbour_ferry"]


def test_a_list_becomes_one_file_per_treebank_and_split(run, tmp_path):
    output = run("convert", SAMPLE.parent / "treebanks.tsv", tmp_path, "--only", "sample.*")
    assert "sample.eu" in output
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.spacy"))
    languages = ("de", "en", "es", "eu", "nl", "pt")
    assert written == [
        f"{split}/sample.{lang}.spacy" for split in ("dev", "test", "train") for lang in languages
    ]


def test_options_hold_for_the_empty_cells_of_a_list(run, tmp_path):
    (tmp_path / "list.tsv").write_text(
        f"treebank\tlang\tpath\nsample.en\ten\t{SAMPLE / 'en'}\nsample.x\tx\tnowhere\n"
    )
    options = ("--splits", SAMPLE / "splits.tsv", "--split", "dev", "--labels", "original")
    output = run("convert", tmp_path / "list.tsv", tmp_path / "out", *options)
    assert "sample.x: nothing at" in output
    (path,) = (tmp_path / "out").rglob("*.spacy")
    assert path == tmp_path / "out" / "dev" / "sample.en.spacy"
    (doc,) = read_docbin(path)
    assert {node.relation for node in doc._.rst_tree} & {"evidence", "elaboration", "joint"}


def read_texts(path: Path) -> list[str]:
    return [doc.text for doc in DocBin().from_disk(path).get_docs(Vocab())]


def test_raw_text_guesses_the_spaces(run, tmp_path):
    bank = tmp_path / "bank"
    bank.mkdir()
    text = FERRY.read_text(encoding="utf8")
    (bank / "harbour_ferry.rs3").write_text(re.sub(r"([.,;?!])(?=\s*<)", r" \1", text), "utf8")
    (tmp_path / "list.tsv").write_text(
        f"treebank\tlang\tpath\tsplits\toptions\nsample.en\ten\tbank\t{SAMPLE / 'splits.tsv'}\t\n",
        encoding="utf8",
    )
    run("convert", bank, tmp_path / "plain.spacy", "--lang", "en")
    run("convert", bank, tmp_path / "raw.spacy", "--lang", "en", "--raw-text")
    run("convert", SAMPLE / "en" / "harbour_ferry.rs3", tmp_path / "original.spacy", "--lang", "en")
    run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--raw-text")
    (plain,), (raw,) = read_texts(tmp_path / "plain.spacy"), read_texts(tmp_path / "raw.spacy")
    (original,) = read_texts(tmp_path / "original.spacy")
    assert " ." in plain and plain.split() != original.split()
    assert raw.split() == original.split()
    assert read_texts(tmp_path / "corpus" / "dev" / "sample.en.spacy") == [raw]


def test_layout_comes_from_a_folder(run, tmp_path):
    edus = [edu.replace(" ", "") for edu in read_rs3(FERRY).edus]
    texts = ["".join(edus[:3]), "".join(edus[3:])]
    layout = tmp_path / "layout" / "dev"
    layout.mkdir(parents=True)
    (layout / "harbour_ferry.xml").write_text("\n\n".join(texts), encoding="utf8")
    (tmp_path / "list.tsv").write_text(
        "treebank\tlang\tpath\tsplits\tlayout\n"
        f"sample.en\ten\t{SAMPLE / 'en'}\t{SAMPLE / 'splits.tsv'}\tlayout\n"
        f"sample.de\tde\t{SAMPLE / 'de'}\t{SAMPLE / 'splits.tsv'}\tnowhere\n",
        encoding="utf8",
    )
    output = run("convert", tmp_path / "list.tsv", tmp_path / "corpus")
    assert "nowhere, converted without layout" in " ".join(output.split())
    run("convert", FERRY, tmp_path / "ferry.spacy", "--lang", "en", "--layout", layout)
    for path in ("corpus/dev/sample.en.spacy", "ferry.spacy"):
        (doc,) = DocBin().from_disk(tmp_path / path).get_docs(Vocab())
        assert [span.label_ for span in doc.spans["layout"]] == ["paragraph", "paragraph"]
        assert doc.spans["layout"][1].start == doc.spans["edus"][3].start
    (doc,) = DocBin().from_disk(tmp_path / "corpus/dev/sample.de.spacy").get_docs(Vocab())
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
    (tmp_path / "list.tsv").write_text(
        "treebank\tlang\tpath\tsplits\tsyntax\n"
        f"sample.en\ten\t{SAMPLE / 'en'}\t{SAMPLE / 'splits.tsv'}\tsyntax\n"
        f"sample.de\tde\t{SAMPLE / 'de'}\t{SAMPLE / 'splits.tsv'}\tnowhere\n",
        encoding="utf8",
    )
    output = run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--raw-text")
    assert "nowhere, converted without syntax" in " ".join(output.split())
    run("convert", FERRY, tmp_path / "ferry.spacy", "--syntax", tmp_path / "syntax")
    for path in ("corpus/dev/sample.en.spacy", "ferry.spacy"):
        (doc,) = DocBin().from_disk(tmp_path / path).get_docs(Vocab())
        assert doc.has_annotation("DEP") and len(list(doc.sents)) == 1
    (doc,) = DocBin().from_disk(tmp_path / "corpus/dev/sample.de.spacy").get_docs(Vocab())
    assert not doc.has_annotation("DEP")


def test_edus_alone_are_converted_on_demand(run, tmp_path):
    bank = tmp_path / "bank"
    bank.mkdir()
    save(bank, conllu("d", ["It rained ,", "so we stayed ."]), [])
    (tmp_path / "splits.tsv").write_text("treebank\tdoc\tsplit\nen.x\t*\ttrain\n")
    (tmp_path / "list.tsv").write_text(
        "treebank\tlang\tpath\tsplits\toptions\nen.x\ten\tbank\tsplits.tsv\tedus_only\n"
    )
    run("convert", tmp_path / "list.tsv", tmp_path / "corpus", "--raw-text")
    run("convert", bank, tmp_path / "x.spacy", "--treebank", "en.x", "--raw-text", "--edus-only")
    for path in ("corpus/train/en.x.spacy", "x.spacy"):
        (doc,) = DocBin().from_disk(tmp_path / path).get_docs(Vocab())
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
    (tmp_path / "list.tsv").write_text(
        f"treebank\tlang\tpath\tsplits\nsample.en\ten\tbank\t{SAMPLE / 'splits.tsv'}\n",
        encoding="utf8",
    )
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


def test_show_draws_a_tree(run, tmp_path):
    output = run("show", FERRY, "--classes")
    assert "harbour_ferry" in output
    tree = RstTree.from_rs3(FERRY.read_text(encoding="utf8"))
    assert output.count("\n") >= 2 * len(tree) - 1
    run("show", FERRY, "--format", "svg", "--output", tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf8").startswith("<svg")


def test_split_draws_the_same_table_again(run, tmp_path):
    for name in ("one.tsv", "two.tsv"):
        run("split", SAMPLE, tmp_path / name, "--treebank", "sample", "--seed", 3)
    first = (tmp_path / "one.tsv").read_text(encoding="utf8")
    assert first == (tmp_path / "two.tsv").read_text(encoding="utf8")
    assert first.startswith("treebank\tdoc\tsplit\tsource\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("convert", "nowhere", "out.spacy"), "R131"),
        (("convert", FERRY, "out.spacy", "--split", "dev"), "R137"),
        (("export", "nowhere.spacy", "folder"), "nowhere.spacy"),
    ],
)
def test_problems_end_with_a_message_and_exit_code_1(
    run, arguments, expected, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    output = run(*arguments, code=1)
    assert expected in output
    assert "Traceback" not in output
