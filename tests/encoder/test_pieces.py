from __future__ import annotations

import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sentencepiece import SentencePieceProcessor
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import fix_random_seed, registry
from thinc.api import Adam, Model

from spacy_rst.encoder import pieces, pieces_net
from spacy_rst.encoder.pieces import PieceEncoder, hash_tokens
from spacy_rst.languages import multilingual_pipeline
from tests.encoder.xlmr import code_of, train_step
from tests.segmenter.pipelines import joint_pipeline, sample_examples
from tests.tiny_models import SENTENCES, build_tiny_pieces

WIDTH = 10
SMALL: dict[str, Any] = {
    "width": WIDTH,
    "hash_rows": [40, 20, 30, 20],
    "hash_width": 4,
}
PRETRAINED = ("table.", "convolutions.", "normalize.")
TEXTS = [
    *SENTENCES,
    "",
    " ",
    "\n\n\t",
    "x",
    "👩‍👩‍👧 🎉!",
    "\u200b",
    "ﬁnally ½ Ｗｅ sleep… in the garden",
    "The dog.\n\nThe garden.",
    "Gartenhund" * 500,
    " ".join(SENTENCES),
]


def make_model(weights: str, **changes: Any) -> Model:
    fix_random_seed(0)
    model = PieceEncoder(weights, **{**SMALL, "dropout": 0.0, **changes})
    model.initialize()
    return model


@pytest.fixture(scope="module")
def model(tiny_pieces):
    """An encoder with two layers that mix neighbours. Do not change it."""
    return make_model(tiny_pieces, depth=2)


@pytest.fixture(scope="module")
def arrays(tiny_pieces):
    with np.load(Path(tiny_pieces) / "weights.npz") as file:
        return {name: file[name] for name in file}


@pytest.fixture
def docs():
    return [multilingual_pipeline().make_doc(text) for text in TEXTS]


def encoder_config(weights: str) -> dict[str, Any]:
    architecture = {"@architectures": "spacy_rst.PieceEncoder.v1", "weights": weights}
    return {**architecture, **SMALL, "dropout": 0.0}


def shared_encoder_pipeline(weights: str) -> Language:
    """A segmenter and a parser that listen to one piece encoder."""
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH, "upstream": "*"}
    return joint_pipeline("tok2vec", encoder_config(weights), listener)


def net_of(model: Model) -> pieces_net.PieceNet:
    return model.shims[0].net


def state_of(model: Model) -> dict[str, np.ndarray]:
    return {name: value.clone().numpy() for name, value in net_of(model).state_dict().items()}


def changed_weights(before: dict[str, np.ndarray], model: Model) -> set[str]:
    after = state_of(model)
    return {name for name in before if not np.array_equal(before[name], after[name])}


def assert_same_vectors(found, expected, atol=1e-5):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert_allclose(one, other, atol=atol, rtol=0)


# The arithmetic once more, a piece and a window at a time.


def slow_normalize(row, gain, bias):
    centred = row - row.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-12) * gain + bias


def slow_row(arrays, piece):
    shards = len(arrays["lo"])
    shard = piece % shards
    quantised = arrays[f"q{shard + 1}"][piece // shards].astype(np.float64)
    return quantised * arrays["scale"][shard] + arrays["lo"][shard]


def slow_window(rows, place, size):
    before = {2: 0, 3: 1, 5: 2}[size]
    padded = np.pad(rows, ((before, size), (0, 0)))
    return padded[place : place + size].ravel()


def slow_vectors(arrays, piece_ids):
    def norms(n):
        return arrays[f"ln_g{n}"], arrays[f"ln_b{n}"]

    rows = [slow_row(arrays, piece) for piece in piece_ids]
    stacks = []
    for n in (2, 3, 5):
        layer = [
            slow_normalize(row @ arrays[f"proj{n}"] + arrays[f"proj_b{n}"], *norms(n))
            for row in rows
        ]
        for number in (1, 2):
            weight, bias = arrays[f"w{number}_{n}"], arrays[f"b{number}_{n}"]
            layer = [
                np.maximum(slow_window(layer, i, n) @ weight + bias, 0) + layer[i]
                for i in range(len(layer))
            ]
        stacks.append(layer)
    return [
        slow_normalize(np.concatenate(parts), arrays["ln_g"], arrays["ln_b"])
        for parts in zip(rows, *stacks, strict=True)
    ]


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("at_once", [1, 3, 1024])
def test_the_pretrained_vectors_are_those_of_the_description(
    model, arrays, tiny_pieces, docs, at_once, is_train, monkeypatch
):
    monkeypatch.setattr(pieces_net, "PIECES_AT_ONCE", at_once)
    net_of(model).train(is_train)
    processor = SentencePieceProcessor(model_file=str(Path(tiny_pieces) / "sp.model"))
    short = [doc for doc in docs if doc.text.strip() and len(doc.text) < 100]
    parts = [window.pieces for window in pieces.cut_docs(model.shims[0], short, 1000)]
    with torch.no_grad():
        found = net_of(model).pool_pieces(pieces.make_batch(parts, "cpu"))
    assert found.shape == (sum(map(len, short)), 12 + 3 * 8)
    start = 0
    for doc, cut in zip(short, parts, strict=True):
        # A word of characters that are ignored stands for an unknown piece.
        assert cut.ids.tolist() == (processor.EncodeAsIds(doc.text) or [processor.unk_id()])
        vectors = slow_vectors(arrays, cut.ids.tolist())
        for token, (first, last) in enumerate(cut.ranges.tolist()):
            owned = vectors[first:last]
            expected = np.mean(owned, axis=0) if owned else np.zeros(found.shape[1])
            assert_allclose(found[start + token], expected, atol=1e-4)
        start += len(doc)


def test_the_learned_layers_mix_vectors_hashes_and_neighbours(model, docs):
    net = net_of(model)
    doc = docs[0]
    hashes = hash_tokens(doc, SMALL["hash_rows"])
    with torch.no_grad():
        (cut,) = (window.pieces for window in pieces.cut_docs(model.shims[0], [doc], 1000))
        pooled = net.pool_pieces(pieces.make_batch([cut], "cpu"))
        tokens = []
        for row, places in zip(pooled, hashes, strict=True):
            embedded = [
                table.weight[place[0]] + table.weight[place[1]]
                for table, place in zip(net.embeddings, places, strict=True)
            ]
            tokens.append(
                net.normalize_mix(torch.nn.functional.gelu(net.mix(torch.cat([row, *embedded]))))
            )
        for layer, normalize in zip(net.layers, net.normalize_layers, strict=True):
            nothing = torch.zeros(WIDTH)
            padded = [nothing, *tokens, nothing]
            mixed = []
            for i, token in enumerate(tokens):
                values, gates = layer(torch.cat(padded[i : i + 3])).split(WIDTH)
                mixed.append(normalize(token + values * gates.sigmoid()))
            tokens = mixed
    assert_allclose(model.predict([doc])[0], torch.stack(tokens), atol=1e-5)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_vectors_do_not_depend_on_windows_and_groups(tiny_pieces, docs, depth, monkeypatch):
    model = make_model(tiny_pieces, depth=depth)
    expected = model.predict(docs)
    assert [vectors.shape for vectors in expected] == [(len(doc), WIDTH) for doc in docs]
    assert_same_vectors(model.predict(docs[::-1])[::-1], expected)
    for n_tokens in (1, 2, 5, 33):
        monkeypatch.setattr(pieces, "GROUP_TOKENS", n_tokens)
        assert_same_vectors(model.predict(docs), expected)


@pytest.mark.parametrize("is_train", [False, True])
def test_white_space_around_a_text_has_no_influence(tiny_pieces, is_train):
    model = make_model(tiny_pieces, depth=2)
    nlp = multilingual_pipeline()
    text = "The dog sleeps.\n\nIt rains."
    docs = [nlp.make_doc(text) for text in (text, f"\n\n {text}\n \t", f"{text}\n", f"\n{text}")]
    (expected, *others), backprop = model(docs, is_train)
    for doc, vectors in zip(docs[1:], others, strict=True):
        is_outside = np.array([not token.text.strip() for token in doc])
        inner = pieces.inner_tokens(pieces.token_offsets(doc))
        is_outside[inner] = False
        assert len(is_outside) > len(expected) and is_outside.any()
        assert_allclose(vectors[~is_outside], expected, atol=1e-5)
        assert not vectors[is_outside].any()
    if is_train:
        backprop([np.ones_like(vectors) for vectors in (expected, *others)])


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4))
def test_any_text_has_vectors(model, texts):
    docs = [multilingual_pipeline().make_doc(text) for text in texts]
    vectors = model.predict(docs)
    assert [len(rows) for rows in vectors] == [len(doc) for doc in docs]
    assert all(np.isfinite(rows).all() for rows in vectors)
    assert_same_vectors([model.predict([doc])[0] for doc in docs], vectors)


def test_hashes_are_those_of_norm_prefix_suffix_and_shape():
    rows = [1000, 1000, 1000, 1000]
    doc = multilingual_pipeline().make_doc("Garden garden warden garage hidden")
    hashes = hash_tokens(doc, rows)
    assert hashes.shape == (5, 4, 2) and hashes.dtype == np.int64
    upper, lower, warden, garage, hidden = hashes
    assert_array_equal(upper[[0, 2]], lower[[0, 2]])  # norm and suffix
    assert (upper[[1, 3]] != lower[[1, 3]]).any(axis=1).all()  # prefix and shape
    assert_array_equal(lower[[1, 3]], garage[[1, 3]])
    assert_array_equal(warden[[2, 3]], hidden[[2, 3]])
    assert (lower[0] != warden[0]).any()
    assert (hash_tokens(doc, [3, 1, 2, 5]) < np.array([3, 1, 2, 5])[:, None]).all()
    assert hash_tokens(doc[:0].as_doc(), rows).shape == (0, 4, 2)


# Training


def train_once(model: Model, docs: list[Doc]) -> None:
    vectors, backprop = model.begin_update(docs)
    rng = np.random.default_rng(0)
    backprop([rng.normal(size=rows.shape).astype("f") for rows in vectors])
    model.finish_update(Adam(0.01))


@pytest.mark.parametrize("train_convolutions", [False, True])
def test_what_is_learned(tiny_pieces, docs, train_convolutions):
    model = make_model(tiny_pieces, depth=2, train_convolutions=train_convolutions)
    for part in (net_of(model).convolutions, net_of(model).normalize):
        assert all(weight.requires_grad == train_convolutions for weight in part.parameters())
    before = state_of(model)
    train_once(model, docs)
    pretrained = {name for name in before if name.startswith(PRETRAINED)}
    learned = set(before) - pretrained
    assert {name.split(".")[0] for name in learned} == {
        "embeddings", "mix", "normalize_mix", "layers", "normalize_layers"
    }  # fmt: skip
    if train_convolutions:
        learned |= {name for name in pretrained if not name.startswith("table.")}
    assert changed_weights(before, model) == learned


def test_the_gradient_is_that_of_the_vectors(tiny_pieces):
    model = make_model(tiny_pieces, train_convolutions=True)
    docs = [multilingual_pipeline().make_doc(text) for text in SENTENCES[:2]]
    weight = net_of(model).convolutions[1].first.bias
    direction = [np.random.default_rng(0).normal(size=(len(doc), WIDTH)) for doc in docs]

    def value() -> float:
        products = map(np.multiply, model.begin_update(docs)[0], direction)
        return sum(float(product.sum()) for product in products)

    _, backprop = model.begin_update(docs)
    backprop([rows.astype("f") for rows in direction])
    step = 1e-2
    for entry in range(3):
        with torch.no_grad():
            weight[entry] += step
            above = value()
            weight[entry] -= 2 * step
            below = value()
            weight[entry] += step
        assert weight.grad[entry].item() == pytest.approx(
            (above - below) / (2 * step), rel=0.05, abs=0.02
        )


@pytest.mark.parametrize("texts", [[""], [" ", "\n\n"], ["", "dog", ""]])
def test_docs_without_words_can_be_learned_from(tiny_pieces, texts):
    model = make_model(tiny_pieces, train_convolutions=True)
    docs = [multilingual_pipeline().make_doc(text) for text in texts]
    train_once(model, docs)
    assert_same_vectors(model.begin_update(docs)[0], model.predict(docs))


# Saving


@pytest.mark.parametrize("train_convolutions", [False, True])
def test_saved_models_are_the_same(tiny_pieces, docs, tmp_path, train_convolutions):
    model = make_model(tiny_pieces, train_convolutions=train_convolutions)
    train_once(model, docs)
    expected = model.predict(docs)
    saved = model.to_bytes()
    # As in a pipeline that is loaded: nothing is read from the folder of the weights.
    changes = {**SMALL, "dropout": 0.0, "train_convolutions": train_convolutions}
    loaded = PieceEncoder("nowhere", **changes).from_bytes(saved)
    again = PieceEncoder("nowhere", **changes).from_bytes(loaded.to_bytes())
    model.to_disk(tmp_path / "model")
    from_disk = PieceEncoder(None, **changes).from_disk(tmp_path / "model")
    for other in (loaded, again, from_disk, model.copy()):
        assert_same_vectors(other.predict(docs), expected, atol=0)
    # Sizes of torch's own format may differ with the names inside.
    assert state_of(again).keys() == state_of(model).keys()
    assert changed_weights(state_of(model), again) == set()
    train_once(loaded, docs)
    changed = changed_weights(state_of(again), loaded)
    assert any(name.startswith("convolutions.") for name in changed) == train_convolutions


def test_the_table_is_saved_as_bytes_and_small(tiny_pieces):
    model = make_model(tiny_pieces)
    table = net_of(model).table
    assert table.rows.dtype == torch.uint8 and not list(table.parameters())
    before = model.to_bytes()
    assert model.shims[0].compressed_table in before
    assert model.to_bytes() == before


@pytest.mark.parametrize("change", [lambda rows: rows[:-1], lambda rows: rows + b"x"])
def test_a_table_of_another_size_is_refused(tiny_pieces, change):
    shim = make_model(tiny_pieces).shims[0]
    saved = srsly.msgpack_loads(shim.to_bytes())
    assert zlib.decompress(saved["table"]) == shim.net.table.rows.numpy().tobytes()
    saved["table"] = zlib.compress(change(zlib.decompress(saved["table"])))
    with pytest.raises(ValueError):
        shim.from_bytes(srsly.msgpack_dumps(saved))


def test_an_empty_encoder_is_saved_as_such(tiny_pieces):
    empty = PieceEncoder(tiny_pieces, **SMALL)
    assert not PieceEncoder(tiny_pieces, **SMALL).from_bytes(empty.to_bytes()).shims[0].is_built


def test_the_config_of_the_loaded_pipeline_decides(tiny_pieces, docs):
    model = make_model(tiny_pieces)
    other = PieceEncoder(None, **SMALL, dropout=0.5).from_bytes(model.to_bytes())
    assert_same_vectors(other.predict(docs), model.predict(docs))
    first, second = (other.begin_update(docs[:1])[0][0] for _ in range(2))
    assert not np.allclose(first, second)


def test_a_new_initialization_keeps_what_was_pretrained(tiny_pieces, docs):
    trained = make_model(tiny_pieces, train_convolutions=True)
    train_once(trained, docs)
    model = PieceEncoder(None, **SMALL, train_convolutions=True).from_bytes(trained.to_bytes())
    before = state_of(model)
    model.initialize()
    changed = changed_weights(before, model)
    assert {"embeddings.0.weight", "mix.weight", "layers.0.weight"} <= changed
    assert not any(name.startswith(PRETRAINED) for name in changed)
    assert model.predict(docs)[0].shape == (len(docs[0]), WIDTH)
    saved = PieceEncoder(None, **SMALL, train_convolutions=True).from_bytes(model.to_bytes())
    assert_same_vectors(saved.predict(docs), model.predict(docs), atol=0)


def test_other_weights_replace_the_old_ones(tiny_pieces, tmp_path, docs):
    model = make_model(tiny_pieces)
    model.to_bytes()
    other = make_model(str(build_tiny_pieces(tmp_path, table_width=6, width=4, n_shards=2)))
    loaded = PieceEncoder(None, **SMALL).from_bytes(model.to_bytes()).from_bytes(other.to_bytes())
    assert loaded.shims[0].cfg["table_width"] == 6
    assert_same_vectors(loaded.predict(docs), other.predict(docs), atol=0)
    assert loaded.to_bytes() == other.to_bytes()


# Errors


def test_impossible_settings(tiny_pieces):
    assert code_of(lambda: PieceEncoder(tiny_pieces, hash_rows=[10, 10])) == "R300"
    assert code_of(lambda: PieceEncoder().initialize()) == "R331"


BAD_ARRAYS = {
    **{f"no {name}": {name: None} for name in ("lo", "q2", "proj3", "w2_5", "ln_g", "eps")},
    "fewer pieces": {f"q{shard}": np.zeros((5, 12), dtype=np.uint8) for shard in (1, 2, 3)},
    "code": {"lo": np.array([Path], dtype=object)},
}


@pytest.mark.parametrize("change", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_arrays_of_another_kind_are_refused(tmp_path, arrays, change):
    build_tiny_pieces(tmp_path)
    changed = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    np.savez(tmp_path / "weights.npz", **changed)
    assert code_of(lambda: make_model(str(tmp_path))) == "R332"


@pytest.mark.parametrize("name", ["weights.npz", "sp.model"])
@pytest.mark.parametrize("content", [None, b"", b"<html>404</html>", "half"])
def test_missing_and_damaged_weights_are_refused(tmp_path, name, content):
    path = build_tiny_pieces(tmp_path) / name
    whole = path.read_bytes()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    assert code_of(lambda: make_model(str(tmp_path))) == "R332"


# In a pipeline


def test_width_is_known_before_initialization(tiny_pieces):
    model = registry.resolve({"model": encoder_config(tiny_pieces)})["model"]
    assert model.get_dim("nO") == WIDTH


@pytest.fixture(scope="module")
def joint(tiny_pieces):
    """A pipeline that was trained for a few steps."""
    nlp = shared_encoder_pipeline(tiny_pieces)
    examples = sample_examples(nlp, ["eu", "en"])
    optimizer = Adam(0.01)
    nlp.initialize(lambda: examples, sgd=optimizer)
    for _ in range(12):
        train_step(nlp, optimizer, examples[:4])
    return nlp


def trees_of(docs) -> list[Any]:
    return [doc._.rst_json for doc in docs]


def reload(nlp: Language, path: Path) -> Language:
    nlp.to_disk(path)
    return spacy.load(path)


def replace_listeners(nlp: Language, path: Path) -> Language:
    """Give each component an encoder of its own."""
    nlp = reload(nlp, path)
    for name in ("edu_segmenter", "rst_parser"):
        nlp.replace_listeners("tok2vec", name, ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    return nlp


@pytest.mark.parametrize("copy", [reload, replace_listeners])
def test_copies_of_a_pipeline_do_the_same(joint, tmp_path, copy):
    expected = list(joint.pipe(TEXTS))
    copied = copy(joint, tmp_path / "first")
    for other in (copied, reload(copied, tmp_path / "second")):
        found = list(other.pipe(TEXTS))
        assert trees_of(found) == trees_of(expected)
        if copy is reload:
            assert_same_vectors([doc.tensor for doc in found], [doc.tensor for doc in expected], 0)


def test_pickled_and_in_other_processes(joint, tiny_pieces):
    # spaCy's listeners cannot be pickled after a training.
    nlp = shared_encoder_pipeline(tiny_pieces).from_bytes(joint.to_bytes())
    expected = trees_of(nlp.pipe(TEXTS))
    assert expected == trees_of(joint.pipe(TEXTS))
    assert trees_of(pickle.loads(pickle.dumps(nlp)).pipe(TEXTS)) == expected
    found = trees_of(nlp.pipe(TEXTS, n_process=2, batch_size=3))
    for tree, wanted in zip(found, expected, strict=True):
        assert (tree and tree["splits"]) == (wanted and wanted["splits"])
