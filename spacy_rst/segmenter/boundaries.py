"""Where EDUs must begin, and the EDUs that follow from a choice of starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Doc, Span

from ..doc_layout import block_starts, ensure_layout, token_blocks

# Blocks of these kinds are EDUs as they are.
UNITS = ("heading", "row", "code")


@dataclass(frozen=True)
class Borders:
    """How a Doc is divided before any model has seen it.

    All starts are marked at tokens that are not white space: where spaCy begins a sentence with
    the white space in front of it, the mark stands at the word that follows.

    is_space (np.ndarray): Bool (n_tokens,), the white space.
    sentences (np.ndarray): Bool (n_tokens,), first tokens of sentences, where the Doc knows them.
    lines (np.ndarray): Bool (n_tokens,), first tokens of lines, but for the text's first.
    blocks (np.ndarray): Bool (n_tokens,), first tokens of the layout's blocks.
    is_undivided (np.ndarray): Bool (n_tokens,), the tokens of blocks that are EDUs as they are.
    """

    is_space: np.ndarray
    sentences: np.ndarray
    lines: np.ndarray
    blocks: np.ndarray
    is_undivided: np.ndarray

    def choose_starts(self, likely: np.ndarray, use_sentences: bool = True) -> np.ndarray:
        """Mark the tokens at which EDUs begin: the first of the text and of each block, and, but
        for those inside of undivided blocks, the likely ones and the first of each sentence.

        likely (np.ndarray): Bool (n_tokens,), what a model says.
        use_sentences (bool): Whether sentences count.
        RETURNS (np.ndarray): Bool (n_tokens,).
        """
        starts = likely | self.sentences if use_sentences else likely.copy()
        starts[self.is_undivided] = False
        starts |= self.blocks
        starts[np.flatnonzero(~self.is_space)[:1]] = True
        return starts


def read_borders(doc: Doc) -> Borders:
    """Find white space, sentences, lines and blocks.

    doc (Doc): The Doc, whose layout is read from its text if it has none yet.
    RETURNS (Borders): How it is divided.
    """
    attributes = doc.to_array([IS_SPACE, SENT_START])
    is_space = attributes[:, 0] == 1
    words = np.flatnonzero(~is_space)
    sentences, lines = np.zeros((2, len(doc)), dtype=bool)
    following = np.searchsorted(words, np.flatnonzero(attributes[:, 1] == 1))
    sentences[words[following[following < len(words)]]] = True
    # White space tokens lie where the numbers of two words, or of the first word and 0, are apart.
    before = np.concatenate([[-1], words[:-1]]) if len(words) else words
    for last, word in zip(before[words - before > 1], words[words - before > 1], strict=True):
        lines[word] = "\n" in doc[int(last) + 1 : int(word)].text
    layout = ensure_layout(doc) or []
    # The last item is that of tokens before the first block, and of unknown layout.
    is_unit = np.array([*(block.kind in UNITS for block in layout), False])
    return Borders(is_space, sentences, lines, block_starts(doc), is_unit[token_blocks(doc)])


def edus_from_starts(doc: Doc, starts: np.ndarray, is_space: np.ndarray) -> list[Span]:
    """Cut a Doc into EDUs: all its tokens but white space, which no EDU begins or ends with.

    doc (Doc): The Doc.
    starts (np.ndarray): Bool (n_tokens,). Marks at white space count for nothing; the first token
        that is not white space is a start in any case.
    is_space (np.ndarray): Bool (n_tokens,), the white space.
    RETURNS (list[Span]): The EDUs, none where there is no text.
    """
    words = np.flatnonzero(~is_space)
    if not len(words):
        return []
    is_first = starts[words]
    is_first[0] = True
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(words)) - 1
    borders = zip(words[firsts].tolist(), (words[lasts] + 1).tolist(), strict=True)
    return [doc[start:end] for start, end in borders]
