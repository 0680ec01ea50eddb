from __future__ import annotations

import warnings

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from spacy_rst.doc import doc_from_edus, get_edus, set_edus
from spacy_rst.errors import RstError
from tests.sample import sample_docs
from tests.segmenter.pipelines import (
    sample_examples,
    segmenter_config,
    segmenter_pipeline,
    train,
)
from tests.strategies import words

TEXTS = [
    "When the ferry came, nobody waited, because it was late.\n\nThe next one was full.",
    "",
    "Yes.",
    "We went home although it rained. " * 40,
]


@pytest.fixture(scope="module")
def nlp():
    """A pipeline that knows the sample documents in two languages by heart. Do not change it."""
    nlp = segmenter_pipeline()
    train(nlp, sample_examples(nlp))
    return nlp


@pytest.fixture
def fresh():
    """An untrained pipeline."""
    return segmenter_pipeline()


@pytest.fixture
def changeable(nlp):
    """A copy of the trained pipeline."""
    copy = segmenter_pipeline()
    return copy.from_bytes(nlp.to_bytes())


def edu_texts(doc):
    return [edu.text for edu in doc.spans["edus"]]


def segmenter_of(nlp):
    return nlp.get_pipe("edu_segmenter")


def set_cut_sentences(doc):
    """Begin a sentence at every third token."""
    for token in doc:
        token.is_sent_start = token.i % 3 == 0


def test_learns_its_training_data_by_heart(nlp):
    scores = nlp.evaluate(sample_examples(nlp))
    assert scores["edu_p"] == scores["edu_r"] == scores["edu_f"] == scores["edu_span_f"] == 1.0
    assert set(scores["edu_per_lang"]) == {"en", "eu"}


def test_reloads_equal_from_disk_and_bytes(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    from_disk = spacy.load(tmp_path)
    from_bytes = segmenter_pipeline().from_bytes(nlp.to_bytes())
    for loaded in (from_disk, from_bytes):
        docs = list(loaded.pipe(TEXTS))
        for doc, expected in zip(docs, nlp.pipe(TEXTS), strict=True):
            assert edu_texts(doc) == edu_texts(expected)
        wanted = segmenter_of(nlp).predict_probs(docs)
        found = segmenter_of(loaded).predict_probs(docs)
        for own, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(own, other)


def test_neither_probabilities_nor_edus_depend_on_the_batch(nlp):
    docs = [nlp.make_doc(text) for text in TEXTS]
    for doc, probs in zip(docs, segmenter_of(nlp).predict_probs(docs), strict=True):
        assert probs.shape == (len(doc),)
        assert ((probs >= 0) & (probs <= 1)).all()
        (alone,) = segmenter_of(nlp).predict_probs([doc])
        np.testing.assert_allclose(probs, alone, atol=1e-6)
    one_by_one = [edu_texts(nlp(text)) for text in TEXTS]
    for batch_size in (1, 2, 10):
        assert [edu_texts(doc) for doc in nlp.pipe(TEXTS, batch_size=batch_size)] == one_by_one


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(max_size=80)
    | st.lists(words() | st.sampled_from(["\n", "\n\n", "  ", "\r\n\r\n", ","]), max_size=30).map(
        " ".join
    ),
    threshold=st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]),
    sentences=st.booleans(),
)
def test_the_edus_of_any_text_are_a_partition(changeable, text, threshold, sentences):
    segmenter_of(changeable).threshold = threshold
    doc = changeable.make_doc(text)
    if sentences:
        set_cut_sentences(doc)
    doc = changeable(doc)
    edus = get_edus(doc)  # refuses what is not a partition of the tokens but white space
    assert all(not edu[0].is_space and not edu[-1].is_space for edu in edus)


def test_a_lower_threshold_gives_more_edus(changeable):
    segmenter = segmenter_of(changeable)
    text = " ".join(doc.text for doc in sample_docs(changeable, ["de"]))
    counts = []
    for threshold in (0.0, 0.01, 0.1, 0.5):
        segmenter.threshold = threshold
        counts.append(len(changeable(text).spans["edus"]))
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == len(counts)


def test_a_threshold_that_was_set_is_saved_and_the_config_decides_otherwise(nlp, tmp_path):
    nlp.to_disk(tmp_path / "as trained")
    override = {"components": {"edu_segmenter": {"threshold": 0.25}}}
    loaded = spacy.load(tmp_path / "as trained", config=override)
    assert segmenter_of(loaded).threshold == 0.25
    segmenter_of(loaded).threshold = 0.75
    loaded.to_disk(tmp_path / "changed")
    assert segmenter_of(spacy.load(tmp_path / "changed")).threshold == 0.75


@pytest.mark.parametrize("threshold", [-0.1, 1.5])
def test_refuses_a_threshold_that_is_no_probability(fresh, threshold):
    with pytest.raises(RstError, match="R300"):
        segmenter_of(fresh).threshold = threshold
    with pytest.raises(RstError, match="R300"):
        segmenter_of(fresh).threshold = float("nan")
    with pytest.raises(RstError, match=r"R300.*threshold"):
        segmenter_pipeline({"threshold": threshold})


def test_paragraphs_and_sentences_are_hard_boundaries(changeable):
    segmenter = segmenter_of(changeable)
    segmenter.threshold = 1.0
    doc = changeable.make_doc("one two three four\n\nfive six seven")
    set_cut_sentences(doc)
    assert edu_texts(changeable(doc)) == ["one two three", "four", "five", "six seven"]
    segmenter.use_sentences, segmenter.overwrite = False, True
    assert edu_texts(changeable(doc)) == ["one two three four", "five six seven"]


def test_keeps_edus_that_are_there_unless_told_otherwise(changeable):
    own = ["Nobody", "waited for the ferry because", "it was late."]
    doc = changeable(doc_from_edus(changeable, own))
    assert edu_texts(doc) == own
    # In a stream with others, too.
    other, kept = changeable.pipe([TEXTS[0], doc_from_edus(changeable, own)], as_tuples=False)
    assert edu_texts(kept) == own
    assert edu_texts(other) == edu_texts(changeable(TEXTS[0]))
    segmenter_of(changeable).overwrite = True
    assert edu_texts(changeable(doc)) == edu_texts(changeable(doc.text)) != own


@pytest.mark.parametrize("text", ["", "No EDUs here."])
def test_documents_without_gold_edus_teach_nothing_but_stay_in_the_batch(fresh, text):
    examples = sample_examples(fresh, ["en"])
    untold = Example(fresh.make_doc(text), fresh.make_doc(text))
    fresh.initialize(lambda: [*examples, untold])
    segmenter = segmenter_of(fresh)
    assert segmenter.update([untold], sgd=Adam(0.1))["edu_segmenter"] == 0.0
    scores, _ = segmenter.model.begin_update([untold.predicted, examples[0].predicted])
    loss, d_scores = segmenter.get_loss([untold, examples[0]], scores)
    assert loss > 0 and not d_scores[0].any() and d_scores[1].any()
    assert fresh.update([untold, *examples])["edu_segmenter"] > 0.0


def test_the_loss_is_recorded_under_the_components_name():
    nlp = spacy.blank("xx")
    nlp.add_pipe("edu_segmenter", name="units", config=segmenter_config())
    examples = sample_examples(nlp, ["en"])
    optimizer = nlp.initialize(lambda: examples)
    losses = {"units": 1.0, "other": 2.0}
    nlp.update(examples, sgd=optimizer, losses=losses)
    assert losses["units"] > 1.0
    assert losses["other"] == 2.0


@pytest.mark.parametrize("loss_per, divisor", [("document", 2), ("edu", 5)])
def test_the_loss_is_a_mean_over_documents_or_edus(loss_per, divisor):
    nlp = segmenter_pipeline(loss_per=loss_per)
    nlp.initialize()
    golds = [doc_from_edus(nlp, ["a b", "c"]), doc_from_edus(nlp, ["d", "e", "f g"], [2])]
    plain = nlp.make_doc("not segmented")
    examples = [Example(gold.copy(), gold) for gold in [*golds, plain]]
    log_odds = [
        np.array([2.0, -1.0, 0.5], dtype="f"),
        np.array([0.0, 1.0, 3.0, -2.0, 0.3], dtype="f"),
        np.array([1.0, 1.0], dtype="f"),
    ]
    starts = [[1, 0, 1], [1, 1, None, 1, 0]]
    loss, gradients = segmenter_of(nlp).get_loss(examples, log_odds)
    expected = 0.0
    assert not gradients[2].any()  # a document without gold EDUs does not count
    for scores, gold, gradient in zip(log_odds, starts, gradients, strict=False):
        for score, start, slope in zip(scores.tolist(), gold, gradient.tolist(), strict=True):
            if start is None:  # the blank line
                assert slope == 0
                continue
            probability = 1 / (1 + np.exp(-score))
            expected -= np.log(probability if start else 1 - probability)
            assert slope == pytest.approx((probability - start) / divisor, rel=1e-5)
    assert loss == pytest.approx(expected / divisor, rel=1e-5)


def test_gold_edus_inside_tokens_are_counted_in_one_warning(fresh):
    reference = Doc(fresh.vocab, words=list("我来，他去。"), spaces=[False] * 6)
    set_edus(reference, [reference[:3], reference[3:]])
    predicted = Doc(fresh.vocab, words=["我来", "，他", "去。"], spaces=[False] * 3)
    examples = [Example(predicted.copy(), reference) for _ in range(3)]
    with pytest.warns(UserWarning, match=r"R407\] 3 of the 6 gold EDUs") as record:
        fresh.initialize(lambda: examples)
    assert len([w for w in record if "R407" in str(w.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        segmenter_of(fresh).initialize(lambda: [Example(reference.copy(), reference)])


def test_refuses_data_without_any_edus(fresh):
    examples = [Example(fresh.make_doc("one two"), fresh.make_doc("one two")) for _ in range(2)]
    with pytest.raises(RstError, match="R200"):
        fresh.initialize(lambda: examples)


def test_a_tree_over_other_edus_is_taken_off(changeable):
    (doc, *_) = sample_docs(changeable, ["en"])
    assert changeable(doc)._.rst_tree is not None
    segmenter_of(changeable).overwrite = True
    segmenter_of(changeable).threshold = 0.0
    assert changeable(doc)._.rst_tree is None


def test_sentences_as_edus():
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("sentence_edus")
    doc = nlp(" One here.  Two there.\n\nThree! \n")
    assert edu_texts(doc) == ["One here.", "Two there.", "Three!"]
    get_edus(doc)
    assert edu_texts(nlp(" \n")) == edu_texts(nlp("")) == []
    assert edu_texts(nlp("Yes")) == ["Yes"]
    given_edus = ["One", "here. Two"]
    assert edu_texts(nlp(doc_from_edus(nlp, given_edus))) == given_edus
    nlp.get_pipe("sentence_edus").overwrite = True
    assert edu_texts(nlp(doc_from_edus(nlp, given_edus))) == ["One here.", "Two"]
    examples = [Example(nlp.make_doc("A b. C d."), doc_from_edus(nlp, ["A b.", "C d."]))]
    assert nlp.evaluate(examples)["edu_r"] > 0


def test_sentences_as_edus_need_sentences():
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentence_edus")
    with pytest.raises(RstError, match=r"R409.*sentencizer"):
        nlp("Some text here.")
    assert edu_texts(nlp(" ")) == []
    assert nlp.analyze_pipes()["problems"]["sentence_edus"] == ["doc.sents"]
