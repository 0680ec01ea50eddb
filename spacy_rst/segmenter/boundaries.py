"""Where EDUs must begin, and the EDUs that follow from a choice of starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Doc, Span

from ..doc import knows_sentences
from ..doc_layout import block_starts, get_layout, token_blocks
from .words import HAS_LETTER, Words

# Blocks of these kinds are EDUs as they are.
UNITS = ("heading", "row", "code")


@dataclass(frozen=True)
class Borders:
    """How a Doc is divided before any model has seen it.

    All starts are marked at tokens that are not white space: where spaCy begins a sentence with
    the white space in front of it, the mark stands at the word that follows.

    words (Words): The tokens that are not white space.
    is_space (np.ndarray): Bool (n_tokens,), the white space.
    sentences (np.ndarray): Bool (n_tokens,), first tokens of sentences, where the Doc knows them.
    lines (np.ndarray): Bool (n_tokens,), first tokens of lines, but for the text's first.
    blocks (np.ndarray): Bool (n_tokens,), first tokens of the layout's blocks.
    is_undivided (np.ndarray): Bool (n_tokens,), the tokens of blocks that are EDUs as they are.
    """

    words: Words
    is_space: np.ndarray
    sentences: np.ndarray
    lines: np.ndarray
    blocks: np.ndarray
    is_undivided: np.ndarray

    def choose_starts(self, likely: np.ndarray, use_sentences: bool = True) -> np.ndarray:
        """Mark the tokens at which EDUs begin: the first of the text and of each block, and, but
        for those inside of undivided blocks, the likely ones and, on request, the first of each
        sentence."""
        starts = likely.copy()
        if use_sentences:
            starts |= self.sentences
            starts[self.words.places] |= self.words.begin_sentences()
        starts[self.is_undivided] = False
        starts |= self.blocks
        starts[self.words.places[:1]] = True
        return starts


def read_borders(doc: Doc, *, guessed_sentences: bool = False) -> Borders:
    """Find white space, sentences (on request also those that our own `syntax` found), lines and
    blocks. Without a layout a Doc counts as one of unknown layout."""
    attributes = doc.to_array([IS_SPACE, SENT_START])
    if not (guessed_sentences or knows_sentences(doc)):
        attributes[1:, 1] = 0  # the first token begins a sentence in any Doc
    is_space = attributes[:, 0] == 1
    words = Words(doc, is_space)
    sentences, lines = np.zeros((2, len(doc)), dtype=bool)
    following = np.searchsorted(words.places, np.flatnonzero(attributes[:, 1] == 1))
    sentences[words.places[following[following < len(words.places)]]] = True
    # White space tokens lie where the numbers of two words are apart.
    for gap in np.flatnonzero(np.diff(words.places) > 1).tolist():
        last, word = words.places[gap : gap + 2].tolist()
        lines[word] = "\n" in doc[last + 1 : word].text
    # The last item is that of tokens before the first block, and of unknown layout.
    blocks = get_layout(doc) or ()
    is_unit = np.array([*(block.kind in UNITS for block in blocks), False])
    return Borders(
        words=words,
        is_space=is_space,
        sentences=sentences,
        lines=lines,
        blocks=block_starts(doc),
        is_undivided=is_unit[token_blocks(doc)],
    )


def edus_from_starts(doc: Doc, starts: np.ndarray, borders: Borders) -> list[Span]:
    """Cut a Doc into EDUs: all its tokens but white space, which no EDU begins or ends with. The
    first word is a start in any case, and marks at white space count for nothing.

    A mark that closes a quotation or a bracket begins no EDU: the next word does instead. An EDU
    without any letter or digit is joined to the one before it, or to the next if it begins a block
    or the text."""
    words = borders.words
    if not len(words.places):
        return []
    is_first = starts[words.places]
    closes = words.close() & ~borders.blocks[words.places]
    while (moved := is_first & closes).any():
        is_first &= ~moved
        is_first[1:] |= moved[:-1]
    is_first[0] = True
    firsts = np.flatnonzero(is_first)
    has_letter = np.logical_or.reduceat(words.match(HAS_LETTER), firsts)
    if not has_letter.all():
        firsts = firsts[_join_marks(has_letter, borders.blocks[words.places[firsts]])]
    lasts = np.append(firsts[1:], len(words.places)) - 1
    places = zip(words.places[firsts].tolist(), (words.places[lasts] + 1).tolist(), strict=True)
    return [doc[start:end] for start, end in places]


def _join_marks(has_letter: np.ndarray, begins_block: np.ndarray) -> list[int]:
    """Choose the EDUs that stay, so that each but an only one has a letter or a digit."""
    kept = [0]
    is_complete = has_letter[0]
    for number in range(1, len(has_letter)):
        if is_complete and (has_letter[number] or begins_block[number]):
            kept.append(number)
            is_complete = has_letter[number]
        elif not is_complete:
            if begins_block[number] and len(kept) > 1:
                kept[-1] = number  # a block of marks alone goes to the EDU before it
            is_complete = has_letter[number]
    if not is_complete and len(kept) > 1:
        kept.pop()
    return kept
