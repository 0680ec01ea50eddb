"""Turn treebanks into DocBins.

A reader yields a document (`read_file`), files beside it give its layout and syntax, `make_doc`
tokenizes it, `convert_document` adds the tree and the metadata, and `convert_files` collects Docs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from ..doc import (
    BLANKED_KEY,
    DECLARED_KEY,
    JOINED_KEY,
    LANGUAGE_KEY,
    NAME_KEY,
    SOURCE_KEY,
    TREEBANK_KEY,
    UNLINKED_KEY,
    edu_places,
    set_tree,
)
from ..doc_layout import set_layout
from ..errors import Errors, RstError
from ..languages import MULTI_LANGUAGE
from ..relations import RelationTable, join_label, relation_class, split_label
from ..tree import RstTree
from .binarize import binarize, multinuclear_parts
from .dis import read_dis
from .disrpt import read_disrpt
from .docbin import new_docbin, write_docbin
from .document import TreebankDocument
from .files import in_file, list_files, usable
from .layout import read_layouts, with_layout
from .rs3 import read_rs3
from .splits import SplitTable
from .syntax import Syntax, read_syntax, set_syntax
from .text import is_blanked
from .tokens import make_doc, retokenize


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
    largest_tree (bool): Keep the largest tree of a document that has several.
    keep_blanked (bool): Keep documents whose words are blanked with underscores.
    raw_text (bool): Write the text as people do where the treebank sets all tokens apart, and
        tokenize it as a multilingual pipeline does. Where an EDU would begin inside a token, the
        tokens stay as they are.
    layout (Path | None): A folder with files that give the layout of the documents.
    syntax (Path | None): A folder with CoNLL-U files that give their syntax and sentences.
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


DEFAULTS = ConversionOptions()


@dataclass(slots=True)
class ConversionReport:
    """What a conversion did, for the table that `rst convert` prints."""

    files: int = 0
    documents: int = 0
    edus: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    removed: int = 0  # units that were not linked to a tree
    kept: int = 0  # documents that kept the treebank's tokens in spite of `raw_text`
    layout: int = 0  # documents whose layout is known
    blocks: int = 0
    crossing: int = 0  # EDUs that go over the end of a block
    syntax: int = 0  # documents whose syntax is known
    mismatched: list[str] = field(default_factory=list)  # documents whose syntax has other words
    other: int = 0  # documents of another split
    blanked: list[str] = field(default_factory=list)
    skipped: list[RstError] = field(default_factory=list)

    def rows(self) -> dict[str, int]:
        """All counts by name; of labels, the number of different ones."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: v if isinstance(v, int) else len(v) for name, v in values.items()}


def find_files(path: Path, file_format: str = FileFormat.auto) -> list[Path]:
    """List the treebank files at a path, sorted."""
    wanted = (s for s, name in SUFFIXES.items() if file_format in (FileFormat.auto, name))
    return list_files(path, sorted(wanted))


def read_file(
    path: Path,
    file_format: str = FileFormat.auto,
    *,
    largest_tree: bool = False,
    edus_only: bool = False,
) -> Iterator[TreebankDocument | RstError]:
    """Read the documents of one file, with the reason in place of those that cannot be read."""
    name = SUFFIXES.get(path.suffix) if file_format == FileFormat.auto else file_format
    try:
        if edus_only and name != "disrpt":
            advice = "it is for DISRPT files (.rels) alone"
            raise RstError(
                Errors.R521.format(option="--edus-only", place=f"with {path}", advice=advice)
            )
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


def convert_files(
    files: Iterable[Path],
    outputs: Mapping[str | None, Path],
    options: ConversionOptions,
    splits: SplitTable | None = None,
) -> ConversionReport:
    """Convert treebank files into one DocBin for each split in `outputs`; documents of other
    splits are left out. `{None: path}` takes all documents together."""
    if splits is None and None not in outputs:
        raise RstError(Errors.R137.format(known=", ".join(SplitTable.official().treebanks)))
    report = ConversionReport()
    docbins = {split: new_docbin() for split in outputs}
    layouts = {} if options.layout is None else read_layouts(options.layout)
    syntax = {} if options.syntax is None else read_syntax(options.syntax)
    for path in files:
        report.files += 1
        choices = {"largest_tree": options.largest_tree, "edus_only": options.edus_only}
        for item in read_file(path, options.file_format, **choices):
            try:
                document = usable(item)
                split = None
                if splits is not None and None not in outputs:
                    split = splits.split_of(document.name, options.treebank, document.source)
                    if split is None:
                        problem = Errors.R136.format(name=document.name, treebank=options.treebank)
                        raise RstError(problem)
                if split not in docbins:
                    report.other += 1
                elif is_blanked(document.edus) and not options.keep_blanked:
                    report.blanked.append(document.name)
                else:
                    if document.name in layouts:
                        document = with_layout(document, usable(layouts[document.name]))
                    own_syntax = usable(syntax.get(document.name))
                    doc = convert_document(document, options, syntax=own_syntax, report=report)
                    docbins[split].add(doc)
            except Exception as error:  # whatever it is, the other documents can do without
                if not options.skip_bad:
                    raise in_file(error, path) from error
                report.skipped.append(in_file(error, path))
    for split, docbin in docbins.items():
        write_docbin(outputs[split], docbin)
    return report


def convert_document(
    document: TreebankDocument,
    options: ConversionOptions = DEFAULTS,
    *,
    syntax: Syntax | None = None,
    report: ConversionReport | None = None,
) -> Doc:
    """Make a Doc with its EDUs, tree, layout, syntax, language and source.

    document (TreebankDocument): The document, with its layout.
    options (ConversionOptions): How to convert it.
    syntax (Syntax | None): Its syntax, which also tells the sentences. Left out where its words are
        not those of the text.
    report (ConversionReport | None): The document is added to its counts.
    RETURNS (Doc): The Doc.
    """
    report = ConversionReport() if report is None else report
    tree = None if document.root is None else binarize(document)
    if tree is not None and options.labels == LabelSet.coarse:
        tree = with_classes(tree, options.treebank, document.source, options.relations)
    doc = make_doc(document, options.lang, raw_text=options.raw_text)
    if options.raw_text:
        retokenized = retokenize(doc)
        report.kept += retokenized is None
        doc = doc if retokenized is None else retokenized
    if syntax is not None:
        is_fitting = set_syntax(doc, syntax)
        report.syntax += is_fitting
        report.mismatched += [] if is_fitting else [document.name]
    set_tree(doc, tree)
    places = edu_places(doc)
    blocks = [
        block._replace(start=places[block.start][0], end=places[block.end - 1][1])
        for block in document.blocks
    ]
    set_layout(doc, blocks)
    doc.user_data |= _facts(document, options, [start for start, _ in places] + [len(doc.text)])
    report.documents += 1
    report.edus += len(document.edus)
    report.labels.update([] if tree is None else [split.label for split in tree.splits])
    report.removed += len(document.removed)
    report.layout += bool(document.blocks)
    report.blocks += len(document.blocks)
    report.crossing += len(document.crossing_edus)
    return doc


def _facts(
    document: TreebankDocument, options: ConversionOptions, starts: Sequence[int]
) -> dict[str, Any]:
    """Collect what a Doc keeps of a document; `starts` has the place of each EDU, and the end."""
    facts: dict[str, Any] = {
        NAME_KEY: document.name,
        LANGUAGE_KEY: options.lang,
        TREEBANK_KEY: options.treebank,
        SOURCE_KEY: Path(document.source).name,
        BLANKED_KEY: is_blanked(document.edus),
    }
    if document.root is not None:
        facts[JOINED_KEY] = [list(span) for span in multinuclear_parts(document)]
    if document.removed:
        facts[UNLINKED_KEY] = [[starts[edu], text] for edu, text in document.removed]
    if document.declared and options.labels == LabelSet.original:
        facts[DECLARED_KEY] = [list(relation) for relation in document.declared]
    return facts


def with_classes(
    tree: RstTree,
    treebank: str | None = None,
    source: str | None = None,
    relations: RelationTable | None = None,
) -> RstTree:
    """Replace the relations of a tree by their classes, those of `relations` first."""
    splits = []
    for split in tree.splits:
        relation, nuclearity = split_label(split.label)
        label = join_label(relation_class(relation, treebank, source, relations), nuclearity)
        splits.append(split._replace(label=label))
    return RstTree.from_splits(splits, tree.edus, tree.scores)
