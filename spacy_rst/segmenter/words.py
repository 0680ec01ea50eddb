"""The words of a Doc: what their marks and spaces tell in any script."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from spacy.attrs import ORTH, SPACY
from spacy.tokens import Doc

from ..orthography import (
    AFTER_END,
    CLOSING,
    LATIN_SENTENCE_ENDS,
    SURE_SENTENCE_ENDS,
    THAI,
    UNCASED_LETTER,
)

HAS_LETTER = re.compile(r"[^\W_]")
IS_QUOTE_OR_BRACKET = re.compile(f"^[{re.escape(CLOSING)}]+$")
IS_RELEVANT = re.compile(f"[{SURE_SENTENCE_ENDS}]|{UNCASED_LETTER}")
ENDS = re.compile(
    f"(?:[{SURE_SENTENCE_ENDS}]|{UNCASED_LETTER}{{2}}[{LATIN_SENTENCE_ENDS}]+){AFTER_END}*$"
)
ENDS_AFTER_WORD = re.compile(f"^[{LATIN_SENTENCE_ENDS}]+{AFTER_END}*$")
IS_WORD = re.compile(f"{UNCASED_LETTER}{{2}}$")
IS_CLOSING = re.compile(f"^{AFTER_END}+$")
IS_MARK = re.compile(f"^(?:[{SURE_SENTENCE_ENDS}{LATIN_SENTENCE_ENDS}]|{AFTER_END})+$")
# In Thai a space ends a sentence or a clause, unless it sets off a number or a name.
ENDS_LONG_IN_THAI = re.compile(f"{THAI}{{5}}$")
BEGINS_LONG_IN_THAI = re.compile(f"^{THAI}{{5}}")


class Words:
    """The tokens of a Doc that are not white space: what they look like, and how they stand.
    `places` (n_words,) are their numbers among the tokens. All arrays of facts are bool
    (n_words,)."""

    def __init__(self, doc: Doc, is_space: np.ndarray) -> None:
        self.places = np.flatnonzero(~is_space)
        self._doc = doc

    @cached_property
    def is_apart(self) -> np.ndarray:
        """Whether white space stands before each word."""
        has_space = self._doc.to_array(SPACY)[self.places[:-1]] == 1
        is_apart = (np.diff(self.places) > 1) | has_space
        return np.append(True, is_apart)[: len(self.places)]

    @cached_property
    def _forms(self) -> tuple[list[str], np.ndarray]:
        """The different words, and which of them each word is."""
        forms, form_of_word = np.unique(self._doc.to_array(ORTH)[self.places], return_inverse=True)
        strings = self._doc.vocab.strings
        return [strings[form] for form in forms.tolist()], form_of_word

    def match(self, pattern: re.Pattern[str]) -> np.ndarray:
        """Search for a pattern in every word."""
        texts, form_of_word = self._forms
        found = np.array([pattern.search(text) is not None for text in texts], dtype=bool)
        return found[form_of_word]

    def begin_sentences(self) -> np.ndarray:
        """Where sentences surely begin, but for the first word."""
        if IS_RELEVANT.search(" ".join(self._forms[0])) is None:
            return np.zeros(len(self.places), dtype=bool)
        ends = self.match(ENDS) | (self.match(ENDS_AFTER_WORD) & _shift(self.match(IS_WORD)))
        # A mark that closes a quotation or a bracket belongs to the sentence before it.
        closes = self.match(IS_CLOSING) & ~self.is_apart
        last_of_others = np.maximum.accumulate(np.where(closes, 0, np.arange(len(closes))))
        begins = _shift(ends[last_of_others]) & ~(self.match(IS_MARK) & ~self.is_apart)
        is_after_thai = self.is_apart & _shift(self.match(ENDS_LONG_IN_THAI))
        return begins | (is_after_thai & self.match(BEGINS_LONG_IN_THAI))

    def close(self) -> np.ndarray:
        """Marks that close a quotation or a bracket: white space stands after them but not before
        them, which tells what “ is in German."""
        is_last = np.append(self.is_apart[1:], True)[: len(self.places)]
        return self.match(IS_QUOTE_OR_BRACKET) & ~self.is_apart & is_last


def _shift(facts: np.ndarray) -> np.ndarray:
    """What holds for the word before each word."""
    return np.append(False, facts[:-1])
