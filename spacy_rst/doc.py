"""How a tree hangs on a Doc: the extensions, and what is stored.

The EDUs are `doc.spans["edus"]`; splits, labels and scores lie as plain lists in `doc.user_data`,
so that they go wherever spaCy serialises a Doc. The tree is built from them when it is first asked
for. Beside them lies where each EDU stood in the text: a tree whose EDUs were exchanged is not
given out.
"""

from __future__ import annotations

import marshal
import warnings
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from operator import attrgetter, index
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup, Token

from .errors import Errors, RstError
from .spans import SteadySpans, find_tokens_again, token_starts
from .tree import RstNode, RstTree

EDUS_KEY = "edus"
TREE_KEY = "rst_tree"
# What a treebank's document says about itself in `doc.user_data`; read it with `get_meta`.
NAME_KEY = "rst_name"
LANGUAGE_KEY = "rst_lang"
TREEBANK_KEY = "rst_treebank"
SOURCE_KEY = "rst_source"
BLANKED_KEY = "rst_blanked"
# Units beside the tree, such as headlines: where each stands in the text, and its own text.
UNLINKED_KEY = "rst_unlinked"
# The relations that its treebank declares: name and type ("rst" or "multinuc").
DECLARED_KEY = "rst_declared"
# Nodes whose nuclei belonged to the group of their parent before the tree was made binary: the EDUs
# start and end.
JOINED_KEY = "rst_joined"
# What a translated Doc was before: a dict with language, engine, version and the texts of its EDUs.
TRANSLATED_FROM_KEY = "rst_translated_from"
# Whether the Doc's sentences are a guess of our own `syntax`.
GUESSED_SENTENCES_KEY = "rst_guessed_sentences"
# DocBins of version 0.1 have the same keys without this. Others may use such names, too: only a
# value of the type that was stored then is taken for ours.
FACT_PREFIX = "rst_"
FACT_TYPES: dict[str, Any] = {
    **dict.fromkeys((NAME_KEY, LANGUAGE_KEY, TREEBANK_KEY, SOURCE_KEY), str),
    BLANKED_KEY: bool,
    TRANSLATED_FROM_KEY: dict,
}
PARAGRAPH_BREAK = "\n\n"
MARSHAL_VERSION = 2  # the last in which equal values always give equal bytes


def get_edus(doc: Doc) -> list[Span]:
    """Get the EDUs of a Doc, checked: in order, without overlap, covering every token that is not
    white space.

    doc (Doc): The Doc.
    RETURNS (List[Span]): The EDUs, none for a Doc without text.
    RAISES (RstError): If there are none though the Doc has text, or they do not fit the text.
    """
    edus = _read_edus(doc)
    if not _cover_text(doc, edus):
        _refuse_edus(doc, edus)
    return edus


def _cover_text(doc: Doc, edus: Sequence[Span]) -> bool:
    """Whether EDUs lie side by side, and all words in one of them."""
    places = np.array([(edu.start, edu.end) for edu in edus], dtype=np.int64).reshape(-1, 2)
    n_words_before = np.append(0, np.cumsum(doc.to_array(IS_SPACE) == 0))
    borders = places.ravel()
    is_in_order = (places[:, 0] < places[:, 1]).all() and (borders[1:] >= borders[:-1]).all()
    return bool(is_in_order and np.diff(n_words_before[places]).sum() == n_words_before[-1])


def _refuse_edus(doc: Doc, edus: Sequence[Span]) -> None:
    """Find out what is wrong with EDUs."""
    if not edus:
        raise RstError(Errors.R020)
    covered, previous = 0, ""
    for number, edu in enumerate(edus, start=1):
        if edu.start >= edu.end:
            raise RstError(Errors.R026.format(number=number))
        if edu.start < covered:
            raise RstError(Errors.R022.format(first=previous, second=edu.text))
        _check_gap(doc[covered : edu.start], previous, edu.text)
        covered, previous = edu.end, edu.text
    _check_gap(doc[covered:], previous, "")


def _check_gap(gap: Span, previous: str, following: str) -> None:
    for token in gap:
        if not token.is_space:
            raise RstError(Errors.R023.format(first=previous, second=following, missing=token.text))


def _read_edus(doc: Doc) -> list[Span]:
    group = doc.spans.get(EDUS_KEY, ())
    is_plain = isinstance(group, SpanGroup) and not isinstance(group, SteadySpans)
    if is_plain and not _is_in_place(group):
        find_tokens_again(group)
    return list(group)


def _is_in_place(group: SpanGroup) -> bool:
    """Tell whether the tokens of a group are still those of its characters."""
    doc = group.doc
    try:
        return all(
            doc[edu.start].idx == edu.start_char
            and doc[edu.end - 1].idx + len(doc[edu.end - 1]) == edu.end_char
            for edu in group
            if edu.start < edu.end
        )
    except IndexError:
        return False


def _edu_chars(edus: Sequence[Span]) -> list[list[int]]:
    return [[edu.start_char, edu.end_char] for edu in edus]


def set_edus(doc: Doc, edus: Sequence[Span]) -> None:
    """Put EDUs on a Doc; a tree over other EDUs is taken off.

    doc (Doc): The Doc.
    edus (Sequence[Span]): The EDUs, Spans of this Doc.
    """
    doc.spans[EDUS_KEY] = SteadySpans(doc, name=EDUS_KEY, spans=list(edus))
    doc.user_data.pop(TREE_KEY, None)


class _Built(NamedTuple):
    """The tree of a Doc without its Spans, which would keep the Doc alive for ever, and the one
    with Spans for as long as someone holds it."""

    fingerprint: int
    tree: RstTree
    in_use: weakref.ref[RstTree]


# Not on the Docs, where it would be serialised with them.
_BUILT: weakref.WeakKeyDictionary[Doc, _Built] = weakref.WeakKeyDictionary()


def get_tree(doc: Doc) -> RstTree | None:
    """Get the tree of a Doc. It is built once, and again when what it is built from has changed.

    doc (Doc): The Doc.
    RETURNS (Optional[RstTree]): The tree, None where the Doc was not parsed or its EDUs are no
        longer those of the tree.
    RAISES (RstError): If what is stored is no tree over the EDUs.
    """
    stored = doc.user_data.get(TREE_KEY)
    if stored is None or EDUS_KEY not in doc.spans:
        return None
    try:
        built = _BUILT.get(doc)
        if built is None or built.fingerprint != _fingerprint(doc, stored):
            return _build_tree(doc, stored)
    except Exception as error:  # the data may come from anywhere
        raise RstError(Errors.R027.format(error=repr(error))) from error
    return built.in_use() or _put_on(doc, built.fingerprint, built.tree)


def _fingerprint(doc: Doc, stored: dict[str, Any]) -> int:
    """Sum up what a tree is built from: tokens, EDUs and what is stored can all be edited."""
    edus = SpanGroup.to_bytes(doc.spans[EDUS_KEY])
    return hash((token_starts(doc), edus, marshal.dumps(stored, MARSHAL_VERSION)))


def _build_tree(doc: Doc, stored: dict[str, Any]) -> RstTree | None:
    labelled = zip(stored["splits"], stored["labels"], strict=True)
    tree = RstTree.from_splits(
        [(*place, label) for place, label in labelled], None, stored["scores"]
    )
    # A DocBin gives lists back as tuples.
    edu_chars = [[index(start), index(end)] for start, end in stored["edu_chars"]]
    if len(edu_chars) != len(tree):
        raise ValueError(f"{len(edu_chars)} EDUs for a tree of {len(tree)}")
    if _edu_chars(_read_edus(doc)) != edu_chars:
        return None
    return _put_on(doc, _fingerprint(doc, stored), tree)


def _put_on(doc: Doc, fingerprint: int, tree: RstTree) -> RstTree:
    in_use = tree.with_edus(list(doc.spans[EDUS_KEY]))
    _BUILT[doc] = _Built(fingerprint, tree, weakref.ref(in_use))
    return in_use


def set_tree(doc: Doc, tree: RstTree | None) -> None:
    """Hang a tree on a Doc, or take it off.

    doc (Doc): The Doc. Its EDUs are set from the tree where that has Spans of this Doc; otherwise
        `doc.spans["edus"]` must hold as many EDUs as the tree.
    tree (Optional[RstTree]): The tree, or None to remove the one there is.
    """
    if tree is None:
        doc.user_data.pop(TREE_KEY, None)
        return
    if not isinstance(tree, RstTree):
        raise RstError(Errors.R024.format(value=tree))
    if isinstance(tree.edus[0], Span):
        foreign = [edu for edu in tree.edus if getattr(edu, "doc", None) is not doc]
        if foreign:
            raise RstError(Errors.R025.format(edu=foreign[0]))
        set_edus(doc, tree.edus)  # type: ignore[arg-type]
    edus = _read_edus(doc)
    if len(edus) != len(tree):
        raise RstError(Errors.R021.format(n_tree=len(tree), n_edus=len(edus)))
    doc.user_data[TREE_KEY] = {
        "edu_chars": _edu_chars(edus),
        "splits": [list(split[:3]) for split in tree.splits],
        "labels": [split.label for split in tree.splits],
        "scores": None if tree.scores is None else [list(score) for score in tree.scores],
    }


def get_json(doc: Doc) -> dict[str, Any] | None:
    """Describe the tree of a Doc in JSON values, with the place of each EDU in the text.

    doc (Doc): The Doc.
    RETURNS (Optional[dict]): What `RstTree.to_dict` gives, and `edu_chars` with the start and end
        of each EDU in characters. None where the Doc was not parsed.
    """
    tree = get_tree(doc)
    if tree is None:
        return None
    return {**tree.to_dict(), "edu_chars": _edu_chars(list(doc.spans[EDUS_KEY]))}


def set_json(doc: Doc, data: dict[str, Any] | None) -> None:
    """Hang a tree on a Doc as `get_json` described it, so that `Doc.from_json` restores it.

    doc (Doc): The Doc, with its EDUs.
    data (Optional[dict]): The description, or None to remove the tree.
    """
    set_tree(doc, None if data is None else RstTree.from_dict(data))


def trimmed_chars(span: Span) -> tuple[int, int]:
    """Find where the text of a Span begins and ends, in characters and without the white space
    around it.

    span (Span): The Span.
    RETURNS (Tuple[int, int]): Start and end.
    """
    text = span.text
    padding = len(text) - len(text.lstrip())
    return span.start_char + padding, span.start_char + len(text.rstrip())


def edu_places(doc: Doc) -> list[tuple[int, int]]:
    """Find where the EDUs of a Doc begin and end, in characters.

    doc (Doc): The Doc.
    RETURNS (List[Tuple[int, int]]): The places without the white space around them, which may
        belong to an EDU or to none. EDUs of nothing but white space are left out.
    """
    places = map(trimmed_chars, doc.spans.get(EDUS_KEY) or ())
    return [(start, end) for start, end in places if start < end]


def get_node(span: Span) -> RstNode | None:
    """Find the smallest node that covers a Span.

    span (Span): The Span.
    RETURNS (Optional[RstNode]): The node, None where the Doc was not parsed.
    """
    tree = get_tree(span.doc)
    if tree is None:
        return None
    first = max(bisect_right(tree.edus, span.start, key=attrgetter("start")) - 1, 0)
    last = min(bisect_left(tree.edus, span.end, key=attrgetter("end")), len(tree) - 1)
    return tree.covering(first, max(first, last) + 1)


def get_token_node(token: Token) -> RstNode | None:
    """Find the EDU of a token.

    token (Token): The token.
    RETURNS (Optional[RstNode]): The leaf of its EDU, or the smallest node around white space
        between two EDUs. None where the Doc was not parsed.
    """
    return get_node(token.doc[token.i : token.i + 1])


def doc_from_edus(
    nlp: Language, edus: Sequence[str], paragraph_starts: Collection[int] = ()
) -> Doc:
    """Make a Doc from EDUs that are given as strings, so that no segmenter is needed.

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
    """Set the extensions of Doc, Span and Token, and drop trees quietly when Docs are merged."""
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
    """Tell whether a Doc has sentences that others set. Those of our own `syntax` tell segmenter
    and parser nothing that its vectors do not tell better.

    doc (Doc): The Doc.
    RETURNS (bool): Whether it has.
    """
    return doc.has_annotation("SENT_START") and not doc.user_data.get(GUESSED_SENTENCES_KEY)


def get_meta(doc: Doc, key: str) -> Any:
    """Get what a treebank's document says about itself.

    doc (Doc): The Doc.
    key (str): `NAME_KEY`, `LANGUAGE_KEY` or another of these.
    RETURNS (Any): What it says, None where it says nothing.
    """
    if key in doc.user_data:
        return doc.user_data[key]
    value = doc.user_data.get(key.removeprefix(FACT_PREFIX))
    return value if isinstance(value, FACT_TYPES.get(key, ())) else None


def original_language(doc: Doc) -> str | None:
    """Tell the language that a document was written in, whatever it was translated to since.

    doc (Doc): The Doc.
    RETURNS (str | None): The code of the language, None where nothing tells it.
    """
    origin = get_meta(doc, TRANSLATED_FROM_KEY) or {}
    return origin.get("language") or get_meta(doc, LANGUAGE_KEY)
