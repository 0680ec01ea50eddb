from __future__ import annotations

from collections import Counter

import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import registry

from spacy_rst.doc import doc_from_edus, get_tree, original_language
from spacy_rst.errors import RstError
from spacy_rst.gold import read_gold_starts, read_gold_tree
from spacy_rst.treebank.corpus import Corpus
from tests.sample import sample_docs, write_corpus


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("xx")


@pytest.fixture(scope="module")
def folder(nlp, tmp_path_factory):
    """A file per language, one of them in a folder below."""
    path = tmp_path_factory.mktemp("corpus")
    (path / "below").mkdir()
    write_corpus(path / "en.spacy", sample_docs(nlp, ["en"]))
    write_corpus(path / "below" / "eu.spacy", sample_docs(nlp, ["eu"]))
    (path / "notes.txt").write_text("no corpus")
    return path


def names(examples):
    facts = [example.reference.user_data for example in examples]
    return [(fact["rst_lang"], fact["rst_name"]) for fact in facts]


def read(path, nlp, **settings):
    return list(Corpus(path, **settings)(nlp))


def test_is_registered_and_takes_all_settings_of_a_config(folder, nlp):
    reader = registry.resolve(
        {"corpus": {"@readers": "spacy_rst.Corpus.v1", "path": str(folder), "languages": ["eu"],
                    "sampling_weights": {"eu": 2}, "min_edus": 16}}
    )["corpus"]  # fmt: skip
    found = names(reader(nlp))
    assert found and found[::2] == found[1::2] and {lang for lang, _ in found} == {"eu"}


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


@pytest.mark.parametrize(
    ("filters", "languages"),
    [({"languages": ["eu"]}, {"eu"}), ({"languages": "eu, en"}, {"eu", "en"}),
     ({"treebanks": ["sample.en"]}, {"en"})],
)  # fmt: skip
def test_filters_by_language_and_treebank(folder, nlp, filters, languages):
    assert {lang for lang, _ in names(read(folder, nlp, **filters))} == languages


def test_filters_by_size(folder, nlp):
    sizes = [len(eg.reference.spans["edus"]) for eg in read(folder, nlp, min_edus=16)]
    assert 0 < len(sizes) < 8 and all(size >= 16 for size in sizes)


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


def test_parts_of_weights_are_chances_drawn_by_the_seed(folder, nlp):
    weights = {"eu": 1.5}
    passes = [names(read(folder, nlp, sampling_weights=weights, seed=n)) for n in range(40)]
    totals = [Counter(lang for lang, _ in one)["eu"] for one in passes]
    assert all(4 <= total <= 8 for total in totals) and len(set(totals)) > 1
    assert 5.3 < sum(totals) / len(totals) < 6.7
    corpus = Corpus(folder, sampling_weights=weights, seed=3)
    assert names(corpus(nlp)) == names(corpus(nlp)) == passes[3]


def test_a_treebank_weight_comes_before_its_languages(folder, nlp):
    weights = {"eu": 0.0, "sample.eu": 1.0}
    assert len(read(folder, nlp, sampling_weights=weights)) == 8


@pytest.mark.parametrize(
    "path, code",
    [(None, "R220"), ("nowhere.spacy", "R131"), ("empty", "R132"), ("bad.spacy", "R501")],
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
    with pytest.raises(RstError, match="R300"):
        Corpus(folder, sampling_weights={"eu": -1.0})


def test_a_users_own_keys_are_not_taken_for_ours(tmp_path, nlp):
    (doc, *_) = sample_docs(nlp, ["en"])
    doc.user_data |= {"blanked": "by the editor", "lang": {"en": 1.0}, "translated_from": "es"}
    (example,) = read(write_corpus(tmp_path / "one.spacy", [doc]), nlp)
    assert original_language(example.reference) == "en"
