from __future__ import annotations

from collections import Counter

import pytest

from spacy_rst import RstError
from spacy_rst.tables import read_table
from spacy_rst.treebank.splits import SplitTable, draw_splits

NAMES = [f"doc_{i}" for i in range(300)]


@pytest.mark.parametrize(
    ("n_docs", "expected"),
    [
        (300, {"train": 224, "dev": 38, "test": 38}),  # as in the paper
        (20, {"train": 12, "dev": 4, "test": 4}),
        (2, {"train": 2}),
    ],
)
def test_small_treebanks_keep_most_documents_for_training(n_docs, expected):
    assert Counter(draw_splits(NAMES[:n_docs]).values()) == expected


def test_drawing_depends_on_the_seed_alone():
    assert draw_splits(NAMES, seed=1) == draw_splits(list(reversed(NAMES)), seed=1)
    assert draw_splits(NAMES, seed=1) != draw_splits(NAMES, seed=2)


def test_a_drawn_split_never_changes():
    assert draw_splits(list("abcdef"), seed=0) == {
        "a": "train", "b": "train", "c": "train", "d": "dev", "e": "train", "f": "test",
    }  # fmt: skip


def test_parts_of_a_document_stay_together():
    parts = [f"{name}_part_{i}" for name in NAMES[:30] for i in range(3)]
    drawn = draw_splits(parts)
    for name in NAMES[:30]:
        assert len({drawn[f"{name}_part_{i}"] for i in range(3)}) == 1


def test_table_knows_parts_others_and_folders():
    rows = [("ru.rrt", "blogs_0", "dev"), ("ru.rrt", "*", "train")]
    table = SplitTable([*rows, *(("zh.gcdt", "twice", split) for split in ("test", "double"))])
    assert table.split_of("blogs_0_part_12", "ru.rrt") == "dev"
    assert table.split_of("blogs_1_part_1", "ru.rrt") == "train"
    assert table.split_of("twice", "zh.gcdt", "rs3/double/twice.rs3") == "double"
    assert table.split_of("twice", "zh.gcdt", "rs3/test/twice.rs3") == "test"
    assert table.split_of("unknown", "zh.gcdt") is None


def test_official_splits_cover_the_public_treebanks():
    official = SplitTable.official()
    assert official.split_of("GUM_academic_exposure", "en.gum") == "dev"
    assert official.split_of("GUM_academic_exposure_RU", "ru.rrg") == "dev"
    assert official.split_of("GENTLE_poetry_raven", "en.gum") == "test2"
    assert official.split_of("wsj_0605", "en.rstdt") == "dev"
    assert {"de.pcc2.2", "es.rststb", "eu.ert", "nl.nldt", "pt.cstn"} <= set(official.treebanks)


def test_translated_gum_documents_are_never_trained_on_when_the_english_is_held_out():
    official = SplitTable.official()
    held_out = [key for key in official._splits if key[0] == "ru.rrg" and key[1] != "*"]
    for treebank, name in held_out:
        english = name.removesuffix("_RU")
        assert official.split_of(english, "en.gum") == official.split_of(name, treebank)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "does not name treebank, doc, split"),
        (b"treebank\tdoc\n", "does not name split"),
        ("treebank\tdoc\tsplit\nt\t\u00e9\tdev\n".encode("latin1"), "codec"),
        (b"treebank\tdoc\tsplit\nt\tx\n", "line 2 has 2 cells"),
        (b"treebank\tdoc\tsplit\nt\tx\tdev\t\tmore\n", "line 2 has 5 cells"),
    ],
)
def test_what_is_not_a_table_is_refused(tmp_path, content, problem):
    path = tmp_path / "splits.tsv"
    path.write_bytes(content)
    with pytest.raises(RstError, match=rf"R130.*splits\.tsv.*{problem}"):
        SplitTable.from_file(path)


def test_tables_may_have_a_byte_order_mark_long_cells_and_quotes(tmp_path):
    path = tmp_path / "splits.tsv"
    name = '"' + "x" * 200_000
    path.write_bytes(f"\ufefftreebank\tdoc\tsplit\r\n\r\nt\t{name}\tdev\r\n".encode())
    columns = ("treebank", "doc", "split")
    assert list(read_table(path, columns)) == [(3, {"treebank": "t", "doc": name, "split": "dev"})]
    assert SplitTable.from_file(path).split_of(name, "t") == "dev"
