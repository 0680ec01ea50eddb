"""`spacy rst export` and `spacy rst show`: trees of all formats, written in all others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from spacy_rst import RstTree
from spacy_rst.cli._formats import FORMATS, TABLE_COLUMNS, TreeFormat
from spacy_rst.tables import read_table

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
FERRY = SAMPLE / "en" / "harbour_ferry.rs3"


@pytest.fixture(scope="module")
def ferry() -> RstTree:
    return RstTree.from_rs3(FERRY.read_text(encoding="utf8"))


def read_back(path: Path) -> RstTree:
    content = path.read_text(encoding="utf8")
    if path.suffix == ".json":
        return RstTree.from_dict(json.loads(content))
    if path.suffix == ".jsonl":
        return RstTree.from_dict(json.loads(content)["tree"])
    return RstTree.from_dis(content) if path.suffix == ".dis" else RstTree.from_rs3(content)


@pytest.mark.parametrize("source", ["dis", "json", "jsonl", "rs3", "spacy"])
@pytest.mark.parametrize("target", ["dis", "json", "jsonl", "rs3"])
def test_every_format_becomes_every_other(rst, ferry, source, target):
    given = Path(f"a.{source}")
    if source == "spacy":
        rst("convert", FERRY, given, "--lang", "en", "--labels", "original")
    else:
        rst("export", FERRY, given)
    rst("export", given, f"out/b.{target}")
    written = read_back(Path(f"out/b.{target}"))
    assert written.splits == ferry.splits and len(written.edus) == len(ferry.edus)


@pytest.mark.parametrize("file_format", ["text", "svg", "html"])
def test_drawings(rst, ferry, file_format):
    rst("export", FERRY, "out/", "--format", file_format)
    (path,) = Path("out").iterdir()
    assert path.name == f"harbour_ferry{FORMATS[TreeFormat(file_format)].ending}"
    assert ferry.root.relation in path.read_text(encoding="utf8")


def test_tables(rst, ferry):
    rst("export", SAMPLE / "en", "all.tsv")
    rst("export", SAMPLE / "en", "all.csv")
    rows = [row for _, row in read_table("all.tsv", TABLE_COLUMNS)]
    with open("all.csv", encoding="utf8", newline="") as file:
        assert list(csv.DictReader(file)) == rows
    found = [row for row in rows if row["document"] == "harbour_ferry"]
    expected = ferry.to_records()
    assert len({row["document"] for row in rows}) == len(list((SAMPLE / "en").glob("*.rs3")))
    assert [row["relation"] for row in found] == [record["relation"] for record in expected]
    assert found[0]["nucleus"] == " ".join(expected[0]["nucleus"].split())
    assert found[0]["score"] == found[0]["nucleus_start"] == ""
    rst("export", SAMPLE / "en", "each/", "--format", "tsv")
    assert (
        Path("each/harbour_ferry.tsv").read_text(encoding="utf8").startswith("document\trelation")
    )


def test_places_stand_in_tables_of_docs(rst):
    rst("convert", FERRY, "a.spacy", "--lang", "en")
    rst("export", "a.spacy", "a.tsv")
    _, row = next(read_table("a.tsv", ["nucleus_start", "nucleus_end", "nucleus"]))
    assert int(row["nucleus_end"]) - int(row["nucleus_start"]) >= len(row["nucleus"])


def test_what_cannot_be_read_is_reported_and_the_rest_written(rst):
    bad = {
        "a.json": "[1]", "b.json": '{"edus": ["x", "y"], "splits": [[0, 9, 2, "Joint-NN"]]}',
        "c.json": "\ud800", "d.json": "[" * 100_000,
        "e.json": '{"edus": 3}', "f.rs3": "<rst>", "g.spacy": "junk", "h.dis": "(", "i.jsonl":
        '\n{"name": "x"}\n{"tree": null}\n{"name": "good", "tree": null}\n' + "9" * 5000,
    }  # fmt: skip
    folder = Path("trees")
    folder.mkdir()
    for name, content in bad.items():
        (folder / name).write_bytes(content.encode(errors="surrogatepass"))
    (folder / "z.rs3").write_bytes(FERRY.read_bytes())
    (folder / "gone.rs3").symlink_to("nowhere.rs3")
    result = rst("export", folder, "out/", "--format", "json", code=2)
    assert "Trees: 1, 1 without text, 12 failed" in result.stderr
    messages = result.stderr.splitlines()[:-1]
    assert len(messages) == 12 and all("[R" in message for message in messages)
    for name in [*bad, "gone.rs3"]:
        assert any(str(folder / name) in message for message in messages), name
    rst("export", folder / "a.json", "out/", code=1)


def test_inputs_are_not_overwritten(rst):
    Path("a.rs3").write_bytes(FERRY.read_bytes())
    before = Path("a.rs3").read_bytes()
    for output in ("a.rs3", "."):
        assert "R522" in rst("export", "a.rs3", output, "--format", "rs3", code=1).stderr
    assert Path("a.rs3").read_bytes() == before
    assert "R519" in rst("export", SAMPLE / "en", "one.rs3", code=1).stderr


def test_show_says_when_there_are_more(rst):
    result = rst("show", SAMPLE / "en")
    assert "--limit 0" in result.stderr and "--limit" not in result.stdout
    assert "more" not in rst("show", FERRY).stderr
    everything = rst("show", SAMPLE / "en", "--limit", 0)
    assert "more" not in everything.stderr and "harbour_ferry" in everything.stdout


def test_show_and_parse_use_the_same_words(rst):
    rst("show", SAMPLE / "en", "-f", "html", "-o", "all.html", "--limit", 2)
    page = Path("all.html").read_text(encoding="utf8")
    assert page.count("<!DOCTYPE") == 1
    names = [path.stem for path in sorted((SAMPLE / "en").glob("*.rs3"))]
    assert [f'"name":"{name}"' in page for name in names] == [True] * 2 + [False] * (len(names) - 2)
    rst("show", FERRY, "-o", "tree.svg")
    assert Path("tree.svg").read_text(encoding="utf8").startswith("<svg")
    assert "Explanation" in rst("show", FERRY, "--classes").stdout


def test_show_of_a_text_names_the_command_for_it(rst):
    Path("a.txt").write_text("It rained.")
    result = rst("show", "a.txt", code=1)
    assert "R512" in result.stderr and "rst parse" in result.stderr
    assert "--format" not in result.stderr
