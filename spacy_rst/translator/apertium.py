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
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import IO, Any

from spacy.util import minibatch

from ..errors import Errors, RstError
from ..languages import normal_code
from .protocol import EngineUnavailable, check_positive, digest_of, unknown_pair
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
    _processes: dict[tuple[str, bool], _Process] = field(default_factory=dict, init=False)
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
        for match in filter(None, map(MODE_NAME.fullmatch, self._run("-l").split())):
            found.setdefault((normal_code(match[1]), normal_code(match[2])), match[0])
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
            raise unknown_pair(self, source, target, map("-".join, self.modes))
        return paths[goal]

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        texts = list(segments)
        path = self.find_path(source, target)
        for mode in path:
            texts = self._translate_with(mode, texts, marks=self.marks and mode == path[-1])
        return [_match_case(old, new) for old, new in zip(segments, texts, strict=True)]

    def _translate_with(self, mode: str, segments: list[str], *, marks: bool) -> list[str]:
        asked = [text for text in segments if text.strip()]
        batches = minibatch(asked, self.batch_size)
        answers = chain.from_iterable(self._ask(mode, batch, marks=marks) for batch in batches)
        return [next(answers) if text.strip() else text for text in segments]

    def _ask(self, mode: str, segments: Sequence[str], *, marks: bool) -> list[str]:
        answers: list[str] = []
        problem = ""
        for _ in range(2):
            try:
                self._process(mode, marks=marks).exchange(segments[len(answers) :], answers)
                return answers
            except _Failure as error:
                problem = str(error)
                self._processes.pop((mode, marks)).close()
        failed = segments[len(answers)][:200]
        raise RstError(Errors.R602.format(mode=mode, problem=problem, segment=failed))

    def _process(self, mode: str, *, marks: bool) -> _Process:
        process = self._processes.get((mode, marks))
        # A forked process must not talk through the pipes of its parent.
        if process is None or process.owner != os.getpid():
            unmarked = [] if marks else ["-u"]
            command = self._command("-z", "-f", "none", *unmarked, mode)
            process = self._processes[mode, marks] = _Process(command, self.timeout)
        return process

    def _command(self, *options: str) -> list[str]:
        data = [] if self.data is None else ["-d", str(self.data)]
        return [self.program, *data, *options]

    def _run(self, option: str) -> str:
        command = self._command(option)
        try:
            output = subprocess.check_output(
                command, stderr=subprocess.DEVNULL, timeout=self.timeout
            )
        except (OSError, subprocess.SubprocessError) as error:
            message = Errors.R601.format(command=" ".join(command), error=error)
            raise EngineUnavailable(message) from error
        return output.decode(errors="replace")

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


class _Failure(Exception):
    """Raised when a process ended, kept silent, or answered something else."""


class _Process:
    """An `apertium` process that stays open."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self.owner = os.getpid()
        errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self._popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            start_new_session=True,  # the script has children, which must end with it
        )
        self._unwritten = bytearray()
        self._records = _exchange_records(self._popen, self._unwritten, errors, timeout)
        self._sent = 0
        self._lock = Lock()
        self.close = weakref.finalize(self, _stop, self._popen, errors, self.owner)

    def exchange(self, segments: Sequence[str], answers: list[str]) -> None:
        """Have segments translated. The answers come one by one, so that those that came before a
        failure are not lost."""
        with self._lock:
            first = expected = self._sent
            self._sent += len(segments)
            for number, text in enumerate(segments, start=first):
                self._unwritten += f"{_protect(text)}[;{number}]\0".encode(errors="replace")
            self._unwritten += FILLERS
            while expected < self._sent:
                record = next(self._records, b"").decode(errors="replace")
                end = END.search(record)
                if end is not None and not end[1]:
                    continue  # a filler
                if end is None or int(end[1]) != expected:
                    raise _Failure(f"It did not answer to segment {expected - first + 1}.")
                answers.append(_restore(record[: end.start()]))
                expected += 1


def _exchange_records(
    popen: subprocess.Popen[bytes], unwritten: bytearray, errors: IO[bytes], timeout: float
) -> Iterator[bytes]:
    """Write and read, whatever is possible, so that neither side waits for the other."""
    stdin, stdout = popen.stdin, popen.stdout
    assert stdin is not None and stdout is not None
    os.set_blocking(stdin.fileno(), False)
    unread = b""
    while True:
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if unwritten:
                selector.register(stdin, selectors.EVENT_WRITE)
            ready = [key.fileobj for key, _ in selector.select(timeout)]
        if not ready:
            raise _Failure(f"It kept silent for {timeout:g} seconds.")
        if stdin in ready:
            try:
                del unwritten[: stdin.write(unwritten[:CHUNK_BYTES]) or 0]
            except BrokenPipeError:  # reading will tell that it ended
                unwritten.clear()
        if stdout in ready:
            content = stdout.read(CHUNK_BYTES)
            if not content:
                errors.seek(0)
                message = errors.read()[-500:].decode(errors="replace")
                raise _Failure(f"It ended. {message}".strip())
            *records, unread = (unread + content).split(b"\0")
            yield from records


def _stop(popen: subprocess.Popen[bytes], errors: IO[bytes], owner: int) -> None:
    if os.getpid() == owner:
        with errors, popen, suppress(ProcessLookupError):
            os.killpg(popen.pid, signal.SIGKILL)


def _protect(text: str) -> str:
    """Hide what Apertium's stream format would take for something else."""
    return RESERVED.sub(
        lambda match: "[" + "".join(f"={ord(char):x}" for char in match[0]) + "]", text
    )


def _restore(text: str) -> str:
    """Get reserved characters back."""
    # Apertium escapes reserved characters that its dictionaries bring in.
    plain = ESCAPED.sub(r"\1", text)
    return PROTECTED.sub(
        lambda match: "".join(chr(int(number, 16)) for number in match[1][1:].split("=")), plain
    )


def _match_case(segment: str, translation: str) -> str:
    """Begin a translation in lower case if its segment does, unless its first word is a name or an
    abbreviation: Apertium takes the beginning of a segment for that of a sentence."""
    old, new = FIRST_WORD.match(segment), FIRST_WORD.match(translation)
    if old is None or new is None or not old[1][0].islower() or not new[1][0].isupper():
        return translation
    word, start = new[1], new.start(1)
    is_abbreviation = len(word) > 1 and not word[1:].islower()
    if word == "I" or is_abbreviation or re.search(rf"\b{word}\b", segment):
        return translation
    return translation[:start] + word[0].lower() + translation[start + 1 :]
