"""8-bit weights: close to those in float, small, and for inference alone."""

from __future__ import annotations

import pytest
import spacy
import torch
from numpy.testing import assert_array_equal

from spacy_rst.encoder.int8_net import Int8Embedding, Int8Linear
from spacy_rst.encoder.xlmr import XlmrEncoder
from spacy_rst.errors import RstError
from tests.encoder.test_xlmr import (
    MULTILINGUAL,
    make_encoder,
    make_examples,
    make_pipeline,
    shim_of,
)

OVERRIDES = {
    route: {f"components.{route}.model.int8": True} for route in ("transformer", "tok2vec")
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
    nlp = make_pipeline(tiny_xlmr, route)
    nlp.initialize(lambda: make_examples(nlp))
    nlp.to_disk(tmp_path)
    config = tmp_path / "config.cfg"
    older = config.read_text(encoding="utf8").replace("int8 = false\n", "")
    assert "int8" not in older  # a pipeline that was saved before there was such a setting
    config.write_text(older, encoding="utf8")
    in_float = spacy.load(tmp_path)
    rounded = spacy.load(tmp_path, config=OVERRIDES[route])
    layers = {type(module) for module in shim_of(rounded, route)._model.modules()}
    assert Int8Linear in layers and Int8Embedding in layers and torch.nn.Linear not in layers
    vectors = [torch.from_numpy(shim_vectors(pipeline, route)) for pipeline in (in_float, rounded)]
    assert torch.nn.functional.cosine_similarity(*vectors).min() > 0.995
    assert not torch.equal(*vectors)
    docs = list(rounded.pipe([MULTILINGUAL, "", "The dog sleeps."]))
    assert [doc.text for doc in docs] == [MULTILINGUAL, "", "The dog sleeps."]


def shim_vectors(nlp, route):
    model = nlp.get_pipe(route).model
    encoder = model.layers[0] if route == "transformer" else model
    (vectors,) = encoder.predict([nlp.make_doc(MULTILINGUAL)])
    return vectors


@pytest.mark.parametrize("model_type", ["bert", "mpnet"])
def test_models_built_alike_can_be_rounded(tiny_xlmr, tmp_path, model_type):
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    settings = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    tokenizer = AutoTokenizer.from_pretrained(tiny_xlmr)
    config = AutoConfig.for_model(
        model_type, **settings, intermediate_size=32, vocab_size=len(tokenizer)
    )
    AutoModel.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    encoder = make_encoder(str(tmp_path), trainable_layers=0)
    rounded = XlmrEncoder(str(tmp_path), trainable_layers=0, int8=True)
    rounded.from_bytes(encoder.to_bytes())
    docs = [spacy.blank("xx").make_doc(MULTILINGUAL)]
    vectors = [torch.from_numpy(model.predict(docs)[0]) for model in (encoder, rounded)]
    assert torch.nn.functional.cosine_similarity(*vectors).min() > 0.995


def test_weights_need_a_quarter(tiny_xlmr):
    encoder = make_encoder(tiny_xlmr)
    rounded = XlmrEncoder(tiny_xlmr, int8=True).from_bytes(encoder.to_bytes())

    def n_bytes(model, name):
        module = model.shims[0]._model.get_submodule(name)
        tensors = [*module.parameters(), *module.buffers()]
        return sum(tensor.nbytes for tensor in tensors if tensor.dim() == 2 and tensor.shape[1] > 1)

    for name in ("embeddings.word_embeddings", "encoder.layer.0.intermediate.dense"):
        assert n_bytes(rounded, name) * 4 == n_bytes(encoder, name)


def test_it_is_not_for_training(tiny_xlmr, tmp_path):
    with pytest.raises(RstError, match="R309"):
        make_encoder(tiny_xlmr, int8=True)
    nlp = make_pipeline(tiny_xlmr)
    examples = make_examples(nlp)
    optimizer = nlp.initialize(lambda: examples)
    nlp.to_disk(tmp_path)
    rounded = spacy.load(tmp_path, config=OVERRIDES["transformer"])
    with pytest.raises(RstError, match="R309"):
        rounded.update(examples, sgd=optimizer)
    with pytest.raises(RstError, match="R309"):
        rounded.to_disk(tmp_path / "rounded")
