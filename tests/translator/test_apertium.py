"""Apertium: the handling of its process with a small stand-in, and the real program."""

from __future__ import annotations

import shutil
import string
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from random import Random

import pytest

from spacy_rst.errors import RstError
from spacy_rst.translator.apertium import ApertiumTranslator, _match_case, _protect, _restore
from spacy_rst.translator.protocol import EngineUnavailable

PACKAGES = "apertium apertium-eng-spa apertium-eu-en apertium-es-pt"
# Like the real program it reads records up to a NUL and passes blanks on. It writes words in
# capitals, and does what words such as DIE tell it.
STAND_IN = r"""
import os, re, subprocess, sys, time
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
def translate(text):
    blank_or_word = re.compile(r"\[[^]]*\]|\w+")
    return blank_or_word.sub(lambda m: m[0] if m[0][0] == "[" else m[0].upper(), text)
for record in sys.stdin.buffer.read().split(b"\0")[:-1]:
    text = record.decode()
    if "DIE" in text or ("ONCE" in text and not (folder / "died").exists()):
        (folder / "died").touch()
        sys.stderr.write("out of cheese\n")
        sys.stdout.flush()
        os._exit(3)
    if "HANG" in text:
        child = subprocess.Popen(["sleep", "600"])
        (folder / "child").write_text(str(child.pid))
        child.wait()
    if "DROP" in text:
        continue
    if "EXTRA" in text:
        sys.stdout.write("\0")
    sys.stdout.write(translate(text) + "\0")
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "apertium"
    path.write_text(f"#!{sys.executable} -ES\n{STAND_IN}", encoding="utf8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def engine(program):
    return ApertiumTranslator(program)


def starts(program: str) -> list[str]:
    return Path(program).with_name("starts").read_text(encoding="utf8").splitlines()


def test_a_large_call_is_one_process_and_does_not_block(engine, program):
    texts = [f"n{number} " + "x" * 500 for number in range(3000)]
    assert engine.translate(texts, "es", "en") == [text.upper() for text in texts]
    assert starts(program) == ["-z -f none -u spa-eng"]


@pytest.mark.parametrize(
    "source, target, path",
    [
        ("es", "en", ["spa-eng"]),
        ("spa", "eng", ["spa-eng"]),
        ("es", "pt", ["es-pt"]),
        ("es", "pt-BR", ["es-pt_BR"]),
        ("pt", "en", ["por-spa", "spa-eng"]),
        ("pt", "de", ["por-spa", "spa-eng", "eng-deu"]),
    ],
)
def test_the_shortest_path_is_taken(engine, program, source, target, path):
    assert engine.find_path(source, target) == path
    assert engine.translate(["um dois"], source, target) == ["UM DOIS"]
    assert starts(program) == [f"-z -f none -u {mode}" for mode in path]


@pytest.mark.parametrize("pair", [("eu", "en"), ("de", "es"), ("es", "es")])
def test_unknown_pairs_are_refused(engine, pair):
    with pytest.raises(RstError, match=r"R600.*en-de, en-fr, es-en.*pt-es"):
        engine.translate(["x"], *pair)


def test_what_breaks_the_protocol_survives(engine):
    texts = [
        "A\nB\r\n\nC",
        "<B>X</B> [Y] {Z} ^A/B$ \\ @ ~",
        "NUL\0NUL",
        "[;7]",
        "[=42]",
        "",
        " \n ",
    ]
    texts += ["LONG " * 1000 + "END", "Ñ 🙂 中"]
    assert engine.translate(texts, "es", "en") == texts


def test_what_gets_lost_is_sent_again(engine, program):
    texts = ["uno", "dos", "ONCE", "EXTRA", "cuatro"]
    assert engine.translate(texts, "es", "en") == [text.upper() for text in texts]
    assert len(starts(program)) == 2


@pytest.mark.parametrize("word, problem", [("DIE", "out of cheese"), ("DROP", "")])
def test_a_segment_that_gets_lost_again_is_an_error(engine, word, problem):
    with pytest.raises(RstError, match=rf"R602.*'spa-eng'.*segment '{word}'\. {problem}"):
        engine.translate(["uno", "dos", word], "es", "en")
    assert engine.translate(["dos"], "es", "en") == ["DOS"]


def test_a_program_that_hangs_is_ended_with_its_children(program):
    engine = ApertiumTranslator(program, timeout=10)
    with pytest.raises(RstError, match=r"R602.*It took over 10 seconds"):
        engine.translate(["HANG"], "es", "en")
    child = int(Path(program).with_name("child").read_text())
    # A process that was killed takes a moment to end; a forgotten one sleeps for ten minutes.
    for _ in range(600):
        if has_ended(child):
            break
        time.sleep(0.1)
    assert has_ended(child)


def has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("name", ["no-such-program", "/", __file__])
def test_a_missing_program_is_reported(name):
    engine = ApertiumTranslator(name)
    for ask in (engine.version, partial(engine.translate, ["x"])):
        with pytest.raises(EngineUnavailable, match=r"R601.*Install Debian's package 'apertium'"):
            ask("es", "en")


def test_versions_tell_data_apart(program, tmp_path):
    data = tmp_path / "data"
    (data / "modes").mkdir(parents=True)
    dictionary = data / "es.bin"
    dictionary.write_bytes(b"one")
    mode = f"lt-proc '{dictionary}' | cat"
    (data / "modes" / "spa-eng.mode").write_text(mode, encoding="utf8")

    def version(target="en", **options):
        return ApertiumTranslator(program, data=data, **options).version("es", target)

    first, portuguese = version(), version("pt")
    assert first.startswith("9.9,") and first != portuguese
    assert version(timeout=5) == first
    dictionary.write_bytes(b"two")
    assert version() != first
    assert version("pt") == portuguese


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


# The real program


@pytest.fixture(scope="module")
def apertium():
    if shutil.which("apertium") is None:
        pytest.skip(f"apertium is missing: apt-get install {PACKAGES}")
    engine = ApertiumTranslator()
    missing = {("es", "en"), ("eu", "en"), ("pt", "es")} - set(engine.modes)
    if missing:
        pytest.skip(f"pairs are missing ({missing}): apt-get install {PACKAGES}")
    return engine


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
    versions = {apertium.version(*pair) for pair in (("es", "en"), ("eu", "en"), ("pt", "en"))}
    assert len(versions) == 3
    assert all(version.startswith(installed.split()[1]) for version in versions)


@pytest.mark.system
@pytest.mark.parametrize("pair", [("es", "en"), ("eu", "en"), ("pt", "en"), ("en", "es")])
def test_real_protocol(apertium, pair):
    """Nothing gets lost or out of step, whatever the segments hold."""
    random = Random(0)
    words = ["hola", "casa", "que", "gato", "xyzq", "3", "12,5", "etxe", "bat", "ez", "é", "of"]
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
