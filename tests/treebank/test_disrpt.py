from __future__ import annotations

from pathlib import Path

import pytest

from spacy_rst.errors import RstError
from spacy_rst.treebank.binarize import binarize
from spacy_rst.treebank.disrpt import find_token_file, read_disrpt
from spacy_rst.treebank.document import NaryNode, TreebankDocument

HEADER = "doc\tunit1_toks\tunit2_toks\ts1_toks\ts2_toks\tdir\trel_type\torig_label\tlabel"
SENTENCE = "^"  # begins an EDU that begins a sentence


def token(number: int | str, form: str, misc: str = "Seg=O") -> str:
    return "\t".join([str(number), form, *"_______", misc])


def conllu(name: str, edus: list[str]) -> str:
    lines = [f"# newdoc_id = {name}"]
    number = 0
    for edu in edus:
        if edu.startswith(SENTENCE) and number:
            lines.append("")
            number = 0
        for index, form in enumerate(edu.removeprefix(SENTENCE).split()):
            number += 1
            lines.append(token(number, form, "Seg=O" if index else "Seg=B-seg"))
    return "\n".join([*lines, "", ""])


def row(
    name: str, unit1: str, unit2: str, direction: str, relation: str, sentences: str = "1-1"
) -> str:
    columns = [name, unit1, unit2, sentences, sentences, direction, "none", relation, relation]
    return "\t".join(columns)


def save(folder: Path, tokens: str, rows: list[str], suffix: str = ".conllu") -> Path:
    rels = folder / "xx.rst.test_train.rels"
    rels.write_text("\n".join([HEADER, *rows, ""]), encoding="utf8")
    rels.with_suffix(suffix).write_text(tokens, encoding="utf8")
    return rels


def read(rels: Path, **options: bool) -> TreebankDocument:
    """Read a file with one document."""
    (document,) = read_disrpt(rels, **options)
    assert isinstance(document, TreebankDocument), document
    return document


def read_one(folder: Path, edus: list[str], relations: list[tuple[str, str, str, str]]):
    """Read a document of one-word EDUs, so that token and EDU numbers are the same."""
    return read(save(folder, conllu("d", edus), [row("d", *relation) for relation in relations]))


def splits(document: TreebankDocument) -> set[tuple[int, int, int, str]]:
    return {tuple(split) for split in binarize(document).splits}


def test_a_document_has_its_name_its_file_and_all_edus(tmp_path: Path):
    document = read_one(tmp_path, ["a", "b"], [("1", "2", "1>2", "Fondo")])
    assert document.name == "d" and document.source.endswith(".rels")
    assert document.edus == ["a", "b"] and document.removed == []


TREES = {
    "dependents become satellites on their side": (
        [("1", "2", "1>2", "Fondo"), ("2", "3", "1<2", "propósito")],
        {(0, 1, 3, "Fondo-SN"), (1, 2, 3, "propósito-NS")},
    ),
    "a satellite or another relation ends a group of nuclei": (
        [("1", "2", "1<2", "list"), ("1", "3", "1<2", "evidence"), ("1", "4", "1<2", "list"),
         ("1", "5", "1<2", "contrast")],
        {(0, 1, 2, "list-NN"), (0, 2, 3, "evidence-NS"), (0, 3, 4, "list-NN"),
         (0, 4, 5, "contrast-NN")},
    ),
    "a nucleus may depend to the right": ([("1", "2", "1>2", "list")], {(0, 1, 2, "list-NN")}),
    "what interrupts a unit may depend on the unit": (
        [("1,3", "2", "1<2", "attribution"), ("1,3", "4", "1>2", "cause")],
        {(0, 2, 3, "same-unit-NN"), (0, 1, 2, "attribution-NS"), (0, 3, 4, "cause-SN")},
    ),
    "what interrupts a unit may depend on its later fragment": (
        [("2", "3", "1>2", "attribution"), ("1,3", "4", "1>2", "cause")],
        {(0, 1, 3, "same-unit-NN"), (1, 2, 3, "attribution-SN"), (0, 3, 4, "cause-SN")},
    ),
    "units that overlap are one": (
        [("1,3", "2", "1<2", "elaboration"), ("3,5", "4", "1<2", "means"),
         ("3,5", "6", "1>2", "cause")],
        {(0, 5, 6, "cause-SN"), (0, 2, 5, "same-unit-NN"), (0, 1, 2, "elaboration-NS"),
         (2, 4, 5, "same-unit-NN"), (2, 3, 4, "means-NS")},
    ),
    "a range over several EDUs is a unit of fragments": (
        [("1-2", "3", "1<2", "cause")], {(0, 2, 3, "cause-NS"), (0, 1, 2, "same-unit-NN")}
    ),
    "a crossing dependent moves up to where it is adjacent": (
        [("1", "4", "1<2", "result"), ("2", "4", "1>2", "preparation"), ("1", "3", "1<2", "means")],
        {(0, 1, 2, "preparation-NS"), (0, 2, 3, "means-NS"), (0, 3, 4, "result-NS")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("relations", "expected"), TREES.values(), ids=TREES)
def test_trees_are_rebuilt(tmp_path: Path, relations, expected):
    n_edus = max(end for _, _, end, _ in expected)
    assert splits(read_one(tmp_path, list("abcdef"[:n_edus]), relations)) == expected


@pytest.mark.parametrize(
    ("edus", "left_joins_first"),
    [("a b c", False), ("a ^b c", False), ("a b ^c", True), ("a ^b ^c", False),
     ("a ^b ^x ^c", False), ("a ^b ^x ^y ^c", True)],
)  # fmt: skip
def test_the_nearer_sentence_decides_the_order(tmp_path: Path, edus, left_joins_first):
    edus = edus.split()
    last = len(edus)
    relations = [("1", "2", "1>2", "background"), ("2", str(last), "1<2", "result")]
    relations += [(str(n), str(last), "1>2", "cause") for n in range(3, last)]
    tree = binarize(read_one(tmp_path, edus, relations))
    assert tree.root.relation == ("result" if left_joins_first else "background")


@pytest.mark.parametrize("relation", ["list", "Joint", "unión", "konjuntzioa", "restatement-mn"])
def test_nuclei_of_one_relation_form_one_node(tmp_path: Path, relation):
    relations = [("1", number, "1<2", relation) for number in "234"]
    root = read_one(tmp_path, ["a", "b", "c", "d"], relations).root
    assert [(child.role, child.relation) for child in root.children] == [("N", relation)] * 4


def test_units_that_share_a_later_fragment_are_one(tmp_path: Path):
    relations = [("1,3", "4", "1<2", "cause"), ("2,3", "5", "1<2", "means")]
    tree = binarize(read_one(tmp_path, list("abcde"), relations))
    assert len(list(tree.find("same-unit"))) == 2


def test_units_outside_relations_and_smaller_trees_are_removed(tmp_path: Path):
    rows = [row("d", "2", "3", "1<2", "means"), row("d", "4", "5", "1<2", "cause")]
    rows.append(row("d", "5", "6", "1<2", "list"))
    rels = save(tmp_path, conllu("d", ["Title", "x", "y", "a", "b", "c"]), rows)
    document = read(rels, largest_tree=True)
    assert document.edus == ["a", "b", "c"]
    assert [text for _, text in document.removed] == ["Title", "x", "y"]
    assert [tokens.words for tokens in document.tokens] == [["a"], ["b"], ["c"]]
    assert splits(document) == {(0, 1, 3, "cause-NS"), (1, 2, 3, "list-NN")}
    (error,) = read_disrpt(rels)
    assert isinstance(error, RstError) and error.code == "R108"
    assert "2 and 3" in str(error)


def test_bounds_of_units_overrule_marks_that_contradict_them(tmp_path: Path):
    edus = ["a a a", "b b", "c"]
    rows = [row("d", "1-2", "3-4", "1<2", "cause"), row("d", "3-4", "5-6", "1<2", "means")]
    document = read(save(tmp_path, conllu("d", edus), rows))
    assert document.edus == ["a a", "a b", "b c"]


def test_multi_word_tokens_are_written_as_one_word(tmp_path: Path):
    tokens = [
        ("1-2", "Da", "SpaceAfter=No"), (1, "De", "Seg=B-seg"), (2, "a"),
        (3, "casa", "Seg=O|SpaceAfter=No"), ("3.1", "vai", "Seg=B-seg"),
        (4, ",", "Entity=x|Seg=O"), ("5-6", "dela", "_"), (5, "de"), (6, "ela", "Seg=B-seg"),
    ]  # fmt: skip
    lines = ["# newdoc id = d", *(token(*columns) for columns in tokens)]
    rows = [row("d", "1-5", "6", "1<2", "cause")]
    document = read(save(tmp_path, "\n".join(lines), rows))
    assert document.edus == ["Dacasa, de", "ela"]
    assert document.tokens[0].words == ["Da", "casa", ",", "de"]
    assert document.tokens[0].spaces == [False, False, True, True]


def test_marks_on_all_words_of_a_token_are_dropped_and_relations_counted_anew(tmp_path: Path):
    forms = [(1, "a"), ("2-3", "da"), (2, "de"), (3, "a"), (4, "b"), (5, "c")]
    lines = ["# newdoc_id = d", *(token(*form, "Seg=B-seg") for form in forms)]
    rows = [row("d", "1", "2", "1<2", "cause"), row("d", "2", "3", "1<2", "means")]
    document = read(save(tmp_path, "\n".join(lines), rows))
    assert document.edus == ["a da", "b", "c"]
    assert document.removed == []
    assert splits(document) == {(0, 1, 3, "cause-NS"), (1, 2, 3, "means-NS")}


def test_chinese_words_have_no_spaces_between_them(tmp_path: Path):
    rows = [row("d", "1-5", "6-7", "1<2", "cause")]
    tokens = conllu("d", ["按照 A1 到 New York", "考试 。"])
    document = read(save(tmp_path, tokens, rows))
    assert document.edus == ["按照A1到New York", "考试。"]
    assert document.tokens[0].spaces == [False, False, False, True, False]


@pytest.mark.parametrize(("suffix", "mark"), [(".conllu", SENTENCE), (".tok", "")])
def test_sentences_come_from_the_tokens_or_from_the_relations(tmp_path: Path, suffix, mark):
    rows = [
        row("d", "1-2", "3", "1<2", "list", "1-3"),
        row("d", "1-2", "4-5", "1<2", "list", "4-5"),
    ]
    document = read(save(tmp_path, conllu("d", ["a a", "b", mark + "c c"]), rows, suffix))
    starts = [tokens.sentence_starts for tokens in document.tokens]
    assert starts == [[True, False], [False], [True, False]]


def test_conllu_comes_before_tok(tmp_path: Path):
    rels = tmp_path / "x.rels"
    with pytest.raises(RstError, match=r"R140.*x\.rels.*x\.conllu nor x\.tok"):
        find_token_file(rels)
    for suffix in (".tok", ".conllu"):
        rels.with_suffix(suffix).touch()
        assert find_token_file(rels).suffix == suffix


def test_a_document_of_one_edu_is_a_leaf(tmp_path: Path):
    document = read(save(tmp_path, conllu("d", ["one edu"]), []))
    assert document.edus == ["one edu"]
    assert (document.root.start, document.root.end, document.root.children) == (0, 1, ())


GOOD_TOKENS = conllu("good", ["a", "b"])
GOOD_ROW = row("good", "1", "2", "1<2", "cause")
AB, ABC = conllu("bad", ["a", "b"]), conllu("bad", ["a", "b", "c"])
NO_ROW = row("bad", "1", "1", "1<2", "x")


def tokens_named(*tokens: tuple[str, str]) -> str:
    return "\n".join(["# newdoc_id = bad", *(token(*both) for both in tokens), "", ""])


def chain(*links: tuple[str, str]) -> list[str]:
    return [row("bad", *units, "1<2", "x") for units in links]


@pytest.mark.parametrize(
    ("tokens", "rows", "code", "named"),
    [
        (AB, ["bad\t1\t2"], "R143", "Line 2"),
        (AB, [row("bad", "1", "2", "=", "x")], "R143", "Line 2"),
        (AB, [row("bad", "1", "2-x", "1<2", "x")], "R143", "2-x"),
        (AB, [row("bad", "0-1", "2", "1<2", "x")], "R143", "Line 2"),
        (AB, [row("bad", "2-1", "2", "1<2", "x")], "R143", "Line 2"),
        (AB, [row("bad", "9" * 5000, "2", "1<2", "x")], "R143", "Line 2"),
        (AB, [row("bad", "1", "2", "1<2", " ")], "R143", "orig_label"),
        (AB, [row("bad", "1", "3", "1<2", "x")], "R143", "Line 2"),
        (ABC, chain(("1", "2"), ("3", "2")), "R143", "Line 3"),
        (AB, [], "R109", "2 EDUs"),
        (conllu("bad", []), [], "R104", "bad"),
        ("", chain(("1", "2")), "R140", "bad"),
        (conllu("bad", ["a"]), [NO_ROW], "R105", "EDU 1"),
        (ABC, chain(("1", "2"), ("2", "3"), ("3", "1")), "R105", "EDU 1"),
        (ABC, chain(("1,3", "3"), ("1", "2")), "R105", "EDU 1"),
        ("# newdoc_id = bad\n1\ta\n\n", [NO_ROW], "R143", "Line 2"),
        (tokens_named(("x", "a")), [], "R143", "Line 2"),
        # Words without a form, and ranges that cannot be, however large.
        *((tokens_named(("1", form)), [], "R143", "Line 2") for form in ("", " ", "\u2003")),
        *(
            (tokens_named(("1", "a"), (number, "b"), ("2", "c"), ("3", "d")), [], "R143", "Line 3")
            for number in ("2-1", "2-999999999", "1-" + "9" * 5000, "9" * 5000, "0-1")
        ),
        (tokens_named(("1-2", "im"), ("1", "in"), ("2-3", "dem"), ("2", "x")), [], "R143", "4"),
    ],
)
def test_a_bad_document_is_an_error_beside_the_good_ones(tmp_path: Path, tokens, rows, code, named):
    rels = save(tmp_path, tokens + GOOD_TOKENS, [*rows, GOOD_ROW])
    results = list(read_disrpt(rels))
    (error,) = [result for result in results if isinstance(result, RstError)]
    (document,) = [result for result in results if isinstance(result, TreebankDocument)]
    assert document.name == "good"
    assert error.code == code
    assert named in str(error) and tmp_path.name in str(error)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"doc\tdir\n", r"R130.*does not name unit1_toks, unit2_toks, orig_label"),
        (b"", "R130"),
        (HEADER.encode() + b"\n\xff\n", "R134.*utf-8"),
    ],
)
def test_files_that_cannot_be_read_raise(tmp_path: Path, content, problem):
    rels = save(tmp_path, GOOD_TOKENS, [GOOD_ROW])
    rels.write_bytes(content)
    with pytest.raises(RstError, match=problem):
        list(read_disrpt(rels))


def test_tokens_without_a_document_belong_to_one_named_after_the_file(tmp_path: Path):
    rels = save(tmp_path, GOOD_TOKENS.partition("\n")[2], [])
    document = read(rels, edus_only=True)
    assert (document.name, document.edus) == (rels.stem, ["a", "b"])


def test_documents_are_read_one_by_one(tmp_path: Path):
    rels = save(tmp_path, "", [GOOD_ROW, row("later", "1", "2", "1<2", "cause")])
    later = conllu("later", [SENTENCE + "x x"] * 2000).encode() + b"\xff"
    rels.with_suffix(".conllu").write_bytes(GOOD_TOKENS.encode() + later)
    documents = read_disrpt(rels)
    first = next(documents)
    assert isinstance(first, TreebankDocument) and first.name == "good"
    with pytest.raises(RstError, match="R134"):
        next(documents)


def test_byte_order_marks_are_left_out(tmp_path: Path):
    rels = save(tmp_path, GOOD_TOKENS, [GOOD_ROW])
    for path in (rels, rels.with_suffix(".conllu")):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    document = read(rels)
    assert document.edus == ["a", "b"]


@pytest.mark.parametrize("chained", [True, False])
def test_depth_is_no_limit(tmp_path: Path, chained: bool):
    n_edus = 3000
    rows = [row("d", str(n if chained else 1), str(n + 1), "1<2", "x") for n in range(1, n_edus)]
    document = read(save(tmp_path, conllu("d", ["w"] * n_edus), rows))
    assert sum(1 for _ in document.root.descendants()) == 2 * n_edus - 1


def test_every_node_covers_its_children_without_gaps(tmp_path: Path):
    units = [("5", "1"), ("1", "3"), ("5", "2"), ("2,6", "4"), ("5", "7")]
    names = ("cause", "means", "list", "result", "summary")
    relations = [(*pair, "1<2", name) for pair, name in zip(units, names, strict=True)]
    root: NaryNode = read_one(tmp_path, list("abcdefg"), relations).root
    assert (root.start, root.end) == (0, 7)
    for node in root.descendants():
        bounds = [node.start, *(child.node.end for child in node.children)]
        assert [child.node.start for child in node.children] == bounds[:-1]
        assert bounds[-1] == node.end or not node.children


def test_edus_alone_need_no_relations(tmp_path: Path):
    tokens = conllu("d", ["a b", "c", SENTENCE + "e"]) + conllu("other", ["x"])
    rels = save(tmp_path, tokens, ["no row at all"])
    first, second = read_disrpt(rels, edus_only=True)
    assert isinstance(first, TreebankDocument) and isinstance(second, TreebankDocument)
    assert first.edus == ["a b", "c", "e"] and second.edus == ["x"]
    assert first.root is None and first.removed == [] and first.blocks == []
    assert first.tokens is not None
    assert [edu.sentence_starts for edu in first.tokens] == [[True, False], [False], [True]]


def test_sentences_with_speakers_are_turns(tmp_path: Path):
    said = [("Ann", ["hi there", "come in"]), ("Tom", ["ok"]), ("Tom", ["no"])]
    lines = ["# newdoc_id = d"]
    for speaker, edus in said:
        lines += [f"# speaker = {speaker}", *conllu("d", edus).splitlines()[1:]]
    document = read(save(tmp_path, "\n".join(lines), []), edus_only=True)
    assert [(b.start, b.end, b.kind, b.speaker) for b in document.blocks] == [
        (0, 2, "turn", "Ann"), (2, 3, "turn", "Tom"), (3, 4, "turn", "Tom"),
    ]  # fmt: skip


def test_tokens_that_share_a_word_are_understood(tmp_path: Path):
    lines = ["# newdoc_id = d", token(1, "Well", "Seg=B-seg"), token("2-3", "they'll", "_")]
    lines += [token(2, "they"), token("3-4", "'ll've", "_"), token(3, "'ll"), token(4, "'ve")]
    document = read(save(tmp_path, "\n".join(lines), []), edus_only=True)
    assert document.edus == ["Well they'll 've"]


def test_edus_alone_of_an_empty_document_are_an_error(tmp_path: Path):
    rels = save(tmp_path, "# newdoc_id = d\n\n" + conllu("other", ["x"]), [])
    empty, other = read_disrpt(rels, edus_only=True)
    assert isinstance(empty, RstError) and empty.code == "R104"
    assert isinstance(other, TreebankDocument)
