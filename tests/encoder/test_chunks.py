from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.ml.models.tok2vec import get_tok2vec_width
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_tok2vec
from spacy.util import fix_random_seed, registry
from spacy.vocab import Vocab
from thinc.api import Config, Model

from spacy_rst.encoder import chunks
from spacy_rst.encoder.chunks import ChunkedTok2Vec
from spacy_rst.errors import RstError

CONFIGS = Path(__file__).parents[2] / "spacy_rst" / "configs"
WIDTH, DEPTH, WINDOW = 8, 2, 2
MARGIN = DEPTH * WINDOW
CHUNK = 10
LENGTHS = [1, 9, 10, 11, 13, 14, 15, 19, 20, 21, 24, 25, 37]
ENCODE = {
    "@architectures": "spacy.MaxoutWindowEncoder.v2",
    "width": WIDTH,
    "depth": DEPTH,
    "window_size": WINDOW,
    "maxout_pieces": 2,
}
HASHES = {
    "@architectures": "spacy.MultiHashEmbed.v2",
    "width": WIDTH,
    "attrs": ["NORM", "PREFIX", "SHAPE"],
    "rows": [200, 50, 50],
    "include_static_vectors": False,
}
EMBEDS: dict[str, dict[str, Any]] = {
    "hashes": HASHES,
    "one attribute": {**HASHES, "attrs": ["ORTH"], "rows": [200]},
    "static vectors": {**HASHES, "include_static_vectors": True},
    "characters": {
        "@architectures": "spacy.CharacterEmbed.v2",
        "width": WIDTH,
        "rows": 200,
        "nM": 4,
        "nC": 6,
        "include_static_vectors": True,
    },
}
TOK2VEC = {"@architectures": "spacy.Tok2Vec.v2", "embed": HASHES, "encode": ENCODE}
CHUNKED = {
    "@architectures": "spacy_rst.ChunkedTok2Vec.v1",
    "tok2vec": TOK2VEC,
    "chunk": CHUNK,
    "margin": MARGIN,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH, "upstream": "*"}


@pytest.fixture(scope="module")
def vocab():
    vocab = Vocab()
    vectors = np.random.default_rng(0).normal(size=(60, 5)).astype("f")
    for number, row in enumerate(vectors):
        vocab.set_vector(f"W{number}", row)
    return vocab


def make_doc(vocab: Vocab, length: int, seed: int = 0) -> Doc:
    # Every third number has no vector, and the words differ in length and shape.
    numbers = np.random.default_rng(seed).integers(90, size=length)
    return Doc(vocab, words=[f"W{number}" for number in numbers])


def make_tok2vec(vocab: Vocab, embed: dict[str, Any] = HASHES) -> Model:
    fix_random_seed(0)
    config = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": ENCODE}
    model = registry.resolve({"model": config})["model"]
    model.initialize(X=[make_doc(vocab, 5)])
    for node in model.walk():
        if node.has_param("E"):  # spaCy's character table begins with zeros
            table = np.random.default_rng(0).normal(size=node.get_param("E").shape)
            node.set_param("E", table.astype("f"))
        if node.has_param("b"):  # else a border of zeros stays one through all layers
            node.set_param("b", node.get_param("b") + 0.3)
    return model


def spy_on(tok2vec: Model) -> tuple[Model, list[list[Any]]]:
    """A model that does what another one does, and the inputs of its calls."""
    calls: list[list[Any]] = []

    def forward(model, docs, is_train):
        calls.append(list(docs))
        return tok2vec(docs, is_train)

    return Model("spy", forward, layers=[tok2vec]), calls


def make_pipeline(model: dict[str, Any] = CHUNKED):
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": model})
    tagger = {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER}
    nlp.add_pipe("tagger", config={"model": tagger})
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def make_examples(nlp, lengths=(8, 30)):
    docs = [make_doc(nlp.vocab, length, seed=length) for length in lengths]
    return [
        Example.from_dict(doc, {"tags": ["even" if token.i % 2 == 0 else "odd" for token in doc]})
        for doc in docs
    ]


@pytest.mark.parametrize("embed", EMBEDS)
def test_vectors_are_those_of_the_whole_document(embed, vocab):
    tok2vec = make_tok2vec(vocab, EMBEDS[embed])
    for length in LENGTHS:
        doc = make_doc(vocab, length)
        (expected,) = tok2vec.predict([doc])
        for chunk, margin in [(CHUNK, MARGIN), (CHUNK, MARGIN + 3), (1, MARGIN), (3, MARGIN)]:
            (found,) = ChunkedTok2Vec(tok2vec, chunk, margin).predict([doc])
            assert found.shape == (length, WIDTH)
            assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_margin_that_is_too_small_is_seen_at_the_borders_only(vocab):
    tok2vec, doc = make_tok2vec(vocab), make_doc(vocab, 37)
    (expected,) = tok2vec.predict([doc])
    (found,) = ChunkedTok2Vec(tok2vec, CHUNK, MARGIN - 1).predict([doc])
    is_different = ~np.isclose(found, expected, rtol=1e-4, atol=1e-5).all(axis=1)
    assert set(np.flatnonzero(is_different)) == {12, 13, 22, 23, 32, 33}


def test_batches_with_empty_docs(vocab):
    tok2vec = make_tok2vec(vocab)
    model = ChunkedTok2Vec(tok2vec, CHUNK, MARGIN)
    docs = [make_doc(vocab, length, seed=length) for length in (0, 3, 25, 0, 10, 41, 0)]
    for found, expected in zip(model.predict(docs), tok2vec.predict(docs), strict=True):
        assert found.shape == expected.shape
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert [vectors.shape for vectors in model.predict([docs[0], docs[3]])] == [(0, WIDTH)] * 2


def test_annotations_that_were_set_on_tokens_count(vocab):
    tok2vec = make_tok2vec(vocab)
    plain, changed = make_doc(vocab, 30), make_doc(vocab, 30)
    changed[15].norm_ = "something else"
    model = ChunkedTok2Vec(tok2vec, CHUNK, MARGIN)
    assert_allclose(model.predict([changed])[0], tok2vec.predict([changed])[0], rtol=1e-5)
    assert not np.allclose(model.predict([changed])[0][15], model.predict([plain])[0][15])


def test_parts_run_in_groups_of_bounded_size(vocab, monkeypatch):
    monkeypatch.setattr(chunks, "GROUP_TOKENS", 40)
    spy, calls = spy_on(make_tok2vec(vocab))
    docs = [make_doc(vocab, length) for length in (100, 5, 5, 5)]
    ChunkedTok2Vec(spy, CHUNK, MARGIN).predict(docs)
    sizes = [[len(part) for part in call] for call in calls]
    assert max(map(sum, sizes)) <= 40
    assert sizes == [[18, 18]] * 4 + [[18, 10, 5, 5], [5]]


def test_in_training_documents_are_not_cut(vocab):
    tok2vec = make_tok2vec(vocab)
    spy, calls = spy_on(tok2vec)
    doc = make_doc(vocab, 37)
    (found,), backprop = ChunkedTok2Vec(spy, CHUNK, MARGIN).begin_update([doc])
    assert calls == [[doc]]
    assert_array_equal(found, tok2vec.begin_update([doc])[0][0])
    backprop([np.ones_like(found)])
    gradients = [node.get_grad(name) for node in tok2vec.walk() for name in node.grad_names]
    assert gradients and all(gradient.any() for gradient in gradients)


@pytest.mark.parametrize("chunk, margin, code", [(0, 4, "R320"), (-1, 4, "R320"), (10, -1, "R320")])
def test_impossible_sizes_are_refused(chunk, margin, code, vocab):
    with pytest.raises(RstError) as error:
        ChunkedTok2Vec(make_tok2vec(vocab), chunk, margin)
    assert error.value.code == code


def test_width_and_references():
    model = registry.resolve({"model": CHUNKED})["model"]
    assert model.get_dim("nO") == WIDTH == get_tok2vec_width(model)
    inner = model.layers[0]
    assert model.get_ref("tok2vec") is inner
    assert model.get_ref("embed") is inner.get_ref("embed")
    assert model.get_ref("encode") is inner.get_ref("encode")


def test_a_width_that_shows_up_late(vocab):
    def init(model, X=None, Y=None):
        model.set_dim("nO", 3)

    def forward(model, docs, is_train):
        return [model.ops.alloc2f(len(doc), 3) for doc in docs], lambda d_vectors: docs

    model = ChunkedTok2Vec(Model("late", forward, init=init, dims={"nO": None}), CHUNK, MARGIN)
    assert model.has_dim("nO") is None
    model.initialize(X=[make_doc(vocab, 5)])
    assert model.get_dim("nO") == 3


def test_a_pipeline_learns_and_is_saved(tmp_path):
    nlp = make_pipeline()
    examples = make_examples(nlp)
    optimizer = nlp.resume_training()
    history = [nlp.update(examples, sgd=optimizer)["tagger"] for _ in range(5)]
    assert history[-1] < history[0]
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    from_bytes = make_pipeline().from_bytes(nlp.to_bytes())
    texts = [make_doc(nlp.vocab, length).text for length in (0, 5, 64)]
    for text, piped in zip(texts, nlp.pipe(texts), strict=True):
        doc = nlp(text)
        assert doc.tensor.shape == (len(doc), WIDTH)
        for other in (piped, loaded(text), from_bytes(text)):
            assert_allclose(other.tensor, doc.tensor, rtol=1e-5, atol=1e-6)
            assert [token.tag_ for token in other] == [token.tag_ for token in doc]


def test_the_config_of_a_loaded_pipeline_decides(tmp_path):
    nlp = make_pipeline()
    nlp.to_disk(tmp_path)
    uncut = spacy.load(tmp_path, config={"components.tok2vec.model.chunk": 1000})
    narrow = spacy.load(tmp_path, config={"components.tok2vec.model.margin": 0})
    text = make_doc(nlp.vocab, 37).text
    assert_allclose(uncut(text).tensor, nlp(text).tensor, rtol=1e-5, atol=1e-6)
    assert not np.allclose(narrow(text).tensor, nlp(text).tensor)


def test_replaced_listeners_are_cut_too(tmp_path):
    nlp = make_pipeline()
    doc = make_doc(nlp.vocab, 37)
    before = nlp.get_pipe("tagger").predict([nlp.get_pipe("tok2vec")(doc)])[0]
    nlp.replace_listeners("tok2vec", "tagger", ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        tagger = pipeline.get_pipe("tagger")
        assert_array_equal(tagger.predict([make_doc(pipeline.vocab, 37)])[0], before)
        names = [node.name for node in tagger.model.walk()]
        assert "chunked_tok2vec" in names and "tok2vec-listener" not in names


@pytest.mark.parametrize("layer", ["", "tok2vec"])
def test_pretrained_weights_can_be_loaded(layer, tmp_path):
    source = make_pipeline(CHUNKED if layer == "" else TOK2VEC)
    weights = tmp_path / "weights.bin"
    for node in source.get_pipe("tok2vec").model.walk():
        if node.has_param("b"):
            node.set_param("b", node.get_param("b") + 1)
    weights.write_bytes(source.get_pipe("tok2vec").model.to_bytes())
    nlp = make_pipeline()
    pretraining = {"component": "tok2vec", "layer": layer}
    assert init_tok2vec(nlp, pretraining, {"init_tok2vec": str(weights)})
    text = make_doc(nlp.vocab, 9).text
    assert_allclose(nlp(text).tensor, source(text).tensor, rtol=1e-5, atol=1e-6)


def test_the_margins_of_the_configs_cover_what_the_encoder_sees():
    for name in ("small_cpu", "joint_cpu"):
        config = Config().from_disk(CONFIGS / f"{name}.cfg")
        model = config["components"]["tok2vec"]["model"]
        encode = model["tok2vec"]["encode"]
        assert model["margin"] == encode["depth"] * encode["window_size"]
