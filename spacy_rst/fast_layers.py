"""Linear and recurrent layers that are fast on CPUs when nothing is learned: plain torch.

torch multiplies matrices with MKL, which on processors of other makers than its own uses half of
what they can do. Its other library, oneDNN, does not: there a layer takes half the time. It takes
half of that in bfloat16, where a CPU has instructions for it, and less still for few rows if the
weights lie in memory as it wants them. All this needs nothing but the trained weights: the layers
learn, and are saved, as torch's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .precision import has_fast_bfloat16

# The layers of oneDNN that torch's compiler uses, where this build of torch has them.
_onednn_linear: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
_pack_linear: Any = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
_pack_lstm: Any = getattr(torch.ops.mkldnn, "_reorder_mkldnn_rnn_layer_weight", None)
_onednn_lstm: Any = getattr(torch.ops.aten, "mkldnn_rnn_layer", None)
IS_ONEDNN_USED = torch.backends.mkldnn.is_available() and None not in (
    _onednn_linear,
    _pack_linear,
    _pack_lstm,
    _onednn_lstm,
)
LSTM_MODE = 2
SMALLEST_STEP = 8


def is_predicting(inputs: Tensor, layer: nn.Module | None = None) -> bool:
    """Tell whether the fast way can be taken.

    inputs (Tensor): What goes into a layer.
    layer (nn.Module | None): The layer. In training it works as ever, also where no gradients are
        wanted: what is learned there must fit what was read.
    RETURNS (bool): Whether nothing is learned, on a CPU.
    """
    is_fixed = not torch.is_grad_enabled() and not (layer is not None and layer.training)
    return IS_ONEDNN_USED and is_fixed and inputs.device.type == "cpu"


def number_format(bfloat16: bool) -> torch.dtype:
    """Choose the numbers for large products.

    bfloat16 (bool): Whether they may be rounded to bfloat16.
    RETURNS (torch.dtype): bfloat16, or floats where it is not wanted or would not be faster.
    """
    may_round = bfloat16 and IS_ONEDNN_USED and has_fast_bfloat16()
    return torch.bfloat16 if may_round else torch.float32


def set_bfloat16(net: nn.Module, bfloat16: bool) -> None:
    """Choose the numbers in which the fast layers of a net predict.

    net (nn.Module): The net.
    bfloat16 (bool): Whether products may be rounded to bfloat16, where that is faster.
    """
    for module in net.modules():
        if isinstance(module, (FastLinear, FastLSTM)):
            module.may_round = bfloat16


class PackedWeights:
    """Keeps what is made of weights until these change. Copies begin without it."""

    _kept: tuple[list[Tensor], list[tuple[int, int]], torch.dtype, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def clear(self) -> None:
        """Forget what was made."""
        self._kept = None

    def get(self, weights: Sequence[Tensor], dtype: torch.dtype, make: Callable[[], Any]) -> Any:
        """Make it, unless it is there.

        weights (Sequence[Tensor]): What it is made of.
        dtype (torch.dtype): The numbers in which it is made.
        make (Callable[[], Any]): Makes it.
        RETURNS (Any): What was made.
        """
        versions = [(weight.data_ptr(), weight._version) for weight in weights]
        kept = self._kept
        if kept is None or kept[1] != versions or kept[2] != dtype:
            # As long as the weights it was made of are held, no others can lie in their place.
            held = [weight.detach() for weight in weights]
            kept = self._kept = held, versions, dtype, make()
        return kept[3]


class FastLinear(nn.Linear):
    """A linear layer."""

    may_round = False

    def __init__(self, n_inputs: int, n_outputs: int, bias: bool = True) -> None:
        super().__init__(n_inputs, n_outputs, bias)
        self._packed = PackedWeights()

    def train(self, mode: bool = True) -> FastLinear:
        """Change between training, which may change weights unseen, and evaluation.

        mode (bool): Whether to train.
        RETURNS (FastLinear): The layer itself.
        """
        if mode:
            self._packed.clear()
        return super().train(mode)

    def forward(self, inputs: Tensor, relu: bool = False) -> Tensor:
        """Apply the layer.

        inputs (Tensor): (..., n_inputs), floats or what `number_format` chose.
        relu (bool): Whether only what is positive is kept.
        RETURNS (Tensor): (..., n_outputs), numbers of the same kind.
        """
        if not (is_predicting(inputs, self) and inputs.numel()):
            outputs = F.linear(inputs, self.weight, self.bias)
            return F.relu(outputs) if relu else outputs
        weights = [self.weight] if self.bias is None else [self.weight, self.bias]
        dtype = number_format(self.may_round)
        weight, bias = self._packed.get(weights, dtype, lambda: self._prepare(dtype))
        rows = inputs.reshape(-1, self.in_features)
        n_rows = len(rows)
        n_taken = round_up(n_rows)
        if n_taken > n_rows:
            taken = rows.new_zeros(n_taken, self.in_features, dtype=dtype)
            taken[:n_rows] = rows
            rows = taken
        else:
            rows = rows.to(dtype)
        outputs = _onednn_linear(rows, weight, bias, "relu" if relu else "none", [], "")
        outputs = outputs[:n_rows].to(inputs.dtype)
        return outputs.view(*inputs.shape[:-1], self.out_features)

    def _prepare(self, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        packed = _pack_linear(self.weight.detach().to(dtype), None)
        return packed, None if self.bias is None else self.bias.detach().to(dtype)


class FastLSTM(nn.LSTM):
    """A recurrent layer with biases and without projections."""

    may_round = False

    def __init__(self, *sizes: int, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self._packed = PackedWeights()

    def train(self, mode: bool = True) -> FastLSTM:
        """Change between training, which may change weights unseen, and evaluation.

        mode (bool): Whether to train.
        RETURNS (FastLSTM): The layer itself.
        """
        if mode:
            self._packed.clear()
        return super().train(mode)

    def run(
        self, inputs: Tensor, turn: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Run all layers over sequences, when `is_predicting`.

        inputs (Tensor): Float (n_steps, n_sequences, n_inputs).
        turn (Callable[[Tensor], Tensor] | None): Turns each sequence around and leaves its padding
            behind it. None where all have the same length.
        RETURNS (tuple[Tensor, list[Tensor]]): Float (n_steps, n_sequences, n_outputs), and the
            outputs of each layer and direction in the order of their steps.
        """
        dtype = number_format(self.may_round)
        weights = [weight for layer in self.all_weights for weight in layer]
        packed = self._packed.get(weights, dtype, lambda: self._prepare(dtype))
        states = inputs.to(dtype)
        start = states.new_zeros(1, states.shape[1], self.hidden_size)
        options: tuple[Any, ...] = ([], LSTM_MODE, self.hidden_size, 1, True, False, False, False)
        n_directions = 2 if self.bidirectional else 1
        in_order: list[Tensor] = []
        for number in range(self.num_layers):
            outputs = []
            for direction in range(n_directions):
                own = packed[number * n_directions + direction]
                turns = direction == 1 and turn is not None
                reads = turn(states) if turns and turn is not None else states
                goes_back = direction == 1 and turn is None
                output = _onednn_lstm(reads, *own, start, start, goes_back, *options)[0]
                in_order.append(output.flip(0) if goes_back else output)
                outputs.append(turn(output) if turns and turn is not None else output)
            states = torch.cat(outputs, dim=2) if len(outputs) > 1 else outputs[0]
        return states.to(inputs.dtype), in_order

    def _prepare(self, dtype: torch.dtype) -> list[tuple[Tensor, ...]]:
        packed = []
        for layer in self.all_weights:
            from_inputs, from_states, *biases = (weight.detach().to(dtype) for weight in layer)
            both = _pack_lstm(from_inputs, from_states, self.hidden_size, False, True, False, None)
            packed.append((*both, *biases))
        return packed


def linear(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply a linear layer whose weights are not kept in another form.

    inputs (Tensor): Float (n, n_inputs). When predicting, take few different n, see `round_up`.
    weight (Tensor): Float (n_outputs, n_inputs).
    bias (Tensor): Float (n_outputs,).
    RETURNS (Tensor): Float (n, n_outputs).
    """
    if is_predicting(inputs) and len(inputs):
        return _onednn_linear(inputs, weight, bias, "none", [], "")
    return F.linear(inputs, weight, bias)


def round_up(n: int) -> int:
    """Choose a number of rows: oneDNN compiles code for each that it meets, in about a
    millisecond. Of these numbers there are few, and none exceeds what was asked for by much.

    n (int): The rows that are needed.
    RETURNS (int): The rows to take, 0 for 0.
    """
    step = max(SMALLEST_STEP, 1 << max(n.bit_length() - 3, 0))
    return -(-n // step) * step
