"""Documents with a damaged surface."""

from __future__ import annotations

from collections import Counter

import pytest
import spacy

from spacy_rst.doc import doc_from_edus, get_edus, get_tree, set_tree
from spacy_rst.doc_layout import get_layout, set_layout
from spacy_rst.layout import Block
from spacy_rst.tree import RstTree
from spacy_rst.treebank.corpus import Corpus
from spacy_rst.treebank.corrupt import damaged
from spacy_rst.treebank.docbin import new_docbin, write_docbin
from spacy_rst.treebank.syntax import set_syntax

from .test_syntax import assert_trees, read, sentence, tokens

SPLITS = [(0, 2, 3, "Joint-NN"), (0, 1, 2, "Cause-NS")]
EDUS = ["It rained,", 'so Ann said: "No!"', "Then WE left ..."]


def make_doc(edus=EDUS):
    doc = doc_from_edus(spacy.blank("xx"), edus, paragraph_starts=[2])
    border = doc.spans["edus"][2].start_char
    blocks = [Block(0, border - 2, "heading", 1), Block(border, len(doc.text), "turn", 0, "Ann")]
    set_layout(doc, blocks)
    set_tree(doc, RstTree.from_splits(SPLITS))
    return doc


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("lower_case", 'it rained, so ann said: "no!"\n\nthen we left ...'),
        ("no_ends", 'It rained, so Ann said: "No"\n\nThen WE left'),
        ("transcript", 'it rained, so ann said: "no"\n\nthen we left'),
    ],
)
def test_the_surface_changes_and_all_else_stays(damage, text):
    doc = make_doc()
    copy = damaged(doc, damage)
    assert copy.text.rstrip() == text
    assert len(get_edus(copy)) == 3
    assert get_tree(copy).splits == get_tree(doc).splits
    assert [edu.text[:3].lower() for edu in get_edus(copy)] == ["it ", "so ", "the"]
    shown = [(b.kind, b.level, b.speaker, copy.text[b.start : b.end]) for b in get_layout(copy)]
    first, second = text.split("\n\n")
    assert shown == [("heading", 1, None, first), ("turn", 0, "Ann", second)]
    assert doc.text.startswith("It rained")


@pytest.mark.parametrize(
    ("edus", "damage", "text"),
    [
        # Marks inside of sentences, and units of nothing but marks.
        (["Node.js costs 3.5 $.", "?!", "So what ? Nothing ."], "no_ends",
         "Node.js costs 3.5 $ ?!\n\nSo what Nothing"),
        (["下雨了。", "我们在家。", "走了！"], "transcript", "下雨了 我们在家\n\n走了"),
        # Words that would change their length.
        (["İT rained,", "so we stayed.", "Then WE left."], "lower_case",
         "İT rained, so we stayed.\n\nThen WE left."),
        (["İT rained,", "so we stayed.", "Then WE left."], "transcript",
         "İT rained, so we stayed\n\nThen WE left"),
    ],
)  # fmt: skip
def test_what_is_kept(edus, damage, text):
    assert damaged(make_doc(edus), damage).text == text


def test_syntax_and_sentences_are_kept(tmp_path):
    doc = make_doc(["It rained.", "... No!", "We left."])
    syntax = read(
        tmp_path,
        sentence("It/PRON/2/nsubj", "rained/VERB/0/root", "./PUNCT/2/punct"),
        sentence(".../PUNCT/2/punct", "No/INTJ/0/root", "!/PUNCT/2/punct"),
        sentence("We/PRON/3/nsubj", "left/VERB/3/dep", "./PUNCT/0/root"),
    )
    assert set_syntax(doc, syntax)
    copy = damaged(doc, "transcript")
    assert_trees(copy)
    assert tokens(copy) == [
        "it/PRON/rained/nsubj", "rained/VERB/rained/ROOT", "no/INTJ/no/ROOT", "\n\n/SPACE/no/dep",
        "we/PRON/we/ROOT", "left/VERB/we/dep",
    ]  # fmt: skip
    plain = make_doc(["It rained.", "... No!", "We left."])
    for token in plain:
        token.is_sent_start = token.text in ("It", "...", "We")
    starts = [token.text for token in damaged(plain, "no_ends") if token.is_sent_start]
    assert starts == ["It", "No", "We"]


def test_a_corpus_damages_its_share(tmp_path):
    n_docs = 300
    path = tmp_path / "x.spacy"
    write_docbin(path, new_docbin(make_doc() for _ in range(n_docs)))
    nlp = spacy.blank("xx")

    def texts(**settings):
        return [example.predicted.text for example in Corpus(path, **settings)(nlp)]

    assert len(set(texts())) == 1
    every = Counter(texts(noise=1.0))
    assert len(every) == 3 and make_doc().text not in every
    assert all(n_docs / 4 < count < n_docs / 2.4 for count in every.values())
    some = texts(noise=0.3)
    assert some == texts(noise=0.3) != texts(noise=0.3, seed=1)
    assert n_docs / 2 < some.count(make_doc().text) < n_docs * 0.9
    # What is hidden does not depend on what is damaged.
    hidden = [["\n" in text for text in texts(hide_layout=0.5, noise=n)] for n in (0.0, 0.5)]
    assert hidden[0] == hidden[1] and 0 < sum(hidden[0]) < n_docs
