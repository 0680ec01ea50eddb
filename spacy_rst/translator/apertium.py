"""The rule-based engine Apertium, offline: `spacy_rst.ApertiumTranslator.v1`.

All segments of a call go to one `apertium` process and come back as records that end with a NUL, in
Apertium's own stream format (`-f none -z`):

- Characters with a meaning in that format travel as hexadecimal numbers in a blank (`[=5e]`), which
  all stages pass on untouched. Escaping them with a backslash is not enough: some stages merge
  records at an escaped caret, for example.
- Each record ends with its number in a blank (`[;17]`), so that a lost record is noticed. Without a
  blank behind it, a final full stop would get lost, too.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path

from ..errors import Errors, RstError
from ..languages import normal_code
from .protocol import EngineUnavailable, file_digest, unknown_pair
from .registry import translators

DEFAULT_DATA = "/usr/share/apertium"
MODE_NAME = re.compile(r"([a-z]{2,3}(?:_\w+)?)-([a-z]{2,3}(?:_\w+)?)")
MODE_FILE = re.compile(r"'([^']+)'")
RESERVED = re.compile(r"[\[\]{}^$/\\@<>~\x00-\x1f\x7f-\x9f]+")
PROTECTED = re.compile(r"\[((?:=[0-9a-f]+)+)\]")
ESCAPED = re.compile(r"\\(.)")
RECORD = re.compile(r"(.*)\[;(\d+)\]", re.DOTALL)
FIRST_WORD = re.compile(r"\W*(\w+)")


@translators("spacy_rst.ApertiumTranslator.v1")
@dataclass(eq=False)
class ApertiumTranslator:
    """Translates with Apertium, through other languages where there is no direct pair.

    program (str): The `apertium` program: a path, or a name that is found on the PATH.
    data (str | Path | None): The folder with Apertium's data, if it is not the usual one.
    timeout (float): How many seconds the program may take for the segments of one call.
    """

    name = "apertium"

    program: str = "apertium"
    _: KW_ONLY
    data: str | Path | None = None
    timeout: float = 300.0

    def version(self, source: str, target: str) -> str:
        """RETURNS (str): The program's version with a digest of the data for a pair."""
        number = self._run("-V")[0].strip().removeprefix("Apertium ")
        digests = b"".join(map(self._mode_digest, self.find_path(source, target)))
        return f"{number},data={hashlib.sha256(digests).hexdigest()[:16]}"

    @cached_property
    def modes(self) -> dict[tuple[str, str], str]:
        """Apertium's mode for each direct pair, the first one where there are several."""
        matches = map(MODE_NAME.fullmatch, reversed(self._run("-l")[0].split()))
        return {(normal_code(m[1]), normal_code(m[2])): m[0] for m in matches if m}

    def find_path(self, source: str, target: str) -> list[str]:
        """Find the modes along the shortest path from one language to another, in order."""
        start, goal = normal_code(source), normal_code(target)
        paths: dict[str, list[str]] = {start: []}
        queue = deque([start])
        while queue and goal not in paths:
            here = queue.popleft()
            for (origin, reached), mode in sorted(self.modes.items()):
                if origin == here and reached not in paths:
                    paths[reached] = [*paths[here], mode]
                    queue.append(reached)
        if not paths.get(goal):
            raise unknown_pair(self, source, target, map("-".join, self.modes))
        return paths[goal]

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        texts = {number: text for number, text in enumerate(segments) if text.strip()}
        for mode in self.find_path(source, target):
            texts = self._translate_all(mode, texts)
        return [
            _match_case(segment, texts.get(number, segment))
            for number, segment in enumerate(segments)
        ]

    def _translate_all(self, mode: str, texts: dict[int, str]) -> dict[int, str]:
        """Translate numbered texts. Those that get lost are sent again, as long as some return."""
        translated: dict[int, str] = {}
        while missing := {n: text for n, text in texts.items() if n not in translated}:
            content = "".join(f"{_protect(text)}[;{n}]\0" for n, text in missing.items())
            output, problem = self._run("-z", "-f", "none", "-u", mode, content=content)
            records = filter(None, map(RECORD.fullmatch, output.split("\0")))
            returned = {int(record[2]): _restore(record[1]) for record in records}
            if not returned.keys() & missing.keys():
                segment = next(iter(missing.values()))[:200]
                raise RstError(Errors.R602.format(mode=mode, problem=problem, segment=segment))
            translated |= returned
        return translated

    def _run(self, *options: str, content: str = "") -> tuple[str, str]:
        """Run the program, and return what it writes and what went wrong."""
        data = [] if self.data is None else ["-d", str(self.data)]
        command = [self.program, *data, *options]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            message = Errors.R601.format(command=" ".join(command), error=error)
            raise EngineUnavailable(message) from error
        with process:
            try:
                output, errors = process.communicate(content.encode(errors="replace"), self.timeout)
                problem = errors.decode(errors="replace").strip()[-500:]
            except subprocess.TimeoutExpired as error:
                output, problem = error.output or b"", f"It took over {self.timeout:g} seconds."
            finally:
                if process.returncode is None:  # it is a script: its children must end with it
                    os.killpg(process.pid, signal.SIGKILL)
        return output.decode(errors="replace"), problem

    def _mode_digest(self, mode: str) -> bytes:
        """Digest a mode with the files that it names."""
        folder = self.data or os.environ.get("APERTIUM_DATADIR", DEFAULT_DATA)
        file = Path(folder) / "modes" / f"{mode}.mode"
        if not file.is_file():
            return mode.encode()
        named = map(Path, MODE_FILE.findall(file.read_text(encoding="utf8", errors="replace")))
        return b"".join(map(file_digest, [file, *filter(Path.is_file, named)]))


def _protect(text: str) -> str:
    """Hide what Apertium's stream format would take for something else."""
    return RESERVED.sub(
        lambda match: "[" + "".join(f"={ord(char):x}" for char in match[0]) + "]", text
    )


def _restore(text: str) -> str:
    """Get reserved characters back, and those that Apertium escapes in its dictionaries' words."""
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
