"""How a tree hangs on a Doc: the extensions, and what is stored.

The EDUs are `doc.spans["edus"]`. Splits, labels, scores and the characters of the EDUs are plain
lists in `doc.user_data`, so that they go wherever spaCy serialises a Doc. The tree itself is kept
beside the Doc: the one that was set, or one that is built once from the lists. It is not given out
after the EDUs or the lists were exchanged for others; editing the lists in place is not supported.
"""

from __future__ import annotations

import warnings
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import index, itemgetter
from typing import Any

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup, Token

from .doc_layout import settle_layout
from .errors import Errors, RstError
from .tree import RstNode, RstTree

EDUS_KEY = "edus"
TREE_KEY = "rst_tree"
# Metadata of a treebank's document in `doc.user_data`; read them with `get_meta`.
NAME_KEY = "rst_name"
LANGUAGE_KEY = "rst_lang"
TREEBANK_KEY = "rst_treebank"
SOURCE_KEY = "rst_source"
BLANKED_KEY = "rst_blanked"
# Units that are not part of the tree, such as headlines: their offset in the text, and their text.
UNLINKED_KEY = "rst_unlinked"
# The relations that the treebank declares: name and type ("rst" or "multinuc").
DECLARED_KEY = "rst_declared"
# Nodes, as start and end in EDUs, whose nuclei belonged to the parent's group before binarization.
JOINED_KEY = "rst_joined"
# The origin of a translated Doc: a dict with language, engine, version and the texts of its EDUs.
TRANSLATED_FROM_KEY = "rst_translated_from"
# Whether the Doc's sentences are a guess of our own `syntax`.
GUESSED_SENTENCES_KEY = "rst_guessed_sentences"
PARAGRAPH_BREAK = "\n\n"


def get_edus(doc: Doc) -> list[Span]:
    """Get the EDUs of a Doc, none for one without text. They are checked: in order, without
    overlap, covering every token that is not white space."""
    edus = _read_edus(doc)
    previous = doc[:0]
    for number, edu in enumerate([*edus, doc[len(doc) :]], start=1):
        problem = ""
        if edu.start >= edu.end and number <= len(edus):
            raise RstError(Errors.R026.format(number=number))
        if edu.start < previous.end:
            problem = "overlap or are out of order"
        elif edu.start > previous.end:
            between = (token.text for token in doc[previous.end : edu.start] if not token.is_space)
            missing = next(between, None)
            problem = f"have {missing!r} between them" if missing else ""
        if problem and not edus:
            raise RstError(Errors.R020)
        if problem:
            message = Errors.R022.format(first=previous.text, second=edu.text, problem=problem)
            raise RstError(message)
        previous = edu
    return edus


def _read_edus(doc: Doc) -> list[Span]:
    """Get the EDUs. If tokens were merged or split, put those of the same characters in their
    place, as spaCy leaves Spans at their old token numbers."""
    group = doc.spans.get(EDUS_KEY, ())
    try:
        edus = list(group)
    except IndexError:  # there are fewer tokens than before
        stored = doc.user_data.get(TREE_KEY)
        chars = [] if stored is None else stored["edu_chars"]
    else:
        if _are_in_place(doc, edus):
            return edus
        chars = _edu_chars(edus)
    found = (doc.char_span(start, end) for start, end in chars)
    edus = [edu for edu in found if edu is not None]
    if len(edus) != len(group):
        raise RstError(Errors.R028)
    doc.spans[EDUS_KEY] = edus
    settle_layout(doc)
    return edus


def _are_in_place(doc: Doc, edus: Sequence[Span]) -> bool:
    """Tell whether EDUs still begin and end with their tokens."""
    tokens = doc.to_array([IDX, LENGTH]).astype(np.int64)
    rows = [(e.start, e.end - 1, e.start_char, e.end_char) for e in edus if e.start < e.end]
    firsts, lasts, starts, ends = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return bool((tokens[firsts, 0] == starts).all() and (tokens[lasts].sum(axis=1) == ends).all())


def _edu_chars(edus: Sequence[Span]) -> list[list[int]]:
    return [[edu.start_char, edu.end_char] for edu in edus]


def set_edus(doc: Doc, edus: Sequence[Span]) -> None:
    """Put EDUs, Spans of this Doc, on a Doc; a tree over other EDUs is taken off."""
    doc.spans[EDUS_KEY] = list(edus)
    doc.user_data.pop(TREE_KEY, None)


class _EdusOfDoc(Sequence[Span]):
    """The EDUs of a Doc, each made when it is asked for."""

    def __init__(self, doc: Doc, chars: Sequence[Sequence[int]]) -> None:
        self._doc = doc
        self._chars = chars

    def __len__(self) -> int:
        return len(self._chars)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return tuple(_EdusOfDoc(self._doc, self._chars[number]))
        start, end = self._chars[number]
        return self._doc.char_span(start, end, alignment_mode="expand")


@dataclass
class _Kept:
    """The tree of a Doc and what it belongs to, without Spans, which would keep the Doc alive for
    ever. The same tree over Spans lives as long as it is in use."""

    stored: dict[str, Any]  # the lists in `doc.user_data`
    group: SpanGroup  # the EDUs in `doc.spans`
    sizes: tuple[int, int]  # numbers of tokens, which changes when some are merged, and EDUs
    chars: list[list[int]]  # start and end of each EDU
    tree: RstTree
    in_use: weakref.ref[RstTree] | None = None

    def belongs_to(self, doc: Doc) -> bool:
        return (
            self.stored is doc.user_data[TREE_KEY]
            and self.group is doc.spans[EDUS_KEY]
            and self.sizes == (len(doc), len(self.group))
        )

    def tree_of(self, doc: Doc) -> RstTree:
        tree = None if self.in_use is None else self.in_use()
        if tree is None:
            tree = self.tree._over(_EdusOfDoc(doc, self.chars))
            self.in_use = weakref.ref(tree)
        return tree


# Not on the Docs, where it would be serialised with them.
_KEPT: weakref.WeakKeyDictionary[Doc, _Kept] = weakref.WeakKeyDictionary()


def _find_kept(doc: Doc) -> _Kept | None:
    """Find the tree of a Doc, or build it from what is stored."""
    stored = doc.user_data.get(TREE_KEY)
    if stored is None or EDUS_KEY not in doc.spans:
        return None
    kept = _KEPT.get(doc)
    if kept is not None and kept.belongs_to(doc):
        return kept
    try:
        # A DocBin gives lists back as tuples.
        chars = [[index(start), index(end)] for start, end in stored["edu_chars"]]
        if not _are_edus(doc, chars):
            return None
        labelled = zip(stored["splits"], stored["labels"], strict=True)
        splits = [(*place, label) for place, label in labelled]
        tree = RstTree.from_splits(splits, [""] * len(chars), stored["scores"])
    except Exception as error:  # the data may come from anywhere
        raise RstError(Errors.R027.format(error=repr(error))) from error
    return _keep(doc, stored, chars, tree)


def _are_edus(doc: Doc, chars: list[list[int]]) -> bool:
    try:
        is_whole = all(start < end for start, end in chars)
        return is_whole and _edu_chars(_read_edus(doc)) == chars
    except RstError:  # tokens were merged over the borders of EDUs
        return False


def _keep(doc: Doc, stored: dict[str, Any], chars: list[list[int]], tree: RstTree) -> _Kept:
    group = doc.spans[EDUS_KEY]
    _KEPT[doc] = _Kept(stored, group, (len(doc), len(group)), chars, tree)
    return _KEPT[doc]


def get_tree(doc: Doc) -> RstTree | None:
    """Get the tree of a Doc, None where it was not parsed or its EDUs are no longer those of the
    tree."""
    kept = _find_kept(doc)
    return None if kept is None else kept.tree_of(doc)


def set_tree(doc: Doc, tree: RstTree | None) -> None:
    """Hang a tree on a Doc, or take it off. The EDUs are set from the tree where it has Spans of
    this Doc; otherwise `doc.spans["edus"]` must hold as many EDUs as the tree."""
    if tree is None:
        doc.user_data.pop(TREE_KEY, None)
        return
    if not isinstance(tree, RstTree):
        raise TypeError(f"doc._.rst_tree takes an RstTree or None, not {tree!r}")
    if isinstance(tree.edus[0], Span):
        foreign = [edu for edu in tree.edus if getattr(edu, "doc", None) is not doc]
        if foreign:
            raise RstError(Errors.R025.format(edu=foreign[0]))
        set_edus(doc, tree.edus)  # type: ignore[arg-type]
    chars = _edu_chars(_read_edus(doc))
    if len(chars) != len(tree):
        raise RstError(Errors.R021.format(n_tree=len(tree), n_edus=len(chars)))
    for number, (start, end) in enumerate(chars, start=1):
        if start >= end:
            raise RstError(Errors.R026.format(number=number))
    doc.user_data[TREE_KEY] = {
        "edu_chars": chars,
        "splits": [list(split[:3]) for split in tree.splits],
        "labels": [split.label for split in tree.splits],
        "scores": None if tree.scores is None else [list(score) for score in tree.scores],
    }
    _keep(doc, doc.user_data[TREE_KEY], chars, tree.with_edus())


def get_json(doc: Doc) -> dict[str, Any] | None:
    """Get the tree of a Doc in JSON values: what `RstTree.to_dict` gives, and `edu_chars` with the
    start and end of each EDU. None where the Doc was not parsed."""
    kept = _find_kept(doc)
    if kept is None:
        return None
    return {**kept.tree_of(doc).to_dict(), "edu_chars": [list(chars) for chars in kept.chars]}


def set_json(doc: Doc, data: dict[str, Any] | None) -> None:
    """Hang a tree that `get_json` described on a Doc, so that `Doc.from_json` restores it."""
    set_tree(doc, None if data is None else RstTree.from_dict(data))


def trimmed_chars(span: Span) -> tuple[int, int]:
    """Get start and end of a Span in characters, without the white space around its text."""
    text = span.text
    padding = len(text) - len(text.lstrip())
    return span.start_char + padding, span.start_char + len(text.rstrip())


def edu_places(doc: Doc) -> list[tuple[int, int]]:
    """Get start and end of each EDU in characters, without the white space around it. EDUs of
    nothing but white space are left out."""
    places = map(trimmed_chars, _read_edus(doc))
    return [(start, end) for start, end in places if start < end]


def get_node(span: Span) -> RstNode | None:
    """Get the smallest node that covers a Span, None where the Doc was not parsed."""
    return _node_at(span.doc, span.start_char, span.end_char)


def get_token_node(token: Token) -> RstNode | None:
    """Get the leaf of a token's EDU, or the smallest node around white space between two EDUs."""
    return _node_at(token.doc, token.idx, token.idx + len(token))


def _node_at(doc: Doc, start_char: int, end_char: int) -> RstNode | None:
    kept = _find_kept(doc)
    if kept is None:
        return None
    first = max(bisect_right(kept.chars, start_char, key=itemgetter(0)) - 1, 0)
    last = min(bisect_left(kept.chars, end_char, key=itemgetter(1)), len(kept.chars) - 1)
    return kept.tree_of(doc).covering(first, max(first, last) + 1)


def doc_from_edus(
    nlp: Language, edus: Sequence[str], paragraph_starts: Collection[int] = ()
) -> Doc:
    """Make a Doc from EDUs that are strings, so that no segmenter is needed.

    nlp (Language): The pipeline whose tokenizer is used.
    edus (Sequence[str]): The EDUs in text order; they are joined with a space.
    paragraph_starts (Collection[int]): EDUs before which a blank line stands.
    RETURNS (Doc): The Doc with `doc.spans["edus"]`, ready for `rst_parser`.
    """
    after_break = set(paragraph_starts)
    words: list[str] = []
    spaces: list[bool] = []
    borders: list[tuple[int, int]] = []
    for number, edu in enumerate(edus):
        tokens = nlp.tokenizer(edu.strip())
        if not len(tokens):
            raise RstError(Errors.R026.format(number=number + 1))
        if words and number in after_break:
            spaces[-1] = False
            words.append(PARAGRAPH_BREAK)
            spaces.append(False)
        borders.append((len(words), len(words) + len(tokens)))
        words += [token.text for token in tokens]
        spaces += [bool(token.whitespace_) for token in tokens]
        spaces[-1] = number + 1 < len(edus)
    doc = Doc(nlp.vocab, words=words, spaces=spaces)
    set_edus(doc, [doc[start:end] for start, end in borders])
    return doc


def register_extensions() -> None:
    """Set the extensions of Doc, Span and Token, and let `Doc.from_docs` drop trees silently."""
    extensions: list[tuple[Any, ...]] = [
        (Doc, "rst_tree", get_tree, set_tree),
        (Doc, "rst_json", get_json, set_json),
        (Span, "rst_node", get_node, None),
        (Token, "rst_node", get_token_node, None),
    ]
    for owner, name, getter, setter in extensions:
        if not owner.has_extension(name):
            owner.set_extension(name, getter=getter, setter=setter)
    # `Doc.from_docs` cannot keep a tree, and would print the whole of it in a warning.
    warnings.filterwarnings("ignore", r"\[W102\] Skipping unsupported user data '(rst|layout)_")


def knows_sentences(doc: Doc) -> bool:
    """Whether a Doc has sentences from other components. Those of our own `syntax` add nothing to
    its vectors."""
    return doc.has_annotation("SENT_START") and not doc.user_data.get(GUESSED_SENTENCES_KEY)


def get_meta(doc: Doc, key: str) -> Any:
    """Get metadata of a treebank's document, such as that under `NAME_KEY`, or None."""
    return doc.user_data.get(key)


def original_language(doc: Doc) -> str | None:
    """Get the code of the language that a document, translated since or not, was written in."""
    origin = get_meta(doc, TRANSLATED_FROM_KEY) or {}
    return origin.get("language") or get_meta(doc, LANGUAGE_KEY)
