"""8-bit weights: close to those in float, small, and for inference alone."""

from __future__ import annotations

import pytest
import spacy
import torch
from numpy.testing import assert_array_equal

from spacy_rst.encoder.int8_net import Int8Embedding, Int8Linear
from spacy_rst.errors import RstError
from tests.encoder.xlmr import (
    MULTILINGUAL,
    build_alike,
    initialized_pipeline,
    make_encoder,
    make_examples,
    new_encoder,
    shim_of,
)

OVERRIDES = {
    "transformer": {"components.transformer.model.int8": True},
    "tok2vec": {"components.tok2vec.model.transformer.int8": True},
}


@pytest.mark.parametrize("bias", [True, False])
def test_a_rounded_layer_is_close_to_the_trained_one(bias):
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 24, bias=bias)
    inputs = torch.randn(3, 5, 64) * torch.tensor([0.01, 1, 100]).view(3, 1, 1)
    inputs[0, 0] = 0
    expected, found = linear(inputs), Int8Linear(linear)(inputs)
    assert found.shape == expected.shape
    size = inputs.norm(dim=-1, keepdim=True) * linear.weight.norm(dim=-1)
    assert ((found - expected).abs() <= 0.005 * size + 1e-6).all()
    assert not torch.equal(found, expected)


def test_a_rounded_table_is_close_to_the_trained_one():
    torch.manual_seed(0)
    table = torch.nn.Embedding(10, 16, padding_idx=1)
    ids = torch.tensor([[0, 1], [9, 3]])
    found = Int8Embedding(table)(ids)
    limits = table.weight.detach().abs().amax(1)[ids] / 127 / 2
    assert ((found - table(ids)).abs() <= limits.unsqueeze(-1) + 1e-6).all()
    assert_array_equal(found[0, 1], torch.zeros(16))  # the padding


@pytest.mark.parametrize("route", OVERRIDES)
def test_a_pipeline_trained_in_float_can_be_loaded_as_int8(tiny_xlmr, tmp_path, route):
    initialized_pipeline(tiny_xlmr, route).to_disk(tmp_path)
    in_float, rounded = spacy.load(tmp_path), spacy.load(tmp_path, config=OVERRIDES[route])
    net = shim_of(rounded.get_pipe(route).model)._model
    layers = {type(module) for module in net.modules()}
    assert Int8Linear in layers and Int8Embedding in layers and torch.nn.Linear not in layers
    vectors = []
    for nlp in (in_float, rounded):
        listener = nlp.get_pipe("tagger").model.get_ref("tok2vec")
        vectors.append(torch.from_numpy(listener.predict([nlp(MULTILINGUAL)])[0]))
    assert torch.nn.functional.cosine_similarity(*vectors).min() > 0.995
    assert not torch.equal(*vectors)
    docs = list(rounded.pipe([MULTILINGUAL, "", "The dog sleeps."]))
    assert [doc.text for doc in docs] == [MULTILINGUAL, "", "The dog sleeps."]


@pytest.mark.parametrize("model_type", ["bert", "mpnet"])
def test_models_built_alike_can_be_rounded(tiny_xlmr, tmp_path, model_type):
    build_alike(tmp_path, model_type, tiny_xlmr)
    encoder = make_encoder(str(tmp_path), trainable_layers=0)
    rounded = new_encoder(str(tmp_path), trainable_layers=0, int8=True)
    rounded.from_bytes(encoder.to_bytes())
    docs = [spacy.blank("xx").make_doc(MULTILINGUAL)]
    vectors = [torch.from_numpy(model.predict(docs)[0]) for model in (encoder, rounded)]
    assert torch.nn.functional.cosine_similarity(*vectors).min() > 0.995


def test_weights_need_a_quarter(tiny_xlmr):
    encoder = make_encoder(tiny_xlmr)
    rounded = new_encoder(tiny_xlmr, int8=True).from_bytes(encoder.to_bytes())

    def n_bytes(model, name):
        module = shim_of(model)._model.get_submodule(name)
        tensors = [*module.parameters(), *module.buffers()]
        return sum(tensor.nbytes for tensor in tensors if tensor.dim() == 2 and tensor.shape[1] > 1)

    for name in ("embeddings.word_embeddings", "encoder.layer.0.intermediate.dense"):
        assert n_bytes(rounded, name) * 4 == n_bytes(encoder, name)


def test_it_is_not_for_training(tiny_xlmr, tmp_path):
    with pytest.raises(RstError, match="R309"):
        make_encoder(tiny_xlmr, int8=True)
    initialized_pipeline(tiny_xlmr).to_disk(tmp_path)
    rounded = spacy.load(tmp_path, config=OVERRIDES["transformer"])
    with pytest.raises(RstError, match="R309"):
        rounded.update(make_examples(rounded))
    with pytest.raises(RstError, match="R309"):
        rounded.to_disk(tmp_path / "rounded")
