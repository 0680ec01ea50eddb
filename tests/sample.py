"""The sample treebank as Docs and Examples, for tests that train or parse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_rst.doc import (
    LANGUAGE_KEY,
    NAME_KEY,
    SOURCE_KEY,
    TREEBANK_KEY,
    doc_from_edus,
    set_tree,
)
from spacy_rst.relations import join_label, relation_class, split_label
from spacy_rst.tree import RstTree
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.corpus import make_example
from spacy_rst.treebank.rs3 import read_rs3

SAMPLE = Path(__file__).parent.parent / "assets" / "sample"
LANGUAGES = ("de", "en", "es", "eu", "nl", "pt")


@lru_cache(maxsize=64)
def sample_tree(path: Path) -> RstTree:
    """The tree of a file, with relation classes."""
    tree = binarize(read_rs3(path))
    splits = []
    for start, split, end, label in tree.splits:
        relation, nuclearity = split_label(label)
        splits.append((start, split, end, join_label(relation_class(relation), nuclearity)))
    return RstTree.from_splits(splits, tree.edus)


def sample_docs(nlp: Language, languages: Sequence[str] = LANGUAGES) -> list[Doc]:
    """Gold Docs of some languages, as `convert` makes them: with EDUs, tree and user data."""
    docs = []
    for language in languages:
        for path in sorted((SAMPLE / language).glob("*.rs3")):
            tree = sample_tree(path)
            doc = doc_from_edus(nlp, tree.edus)
            set_tree(doc, RstTree.from_splits(tree.splits))
            doc.user_data |= {
                LANGUAGE_KEY: language,
                TREEBANK_KEY: f"sample.{language}",
                NAME_KEY: path.stem,
                SOURCE_KEY: f"{language}/{path.name}",
            }
            docs.append(doc)
    return docs


def examples_from(nlp: Language, docs: Iterable[Doc]) -> list[Example]:
    """Examples whose predicted Docs have the gold EDUs and nothing else."""
    return [make_example(nlp, doc) for doc in docs]


def write_corpus(path: Path, docs: Iterable[Doc]) -> Path:
    """Save Docs as a .spacy file."""
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path
