"""`spacy rst parse`, with a pipeline that knows some Basque documents by heart."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import spacy
from spacy.cli import app
from spacy.language import Language
from spacy.tokens import Doc
from typer.testing import CliRunner

from spacy_rst import RstTree
from spacy_rst.cli import rst_app
from spacy_rst.cli._formats import TreeFormat
from spacy_rst.cli._parsing import EduUnits, load_pipeline
from spacy_rst.cli._util import FileNames
from spacy_rst.doc import set_edus
from tests.cli.processes import start_python
from tests.segmenter.pipelines import joint_pipeline, sample_examples, train

ROOT = Path(__file__).parents[2]
SHORT = "Bai. Ez, baina bai."


@Language.component("fails_on_request")
def fails_on_request(doc: Doc) -> Doc:
    if "FAIL" in doc.text:
        raise ValueError("as requested")
    if "STOP" in doc.text:
        raise KeyboardInterrupt
    return doc


@pytest.fixture(scope="module")
def examples_and_model(tmp_path_factory):
    nlp = joint_pipeline()
    examples = sample_examples(nlp, ["eu"])[:2]
    train(nlp, examples, goals=("edu_span_f", "rst_full"))
    nlp.add_pipe("fails_on_request", before="rst_parser")
    path = tmp_path_factory.mktemp("model")
    nlp.to_disk(path)
    return examples, str(path)


@pytest.fixture(scope="module")
def gold(examples_and_model):
    return [example.reference for example in examples_and_model[0]]


@pytest.fixture
def run(rst, examples_and_model):
    def parse(*arguments, model=examples_and_model[1], **options):
        return rst("parse", *arguments, "--model", model, **options)

    return parse


def write(path: str, content: str | bytes) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def json_lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def names_in(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir() if path.name[0] != ".")


def test_files_become_trees_on_standard_output(run, gold):
    for doc in gold:
        write(f"{doc.user_data['rst_name']}.txt", doc.text)
    result = run(*sorted(Path().glob("*.txt")), "--format", "jsonl", "--batch-size", 1)
    found = {line["name"]: line["tree"] for line in json_lines(result.stdout)}
    for doc in gold:
        assert found[doc.user_data["rst_name"]]["edus"] == [edu.text for edu in doc.spans["edus"]]
        assert RstTree.from_dict(found[doc.user_data["rst_name"]]).splits == doc._.rst_tree.splits
    assert "Trees: 2" in result.stderr


def test_the_default_is_a_drawing_of_standard_input(run, gold):
    by_default = run(stdin=gold[0].text)
    lines = [line for line in by_default.stdout.splitlines() if line]
    assert lines[0] == "stdin" and len(lines) == 2 * len(gold[0].spans["edus"])
    assert run("-", stdin=gold[0].text).stdout == by_default.stdout


def test_standard_input_may_be_jsonl(run):
    lines = '\n{"text": "Bai.", "name": "one"}\n{"text": "Ez.", "id": 0}\n{"text": "Bai."}\n'
    result = run("--format", "jsonl", stdin=lines)
    assert [line["name"] for line in json_lines(result.stdout)] == ["one", "0", "stdin_4"]


def test_a_folder_is_searched_and_gives_a_file_per_document(run):
    write("texts/a.txt", SHORT)
    write("texts/deep/er/a.TXT", SHORT)
    write("texts/b.jsonl", '{"text": "Bai.", "name": "../a"}\n{"text": "Ez.", "name": "A"}\n')
    write("texts/notes.org", "Not read.")
    run("texts", "--format", "rs3", "--output", "trees")
    assert names_in("trees") == ["A_2.rs3", "_a.rs3", "a.rs3", "deep_er_a.rs3"]
    for path in Path("trees").glob("[!.]*"):
        assert RstTree.from_rs3(path.read_text(encoding="utf8"))


def test_names_of_files_are_unique_and_safe(tmp_path):
    names = FileNames()
    given = ["a", "a_2", "a", "A", "a_2", "../../etc/passwd", "...", "語" * 150]
    made = [names.make_unique(name) for name in given]
    assert made[:7] == ["a", "a_2", "a_3", "A_4", "a_2_2", "_.._etc_passwd", "document"]
    (tmp_path / f"{made[7]}.json").write_text("fits")


@pytest.mark.parametrize("file_format", [kind.value for kind in TreeFormat])
def test_formats(run, gold, file_format):
    write("a.txt", gold[0].text)
    printed = run("a.txt", "--format", file_format).stdout
    run("a.txt", "--format", file_format, "--output", "trees/")
    ending = "txt" if file_format == "text" else file_format
    (path,) = Path("trees").glob("[!.]*")
    content = path.read_text(encoding="utf8")
    assert path.name == f"a.{ending}" and content.endswith("\n")
    assert printed == (f"a\n{content}\n" if file_format == "text" else content)
    tree = gold[0]._.rst_tree
    readers = {
        "json": lambda text: RstTree.from_dict(json.loads(text)),
        "jsonl": lambda text: RstTree.from_dict(json.loads(text)["tree"]),
        "rs3": RstTree.from_rs3,
        "dis": RstTree.from_dis,
    }
    if file_format in readers:
        assert readers[file_format](content).splits == tree.splits
    else:
        assert tree.root.relation in content


def test_bad_inputs_do_not_stop_the_others(run):
    write("texts/a.txt", SHORT)
    write("texts/b.txt", b"\xff\xfe")
    write("texts/c.txt", "FAIL")
    write(
        "texts/d.jsonl", b'{"text": "Bai."}\n{oops\n[1]\n\xff\n{"text": "\\ud800"}\n{"text": "Ez."}'
    )
    write("texts/e.txt", SHORT)
    Path("empty").mkdir()
    result = run("texts", "gone.txt", "gone.jsonl", "empty", "--format", "jsonl", code=2)
    assert [line["name"] for line in json_lines(result.stdout)] == ["a", "d_1", "d_6", "e"]
    reasons = dict(line.split(": ", 1) for line in result.stderr.splitlines())
    assert reasons.pop("Trees") == "4, 9 failed"
    expected = {
        "texts/b.txt": "R513",
        "texts/c.txt": "fails_on_request: as requested",
        **{
            f"texts/d.jsonl, line {n}": f"R51{code}" for n, code in ((2, 4), (3, 4), (4, 3), (5, 4))
        },
        "gone.txt": "No such file",
        "gone.jsonl": "No such file",
        "empty": "R512",
    }
    assert reasons.keys() == {str(Path(place)) for place in expected}
    for place, reason in expected.items():
        assert reason in reasons[str(Path(place))]


@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_names_stay_with_their_documents_when_others_drop_out(run, batch_size):
    texts = ["Bai.", "FAIL", SHORT, "FAIL", "FAIL", "Ez.", ""]
    lines = "\n".join(json.dumps({"text": t, "name": f"{i} {t}"}) for i, t in enumerate(texts))
    result = run("--format", "jsonl", "--batch-size", batch_size, stdin=lines, code=2)
    found = [(line["name"], line["tree"]) for line in json_lines(result.stdout)]
    assert [name for name, _ in found] == ["0 Bai.", f"2 {SHORT}", "5 Ez.", "6 "]
    assert [tree and " ".join(tree["edus"]) for _, tree in found] == ["Bai.", SHORT, "Ez.", None]


def test_what_a_folder_hides_is_reported(run, monkeypatch):
    write("texts/a.txt", SHORT)
    Path("texts/gone.txt").symlink_to("nowhere.txt")
    locked = Path("texts/locked")
    write("texts/locked/b.txt", SHORT)
    scan = os.scandir

    def refuse(path):  # as the system does for everyone but root
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = run("texts", "--format", "jsonl", code=2)
    assert [line["name"] for line in json_lines(result.stdout)] == ["a"]
    assert "2 failed" in result.stderr
    for path, reason in {locked: "Permission denied", "texts/gone.txt": "No such file"}.items():
        assert re.search(f"^{path}: .*{reason}", result.stderr, re.MULTILINE)


def test_missing_files_are_reported_before_the_pipeline_is_loaded(run):
    result = run("gone.txt", model="no_model", code=1)
    assert "No such file" in result.stderr and "R091" not in result.stderr
    write("a.txt", SHORT)
    lines = run("gone.txt", "a.txt", model="no_model", code=1).stderr.splitlines()
    assert "No such file" in lines[0] and "R091" in lines[1]


def test_lines_of_wrong_types(run):
    good = {"text": "Bai.", "name": True, "id": 7, "date": "2020", "tags": [None, 1.5]}
    wrong = [
        '{"text": 1}', '{"text": null}', "null", '"text"', '{"text": "a", "x": NaN}',
        '{"text": "a", "x": -Infinity}', '{"text": "a", "x": "\\udc00"}',
        '{"text": "a", "\\ud800": 1}', '{"text": "a", "id": ' + "9" * 5000 + "}",
        '{"text": "a", "x": ' + "[" * 100_000, "9" * 5000,
    ]  # fmt: skip
    lines = "\n".join([json.dumps(good), *wrong, json.dumps({"text": "Ez.", "name": ["a"]})])
    write("a.jsonl", lines)
    result = run("a.jsonl", "--format", "jsonl", code=2)
    assert [line["name"] for line in json_lines(result.stdout)] == ["7", "a_13"]
    assert f"{len(wrong)} failed" in result.stderr and "Traceback" not in result.stderr
    assert result.stderr.count("[R51") == len(wrong)


def test_fields_of_jsonl_are_passed_through(run):
    fields = {"date": "2020-01-01", "tags": ["a", {"b": 1}], "id": 5, "tree": "not ours"}
    line = json.dumps({"text": "Bai.", **fields})
    (found,) = json_lines(run("--format", "jsonl", stdin=line).stdout)
    assert found.pop("tree")["edus"] == ["Bai."]
    assert found == {"name": "5", "date": "2020-01-01", "tags": ["a", {"b": 1}], "id": 5}


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-32-le", "utf-8-sig", "latin-1"])
def test_encodings(run, encoding):
    write("half.txt", b"+2AA-")  # half of a character
    assert "R513" in run("half.txt", "--encoding", "utf-7", code=1).stderr
    text = "Bai, ñandú." if encoding == "latin-1" else "雨が降った。"
    write("a.txt", text.encode(encoding))
    write("b.jsonl", f'{{"text": "Bai."}}\n{{"text": "{text}"}}\n'.encode(encoding))
    arguments = ("--format", "jsonl", "--encoding", encoding)
    found = json_lines(run("a.txt", "b.jsonl", *arguments).stdout)
    found += json_lines(run(*arguments, stdin=Path("b.jsonl").read_bytes()).stdout)
    edus = ["".join(line["tree"]["edus"]).replace(" ", "") for line in found]
    clean = text.replace(" ", "")
    assert edus == [clean, "Bai.", clean, "Bai.", clean]


def test_names_of_files_that_are_not_utf8(run):
    path = os.fsdecode(b"texts/a\xff.txt")
    try:
        write(path, SHORT)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    (line,) = json_lines(run("texts", "--format", "jsonl").stdout)
    assert line["name"] == "a\ufffd"
    run("texts", "--output", "trees")
    assert len(names_in("trees")) == 1


def test_one_page_for_many_documents(run):
    for name in "ab":
        write(f"texts/{name}.txt", SHORT)
    run("texts", "--format", "html", "--output", "all.html")
    page = Path("all.html").read_text(encoding="utf8")
    assert page.count("<!DOCTYPE html>") == 1
    assert '"name":"a"' in page and '"name":"b"' in page
    assert run("texts", "--format", "html").stdout == page


def test_nothing_done_is_exit_code_1(run):
    write("a.txt", "FAIL")
    run("a.txt", "--format", "jsonl", "--output", "trees.jsonl", code=1)
    assert not Path("trees.jsonl").exists()
    write("empty.jsonl", "\n")
    assert "R510" in run("empty.jsonl", code=1).stderr


def test_documents_without_text_have_no_tree(run):
    write("texts/blank.txt", " \n\n")
    write("texts/full.txt", SHORT)
    result = run("texts", "--format", "rs3", "--output", "trees")
    assert "no text" in result.stderr and "1 without text" in result.stderr
    assert names_in("trees") == ["full.rs3"]
    assert run("texts/blank.txt", "--format", "json").stdout == "null\n"
    assert json.loads(run("texts/blank.txt", "--format", "jsonl").stdout)["tree"] is None


def test_an_interrupted_run_leaves_whole_files_and_finished_lines(run):
    for name, text in {"a": SHORT, "b": "STOP", "c": SHORT}.items():
        write(f"texts/{name}.txt", text)
    write("trees.jsonl", "old")
    arguments = ("texts", "--format", "jsonl", "--batch-size", 1)
    for output, kept in {"trees.jsonl": "trees.jsonl.part", "trees/": "trees"}.items():
        result = run(*arguments, "--output", output, code=130)
        assert "--resume" in result.stderr and kept in result.stderr
    assert Path("trees.jsonl").read_text() == "old" and names_in("trees") == ["a.jsonl"]
    assert names_in(".") == ["texts", "trees", "trees.jsonl", "trees.jsonl.part"]
    write("texts/b.txt", SHORT)
    for output in ("trees.jsonl", "trees"):
        result = run(*arguments, "--output", output, "--resume")
        assert "Trees: 2, 1 skipped" in result.stderr
        run(*arguments, "--output", f"undisturbed-{output}")
    for path in Path("undisturbed-trees").glob("[!.]*"):
        assert path.read_text() == Path("trees", path.name).read_text()
    assert names_in("trees") == ["a.jsonl", "b.jsonl", "c.jsonl"]
    assert Path("trees.jsonl").read_text() == Path("undisturbed-trees.jsonl").read_text()
    assert not Path("trees.jsonl.part").exists()


def test_resume_ties_each_file_to_its_text(run):
    """Regression: a text was taken for parsed if another one had given a file of its name."""
    write("texts/a_b.txt", "Bai.")
    write("more/a_b.txt", "Ez.")
    write("lines.jsonl", '{"text": "Ez bai.", "name": "c"}')
    arguments = ("--format", "json", "--output", "trees", "--resume")
    run("texts", "lines.jsonl", *arguments)
    write("texts/a b.txt", SHORT)
    write("lines.jsonl", '{"text": "Bai ez.", "name": "c d"}\n{"text": "Ez bai.", "name": "c"}')
    result = run("texts", "more", "lines.jsonl", *arguments)
    assert "Trees: 3, 2 skipped" in result.stderr
    expected = {"a_b": "Bai.", "a_b_2": SHORT, "a_b_3": "Ez.", "c": "Ez bai.", "c_d": "Bai ez."}
    for name, text in expected.items():
        assert " ".join(json.loads(Path(f"trees/{name}.json").read_text())["edus"]) == text
    assert "5 skipped" in run("texts", "more", "lines.jsonl", *arguments).stderr


@pytest.mark.parametrize(("output", "a_tree"), [("trees", "trees/a.jsonl"), ("t.jsonl", "t.jsonl")])
def test_resume_parses_only_what_is_missing(run, output, a_tree):
    for name in "abc":
        write(f"texts/{name}.txt", "FAIL" if name == "b" else SHORT)
    arguments = ("texts", "--format", "jsonl", "--output", output, "--resume")
    run(*arguments, code=2)
    assert "2 skipped, 1 failed" in run(*arguments, code=2).stderr
    content = Path(a_tree).read_text().replace('"version"', '"kept": 1, "version"')
    write(a_tree, content)
    write("texts/b.txt", "Bai.")
    assert "Trees: 1, 2 skipped" in run(*arguments).stderr
    assert Path(a_tree).read_text().startswith(content)
    run(*arguments[:-1])
    assert "kept" not in Path(a_tree).read_text()


def test_resume_drops_half_a_line_and_refuses_other_files(run):
    write("texts.jsonl", '{"text": "Bai."}\n{"text": "Ez."}\n')
    arguments = ("texts.jsonl", "--format", "jsonl", "--output", "trees.jsonl")
    run(*arguments)
    whole = Path("trees.jsonl").read_text()
    write("trees.jsonl.part", whole[:-9])
    assert "Trees: 1, 1 skipped" in run(*arguments, "--resume").stderr
    assert Path("trees.jsonl").read_text() == whole
    write("trees.jsonl", "[1]\n")
    assert "R524" in run(*arguments, "--resume", code=1).stderr
    assert Path("trees.jsonl").read_text() == "[1]\n"
    assert names_in(".") == ["texts.jsonl", "trees.jsonl"]


def start_parse(model: str, *options: str, cwd: Path) -> subprocess.Popen:
    """Run the command in a process of its own, which knows the component of this module."""
    code = "from tests.cli import test_parse; from spacy.cli import setup_cli; setup_cli()"
    command = ("-c", code, "rst", "parse", "--model", model, *options)
    return start_python(*command, cwd=cwd, PYTHONPATH=ROOT)


def stop_when_something_is_done(running: subprocess.Popen, part: Path, number: int) -> str:
    while running.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.05)
    running.send_signal(number)
    try:
        messages, _ = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 130, messages
    return messages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_keep_what_is_finished(examples_and_model, tmp_path, number):
    """The command waits for its input when it is stopped, so that the test waits for nothing."""
    options = ["--format", "jsonl", "--batch-size", "1", "--output", "trees.jsonl"]
    lines = [json.dumps({"text": f"Bai {i}."}) + "\n" for i in range(3)]
    running = start_parse(examples_and_model[1], *options, cwd=tmp_path)
    running.stdin.write(lines[0] + lines[1])
    running.stdin.flush()
    messages = stop_when_something_is_done(running, tmp_path / "trees.jsonl.part", number)
    assert "--resume" in messages and not (tmp_path / "trees.jsonl").exists()
    again = start_parse(examples_and_model[1], *options, "--resume", cwd=tmp_path)
    messages, _ = again.communicate("".join(lines))
    assert again.returncode == 0 and "skipped" in messages
    names = [line["name"] for line in json_lines((tmp_path / "trees.jsonl").read_text())]
    assert names == ["stdin_1", "stdin_2", "stdin_3"]


def test_workers_do_not_hold_up_the_end(examples_and_model, gold, tmp_path):
    """Regression: workers waited for someone to read what they had done, and spaCy for them."""
    line = json.dumps({"text": "\n\n".join([gold[0].text] * 20)})
    (tmp_path / "texts.jsonl").write_text(f"{line}\n" * 60, encoding="utf8")
    options = ["texts.jsonl", "-", "-o", "trees.jsonl", "--workers", "2", "--batch-size", "2"]
    running = start_parse(examples_and_model[1], *options, cwd=tmp_path)
    stop_when_something_is_done(running, tmp_path / "trees.jsonl.part", signal.SIGTERM)


def test_a_file_for_one_tree_refuses_two(run):
    for name in ("a.txt", "b.txt"):
        write(name, SHORT)
    result = run("a.txt", "b.txt", "--format", "rs3", "--output", "one.rs3", code=1)
    assert "R519" in result.stderr and names_in(".") == ["a.txt", "b.txt"]
    run("a.txt", "--format", "rs3", "--output", "new/one.rs3")
    assert len(RstTree.from_rs3(Path("new/one.rs3").read_text(encoding="utf8"))) > 1
    run("a.txt", "b.txt", "--format", "jsonl", "--output", "two.jsonl")
    assert len(json_lines(Path("two.jsonl").read_text())) == 2


@pytest.mark.parametrize(
    ("given", "file_format", "output"),
    [
        ("texts", "text", "texts"),
        ("texts", "jsonl", "texts/deeper/"),
        ("texts", "jsonl", "texts/all.jsonl"),
        ("texts/a.txt", "text", "texts"),
        ("texts/a.txt", "rs3", "texts/a.txt"),
    ],
)
def test_texts_are_not_overwritten(run, given, file_format, output):
    write("texts/a.txt", SHORT)
    result = run(given, "--format", file_format, "--output", output, code=1)
    assert "R522" in result.stderr
    run("texts", "--format", "rs3", "--output", "texts")  # another ending
    assert names_in("texts") == ["a.rs3", "a.txt"]
    assert Path("texts/a.txt").read_text() == SHORT


def test_a_file_that_cannot_be_written_is_reported(run):
    Path("trees/a.json").mkdir(parents=True)
    write("a.txt", SHORT)
    write("b.txt", SHORT)
    result = run("a.txt", "b.txt", "--format", "json", "--output", "trees", code=2)
    assert "R134" in result.stderr and names_in("trees") == ["a.json", "b.json"]


def test_lines_are_edus(run):
    write("a.txt", "\ufeffErleek koloreak\r\nbereizten dituzte.\r\n\r\n  Bai. Ez.\n")
    tree = json.loads(run("a.txt", "--format", "json", "--edus", "lines").stdout)
    assert tree["edus"] == ["Erleek koloreak", "bereizten dituzte.", "Bai. Ez."]
    assert tree["edu_chars"][2][0] - tree["edu_chars"][1][1] == len("\n\n")
    assert run("--format", "json", "--edus", "lines", stdin="\n \n").stdout == "null\n"


def test_sentences_are_edus(run, gold):
    write("a.txt", gold[0].text)
    tree = json.loads(run("a.txt", "--format", "json", "--edus", "sentences").stdout)
    sentences = spacy.blank("xx")
    sentences.add_pipe("sentencizer")
    assert tree["edus"] == [sentence.text for sentence in sentences(gold[0].text).sents]
    assert len(tree["edus"]) < len(gold[0].spans["edus"])


def test_sentences_of_the_pipeline_are_kept(examples_and_model, tmp_path):
    nlp = spacy.load(examples_and_model[1])
    nlp.add_pipe("sentencizer", first=True, config={"punct_chars": [","]})
    nlp.to_disk(tmp_path)
    loaded = load_pipeline(str(tmp_path), EduUnits.sentences)
    assert [name for name in loaded.pipe_names if "sentencizer" in name] == ["sentencizer"]
    doc = loaded(SHORT)
    assert [edu.text for edu in doc._.rst_tree.edus] == ["Bai. Ez,", "baina bai."]


def test_other_components_with_spans_are_kept(examples_and_model, tmp_path):
    nlp = spacy.load(examples_and_model[1])
    nlp.add_pipe("span_ruler", first=True).add_patterns([{"label": "YES", "pattern": "Bai"}])
    nlp.to_disk(tmp_path)
    for edus in ("sentences", "lines"):
        loaded = load_pipeline(str(tmp_path), edus)
        assert "span_ruler" in loaded.pipe_names and "edu_segmenter" not in loaded.pipe_names


def test_a_pipeline_of_ones_own_segmenter(examples_and_model, tmp_path):
    @Language.component("halves", assigns=["doc.spans"])
    def halves(doc: Doc) -> Doc:
        set_edus(doc, [doc[: len(doc) // 2], doc[len(doc) // 2 :]])
        return doc

    halves.makes_edus = True
    nlp = spacy.load(examples_and_model[1], exclude=["edu_segmenter"])
    nlp.add_pipe("halves", before="rst_parser")
    nlp.to_disk(tmp_path)
    assert len(load_pipeline(str(tmp_path))("Bai Ez Bai Ez")._.rst_tree) == 2


def test_pipelines_that_cannot_parse_are_refused(run, examples_and_model, tmp_path):
    write("a.txt", SHORT)
    spacy.blank("xx").to_disk(tmp_path / "blank")
    assert "R554" in run("a.txt", model="blank", code=1).stderr
    spacy.load(examples_and_model[1], exclude=["edu_segmenter"]).to_disk(tmp_path / "parser")
    assert "R554" in run("a.txt", model="parser", code=1).stderr
    assert run("a.txt", "--edus", "lines", model="parser").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((["--encoding", name], "encoding") for name in ("no-such", "hex", "rot13", "undefined")),
        (["--resume"], "R521"),
        (["--format", "pdf"], "pdf"),
        (["--edus", "words"], "words"),
        (["--no-such-option"], "no-such-option"),
        (["--batch-size", "0"], "batch-size"),
    ],
)
def test_wrong_usage_is_exit_code_1(run, arguments, message):
    write("a.txt", SHORT)
    assert message in run("a.txt", *arguments, code=1).stderr


def test_control_characters_do_not_reach_the_terminal(run):
    lines = json.dumps({"text": "Bai.", "name": "a\x1b[31m\nb"}) + '\n{"text": "FAIL"}'
    result = run(stdin=lines, code=2)
    assert "\x1b" not in result.output and result.stdout.splitlines()[0] == "a[31m b"


@pytest.mark.parametrize("command", [command.name for command in rst_app.registered_commands])
def test_help_is_plain_text_with_an_example(command):
    result = CliRunner().invoke(app, ["rst", command, "--help"])
    assert result.exit_code == 0 and f"python -m spacy rst {command} " in result.output
    assert "**" not in result.output and "`" not in result.output and "\b" not in result.output


def test_markdown_and_html_are_read_with_their_layout(run, gold):
    write("texts/list.md", "# Plan\n\n- We *rest*.\n- We eat.\n")
    write("texts/page.html", "<h1>Plan</h1><ul><li>We rest.<li>We eat.</ul><script>no()</script>")
    printed = run("texts", "--format", "jsonl").stdout
    documents = json_lines(printed)
    assert [document["name"] for document in documents] == ["list", "page"]
    for document in documents:
        starts = [edu.split()[0] for edu in document["tree"]["edus"]]
        assert "no()" not in printed and "*" not in printed
        assert starts[0] == "Plan" and starts.count("We") == 2
