"""Make the Doc of a treebank's document: its tokens and EDUs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from spacy.language import Language
from spacy.tokens import Doc

from ..doc import PARAGRAPH_BREAK, edu_places, set_edus
from ..languages import blank_pipeline, multilingual_pipeline
from ..orthography import is_unspaced
from .detokenize import ESCAPED_BRACKETS, guess_spaces
from .document import EduTokens, TreebankDocument
from .text import is_space_tokenized


def make_doc(document: TreebankDocument, lang: str, *, raw_text: bool = False) -> Doc:
    """Make a Doc with EDUs. Where the treebank gives no tokens, the language's tokenizer makes
    them. With `raw_text`, text whose tokens all stand apart is written as people do."""
    nlp = multilingual_pipeline() if raw_text else blank_pipeline(lang)
    is_spaced_out = is_space_tokenized(document.edus)
    edus = document.tokens
    if edus is None:
        edus = [
            _tokenize(edu, nlp, is_spaced_out=is_spaced_out, unescape=raw_text)
            for edu in document.edus
        ]
        _separate_edus(edus, is_spaced_out=is_spaced_out)
    edus = _with_breaks(edus, {block.start for block in document.blocks})
    words = [word for edu in edus for word in edu.words]
    spaces = [space for edu in edus for space in edu.spaces]
    starts: list[bool | int | None] = [start for edu in edus for start in edu.sentence_starts]
    if raw_text and is_spaced_out:
        spaces = guess_spaces(words, lang)
    doc = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts or None)
    borders = accumulate((len(edu.words) for edu in edus), initial=0)
    spans = (doc[start:end] for start, end in pairwise(borders))
    set_edus(doc, [span for span in spans if span.text != PARAGRAPH_BREAK])
    return doc


def retokenize(doc: Doc) -> Doc | None:
    """Copy a Doc and its EDUs with the tokens of a multilingual pipeline. None where an EDU would
    begin inside a token."""
    copy = multilingual_pipeline().make_doc(doc.text)
    edus = [copy.char_span(start, end) for start, end in edu_places(doc)]
    if None in edus:
        return None
    set_edus(copy, [edu for edu in edus if edu is not None])
    return copy


def _tokenize(edu: str, nlp: Language, *, is_spaced_out: bool, unescape: bool) -> EduTokens:
    if not is_spaced_out:
        tokens = nlp.tokenizer(edu)
        return EduTokens([t.text for t in tokens], [bool(t.whitespace_) for t in tokens])
    words = [ESCAPED_BRACKETS.get(word, word) if unescape else word for word in edu.split()]
    return EduTokens(words, [True] * len(words))


def _separate_edus(edus: Sequence[EduTokens], *, is_spaced_out: bool) -> None:
    """Put a space between EDUs, but not beside scripts that have none, unless the text has spaces
    between all tokens."""
    for edu, following in pairwise(edus):
        is_joined = is_unspaced(edu.words[-1][-1]) or is_unspaced(following.words[0][0])
        edu.spaces[-1] = is_spaced_out or not is_joined
    edus[-1].spaces[-1] = False


def _with_breaks(edus: Iterable[EduTokens], block_starts: Container[int]) -> list[EduTokens]:
    """Put blank lines between blocks, each as an EDU of its own."""
    found: list[EduTokens] = []
    for number, edu in enumerate(edus):
        if found and number in block_starts:
            found[-1] = replace(found[-1], spaces=[*found[-1].spaces[:-1], False])
            has_sentences = bool(edu.sentence_starts)
            found.append(EduTokens([PARAGRAPH_BREAK], [False], [False] * has_sentences))
        found.append(edu)
    return found
