"""The rule-based engine Apertium, offline: `spacy_rst.ApertiumTranslator.v1`.

One `apertium` process per pair stays open. Segments go in and translations come out as records that
end with a NUL, in Apertium's own stream format (`-f none -z`):

- Characters that mean something in that format travel as hexadecimal numbers in a blank (`[=5e]`),
  which all stages pass on untouched. Escaping them with a backslash is not enough: some stages
  merge records at an escaped caret, for example.
- Each record ends with its number in a blank (`[;17]`), so that a lost record is noticed. A final
  full stop would get lost without a blank behind it, too.
- Records of nothing but a blank follow each batch, as the `gawk` in the `apertium` script holds
  each record back until it has seen another.
"""

from __future__ import annotations

import hashlib
import os
import re
import selectors
import signal
import subprocess
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import IO, Any

from ..errors import Errors, RstError
from ..languages import normal_code
from .protocol import EngineUnavailable, check_positive, digest_of
from .registry import translators

DEFAULT_DATA = "/usr/share/apertium"
MODE_NAME = re.compile(r"([a-z]{2,3}(?:_\w+)?)-([a-z]{2,3}(?:_\w+)?)")
MODE_FILE = re.compile(r"'([^']+)'")
RESERVED = re.compile(r"[\[\]{}^$/\\@<>~\x00-\x1f\x7f-\x9f]+")
PROTECTED = re.compile(r"\[((?:=[0-9a-f]+)+)\]")
ESCAPED = re.compile(r"\\(.)")
END = re.compile(r"\[;(\d*)\]$")
FIRST_WORD = re.compile(r"\W*(\w+)")
FILLERS = b"[;]\0" * 4
CHUNK_BYTES = 1 << 16
SECONDS_TO_STOP = 5.0


@translators("spacy_rst.ApertiumTranslator.v1")
@dataclass(eq=False)
class ApertiumTranslator:
    """Translates with Apertium.

    program (str): The `apertium` program: a path, or a name that is found on the PATH.
    data (str | Path | None): The folder with Apertium's data, where it is not the usual one.
    chains (bool): Go through other languages where there is no direct way.
    marks (bool): Keep the marks that Apertium sets on words it does not know (*), cannot translate
        (@) or cannot inflect (#).
    timeout (float): Seconds without a sign of life after which the program counts as dead.
    batch_size (int): How many segments are sent at a time.
    """

    name = "apertium"

    program: str = "apertium"
    _: KW_ONLY
    data: str | Path | None = None
    chains: bool = True
    marks: bool = False
    timeout: float = 60.0
    batch_size: int = 500
    _processes: dict[tuple[str, bool], ApertiumProcess] = field(default_factory=dict, init=False)
    _versions: dict[tuple[str, ...], str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        check_positive(timeout=self.timeout, batch_size=self.batch_size)

    @property
    def version(self) -> str:
        """RETURNS (str): The program's version with a digest of all its data."""
        return self._version_with(sorted(self.modes.values()))

    def pair_version(self, source: str, target: str) -> str:
        """RETURNS (str): The program's version with a digest of the data for a pair."""
        return self._version_with(self.find_path(source, target))

    @cached_property
    def modes(self) -> dict[tuple[str, str], str]:
        """RETURNS (dict[tuple[str, str], str]): Apertium's mode for each direct pair."""
        found: dict[tuple[str, str], str] = {}
        for name in self._run("-l").split():
            match = MODE_NAME.fullmatch(name)
            if match is not None:
                found.setdefault((normal_code(match[1]), normal_code(match[2])), name)
        return found

    def find_path(self, source: str, target: str) -> list[str]:
        """Find the shortest way from a language to another.

        source (str): The code of the language to translate from.
        target (str): The code of the language to translate to.
        RETURNS (list[str]): The modes that lead there, one after another.
        RAISES (RstError): If there is no way.
        """
        start, goal = normal_code(source), normal_code(target)
        if (start, goal) in self.modes:
            return [self.modes[start, goal]]
        paths: dict[str, list[str]] = {start: []}
        waiting = deque([start] if self.chains else [])
        while waiting:
            here = waiting.popleft()
            for (origin, reached), mode in sorted(self.modes.items()):
                if origin == here and reached not in paths:
                    paths[reached] = [*paths[here], mode]
                    waiting.append(reached)
        if start == goal or goal not in paths:
            known = ", ".join(f"{first}-{second}" for first, second in sorted(self.modes))
            raise RstError(
                Errors.R600.format(
                    engine=self.name, source=source, target=target, known=known or "nothing"
                )
            )
        return paths[goal]

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        texts = list(segments)
        path = self.find_path(source, target)
        for mode in path:
            texts = self._translate_with(mode, texts, marks=self.marks and mode == path[-1])
        return [match_case(old, new) for old, new in zip(segments, texts, strict=True)]

    def _translate_with(self, mode: str, segments: list[str], *, marks: bool) -> list[str]:
        results = list(segments)
        asked = [number for number, text in enumerate(segments) if text.strip()]
        for start in range(0, len(asked), self.batch_size):
            batch = asked[start : start + self.batch_size]
            answers = self._ask(mode, [segments[number] for number in batch], marks=marks)
            for number, answer in zip(batch, answers, strict=True):
                results[number] = answer
        return results

    def _ask(self, mode: str, segments: Sequence[str], *, marks: bool) -> list[str]:
        answers: list[str] = []
        problem = ""
        for _ in range(2):
            try:
                process = self._process(mode, marks=marks)
                process.exchange(segments[len(answers) :], answers)
                return answers
            except ProcessFailure as error:
                problem = str(error)
                self._processes.pop((mode, marks)).close()
        raise RstError(
            Errors.R602.format(mode=mode, problem=problem, segment=segments[len(answers)][:200])
        )

    def _process(self, mode: str, *, marks: bool) -> ApertiumProcess:
        process = self._processes.get((mode, marks))
        # A forked process must not talk through the pipes of its parent.
        if process is None or process.owner != os.getpid():
            options = ["-z", "-f", "none", *([] if marks else ["-u"]), *self._data_options(), mode]
            process = ApertiumProcess([self.program, *options], self.timeout)
            self._processes[mode, marks] = process
        return process

    def _data_options(self) -> list[str]:
        return [] if self.data is None else ["-d", str(self.data)]

    def _run(self, option: str) -> str:
        command = [self.program, *self._data_options(), option]
        try:
            return subprocess.run(
                command,
                capture_output=True,
                check=True,
                timeout=self.timeout,
                encoding="utf8",
                errors="replace",
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineUnavailable(
                Errors.R601.format(command=" ".join(command), error=error)
            ) from error

    def _version_with(self, modes: Sequence[str]) -> str:
        if tuple(modes) not in self._versions:
            number = self._run("-V").strip().removeprefix("Apertium ")
            digest = hashlib.sha256(b"".join(map(self._digest_of, modes))).hexdigest()[:16]
            self._versions[tuple(modes)] = f"{number},data={digest},marks={self.marks}"
        return self._versions[tuple(modes)]

    def _digest_of(self, mode: str) -> bytes:
        """Digest a mode with the files that it names."""
        folder = self.data or os.environ.get("APERTIUM_DATADIR", DEFAULT_DATA)
        file = Path(folder) / "modes" / f"{mode}.mode"
        digest = hashlib.sha256(mode.encode())
        if file.is_file():
            content = file.read_bytes()
            digest.update(content)
            for name in MODE_FILE.findall(content.decode(errors="replace")):
                if Path(name).is_file():
                    digest.update(digest_of(Path(name)))
        return digest.digest()

    def close(self) -> None:
        """End the processes. They are started again when they are needed."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_processes": {}}


class ProcessFailure(Exception):
    """Raised when a process ended, kept silent, or answered something else."""


class ApertiumProcess:
    """An `apertium` process that stays open.

    owner (int): The id of the Python process that started it.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        """command (Sequence[str]): The program with its options.
        timeout (float): Seconds without a sign of life after which it counts as dead.
        """
        self.owner = os.getpid()
        self._timeout = timeout
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        try:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,  # the script has children, which must end with it
            )
        except OSError as error:
            raise EngineUnavailable(
                Errors.R601.format(command=" ".join(command), error=error)
            ) from error
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._stdin, self._stdout = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        os.set_blocking(self._stdin, False)
        self._unwritten = b""
        self._unread = b""
        self._arrived: deque[bytes] = deque()
        self._sent = 0
        self._lock = Lock()
        self.close = weakref.finalize(self, _stop, self._popen, self._errors, self.owner)

    def exchange(self, segments: Sequence[str], answers: list[str]) -> None:
        """Have segments translated.

        segments (Sequence[str]): The segments.
        answers (list[str]): Gets the translations one by one, so that those that came before a
            failure are not lost.
        RAISES (ProcessFailure): If the process does not give them all.
        """
        with self._lock:
            first = self._sent
            self._sent += len(segments)
            records = (
                f"{protect(text)}[;{number}]\0" for number, text in enumerate(segments, start=first)
            )
            self._unwritten += "".join(records).encode(errors="replace") + FILLERS
            expected = first
            for record in self._records():
                end = END.search(record)
                if end is not None and not end[1]:
                    continue  # a filler
                if end is None or int(end[1]) != expected:
                    raise ProcessFailure(f"It did not answer to segment {expected - first + 1}.")
                answers.append(restore(record[: end.start()]))
                expected += 1
                if expected == self._sent:
                    return

    def _records(self) -> Iterator[str]:
        """Write and read, whatever is possible, so that neither side waits for the other."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            if self._unwritten:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            while True:
                while self._arrived:
                    yield self._arrived.popleft().decode(errors="replace")
                ready = selector.select(self._timeout)
                if not ready:
                    raise ProcessFailure(f"It kept silent for {self._timeout:g} seconds.")
                for key, _ in ready:
                    if key.fd == self._stdin and not self._write():
                        selector.unregister(self._stdin)
                    if key.fd == self._stdout:
                        self._read()

    def _write(self) -> bool:
        """Write a part of what is to be written. RETURNS (bool): Whether there is more."""
        try:
            written = os.write(self._stdin, self._unwritten[:CHUNK_BYTES])
        except BrokenPipeError:  # reading will tell that it ended
            return False
        self._unwritten = self._unwritten[written:]
        return bool(self._unwritten)

    def _read(self) -> None:
        content = os.read(self._stdout, CHUNK_BYTES)
        if not content:
            self._errors.seek(0)
            message = self._errors.read()[-500:].decode(errors="replace").strip()
            raise ProcessFailure(f"It ended. {message}".strip())
        *records, self._unread = (self._unread + content).split(b"\0")
        self._arrived.extend(records)


def _stop(popen: subprocess.Popen[bytes], errors: IO[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return
    for stream in (popen.stdin, popen.stdout):
        if stream is not None:
            stream.close()
    try:
        popen.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()
    errors.close()


def protect(text: str) -> str:
    """Hide what Apertium's stream format would take for something else.

    text (str): A segment.
    RETURNS (str): The segment with reserved characters as numbers in blanks.
    """
    return RESERVED.sub(
        lambda match: "[" + "".join(f"={ord(char):x}" for char in match[0]) + "]", text
    )


def restore(text: str) -> str:
    """Get reserved characters back.

    text (str): What Apertium made of a protected segment.
    RETURNS (str): The translation.
    """
    # Apertium escapes reserved characters that its dictionaries bring in.
    plain = ESCAPED.sub(r"\1", text)
    return PROTECTED.sub(
        lambda match: "".join(chr(int(number, 16)) for number in match[1][1:].split("=")), plain
    )


def match_case(segment: str, translation: str) -> str:
    """Begin a translation in lower case if its segment does: Apertium takes the beginning of a
    segment for that of a sentence.

    segment (str): The segment.
    translation (str): Its translation.
    RETURNS (str): The translation, as it is if its first word is a name or an abbreviation.
    """
    old, new = FIRST_WORD.match(segment), FIRST_WORD.match(translation)
    if old is None or new is None or not old[1][0].islower() or not new[1][0].isupper():
        return translation
    word, start = new[1], new.start(1)
    is_abbreviation = len(word) > 1 and not word[1:].islower()
    if word == "I" or is_abbreviation or re.search(rf"\b{word}\b", segment):
        return translation
    return translation[:start] + word[0].lower() + translation[start + 1 :]
