"""Read dependency trees from CoNLL-U files, and lay them over the tokens of Docs.

Treebanks keep their syntax in separate files, with words that need not be the tokens of a Doc:
a multilingual pipeline cuts Chinese into characters, and a treebank may cut "don't" in two.
Words and tokens meet in the characters of the text:

- Where a word is cut into several tokens, the first one with a letter or digit stands for it. The
  others hang on that one as `flat`, or as `goeswith` where the script has no spaces.
- Where several words fall into one token, the token stands for the highest of them in the tree.
- Tokens that no word has hang on the token before as `dep`: white space, and what the file lacks.
- Where words are not in the text, what depends on them goes to the nearest word above that is. A
  sentence whose root is not in the text gets the highest of the other words as its root.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from graphlib import TopologicalSorter
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TypeVar

import numpy as np
from spacy.attrs import DEP, HEAD, POS
from spacy.parts_of_speech import IDS as POS_IDS
from spacy.tokens import Doc, Token

from ..errors import Errors, RstError
from ..orthography import is_unspaced
from .conllu import SUFFIX, Word, read_words
from .detokenize import ESCAPED_BRACKETS
from .files import list_files, shown_path

ROOT = "ROOT"
UNKNOWN = "dep"
UNIVERSAL_TAGS = frozenset(POS_IDS) - {"", "CONJ", "EOL", "SPACE"}
UNIVERSAL_LABELS = frozenset({
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound",
    "conj", "cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat",
    "goeswith", "iobj", "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan",
    "parataxis", "punct", "reparandum", "root", "vocative", "xcomp",
})  # fmt: skip
# The tags of the Chinese Treebank, as DISRPT's GCDT has them in the column UPOS.
CHINESE_TAGS = {
    "AD": "ADV", "AS": "PART", "BA": "ADP", "CC": "CCONJ", "CD": "NUM", "CS": "SCONJ",
    "DEC": "PART", "DEG": "PART", "DER": "PART", "DEV": "PART", "DT": "DET", "ETC": "PART",
    "FW": "X", "IJ": "INTJ", "JJ": "ADJ", "LB": "ADP", "LC": "ADP", "M": "NOUN", "MSP": "PART",
    "NN": "NOUN", "NR": "PROPN", "NT": "NOUN", "OD": "NUM", "P": "ADP", "PN": "PRON",
    "PU": "PUNCT", "SB": "ADP", "SP": "PART", "URL": "X", "VA": "ADJ", "VC": "AUX", "VE": "VERB",
    "VV": "VERB",
}  # fmt: skip
# Stanford's labels for Chinese, where they are not those of Universal Dependencies.
STANFORD_LABELS = {
    "auxpass": "aux", "dobj": "obj", "mark:clf": "clf", "name": "flat", "neg": "advmod",
    "nsubjpass": "nsubj",
}  # fmt: skip
STANFORD_OBLIQUES = frozenset({"nmod:prep", "nmod:range", "nmod:tmod"})  # under verbs: "obl"
PREDICATE_TAGS = frozenset({"ADJ", "AUX", "VERB"})
SMALLEST_AGREEMENT = 0.95  # the share of a text's characters that the words must match

Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True)
class Syntax:
    """The dependency trees of a document, with universal tags and labels."""

    words: list[Word]
    tags: list[str]
    heads: list[int]  # places in the document; a root is its own head
    labels: list[str]
    sentences: list[int]  # the number of the sentence of each word


def read_syntax(folder: Path) -> dict[str, Syntax | RstError]:
    """Read the syntax of all documents in a folder by their names, or why it cannot be read.
    Documents whose words have no heads are left out."""
    found: dict[str, Syntax | RstError] = {}
    for path in list_files(folder, (SUFFIX,)):
        for name, words in read_words(path):
            if isinstance(words, RstError):
                found[name] = words
            elif any(word.head is not None for word in words):
                try:
                    found[name] = _make_syntax(words)
                except ValueError as error:
                    node, problem = f"The syntax of document {name}", f"forms no trees: {error}"
                    source = shown_path(path)
                    message = Errors.R105.format(node=node, source=source, problem=problem)
                    found[name] = RstError(message)
    return found


def _make_syntax(words: list[Word]) -> Syntax:
    sentences = list(accumulate(int(word.starts_sentence) for word in words))
    heads, start = [], 0
    for place, word in enumerate(words):
        start = place if word.starts_sentence else start
        head = start + word.head - 1 if word.head else place
        if word.head is None or head >= len(words) or sentences[head] != sentences[place]:
            raise ValueError("a word has no head, or one outside its sentence")
        if word.head and head == place:
            raise ValueError("a word is its own head")
        heads.append(head)
    own_tags = [CHINESE_TAGS.get(word.pos, word.pos) for word in words]
    tags = [tag if tag in UNIVERSAL_TAGS else "X" for tag in own_tags]
    labels = [
        _universal_label(word.dep, tags[head]) for word, head in zip(words, heads, strict=True)
    ]
    _depths(heads)  # refuses cycles
    return Syntax(words, tags, heads, labels, sentences)


def _universal_label(label: str, tag_of_head: str) -> str:
    if label in STANFORD_OBLIQUES and tag_of_head in PREDICATE_TAGS:
        return "obl"
    universal = STANFORD_LABELS.get(label, label).split(":")[0].lower()
    return universal if universal in UNIVERSAL_LABELS else UNKNOWN


def _depths(heads: Sequence[int]) -> list[int]:
    """Measure how far each node is from the root of its tree, which is its own head."""
    above = {node: () if head == node else (head,) for node, head in enumerate(heads)}
    depths = [0] * len(heads)
    for node in TopologicalSorter(above).static_order():  # refuses cycles
        depths[node] = sum(depths[head] + 1 for head in above[node])
    return depths


def set_syntax(doc: Doc, syntax: Syntax) -> bool:
    """Give a Doc parts of speech, heads, labels and sentences. Its text may lack some words; where
    more differ, the Doc stays as it is, and False is returned."""
    words_of_token = _align(doc, syntax.words)
    if words_of_token is not None:
        _Projection(doc, syntax, words_of_token).write()
    return words_of_token is not None


def copy_syntax(doc: Doc, copy: Doc, kept: Sequence[int]) -> None:
    """Give a copy the trees of a Doc, of whose tokens it has those in `kept`."""
    sentences = list(accumulate(int(bool(token.is_sent_start)) for token in doc))
    tags, labels = [token.pos_ for token in doc], [token.dep_ for token in doc]
    syntax = Syntax([], tags, [token.head.i for token in doc], labels, sentences)
    _Projection(copy, syntax, [[token] for token in kept]).write()


def _align(doc: Doc, words: Sequence[Word]) -> list[list[int]] | None:
    """Find the words of each token by their characters. None if the texts differ."""
    token_characters, tokens = _characters(
        (ESCAPED_BRACKETS.get(token.text, token.text), token.i) for token in doc
    )
    word_characters, groups = _characters(_written_forms(words))
    matches = _matching_blocks(token_characters, word_characters)
    if sum(size for _, _, size in matches) < SMALLEST_AGREEMENT * len(token_characters):
        return None
    found: list[list[int]] = [[] for _ in doc]
    for start, other_start, size in matches:
        for offset in range(size):
            group = groups[other_start + offset]
            covered = found[tokens[start + offset]]
            covered += [word for word in group if word not in covered[-len(group) :]]
    return found


def _characters(texts: Iterable[tuple[str, Owner]]) -> tuple[str, list[Owner]]:
    """Collect the characters of texts that people see, and to which text each belongs."""
    pairs = [
        (character, owner)
        for text, owner in texts
        for character in unicodedata.normalize("NFKC", text)
        if not character.isspace() and unicodedata.category(character) != "Cf"
    ]
    return "".join(character for character, _ in pairs), [owner for _, owner in pairs]


def _written_forms(words: Sequence[Word]) -> list[tuple[str, range]]:
    """List what is written, each piece with the words that it stands for: one, or those of a
    multi-word token that is more than its words one after the other."""
    forms: list[tuple[str, range]] = []
    place = 0
    while place < len(words):
        written = words[place].written
        n_words = written.n_words if written else 1
        group = range(place, place + n_words)
        own_forms = [words[i].form for i in group]
        if written and "".join(own_forms) != written.form:
            forms.append((written.form, group))
        else:
            pieces = zip(own_forms, group, strict=True)
            forms += [(ESCAPED_BRACKETS.get(form, form), range(i, i + 1)) for form, i in pieces]
        place += n_words
    return forms


def _matching_blocks(one: str, other: str) -> list[tuple[int, int, int]]:
    """Find the parts that two texts share: start in the one, start in the other, size. They differ
    in little, and looking for the rest only between shared beginning and end saves minutes."""
    n_first = _n_shared(one, other)
    n_last = _n_shared(one[n_first:][::-1], other[n_first:][::-1])
    middle, other_middle = (text[n_first : len(text) - n_last] for text in (one, other))
    matches = SequenceMatcher(None, middle, other_middle, autojunk=False).get_matching_blocks()
    between = [(match.a + n_first, match.b + n_first, match.size) for match in matches]
    return [(0, 0, n_first), *between, (len(one) - n_last, len(other) - n_last, n_last)]


def _n_shared(one: str, other: str) -> int:
    """Count the characters that two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class _Projection:
    """Lays trees over the tokens of a Doc, of each of which the words are known, in order."""

    def __init__(self, doc: Doc, syntax: Syntax, words_of_token: list[list[int]]) -> None:
        self.doc = doc
        self.syntax = syntax
        self.words_of_token = words_of_token
        self.depths = _depths(syntax.heads)
        self.carriers = self._find_carriers()
        self.word_of_token = self._choose_words()
        self.sentences: list[int] = []
        self.tags: list[str] = []
        self.labels: list[str] = []
        heads: list[int | None] = []
        for token in doc:
            head, word, tag, label = self._attach(token)
            # A token without a word belongs to the sentence before it.
            before = self.sentences[-1] if self.sentences else 0
            self.sentences.append(before if word is None else syntax.sentences[word])
            self.tags.append(tag)
            self.labels.append(label)
            heads.append(head)
        self.heads = self._attach_roots(heads)

    def write(self) -> None:
        """Write the trees to the Doc."""
        offsets = np.array(self.heads, dtype=np.int64) - np.arange(len(self.doc))
        deps = [self.doc.vocab.strings.add(label) for label in self.labels]
        tags = [POS_IDS[tag] for tag in self.tags]
        columns = [tags, offsets.astype(np.uint64), deps]
        array = np.stack([np.array(column, np.uint64) for column in columns], axis=1)
        self.doc.from_array([POS, HEAD, DEP], array)  # type: ignore[arg-type]

    def _find_carriers(self) -> dict[int, int]:
        """Find the token that stands for each word."""
        tokens_of_word: dict[int, list[int]] = defaultdict(list)
        for token, words in enumerate(self.words_of_token):
            for word in words:
                tokens_of_word[word].append(token)
        return {
            word: next((i for i in tokens if any(map(str.isalnum, self.doc[i].text))), tokens[0])
            for word, tokens in tokens_of_word.items()
        }

    def _choose_words(self) -> list[int | None]:
        """Choose the word that each token stands for. Words in the same token that belong to
        another sentence are then as good as missing."""
        candidates: dict[int, list[int]] = defaultdict(list)
        for word, token in self.carriers.items():
            candidates[token].append(word)
        chosen: list[int | None] = [None] * len(self.words_of_token)
        for token, words in candidates.items():
            best = min(words, key=lambda word: (self.depths[word], word))
            chosen[token] = best
            for word in words:
                if self.syntax.sentences[word] != self.syntax.sentences[best]:
                    del self.carriers[word]
        return chosen

    def _attach(self, token: Token) -> tuple[int | None, int | None, str, str]:
        """Find the head of a token, its word, tag and label. The head is None for a root, or if
        nothing above it is in the text."""
        tags, labels = self.syntax.tags, self.syntax.labels
        word = self.word_of_token[token.i]
        if word is not None:
            return self._token_above(word, token.i), word, tags[word], labels[word]
        words = self.words_of_token[token.i]
        cut = next((word for word in words if word in self.carriers), None)
        if cut is not None:
            label = "goeswith" if is_unspaced(token.text[0]) else "flat"
            return self.carriers[cut], cut, tags[cut], label
        tag = "SPACE" if token.is_space else "X"
        if token.i:
            return token.i - 1, None, tag, UNKNOWN
        known = ((i, word) for i, word in enumerate(self.word_of_token) if word is not None)
        return *next(known, (None, None)), tag, UNKNOWN

    def _token_above(self, word: int, token: int) -> int | None:
        heads = self.syntax.heads
        while heads[word] != word:
            word = heads[word]
            carrier = self.carriers.get(word, token)
            if carrier != token:
                return carrier
        return None

    def _attach_roots(self, heads: list[int | None]) -> list[int]:
        """Complete the trees, so that each sentence has one root: the highest of its tops."""
        tops: dict[int, list[int]] = defaultdict(list)
        for token, head in enumerate(heads):
            if head is None or head == token:
                tops[self.sentences[token]].append(token)
        complete = [token if head is None else head for token, head in enumerate(heads)]
        depths = [0 if word is None else self.depths[word] for word in self.word_of_token]
        for tokens in tops.values():
            root = min(tokens, key=lambda token: (depths[token], token))
            for token in tokens:
                complete[token] = root
                self.labels[token] = ROOT if token == root else UNKNOWN
        return complete
