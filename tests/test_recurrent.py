"""Sequences of different lengths in recurrent layers: padded ones learn as packed ones do."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from spacy_rst import recurrent
from spacy_rst.errors import RstError
from spacy_rst.recurrent import run_packed
from spacy_rst.segmenter.net import EduNet

LENGTHS = [5, 1, 7, 7, 2]


@pytest.mark.parametrize(
    "name, value", [("hidden_width", 7), ("hidden_width", 0), ("layers", 0), ("dropout", 1.0)]
)
def test_sizes_and_rates_that_make_no_net_are_refused(name, value):
    sizes = {"token_width": 6, "hidden_width": 8, "layers": 1, "dropout": 0.0} | {name: value}
    with pytest.raises(RstError, match=name):
        EduNet(**sizes).set_dropout(sizes["dropout"])


def learn(layer: nn.RNNBase, inputs: Tensor) -> list[Tensor]:
    """What comes out of a layer, the last outputs, and all gradients."""
    inputs = inputs.detach().requires_grad_()
    layer.zero_grad()
    outputs, last = run_packed(layer, inputs.split(LENGTHS))
    assert [len(output) for output in outputs] == LENGTHS
    joined = torch.cat(outputs)
    (joined.square().sum() + (3 * last).sin().sum()).backward()
    return [joined, last, inputs.grad, *(weight.grad.clone() for weight in layer.parameters())]


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_padded_lstms_learn_as_packed_ones(n_layers, bidirectional, monkeypatch):
    torch.manual_seed(0)
    layer = nn.LSTM(3, 4, n_layers, bidirectional=bidirectional)
    inputs = torch.randn(sum(LENGTHS), 3)
    with monkeypatch.context() as patch:
        patch.setattr(recurrent, "_run_padded", None)
        with pytest.raises(TypeError):
            learn(layer, inputs)
        patch.setattr(recurrent, "MAX_PADDING", 1)
        packed = learn(layer, inputs)
    padded = learn(layer, inputs)
    for value, expected in zip(padded, packed, strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-6)


def test_dropout_acts_between_the_layers_in_training_only():
    layer = nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.5)
    inputs = torch.randn(sum(LENGTHS), 3)
    assert not torch.equal(learn(layer, inputs)[0], learn(layer, inputs)[0])
    layer.eval()
    assert torch.equal(learn(layer, inputs)[0], learn(layer, inputs)[0])


def test_other_layers_and_to_predict_very_different_lengths_are_packed(monkeypatch):
    monkeypatch.setattr(recurrent, "_run_padded", None)
    inputs = torch.randn(sum(LENGTHS), 3)
    learn(nn.GRU(3, 4), inputs)
    learn(nn.LSTM(3, 4, proj_size=2), inputs)
    layer = nn.LSTM(3, 4)
    with torch.no_grad():
        run_packed(layer, inputs.split([16, 1, 1, 1, 1, 1, 1]))
        with pytest.raises(TypeError):
            run_packed(layer, inputs.split([11, 11]))
