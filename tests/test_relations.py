"""Labels, and the map from treebanks' relations to the 18 classes."""

from __future__ import annotations

import csv

import pytest

from spacy_rst.errors import RstError
from spacy_rst.relations import (
    NUCLEARITIES,
    RELATION_CLASSES,
    RELATIONS_FILE,
    join_label,
    normalize_relation,
    read_relations,
    relation_class,
    split_label,
)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with RELATIONS_FILE.open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True))


@pytest.mark.parametrize("relation", RELATION_CLASSES)
def test_labels_round_trip(relation):
    for nuclearity in NUCLEARITIES:
        label = join_label(relation, nuclearity)
        assert label == f"{relation}-{nuclearity}"
        assert split_label(label) == (relation, nuclearity)


@pytest.mark.parametrize(
    "ask, values",
    [(split_label, [x]) for x in ("", "-", "NS", "-NS", "Cause", "Cause-", "Cause-ns", "Cause NS")]
    + [(join_label, x) for x in (("", "NS"), ("Cause", ""), ("Cause", "SS"), ("Cause", "ns"))],
)
def test_malformed_labels(ask, values):
    with pytest.raises(RstError, match="R013"):
        ask(*values)


def test_the_table_is_whole_unique_and_sorted(rows):
    assert list(RELATION_CLASSES) == sorted(set(RELATION_CLASSES)) and len(RELATION_CLASSES) == 18
    assert list(rows[0]) == ["treebank", "label", "class", "reason"]
    assert all(None not in row and None not in row.values() for row in rows)
    assert {row["class"] for row in rows} == set(RELATION_CLASSES)
    keys = [(row["treebank"], row["label"]) for row in rows]
    assert len(set(keys)) == len(keys) == len(read_relations())
    order = [(row["treebank"], row["class"], row["label"]) for row in rows]
    assert order == sorted(order)


def test_every_row_and_every_class_is_found(rows):
    for row in rows:
        assert normalize_relation(row["label"]) == row["label"]
        assert relation_class(row["label"], row["treebank"]) == row["class"]
    for name in RELATION_CLASSES:
        assert relation_class(name) == relation_class(name.lower()) == name


@pytest.mark.parametrize(
    "label, expected",
    [
        ("elaboration-object-attribute-e", "Elaboration"),
        ("elaboration-additional", "Elaboration"),
        ("Comment-Topic", "Topic-Comment"),
        ("TextualOrganization", "Textual-Organization"),
        ("attribution-n", "Attribution"),
        ("attribution-negative", "Attribution"),
        ("consequence-s-e", "Cause"),
        ("consequence-n", "Cause"),
        ("Consequence", "Cause"),
        ("evaluation-s", "Evaluation"),
        ("Problem-Solution", "Topic-Comment"),
        ("problem-solution-n", "Topic-Comment"),
        ("Same-Unit", "Same-Unit"),
        ("same_unit", "Same-Unit"),
        ("Inverted-Sequence", "Temporal"),
        ("Temporal-Same-Time", "Temporal"),
        ("joint_m", "Joint"),
        ("restatement-mn", "Summary"),
        ("contrast-nn", "Contrast"),
        ("  Volitional  Cause ", "Cause"),
        ("Antítesis", "Contrast"),
        ("PREPARACIÓN", "Background"),
        ("same", "Same-Unit"),  # an end that is part of the name stays
    ],
)
def test_labels_as_treebanks_write_them(label, expected):
    assert relation_class(label) == expected


def test_a_treebank_may_have_rows_of_its_own(monkeypatch):
    table = {("*", "list"): "Joint", ("mine", "list"): "Temporal"}
    monkeypatch.setattr("spacy_rst.relations.read_relations", lambda: table)
    assert relation_class("List-m", "mine") == "Temporal"
    assert relation_class("List", "other") == relation_class("List") == "Joint"


@pytest.mark.parametrize("label", ["no-such-thing", "", "-e", "span", "caus-e"])
def test_unknown_labels_are_never_guessed(label):
    with pytest.raises(RstError, match="R101"):
        relation_class(label)


def test_following_the_advice_for_an_unknown_label_helps(tmp_path):
    message = r"R101.*'Strange_Link'.*folder/file.rs3.*eng.mine\\tstrange-link\\t<class>"
    with pytest.raises(RstError, match=message):
        relation_class("Strange_Link", treebank="eng.mine", source="folder/file.rs3")
    own = tmp_path / "own.tsv"
    own.write_text(
        "treebank\tlabel\tclass\neng.mine\tstrange-link\tJoint\n*\tAntithesis\tComparison\n"
        "*\tJoint\tTemporal\n",
        encoding="utf8",
    )
    table = read_relations(own)
    assert relation_class("Strange_Link", "eng.mine", relations=table) == "Joint"
    assert relation_class("antithesis", "eng.mine") == "Contrast"
    assert relation_class("antithesis", "eng.mine", relations=table) == "Comparison"
    assert relation_class("Joint", relations=table) == "Temporal"
    assert relation_class("elaboration", "eng.mine", relations=table) == "Elaboration"
    with pytest.raises(RstError, match="R101"):
        relation_class("Strange_Link", "another", relations=table)


def test_a_table_gives_classes_alone(tmp_path):
    own = tmp_path / "own.tsv"
    own.write_text("treebank\tlabel\tclass\n*\todd\tOdd\n", encoding="utf8")
    with pytest.raises(RstError, match=r"R100\] Line 2 of .*own\.tsv .*'Odd'.*Attribution"):
        read_relations(own)
