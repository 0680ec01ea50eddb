from __future__ import annotations

from collections import Counter

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

from spacy_rst.doc import LANGUAGE_KEY, NAME_KEY, doc_from_edus, get_tree
from spacy_rst.errors import RstError
from spacy_rst.gold import read_gold_starts, read_gold_tree
from spacy_rst.translator.edus import translate_docs
from spacy_rst.treebank.augment import TranslatedCopies
from spacy_rst.treebank.corpus import Corpus, make_example
from tests.sample import sample_docs, write_corpus
from tests.translator.engines import ShoutingTranslator


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("xx")
    nlp.initialize()  # passes count from here on
    return nlp


@pytest.fixture(scope="module")
def folder(nlp, tmp_path_factory):
    """A file per language, one of them in a folder below."""
    path = tmp_path_factory.mktemp("corpus")
    (path / "below").mkdir()
    write_corpus(path / "en.spacy", sample_docs(nlp, ["en"]))
    write_corpus(path / "below" / "eu.spacy", sample_docs(nlp, ["eu"]))
    (path / "notes.txt").write_text("no corpus")
    return path


def facts(doc):
    return doc.user_data[LANGUAGE_KEY], doc.user_data[NAME_KEY]


def names(examples):
    return [
        (eg.reference.user_data["rst_lang"], eg.reference.user_data["rst_name"]) for eg in examples
    ]


def read(path, nlp, **settings):
    return list(Corpus(path, **settings)(nlp))


def test_is_registered_and_takes_all_settings_of_a_config(folder, nlp):
    reader = registry.resolve(
        {"corpus": {"@readers": "spacy_rst.Corpus.v1", "path": str(folder), "languages": ["eu"],
                    "sampling_weights": {"eu": 2}, "limit": 1}}
    )["corpus"]  # fmt: skip
    assert names(reader(nlp)) == [("eu", "erleak_eta_koloreak")] * 2


def test_reads_a_file_or_a_folder(folder, nlp):
    assert len(read(folder / "en.spacy", nlp)) == 4
    assert Counter(lang for lang, _ in names(read(folder, nlp))) == {"en": 4, "eu": 4}


def test_predicted_docs_have_gold_tokens_and_edus_and_no_tree(folder, nlp):
    for example in read(folder, nlp):
        predicted, gold = example.predicted, example.reference
        assert [t.text_with_ws for t in predicted] == [t.text_with_ws for t in gold]
        assert [(e.start, e.end) for e in predicted.spans["edus"]] == [
            (e.start, e.end) for e in gold.spans["edus"]
        ]
        assert get_tree(predicted) is None and get_tree(gold) is not None
        kept = ("rst_lang", "rst_treebank")
        assert predicted.user_data == {key: gold.user_data[key] for key in kept}


def test_leaves_edus_out_on_request(folder, nlp):
    assert all("edus" not in eg.predicted.spans for eg in read(folder, nlp, gold_edus=False))


def test_keeps_sentence_starts_on_request(nlp):
    gold = doc_from_edus(nlp, ["One two .", "Three ."])
    gold[3].is_sent_start = True
    plain = make_example(nlp, gold).predicted
    assert not plain.has_annotation("SENT_START")
    kept = make_example(nlp, gold, gold_sentences=True).predicted
    assert [token.is_sent_start for token in kept][3] is True
    without = doc_from_edus(nlp, ["One ."])
    example = make_example(nlp, without, gold_sentences=True)
    assert not example.predicted.has_annotation("SENT_START")


def test_filters_by_language_treebank_and_size(folder, nlp):
    assert {lang for lang, _ in names(read(folder, nlp, languages=["eu"]))} == {"eu"}
    assert {lang for lang, _ in names(read(folder, nlp, languages="eu, en"))} == {"eu", "en"}
    assert {lang for lang, _ in names(read(folder, nlp, treebanks=["sample.en"]))} == {"en"}
    sizes = [len(eg.reference.spans["edus"]) for eg in read(folder, nlp, min_edus=16, max_edus=20)]
    assert sizes and all(16 <= size <= 20 for size in sizes)
    assert len(read(folder, nlp, limit=3)) == 3


def test_edus_without_a_tree_teach_a_segmenter_and_no_parser(nlp, tmp_path):
    doc = doc_from_edus(nlp, ["It rained,", "so we stayed."])
    (example,) = read(write_corpus(tmp_path / "x.spacy", [doc]), nlp, min_edus=2)
    assert read_gold_tree(example) is None
    gold = read_gold_starts(example)
    assert gold is not None and gold.starts.nonzero()[0].tolist() == [0, 3]


def test_skips_blanked_and_empty_documents(nlp, tmp_path):
    docs = sample_docs(nlp, ["en"])[:2]
    docs[0].user_data["rst_blanked"] = True
    path = write_corpus(tmp_path / "some.spacy", [*docs, Doc(nlp.vocab)])
    assert names(read(path, nlp)) == [("en", docs[1].user_data["rst_name"])]


def test_whole_weights_are_copies(folder, nlp):
    found = Counter(names(read(folder, nlp, sampling_weights={"eu": 3.0, "en": 0})))
    assert len(found) == 4 and set(found.values()) == {3}


def test_a_treebank_weight_comes_before_its_languages(folder, nlp):
    weights = {"eu": 0.0, "sample.eu": 1.0}
    assert len(read(folder, nlp, sampling_weights=weights)) == 8


def test_parts_of_weights_are_chances(folder, nlp):
    corpus = Corpus(folder, sampling_weights={"eu": 1.5}, resample=True)
    totals = [Counter(lang for lang, _ in names(corpus(nlp)))["eu"] for _ in range(60)]
    assert all(4 <= total <= 8 for total in totals)
    assert 5.5 < sum(totals) / len(totals) < 6.5
    assert len(set(totals)) > 1


def test_draws_are_repeatable_and_new_only_on_request(folder, nlp):
    weights = {"eu": 0.5, "en": 0.5}

    def passes(**settings):
        corpus = Corpus(folder, sampling_weights=weights, **settings)
        return [names(corpus(nlp)) for _ in range(4)]

    kept, anew = passes(seed=1), passes(seed=1, resample=True)
    assert all(one == kept[0] for one in kept) and kept == passes(seed=1)
    assert any(one != anew[0] for one in anew) and anew == passes(seed=1, resample=True)
    assert passes(seed=2, resample=True) != anew


def test_shuffles_anew_in_each_pass_on_request(folder, nlp):
    corpus = Corpus(folder, shuffle=True, seed=3)
    first, second = names(corpus(nlp)), names(corpus(nlp))
    assert first != second and sorted(first) == sorted(second)
    assert names(Corpus(folder, shuffle=True, seed=3)(nlp)) == first


@Language.factory("tests_reads_all_examples")
class ReadsAllExamples:
    """Goes through the examples twice when it is initialized, as one that collects labels does."""

    def __init__(self, nlp, name):
        self.name = name

    def __call__(self, doc):
        return doc

    def initialize(self, get_examples, *, nlp=None):
        list(get_examples()), list(get_examples())


def test_the_passes_of_the_initialization_do_not_count(folder):
    def first_passes(n_components):
        nlp = spacy.blank("xx")
        for number in range(n_components):
            nlp.add_pipe("tests_reads_all_examples", name=f"reads{number}")
        corpus = Corpus(folder, sampling_weights={"eu": 0.5}, resample=True, shuffle=True)
        nlp.initialize(lambda: corpus(nlp))
        return [names(corpus(nlp)) for _ in range(3)]

    passes = first_passes(0)
    assert passes[0] != passes[1]
    assert first_passes(1) == first_passes(2) == passes


@pytest.mark.parametrize(
    "path, code",
    [(None, "R220"), ("nowhere.spacy", "R221"), ("empty", "R222"), ("bad.spacy", "R501")],
)
def test_refuses_what_cannot_be_read(tmp_path, nlp, path, code):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.spacy").write_bytes(b"this is no DocBin")
    with pytest.raises(RstError) as caught:
        read(path and tmp_path / path, nlp)
    assert caught.value.code == code


def test_refuses_filters_that_leave_nothing(folder, nlp):
    with pytest.raises(RstError, match=r"R223.*\['fi'\].*en, eu.*sample.en, sample.eu"):
        read(folder, nlp, languages=["fi"])


def test_refuses_negative_weights(folder):
    with pytest.raises(RstError, match="R224"):
        Corpus(folder, sampling_weights={"eu": -1.0})


# Translated copies


@pytest.fixture(scope="module")
def translated(nlp, tmp_path_factory):
    """All of the sample in English: the English documents are as they were."""
    path = tmp_path_factory.mktemp("translated")
    docs = translate_docs(sample_docs(nlp, ["en", "eu", "de"]), ShoutingTranslator(), target="en")
    return write_corpus(path / "all.spacy", docs)


@pytest.fixture(scope="module")
def held_out(nlp, tmp_path_factory):
    """The development documents of the sample."""
    docs = sample_docs(nlp, ["en", "eu", "de"])
    dev = [doc for doc in docs if doc.user_data["rst_name"] in DEV]
    return write_corpus(tmp_path_factory.mktemp("held_out") / "dev.spacy", dev)


DEV = ("harbour_ferry", "sagar_konpota", "kraeuterkasten")


def read_copies(folder, nlp, translated, held_out, *, warns=True, **settings):
    augment = TranslatedCopies(translated, held_out, **settings)
    corpus = Corpus(folder / "en.spacy", augment=augment)
    if not warns:
        return list(corpus(nlp))
    with pytest.warns(UserWarning, match="R642"):
        return list(corpus(nlp))


def test_translated_copies_follow_the_other_documents(folder, nlp, translated, held_out):
    plain = read(folder / "en.spacy", nlp)
    augmented = read_copies(folder, nlp, translated, held_out)
    assert names(augmented[: len(plain)]) == names(plain)
    copies = augmented[len(plain) :]
    # 4 documents each, one of them held out. What was English before is no translation.
    assert Counter(eg.reference.user_data["rst_treebank"] for eg in copies) == {
        "sample.eu": 3,
        "sample.de": 3,
    }
    for example in copies:
        assert example.predicted.text.isupper()
        assert len(get_tree(example.reference)) == len(example.predicted.spans["edus"])
        assert example.predicted.user_data["rst_lang"] == "en"


def test_translations_of_held_out_documents_are_not_read(folder, nlp, translated, held_out):
    found = {name for _, name in names(read_copies(folder, nlp, translated, held_out))}
    assert "mauersegler" in found and not found & {"sagar_konpota", "kraeuterkasten"}


@pytest.mark.parametrize("own, other", [("byron_RU", "byron"), ("byron", "byron_RU")])
def test_parallel_treebanks_share_names_but_for_the_language(nlp, tmp_path, own, other):
    def language(name):
        return "ru" if name.endswith("RU") else "en"

    parallel, unnamed, *others, dev = [*sample_docs(nlp, ["eu"]), *sample_docs(nlp, ["de"])]
    parallel.user_data |= {NAME_KEY: own, LANGUAGE_KEY: language(own)}
    dev.user_data |= {NAME_KEY: other, LANGUAGE_KEY: language(other)}
    unnamed.user_data.pop(NAME_KEY)  # cannot be told from one that is held out
    docs = translate_docs([parallel, unnamed, *others], ShoutingTranslator(), target="fr")
    copies = write_corpus(tmp_path / "copies.spacy", docs)
    held_out = write_corpus(tmp_path / "dev.spacy", [dev])
    with pytest.warns(UserWarning, match=rf"R642. 2 translated .* '{own}'"):
        found = list(TranslatedCopies(copies, held_out).read(nlp.vocab))
    assert [doc.user_data["rst_name"] for doc in found] == [
        doc.user_data["rst_name"] for doc in others
    ]


def test_copies_are_filtered_by_the_language_they_come_from(folder, nlp, translated, held_out):
    copies = read_copies(folder, nlp, translated, held_out, languages="eu,fi")[4:]
    assert {eg.reference.user_data["rst_treebank"] for eg in copies} == {"sample.eu"}


def test_copies_are_filtered_by_size(folder, nlp, translated, held_out):
    augment = TranslatedCopies(translated, held_out)
    with pytest.warns(UserWarning, match="R642"):
        found = read(folder, nlp, languages=["en"], max_edus=16, augment=augment)
    assert found and all(len(eg.reference.spans["edus"]) <= 16 for eg in found)


def test_a_weight_of_copies_is_drawn_by_the_seed_alone(folder, nlp, translated, held_out):
    def draw(seed, weight):
        augment = TranslatedCopies([str(translated)], str(held_out), weight=weight)
        settings = {"sampling_weights": {"en": 0.5}, "seed": seed, "resample": True}
        corpus = Corpus(folder / "en.spacy", augment=augment, **settings)
        with pytest.warns(UserWarning, match="R642"):
            passes = [corpus(nlp) for _ in range(3)]
            drawn = [[(eg.predicted.text, eg.reference.user_data["rst_treebank"]) for eg in one]
                     for one in passes]  # fmt: skip
        own = [[text for text, treebank in one if treebank == "sample.en"] for one in drawn]
        copies = [[text for text, treebank in one if treebank != "sample.en"] for one in drawn]
        return own, copies

    own, copies = draw(1, 0.5)
    assert (own, copies) == draw(1, 0.5)
    assert copies != draw(2, 0.5)[1]
    assert len(set(map(len, copies))) > 1 or copies[0] != copies[1]
    doubled = draw(1, 2)
    assert doubled[0] == own and [len(texts) for texts in doubled[1]] == [12] * 3
    assert draw(1, 0)[1] == [[]] * 3


def test_copies_can_be_read_from_a_config(folder, nlp, translated, held_out):
    block = {
        "@readers": "spacy_rst.TranslatedCopies.v1",
        "path": str(translated),
        "held_out": f"{held_out},{held_out.parent}",
        "languages": ["de"],
        "weight": 2.0,
    }
    config = {"@readers": "spacy_rst.Corpus.v1", "path": str(folder / "en.spacy")}
    reader = registry.resolve({"corpus": {**config, "augment": block}})["corpus"]
    with pytest.warns(UserWarning, match="R642"):
        assert len(list(reader(nlp))) == 4 + 2 * 3


def test_refuses_copies_that_cannot_be_used(nlp, translated, held_out):
    with pytest.raises(RstError, match="R640"):
        TranslatedCopies(translated, None)
    with pytest.raises(RstError, match="R224"):
        TranslatedCopies(translated, held_out, weight=-1)
    with pytest.raises(RstError, match=r"R641.*\['fi'\]"):
        list(TranslatedCopies(translated, held_out, languages=["fi"]).read(nlp.vocab))
    with pytest.raises(RstError, match="R220"):
        list(TranslatedCopies(None, held_out).read(nlp.vocab))
