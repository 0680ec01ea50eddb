"""Dependency trees of treebanks, over other tokens than theirs."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc

from spacy_rst.doc import get_tree
from spacy_rst.errors import RstError
from spacy_rst.treebank.convert import ConversionOptions, ConversionReport, convert_files
from spacy_rst.treebank.corpus import make_example
from spacy_rst.treebank.docbin import new_docbin, read_docbin, write_docbin
from spacy_rst.treebank.strip_layout import as_running_text, copy_tokens
from spacy_rst.treebank.syntax import Syntax, read_syntax, set_syntax

from .rs3_files import group, rs3, segment

NLP = spacy.blank("xx")


def sentence(*words: str) -> str:
    """A sentence in CoNLL-U, of words as "form/UPOS/head/label". A line "1-2 form" is a token of
    several words."""
    lines = []
    number = 0
    for word in words:
        if "/" not in word:
            numbers, form = word.split()
            lines.append("\t".join([numbers, form, *"________"]))
            continue
        number += 1
        form, pos, head, dep = word.split("/")
        lines.append("\t".join([str(number), form, "_", pos, "_", "_", head, dep, "_", "_"]))
    return "\n".join(lines) + "\n\n"


RAIN = sentence(
    "It/PRON/2/nsubj:outer", "rained/VERB/0/root", "hard/ADV/2/advmod", "./PUNCT/2/punct"
)
STAY = sentence("We/PRON/2/nsubj", "stayed/VERB/0/root", "./PUNCT/2/punct")


def read(folder: Path, *sentences: str, name: str = "doc") -> Syntax:
    text = f"# newdoc id = {name}\n" + "".join(sentences)
    (folder / f"{name}.conllu").write_text(text, encoding="utf8")
    found = read_syntax(folder)[name]
    assert isinstance(found, Syntax), found
    return found


def tokens(doc: Doc) -> list[str]:
    return [f"{t.text}/{t.pos_}/{t.head.text}/{t.dep_}" for t in doc]


def assert_trees(doc: Doc) -> None:
    """One root in each sentence, and every head in its own one."""
    for sent in doc.sents:
        roots = [token for token in sent if token.head.i == token.i]
        assert len(roots) == 1 and roots[0].dep_ == "ROOT"
        assert {token.i for token in roots[0].subtree} == set(range(sent.start, sent.end))


# Sentences, the tokens of a Doc, what they get, and the tokens at which sentences start.
PROJECTIONS = {
    "words that are tokens": (
        [RAIN, STAY],
        ["It", "rained", "hard", ".", "We", "stayed", "."],
        ["It/PRON/rained/nsubj", "rained/VERB/rained/ROOT", "hard/ADV/rained/advmod",
         "./PUNCT/rained/punct", "We/PRON/stayed/nsubj", "stayed/VERB/stayed/ROOT",
         "./PUNCT/stayed/punct"],
        [0, 4],
    ),
    "a word of several tokens, and white space": (
        [sentence("``/PUNCT/2/punct", "'Twas/VERB/0/root", "well-known/ADJ/2/xcomp"),
         sentence("Go/VERB/0/root")],
        ["\n", "``", "'", "Twas", "well", "-", "known", "\n\n", "Go"],
        ["\n/SPACE/``/dep", "``/PUNCT/Twas/punct", "'/VERB/Twas/flat", "Twas/VERB/Twas/ROOT",
         "well/ADJ/Twas/xcomp", "-/ADJ/well/flat", "known/ADJ/well/flat", "\n\n/SPACE/known/dep",
         "Go/VERB/Go/ROOT"],
        [0, 8],
    ),
    "characters of Chinese words, and labels of Stanford": (
        [sentence("天气/NN/4/nsubj", "在/P/3/case", "今天/NT/4/nmod:prep", "变化/VV/0/root",
                  "多/AD/4/advmod:dvp", "个/M/7/mark:clf", "样子/NN/4/dobj", "等/ETC/7/etc",
                  "。/PU/4/punct")],
        list("天气在今天变化多个样子等。"),
        ["天/NOUN/变/nsubj", "气/NOUN/天/goeswith", "在/ADP/今/case", "今/NOUN/变/obl",
         "天/NOUN/今/goeswith", "变/VERB/变/ROOT", "化/VERB/变/goeswith", "多/ADV/变/advmod",
         "个/NOUN/样/clf", "样/NOUN/变/obj", "子/NOUN/样/goeswith", "等/PART/样/dep",
         "。/PUNCT/变/punct"],
        [0],
    ),
    "a token of several words stands for the highest": (
        [sentence("I/PRON/4/nsubj", "2-3 don't", "do/AUX/4/aux", "n't/PART/4/advmod",
                  "go/VERB/0/root", "5-6 da", "de/ADP/7/case", "a/DET/7/det", "ONG/NOUN/4/obl",
                  "$/SYM/9/dep", "5/NUM/4/obj")],
        ["I", "don", "'", "t", "go", "da", "ONG", "$5"],
        ["I/PRON/go/nsubj", "don/AUX/go/aux", "'/PART/don/flat", "t/PART/don/flat",
         "go/VERB/go/ROOT", "da/ADP/ONG/case", "ONG/NOUN/go/obl", "$5/NUM/go/obj"],
        [0],
    ),
    "a token over two sentences crosses no border": (
        [RAIN, STAY], ["It", "rained", "hard", ".We", "stayed", "."], None, [0, 4]
    ),
    "words that the text lacks": (
        [sentence("A/DET/2/det", "title/NOUN/0/root"), RAIN, STAY,
         sentence("Nevertheless/ADV/0/root", "./PUNCT/1/punct")],
        ["It", "hard", ".", "We", "stayed", "(", ".", "Nevertheless", "."],
        ["It/PRON/It/ROOT", "hard/ADV/It/dep", "./PUNCT/It/dep", "We/PRON/stayed/nsubj",
         "stayed/VERB/stayed/ROOT", "(/X/stayed/dep", "./PUNCT/stayed/punct",
         "Nevertheless/ADV/Nevertheless/ROOT", "./PUNCT/Nevertheless/punct"],
        [0, 3, 7],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("sentences", "words", "expected", "starts"), PROJECTIONS.values(), ids=PROJECTIONS
)
def test_tokens_get_what_words_have(tmp_path, sentences, words, expected, starts):
    doc = Doc(NLP.vocab, words)
    assert set_syntax(doc, read(tmp_path, *sentences))
    assert expected is None or tokens(doc) == expected
    assert [sent.start for sent in doc.sents] == starts
    assert_trees(doc)


@pytest.mark.parametrize(
    "text", ["It rained hard . We stayed .", "( It rained hard ) We\u200c stayed .", "ﬁne"]
)
def test_escapes_and_invisible_characters_are_no_difference(tmp_path, text):
    words = text.replace("\u200c", "").replace("(", "-LRB-").replace("ﬁ", "fi").split()
    syntax = read(tmp_path, sentence(*(f"{word}/X/{i}/dep" for i, word in enumerate(words))))
    doc = Doc(NLP.vocab, text.split())
    assert set_syntax(doc, syntax)
    assert [token.head.i for token in doc] == [max(i - 1, 0) for i in range(len(doc))]


def test_another_text_stays_without_syntax(tmp_path):
    doc = Doc(NLP.vocab, ["Nothing", "of", "this", "was", "ever", "said"])
    assert not set_syntax(doc, read(tmp_path, RAIN, STAY))
    assert not doc.has_annotation("DEP") and not doc.has_annotation("POS")


def test_trees_hold_over_any_tokens(tmp_path):
    """Random trees, over random tokens of the same text and of parts of it."""
    draw = random.Random(0)
    for number in range(60):
        sentences = []
        for _ in range(draw.randint(1, 4)):
            n_words = draw.randint(1, 6)
            order = draw.sample(range(n_words), n_words)
            heads = {order[0]: 0}
            for i, word in enumerate(order[1:], 1):
                heads[word] = draw.choice(order[:i]) + 1
            forms = ["".join(draw.choices("ab-", k=draw.randint(1, 3))) for _ in range(n_words)]
            sentences.append(sentence(*(f"{f}/X/{heads[i]}/dep" for i, f in enumerate(forms))))
        syntax = read(tmp_path, *sentences, name=f"d{number}")
        text = "".join(word.form for word in syntax.words)
        cuts = sorted({0, len(text), *draw.choices(range(len(text)), k=len(text) // 2)})
        pieces = [text[a:b] for a, b in pairwise(cuts)]
        doc = Doc(NLP.vocab, pieces)
        assert set_syntax(doc, syntax)
        assert_trees(doc)
        kept = [draw.random() < 0.7 for _ in pieces]
        if any(kept):
            doc.spans["edus"] = [doc[:]]
            assert_trees(copy_tokens(doc, kept))


@pytest.mark.parametrize(
    "words",
    [["a/X/2/dep", "b/X/1/dep"], ["a/X/3/dep", "b/X/0/root"], ["a/X/0/root", "b/X/_/_"]],
)
def test_heads_that_form_no_tree_are_an_error(tmp_path, words):
    text = "# newdoc id = doc\n" + sentence(*words)
    (tmp_path / "doc.conllu").write_text(text, encoding="utf8")
    error = read_syntax(tmp_path)["doc"]
    assert isinstance(error, RstError) and "R105" in str(error) and "doc.conllu" in str(error)


def test_files_without_heads_say_nothing(tmp_path):
    text = "# newdoc id = doc\n" + sentence("a/_/_/_", "b/_/_/_")
    (tmp_path / "doc.conllu").write_text(text, encoding="utf8")
    assert read_syntax(tmp_path) == {}


def test_long_chains_are_read(tmp_path):
    syntax = read(tmp_path, sentence(*(f"a/X/{head}/dep" for head in range(20_000))))
    assert syntax.heads[-1] == 19_998


@pytest.fixture
def treebank(tmp_path):
    folder = tmp_path / "bank"
    folder.mkdir()
    tree = segment(1, "It rained hard .", 3) + segment(2, "We stayed .", 1, "elaboration")
    for name in ("known", "unknown", "other"):
        (folder / f"{name}.rs3").write_text(rs3(tree + group(3, "span")), encoding="utf8")
    syntax = tmp_path / "syntax"
    syntax.mkdir()
    read(syntax, RAIN, STAY, name="known")
    read(syntax, sentence("Quite/ADV/2/dep", "different/ADJ/0/root"), name="other")
    return folder


def convert(treebank: Path, **options) -> tuple[dict[str, Doc], ConversionReport]:
    output = treebank.parent / "out.spacy"
    settings = ConversionOptions(lang="en", syntax=treebank.parent / "syntax", **options)
    report = convert_files(sorted(treebank.iterdir()), {None: output}, settings)
    return {doc.user_data["rst_name"]: doc for doc in read_docbin(output)}, report


@pytest.mark.parametrize("raw_text", [False, True])
def test_docbins_keep_syntax_where_there_is_one(treebank, raw_text):
    docs, report = convert(treebank, raw_text=raw_text)
    assert docs["known"].text == ("It rained hard. We stayed." if raw_text else
                                  "It rained hard . We stayed .")  # fmt: skip
    assert [token.pos_ for token in docs["known"]][:3] == ["PRON", "VERB", "ADV"]
    assert [sent.start for sent in docs["known"].sents] == [0, 4]
    for name in ("unknown", "other"):
        for attribute in ("DEP", "POS", "SENT_START"):
            assert not docs[name].has_annotation(attribute)
    assert report.syntax == 1 and report.mismatched == ["other"]
    assert report.rows()["mismatched"] == 1


def test_a_document_whose_syntax_cannot_be_read_is_bad(treebank):
    path = treebank.parent / "syntax" / "unknown.conllu"
    path.write_text("# newdoc id = unknown\n" + sentence("a/X/1/dep"), encoding="utf8")
    with pytest.raises(RstError, match="R105"):
        convert(treebank)
    docs, report = convert(treebank, skip_bad=True)
    assert list(docs) == ["known", "other"] and len(report.skipped) == 1


def test_predicted_docs_get_none_of_it(treebank):
    docs, _ = convert(treebank)
    predicted = make_example(NLP, docs["known"]).predicted
    for attribute in ("DEP", "POS", "SENT_START"):
        assert not predicted.has_annotation(attribute)


def test_sentences_without_syntax_stay_in_docbins(tmp_path):
    doc = Doc(NLP.vocab, ["a", "b", "c"], sent_starts=[True, False, True])
    write_docbin(tmp_path / "x.spacy", new_docbin([doc]))
    (again,) = read_docbin(tmp_path / "x.spacy")
    assert [token.is_sent_start for token in again] == [True, False, True]
    assert not again.has_annotation("DEP")


def test_running_text_keeps_syntax(tmp_path):
    doc = Doc(NLP.vocab, ["It", "rained", "hard", ".", "\n\n", "We", "stayed", "."])
    set_syntax(doc, read(tmp_path, RAIN, STAY))
    doc.spans["edus"] = [doc[:4], doc[5:]]
    running = as_running_text(doc)
    assert tokens(running) == [line for line in tokens(doc) if "SPACE" not in line]
    assert [sent.start for sent in running.sents] == [0, 4]
    assert get_tree(running) is None


def test_what_hung_on_a_dropped_token_goes_to_the_one_above(tmp_path):
    chain = sentence("a/X/2/case", "b/X/3/nmod", "c/X/0/root", "d/X/3/punct")
    doc = Doc(NLP.vocab, list("abcd"))
    set_syntax(doc, read(tmp_path, chain))
    doc.spans["edus"] = [doc[:]]
    assert tokens(copy_tokens(doc, [True, False, True, True])) == [
        "a/X/c/case", "c/X/c/ROOT", "d/X/c/punct",
    ]  # fmt: skip
    assert tokens(copy_tokens(doc, [True, True, False, True])) == [
        "a/X/b/case", "b/X/b/ROOT", "d/X/b/dep",
    ]  # fmt: skip
