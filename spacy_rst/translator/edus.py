"""Translate Docs EDU by EDU: number, order and tree of the EDUs stay the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..doc import (
    BLANKED_KEY,
    DECLARED_KEY,
    JOINED_KEY,
    LANGUAGE_KEY,
    NAME_KEY,
    SOURCE_KEY,
    TRANSLATED_FROM_KEY,
    TREEBANK_KEY,
    doc_from_edus,
    get_edus,
    get_meta,
    get_tree,
    set_tree,
    trimmed_chars,
)
from ..errors import Errors, RstError
from ..languages import MULTI_LANGUAGE, base_code, blank_pipeline, normal_code
from ..orthography import BLANK_LINE
from .protocol import Translator, translate_checked

KEPT_KEYS = (NAME_KEY, TREEBANK_KEY, SOURCE_KEY, BLANKED_KEY, DECLARED_KEY, JOINED_KEY)
# A translation with more characters than this times those of its text, plus this many, is a failure
# of the engine.
MAX_RATIO, MAX_EXTRA = 5, 50


def translate_docs(
    docs: Sequence[Doc],
    engine: Translator,
    source: str | None = None,
    target: str = "en",
    *,
    nlp: Language | None = None,
    counts: Counter[str] | None = None,
) -> list[Doc]:
    """Translate the EDUs of Docs, with one call to the engine for each source language.

    docs (Sequence[Doc]): The Docs with their EDUs. They are not changed.
    engine (Translator): The engine.
    source (str | None): The code of their language. None for what each Doc says: its
        `user_data["rst_lang"]`, or else the language of its vocabulary.
    target (str): The code of the language to translate to.
    nlp (Language | None): The pipeline whose tokenizer and vocabulary the new Docs get; by default
        spaCy's blank one for the target language.
    counts (Counter[str] | None): Is added to, if all can be translated: "documents", "edus",
        "same_language" (documents that were in the target language already) and "kept" (EDUs that
        kept their text because their translation was empty or far too long).
    RETURNS (list[Doc]): New Docs with the same EDUs and trees in the target language. Their
        `user_data["rst_translated_from"]` has language, engine, version and the texts of the EDUs.
        A Doc that is in the target language is copied.
    RAISES (RstError): If the engine fails, or a Doc has no EDUs or no language.
    """
    nlp = _target_pipeline(target) if nlp is None else nlp
    by_language: dict[str, list[int]] = defaultdict(list)
    for number, doc in enumerate(docs):
        by_language[_source_language(doc, source)].append(number)
    texts = [_edu_texts(doc) for doc in docs]
    counted = Counter(documents=len(docs), edus=sum(map(len, texts)))
    results: dict[int, Doc] = {}
    for language, numbers in by_language.items():
        if normal_code(language) == normal_code(target):
            counted["same_language"] += len(numbers)
            results |= {number: docs[number].copy() for number in numbers}
            continue
        segments = [text for number in numbers for text in texts[number]]
        translated = iter(translate_checked(engine, segments, language, target))
        version = engine.version(language, target) if segments else ""
        origin = {"language": language, "engine": engine.name, "version": version}
        for number in numbers:
            edus = [" ".join(next(translated).split()) for _ in texts[number]]
            for place, (text, edu) in enumerate(zip(texts[number], edus, strict=True)):
                if not 0 < len(edu) <= MAX_RATIO * len(text) + MAX_EXTRA:
                    edus[place] = text
                    counted["kept"] += 1
            results[number] = _with_edus(docs[number], nlp, edus)
            origin_of_doc = {**origin, "texts": texts[number]}
            results[number].user_data |= {LANGUAGE_KEY: target, TRANSLATED_FROM_KEY: origin_of_doc}
    if counts is not None:
        counts.update(counted)
    return [results[number] for number in range(len(docs))]


def _source_language(doc: Doc, source: str | None) -> str:
    for code in (source, get_meta(doc, LANGUAGE_KEY), doc.lang_):
        if code and code != MULTI_LANGUAGE:
            return str(code)
    name = get_meta(doc, NAME_KEY) or doc.text[:40]
    raise RstError(Errors.R615.format(document=repr(name)))


def _edu_texts(doc: Doc) -> list[str]:
    """Get the texts of EDUs as an engine gets them: with single spaces."""
    texts = [" ".join(edu.text.split()) for edu in get_edus(doc)]
    if "" in texts:
        raise RstError(Errors.R026.format(number=texts.index("") + 1))
    return texts


def _target_pipeline(target: str) -> Language:
    """Get spaCy's pipeline for a language, or the multilingual one."""
    try:
        return blank_pipeline(base_code(target))
    except RstError:
        return blank_pipeline()


def _with_edus(doc: Doc, nlp: Language, texts: Sequence[str]) -> Doc:
    """Copy a Doc with other texts for its EDUs, in the same sentences and paragraphs."""
    edus = get_edus(doc)
    translated = doc_from_edus(nlp, texts, _paragraph_starts(doc, edus))
    if doc.has_annotation("SENT_START"):
        for token in translated:
            token.is_sent_start = False
        for old, new in zip(edus, get_edus(translated), strict=True):
            # The boundary may be set on the white space before a word.
            first = next((n for n, token in enumerate(old) if not token.is_space), 0)
            new[0].is_sent_start = any(token.is_sent_start for token in old[: first + 1])
    if (tree := get_tree(doc)) is not None:
        set_tree(translated, tree.with_edus())
    for key in KEPT_KEYS:
        if (value := get_meta(doc, key)) is not None:
            translated.user_data[key] = value
    return translated


def _paragraph_starts(doc: Doc, edus: Sequence[Span]) -> set[int]:
    places = [trimmed_chars(edu) for edu in edus]
    return {
        number
        for number, ((_, end), (start, _)) in enumerate(pairwise(places), start=1)
        if BLANK_LINE.search(doc.text, end, start)
    }
