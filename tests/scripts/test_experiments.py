"""Grids of experiments: their files, cells and configs; real runs, and reports of made-up ones."""

from __future__ import annotations

import copy
import re
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import pytest
import spacy
import srsly
from spacy.util import load_config

from spacy_rst.doc import SOURCE_KEY
from spacy_rst.parser.component import SCORE_WEIGHTS
from tests.sample import sample_docs, write_corpus
from tests.test_configs import CONFIGS

pytest.importorskip("matplotlib", reason="charts need matplotlib: pip install '.[analysis]'")

import report
from experiments import Grid, cell_config, fingerprint, main, read_grid, read_result

APPROACH = {"config": str(CONFIGS / "tiny_test.cfg"), "corpus": "corpus"}
CONTENT = {
    "approaches": {"encoder": APPROACH},
    "languages": {"en": ["en.gum"], "de": ["de.pcc2.2"], "eu": ["eu.ert", "eu.other"]},
}
SPLITS = {"train": slice(0, 2), "dev": slice(2, 3), "test": slice(3, 4)}


def make_grid(**changes) -> Grid:
    return Grid.model_validate({**copy.deepcopy(CONTENT), **changes})


def cell_named(grid, name):
    (found,) = [cell for cell in grid.cells() if cell.name == name]
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The sample treebank in two languages, as `rst convert` writes it."""
    nlp = spacy.blank("xx")
    folder = tmp_path_factory.mktemp("corpus")
    for language, (split, part) in product(("en", "eu"), SPLITS.items()):
        (folder / split).mkdir(exist_ok=True)
        docs = sample_docs(nlp, [language])[part]
        write_corpus(folder / split / f"sample.{language}.spacy", docs)
    return folder


def sample_grid(corpus: Path, **changes) -> dict:
    return {
        "approaches": {"encoder": {**APPROACH, "corpus": str(corpus)}},
        "languages": {"en": ["sample.en"], "eu": ["sample.eu"]},
        "seeds": [0],
        "overrides": {"all": {"training.max_epochs": 1, "training.eval_frequency": 1}},
        **changes,
    }


# Grids


def test_cells_are_trainings_times_approaches_times_seeds():
    approaches = {"encoder": APPROACH, "translated": {**APPROACH, "trainings": ["mono"]}}
    grid = make_grid(approaches=approaches, trainings=["en", "multi", "mono"], seeds=[3, 7])
    names = [cell.name for cell in grid.cells()]
    first = [f"{name}.encoder.seed3" for name in ("en", "multi", "mono-de", "mono-eu")]
    assert names[:6] == [*first, "mono-de.translated.seed3", "mono-eu.translated.seed3"]
    assert len(names) == len(set(names)) == 12
    assert cell_named(grid, "multi.encoder.seed7").languages == ("en", "de", "eu")
    assert cell_named(grid, "mono-eu.translated.seed7").languages == ("eu",)


@pytest.mark.parametrize("trainings, english", [(["mono"], "mono-en"), (["mono", "en"], "en")])
def test_english_alone_is_trained_once(trainings, english):
    grid = make_grid(trainings=trainings, seeds=[0])
    assert [cell.training for cell in grid.cells()] == [english, "mono-de", "mono-eu"]


@pytest.mark.parametrize("name", ["sample", "cpu", "translated"])
def test_the_grids_of_the_project_can_be_run(name):
    grid = read_grid(CONFIGS.parents[1] / "scripts" / "grids" / f"{name}.yml")
    assert {cell.training for cell in grid.cells()} >= {"en", "multi"}
    for cell in grid.cells():
        weights = cell_config(grid, cell)["training"]["score_weights"]
        assert any(weights[name] for name in weights if name.startswith("rst_lang_mean_"))


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({"languags": ["en"]}, "languags\n  Extra inputs"),
        ({"languages": {}}, "languages\n  Dictionary should have at least 1 item"),
        ({"languages": {"en": ["en.gum"], False: ["no.rst"]}}, "input_value=False"),
        ({"languages": {"en": ["en.gum"], "de": ["en.gum"]}}, "twice"),
        ({"languages": {"en": []}}, "languages.en\n  List should have at least 1 item"),
        ({"languages": {"de": ["de.pcc2.2"]}}, "needs 'en'"),
        ({"languages": {"en": ["en.gum"], "../x": ["de.pcc"]}}, "input_value='../x'"),
        ({"approaches": {}}, "approaches\n  Dictionary should have at least 1 item"),
        ({"approaches": {"encoder": {"corpus": "c"}}}, "approaches.encoder.config\n  Field"),
        ({"approaches": {"../x": APPROACH}}, "input_value='../x'"),
        ({"trainings": ["en", "zero-shot"]}, "trainings.1\n  Input should be 'en', "),
        ({"trainings": ["en", "en"]}, "twice"),
        ({"seeds": []}, "seeds\n  List should have at least 1 item"),
        ({"seeds": [True]}, "seeds.0\n  Input should be a valid integer"),
        ({"seeds": [-1]}, "seeds.0\n  Input should be greater than or equal to 0"),
        ({"edus": "some"}, "edus\n  Input should be 'gold', 'predicted' or 'both'"),
        ({"overrides": {"training.max_epochs": 3}}, "overrides.`training.max_epochs`"),
    ],
)
def test_wrong_grids_are_refused(tmp_path, changes, problem):
    path = tmp_path / "grid.yml"
    srsly.write_yaml(path, {**CONTENT, **changes})
    with pytest.raises(SystemExit, match=re.escape(problem)):
        read_grid(path)


# Configs


def test_a_cell_learns_and_chooses_on_its_own_languages():
    grid = make_grid(trainings=["mono"])
    config = cell_config(grid, cell_named(grid, "mono-eu.encoder.seed2")).interpolate()
    assert config["paths"]["train"] == "corpus/train" and config["paths"]["dev"] == "corpus/dev"
    for part in ("train", "dev"):
        assert config["corpora"][part]["languages"] is None
        assert config["corpora"][part]["treebanks"] == ["eu.ert", "eu.other"]
    assert config["training"]["seed"] == 2


def test_the_checkpoint_is_chosen_by_means_over_languages():
    grid = make_grid()
    weights = cell_config(grid, grid.cells()[0])["training"]["score_weights"]
    assert weights["rst_lang_mean_full"] == SCORE_WEIGHTS["rst_full"] > 0
    metrics = ("span", "nuclearity", "relation", "full")
    assert {key for key in weights if weights[key]} == {f"rst_lang_mean_{m}" for m in metrics}
    # Null, as spaCy would bring back the default of a score that is missing.
    assert weights["rst_full"] is None and "rst_full" in weights


def test_overrides_for_all_for_one_training_and_for_one_approach():
    special = {**APPROACH, "overrides": {"training.max_epochs": 7}}
    grid = make_grid(
        approaches={"encoder": APPROACH, "special": special},
        trainings=["en", "mono"],
        seeds=[0],
        overrides={
            "all": {"training.max_epochs": 2, "training.dropout": 0.3},
            "mono": {"training.max_epochs": 5},
        },
    )
    found = {cell.name: cell_config(grid, cell)["training"] for cell in grid.cells()}
    epochs = {name: training["max_epochs"] for name, training in found.items()}
    assert epochs["en.encoder.seed0"] == 2 and epochs["mono-de.encoder.seed0"] == 5
    assert epochs["mono-de.special.seed0"] == 7
    assert {training["dropout"] for training in found.values()} == {0.3}


def test_the_fingerprint_depends_on_what_matters(corpus, tmp_path):
    def identify(folder=corpus, **changes):
        grid = Grid.model_validate(sample_grid(folder, **{"trainings": ["multi"], **changes}))
        return fingerprint(grid, grid.cells()[0])

    first = identify()
    reordered = {"eu": ["sample.eu"], "en": ["sample.en"]}
    assert identify() == identify(seeds=[0, 1]) == identify(languages=reordered) == first
    others = ({"seeds": [1]}, {"edus": "both"}, {"overrides": {}}, {"trainings": ["en"]})
    assert len({first, *(identify(**other) for other in others)}) == 5
    moved = tmp_path / "moved"
    for path in corpus.rglob("*.spacy"):
        (moved / path.parent.name).mkdir(parents=True, exist_ok=True)
        (moved / path.parent.name / path.name).write_bytes(path.read_bytes())
    assert identify(moved) == first
    (moved / "test" / "sample.en.spacy").write_bytes(b"other")
    assert identify(moved) != first
    (moved / "test" / "sample.en.spacy").unlink()
    (moved / "test" / "sample.eu.spacy").unlink()
    with pytest.raises(SystemExit, match="none of the grid's treebanks"):
        identify(moved)


# Runs


def test_failed_cells_are_run_again_and_finished_ones_are_not(corpus, tmp_path, capsys):
    path, output = tmp_path / "grid.yml", tmp_path / "experiments"
    broken = {"training.max_epochs": 1, "training.eval_frequency": 1}
    overrides = {"all": broken, "multi": {"training.dropout": "much"}}
    srsly.write_yaml(path, sample_grid(corpus, overrides=overrides))
    with pytest.raises(SystemExit) as ended:
        main(path, output, n_process=2)
    assert ended.value.code == 1 and "multi.encoder.seed0 failed" in capsys.readouterr().out
    assert "dropout" in (output / "multi.encoder.seed0" / "log.txt").read_text("utf8")
    assert "EN-Training" in (output / "report" / "test.md").read_text("utf8")

    grid = read_grid(path)
    english, both = grid.cells()
    result = read_result(grid, english, output)
    assert result is not None and read_result(grid, both, output) is None
    made = (output / english.name / "result.json").stat().st_mtime_ns
    srsly.write_yaml(path, sample_grid(corpus))
    main(path, output)
    assert (output / english.name / "result.json").stat().st_mtime_ns == made
    table = (output / "report" / "test.md").read_text("utf8")
    assert "cross-lingual encoder, Multi-Training" in table and "Human agreement" in table
    assert {p.name for p in (output / "report").iterdir()} == {
        *(f"{name}.{kind}" for name in ("test", "dev", "treebanks") for kind in ("md", "tex")),
        *(f"{n}_encoder.{k}" for n in ("learning_curves", "transfer") for k in ("png", "svg")),
    }
    # The best checkpoint is the one that was scored, chosen by the mean over its languages.
    multi = read_result(read_grid(path), both, output)
    per_language = multi["scores"]["dev"]["gold"]["per_lang"]
    weights = load_config(output / both.name / "config.cfg")["training"]["score_weights"]
    means = [
        weight * fmean(s[name.replace("lang_mean_", "")] for s in per_language.values())
        for name, weight in weights.items()
        if weight
    ]
    assert max(score for _, score in multi["curve"]) == pytest.approx(sum(means))
    kept = spacy.load(output / both.name / "model-best").meta["performance"]
    scored = multi["scores"]["dev"]["gold"]["scores"]
    assert kept["rst_full"] == pytest.approx(scored["rst_full"])


def test_unknown_cells_are_refused(corpus, tmp_path):
    path = tmp_path / "grid.yml"
    srsly.write_yaml(path, sample_grid(corpus))
    with pytest.raises(SystemExit, match=r"'multi'.*en\.encoder\.seed0, multi\.encoder\.seed0"):
        main(path, tmp_path / "experiments", only="multi")


# Reports


@pytest.fixture(scope="module")
def made_up(corpus, tmp_path_factory):
    """A grid with results that nobody trained: cell number n has the scores n / 10 and so on."""
    grid = Grid.model_validate(
        sample_grid(corpus, trainings=["en", "multi", "mono"], seeds=[0, 1], edus="both")
    )
    results = {}
    names = ("rst_full", "rst_original_full")
    for number, cell in enumerate(grid.cells()[:-1]):  # the last one is missing
        scores = {
            lang: dict.fromkeys(names, number / 10 + place / 100)
            for place, lang in enumerate(("en", "eu"))
        }
        reports = {
            "per_lang": scores,
            "per_treebank": {f"sample.{lang}": values for lang, values in scores.items()},
        }
        modes = {"gold": reports, "predicted": reports}
        curve = [(step, number / 10 + step) for step in range(number + 1)]
        results[cell] = {"scores": {"dev": modes, "test": modes}, "curve": curve}
    return grid, results


@pytest.mark.parametrize("key, prefix", [("per_lang", ""), ("per_treebank", "sample.")])
def test_scores_are_means_and_deviations_over_the_seeds(made_up, key, prefix):
    # en, multi and mono-eu have the scores 0, 1 and 2 with the first seed, 3 and 4 with the second.
    rows = report._system_rows(*made_up, "test", "gold", key, "data")
    names = ("EN-Training", "Multi-Training", "One language alone")
    assert [row.system for row in rows] == [f"cross-lingual encoder, {name}" for name in names]
    english, multi, alone = (row.scores for row in rows)
    value = multi[f"{prefix}eu"]["rst_full"]
    assert value.n == 2 and value.mean == pytest.approx(fmean([0.11, 0.41]))
    assert value.deviation == pytest.approx(stdev([0.11, 0.41]))
    # Each language has the parser that learned it alone, which for English is EN-Training.
    assert alone[f"{prefix}en"] == english[f"{prefix}en"]
    assert alone[f"{prefix}eu"]["rst_full"] == (pytest.approx(0.21), None, 1)


def test_tables_have_published_rows_and_baselines_only_where_they_belong(made_up, tmp_path):
    report.write_tables(*made_up, tmp_path)
    tables = {path.stem: path.read_text("utf8") for path in tmp_path.glob("*.md")}
    modes = [f"{name}{mode}" for name in report.TABLES for mode in ("", "_predicted")]
    assert set(tables) == set(modes)
    assert [name for name in modes if "Human agreement" in tables[name]] == ["test"]
    baselines = [name for name in modes if "Baseline: right-branching" in tables[name]]
    assert baselines == ["test", "dev", "treebanks"]
    assert "| sample.en | sample.eu |" in tables["treebanks"]
    assert "| en | eu |" in tables["dev"]
    assert "Data: dev parts of sample.en, sample.eu. Predicted EDUs" in tables["dev_predicted"]


def test_baselines_take_the_commonest_label_of_the_training_data(made_up):
    train, test = (report._read_docs(made_up[0], split) for split in ("train", "test"))
    scores = report._baseline_reports(test, train)["majority-label"]["per_lang"]
    for language, own in report._by_language(train).items():
        label = report.majority_label(report.gold_labels(own))
        (doc,) = report._by_language(test)[language]
        labels = report.gold_labels([doc])
        assert scores[language]["rst_original_span"] == 1
        expected = labels.count(label) / len(labels)
        assert scores[language]["rst_original_full"] == pytest.approx(expected)


def test_rebuilt_trees_are_named(made_up):
    docs = [doc.copy() for doc in report._read_docs(made_up[0], "test")]
    docs[0].user_data[SOURCE_KEY] = "spa.rst.rststb_dev.rels"
    assert report.describe_data("test", docs) == (
        "test parts of sample.en, sample.eu; trees rebuilt from dependencies in sample.en"
    )


def test_learning_curves_are_averaged_where_all_seeds_have_points():
    curves = [[(0, 0.2), (10, 0.4), (20, 0.5)], [(0, 0.0), (10, 0.6)]]
    assert report.average_curves(curves) == [(0, pytest.approx(0.1)), (10, pytest.approx(0.5))]
