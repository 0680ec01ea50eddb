"""Names of other packages that are not public, and that we use: each is there, and does what we
expect. CONTRIBUTING.md lists them with the reasons. A failure says which release took one away."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import pytest
import torch
from thinc.api import PyTorchShim
from torch.testing import assert_close


class PrivateName(NamedTuple):
    """A name, the package it belongs to, where we use it, and what we expect of it."""

    name: str
    package: str
    used_in: str
    check: Callable[[], None]


def check_linear() -> None:
    inputs, weight, bias = torch.randn(8, 4), torch.randn(3, 4), torch.randn(3)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    found = torch.ops.mkldnn._linear_pointwise(inputs, packed, bias, "relu", [], "")
    assert_close(found, torch.nn.functional.linear(inputs, weight, bias).relu())


def check_lstm() -> None:
    layer, inputs, start = torch.nn.LSTM(4, 3), torch.randn(5, 2, 4), torch.zeros(1, 2, 3)
    from_inputs, from_states, *biases = (weight.detach() for weight in layer.parameters())
    packed = torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(
        from_inputs, from_states, 3, False, True, False, None
    )
    options = ([], 2, 3, 1, True, False, False, False)
    found = torch.ops.aten.mkldnn_rnn_layer(inputs, *packed, *biases, start, start, False, *options)
    assert_close(found[0], layer(inputs)[0].detach())


def check_int_mm() -> None:
    left, right = (torch.randint(-127, 128, shape, dtype=torch.int8) for shape in [(32, 8), (8, 8)])
    assert_close(torch._int_mm(left, right), left.int() @ right.int())


def check_version() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    before = weight._version
    with torch.no_grad():
        weight += 1
    assert weight._version > before


def check_shim_model() -> None:
    net = torch.nn.Linear(1, 1)
    assert PyTorchShim(net)._model is net


# Add the names that other rooms use, too.
NAMES = [
    PrivateName("torch.ops.mkldnn._linear_pointwise", "torch", "fast_layers.py", check_linear),
    PrivateName("torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight", "torch", "fast_layers.py",
                check_lstm),
    PrivateName("torch._int_mm", "torch", "encoder/int8_net.py", check_int_mm),
    PrivateName("torch.Tensor._version", "torch", "fast_layers.py", check_version),
    PrivateName("thinc.api.PyTorchShim._model", "thinc", "shims.py", check_shim_model),
]  # fmt: skip


@pytest.mark.parametrize("entry", NAMES, ids=lambda entry: entry.name)
@torch.no_grad()
def test_it_is_there(entry):
    if "mkldnn" in entry.name and not torch.backends.mkldnn.is_available():
        pytest.skip("this build of torch is without oneDNN")
    try:
        entry.check()
    except Exception as error:
        release = f"{entry.package} {version(entry.package)}"
        pytest.fail(f"{release} has changed {entry.name}: adapt {entry.used_in}. {error!r}")
