"""Turn treebanks into Docs and DocBins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..doc import (
    BLANKED_KEY,
    DECLARED_KEY,
    JOINED_KEY,
    LANGUAGE_KEY,
    NAME_KEY,
    PARAGRAPH_BREAK,
    SOURCE_KEY,
    TREE_KEY,
    TREEBANK_KEY,
    UNLINKED_KEY,
    edu_places,
    set_edus,
    set_tree,
)
from ..doc_layout import set_layout
from ..errors import Errors, RstError
from ..languages import MULTI_LANGUAGE, blank_pipeline, multilingual_pipeline
from ..layout import Block
from ..orthography import is_unspaced
from ..relations import RelationTable, join_label, relation_class, split_label
from ..tree import RstTree
from .binarize import binarize, multinuclear_parts
from .detokenize import ESCAPED_BRACKETS, guess_spaces
from .dis import read_dis
from .disrpt import read_disrpt
from .docbin import new_docbin, write_docbin
from .document import EduTokens, TreebankDocument, in_file
from .layout import find_layouts, read_layout, with_layout
from .rs3 import read_rs3
from .splits import SplitTable
from .syntax import Syntax, read_syntax, set_syntax
from .text import is_blanked, is_space_tokenized


class FileFormat(StrEnum):
    """The formats that can be read."""

    auto = "auto"
    rs3 = "rs3"
    rs4 = "rs4"
    dis = "dis"
    disrpt = "disrpt"


class LabelSet(StrEnum):
    """The labels that trees can carry: the 18 classes, or the treebank's own."""

    coarse = "coarse"
    original = "original"


SUFFIXES = {".rs3": "rs3", ".rs4": "rs4", ".dis": "dis", ".lisp": "dis", ".rels": "disrpt"}


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """How to convert a treebank.

    file_format (str): The files' format, or "auto" to tell from their names.
    treebank (str): The treebank's name.
    lang (str): The language's code.
    labels (str): "coarse" for the 18 classes, "original" for the treebank's own.
    relations (RelationTable | None): Classes of labels, which come before those of the package.
    skip_bad (bool): Report a document that cannot be read and go on, instead of stopping.
    largest_tree (bool): Keep the largest tree of a file that holds several.
    keep_blanked (bool): Keep documents whose words are blanked with underscores.
    raw_text (bool): Write and tokenize the text as a pipeline would meet it.
    layout (Path | None): A folder with the files of the treebank's layout, where it has such.
    syntax (Path | None): A folder with CoNLL-U files of the treebank's syntax, likewise.
    edus_only (bool): Read the EDUs of DISRPT files and not their relations.
    """

    file_format: str = FileFormat.auto
    treebank: str = ""
    lang: str = MULTI_LANGUAGE
    labels: str = LabelSet.coarse
    relations: RelationTable | None = None
    skip_bad: bool = False
    largest_tree: bool = False
    keep_blanked: bool = False
    raw_text: bool = False
    layout: Path | None = None
    syntax: Path | None = None
    edus_only: bool = False


@dataclass(slots=True)
class ConversionReport:
    """What a conversion did.

    files (int): Files read.
    documents (int): Documents converted.
    edus (int): Their EDUs.
    labels (Counter): Their labels.
    removed (int): Units that were not linked to a tree and left out.
    kept_tokens (int): Documents that kept the treebank's tokens though they should be tokenized as
        a pipeline does: an EDU begins inside of a token of it.
    with_layout (int): Documents whose layout is known.
    blocks (Counter): Their blocks, by kind.
    crossing (int): EDUs that go over the end of a block.
    with_syntax (int): Documents whose syntax is known.
    other_words (list[str]): Documents that stay without syntax, as its words are not theirs.
    other_splits (int): Documents left out because they belong to another split.
    blanked (list[str]): Documents left out because their words are blanked.
    skipped (list[RstError]): What could not be read, with the reason.
    """

    files: int = 0
    documents: int = 0
    edus: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    removed: int = 0
    kept_tokens: int = 0
    with_layout: int = 0
    blocks: Counter[str] = field(default_factory=Counter)
    crossing: int = 0
    with_syntax: int = 0
    other_words: list[str] = field(default_factory=list)
    other_splits: int = 0
    blanked: list[str] = field(default_factory=list)
    skipped: list[RstError] = field(default_factory=list)

    def rows(self) -> dict[str, int]:
        """RETURNS (dict[str, int]): All counts, with a short name for each."""
        return {
            "Files": self.files,
            "Documents": self.documents,
            "EDUs": self.edus,
            "Labels": len(self.labels),
            "Removed": self.removed,
            "Kept": self.kept_tokens,
            "Layout": self.with_layout,
            "Blocks": self.blocks.total(),
            "Crossing": self.crossing,
            "Syntax": self.with_syntax,
            "Other": self.other_splits,
            "Blanked": len(self.blanked),
            "Skipped": len(self.skipped),
        }


def find_files(path: Path, file_format: str = FileFormat.auto) -> list[Path]:
    """List the treebank files at a path.

    path (Path): A file, or a folder that is searched with all folders below it.
    file_format (str): Only files of this format, or "auto" for all that are known.
    RETURNS (list[Path]): The files, sorted.
    RAISES (RstError): If there is none.
    """
    if not path.exists():
        raise RstError(Errors.R131.format(path=path))
    if path.is_file():
        return [path]
    wanted = {s for s, name in SUFFIXES.items() if file_format in (FileFormat.auto, name)}
    # A link to nothing is reported when it is read, not passed over.
    known = (file for file in path.rglob("*") if file.suffix in wanted)
    files = sorted(file for file in known if file.is_file() or not file.exists())
    if not files:
        raise RstError(Errors.R132.format(path=path, suffixes=", ".join(sorted(wanted))))
    return files


def read_file(
    path: Path,
    file_format: str = FileFormat.auto,
    *,
    largest_tree: bool = False,
    edus_only: bool = False,
) -> Iterator[TreebankDocument | RstError]:
    """Read the documents of one file.

    path (Path): The file.
    file_format (str): Its format, or "auto" to tell from its name.
    largest_tree (bool): Keep the largest tree of a file that holds several.
    edus_only (bool): Read EDUs and no trees, which only DISRPT files allow.
    YIELDS (TreebankDocument | RstError): Each document, or why it could not be read.
    """
    name = SUFFIXES.get(path.suffix) if file_format == FileFormat.auto else file_format
    try:
        if edus_only and name != "disrpt":
            raise RstError(Errors.R157.format(path=path))
        if name in ("rs3", "rs4"):
            yield read_rs3(path, largest_tree=largest_tree)
        elif name == "dis":
            yield read_dis(path)
        elif name == "disrpt":
            yield from read_disrpt(path, largest_tree=largest_tree, edus_only=edus_only)
        else:
            known = ", ".join(sorted(SUFFIXES))
            raise RstError(Errors.R133.format(path=path, suffixes=known))
    except Exception as error:  # a damaged file may make a reader raise anything
        yield in_file(error, path)


def with_classes(
    tree: RstTree,
    treebank: str | None = None,
    source: str | None = None,
    relations: RelationTable | None = None,
) -> RstTree:
    """Replace the relations of a tree by their classes.

    tree (RstTree): The tree, with a treebank's own relations.
    treebank (str | None): The treebank's name.
    source (str | None): The file, named in errors.
    relations (RelationTable | None): Classes of labels, which come before those of the package.
    RETURNS (RstTree): A tree of the same shape.
    """
    splits = []
    for split in tree.splits:
        relation, nuclearity = split_label(split.label)
        label = join_label(relation_class(relation, treebank, source, relations), nuclearity)
        splits.append(split._replace(label=label))
    return RstTree.from_splits(splits, tree.edus, tree.scores)


def convert_document(
    document: TreebankDocument,
    *,
    treebank: str = "",
    lang: str = MULTI_LANGUAGE,
    labels: str = LabelSet.coarse,
    relations: RelationTable | None = None,
    raw_text: bool = False,
    syntax: Syntax | None = None,
    report: ConversionReport | None = None,
) -> Doc:
    """Make a Doc with its EDUs, tree, syntax, language and source. Where the treebank gives no
    tokens, the language's tokenizer makes them.

    document (TreebankDocument): The document.
    treebank (str): The treebank's name.
    lang (str): The language's code.
    labels (str): "coarse" for the 18 classes, "original" for the treebank's own.
    relations (RelationTable | None): Classes of labels, which come before those of the package.
    raw_text (bool): Write the text as people do where the treebank sets all tokens apart, and
        tokenize it as a pipeline for many languages does. Where an EDU would begin inside of a
        token, the tokens stay as they are.
    syntax (Syntax | None): The document's syntax, which also tells the sentences. Left out where
        its words are not those of the text.
    report (ConversionReport | None): The document is added to its counts.
    RETURNS (Doc): The Doc.
    """
    report = ConversionReport() if report is None else report
    tree = None if document.root is None else binarize(document)
    if tree is not None and labels == LabelSet.coarse:
        tree = with_classes(tree, treebank, document.source, relations)
    doc = _make_doc(document, lang, raw_text=raw_text)
    if raw_text:
        again = _tokenize_again(doc)
        report.kept_tokens += again is None
        doc = doc if again is None else again
    if syntax is not None:
        is_fitting = set_syntax(doc, syntax)
        report.with_syntax += is_fitting
        report.other_words += [] if is_fitting else [document.name]
    set_tree(doc, tree)
    blocks = document.layout()
    set_layout(doc, _blocks_of_text(blocks, edu_places(doc)))
    doc.user_data |= {
        NAME_KEY: document.name,
        LANGUAGE_KEY: lang,
        TREEBANK_KEY: treebank,
        SOURCE_KEY: Path(document.source).name,
        BLANKED_KEY: is_blanked(document.edus),
    }
    if tree is not None:
        doc.user_data[JOINED_KEY] = [list(span) for span in multinuclear_parts(document)]
        report.labels.update(doc.user_data[TREE_KEY]["labels"])
    if document.removed:
        starts = [start for start, _ in edu_places(doc)] + [len(doc.text)]
        doc.user_data[UNLINKED_KEY] = [[starts[edu], text] for edu, text in document.removed]
    if document.declared and labels == LabelSet.original:
        doc.user_data[DECLARED_KEY] = [list(relation) for relation in document.declared]
    report.documents += 1
    report.edus += len(document.edus)
    report.removed += len(document.removed)
    report.with_layout += bool(blocks)
    report.blocks.update(block.kind for block in blocks)
    report.crossing += len(document.crossing_edus)
    return doc


def _blocks_of_text(blocks: Iterable[Block], places: Sequence[tuple[int, int]]) -> list[Block]:
    """Count blocks in characters instead of EDUs."""
    return [
        block._replace(start=places[block.start][0], end=places[block.end - 1][1])
        for block in blocks
    ]


def _make_doc(document: TreebankDocument, lang: str, *, raw_text: bool) -> Doc:
    nlp = multilingual_pipeline() if raw_text else blank_pipeline(lang)
    is_spaced_out = is_space_tokenized(document.edus)
    edus = document.tokens
    if edus is None and is_spaced_out:
        edus = [_split_at_spaces(edu, unescape=raw_text) for edu in document.edus]
    elif edus is None:
        edus = [_tokenize(edu, nlp) for edu in document.edus]
    if document.tokens is None:
        _set_apart(edus, is_spaced_out=is_spaced_out)
    edus = _with_breaks(edus, {block.start for block in document.layout()})
    words = [word for edu in edus for word in edu.words]
    spaces = [space for edu in edus for space in edu.spaces]
    starts: list[bool | int | None]
    starts = [start for edu in edus for start in edu.sentence_starts]
    if raw_text and is_spaced_out:
        spaces = guess_spaces(words, lang)
    doc = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts or None)
    borders = accumulate((len(edu.words) for edu in edus), initial=0)
    spans = (doc[start:end] for start, end in pairwise(borders))
    set_edus(doc, [span for span in spans if span.text != PARAGRAPH_BREAK])
    return doc


def _tokenize(edu: str, nlp: Language) -> EduTokens:
    tokens = list(nlp.tokenizer(edu))
    return EduTokens([t.text for t in tokens], [bool(t.whitespace_) for t in tokens], [])


def _split_at_spaces(edu: str, *, unescape: bool) -> EduTokens:
    words = edu.split()
    if unescape:
        words = [ESCAPED_BRACKETS.get(word, word) for word in words]
    return EduTokens(words, [True] * len(words), [])


def _set_apart(edus: Sequence[EduTokens], *, is_spaced_out: bool) -> None:
    """Put a space between EDUs, and nothing where a script has no spaces, unless the text has
    spaces between all tokens."""
    for edu, following in pairwise(edus):
        is_joined = is_unspaced(edu.words[-1][-1]) or is_unspaced(following.words[0][0])
        edu.spaces[-1] = is_spaced_out or not is_joined
    edus[-1].spaces[-1] = False


def _with_breaks(tokens: Iterable[EduTokens], block_starts: Container[int]) -> list[EduTokens]:
    """Put blank lines between blocks, each as an EDU of its own."""
    found: list[EduTokens] = []
    for number, edu in enumerate(tokens):
        if found and number in block_starts:
            spaces = [*found[-1].spaces[:-1], False]
            found[-1] = replace(found[-1], spaces=spaces)
            has_sentences = bool(edu.sentence_starts)
            found.append(EduTokens([PARAGRAPH_BREAK], [False], [False] * has_sentences))
        found.append(edu)
    return found


def _tokenize_again(doc: Doc) -> Doc | None:
    """Make a Doc with the tokens of a pipeline for many languages. None where an EDU would begin
    inside of a token."""
    again = multilingual_pipeline().make_doc(doc.text)
    edus = [again.char_span(start, end) for start, end in edu_places(doc)]
    if None in edus:
        return None
    set_edus(again, [edu for edu in edus if edu is not None])
    return again


def convert_files(
    files: Iterable[Path],
    outputs: Mapping[str | None, Path],
    options: ConversionOptions,
    splits: SplitTable | None = None,
) -> ConversionReport:
    """Convert treebank files into one DocBin per split, or into one alone.

    files (Iterable[Path]): The files.
    outputs (Mapping[str | None, Path]): Where the documents of each split go; those of other
        splits are left out. `{None: path}` takes all documents together.
    options (ConversionOptions): How to read and convert.
    splits (SplitTable | None): The splits, needed unless all documents are taken together.
    RETURNS (ConversionReport): What was done.
    RAISES (RstError): For a document that cannot be read, unless `skip_bad`.
    """
    if splits is None and None not in outputs:
        raise RstError(Errors.R137.format(known=", ".join(SplitTable.official().treebanks)))
    report = ConversionReport()
    docbins = {split: new_docbin() for split in outputs}
    layouts = {} if options.layout is None else find_layouts(options.layout)
    syntax = {} if options.syntax is None else read_syntax(options.syntax)
    for path in files:
        report.files += 1
        documents = read_file(
            path,
            options.file_format,
            largest_tree=options.largest_tree,
            edus_only=options.edus_only,
        )
        for document in documents:
            try:
                _convert_into(docbins, document, options, splits, layouts, syntax, report)
            except Exception as error:  # whatever it is, the other documents can do without
                problem = in_file(error, path)
                if not options.skip_bad:
                    raise problem from error
                report.skipped.append(problem)
    for split, docbin in docbins.items():
        write_docbin(outputs[split], docbin)
    return report


def _convert_into(
    docbins: Mapping[str | None, DocBin],
    document: TreebankDocument | RstError,
    options: ConversionOptions,
    splits: SplitTable | None,
    layouts: Mapping[str, Path],
    syntax: Mapping[str, Syntax | RstError],
    report: ConversionReport,
) -> None:
    if isinstance(document, RstError):
        raise document
    split = None
    if splits is not None and None not in docbins:
        split = _split_of(document, options.treebank, splits)
    if split not in docbins:
        report.other_splits += 1
    elif is_blanked(document.edus) and not options.keep_blanked:
        report.blanked.append(document.name)
    else:
        if document.name in layouts:
            document = with_layout(document, read_layout(layouts[document.name]))
        own_syntax = syntax.get(document.name)
        if isinstance(own_syntax, RstError):
            raise own_syntax
        doc = convert_document(
            document,
            treebank=options.treebank,
            lang=options.lang,
            labels=options.labels,
            relations=options.relations,
            raw_text=options.raw_text,
            syntax=own_syntax,
            report=report,
        )
        docbins[split].add(doc)


def _split_of(document: TreebankDocument, treebank: str, splits: SplitTable) -> str:
    split = splits.split_of(document.name, treebank, document.source)
    if split is None:
        raise RstError(Errors.R136.format(name=document.name, treebank=treebank))
    return split
