"""`spacy rst agree`: files and folders of all formats against each other."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from spacy_rst import RstTree
from tests.treebank.test_disrpt import conllu, row, save

SAMPLE = Path(__file__).parents[2] / "assets" / "sample" / "en"
EDUS = ["It rained,", "so we stayed", "and read."]
ANNA = RstTree.from_splits([(0, 1, 3, "cause-SN"), (1, 2, 3, "list-NN")], EDUS)
BEN = RstTree.from_splits([(0, 2, 3, "list-NN"), (0, 1, 2, "result-NS")], EDUS)


@pytest.fixture
def run(rst):
    return partial(rst, "agree")


def write(path: str, tree: RstTree) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {
        ".rs3": tree.to_rs3,
        ".dis": tree.to_dis,
        ".json": lambda: json.dumps(tree.to_dict()),
    }[file.suffix]()
    file.write_text(content, encoding="utf8")


@pytest.mark.parametrize("second", ["ben.rs3", "ben.dis", "ben.json"])
def test_two_files_of_any_name_and_format(run, second):
    write("anna.rs3", ANNA)
    write(second, BEN)
    result = run("anna.rs3", second, "--differences")
    _, _, figures, *rest = result.stdout.splitlines()
    # All leaves are shared, 3 of 4 spans; of the inner nodes the root.
    assert figures.split() == [
        "anna", "3", "3", "1", "100.0", "75.0", "25.0", "25.0", "25.0", "50.0", "0.0", "0.0", "0.0",
        "0.00", "0.00",
    ]  # fmt: skip
    assert rest == [
        "",
        "anna",
        "  cause-SN | list-NN | It rained, ... and read.",
        "  - | result-NS | It rained, ... so we stayed",
        "  list-NN | - | so we stayed ... and read.",
    ]


def test_folders_are_matched_by_name_and_pooled(run):
    for folder, name, tree in [("a", "x", ANNA), ("a", "y", BEN), ("a", "only", BEN)]:
        write(f"{folder}/{name}.rs3", tree)
    for name, tree in [("x", ANNA), ("y", ANNA)]:
        write(f"b/{name}.json", tree)
    result = run("a", "b", "--format", "json", "--differences")
    report = json.loads(result.stdout)
    assert list(report["documents"]) == ["x", "y"]
    assert report["documents"]["x"]["original_full"] == 1
    assert report["all"]["original_span"] == pytest.approx(3 / 4)
    assert report["all"]["shared_nodes"] == 3 and report["all"]["edus"] == [6, 6]
    assert report["documents"]["y"]["differences"][0]["second"] == "cause-SN"
    assert "1 documents are in a only" in result.stderr
    assert "all documents" in run("a", "b").stdout
    run("a", "b", "--output", "figures.txt")
    assert "all documents" in Path("figures.txt").read_text(encoding="utf8")


def test_classes(run):
    write("anna.rs3", ANNA)
    classes = [(0, 1, 3, "Cause-SN"), (1, 2, 3, "Joint-NN")]
    write("parsed.json", RstTree.from_splits(classes, EDUS))
    result = run("anna.rs3", "parsed.json", "--format", "json")
    assert json.loads(result.stdout)["all"]["original_relation"] == 0
    assert "--classes" in result.stderr
    result = run("anna.rs3", "parsed.json", "--format", "json", "--classes")
    assert json.loads(result.stdout)["all"]["original_full"] == 1
    assert "--classes" not in result.stderr


def test_treebanks_and_docbins(run, rst):
    rst("convert", SAMPLE, "en.spacy", "--lang", "en", "--labels", "original")
    report = json.loads(run(SAMPLE, "en.spacy", "--format", "json").stdout)
    names = {path.stem for path in SAMPLE.glob("*.rs3")}
    assert report["documents"].keys() == names and len(names) > 1
    assert report["all"]["original_full"] == report["all"]["edu_span_f"] == 1
    assert report["all"]["kappa_relation"] == 1


def test_disrpt_against_rs3(run, tmp_path):
    words = [edu.replace(" ", "") for edu in EDUS]
    relations = [row("d", "1", "2", "1>2", "cause"), row("d", "2", "3", "1<2", "list")]
    rels = save(tmp_path, conllu("d", words), relations)
    write("d.rs3", ANNA.with_edus(words))
    report = json.loads(run(rels, "d.rs3", "--format", "json").stdout)
    assert report["all"]["edu_span_f"] == report["all"]["rst_span"] == 1


def test_what_cannot_be_compared_is_reported(run):
    write("a/x.rs3", ANNA)
    write("a/y.rs3", ANNA)
    write("a/deep/y.rs3", ANNA)
    write("b/x.rs3", BEN)
    write("b/y.rs3", RstTree.from_splits([(0, 1, 2, "list-NN")], ["Another", "text."]))
    Path("a/bad.rs3").write_text("<rst>")
    result = run("a", "b", code=2)
    for code in ("R741", "R740", "R10"):
        assert code in result.stderr
    assert "x" in result.stdout and "Traceback" not in result.output
    write("c/z.rs3", ANNA)
    write("c/w.rs3", ANNA)
    assert "R741" in run("b", "c", code=1).stderr
    assert "R512" in run("nowhere", "c", code=1).stderr
