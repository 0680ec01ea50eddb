"""Grid files, their cells, and the configs of the cells."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest
import srsly
from spacy.util import load_config, registry

from spacy_rst.errors import RstError
from spacy_rst.lab.grid import cell_config, fingerprint, hash_corpus, make_grid, read_grid
from tests.test_configs import CONFIGS

CONTENT = {
    "approaches": {
        "encoder": {"config": str(CONFIGS / "tiny_test.cfg"), "corpus": "corpus"},
    },
    "languages": {"en": ["en.gum"], "de": ["de.pcc2.2"], "eu": ["eu.ert", "eu.other"]},
}


def grid(**changes):
    return make_grid({**copy.deepcopy(CONTENT), **changes})


def cell_named(grid, name):
    (found,) = [cell for cell in grid.cells() if cell.name == name]
    return found


@pytest.fixture
def corpus(tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / "corpus" / split).mkdir(parents=True)
        (tmp_path / "corpus" / split / "en.spacy").write_text(split, encoding="utf8")
    return tmp_path / "corpus"


def grid_on(corpus: Path, **changes):
    approach = {"config": str(CONFIGS / "tiny_test.cfg"), "corpus": str(corpus)}
    return grid(approaches={"encoder": approach}, **changes)


def test_cells_are_trainings_times_approaches_times_seeds():
    approach = CONTENT["approaches"]["encoder"]
    full = grid(
        approaches={"encoder": approach, "translated": approach},
        trainings=["en", "multi", "mono"],
        seeds=[3, 7],
    )
    names = [cell.name for cell in full.cells()]
    assert names[:4] == [
        "en.encoder.seed3",
        "multi.encoder.seed3",
        "mono-de.encoder.seed3",
        "mono-eu.encoder.seed3",
    ]
    assert len(names) == len(set(names)) == 4 * 2 * 2
    assert cell_named(full, "multi.translated.seed7").languages == ("en", "de", "eu")
    assert cell_named(full, "mono-eu.translated.seed7").languages == ("eu",)


def test_english_alone_is_trained_once():
    names = [cell.training for cell in grid(trainings=["mono"], seeds=[0]).cells()]
    assert names == ["mono-en", "mono-de", "mono-eu"]
    names = [cell.training for cell in grid(trainings=["mono", "en"], seeds=[0]).cells()]
    assert names == ["en", "mono-de", "mono-eu"]


def test_an_approach_may_have_trainings_and_overrides_of_its_own():
    approach = CONTENT["approaches"]["encoder"]
    copies = {"@readers": "spacy_rst.TranslatedCopies.v1", "path": "translated", "held_out": "dev"}
    augmented = {
        **approach,
        "trainings": ["mono", "multi"],
        "overrides": {"corpora.train.augment": copies, "training.max_epochs": 7},
    }
    both = grid(
        approaches={"encoder": approach, "augmented": augmented},
        trainings=["en", "multi", "mono"],
        seeds=[0],
        overrides={"all": {"training.max_epochs": 2}},
    )
    names = [cell.name for cell in both.cells() if cell.approach == "augmented"]
    assert names == [f"{name}.augmented.seed0" for name in ("multi", "mono-de", "mono-eu")]
    config = cell_config(both, cell_named(both, names[0])).interpolate()
    assert config["training"]["max_epochs"] == 7
    assert config["corpora"]["train"]["augment"] == copies
    assert registry.resolve(config["corpora"])["train"].augment.held_out == "dev"
    config = cell_config(both, cell_named(both, "multi.encoder.seed0"))
    assert config["training"]["max_epochs"] == 2 and config["corpora"]["train"]["augment"] is None


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yml")), ids=lambda path: path.stem)
def test_the_grids_of_the_project_can_be_read(path):
    assert {cell.training for cell in read_grid(path).cells()} >= {"en", "multi"}


def test_a_cell_learns_and_chooses_on_its_own_languages():
    one = grid(trainings=["mono"])
    config = cell_config(one, cell_named(one, "mono-eu.encoder.seed2")).interpolate()
    assert config["paths"]["train"] == "corpus/train" and config["paths"]["dev"] == "corpus/dev"
    for part in ("train", "dev"):
        assert config["corpora"][part]["languages"] is None
        assert config["corpora"][part]["treebanks"] == ["eu.ert", "eu.other"]
    assert config["system"]["seed"] == config["training"]["seed"] == 2


def test_the_checkpoint_is_chosen_by_means_over_languages():
    base = load_config(CONFIGS / "tiny_test.cfg")["training"]["score_weights"]
    one = grid()
    weights = cell_config(one, one.cells()[0])["training"]["score_weights"]
    assert weights["rst_lang_mean_full"] == base["rst_full"] > 0
    assert {key for key, weight in weights.items() if weight} == {
        f"rst_lang_mean_{metric}" for metric in ("span", "nuclearity", "relation", "full")
    }
    assert weights["rst_full"] is None and "rst_full" in weights


def test_overrides_for_all_and_for_one_training():
    one = grid(
        trainings=["en", "mono"],
        overrides={
            "all": {"training.max_epochs": 2, "training.dropout": 0.3},
            "mono": {"training.max_epochs": 5},
        },
    )
    values = {
        cell.training: cell_config(one, cell)["training"] for cell in one.cells() if cell.seed == 0
    }
    assert values["en"]["max_epochs"] == 2 and values["mono-de"]["max_epochs"] == 5
    assert values["mono-de"]["dropout"] == 0.3


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"languags": ["en"]}, "languags: Extra inputs"),
        ({"languages": None}, "languages: Input should be a valid dictionary"),
        ({"languages": {}}, "languages: Dictionary should have at least 1 item"),
        ({"languages": ["en"]}, "languages: Input should be a valid dictionary"),
        ({"languages": {"en": "en.gum"}}, "languages.en: Input should be a valid list"),
        ({"languages": {"en": ["en.gum"], False: ["no.rst"]}}, "quotation marks"),
        ({"languages": {"en": [True]}}, "languages.en.0: Input should be a valid string"),
        ({"languages": {"en": ["en.gum", "en.gum"]}}, "twice in ['en.gum', 'en.gum']"),
        ({"languages": {"en": ["en.gum"], "de": ["en.gum"]}}, "twice"),
        ({"languages": {"en": []}}, "languages.en: List should have at least 1 item"),
        ({"languages": {"de": ["de.pcc2.2"]}}, "needs 'en'"),
        ({"languages": {"en": ["en.gum"], "../x": ["de.pcc"]}}, "languages.../x"),
        ({"languages": {"en": ["en.gum"], "x\n": ["de.pcc"]}}, "should match pattern"),
        ({"approaches": {}}, "approaches: Dictionary should have at least 1 item"),
        ({"approaches": ["encoder"]}, "approaches: Input should be a valid dictionary"),
        ({"approaches": {"encoder": {"corpus": "c"}}}, "approaches.encoder.config: Field required"),
        ({"approaches": {"encoder": "c"}}, "approaches.encoder: Input should be"),
        (
            {"approaches": {"encoder": {"config": "a", "corpus": "b", "trainings": ["de"]}}},
            "approaches.encoder.trainings.0: Input should be",
        ),
        ({"approaches": {"../x": {"config": "a", "corpus": "b"}}}, "approaches.../x"),
        (
            {"trainings": ["en", "zero-shot"]},
            "trainings.1: Input should be 'en', ",
        ),
        ({"trainings": ["en", "en"]}, "twice"),
        ({"seeds": []}, "seeds: List should have at least 1 item"),
        ({"seeds": [0.5]}, "seeds.0: Input should be a valid integer"),
        ({"seeds": [True]}, "seeds.0: Input should be a valid integer"),
        ({"seeds": [-1]}, "seeds.0: Input should be greater than or equal to 0"),
        ({"edus": "some"}, "edus: Input should be 'gold', 'predicted' or 'both'"),
        ({"overrides": {"training.max_epochs": 3}}, "overrides.training.max_epochs"),
        ({"overrides": ["a"]}, "overrides: Input should be a valid dictionary"),
    ],
)
def test_wrong_grids_are_refused(changes, problem):
    with pytest.raises(RstError, match="R731") as caught:
        grid(**changes)
    assert problem in str(caught.value)


def test_files_that_are_no_grid_are_refused(tmp_path):
    (tmp_path / "list.yml").write_text("- en\n", encoding="utf8")
    with pytest.raises(RstError, match="R731"):
        read_grid(tmp_path / "list.yml")
    (tmp_path / "broken.yml").write_text("languages: [en\n", encoding="utf8")
    with pytest.raises(RstError, match="R730"):
        read_grid(tmp_path / "broken.yml")


def test_configs_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "other.cfg").write_text("[nlp]\nlang = en\n", encoding="utf8")
    for path in (tmp_path / "other.cfg", tmp_path / "missing.cfg"):
        one = grid(approaches={"encoder": {"config": str(path), "corpus": "corpus"}})
        with pytest.raises(RstError, match="R732"):
            cell_config(one, one.cells()[0])


def test_the_corpus_needs_all_parts(corpus):
    hashes = hash_corpus(corpus)
    assert list(hashes) == ["train/en.spacy", "dev/en.spacy", "test/en.spacy"]
    hash_corpus.cache_clear()
    (corpus / "dev" / "en.spacy").unlink()
    with pytest.raises(RstError, match="R733"):
        hash_corpus(corpus)


def test_the_fingerprint_tells_what_matters(corpus):
    def identify(folder=corpus, **changes):
        hash_corpus.cache_clear()
        changed = grid_on(folder, trainings=["multi"], **changes)
        return fingerprint(changed, changed.cells()[0])

    first = identify()
    assert identify() == first
    assert identify(seeds=[0, 1, 2, 3]) == first
    assert identify(languages=dict(reversed(CONTENT["languages"].items()))) == first
    assert identify(seeds=[1]) != first
    assert identify(languages={"en": ["en.gum"]}) != first
    assert identify(edus="both") != first
    assert identify(overrides={"all": {"training.max_epochs": 1}}) != first
    moved = corpus.with_name("moved")
    shutil.copytree(corpus, moved)
    assert identify(moved) == first
    (moved / "test" / "en.spacy").write_text("other", encoding="utf8")
    assert identify(moved) != first


def test_grids_are_read_from_yaml(tmp_path):
    path = tmp_path / "grid.yml"
    srsly.write_yaml(path, {**CONTENT, "seeds": [4]})
    assert read_grid(path) == grid(seeds=[4])
