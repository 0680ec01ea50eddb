from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config

from spacy_rst import doc_from_edus
from spacy_rst.errors import RstError
from spacy_rst.translator.apertium import ApertiumTranslator
from spacy_rst.translator.component import TranslatedRstParser
from tests.parser.pipelines import own_encoder_pipeline, shared_tok2vec_pipeline, train
from tests.sample import LANGUAGES, examples_from, sample_docs, sample_tree

from .engines import ShoutingTranslator

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "assets" / "translations.tsv"
SAMPLE = ROOT / "assets" / "sample"
TABLE_BLOCK = {"@rst_translators": "spacy_rst.TableTranslator.v1", "path": str(TABLE)}
PARALLEL = "library_hours"
SPANISH = ["Aunque llovía,", "salimos", "a pasear."]


@pytest.fixture(scope="module")
def english():
    """A parser that knows the English documents of the sample by heart."""
    nlp = shared_tok2vec_pipeline(splitter="span", text_features=True)
    train(nlp, examples_from(nlp, sample_docs(nlp, ["en"])))
    return nlp


@pytest.fixture(scope="module")
def english_folder(english, tmp_path_factory):
    folder = tmp_path_factory.mktemp("english")
    english.to_disk(folder)
    return folder


def translating(parser, engine=None, lang: str = "es", **config):
    """A pipeline with nothing but the component."""
    nlp = spacy.blank(lang)
    if engine is None:
        config["engine"] = TABLE_BLOCK
    component = nlp.add_pipe("translated_rst_parser", config=config)
    component.parser = parser
    if engine is not None:
        component.engine = engine
    return nlp


def parallel_edus(language: str) -> list[str]:
    return list(sample_tree(SAMPLE / language / f"{PARALLEL}.rs3").edus)


def spanish_doc(nlp) -> Doc:
    return doc_from_edus(nlp, SPANISH)


@pytest.mark.parametrize("language", ["es", "eu"])
def test_the_tree_is_that_of_the_translation_over_the_original_edus(english, language):
    nlp = translating(english, lang=language)
    doc = nlp(doc_from_edus(nlp, parallel_edus(language)))
    expected = english(doc_from_edus(english, parallel_edus("en")))._.rst_tree
    tree = doc._.rst_tree
    assert tree.splits == expected.splits == sample_tree(SAMPLE / "en" / f"{PARALLEL}.rs3").splits
    assert tree.scores == expected.scores and tree.scores
    assert [edu.text for edu in tree.edus] == parallel_edus(language)
    assert tree.root.span.doc is doc


@pytest.mark.parametrize("settings, source", [({}, "es"), ({"source": "gl"}, "gl")])
def test_a_batch_is_one_call_of_the_engine(english, settings, source):
    engine = ShoutingTranslator()
    nlp = translating(english, engine, **settings)
    docs = list(nlp.pipe([spanish_doc(nlp) for _ in range(5)]))
    assert engine.calls == [(SPANISH * 5, source, "en")]
    assert [doc._.rst_tree.splits for doc in docs] == [docs[0]._.rst_tree.splits] * 5


@pytest.mark.parametrize("n_process", [1, 2])
def test_pipe_and_call_agree(english, n_process):
    nlp = translating(english)
    docs = [doc_from_edus(nlp, parallel_edus("es")[:n]) for n in range(1, 8)]
    copies = [doc.copy() for doc in docs]
    piped = nlp.pipe(copies, batch_size=3, n_process=n_process)
    for one, other in zip(map(nlp, docs), piped, strict=True):
        assert one._.rst_tree.splits == other._.rst_tree.splits
        scores = zip(one._.rst_tree.scores or (), other._.rst_tree.scores or (), strict=True)
        assert all(first == pytest.approx(second, rel=1e-4) for first, second in scores)


def test_docs_with_nothing_to_divide_need_no_engine(english):
    engine = ShoutingTranslator()
    nlp = translating(english, engine)
    docs = [
        Doc(nlp.vocab),
        nlp.make_doc("  \n "),
        doc_from_edus(nlp, ["Llueve."]),
        spanish_doc(nlp),
    ]
    empty, space, single, full = nlp.pipe(docs)
    assert empty._.rst_tree is None and space._.rst_tree is None
    assert len(single._.rst_tree) == 1 and single._.rst_tree.root.span.text == "Llueve."
    assert len(full._.rst_tree) == 3
    assert engine.asked == SPANISH


def test_the_parser_sees_neither_sentences_nor_edus_of_its_own(english_folder):
    parser = spacy.load(english_folder)
    parser.add_pipe("sentencizer", first=True)
    parser.add_pipe("sentence_edus", after="sentencizer", config={"overwrite": True})
    nlp = translating(parser, ShoutingTranslator())
    doc = spanish_doc(nlp)
    plain = nlp(doc.copy())._.rst_tree
    assert [edu.text for edu in plain.edus] == SPANISH
    for token in doc:
        token.is_sent_start = token.text == "salimos"
    component = nlp.get_pipe("translated_rst_parser")
    assert not component.translate([doc])[0].has_annotation("SENT_START")
    assert nlp(doc)._.rst_tree.scores == plain.scores


def test_text_in_the_parsers_language_is_parsed_as_it_is(english):
    engine = ShoutingTranslator()
    nlp = translating(english, engine, lang="en")
    doc = doc_from_edus(nlp, parallel_edus("en"))
    doc.user_data["anything"] = object()  # cannot be serialised, and need not be
    expected = english(doc_from_edus(english, parallel_edus("en")))._.rst_tree
    assert nlp(doc)._.rst_tree.splits == expected.splits
    assert engine.calls == []


def test_a_bad_doc_goes_to_the_error_handler_alone(english):
    nlp = translating(english)
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((docs, error.code)))
    good = [doc_from_edus(nlp, parallel_edus("es")) for _ in range(2)]
    bad = [nlp.make_doc("No hay unidades."), doc_from_edus(nlp, ["No está", "en la tabla."])]
    assert list(nlp.pipe([good[0], *bad, good[1]])) == good
    assert failed == [([bad[0]], "R020"), ([bad[1]], "R608")]
    assert all(len(doc._.rst_tree) == 10 for doc in good)


def test_an_engine_that_is_not_there_is_asked_once_for_a_batch(english):
    nlp = translating(english, ApertiumTranslator("no-such-program"))
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((docs, error.code)))
    docs = [spanish_doc(nlp) for _ in range(3)]
    assert list(nlp.pipe(docs)) == [] and failed == [(docs, "R601")]


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_saved_pipeline_needs_no_other_folder(english_folder, tmp_path, as_bytes):
    parser_folder = shutil.copytree(english_folder, tmp_path / "parser")
    nlp = spacy.blank("es")
    config = {"engine": TABLE_BLOCK, "parser": str(parser_folder)}
    nlp.add_pipe("translated_rst_parser", config=config)
    if as_bytes:
        saved = nlp.to_bytes()
        shutil.rmtree(parser_folder)
        loaded = load_model_from_config(nlp.config).from_bytes(saved)
    else:
        nlp.to_disk(tmp_path / "saved")
        shutil.rmtree(parser_folder)
        loaded = spacy.load(tmp_path / "saved")
    trees = [pipe(doc_from_edus(pipe, parallel_edus("es")))._.rst_tree for pipe in (nlp, loaded)]
    assert trees[0].splits == trees[1].splits and trees[0].scores == trees[1].scores


def test_a_bundled_parser_is_saved_like_any_other(tmp_path):
    TranslatedRstParser(parser="xx_rst_sm").to_disk(tmp_path)
    assert (tmp_path / "pipeline" / "rst_parser").is_dir()


def test_the_parser_is_loaded_when_it_is_needed(english_folder, tmp_path):
    nlp = spacy.blank("es")
    component = nlp.add_pipe("translated_rst_parser", config={"parser": str(tmp_path / "later")})
    component.engine = ShoutingTranslator()
    for use in (nlp.initialize, lambda: component(spanish_doc(nlp))):
        with pytest.raises(RstError, match="R091"):
            use()
    shutil.copytree(english_folder, tmp_path / "later")
    assert len(component(spanish_doc(nlp))._.rst_tree) == 3


def test_a_missing_engine_or_parser_is_reported(english):
    doc = spanish_doc(spacy.blank("es"))
    for engine, parser, part in ((None, english, "engine"), (ShoutingTranslator(), None, "parser")):
        with pytest.raises(RstError, match=f"R630.*has no {part}"):
            TranslatedRstParser(engine, parser)(doc)


def test_pipelines_that_cannot_parse_are_reported(english_folder):
    disabled = spacy.load(english_folder, disable=["rst_parser"])
    for parser, pipes in ((spacy.blank("en"), "none"), (disabled, "tok2vec")):
        with pytest.raises(RstError, match=f"R554.*its components: {pipes}"):
            translating(parser, ShoutingTranslator())
    nlp = translating(own_encoder_pipeline(), ShoutingTranslator())
    with pytest.raises(ValueError, match="E109"):  # not trained
        nlp(spanish_doc(nlp))


def test_is_scored_like_a_parser(english):
    nlp = translating(english, lang="xx")
    gold = [doc for doc in sample_docs(nlp) if doc.user_data["rst_name"] == PARALLEL]
    scores = nlp.evaluate(examples_from(nlp, gold))
    assert scores["rst_full"] == 1.0 and set(scores["rst_per_lang"]) == set(LANGUAGES)


def test_the_config_is_assembled_around_a_parser(english_folder, monkeypatch):
    monkeypatch.chdir(ROOT)
    override = {"components.translated_rst_parser.parser": str(english_folder)}
    config = load_config(ROOT / "scripts" / "translated.cfg", overrides=override)
    nlp = load_model_from_config(config, auto_fill=True)
    nlp.initialize()
    doc = doc_from_edus(nlp, parallel_edus("nl"))
    doc.user_data["rst_lang"] = "nl"
    assert nlp(doc)._.rst_tree.splits == sample_tree(SAMPLE / "en" / f"{PARALLEL}.rs3").splits
