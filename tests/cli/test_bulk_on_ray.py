"""`spacy rst parse --engine ray`, with a real Ray on this computer and processes that die."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from thinc.api import Config

from spacy_rst.pipelines import load, pipeline_path
from tests.cli.processes import start_python

pytest.importorskip("ray")
import psutil  # comes with Ray

pytestmark = pytest.mark.system

N_DOCUMENTS = 300
PART_SIZE = 10
SENTENCES = [
    "It rained all day, so we stayed at home.",
    "Although the ferry was late, nobody minded, because the sun shone.",
    "She left when the music stopped.",
    "If you press the button, the door opens; otherwise it stays shut.",
]
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
# A component that takes its process with it, or holds a document until a file is there, so that no
# test has to be quicker than the run it disturbs.
DISTURBING = """
import os
import time
from spacy.language import Language

@Language.component("disturbing")
def disturbing(doc):
    if "DIE" in doc.text:
        os._exit(1)
    while "HOLD" in doc.text and not os.path.exists(os.environ["SPACY_RST_TEST_GATE"]):
        time.sleep(0.1)
    return doc
"""


def start(*arguments: object, cwd: Path) -> subprocess.Popen:
    command = ("-m", "spacy", "rst", "parse", "--engine", "ray", *arguments)
    places = {"PYTHONPATH": cwd / "package", "SPACY_RST_TEST_GATE": cwd / "gate"}
    return start_python(*command, cwd=cwd, **places)


def finish(process: subprocess.Popen, code: int = 0) -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == code, output
    return output


def descendants(process: int) -> dict[psutil.Process, str]:
    """The command lines of the processes that a process has started, directly or not."""
    found = {}
    for child in psutil.Process(process).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            found[child] = " ".join(child.cmdline())
    return found


def listening_addresses(processes: Iterable[int]) -> set[str]:
    sockets = psutil.net_connections("tcp")
    listening = [socket for socket in sockets if socket.status == psutil.CONN_LISTEN]
    return {socket.laddr.ip for socket in listening if socket.pid in processes}


def wait_until(condition: Callable[[], object], process: subprocess.Popen) -> None:
    for _ in range(3000):
        if condition():
            return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    raise AssertionError("waited too long")


def parts_in(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(processes: dict[psutil.Process, str]) -> None:
    for _ in range(3000):
        if all(map(is_gone, processes)):
            return
        time.sleep(0.1)
    raise AssertionError([line for child, line in processes.items() if not is_gone(child)])


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Documents of different lengths, none like another, and one without text."""
    documents = {}
    for number in range(N_DOCUMENTS):
        chosen = [SENTENCES[(number + n) % len(SENTENCES)] for n in range(1 + number % 7)]
        documents[f"doc{number}"] = f"Number {number} is this. " + " ".join(chosen)
    documents["doc7"] = ""
    documents["doc200"] += " HOLD the line."
    return documents


@pytest.fixture(scope="module")
def trees(texts):
    docs = load().pipe(texts.values())
    return dict(zip(texts, (doc._.rst_json for doc in docs), strict=True))


@pytest.fixture
def inputs(texts, tmp_path) -> Path:
    """A third as JSONL, a third as Parquet, a third as files of their own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "texts"
    folder.mkdir()
    named = list(texts.items())
    lines = [json.dumps({"name": name, "text": text, "kept": 1}) for name, text in named[::3]]
    (folder / "lines.jsonl").write_text("\n".join(lines), encoding="utf8")
    names, rows = zip(*named[1::3], strict=True)
    pq.write_table(pa.table({"id": names, "text": rows}), folder / "rows.parquet")
    for name, text in named[2::3]:
        (folder / f"{name}.txt").write_text(text, encoding="utf8")
    return folder


@pytest.fixture
def model(tmp_path) -> Path:
    """The bundled pipeline with the disturbing component, which has an entry point."""
    information = tmp_path / "package" / "disturbing-1.dist-info"
    information.mkdir(parents=True)
    (tmp_path / "package" / "disturbing.py").write_text(DISTURBING)
    (information / "METADATA").write_text("Name: disturbing\nVersion: 1\n")
    entry_point = "[spacy_factories]\ndisturbing = disturbing:disturbing\n"
    (information / "entry_points.txt").write_text(entry_point)
    shutil.copytree(pipeline_path("xx_rst_sm"), tmp_path / "model")
    config = Config().from_disk(tmp_path / "model" / "config.cfg")
    config["nlp"]["pipeline"].insert(0, "disturbing")
    config["components"]["disturbing"] = {"factory": "disturbing"}
    config.to_disk(tmp_path / "model" / "config.cfg")
    return tmp_path / "model"


def rows_in(folder: Path) -> list[dict]:
    import pyarrow.parquet as pq

    rows = pq.read_table(folder).to_pylist()
    for row in rows:
        if row["tree"] is not None:
            row["tree"]["splits"] = [list(split.values()) for split in row["tree"]["splits"]]
    return rows


def check_rows(rows: list[dict], trees: dict) -> None:
    """None is missing, none is there twice, and all are as without Ray."""
    assert Counter(row["name"] for row in rows) == Counter(list(trees))
    assert {row["error"] for row in rows} == {None}
    for row in rows:
        tree, expected = row["tree"], trees[row["name"]]
        assert (tree is None) == (expected is None)
        if tree is not None:
            for key in ("version", "edus", "edu_chars", "splits"):
                assert tree[key] == expected[key], row["name"]
            for scores, expected_scores in zip(tree["scores"], expected["scores"], strict=True):
                assert scores == pytest.approx(expected_scores, abs=1e-5)
            assert len(row["relations"]) == len(tree["splits"])


def test_a_worker_that_is_killed_loses_nothing(inputs, model, trees, tmp_path):
    out = tmp_path / "out"
    settings = ("--model", model, "--output", out, "--workers", 2, "--part-size", PART_SIZE)
    process = start(inputs, *settings, cwd=tmp_path)
    wait_until(lambda: parts_in(out), process)
    started = descendants(process.pid)
    workers = [child for child, line in started.items() if line.startswith("ray::MapWorker")]
    assert len(workers) == 2
    found = listening_addresses({process.pid, *(child.pid for child in started)})
    assert found and found <= LOOPBACK
    workers[0].kill()
    (tmp_path / "gate").touch()
    output = finish(process)
    assert f"Trees: {N_DOCUMENTS - 1}, 1 without text" in output
    assert f"{N_DOCUMENTS}doc" in output
    check_rows(rows_in(out), trees)
    fields = {row["name"]: row["fields"] for row in rows_in(out)}
    assert json.loads(fields["doc0"]) == {"name": "doc0", "kept": 1}
    assert fields["doc1"] is None
    wait_until_gone(started)
    assert [path.name for path in out.glob(".*")] == []


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_another_run_goes_on(inputs, model, trees, tmp_path, end):
    out = tmp_path / "out"
    settings = ("--model", model, "--output", out, "--workers", 2, "--part-size", PART_SIZE)
    arguments = (inputs, *settings)
    process = start(*arguments, cwd=tmp_path)
    wait_until(lambda: len(parts_in(out)) >= 3, process)
    started = descendants(process.pid)
    process.send_signal(end)
    output = finish(process, -signal.SIGKILL if end is signal.SIGKILL else 130)
    assert ("run it again to go on" in output) == (end is signal.SIGINT)
    wait_until_gone(started)  # Ray's processes notice the end of ours
    before = parts_in(out)
    assert 3 <= len(before) < N_DOCUMENTS / PART_SIZE
    (tmp_path / "gate").touch()
    output = finish(start(*arguments, cwd=tmp_path))
    assert "skipped" in output
    after = parts_in(out)
    assert {name: after[name] for name in before} == before
    check_rows(rows_in(out), trees)
    again = finish(start(*arguments, cwd=tmp_path))
    assert f"Trees: 0, {N_DOCUMENTS} skipped" in again
    assert parts_in(out) == after


def test_documents_that_fail_or_kill_are_rows(model, tmp_path):
    lines = [json.dumps({"text": f"This is number {n}."}) for n in range(20)]
    lines[6], lines[11] = '{"text": "DIE, all of you."}', "nonsense"
    (tmp_path / "lines.jsonl").write_text("\n".join(lines))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    arguments = ("lines.jsonl", "latin.txt", "--model", "model", "--format", "jsonl")
    settings = ("--output", "out", "--workers", 1, "--part-size", 10)
    process = start(*arguments, *settings, cwd=tmp_path)
    output = finish(process, code=2)
    assert "Trees: 18, 3 failed" in output
    assert "lines.jsonl, line 7: [R568]" in output
    rows = [
        json.loads(line)
        for path in (tmp_path / "out").glob("part-*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(rows) == 21
    errors = {row["name"]: row["error"][:6] for row in rows if row["error"]}
    assert errors == {"lines_7": "[R568]", "lines_12": "[R514]", "latin": "[R513]"}
