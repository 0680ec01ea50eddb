"""Trees on Docs: the extensions, what they survive, and EDUs that do not fit."""

from __future__ import annotations

import gc
import json
import pickle
import weakref

import pytest
import spacy
from hypothesis import given, settings
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_rst.doc import doc_from_edus, get_edus, set_edus
from spacy_rst.errors import RstError
from spacy_rst.tree import RstTree

from .processes import run_python
from .strategies import chain_tree, trees

EDUS = ["It rains ,", "so we stay", "at home ."]
SPLITS = [(0, 1, 3, "Cause-SN"), (1, 2, 3, "Elaboration-NS")]
SCORES = [(0.75, 0.5), (0.25, 0.125)]
BLANK = spacy.blank("xx")

properties = settings(max_examples=25)


@pytest.fixture(scope="module")
def nlp() -> Language:
    return spacy.blank("en")


@pytest.fixture
def doc(nlp) -> Doc:
    doc = doc_from_edus(nlp, EDUS)
    doc._.rst_tree = RstTree.from_splits(SPLITS, scores=SCORES)
    return doc


@pytest.fixture
def tree() -> RstTree:
    return RstTree.from_splits(SPLITS, EDUS, SCORES)


def has_no_tree(doc: Doc) -> bool:
    nodes = {token._.rst_node for token in doc} | {doc[:]._.rst_node}
    return (doc._.rst_tree, doc._.rst_json, nodes) == (None, None, {None})


def texts_of(doc: Doc) -> list[str]:
    return [edu.text for edu in get_edus(doc)]


def read_from_bytes(doc: Doc) -> Doc:
    return Doc(doc.vocab).from_bytes(doc.to_bytes())


def with_edus(nlp: Language, text: str, *borders: tuple[int, int]) -> Doc:
    doc = nlp(text)
    doc.spans["edus"] = [doc[start:end] for start, end in borders]
    return doc


# The extensions


def test_the_tree_hangs_on_the_doc(doc, tree):
    found = doc._.rst_tree
    assert found == tree
    assert all(isinstance(edu, Span) and edu.doc is doc for edu in found.edus)
    assert found.root.right.span == doc[3:9]
    assert found.root.right.text == "so we stay at home ."
    assert found.root.score == SCORES[0]
    assert doc.user_data == json.loads(json.dumps(doc.user_data))


def test_a_tree_with_spans_brings_its_edus(nlp):
    doc = nlp("It rains , so we stay .")
    doc._.rst_tree = RstTree.from_splits([(0, 1, 2, "Cause-SN")], [doc[0:3], doc[3:7]])
    assert [edu.text for edu in doc.spans["edus"]] == ["It rains ,", "so we stay ."]
    assert doc._.rst_tree.root.relation == "Cause"


def test_one_edu_gives_a_tree_of_one_leaf(nlp):
    doc = doc_from_edus(nlp, ["All of it ."])
    doc._.rst_tree = RstTree.from_splits([], ["All of it ."])
    restored = read_from_bytes(doc)
    assert len(restored._.rst_tree) == 1
    assert restored._.rst_tree.root.span.text == "All of it ."
    assert restored[1:2]._.rst_node.is_leaf


@pytest.mark.parametrize("text", ["", " ", "\n\n  \n"])
def test_docs_without_text_have_no_edus_and_no_tree(nlp, text):
    doc = nlp(text)
    assert get_edus(doc) == []
    assert has_no_tree(doc)
    assert has_no_tree(read_from_bytes(doc))


def test_json(doc, tree, nlp):
    assert doc._.rst_json == {
        "version": 1,
        "edus": EDUS,
        "splits": [list(split) for split in SPLITS],
        "scores": [list(score) for score in SCORES],
        "edu_chars": [[0, 10], [11, 21], [22, 31]],
    }
    data = json.loads(json.dumps(doc.to_json(underscore=["rst_json"])))
    assert data["_"]["rst_json"] == doc._.rst_json
    assert Doc(nlp.vocab).from_json(data)._.rst_tree == tree


def test_the_smallest_node_that_covers_a_span_or_token(doc):
    expected = {
        (0, 1): (0, 1), (0, 3): (0, 1), (2, 4): (0, 3), (3, 4): (1, 2), (4, 7): (1, 3),
        (7, 9): (2, 3), (0, 9): (0, 3), (5, 5): (1, 2),
    }  # fmt: skip
    covering = {place: doc[slice(*place)]._.rst_node for place in expected}
    assert {place: (node.start, node.end) for place, node in covering.items()} == expected
    nodes = [token._.rst_node for token in doc]
    assert [node.start for node in nodes] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(node.is_leaf for node in nodes)


def test_relations_know_their_place_in_the_doc(doc):
    cause, elaboration = doc._.rst_tree.relations()
    assert (cause.nucleus_span, cause.satellite_span) == (doc[3:9], doc[0:3])
    assert elaboration.satellite_span.text == elaboration.satellite == "at home ."
    names = ("nucleus_start", "nucleus_end", "satellite_start", "satellite_end")
    places = [[record[name] for name in names] for record in doc._.rst_tree.to_records()]
    assert places == [[11, 31, 0, 10], [11, 21, 22, 31]]


def test_nodes_of_spans_in_white_space(nlp):
    doc = with_edus(nlp, "\n\nOne .\n\nTwo .\n\n", (1, 3), (4, 6))
    doc._.rst_tree = RstTree.from_splits([(0, 1, 2, "Joint-NN")])
    assert texts_of(doc) == ["One .", "Two ."]
    nodes = [(token.text, doc[token.i : token.i + 1]._.rst_node) for token in doc]
    assert [(text, node.start, node.end) for text, node in nodes] == [
        ("\n\n", 0, 1), ("One", 0, 1), (".", 0, 1), ("\n\n", 0, 2), ("Two", 1, 2), (".", 1, 2),
        ("\n\n", 1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("n_edus", [0, 2, 4])
def test_setter_refuses_a_tree_over_another_number_of_edus(nlp, tree, n_edus):
    doc = doc_from_edus(nlp, ["unit"] * n_edus)
    with pytest.raises(RstError, match=f"R021.* 3 EDUs.* {n_edus} are"):
        doc._.rst_tree = tree
    assert has_no_tree(doc)


@pytest.mark.parametrize("borders", [[(0, 2), (2, 2), (2, 5)], [(0, 5), (5, 5)]])
def test_setter_refuses_empty_edus(nlp, borders):
    doc = with_edus(nlp, "a b c d e", *borders)
    with pytest.raises(RstError, match=r"R026.*EDU 2"):
        doc._.rst_tree = chain_tree(len(borders), "left")


def test_setter_refuses_other_values_and_the_spans_of_another_doc(nlp, doc):
    other = doc_from_edus(nlp, EDUS)
    with pytest.raises(TypeError, match="RstTree"):
        other._.rst_tree = SPLITS
    with pytest.raises(RstError, match=r"R025.*It rains"):
        other._.rst_tree = doc._.rst_tree


# Serialisation


def test_a_docbin_without_user_data_keeps_edus_only(doc, nlp):
    docs = DocBin().from_bytes(DocBin(docs=[doc, nlp("Not parsed .")]).to_bytes())
    plain, not_parsed = docs.get_docs(nlp.vocab)
    assert texts_of(plain) == EDUS
    assert has_no_tree(plain) and has_no_tree(not_parsed)


def test_a_copied_doc_has_a_tree_of_its_own(doc, tree):
    copied = doc.copy()
    assert copied._.rst_tree == tree
    assert copied._.rst_tree.edus[0].doc is copied
    copied._.rst_tree = None
    assert has_no_tree(copied) and texts_of(copied) == EDUS
    assert doc._.rst_tree == tree
    data = json.loads(json.dumps(copied.to_json(underscore=["rst_json"])))
    assert Doc(copied.vocab).from_json(data)._.rst_tree is None


@properties
@given(trees())
def test_random_trees_survive_serialisation(tree):
    doc = doc_from_edus(BLANK, tree.edus)
    doc._.rst_tree = tree
    assert doc._.rst_tree == tree
    assert read_from_bytes(doc)._.rst_tree == tree
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (restored,) = DocBin().from_bytes(stored).get_docs(BLANK.vocab)
    assert restored._.rst_tree == tree
    assert pickle.loads(pickle.dumps(doc))._.rst_tree == tree


@pytest.mark.parametrize("direction", ["left", "right"])
def test_ten_thousand_edus_on_a_doc(direction):
    tree = chain_tree(10_000, direction)
    doc = doc_from_edus(BLANK, tree.edus)
    doc._.rst_tree = tree
    assert doc._.rst_tree == tree
    assert read_from_bytes(doc)._.rst_tree == tree
    assert doc[-1:]._.rst_node.end == 10_000


def test_a_fresh_process_reads_a_docbin(doc, tree, tmp_path):
    DocBin(store_user_data=True, docs=[doc]).to_disk(tmp_path / "trees.spacy")
    printed = run_python(
        "import json, sys, spacy_rst\n"
        "from spacy.tokens import DocBin\n"
        "from spacy.vocab import Vocab\n"
        "(doc,) = DocBin().from_disk(sys.argv[1]).get_docs(Vocab())\n"
        "print(json.dumps([doc._.rst_tree.to_dict(), doc[0:1]._.rst_node.text]))\n",
        str(tmp_path / "trees.spacy"),
    )
    assert json.loads(printed) == [tree.to_dict(), EDUS[0]]


# One tree per Doc, built once and never out of date


@pytest.fixture
def n_built(monkeypatch) -> list[int]:
    """Count the trees that are built from splits."""
    built = [0]
    init = RstTree.__init__

    def counting_init(self, *args, **kwargs):
        built[0] += 1
        init(self, *args, **kwargs)

    monkeypatch.setattr(RstTree, "__init__", counting_init)
    return built


def test_a_tree_that_was_set_is_not_built_again(doc, n_built):
    assert [doc._.rst_tree.root.relation for _ in range(3)] == ["Cause"] * 3
    assert [doc[i : i + 1]._.rst_node.start for i in range(4)] == [0, 0, 0, 1]
    assert doc._.rst_json["edus"] == EDUS
    assert n_built == [0]
    tree = doc._.rst_tree
    assert doc._.rst_tree is tree  # while it is in use
    assert doc[0:9]._.rst_node == tree.root


def test_a_tree_that_was_stored_is_built_once(doc, n_built):
    copied = doc.copy()
    assert [copied._.rst_tree.root.relation for _ in range(3)] == ["Cause"] * 3
    assert [token._.rst_node.start for token in copied][::3] == [0, 1, 2]
    assert n_built == [1]


def drop(doc: Doc) -> None:
    del doc.user_data["rst_tree"]


def exchange_stored(doc: Doc) -> None:
    labels = ["Contrast-NN", "Joint-NN"]
    doc.user_data["rst_tree"] = {**doc.user_data["rst_tree"], "labels": labels}


def exchange_edus(doc: Doc) -> None:
    doc.spans["edus"] = [doc[0:3], doc[3:5], doc[5:9]]


def add_edu(doc: Doc) -> None:
    doc.spans["edus"].append(doc[8:9])


@pytest.mark.parametrize("edit", [drop, exchange_stored, exchange_edus, add_edu])
def test_edits_are_seen(doc, edit):
    tree = doc._.rst_tree
    edit(doc)
    assert doc._.rst_tree != tree
    assert doc._.rst_tree == doc.copy()._.rst_tree


def test_reading_the_tree_leaves_no_trace_in_what_is_stored(doc, tree, nlp, tmp_path):
    before, data = doc.to_bytes(), dict(doc.user_data)
    held = doc._.rst_tree
    assert (doc.to_bytes(), doc.user_data) == (before, data)
    doc.to_disk(tmp_path / "doc")
    for twin in (
        Doc(nlp.vocab).from_disk(tmp_path / "doc"),
        read_from_bytes(doc),
        doc.copy(),
        pickle.loads(pickle.dumps(doc)),
        *DocBin(store_user_data=True, docs=[doc]).get_docs(nlp.vocab),
    ):
        assert twin._.rst_tree == held
        assert twin._.rst_tree.edus[0].doc is twin


DAMAGED = {
    "no dict": "tree",
    "empty": {},
    "None": {"edu_chars": None, "splits": None, "labels": None, "scores": None},
    "no places": {"edu_chars": None},
    "place of one number": {"edu_chars": [[0], [11, 21], [22, 31]]},
    "places of strings": {"edu_chars": [["0", "10"], [11, 21], [22, 31]]},
    "number for splits": {"splits": 7},
    "number for a split": {"splits": [7, [1, 2, 3]]},
    "split of two": {"splits": [[0, 1], [1, 2, 3]]},
    "no tree": {"splits": [[0, 1, 3], [0, 1, 3]]},
    "too many labels": {"labels": ["Cause-SN"] * 3},
    "labels of numbers": {"labels": [1, 2]},
    "unknown nuclearity": {"labels": ["Cause-XX", "Joint-NN"]},
    "too few scores": {"scores": [[0.5, 0.5]]},
    "not a number": {"scores": [[float("nan"), 0.5], [0.5, 0.5]]},
    "huge numbers": {"scores": [[10**400, 0.5], [0.5, 0.5]]},
    "endless number": {"splits": [[0, 1, 10**5000], [1, 2, 3]]},
    "one EDU less": {"splits": [[0, 1, 2]], "labels": ["Cause-SN"], "scores": None},
    "objects": {"labels": [object(), object()]},
}


@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_damaged_data_gives_one_coded_error(doc, damage, read_before):
    if read_before:
        assert doc._.rst_tree is not None
    whole = doc.user_data["rst_tree"]
    is_part = isinstance(damage, dict) and damage
    doc.user_data["rst_tree"] = {**whole, **damage} if is_part else damage
    for read in (lambda: doc._.rst_tree, lambda: doc._.rst_json, lambda: doc[0]._.rst_node):
        with pytest.raises(RstError, match=r"R027.*doc\._\.rst_tree"):
            read()
    doc.user_data["rst_tree"] = whole
    assert doc._.rst_tree.root.relation == "Cause"


def test_trees_keep_their_docs_and_docs_are_freed_with_them(nlp):
    doc = doc_from_edus(nlp, EDUS)
    doc._.rst_tree = RstTree.from_splits(SPLITS)
    freed = weakref.ref(doc)
    tree = doc._.rst_tree
    gc.disable()  # no Doc may have to wait for the collector of cycles
    try:
        del doc
        assert tree.root.text == " ".join(EDUS)
        del tree
        assert freed() is None
    finally:
        gc.enable()


# Docs made of other Docs, and EDUs that were exchanged: no tree rather than a wrong one


def test_merged_docs_have_no_tree(nlp, doc):
    with pytest.warns(UserWarning, match="W102"):  # pytest shows what spacy_rst keeps quiet
        merged = Doc.from_docs([doc, doc_from_edus(nlp, EDUS)])
    assert len(get_edus(merged)) == 6 and has_no_tree(merged)


def test_merging_docs_dumps_no_tree(doc):
    printed = run_python(
        "import spacy\n"
        "from spacy.tokens import Doc\n"
        "from spacy_rst import RstTree, doc_from_edus\n"
        "doc = doc_from_edus(spacy.blank('xx'), ['It rains ,', 'so we stay .'])\n"
        "doc._.rst_tree = RstTree.from_splits([(0, 1, 2, 'Cause-SN')])\n"
        "doc.user_data['mine'] = 1\n"
        "import warnings\n"
        "warnings.showwarning = lambda message, *rest: print(message)\n"
        "print(Doc.from_docs([doc, doc]).text)\n"
    )
    *warned, text = printed.splitlines()
    assert text == "It rains , so we stay . It rains , so we stay ."
    assert [line.split(" ", 1)[0] for line in warned] == ["[W102]"]
    assert "mine" in warned[0]


def test_a_part_of_a_doc_never_gets_the_old_tree(doc):
    assert has_no_tree(doc[3:9].as_doc())
    part = doc[3:9].as_doc(copy_user_data=True)
    assert has_no_tree(part)
    part.spans["edus"] = [part[0:2], part[2:4], part[4:6]]
    assert has_no_tree(part)
    whole = doc[:].as_doc(copy_user_data=True)
    whole.spans["edus"] = [whole[edu.start : edu.end] for edu in doc.spans["edus"]]
    assert whole._.rst_tree == doc._.rst_tree


def test_other_edus_take_the_tree_away(doc):
    set_edus(doc, [doc[0:3], doc[3:9]])
    assert "rst_tree" not in doc.user_data and has_no_tree(doc)


@pytest.mark.parametrize(
    "borders", [[(0, 3), (3, 9)], [(0, 2), (2, 6), (6, 9)], [(0, 3), (3, 6), (6, 8)], []]
)
def test_a_tree_over_exchanged_edus_is_not_given_out(doc, borders):
    doc.spans["edus"] = [doc[start:end] for start, end in borders]
    assert has_no_tree(doc)
    del doc.spans["edus"]
    assert has_no_tree(doc)


# Tokens merged and split under the EDUs


def merge(doc: Doc, *borders: tuple[int, int]) -> None:
    with doc.retokenize() as retokenizer:
        for start, end in borders:
            retokenizer.merge(doc[start:end])


def split_rains(doc: Doc) -> None:
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[1], ["ra", "ins"], heads=[(doc[1], 0), (doc[1], 0)])


RETOKENIZED = {
    "first": lambda doc: merge(doc, (0, 2)),
    "last": lambda doc: merge(doc, (6, 8)),
    "all": lambda doc: merge(doc, (0, 3), (3, 6), (6, 9)),
    "split": split_rains,
    "as many tokens": lambda doc: (split_rains(doc), merge(doc, (7, 9))),
}


@pytest.fixture(params=RETOKENIZED.values(), ids=RETOKENIZED)
def retokenize(request):
    return request.param


@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("origin", [lambda doc: doc, Doc.copy, read_from_bytes])
def test_trees_survive_retokenization_inside_edus(doc, origin, retokenize, read_before):
    doc = origin(doc)
    before = doc._.rst_json if read_before else {**doc.copy()._.rst_json}
    retokenize(doc)
    assert doc._.rst_json == before
    assert texts_of(doc) == [edu.text for edu in doc._.rst_tree.edus] == EDUS
    assert doc[-1]._.rst_node.start == 2
    assert read_from_bytes(doc)._.rst_json == before


def test_retokenized_docs_are_written_once_their_tree_was_read(doc, retokenize, nlp):
    retokenize(doc)
    tree = doc._.rst_json
    (stored,) = DocBin(store_user_data=True, docs=[doc]).get_docs(nlp.vocab)
    for twin in (read_from_bytes(doc), doc.copy(), stored):
        assert twin._.rst_json == tree
        assert [edu.text for edu in twin.spans["edus"]] == EDUS


def test_a_tree_in_use_keeps_its_texts_through_retokenization(doc, retokenize):
    tree = doc._.rst_tree
    retokenize(doc)
    assert [leaf.text for leaf in tree.leaves()] == EDUS


def test_edus_without_a_tree_are_found_again_unless_tokens_were_merged(nlp):
    doc = doc_from_edus(nlp, EDUS)
    split_rains(doc)
    assert texts_of(doc) == [edu.text for edu in doc.spans["edus"]] == EDUS
    doc = doc_from_edus(nlp, EDUS)
    merge(doc, (0, 2))
    with pytest.raises(RstError, match=r"R028.*doc\.spans\['edus'\]"):
        get_edus(doc)


@pytest.mark.parametrize("borders", [(2, 4), (2, 7)])
@pytest.mark.parametrize("read_before", [False, True])
def test_a_token_over_edus_takes_the_tree_away(doc, borders, read_before):
    if read_before:
        assert doc._.rst_tree is not None
    merge(doc, borders)
    assert has_no_tree(doc)
    with pytest.raises(RstError, match="R028"):
        get_edus(doc)


# EDUs that do not fit the text


@pytest.mark.parametrize(
    "borders, code, named",
    [
        pytest.param([], "R020", r"edu_segmenter.*doc\.spans\['edus'\]", id="none"),
        pytest.param([(0, 3), (2, 5)], "R022", "'a b c' and 'c d e'", id="overlap"),
        pytest.param([(0, 5), (0, 5)], "R022", "'a b c d e' and 'a b c d e'", id="repeated"),
        pytest.param([(3, 5), (0, 3)], "R022", "'' and 'd e'.*'a'", id="second half first"),
        pytest.param([(0, 2), (4, 5), (2, 4)], "R022", "'a b' and 'e'.*'c'", id="swapped"),
        pytest.param([(0, 2), (2, 5), (0, 2)], "R022", "'c d e' and 'a b'", id="out of order"),
        pytest.param([(0, 2), (3, 5)], "R022", "'a b' and 'd e'.*'c'", id="gap"),
        pytest.param([(1, 5)], "R022", "'' and 'b c d e'.*'a'", id="gap at the start"),
        pytest.param([(0, 4)], "R022", "'a b c d' and ''.*'e'", id="gap at the end"),
        pytest.param([(0, 2), (2, 2), (2, 5)], "R026", "EDU 2", id="empty"),
    ],
)
def test_edus_that_do_not_fit(nlp, borders, code, named):
    doc = with_edus(nlp, "a b c d e", *borders)
    with pytest.raises(RstError, match=named) as caught:
        get_edus(doc)
    assert caught.value.code == code


# Docs from EDUs


def test_doc_from_edus(nlp):
    doc = doc_from_edus(nlp, [" It rains, ", "so we don't go."])
    assert doc.text == "It rains, so we don't go."
    assert texts_of(doc) == ["It rains,", "so we don't go."]
    assert " ".join(token.text for token in doc) == "It rains , so we do n't go ."
    doc = doc_from_edus(nlp, ["One .", "Two .", "Three ."], paragraph_starts=[0, 2])
    assert doc.text == "One . Two .\n\nThree ."
    assert texts_of(doc) == ["One .", "Two .", "Three ."]
    with pytest.raises(RstError, match=r"R026.*EDU 2"):
        doc_from_edus(nlp, ["One", " ", "Three"])
