"""Apertium: the handling of its process with a small program in its place, and the real one."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import string
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import spacy
from spacy.util import registry

from spacy_rst.doc import get_edus, get_tree
from spacy_rst.errors import RstError
from spacy_rst.translator.apertium import ApertiumTranslator, _match_case, _protect, _restore
from spacy_rst.translator.cache import CachedTranslator
from spacy_rst.translator.edus import translate_docs
from spacy_rst.translator.protocol import EngineUnavailable
from tests.sample import sample_docs

# For engines that shall answer, however slow the machine is.
PATIENCE_SECONDS = 1800
PACKAGES = "apertium apertium-eng-spa apertium-eu-en apertium-es-pt"
# Like the real program it reads records up to a NUL and passes blanks on, and holds two records
# back. It writes words in capitals, and does what words such as DIE tell it.
STAND_IN = r"""
import os, re, sys, time
from pathlib import Path
folder = Path(__file__).parent
arguments = sys.argv[1:]
if "-V" in arguments:
    print("Apertium 9.9")
    sys.exit()
if "-l" in arguments:
    for mode in "spa-eng es-pt por-spa es-pt_BR spa-eng-tagger eng-deu en-fr fr-de".split():
        print(" ", mode)
    sys.exit()
with open(folder / "starts", "a") as log:
    log.write(" ".join(arguments) + "\n")
mark = "" if "-u" in arguments else "*"
def records():
    rest = b""
    while chunk := os.read(0, 4096):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
def translate(text):
    blank_or_word = re.compile(r"\[[^]]*\]|\w+")
    return blank_or_word.sub(lambda m: m[0] if m[0][0] == "[" else mark + m[0].upper(), text)
held = []
for record in records():
    text = record.decode()
    if "DIE" in text or ("ONCE" in text and not (folder / "died").exists()):
        (folder / "died").touch()
        sys.stderr.write("out of cheese\n")
        os._exit(3)
    if "HANG" in text:
        time.sleep(600)
    if "DROP" in text:
        continue
    if "EXTRA" in text:
        held.append(b"")
    held.append(translate(text).encode())
    while len(held) > 2:
        os.write(1, held.pop(0) + b"\0")
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "apertium"
    path.write_text(f"#!{sys.executable} -ES\n{STAND_IN}", encoding="utf8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def engine(program):
    engine = ApertiumTranslator(program, timeout=PATIENCE_SECONDS)
    yield engine
    engine.close()


def starts(program: str) -> list[str]:
    return Path(program).with_name("starts").read_text(encoding="utf8").splitlines()


def test_one_process_per_pair_stays_open(engine, program):
    assert engine.translate(["UNO dos", "tres ."], "es", "en") == ["UNO DOS", "TRES ."]
    assert engine.translate(["cuatro"], "es", "en") == ["CUATRO"]
    assert engine.translate([f"n{number}" for number in range(1200)], "es", "en") == [
        f"N{number}" for number in range(1200)
    ]
    assert starts(program) == ["-z -f none -u spa-eng"]


def test_codes_are_found_however_apertium_writes_them(engine):
    assert engine.find_path("es", "en") == engine.find_path("spa", "eng") == ["spa-eng"]
    assert engine.find_path("pt", "es") == ["por-spa"]
    assert engine.find_path("es", "pt") == ["es-pt"]
    assert engine.find_path("es", "pt-BR") == ["es-pt_BR"]


def test_the_shortest_chain_is_taken(engine, program):
    assert engine.find_path("pt", "en") == ["por-spa", "spa-eng"]
    assert engine.find_path("pt", "de") == ["por-spa", "spa-eng", "eng-deu"]
    assert engine.translate(["um dois"], "pt", "en") == ["UM DOIS"]
    assert starts(program) == ["-z -f none -u por-spa", "-z -f none -u spa-eng"]


def test_unknown_pairs_are_refused(engine, program):
    for pair in (("eu", "en"), ("de", "es"), ("es", "es")):
        with pytest.raises(RstError, match=r"R600.*en-de, en-fr, es-en.*pt-es"):
            engine.translate(["x"], *pair)
    with pytest.raises(RstError, match=r"R600.*from 'pt' to 'en'"):
        ApertiumTranslator(program, chains=False).translate(["x"], "pt", "en")


def test_marks_are_kept_on_request_and_only_by_the_last_step(program):
    engine = ApertiumTranslator(program, marks=True)
    assert engine.translate(["um dois"], "pt", "en") == ["*UM *DOIS"]
    assert starts(program) == ["-z -f none -u por-spa", "-z -f none spa-eng"]
    engine.close()


def test_what_breaks_the_protocol_survives(engine):
    texts = [
        "A\nB\r\n\nC",
        "<B>X</B> [Y] {Z} ^A/B$ \\ @ ~",
        "NUL\0NUL",
        "[;7]",
        "[=42]",
        "LONG " * 1000 + "END",
        "",
        " \n ",
        "Ñ 🙂 中",
    ]
    assert engine.translate(texts, "es", "en") == texts


def test_large_batches_do_not_block(program):
    engine = ApertiumTranslator(program, timeout=PATIENCE_SECONDS, batch_size=5000)
    texts = [f"SEGMENT {number} " + "X" * 500 for number in range(3000)]
    assert engine.translate(texts, "es", "en") == texts
    engine.close()


def test_a_process_that_dies_once_is_started_again(engine, program):
    texts = ["uno", "dos", "ONCE", "tres", "cuatro"]
    assert engine.translate(texts, "es", "en") == [text.upper() for text in texts]
    assert len(starts(program)) == 2


def test_a_process_that_was_killed_in_between_is_started_again(engine, program):
    engine.translate(["uno"], "es", "en")
    (process,) = engine._processes.values()
    os.kill(process._popen.pid, signal.SIGKILL)
    assert engine.translate(["dos"], "es", "en") == ["DOS"]
    assert len(starts(program)) == 2


def test_a_process_that_dies_again_is_an_error(engine, program):
    texts = [f"n{number}" for number in range(10)]
    with pytest.raises(RstError, match=r"R602.*'spa-eng'.*It ended\. out of cheese"):
        engine.translate([*texts, "DIE", "after"], "es", "en")
    assert len(starts(program)) == 2
    assert engine.translate(["dos"], "es", "en") == ["DOS"]


@pytest.mark.parametrize("word", ["DROP", "EXTRA"])
def test_a_lost_or_surplus_record_is_an_error(engine, word):
    with pytest.raises(RstError, match=r"R602.*did not answer to segment"):
        engine.translate(["uno", word, "tres", "cuatro", "cinco"], "es", "en")
    assert engine.translate(["uno"], "es", "en") == ["UNO"]


def test_a_silent_process_is_an_error(program):
    engine = ApertiumTranslator(program, timeout=1)
    with pytest.raises(RstError, match=r"R602.*silent for 1 seconds"):
        engine.translate(["uno", "HANG", "tres"], "es", "en")
    engine.timeout = PATIENCE_SECONDS
    assert engine.translate(["uno"], "es", "en") == ["UNO"]
    engine.close()


def test_the_cache_keeps_what_came_before_an_engine_died(engine, program, tmp_path):
    cache = CachedTranslator(engine, tmp_path / "cache.sqlite", batch_size=4)
    texts = [f"n{number}" for number in range(10)]
    with pytest.raises(RstError, match="R602"):
        cache.translate([*texts, "DIE"], "es", "en")
    assert cache.n_translated == 8
    assert cache.translate(texts, "es", "en") == [text.upper() for text in texts]
    assert cache.n_translated == 10


@pytest.mark.parametrize("name", ["no-such-program", "/", __file__])
def test_a_missing_program_is_reported(name):
    engine = ApertiumTranslator(name)
    for ask in (lambda: engine.translate(["x"], "es", "en"), lambda: engine.version):
        with pytest.raises(EngineUnavailable, match=r"R601.*Install Debian's package 'apertium'"):
            ask()


def test_processes_end_when_they_are_closed(engine):
    engine.translate(["uno"], "es", "en")
    (process,) = engine._processes.values()
    engine.close()
    assert process._popen.returncode is not None


def test_a_forked_process_starts_its_own(engine, program):
    engine.translate(["uno"], "es", "en")
    child = os.fork()
    if not child:
        os._exit(0 if engine.translate(["dos"], "es", "en") == ["DOS"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.translate(["tres"], "es", "en") == ["TRES"]
    assert len(starts(program)) == 2


def test_it_can_be_sent_to_other_processes(engine):
    engine.translate(["uno"], "es", "en")
    copy = pickle.loads(pickle.dumps(engine))
    assert copy.translate(["dos"], "es", "en") == ["DOS"]
    copy.close()


def test_versions_tell_data_apart(program, tmp_path):
    data = tmp_path / "data"
    (data / "modes").mkdir(parents=True)
    dictionary = data / "es.bin"
    dictionary.write_bytes(b"one")
    mode = f"lt-proc '{dictionary}' | cat"
    (data / "modes" / "spa-eng.mode").write_text(mode, encoding="utf8")

    def version(**options):
        return ApertiumTranslator(program, data=data, **options).pair_version("es", "en")

    first = version()
    assert first.startswith("9.9,")
    assert version(timeout=PATIENCE_SECONDS) == first
    assert version(marks=True) != first
    portuguese = ApertiumTranslator(program, data=data).pair_version("es", "pt")
    dictionary.write_bytes(b"two")
    assert version() != first
    assert ApertiumTranslator(program, data=data).pair_version("es", "pt") == portuguese


@pytest.mark.parametrize("options", [{"timeout": 0}, {"batch_size": 0}])
def test_wrong_options_are_refused(options):
    with pytest.raises(RstError, match="R612"):
        ApertiumTranslator(**options)


def test_protected_characters_come_back():
    text = "a [b] ^c$ {d} <e> /f\\ @g ~h\n\t\0\x85 é"
    assert not set(_protect(text).replace("[=", "").replace("]", "")) & set("^${}<>/\\@~\n\t\0\x85")
    assert _restore(_protect(text)) == text
    assert _restore(r"and\/or \[x\]") == "and/or [x]"


@pytest.mark.parametrize(
    "segment, translation, expected",
    [
        ("porque llueve", "Because it rains", "because it rains"),
        ("« porque", "« Because", "« because"),
        ("una casa", "A house", "a house"),
        ("Porque", "Because", "Because"),
        ("llueve", "It's raining", "it's raining"),
        ("dice Juan", "Juan says", "Juan says"),
        ("la ONU", "UN says", "UN says"),
        ("creo", "I believe", "I believe"),
        ("123", "Abc", "Abc"),
        ("", "", ""),
    ],
)
def test_segments_that_begin_in_lower_case_stay_so(segment, translation, expected):
    assert _match_case(segment, translation) == expected


def test_it_is_made_from_a_config(program):
    block = {"@rst_translators": "spacy_rst.ApertiumTranslator.v1", "program": program}
    engine = registry.resolve({"engine": {**block, "chains": False, "timeout": 5}})["engine"]
    assert (engine.program, engine.chains, engine.timeout) == (program, False, 5)


# The real program


@pytest.fixture(scope="module")
def apertium():
    if shutil.which("apertium") is None:
        pytest.skip(f"apertium is missing: apt-get install {PACKAGES}")
    engine = ApertiumTranslator()
    missing = {("es", "en"), ("eu", "en"), ("pt", "es")} - set(engine.modes)
    if missing:
        pytest.skip(f"pairs are missing ({missing}): apt-get install {PACKAGES}")
    yield engine
    engine.close()


@pytest.mark.system
def test_real_translations(apertium):
    assert apertium.translate(["El gato duerme.", "porque llueve"], "es", "en") == [
        "The cat sleeps.",
        "because it rains",
    ]
    assert apertium.translate(["Etxe handi bat ."], "eu", "en") == ["A big house ."]
    assert apertium.translate(["O gato dorme ."], "pt", "en") == ["The cat sleeps ."]


@pytest.mark.system
def test_real_versions(apertium):
    installed = subprocess.run(["apertium", "-V"], capture_output=True, text=True).stdout
    versions = {apertium.pair_version(*pair) for pair in (("es", "en"), ("eu", "en"), ("pt", "en"))}
    assert len(versions) == 3
    assert all(version.startswith(installed.split()[1]) for version in versions)


@pytest.mark.system
def test_real_marks(apertium):
    engine = ApertiumTranslator(marks=True)
    assert engine.translate(["El xyzzy duerme"], "es", "en") == ["The *xyzzy sleeps"]
    assert apertium.translate(["El xyzzy duerme"], "es", "en") == ["The xyzzy sleeps"]
    engine.close()


@pytest.mark.system
@pytest.mark.parametrize("pair", [("es", "en"), ("eu", "en"), ("pt", "en"), ("en", "es")])
def test_real_protocol(apertium, pair):
    """Nothing gets lost or out of step, whatever the segments hold."""
    random = Random(0)
    words = [
        "hola",
        "casa",
        "que",
        "el",
        "gato",
        "xyzq",
        "3",
        "12,5",
        "etxe",
        "bat",
        "ez",
        "é",
        "of",
    ]
    odd = string.punctuation + "🙂\u200d\u00a0\u0301«»“”…—¿¡€\t\r\x01\x1b\x7f\u2028\x85中ع\n\0"
    texts = [f"hola{char}casa {char} xyzq{char}" for char in odd]
    for _ in range(400):
        parts = [
            random.choice(words) if random.random() < 0.5 else random.choice(odd)
            for _ in range(random.randint(1, 14))
        ]
        texts.append(random.choice(["", " "]).join(parts))
    texts.append("casa grande, " * 400)
    translated = apertium.translate(texts, *pair)
    kept = set("[]{}^$/\\@<>~\n\0\t\x1b")
    for text, translation in zip(texts, translated, strict=True):
        if text.strip():
            assert sorted(kept & set(text)) == sorted(kept & set(translation)), (text, translation)
    assert translated[-1].count(",") == 400


@pytest.mark.system
def test_real_documents(apertium, tmp_path):
    docs = sample_docs(spacy.blank("xx"), ["es", "eu", "pt"])
    cache = CachedTranslator(apertium, tmp_path / "cache.sqlite")
    translated = translate_docs(docs, cache, None, "en")
    for old, new in zip(docs, translated, strict=True):
        assert len(get_edus(new)) == len(get_edus(old))
        assert get_tree(new).splits == get_tree(old).splits
        assert new.text != old.text
    asked = cache.n_translated
    again = translate_docs(docs, cache, None, "en")
    assert [doc.text for doc in again] == [doc.text for doc in translated]
    assert cache.n_translated == asked > 0
