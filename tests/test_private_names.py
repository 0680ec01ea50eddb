"""Names of other packages that are not public, and that we use: each is there, and does what we
expect. CONTRIBUTING.md lists them with the reasons. A failure says which release took one away."""

from __future__ import annotations

from importlib.metadata import version

import pytest
import torch
from thinc.api import PyTorchShim
from torch.testing import assert_close


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


# The name, where we use it, and what we expect of it. Add the names that other rooms use, too.
NAMES = [
    ("torch.ops.mkldnn._linear_pointwise", "fast_layers.py", check_linear),
    ("torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight", "fast_layers.py", check_lstm),
    ("torch._int_mm", "encoder/int8_net.py", check_int_mm),
    ("torch.Tensor._version", "fast_layers.py", check_version),
    ("thinc.api.PyTorchShim._model", "shims.py", check_shim_model),
]


@pytest.mark.parametrize(("name", "used_in", "check"), NAMES)
@torch.no_grad()
def test_it_is_there(name, used_in, check):
    if "mkldnn" in name and not torch.backends.mkldnn.is_available():
        pytest.skip("this build of torch is without oneDNN")
    try:
        check()
    except Exception as error:
        package = name.split(".")[0]
        release = f"{package} {version(package)}"
        pytest.fail(f"{release} has changed {name}: adapt {used_in}. {error!r}")
