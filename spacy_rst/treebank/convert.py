"""Turn treebanks into Docs and DocBins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..doc import (
    BLANKED_KEY,
    LANGUAGE_KEY,
    NAME_KEY,
    PARAGRAPH_BREAK,
    SOURCE_KEY,
    TREE_KEY,
    TREEBANK_KEY,
    doc_from_edus,
    edu_places,
    set_edus,
    set_tree,
)
from ..errors import Errors, RstError
from ..relations import join_label, relation_class, split_label
from ..tree import RstTree
from ..util import atomic_path
from .binarize import binarize
from .dis import read_dis
from .disrpt import read_disrpt
from .document import TreebankDocument
from .rs3 import read_rs3
from .spacing import ESCAPED_BRACKETS, guess_spaces
from .splits import SplitTable
from .text import is_blanked, is_space_tokenized

Format = Literal["auto", "rs3", "rs4", "dis", "disrpt"]
Labels = Literal["coarse", "original"]
SUFFIXES: dict[str, str] = {
    ".rs3": "rs3",
    ".rs4": "rs4",
    ".dis": "dis",
    ".lisp": "dis",
    ".rels": "disrpt",
}
MULTI_LANGUAGE = "xx"
DOCBIN_ATTRS = ("ORTH", "SPACY", "SENT_START")


@dataclass(slots=True)
class ConversionReport:
    """What a conversion did.

    files (int): Files read.
    documents (int): Documents converted.
    edus (int): Their EDUs.
    labels (Counter): Their labels.
    removed (int): Units that were not linked to a tree and left out.
    other_splits (int): Documents left out because they belong to another split.
    blanked (List[str]): Documents left out because their words are blanked.
    skipped (List[RstError]): What could not be read, with the reason.
    """

    files: int = 0
    documents: int = 0
    edus: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    removed: int = 0
    other_splits: int = 0
    blanked: list[str] = field(default_factory=list)
    skipped: list[RstError] = field(default_factory=list)


def find_files(path: Path, file_format: Format = "auto") -> list[Path]:
    """List the treebank files at a path.

    path (Path): A file, or a folder that is searched with all folders below it.
    file_format (str): Only files of this format, or "auto" for all that are known.
    RETURNS (List[Path]): The files, sorted.
    RAISES (RstError): If there is none.
    """
    if not path.exists():
        raise RstError(Errors.R131.format(path=path))
    if path.is_file():
        return [path]
    wanted = {s for s, name in SUFFIXES.items() if file_format in ("auto", name)}
    files = sorted(p for p in path.rglob("*") if p.suffix in wanted and p.is_file())
    if not files:
        raise RstError(Errors.R132.format(path=path, suffixes=", ".join(sorted(wanted))))
    return files


def read_file(
    path: Path, file_format: Format = "auto", *, largest_tree: bool = False
) -> Iterator[TreebankDocument | RstError]:
    """Read the documents of one file.

    path (Path): The file.
    file_format (str): Its format, or "auto" to tell from its name.
    largest_tree (bool): Keep the largest tree of a file that holds several.
    YIELDS (Union[TreebankDocument, RstError]): Each document, or why it could not be read.
    """
    name = SUFFIXES.get(path.suffix) if file_format == "auto" else file_format
    try:
        if name in ("rs3", "rs4"):
            yield read_rs3(path, largest_tree=largest_tree)
        elif name == "dis":
            yield read_dis(path)
        elif name == "disrpt":
            yield from read_disrpt(path, largest_tree=largest_tree)
        else:
            known = ", ".join(sorted(SUFFIXES))
            raise RstError(Errors.R133.format(path=path, suffixes=known))
    except RstError as error:
        yield error
    except OSError as error:
        yield RstError(Errors.R134.format(path=path, error=error))


def with_classes(tree: RstTree, treebank: str | None = None, source: str | None = None) -> RstTree:
    """Replace the relations of a tree by their classes.

    tree (RstTree): The tree, with a treebank's own relations.
    treebank (Optional[str]): The treebank's name.
    source (Optional[str]): The file, named in errors.
    RETURNS (RstTree): A tree of the same shape.
    """
    splits = []
    for split in tree.splits:
        relation, nuclearity = split_label(split.label)
        label = join_label(relation_class(relation, treebank, source), nuclearity)
        splits.append(split._replace(label=label))
    return RstTree.from_splits(splits, tree.edus, tree.scores)


def to_doc(document: TreebankDocument, nlp: Language, *, raw_text: bool = False) -> Doc:
    """Make a Doc with the EDUs of a treebank's document.

    document (TreebankDocument): The document.
    nlp (Language): Its tokenizer is used where the treebank gives no tokens.
    raw_text (bool): Write the text as people do where the treebank sets all tokens apart, and
        tokenize it as a pipeline for many languages does.
    RETURNS (Doc): The Doc, without the tree.
    """
    is_spaced_out = is_space_tokenized(document.edus)
    if document.tokens is not None:
        doc = _doc_from_tokens(document, nlp, guess_spacing=raw_text and is_spaced_out)
    elif is_spaced_out:
        doc = _doc_from_words(document, nlp, guess_spacing=raw_text)
    else:
        doc = doc_from_edus(nlp, document.edus, document.paragraph_starts)
    return _tokenize_again(doc) if raw_text else doc


def _tokenize_again(doc: Doc) -> Doc:
    """Make a Doc with the tokens of a pipeline for many languages. Where an EDU would begin inside
    of a token, the tokens stay as they are."""
    again = multilingual_pipeline().make_doc(doc.text)
    edus = [again.char_span(start, end) for start, end in edu_places(doc)]
    if any(edu is None for edu in edus):
        return doc
    set_edus(again, [edu for edu in edus if edu is not None])
    return again


def _doc_from_tokens(document: TreebankDocument, nlp: Language, *, guess_spacing: bool) -> Doc:
    tokens = document.tokens or []
    words = [word for edu in tokens for word in edu.words]
    spaces = [space for edu in tokens for space in edu.spaces]
    doc = Doc(
        nlp.vocab,
        words=words,
        spaces=guess_spaces(words, nlp.lang or MULTI_LANGUAGE) if guess_spacing else spaces,
        sent_starts=[start for edu in tokens for start in edu.sentence_starts] or None,
    )
    _set_edus_of_lengths(doc, [len(edu.words) for edu in tokens])
    return doc


def _doc_from_words(document: TreebankDocument, nlp: Language, *, guess_spacing: bool) -> Doc:
    words: list[str] = []
    borders: list[tuple[int, int]] = []
    for number, edu in enumerate(document.edus):
        if words and number in document.paragraph_starts:
            words.append(PARAGRAPH_BREAK)
        edu_words = edu.split()
        if guess_spacing:
            edu_words = [ESCAPED_BRACKETS.get(word, word) for word in edu_words]
        borders.append((len(words), len(words) + len(edu_words)))
        words += edu_words
    following = [*words[1:], PARAGRAPH_BREAK]
    spaces = [PARAGRAPH_BREAK not in pair for pair in zip(words, following, strict=True)]
    if guess_spacing:
        spaces = guess_spaces(words, nlp.lang or MULTI_LANGUAGE)
    doc = Doc(nlp.vocab, words=words, spaces=spaces)
    set_edus(doc, [doc[start:end] for start, end in borders])
    return doc


def _set_edus_of_lengths(doc: Doc, lengths: Iterable[int]) -> None:
    edus, start = [], 0
    for length in lengths:
        edus.append(doc[start : start + length])
        start += length
    set_edus(doc, edus)


@lru_cache(maxsize=32)
def blank_pipeline(lang: str) -> Language:
    """Get the tokenizer of a language.

    lang (str): The language's code, "xx" for none in particular.
    RETURNS (Language): spaCy's blank pipeline.
    """
    try:
        return spacy.blank(lang)
    except ImportError as error:
        raise RstError(Errors.R135.format(lang=lang, error=error)) from error


@lru_cache(maxsize=1)
def multilingual_pipeline() -> Language:
    """RETURNS (Language): A blank pipeline for many languages, with our tokenizer."""
    tokenizer = {"@tokenizers": "spacy_rst.Tokenizer.v1"}
    return spacy.blank(MULTI_LANGUAGE, config={"nlp": {"tokenizer": tokenizer}})


def convert_document(
    document: TreebankDocument, *, treebank: str = "", lang: str = MULTI_LANGUAGE,
    labels: Labels = "coarse", raw_text: bool = False,
) -> Doc:  # fmt: skip
    """Make a Doc with its EDUs, tree, language and source.

    document (TreebankDocument): The document.
    treebank (str): The treebank's name.
    lang (str): The language's code.
    labels (str): "coarse" for the 18 classes, "original" for the treebank's own.
    raw_text (bool): Write and tokenize the text as a pipeline would meet it, see `to_doc`.
    RETURNS (Doc): The Doc.
    """
    tree = binarize(document)
    if labels == "coarse":
        tree = with_classes(tree, treebank, document.source)
    doc = to_doc(document, blank_pipeline(lang), raw_text=raw_text)
    set_tree(doc, tree)
    doc.user_data |= {
        NAME_KEY: document.name,
        LANGUAGE_KEY: lang,
        TREEBANK_KEY: treebank,
        SOURCE_KEY: Path(document.source).name,
        BLANKED_KEY: is_blanked(document.edus),
    }
    return doc


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """How to convert a treebank.

    file_format (str): The files' format, or "auto" to tell from their names.
    treebank (str): The treebank's name.
    lang (str): The language's code.
    labels (str): "coarse" for the 18 classes, "original" for the treebank's own.
    skip_bad (bool): Report a document that cannot be read and go on, instead of stopping.
    largest_tree (bool): Keep the largest tree of a file that holds several.
    keep_blanked (bool): Keep documents whose words are blanked with underscores.
    raw_text (bool): Write and tokenize the text as a pipeline would meet it, see `to_doc`.
    """

    file_format: Format = "auto"
    treebank: str = ""
    lang: str = MULTI_LANGUAGE
    labels: Labels = "coarse"
    skip_bad: bool = False
    largest_tree: bool = False
    keep_blanked: bool = False
    raw_text: bool = False


def convert_files(
    files: Iterable[Path],
    outputs: Mapping[str | None, Path],
    options: ConversionOptions,
    splits: SplitTable | None = None,
) -> ConversionReport:
    """Convert treebank files into one DocBin per split, or into one alone.

    files (Iterable[Path]): The files.
    outputs (Mapping[Optional[str], Path]): Where the documents of each split go; those of other
        splits are left out. `{None: path}` takes all documents together.
    options (ConversionOptions): How to read and convert.
    splits (Optional[SplitTable]): The splits, needed unless all documents are taken together.
    RETURNS (ConversionReport): What was done.
    RAISES (RstError): For a document that cannot be read, unless `skip_bad`.
    """
    report = ConversionReport()
    docbins = {split: DocBin(attrs=list(DOCBIN_ATTRS), store_user_data=True) for split in outputs}
    for path in files:
        report.files += 1
        for document in read_file(path, options.file_format, largest_tree=options.largest_tree):
            try:
                _convert_into(docbins, document, options, splits, report)
            except RstError as error:
                if not options.skip_bad:
                    raise
                report.skipped.append(error)
    for split, docbin in docbins.items():
        with atomic_path(outputs[split]) as temporary:
            docbin.to_disk(temporary)
    return report


def _convert_into(
    docbins: Mapping[str | None, DocBin],
    document: TreebankDocument | RstError,
    options: ConversionOptions,
    splits: SplitTable | None,
    report: ConversionReport,
) -> None:
    if isinstance(document, RstError):
        raise document
    split = None
    if None not in docbins:
        split = _split_of(document, options.treebank, splits)
        if split not in docbins:
            report.other_splits += 1
            return
    if is_blanked(document.edus) and not options.keep_blanked:
        report.blanked.append(document.name)
        return
    doc = convert_document(
        document,
        treebank=options.treebank,
        lang=options.lang,
        labels=options.labels,
        raw_text=options.raw_text,
    )
    docbins[split].add(doc)
    report.documents += 1
    report.edus += len(document.edus)
    report.removed += len(document.removed)
    report.labels.update(doc.user_data[TREE_KEY]["labels"])


def _split_of(document: TreebankDocument, treebank: str, splits: SplitTable | None) -> str:
    if splits is None:
        raise RstError(Errors.R137.format(known=", ".join(SplitTable.official().treebanks)))
    split = splits.split_of(document.name, treebank, document.source)
    if split is None:
        raise RstError(Errors.R136.format(name=document.name, treebank=treebank))
    return split
