from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from spacy_rst.encoder import pieces_linear
from spacy_rst.encoder.pieces_linear import linear, round_up


@pytest.mark.parametrize("is_onednn_used", [True, False])
@pytest.mark.parametrize("n_rows", [0, 1, 16, 33])
@pytest.mark.parametrize("relu", [False, True])
def test_it_is_a_linear_layer(n_rows, relu, is_onednn_used, monkeypatch):
    if is_onednn_used and not pieces_linear.IS_ONEDNN_USED:
        pytest.skip("This build of torch has no such layer")
    monkeypatch.setattr(pieces_linear, "IS_ONEDNN_USED", is_onednn_used)
    torch.manual_seed(0)
    layer, inputs = torch.nn.Linear(40, 24), torch.randn(n_rows, 40)
    expected = layer(inputs).relu() if relu else layer(inputs)
    assert (expected == 0).any() == (relu and n_rows > 0)
    with torch.inference_mode():
        found = linear(inputs, layer.weight, layer.bias, relu=relu)
    assert_close(found, expected, atol=1e-5, rtol=0)
    # Rows of a larger matrix that overlap, as windows of a convolution do.
    if n_rows > 1:
        overlapping = inputs.as_strided((n_rows - 1, 40), (20, 1))
        with torch.inference_mode():
            found = linear(overlapping, layer.weight, layer.bias)
        assert_close(found, layer(overlapping.clone()), atol=1e-5, rtol=0)


def test_gradients_go_through_it():
    layer = torch.nn.Linear(8, 4)
    inputs = torch.randn(5, 8, requires_grad=True)
    linear(inputs, layer.weight, layer.bias, relu=True).sum().backward()
    assert layer.weight.grad is not None and inputs.grad is not None


@given(st.integers(0, 5_000))
def test_rounded_numbers_are_large_enough_and_no_larger_than_need_be(n):
    assert n <= round_up(n) <= max(n * 1.25, n + pieces_linear.SMALLEST_STEP - 1)
    assert round_up(round_up(n)) == round_up(n)


def test_there_are_few_rounded_numbers():
    assert round_up(0) == 0
    assert len({round_up(n) for n in range(1, 1025)}) == 24
