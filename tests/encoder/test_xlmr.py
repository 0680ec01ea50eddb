from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import spacy
import torch
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc, DocBin
from spacy.util import registry
from spacy.vocab import Vocab
from spacy_transformers.data_classes import TransformerData
from thinc.api import Adam, PyTorchGradScaler, set_gpu_allocator
from transformers import AutoTokenizer

from spacy_rst.encoder.alignment import nearest_token_with_pieces, token_piece_ranges
from spacy_rst.encoder.piece_tokenizer import PieceTokenizer
from spacy_rst.encoder.vectors import token_offsets
from spacy_rst.encoder.xlmr import XlmrModel
from spacy_rst.encoder.xlmr_shim import has_fast_bfloat16
from spacy_rst.errors import RstError
from tests.encoder.xlmr import (
    MULTILINGUAL,
    NO_DROPOUT,
    ROUTES,
    build_alike,
    encoder_config,
    initialized_pipeline,
    learn,
    make_encoder,
    make_examples,
    make_pipeline,
    new_encoder,
    shim_of,
    train_step,
)
from tests.parser.pipelines import TRANSFORMER_LISTENER
from tests.processes import run_python
from tests.tiny_models import SENTENCES, build_tiny_xlmr

ODD_TEXTS = {
    "whitespace": "  The dog \n\n sleeps .\t\n  It rains. \n",
    "emoji": "The dog 😀 sleeps 👩‍👩‍👧👍🏽 in 🇪🇺 .",
    "right to left": "سگ در باغ می‌خوابد، هرچند باران می‌بارد.",
    "unspaced": "狗在花园里睡觉，虽然下着雨。",
    "dropped characters": "a \u200b \ufeff dog \u200d \x00 \u00ad rains",
    "only whitespace": " \n\n\t ",
    "only dropped characters": "\u200b",
    "giant token": f"The {'dog' * 100} rains.",
    "composed": "e\u0301te\u0301 ﬁne ½ x² Å",
}
SPECIAL_PIECES = "<s> dog <pad> rains </s> <mask> <unk> garden"


def reference_vectors(name, doc, window, stride, overlap):
    """The same vectors the slow way: each window by itself, every step written out. Which pieces
    belong to a token is tested in test_alignment.py and below."""
    from transformers import AutoModel

    tokenizer = AutoTokenizer.from_pretrained(name)
    transformer = AutoModel.from_pretrained(name, add_pooling_layer=False).eval()
    encoded = tokenizer(
        doc.text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    ids, spans = encoded["input_ids"], np.array(encoded["offset_mapping"]).reshape(-1, 2)
    owned = token_piece_ranges(token_offsets(doc), spans)
    owned = owned[nearest_token_with_pieces(owned)]
    seen: list[list[tuple[int, np.ndarray]]] = [[] for _ in ids]

    def run(pieces):
        inputs = [tokenizer.cls_token_id, *pieces, tokenizer.sep_token_id]
        with torch.no_grad():
            return transformer(torch.tensor([inputs])).last_hidden_state[0].numpy()

    n_windows = 1 + max(0, -(-(len(ids) - window) // stride))
    for start in range(0, n_windows * stride, stride) if ids else []:
        hidden = run(ids[start : start + window])[1:-1]
        for place, vector in enumerate(hidden):
            is_last = start + window >= len(ids)
            after = window if is_last else len(hidden) - 1 - place
            seen[start + place].append((after, vector))
    if overlap == "center":
        margin = (window - stride) // 2
        seen = [[next(found for found in one if found[0] >= margin)] for one in seen]
    means = [np.mean([vector for _, vector in one], axis=0) for one in seen]
    vectors = [
        np.mean(means[start:end], axis=0) if end > start else run([])[0] for start, end in owned
    ]
    return np.stack(vectors)


def tags_of(doc: Doc) -> list[str]:
    return [token.tag_ for token in doc]


def is_zero(vectors) -> np.ndarray:
    return np.abs(vectors).max(axis=1) == 0


# Vectors


@pytest.mark.parametrize("text", [MULTILINGUAL, *ODD_TEXTS.values()], ids=["many", *ODD_TEXTS])
@pytest.mark.parametrize("overlap", ["center", "mean"])
@pytest.mark.parametrize(("window", "stride"), [(500, 300), (30, 12), (30, 18), (20, 20)])
def test_vectors_equal_a_slow_reference(tiny_xlmr, text, window, stride, overlap):
    encoder = make_encoder(tiny_xlmr, window=window, stride=stride, overlap=overlap)
    doc = spacy.blank("xx")(text)
    (vectors,) = encoder.predict([doc])
    assert not is_zero(vectors).any()
    expected = reference_vectors(tiny_xlmr, doc, window, stride, overlap)
    assert_allclose(vectors, expected, rtol=1e-4, atol=1e-5)


def test_special_pieces_in_the_text_are_read_as_unknown(tiny_xlmr):
    tokenizer = PieceTokenizer.from_pretrained(tiny_xlmr, {})
    ids, _ = tokenizer.encode(SPECIAL_PIECES)
    assert not set(ids.tolist()) & {tokenizer.start_id, tokenizer.end_id, tokenizer.pad_id}
    encoder = make_encoder(tiny_xlmr)
    (vectors,) = encoder.predict([spacy.blank("xx")(SPECIAL_PIECES)])
    assert not is_zero(vectors).any()


def test_vectors_do_not_depend_on_the_batch_or_the_cap(tiny_xlmr):
    nlp = spacy.blank("xx")
    texts = [*SENTENCES, "", MULTILINGUAL * 3, *ODD_TEXTS.values()]
    docs = [nlp.make_doc(text) for text in texts]
    settings = {"window": 50, "stride": 20}
    together = make_encoder(tiny_xlmr, **settings).predict(docs)
    one_window_at_a_time = make_encoder(tiny_xlmr, **settings, max_batch_pieces=52).predict(docs)
    encoder = make_encoder(tiny_xlmr, **settings, max_batch_pieces=200)
    for doc, vectors, others in zip(docs, together, one_window_at_a_time, strict=True):
        assert_allclose(vectors, others, rtol=1e-4, atol=1e-5)
        assert_allclose(vectors, encoder.predict([doc])[0], rtol=1e-4, atol=1e-5)


def test_dropout_is_for_training_alone(tiny_xlmr):
    encoder = make_encoder(tiny_xlmr)
    doc = spacy.blank("xx")(MULTILINGUAL)
    (vectors,) = encoder.predict([doc])
    (trained,), _ = encoder.begin_update([doc])
    assert not np.allclose(vectors, trained, atol=1e-3)
    assert_array_equal(encoder.predict([doc])[0], vectors)


def test_no_batch_exceeds_the_cap(tiny_xlmr):
    encoder = make_encoder(tiny_xlmr, window=50, stride=20, max_batch_pieces=160)
    shapes = []
    shim_of(encoder)._model.embeddings.register_forward_pre_hook(
        lambda module, args, kwargs: shapes.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    nlp = spacy.blank("xx")
    encoder.predict([nlp.make_doc(text) for text in [MULTILINGUAL * 2, *SENTENCES]])
    assert max(rows * columns for rows, columns in shapes) <= 160
    assert max(rows for rows, _ in shapes) >= 3


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 100, "stride": 101}, "stride = 101 .* from 1 to window \\(100\\)"),
        ({"stride": 0}, "stride = 0 .* from 1"),
        ({"max_batch_pieces": 501}, "max_batch_pieces = 501 .* at least 502"),
        ({"mixed_precision": "fp8"}, 'mixed_precision = .fp8. .* "none" or "fp16" or "bf16"'),
        ({"overlap": "sum"}, 'overlap = .sum. .* "center" or "mean"'),
    ],
)
def test_bad_settings_are_refused_before_anything_is_loaded(settings, message):
    with pytest.raises(RstError, match=f"R300.*{message}"):
        XlmrModel("no-such-model", **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokenizer_config": {"use_fast": False}}, "R303.*slow"),
        ({"trainable_layers": 7}, "R300.*trainable_layers = 7 .* from 0 .* to 6"),
        ({"trainable_layers": -1}, "R300.*trainable_layers = -1"),
        ({"window": 511}, "R300.*window = 511 .* at most 510"),
    ],
)
def test_settings_that_the_checkpoint_cannot_meet_are_refused(tiny_xlmr, settings, message):
    with pytest.raises(RstError, match=message):
        make_encoder(tiny_xlmr, **settings)


def test_model_of_another_kind_is_refused(tiny_xlmr, tmp_path):
    from transformers import DistilBertConfig, DistilBertModel

    AutoTokenizer.from_pretrained(tiny_xlmr).save_pretrained(tmp_path)
    config = DistilBertConfig(vocab_size=200, dim=8, n_layers=1, n_heads=1, hidden_dim=8)
    DistilBertModel(config).save_pretrained(tmp_path)
    with pytest.raises(RstError, match=r"R303.*'distilbert'"):
        make_encoder(str(tmp_path))


@pytest.mark.parametrize("model_type", ["roberta", "camembert", "bert", "mpnet"])
def test_models_built_alike_can_be_used(tiny_xlmr, tmp_path, model_type):
    build_alike(tmp_path, model_type, tiny_xlmr, max_position_embeddings=40)
    with pytest.raises(RstError, match=r"R300.*window"):
        make_encoder(str(tmp_path), trainable_layers=1, window=39, stride=10)
    longest = 38 if model_type == "bert" else 36
    encoder = make_encoder(str(tmp_path), trainable_layers=1, window=longest, stride=10)
    reloaded = new_encoder("gone", trainable_layers=1, window=longest, stride=10)
    reloaded.from_bytes(encoder.to_bytes())
    doc = spacy.blank("xx")(MULTILINGUAL)
    (vectors,) = encoder.predict([doc])
    assert not is_zero(vectors).any()
    assert_array_equal(reloaded.predict([doc])[0], vectors)
    assert parts_that_learn(reloaded) == {"1"}


def test_untrained_encoder_says_what_to_do(tiny_xlmr):
    with pytest.raises(RstError, match="R307"):
        new_encoder(tiny_xlmr).predict([Doc(Vocab(), words=["dog"])])


@pytest.mark.parametrize(
    ("mixed_precision", "has_instructions", "is_used"),
    [("fp16", True, False), ("bf16", False, False), ("bf16", True, True)],
)
def test_half_precision_on_a_cpu_needs_instructions_for_it(
    tiny_xlmr, monkeypatch, mixed_precision, has_instructions, is_used
):
    monkeypatch.setattr("spacy_rst.encoder.xlmr_shim.has_fast_bfloat16", lambda: has_instructions)
    doc = spacy.blank("xx")(MULTILINGUAL)
    (expected,) = make_encoder(tiny_xlmr).predict([doc])
    encoder = make_encoder(tiny_xlmr, mixed_precision=mixed_precision)
    (found,) = encoder.predict([doc])
    assert found.dtype == expected.dtype
    assert (np.abs(found - expected).max() > 0) == is_used
    assert_allclose(found, expected, atol=0.1)
    vectors, backprop = encoder.begin_update([doc])
    backprop(vectors)
    encoder.finish_update(Adam())


@pytest.mark.parametrize(
    ("find_capabilities", "expected"),
    [
        (None, False),  # a torch that is too old to tell
        (dict, False),
        (lambda: {"avx2": True, "avx512_bf16": False}, False),
        (lambda: {"amx_bf16": True}, torch.backends.mkldnn.is_available()),
    ],
)
def test_the_cpu_is_asked_for_its_instructions(monkeypatch, find_capabilities, expected):
    if find_capabilities is None:
        monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    else:
        monkeypatch.setattr(torch.cpu, "get_capabilities", find_capabilities, raising=False)
    assert has_fast_bfloat16.__wrapped__() == expected


@pytest.mark.parametrize("route", ROUTES)
def test_configs_resolve_without_the_checkpoint(route):
    config = {"model": encoder_config(route, "no-such-model")}
    assert registry.resolve(config)["model"].has_dim("nO") is None


# Training


def make_docs() -> list[Doc]:
    return [spacy.blank("xx")(text) for text in [MULTILINGUAL, "", *SENTENCES[:2]]]


def parts_that_learn(encoder) -> set[str]:
    """The layers that a gradient reaches, and "embeddings"."""
    _, gradients = learn(encoder, make_docs())
    reached = [name.split(".") for name, gradient in gradients.items() if gradient.any()]
    return {path[2] if path[0] == "encoder" else path[0] for path in reached}


@pytest.mark.parametrize(
    ("trainable_layers", "expected"),
    [
        (0, set()),
        (2, {"4", "5"}),
        (4, {"2", "3", "4", "5"}),
        (6, {"0", "1", "2", "3", "4", "5"}),
        (None, {"embeddings", "0", "1", "2", "3", "4", "5"}),
    ],
)
def test_gradient_reaches_exactly_the_trained_layers(
    tiny_xlmr, tmp_path, trainable_layers, expected
):
    encoder = make_encoder(tiny_xlmr, trainable_layers=trainable_layers)
    encoder.to_disk(tmp_path / "encoder")
    empty, other = (new_encoder("gone", trainable_layers=trainable_layers) for _ in range(2))
    from_bytes = empty.from_bytes(encoder.to_bytes())
    from_disk = other.from_disk(tmp_path / "encoder")
    for model in (encoder, from_bytes, from_disk, encoder.copy()):
        assert parts_that_learn(model) == expected


def numerical_setup(tiny_xlmr, **settings):
    return make_encoder(tiny_xlmr, window=30, stride=12, transformer_config=NO_DROPOUT, **settings)


def test_gradient_is_the_derivative(tiny_xlmr):
    encoder = numerical_setup(tiny_xlmr, trainable_layers=1)
    # Whitespace tokens borrow vectors, and windows overlap: both must show in the gradient.
    docs = [spacy.blank("xx")(f"\n {MULTILINGUAL} \n\n {SENTENCES[0]}")]
    bias = shim_of(encoder)._model.encoder.layer[-1].output.LayerNorm.bias
    weight = shim_of(encoder)._model.encoder.layer[-1].output.dense.weight
    vectors, backprop = encoder.begin_update(docs)
    direction = np.random.default_rng(0).normal(size=vectors[0].shape).astype("f")
    backprop([direction])
    assert_allclose(bias.grad, direction.sum(axis=0), rtol=1e-3, atol=1e-3)
    step = 1e-2
    with torch.no_grad():
        weight[3, 5] += step
    above = float((encoder.predict(docs)[0].astype("d") * direction).sum())
    with torch.no_grad():
        weight[3, 5] -= 2 * step
    below = float((encoder.predict(docs)[0].astype("d") * direction).sum())
    assert float(weight.grad[3, 5]) == pytest.approx((above - below) / (2 * step), rel=2e-2)


@pytest.mark.parametrize("settings", [{"max_batch_pieces": 32}, {"gradient_checkpointing": True}])
def test_gradient_does_not_depend_on_how_memory_is_saved(tiny_xlmr, settings):
    _, expected = learn(numerical_setup(tiny_xlmr), make_docs())
    _, gradients = learn(numerical_setup(tiny_xlmr, **settings), make_docs())
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        assert_allclose(gradient, expected[name], rtol=1e-3, atol=1e-3)


def test_scaled_gradients_of_several_backward_passes_add_up(tiny_xlmr, monkeypatch):
    def one_step(scaler):
        encoder = numerical_setup(tiny_xlmr)
        shim_of(encoder)._grad_scaler = scaler
        for _ in range(2):
            vectors, backprop = encoder.begin_update(make_docs())
            backprop([vector**3 for vector in vectors])
        encoder.finish_update(Adam(0.01))
        return shim_of(encoder)._model.state_dict()

    # Thinc scales on CUDA alone; the arithmetic is the same on a CPU.
    monkeypatch.setattr(
        PyTorchGradScaler,
        "_scale_tensor",
        lambda self, tensor, scale_per_device, inplace: tensor * self._scale,
    )
    expected = one_step(PyTorchGradScaler(enabled=False))
    for name, value in one_step(PyTorchGradScaler(enabled=True, init_scale=1024.0)).items():
        assert_allclose(value, expected[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("route", ROUTES)
def test_update_changes_the_trained_layers_alone(tiny_xlmr, tmp_path, route):
    nlp = make_pipeline(tiny_xlmr, route, trainable_layers=2)
    examples = make_examples(nlp)
    nlp.initialize(lambda: examples)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        transformer = shim_of(pipeline.get_pipe(route).model)._model
        before = {name: value.clone() for name, value in transformer.state_dict().items()}
        optimizer = Adam(0.01)
        # The output layer starts with zeros, so the first step sends no gradient down.
        for _ in range(2):
            assert train_step(pipeline, optimizer)["tagger"] > 0
        for name, value in transformer.state_dict().items():
            is_trained = name.startswith(("encoder.layer.4", "encoder.layer.5"))
            # A bias of attention keys adds the same to all scores: no gradient, by arithmetic.
            if "key.bias" not in name:
                assert torch.equal(value, before[name]) != is_trained, name
        frozen = {n for n, p in transformer.named_parameters() if p.grad is None}
        assert frozen == {n for n, p in transformer.named_parameters() if not p.requires_grad}
        kept = {name for _, name in optimizer.mom1 if isinstance(name, str)}
        assert not kept & frozen


@pytest.mark.parametrize("route", ROUTES)
def test_two_listeners_both_push_gradients(tiny_xlmr, route):
    def top_gradient(silenced):
        taggers = ("tagger", "tagger2")
        nlp = make_pipeline(tiny_xlmr, route, taggers, transformer_config=NO_DROPOUT)
        # A document without tokens in the batch must not shift the gradients of the others.
        examples = make_examples(nlp, [SENTENCES[0], "", *SENTENCES[1:3]])
        nlp.initialize(lambda: examples)
        rng = np.random.default_rng(0)
        for name in ("tagger", "tagger2"):
            softmax = nlp.get_pipe(name).model.get_ref("softmax")
            weights = rng.normal(size=softmax.get_param("W").shape).astype("f")
            softmax.set_param("W", weights * (name not in silenced))
        nlp.update(examples, sgd=False)
        return shim_of(nlp.get_pipe(route).model)._model.encoder.layer[-1].output.dense.weight.grad

    both = top_gradient(())
    first, second = top_gradient(("tagger2",)), top_gradient(("tagger",))
    assert min(first.abs().max(), second.abs().max()) > 1e-4
    assert_allclose(both, first + second, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("route", ROUTES)
def test_pipeline_learns_and_survives_a_reload_without_the_checkpoint(tmp_path, route):
    name = build_tiny_xlmr(tmp_path / "checkpoint", layers=2, dropout=0.0)
    nlp = make_pipeline(str(name), route, trainable_layers=1, window=30, stride=12)
    examples = make_examples(nlp)
    nlp.initialize(lambda: examples)
    optimizer = Adam(0.02)
    for _ in range(30):
        train_step(nlp, optimizer)
    assert nlp.evaluate(make_examples(nlp))["tag_acc"] > 0.95
    nlp.to_disk(tmp_path / "pipeline")
    for file in name.iterdir():
        file.unlink()
    name.rmdir()
    reloaded = spacy.load(tmp_path / "pipeline")
    texts = [*SENTENCES, "", " \n"]
    tags = [tags_of(doc) for doc in nlp.pipe(texts)]
    assert [tags_of(doc) for doc in reloaded.pipe(texts)] == tags
    assert [tags_of(reloaded(text)) for text in texts] == tags
    saved = (tmp_path / "pipeline" / route / "model").read_bytes()
    assert b"torch._utils" not in saved
    assert str(name).encode() not in saved


def test_settings_of_a_loaded_pipeline_come_from_its_config(tiny_xlmr, tmp_path):
    nlp = initialized_pipeline(tiny_xlmr)
    nlp.to_disk(tmp_path)
    overrides = {
        "components.transformer.model.max_batch_pieces": 600,
        "components.transformer.model.trainable_layers": 1,
    }
    reloaded = spacy.load(tmp_path, config=overrides)
    shim = shim_of(reloaded.get_pipe("transformer").model)
    assert shim.max_batch_pieces == 600
    trained = {n.split(".")[2] for n, p in shim._model.named_parameters() if p.requires_grad}
    assert trained == {"5"}


def test_untrained_encoder_can_be_saved(tiny_xlmr):
    encoder = new_encoder(tiny_xlmr).from_bytes(new_encoder(tiny_xlmr).to_bytes())
    assert not shim_of(encoder).is_built
    encoder.initialize()
    assert encoder.get_dim("nO") == 16


def test_weights_that_do_not_fit_are_refused(tiny_xlmr):
    encoder = make_encoder(tiny_xlmr)
    # As if the installed version of the model had more layers than the saved one.
    shim_of(encoder)._model.config.num_hidden_layers = 7
    with pytest.raises(RstError, match="R308"):
        new_encoder(tiny_xlmr).from_bytes(encoder.to_bytes())


# The transformer component


@pytest.mark.parametrize("text", [MULTILINGUAL, *ODD_TEXTS.values()], ids=["many", *ODD_TEXTS])
@pytest.mark.parametrize("overlap", ["center", "mean"])
def test_the_data_of_a_doc_is_one_sequence_of_pieces(tiny_xlmr, text, overlap):
    model = XlmrModel(tiny_xlmr, window=30, stride=12, overlap=overlap)
    model.initialize()
    doc = spacy.blank("xx").make_doc(text)
    (data,) = model.predict([doc]).doc_data
    tokenizer = AutoTokenizer.from_pretrained(tiny_xlmr)
    expected = tokenizer(text.strip(), verbose=False)["input_ids"]
    assert data.wordpieces.input_ids.tolist() == [expected]
    assert data.wordpieces.strings == [tokenizer.convert_ids_to_tokens(expected)]
    assert data.wordpieces.lengths == [len(expected)]
    assert data.wordpieces.attention_mask.shape == (1, len(expected))
    assert data.model_output.last_hidden_state.shape == (1, len(expected), data.width)
    assert len(data.align.lengths) == len(doc) and (data.align.lengths > 0).all()
    aligned = [set(own.dataXd.ravel().tolist()) for own in data.align]
    spans = tokenizer(text.strip(), return_offsets_mapping=True, verbose=False)["offset_mapping"]
    n_skipped = len(text) - len(text.lstrip())
    for token, own in zip(doc, aligned, strict=True):
        start = token.idx - n_skipped
        touched = {n for n, (a, b) in enumerate(spans) if a < start + len(token) and start < b}
        assert touched <= own or token.is_space
    if text == MULTILINGUAL:
        assert "".join(data.wordpieces.strings[0][piece] for piece in aligned[0]) == "▁The"
        # Each piece belongs to a token, but for the special ones at the ends.
        assert set().union(*aligned) == set(range(1, len(expected) - 1))
    assert TransformerData.empty().from_bytes(data.to_bytes()).align.dataXd.tolist() == (
        data.align.dataXd.tolist()
    )


def test_any_pooling_can_be_used(tiny_xlmr):
    """A listener of spacy-transformers that takes the last piece of each token."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("transformer", config={"model": encoder_config("transformer", tiny_xlmr)})
    listener = {**TRANSFORMER_LISTENER, "pooling": {"@layers": "reduce_last.v1"}}
    model = {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": model})
    nlp.initialize(lambda: make_examples(nlp))
    docs = list(nlp.pipe([MULTILINGUAL, "", SENTENCES[0]]))
    heard = nlp.get_pipe("tagger").model.get_ref("tok2vec").predict(docs)
    for doc, vectors in zip(docs, heard, strict=True):
        assert len(vectors) == len(doc)
        for token, vector in zip(doc, vectors, strict=True):
            data = doc._.trf_data
            last = int(data.align[token.i].dataXd.ravel()[-1])
            assert_array_equal(vector, data.model_output.last_hidden_state[0, last])


def test_listener_can_be_replaced(tiny_xlmr, tmp_path):
    nlp = initialized_pipeline(tiny_xlmr)
    softmax = nlp.get_pipe("tagger").model.get_ref("softmax")
    weights = np.random.default_rng(0).normal(size=softmax.get_param("W").shape)
    softmax.set_param("W", weights.astype("f"))
    expected = tags_of(nlp(MULTILINGUAL))
    assert len(set(expected)) > 1
    nlp.replace_listeners("transformer", "tagger", ["model.tok2vec"])
    nlp.remove_pipe("transformer")
    assert tags_of(nlp(MULTILINGUAL)) == expected
    nlp.to_disk(tmp_path)
    reloaded = spacy.load(tmp_path)
    assert tags_of(reloaded(MULTILINGUAL)) == expected
    transformer = shim_of(reloaded.get_pipe("tagger").model)._model
    before = transformer.encoder.layer[-1].output.dense.weight.clone()
    assert train_step(reloaded, Adam(0.01))["tagger"] > 0
    assert not torch.equal(transformer.encoder.layer[-1].output.dense.weight, before)


@pytest.mark.parametrize("route", ROUTES)
def test_the_cleaner_takes_the_vectors_off_the_doc(tiny_xlmr, route):
    nlp = initialized_pipeline(tiny_xlmr, route)
    with_vectors = nlp(MULTILINGUAL)
    kept = with_vectors._.trf_data if route == "transformer" else with_vectors.tensor
    assert kept is not None
    nlp.add_pipe("vector_cleaner", last=True)
    for doc in [nlp(MULTILINGUAL), *nlp.pipe([MULTILINGUAL])]:
        assert tags_of(doc) == tags_of(with_vectors)
        assert not doc.tensor.size
        if route == "transformer":
            assert doc._.trf_data is None
    assert train_step(nlp, Adam(0.01))["tagger"] > 0


def test_several_processes(tiny_xlmr, tmp_path):
    nlp = initialized_pipeline(tiny_xlmr)
    expected = [tags_of(doc) for doc in nlp.pipe(SENTENCES)]
    nlp.add_pipe("vector_cleaner", last=True)
    nlp.to_disk(tmp_path / "pipeline")
    script = f"""
import spacy
from spacy.tokens import DocBin
from tests.tiny_models import SENTENCES

if __name__ == "__main__":
    nlp = spacy.load({str(tmp_path / "pipeline")!r})
    docs = list(nlp.pipe(SENTENCES, n_process=2, batch_size=2))
    assert all(doc._.trf_data is None for doc in docs)
    DocBin(docs=docs, store_user_data=True).to_disk({str(tmp_path / "docs.spacy")!r})
"""
    # A process of its own: forking after torch has used threads can hang.
    run_python(script, python_path=os.pathsep.join(sys.path))
    docs = DocBin().from_disk(tmp_path / "docs.spacy").get_docs(nlp.vocab)
    assert [tags_of(doc) for doc in docs] == expected


@pytest.mark.gpu
@pytest.mark.parametrize("mixed_precision", ["none", "fp16", "bf16"])
def test_gpu_gives_the_same_vectors_and_learns(tiny_xlmr, mixed_precision):
    if not torch.cuda.is_available() or not spacy.prefer_gpu():
        pytest.skip("needs a GPU with CUDA, and cupy")
    try:
        set_gpu_allocator("pytorch")
        nlp = initialized_pipeline(tiny_xlmr, mixed_precision=mixed_precision)
        shim = shim_of(nlp.get_pipe("transformer").model)
        assert next(shim._model.parameters()).is_cuda
        doc = nlp(MULTILINGUAL)
        expected = reference_vectors(tiny_xlmr, doc, 500, 300, "center")
        (vectors,) = nlp.get_pipe("tagger").model.get_ref("tok2vec").predict([doc])
        vectors = vectors.get()
        assert vectors.dtype == np.float32
        tolerance = 1e-3 if mixed_precision == "none" else 0.2
        assert_allclose(vectors, expected, rtol=tolerance, atol=tolerance)
        before = shim._model.encoder.layer[-1].output.dense.weight.clone()
        for _ in range(3):
            train_step(nlp, Adam(0.01))
        after = shim._model.encoder.layer[-1].output.dense.weight
        assert torch.isfinite(after).all()
        assert not torch.equal(before, after)
        assert all(p.grad is None for p in shim._model.parameters() if not p.requires_grad)
    finally:
        spacy.require_cpu()
