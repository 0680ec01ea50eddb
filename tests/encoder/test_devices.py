"""Whole pipelines on each device: train with averages, save, load and parse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import spacy
import torch
from spacy.language import Language
from thinc.api import Adam, set_gpu_allocator

from tests.encoder.xlmr import train_step
from tests.parser.pipelines import TRANSFORMER_LISTENER
from tests.segmenter.pipelines import joint_pipeline, sample_examples
from tests.tiny_models import SENTENCES

ENCODERS = {
    "tok2vec": {
        "@architectures": "spacy_rst.PieceEncoder.v1",
        "width": 10,
        "hash_rows": [40, 20, 30, 20],
        "hash_width": 4,
    },
    "transformer": {"@architectures": "spacy_rst.XlmrModel.v1", "trainable_layers": 1},
}
LISTENERS = {
    "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": 10, "upstream": "*"},
    "transformer": TRANSFORMER_LISTENER,
}


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "cpu":
        yield "cpu"
        return
    if not torch.cuda.is_available() or not spacy.prefer_gpu():
        pytest.skip("needs a GPU with CUDA, and cupy")
    set_gpu_allocator("pytorch")
    yield "cuda"
    spacy.require_cpu()


def nets(nlp: Language) -> list[torch.nn.Module]:
    models = [pipe.model for _, pipe in nlp.pipeline if hasattr(pipe, "model")]
    return [shim.net for model in models for node in model.walk() for shim in node.shims]


def weights_of(nlp: Language) -> list[torch.Tensor]:
    """Copies of all weights, each of which tells whether it learns."""
    weights = (weight for net in nets(nlp) for weight in net.parameters())
    return [weight.detach().clone().requires_grad_(weight.requires_grad) for weight in weights]


def check_rnns(nlp: Language) -> None:
    """The weights of each RNN lie in one block, which cuDNN would otherwise copy in every call."""
    modules = [module for net in nets(nlp) for module in net.modules()]
    rnns = [module for module in modules if isinstance(module, torch.nn.RNNBase)]
    assert rnns
    for rnn in rnns:
        assert len({weight.untyped_storage().data_ptr() for weight in rnn.parameters()}) == 1


@pytest.mark.parametrize("encoder, splitter", [("tok2vec", "span"), ("transformer", "pointer")])
def test_a_pipeline_learns_is_saved_and_parses(
    device, encoder, splitter, tiny_pieces, tiny_xlmr, tmp_path
):
    source = {"weights": tiny_pieces} if encoder == "tok2vec" else {"name": tiny_xlmr}
    nlp = joint_pipeline(encoder, ENCODERS[encoder] | source, LISTENERS[encoder], splitter)
    examples = sample_examples(nlp, ["en"])[:2]
    optimizer = Adam(0.01, use_averages=True)
    nlp.initialize(lambda: examples, sgd=optimizer)
    history = []
    for _ in range(6):
        history.append(train_step(nlp, optimizer, examples))
        if device == "cuda":
            check_rnns(nlp)
    for name in ("edu_segmenter", "rst_parser"):
        assert history[-1][name] < history[0][name]
    assert history[0][encoder] > 0
    assert all(weight.device.type == device for net in nets(nlp) for weight in net.parameters())
    trained = weights_of(nlp)
    with nlp.use_params(optimizer.averages):
        averaged = weights_of(nlp)
        expected = [doc._.rst_json for doc in nlp.pipe(SENTENCES)]
        nlp.to_disk(tmp_path)
        if device == "cuda":
            check_rnns(nlp)
    # What learns has averages, which are saved and go no further.
    for one, other in zip(trained, averaged, strict=True):
        assert torch.equal(one, other) != one.requires_grad
    assert all(map(torch.equal, weights_of(nlp), trained))
    loaded = spacy.load(tmp_path)
    assert all(map(torch.equal, weights_of(loaded), averaged))
    found = [doc._.rst_json for doc in loaded.pipe(SENTENCES)]
    assert all(tree is not None for tree in found)
    assert [tree["splits"] for tree in found] == [tree["splits"] for tree in expected]
    assert all(weight.device.type == device for net in nets(loaded) for weight in net.parameters())
