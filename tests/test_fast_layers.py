"""Layers that are fast when nothing is learned: they compute what torch's own do."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from spacy_rst import fast_layers
from spacy_rst.fast_layers import FastLinear, FastLSTM, linear, round_up
from spacy_rst.recurrent import run_packed

EXACT = {"atol": 1e-5, "rtol": 0}
LENGTHS = [5, 4, 7, 7, 6]


@pytest.fixture(params=[True, False])
def onednn(request, monkeypatch):
    if request.param and not fast_layers.IS_ONEDNN_USED:
        pytest.skip("This build of torch has no such layers")
    monkeypatch.setattr(fast_layers, "IS_ONEDNN_USED", request.param)


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(0,), (1,), (16,), (33,), (3, 5)])
@pytest.mark.parametrize("relu", [False, True])
def test_it_is_a_linear_layer(shape, relu, bias):
    torch.manual_seed(0)
    layer, inputs = FastLinear(40, 24, bias=bias).eval(), torch.randn(*shape, 40)
    expected = nn.functional.linear(inputs, layer.weight, layer.bias)
    with torch.inference_mode():
        found = layer(inputs, relu=relu)
    assert_close(found, expected.relu() if relu else expected, **EXACT)


@pytest.mark.usefixtures("onednn")
def test_rows_may_overlap():
    """As the windows of a convolution do."""
    layer = FastLinear(40, 24).eval()
    overlapping = torch.randn(33, 40).as_strided((32, 40), (20, 1))
    expected = nn.functional.linear(overlapping.clone(), layer.weight, layer.bias)
    with torch.inference_mode():
        assert_close(layer(overlapping), expected, **EXACT)
        assert_close(linear(overlapping, layer.weight, layer.bias), expected, **EXACT)


def test_gradients_go_through_it():
    layer = FastLinear(8, 4)
    inputs = torch.randn(5, 8, requires_grad=True)
    layer(inputs, relu=True).sum().backward()
    assert layer.weight.grad is not None and inputs.grad is not None


def test_it_learns_as_torchs_own_layers():
    """Also where no gradients are wanted, so that what is learned fits what was read."""
    layer, inputs = FastLinear(6, 4), torch.randn(9, 6)
    layer(inputs)
    with torch.inference_mode():
        assert torch.equal(layer(inputs), nn.functional.linear(inputs, layer.weight, layer.bias))
    assert layer._packed._kept is None


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("lengths", [LENGTHS, [6, 6], [9]])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_it_is_a_recurrent_layer(lengths, bidirectional, n_layers):
    torch.manual_seed(0)
    layer = FastLSTM(3, 4, n_layers, bidirectional=bidirectional).eval()
    sequences = torch.randn(sum(lengths), 3).split(lengths)
    with torch.enable_grad():
        expected, expected_last = run_packed(layer, sequences)
    with torch.inference_mode():
        found, last = run_packed(layer, sequences)
    assert_close(found, expected, **EXACT)
    assert_close(last, expected_last, **EXACT)


@pytest.mark.parametrize("make", [lambda: FastLinear(3, 4), lambda: FastLSTM(3, 4)])
@pytest.mark.parametrize("in_place", [True, False])
def test_changed_weights_are_used(make, in_place):
    layer, inputs = make().eval(), torch.randn(4, 3)

    def run():
        with torch.inference_mode():
            if isinstance(layer, FastLinear):
                return layer(inputs)
            return run_packed(layer, [inputs])[0][0]

    before = run()
    if in_place:  # as an optimizer does that knows of nothing but the memory
        layer.train()
        for weight in layer.parameters():
            weight.detach().numpy()[:] += 1
        layer.eval()
    else:
        for weight in layer.parameters():
            weight.data = weight.data + 1
    after = run()
    assert not torch.allclose(before, after, atol=1e-3)
    copied = copy.deepcopy(layer)
    assert copied._packed._kept is None
    layer = copied
    assert_close(run(), after)


@given(st.integers(0, 5_000))
def test_rounded_numbers_are_large_enough_and_no_larger_than_need_be(n):
    assert n <= round_up(n) <= max(n * 1.25, n + fast_layers.SMALLEST_STEP - 1)
    assert round_up(round_up(n)) == round_up(n)


def test_there_are_few_rounded_numbers():
    assert round_up(0) == 0
    assert len({round_up(n) for n in range(1, 1025)}) == 24
