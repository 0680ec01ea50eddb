"""Damage to texts, tables and JSON values: small, likely and hostile. All of it comes from a seeded
`Random`, so that every case can be made again from its number."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

NUMBER = re.compile(r"-?\d+")
WORD = re.compile(r"[^\s\"'<>=\t]+")
MAX_CHANGES = 4

NUMBERS = ("0", "-1", "1", "2-1", "1-1", "99999999999", "9" * 4400, "1e400", "0x1", "²", "١", "NaN")
# What readers trip over: bytes that no encoding likes, marks of the formats, and lengths.
SNIPPETS = (
    *("\x00", "\ufeff", "\u2028", "\x85", "\x0b", "\r", "\r\n", "\n", "\n\n", "\t", "\t\t"),
    *(" ", " " * 2000, "\u00a0", "\u200b", "\U0001f600", "e\u0301" * 50, "ß", "İ", "_", "\\"),
    *("<", ">", "&", "&lol;", "&#0;", "<!ENTITY a 'b'>", "<![CDATA[", "]]>", "<!--", "<p>" * 300),
    *("(", ")", "(" * 400, "_!", "<P>", "{", "}", "[", "]", "[" * 3000, '{"a":' * 2000, '"', "'"),
    *("null", "NaN", "Infinity", "-0", "1.5", "true", "span", "*", "#", "# newdoc id = x"),
    *("..", "/"),
    *("a" * 5000, "|", "`" * 300, ">" * 300, "- " * 300, "%s", "{0}", "no: yes", "&a [*a]", "---"),
)
BYTES = (b"\xff", b"\xfe\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80", b"\x1b[2J", b"\xe9")
ENCODINGS = ("latin-1", "utf-16", "utf-8-sig", "utf-7", "cp1252")

# Values of the wrong type, out of range, or too large for what takes them.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, -(10**30)),
    *(0.5, 2.0, -0.1, math.nan, math.inf, "", " ", "x", "NS", "span", "\ud83d", "\x00", "9" * 4400),
    *([], {}, [[]], [None], {"": None}, [0, 0], [[0, 1, 2]], ["a", "b"], {"edus": []}),
)


def mutate_text(text: str, rng: Random) -> bytes:
    """Change a text in one to four places, and sometimes its encoding."""
    is_gentle = rng.random() < 0.5
    for _ in range(rng.randint(1, MAX_CHANGES)):
        text = rng.choice(GENTLE_CHANGES if is_gentle else TEXT_CHANGES)(text, rng)
    if is_gentle:
        return text.encode("utf8", errors="surrogatepass")
    if rng.random() < 0.1:
        return text.encode(rng.choice(ENCODINGS), errors="replace")
    content = text.encode("utf8", errors="surrogatepass")
    return _change_bytes(content, rng) if rng.random() < 0.15 else content


def mutate_bytes(content: bytes, rng: Random) -> bytes:
    """Change bytes in one to four places."""
    for _ in range(rng.randint(1, MAX_CHANGES)):
        content = _change_bytes(content, rng)
    return content


def mutate_json(value: Any, rng: Random) -> Any:
    """Change a copy of a JSON value in one to four places: other types, missing parts, new ones."""
    value = copy.deepcopy(value)
    change = rng.choice((_change_container, _change_gently))
    for _ in range(rng.randint(1, MAX_CHANGES)):
        containers = _containers(value)
        if not containers or rng.random() < 0.02:
            value = copy.deepcopy(rng.choice(VALUES))
        else:
            change(rng.choice(containers), rng)
    return value


def _containers(value: Any) -> Sequence[Any]:
    found, stack = [], [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list):
            if value:
                found.append(value)
            stack += value.values() if isinstance(value, dict) else value
    return found


def _change_container(container: Any, rng: Random) -> None:
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    key, other = rng.choice(keys), rng.choice(keys)
    change = rng.randrange(6)
    if change == 0:
        del container[key]
    elif change == 1:
        container[key], container[other] = container[other], container[key]
    elif change == 2 and isinstance(container[key], str):
        damaged = mutate_text(container[key], rng).decode("utf8", errors="replace")
        container[key] = damaged
    elif change == 2 and type(container[key]) is int:
        container[key] += rng.choice((-2, -1, 1, 2, 1000))
    elif change == 3 and isinstance(container, list):
        container.insert(key, copy.deepcopy(container[other]))
    elif change == 3:
        container[rng.choice(SNIPPETS)] = copy.deepcopy(container[other])
    else:
        container[key] = copy.deepcopy(rng.choice(VALUES))


def _change_gently(container: Any, rng: Random) -> None:
    """Change values, not types, so that they come by the first check."""
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    key, other = rng.choice(keys), rng.choice(keys)
    if type(container[key]) is int:
        container[key] += rng.choice((-1, 1))
    elif isinstance(container[key], float):
        container[key] = rng.random() * rng.choice((1, 2))
    elif type(container[key]) is type(container[other]):
        container[key] = copy.deepcopy(container[other])


def _slice(text: str, rng: Random) -> tuple[int, int]:
    start = rng.randint(0, len(text))
    return start, min(len(text), start + rng.choice((1, 1, 5, 30, 300)))


def _delete(text: str, rng: Random) -> str:
    start, end = _slice(text, rng)
    return text[:start] + text[end:]


def _repeat(text: str, rng: Random) -> str:
    start, end = _slice(text, rng)
    return text[:end] + text[start:end] * rng.choice((1, 1, 2, 20)) + text[end:]


def _insert(text: str, rng: Random) -> str:
    place = rng.randint(0, len(text))
    return text[:place] + rng.choice(SNIPPETS) + text[place:]


def _cut(text: str, rng: Random) -> str:
    return text[: rng.randint(0, len(text))]


def _change_lines(text: str, rng: Random) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(4)
    if change == 0:
        del lines[first]
    elif change == 1:
        lines.insert(second, lines[first])
    elif change == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[first] = "\t".join(rng.sample(cells := lines[first].split("\t"), len(cells)))
    return "\n".join(lines)


def _change_number(text: str, rng: Random) -> str:
    found = list(NUMBER.finditer(text))
    if not found:
        return _insert(text, rng)
    number = rng.choice(found)
    near = str(int(number[0][:18]) + rng.choice((-1, 1))) if number[0][:18] != "-" else "0"
    new = rng.choice((rng.choice(NUMBERS), rng.choice(found)[0], near))
    return text[: number.start()] + new + text[number.end() :]


def _change_word(text: str, rng: Random) -> str:
    """Put one word of the text in the place of another: links to other nodes, other relations."""
    found = list(WORD.finditer(text))
    if not found:
        return _insert(text, rng)
    word = rng.choice(found)
    new = rng.choice(("", rng.choice(found)[0], rng.choice(found)[0], rng.choice(SNIPPETS)))
    return text[: word.start()] + new + text[word.end() :]


TEXT_CHANGES: tuple[Callable[[str, Random], str], ...] = (
    *(_delete, _repeat, _insert, _insert, _cut, _change_lines, _change_lines),
    *(_change_number, _change_number, _change_number, _change_word, _change_word, _change_word),
)


def _exchange(text: str, rng: Random, *, pattern: re.Pattern[str]) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    old, new = rng.choice(found), rng.choice(found)
    return text[: old.start()] + new[0] + text[old.end() :]


# Those that keep brackets and quotation marks, so that they come by the first check.
_exchange_number, _exchange_word = (partial(_exchange, pattern=kind) for kind in (NUMBER, WORD))
GENTLE_CHANGES = (_exchange_number, _exchange_number, _exchange_word, _exchange_word, _change_lines)


def _change_bytes(content: bytes, rng: Random) -> bytes:
    place = rng.randint(0, len(content))
    change = rng.randrange(4)
    if change == 0:
        return content[:place] + rng.choice(BYTES) + content[place:]
    if change == 1:
        return content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
    if change == 2:
        return content[:place] + content[place + rng.choice((1, 4, 100)) :]
    return content[:place]
