"""Tell who speaks where paragraphs begin with a name and a colon, as in chats and interviews."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .blocks import HEADING, PARAGRAPH, TURN, Block

LONGEST_PREFIX = 80
MOST_WORDS_OF_A_NAME = 4
FEWEST_TURNS = 3
# "12.03.24, 10:15 - " or "[10:15:02] ", as chat programs write it.
TIME = (
    r"[\[(]?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?[\])]?"
    r"\s?(?:[-–—]\s)?"
)
NICK = r"<(?P<nick>[^<>\s]{1,30})>(?=\s)"
NAME = r"(?P<name>@?[^\W_](?:[\w.'’-]| (?=\S)){0,30})(?: ?\([^()\n]{1,20}\))?"
COLON = r" ?(?::(?=\s+\S)|：(?=\s*\S))"
SPEAKER = re.compile(rf"(?:{TIME})?(?:{NICK}|{NAME}{COLON})")


def find_speaker(line: str) -> str | None:
    """Find what looks like the name of a speaker at the beginning of a line."""
    match = SPEAKER.match(line[:LONGEST_PREFIX])
    if match is None:
        return None
    name: str = match["nick"] or match["name"].strip()
    is_name = len(name.split()) <= MOST_WORDS_OF_A_NAME and not name[0].islower()
    return name if match["nick"] or is_name else None


def choose_speakers(names: Iterable[str | None]) -> frozenset[str]:
    """Choose the names, one or none for each line or paragraph, if several people speak in turn.
    Other words before a colon, as in "Note: …", are not speakers."""
    all_names = list(names)
    counts = Counter(name for name in all_names if name is not None)
    n_turns = counts.total()
    are_many = n_turns >= FEWEST_TURNS and 2 * n_turns >= len(all_names)
    speak_in_turn = 1 < len(counts) < n_turns
    return frozenset(counts) if are_many and speak_in_turn else frozenset()


def mark_turns(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Make turns of paragraphs that begin with the name of a speaker, and of those that follow."""
    names = {
        block.start: find_speaker(text[block.start : block.end])
        for block in blocks
        if block.kind == PARAGRAPH
    }
    speakers = choose_speakers(names.values())
    marked: list[Block] = []
    speaker = None
    for block in blocks:
        name = names.get(block.start)
        continues = name not in speakers
        speaker = None if block.kind == HEADING else speaker if continues else name
        if speaker is not None:
            kind = TURN if block.kind == PARAGRAPH else block.kind
            continues = continues if kind == TURN else block.continues
            block = block._replace(kind=kind, speaker=speaker, continues=continues)
        marked.append(block)
    return marked
