"""Where EDUs must begin, and the EDUs that follow from a choice of starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Doc, Span

from ..orthography import BLANK_LINE


@dataclass(frozen=True)
class Layout:
    """How a Doc is divided before any model has seen it.

    All starts are marked at tokens that are not white space: where spaCy begins a sentence with
    the white space in front of it, the mark stands at the word that follows.

    is_space (np.ndarray): Bool (n_tokens,), the white space.
    sentences (np.ndarray): Bool (n_tokens,), first tokens of sentences, where the Doc knows them.
    lines (np.ndarray): Bool (n_tokens,), first tokens of lines.
    paragraphs (np.ndarray): Bool (n_tokens,), first tokens after a blank line.
    """

    is_space: np.ndarray
    sentences: np.ndarray
    lines: np.ndarray
    paragraphs: np.ndarray

    def hard_starts(self, use_sentences: bool = True) -> np.ndarray:
        """Mark the tokens at which an EDU begins whatever the model says: the first one, and those
        of paragraphs and sentences.

        use_sentences (bool): Whether sentences count.
        RETURNS (np.ndarray): Bool (n_tokens,).
        """
        starts = self.paragraphs | self.sentences if use_sentences else self.paragraphs.copy()
        starts[np.flatnonzero(~self.is_space)[:1]] = True
        return starts


def read_layout(doc: Doc) -> Layout:
    """Find white space, sentences, lines and paragraphs.

    doc (Doc): The Doc.
    RETURNS (Layout): Its layout.
    """
    attributes = doc.to_array([IS_SPACE, SENT_START])
    is_space = attributes[:, 0] == 1
    words = np.flatnonzero(~is_space)
    sentences = np.zeros(len(doc), dtype=bool)
    following = np.searchsorted(words, np.flatnonzero(attributes[:, 1] == 1))
    sentences[words[following[following < len(words)]]] = True
    lines, paragraphs = np.zeros_like(sentences), np.zeros_like(sentences)
    # White space tokens lie where the numbers of two words, or of the first word and 0, are apart.
    before = np.concatenate([[-1], words[:-1]]) if len(words) else words
    for last, word in zip(before[words - before > 1], words[words - before > 1], strict=True):
        gap = doc[int(last) + 1 : int(word)].text
        lines[word] = "\n" in gap
        paragraphs[word] = BLANK_LINE.search(gap) is not None
    return Layout(is_space, sentences, lines, paragraphs)


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
