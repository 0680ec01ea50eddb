"""Linear layers that are fast on all CPUs when nothing is learned: plain torch.

torch multiplies matrices with MKL, which on processors of other makers than its own uses half of
what they can do. Its other library, oneDNN, does not: there a layer takes half the time.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# The layer of oneDNN that torch's compiler uses, where this build of torch has it.
_onednn_linear: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
IS_ONEDNN_USED = _onednn_linear is not None and torch.backends.mkldnn.is_available()
SMALLEST_STEP = 8


def linear(inputs: Tensor, weight: Tensor, bias: Tensor, relu: bool = False) -> Tensor:
    """Apply a linear layer.

    inputs (Tensor): Float (n, n_inputs). When predicting, take few different n, see `round_up`.
    weight (Tensor): Float (n_outputs, n_inputs).
    bias (Tensor): Float (n_outputs,).
    relu (bool): Whether only what is positive is kept.
    RETURNS (Tensor): Float (n, n_outputs).
    """
    is_plain = inputs.device.type == "cpu" and inputs.dtype == torch.float32 and len(inputs)
    if IS_ONEDNN_USED and is_plain and not torch.is_grad_enabled():
        return _onednn_linear(inputs, weight, bias, "relu" if relu else "none", [], "")
    outputs = F.linear(inputs, weight, bias)
    return F.relu(outputs) if relu else outputs


def round_up(n: int) -> int:
    """Choose a number of rows: oneDNN compiles code for each that it meets, in about a
    millisecond. Of these numbers there are few, and none exceeds what was asked for by much.

    n (int): The rows that are needed.
    RETURNS (int): The rows to take, 0 for 0.
    """
    step = max(SMALLEST_STEP, 1 << max(n.bit_length() - 3, 0))
    return -(-n // step) * step
