"""Linear and recurrent layers that are fast on a CPU when predicting: plain torch.

torch multiplies matrices with MKL, which is slow on CPUs of other makers than its own. oneDNN,
torch's other library, is not, and it is faster still for few rows if the weights lie in memory in
its own order. These layers learn, and are saved, as torch's own do; where oneDNN's functions are
missing, they compute as those do, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# The oneDNN functions that torch's compiler calls, which have no public names.
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
    """Whether oneDNN can be used: without gradients, on a CPU, with the layer not in training
    mode."""
    is_fixed = not torch.is_grad_enabled() and not (layer is not None and layer.training)
    return IS_ONEDNN_USED and is_fixed and inputs.device.type == "cpu"


class PackedWeights:
    """Keeps what was computed from weights until these change. Copies start empty."""

    _kept: tuple[list[Tensor], list[tuple[int, int]], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def clear(self) -> None:
        """Forget what was computed."""
        self._kept = None

    def get(self, weights: Sequence[Tensor], compute: Callable[[], Any]) -> Any:
        """What `compute` makes of these weights, computed only if it is not there."""
        versions = [(weight.data_ptr(), weight._version) for weight in weights]
        if self._kept is None or self._kept[1] != versions:
            # While these weights are held, no others can take their place in memory.
            held = [weight.detach() for weight in weights]
            self._kept = held, versions, compute()
        return self._kept[2]


class _PackingLayer(nn.Module):
    """A layer that keeps its weights in oneDNN's order, too."""

    def __init__(self, *sizes: Any, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self._packed = PackedWeights()

    def train(self, mode: bool = True) -> Any:
        """Change between training and evaluation. thinc's optimizers write to the memory of
        weights, which torch does not notice."""
        if mode:
            self._packed.clear()
        return super().train(mode)


class FastLinear(_PackingLayer, nn.Linear):
    """A linear layer."""

    def __init__(self, n_inputs: int, n_outputs: int, bias: bool = True) -> None:
        super().__init__(n_inputs, n_outputs, bias)

    def forward(self, inputs: Tensor, relu: bool = False) -> Tensor:
        """Apply the layer to float (..., n_inputs). With `relu`, negative outputs become zero."""
        if not (is_predicting(inputs, self) and inputs.numel()):
            outputs = F.linear(inputs, self.weight, self.bias)
            return F.relu(outputs) if relu else outputs
        packed = self._packed.get([self.weight], self._pack)
        rows = inputs.reshape(-1, self.in_features)
        n_rows = len(rows)
        n_taken = round_up(n_rows)
        if n_taken > n_rows:
            rows = F.pad(rows, (0, 0, 0, n_taken - n_rows))
        outputs = _onednn_linear(rows, packed, self.bias, "relu" if relu else "none", [], "")
        return outputs[:n_rows].view(*inputs.shape[:-1], self.out_features)

    def _pack(self) -> Tensor:
        return _pack_linear(self.weight.detach(), None)


class FastLSTM(_PackingLayer, nn.LSTM):
    """A recurrent layer with biases and without projections."""

    def run(
        self, inputs: Tensor, turn: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Run all layers over sequences, float (n_steps, n_sequences, n_inputs), when
        `is_predicting`. `turn` reverses each sequence and leaves its padding behind it; None where
        all have the same length.

        Gives float (n_steps, n_sequences, n_outputs), and the outputs of each layer and direction
        in the order of their steps.
        """
        weights = [weight for layer in self.all_weights for weight in layer]
        packed = self._packed.get(weights, self._pack)
        states = inputs
        start = states.new_zeros(1, states.shape[1], self.hidden_size)
        options: tuple[Any, ...] = ([], LSTM_MODE, self.hidden_size, 1, True, False, False, False)
        n_directions = 2 if self.bidirectional else 1
        in_order: list[Tensor] = []
        for number in range(self.num_layers):
            outputs = []
            for direction in range(n_directions):
                own = packed[number * n_directions + direction]
                reverse = turn if direction else None
                reads = reverse(states) if reverse else states
                goes_back = direction == 1 and reverse is None
                output = _onednn_lstm(reads, *own, start, start, goes_back, *options)[0]
                in_order.append(output.flip(0) if goes_back else output)
                outputs.append(reverse(output) if reverse else output)
            states = torch.cat(outputs, dim=2) if len(outputs) > 1 else outputs[0]
        return states, in_order

    def _pack(self) -> list[tuple[Tensor, ...]]:
        packed = []
        for layer in self.all_weights:
            from_inputs, from_states, *biases = (weight.detach() for weight in layer)
            both = _pack_lstm(from_inputs, from_states, self.hidden_size, False, True, False, None)
            packed.append((*both, *biases))
        return packed


def linear(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply a linear layer whose weights are not packed. When predicting, let inputs, float (n,
    n_inputs), have few different n: see `round_up`."""
    if is_predicting(inputs) and len(inputs):
        return _onednn_linear(inputs, weight, bias, "none", [], "")
    return F.linear(inputs, weight, bias)


def round_up(n: int) -> int:
    """Choose a number of rows, at least n. oneDNN compiles code for each number that it meets,
    which takes about a millisecond; these are few, and exceed what is needed by a quarter at
    most."""
    step = max(SMALLEST_STEP, 1 << max(n.bit_length() - 3, 0))
    return -(-n // step) * step
