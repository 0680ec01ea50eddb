"""What parser, segmenter and syntax share: their model's settings, and how they treat Docs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam, ConfigValidationError

import spacy_rst
from spacy_rst.doc import doc_from_edus, set_edus
from spacy_rst.encoder.listener import SYNTAX_VECTORS
from spacy_rst.errors import RstError
from spacy_rst.head import word_range
from spacy_rst.parser.model import build_rst_parser
from spacy_rst.segmenter.model import build_edu_segmenter
from spacy_rst.syntax.model import build_syntax
from spacy_rst.treebank.corpus import make_example
from tests.parser.pipelines import own_encoder_pipeline
from tests.sample import examples_from, sample_docs
from tests.segmenter.pipelines import segmenter_pipeline

NAMES = {"rst_parser": own_encoder_pipeline, "edu_segmenter": segmenter_pipeline}
by_component = pytest.mark.parametrize("name", NAMES)


def make_pipeline(name, **settings):
    """An untrained pipeline of one component, and two examples."""
    nlp = NAMES[name](**settings)
    return nlp, examples_from(nlp, sample_docs(nlp, ["eu"])[:2])


def initialized(name, **settings):
    nlp, examples = make_pipeline(name, **settings)
    nlp.initialize(lambda: examples)
    return nlp, examples


@pytest.mark.parametrize(
    "name, build",
    [
        ("rst_parser", build_rst_parser),
        ("edu_segmenter", build_edu_segmenter),
        ("syntax", build_syntax),
    ],
)
def test_the_default_config_has_all_settings_of_the_model(name, build):
    defaults = dict(spacy.blank("xx").get_factory_meta(name).default_config["model"])
    del defaults["@architectures"]
    expected = {key: option.default for key, option in inspect.signature(build).parameters.items()}
    assert set(defaults) == set(expected)
    required = {key for key, value in expected.items() if value is inspect.Parameter.empty}
    assert {key: defaults[key] for key in expected if key not in required} == {
        key: value for key, value in expected.items() if key not in required
    }
    assert all("@architectures" in defaults[key] for key in required)


@by_component
@pytest.mark.parametrize("setting", [{"loss_per": "split"}, {"hidden_width": "wide"}])
def test_wrong_settings_are_refused(name, setting):
    with pytest.raises(ConfigValidationError):
        make_pipeline(name, **setting)
    with pytest.raises(ConfigValidationError):
        spacy.blank("xx").add_pipe(name, config={"max_batch_tokens": "many"})


@by_component
@pytest.mark.parametrize("saved, own, expected", [(None, 0.3, 0.3), (0.3, None, 0.2), (0.3, 0, 0)])
def test_the_configs_dropout_counts_and_otherwise_that_of_update(name, saved, own, expected):
    trained, examples = initialized(name, dropout=saved)
    trained.update(examples, drop=0.4)
    nlp, _ = make_pipeline(name, dropout=own)
    nlp.from_bytes(trained.to_bytes())
    nlp.update(examples, drop=0.2)
    net = nlp.get_pipe(name).model.shims[0].net
    assert net.dropout.p == expected and net.training
    for example in examples:
        if name == "edu_segmenter":
            del example.predicted.spans["edus"]
    list(nlp.pipe([example.predicted for example in examples]))
    assert not net.training


@by_component
def test_a_dropout_rate_of_1_is_refused(name):
    nlp, examples = initialized(name, dropout=1.0)
    with pytest.raises(RstError, match=r"R300.*dropout"):
        nlp.update(examples)


@by_component
def test_the_loss_is_a_mean_over_documents_or_edus_as_the_config_says(name):
    per_document, examples = initialized(name, dropout=0.0)
    per_edu, _ = make_pipeline(name, dropout=0.0, loss_per="edu")
    per_edu.from_bytes(per_document.to_bytes())
    losses = [nlp.update(examples, sgd=False)[name] for nlp in (per_document, per_edu)]
    n_edus = sum(len(example.reference.spans["edus"]) for example in examples)
    assert losses[0] * len(examples) == pytest.approx(losses[1] * n_edus, rel=1e-4)


@by_component
def test_gradients_reach_the_encoder(name):
    nlp, examples = initialized(name)
    encoder = nlp.get_pipe(name).model.get_ref("tok2vec")
    before = encoder.to_bytes()
    nlp.update(examples, sgd=Adam(0.01, L2=0.0))  # a penalty would move the weights by itself
    assert encoder.to_bytes() != before


@by_component
def test_a_listener_without_its_encoder_is_refused(name):
    pytest.importorskip("spacy_transformers")
    nlp = spacy.blank("xx")
    nlp.add_pipe(name)
    examples = examples_from(nlp, sample_docs(nlp, ["eu"])[:1])
    with pytest.raises(RstError, match="R405"):
        nlp.initialize(lambda: examples)


@by_component
def test_an_untrained_component_says_so_and_can_be_saved(name, tmp_path):
    nlp, examples = make_pipeline(name)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        docs = [pipeline.make_doc(example.reference.text) for example in examples]
        for doc in docs:
            doc.spans.pop("edus", None)
            if name == "rst_parser":
                set_edus(doc, [doc[:]])
        with pytest.raises(ValueError, match="E109"):
            pipeline(docs[0])
        with pytest.raises(ValueError, match="E109"):
            list(pipeline.pipe(docs))


@by_component
def test_one_bad_doc_goes_to_the_error_handler_alone(name):
    nlp, examples = initialized(name)
    good = [example.predicted.copy() for example in examples]
    bad = nlp.make_doc("Nobody understands this.")
    bad.spans["layout"] = [bad[1:2]]  # does not cover the text
    if name == "rst_parser":
        bad.spans["edus"] = [bad[1:2]]
    handled = []
    nlp.set_error_handler(lambda name, proc, docs, error: handled.append((name, docs, error)))
    found = list(nlp.pipe([good[0], bad, good[1]], batch_size=10))
    assert found == good
    ((failed, docs, error),) = handled
    assert failed == name and docs == [bad] and isinstance(error, RstError)


# White space at the ends of a text


@pytest.mark.parametrize(
    "words, expected",
    [
        ([], (0, 0)),
        (["\n", " "], (0, 0)),
        (["a"], (0, 1)),
        (["\n", "a", " ", "b", "\n\n", " "], (1, 4)),
    ],
)
def test_the_words_of_a_text_lie_between_the_white_space_at_its_ends(words, expected):
    nlp = spacy.blank("xx")
    assert word_range(Doc(nlp.vocab, words=words, spaces=[False] * len(words))) == expected


def embed_words(doc):
    """The vectors of an encoder that knows words alone."""
    rows = [np.random.default_rng(token.lower % 1000).normal(size=16) for token in doc]
    return np.stack(rows).astype("f")


@pytest.fixture(scope="module")
def over_given_vectors():
    """Segmenter, syntax and parser over the vectors that lie in `doc.tensor`."""
    nlp = spacy.blank("xx")
    given = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "tok2vec"}
    own = {"@architectures": "spacy_rst.SyntaxListener.v1", "width": 24}
    tok2vec = {"@architectures": "spacy.HashEmbedCNN.v2", "width": 16, "depth": 1,
               "embed_size": 50, "window_size": 1, "maxout_pieces": 2, "subword_features": False,
               "pretrained_vectors": None}  # fmt: skip
    nlp.add_pipe("tok2vec", config={"model": tok2vec})
    sizes = {"width": 24, "hidden_width": 16}
    nlp.add_pipe("syntax", config={"model": {"tok2vec": given, **sizes}, "annotate": True})
    segmenter = {"tok2vec": own, "hidden_width": 16}
    nlp.add_pipe("edu_segmenter", config={"model": segmenter, "threshold": 0.15})
    parser = {"tok2vec": own, "hidden_width": 16, "classifier_width": 8, "text_features": True}
    nlp.add_pipe("rst_parser", config={"model": parser})
    gold = doc_from_edus(nlp, ["It rained,", "so we stayed."])
    gold._.rst_tree = spacy_rst.RstTree.from_splits([(0, 1, 2, "Cause-SN")])
    for token in gold:
        token.head, token.dep_, token.pos_ = gold[0], "dep" if token.i else "ROOT", "X"
    nlp.initialize(lambda: [make_example(nlp, gold)])
    nlp.disable_pipe("tok2vec")
    return nlp


TEXT = "It rained, so we stayed. Nobody came.\n\nThe streets were empty, as they always are."


@pytest.mark.parametrize(
    "before, after", [("", "\n"), ("\n", ""), ("\n\n", "\n\n"), ("  ", " \n ")]
)
def test_white_space_around_a_text_changes_nothing(over_given_vectors, before, after):
    nlp = over_given_vectors
    docs = []
    for text in (TEXT, before + TEXT + after):
        doc = nlp.make_doc(text)
        doc.tensor = embed_words(doc)
        docs.append(nlp(doc))
    plain, padded = docs
    assert len(plain.spans["edus"]) > 2
    shift = len(before)
    places = [[edu.start_char, edu.end_char] for edu in plain.spans["edus"]]
    found = [[edu.start_char - shift, edu.end_char - shift] for edu in padded.spans["edus"]]
    assert found == places
    assert padded._.rst_tree.splits == plain._.rst_tree.splits
    np.testing.assert_allclose(padded._.rst_tree.scores, plain._.rst_tree.scores, rtol=1e-5)
    start, end = word_range(padded)
    own, other = padded[start:end], plain[:]
    assert [(t.dep_, t.head.i - start) for t in own] == [(t.dep_, t.head.i) for t in other]
    np.testing.assert_allclose(SYNTAX_VECTORS[padded][start:end], SYNTAX_VECTORS[plain], atol=1e-5)
    assert not np.delete(SYNTAX_VECTORS[padded], np.s_[start:end], axis=0).any()
    own, other = nlp.get_pipe("edu_segmenter").predict_probs([padded, plain])
    np.testing.assert_allclose(own[start:end], other, atol=1e-5)
    assert not any(own[:start]) and not any(own[end:])


def test_training_goes_through_white_space_around_texts(over_given_vectors):
    nlp = over_given_vectors
    doc = nlp.make_doc(f"\n\n{TEXT}\n")
    doc.tensor = embed_words(doc)
    start, end = word_range(doc)
    gold = doc.copy()
    set_edus(gold, [gold[start : start + 3], gold[start + 3 : end - 5], gold[end - 5 : end]])
    splits = [(0, 1, 3, "Cause-SN"), (1, 2, 3, "Cause-SN")]
    gold._.rst_tree = spacy_rst.RstTree.from_splits(splits)
    example, frozen = Example(doc, gold), ["tok2vec", "syntax"]
    losses = nlp.update([example], sgd=False, exclude=frozen, annotates=["syntax"])
    assert losses["edu_segmenter"] > 0 and losses["rst_split"] > 0


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_a_text_without_words_has_no_tree(over_given_vectors, text):
    nlp = over_given_vectors
    doc = nlp.make_doc(text)
    doc.tensor = np.zeros((len(doc), 16), dtype="f")
    assert nlp(doc)._.rst_tree is None


def test_edus_in_the_white_space_at_the_ends_of_a_text_break_nothing(over_given_vectors):
    nlp = over_given_vectors
    doc = nlp.make_doc("\n\nIt rained. We stayed.\n")
    doc.tensor = embed_words(doc)
    middle = len(doc) // 2
    doc.spans["edus"] = [doc[:1], doc[1:middle], doc[middle : len(doc) - 1], doc[len(doc) - 1 :]]
    assert len(nlp(doc)._.rst_tree) == 4


# The bundled pipeline


@pytest.fixture(scope="module")
def bundled():
    return spacy_rst.load()


def short_texts(nlp):
    """Thirty texts of one to three EDUs, in the languages of the sample treebank."""
    docs = sample_docs(nlp)
    edus = [doc.spans["edus"] for doc in docs]
    texts = [
        doc[group[first].start : group[min(first + n, len(group) - 1)].end].text
        for n in range(3)
        for first in (0, 2, 4)
        for doc, group in zip(docs, edus, strict=True)
        if len(group) > first
    ]
    assert len(texts) >= 30
    return texts[:: len(texts) // 30][:30]


def tree_of(doc):
    start = doc[word_range(doc)[0] :].start_char
    places = [(edu.start_char - start, edu.end_char - start) for edu in doc.spans["edus"]]
    return places, doc._.rst_tree.splits


@pytest.mark.xfail(reason="until the piece encoder does not read white space at the ends of a text")
@pytest.mark.parametrize("before, after", [("", "\n"), ("\n", ""), ("\n\n", "\n\n")])
def test_white_space_around_short_texts_leaves_the_bundled_pipelines_trees(bundled, before, after):
    texts = short_texts(bundled)
    plain = [tree_of(doc) for doc in bundled.pipe(texts)]
    padded = [tree_of(doc) for doc in bundled.pipe(before + text + after for text in texts)]
    assert padded == plain


@pytest.mark.parametrize("listened_to, listener", [("syntax", "rst_parser"), ("tok2vec", "syntax")])
def test_listeners_of_the_bundled_pipeline_can_be_replaced(bundled, listened_to, listener):
    texts = short_texts(bundled)[:5]
    nlp = spacy_rst.load()
    nlp.replace_listeners(listened_to, listener, ["model.tok2vec"])
    assert [tree_of(nlp(text)) for text in texts] == [tree_of(bundled(text)) for text in texts]
