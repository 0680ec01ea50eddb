"""What the torch nets with a recurrent encoder share: plain torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence, unpack_sequence

from .errors import Errors, RstError
from .fast_layers import FastLSTM, is_predicting

# A batch of sequences is padded to at most so many times its size: when learning, and otherwise.
MAX_PADDING = 8
MAX_PADDING_WHEN_PREDICTING = 2


class RecurrentNet(nn.Module):
    """A net around a bidirectional recurrent encoder, each direction of which gives half of the
    hidden width. Sizes that make no network are refused: below 1, and an odd hidden width.

    `own_dropout` is the rate that its config gives it, None if it takes that of the pipeline."""

    encoder: nn.RNNBase

    def __init__(self, own_dropout: float | None, *, hidden_width: int, **sizes: int) -> None:
        super().__init__()
        self.own_dropout = own_dropout
        for name, size in {"hidden_width": hidden_width, **sizes}.items():
            if size < 1:
                raise RstError(Errors.R300.format(name=name, wanted="at least 1", value=size))
        if hidden_width % 2:  # each direction gives half of it
            wanted = "an even number"
            raise RstError(
                Errors.R300.format(name="hidden_width", wanted=wanted, value=hidden_width)
            )

    def set_dropout(self, rate: float) -> None:
        """Change the dropout rate everywhere."""
        if not 0 <= rate < 1:
            wanted = "at least 0 and less than 1"
            raise RstError(Errors.R300.format(name="dropout", wanted=wanted, value=rate))
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = rate
        # Between its layers the encoder drops by itself. With a single layer there is no between.
        self.encoder.dropout = rate if self.encoder.num_layers > 1 else 0.0


def run_packed(
    layer: nn.RNNBase, sequences: Sequence[Tensor], state: Tensor | None = None
) -> tuple[list[Tensor], Tensor]:
    """Run sequences of different lengths, none empty, through a recurrent layer. Returns the
    outputs of each sequence, and the last ones of each layer and direction."""
    if state is None and _is_faster_padded(layer, sequences):
        return _run_padded(layer, sequences)
    outputs, last = layer(pack_sequence(list(sequences), enforce_sorted=False), state)
    return unpack_sequence(outputs), last[0] if isinstance(last, tuple) else last


def _is_faster_padded(layer: nn.RNNBase, sequences: Sequence[Tensor]) -> bool:
    """Tell whether to avoid torch's packed sequences. On a CPU there is a fast kernel for LSTMs
    that takes padded ones, and the gradient of packed ones is a tensor of the size of all for each
    of the steps."""
    if not isinstance(layer, nn.LSTM) or layer.proj_size or not layer.bias:
        return False
    if sequences[0].device.type != "cpu":
        return False
    lengths = [len(sequence) for sequence in sequences]
    most = MAX_PADDING if torch.is_grad_enabled() else MAX_PADDING_WHEN_PREDICTING
    return max(lengths) * len(lengths) <= most * sum(lengths)


def _run_padded(layer: nn.RNNBase, sequences: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """Run each direction by itself: the second over sequences that are reversed, so that padding
    always follows the end."""
    lengths = [len(sequence) for sequence in sequences]
    ends, columns = torch.tensor(lengths), torch.arange(len(lengths))
    states = pad_sequence(list(sequences))
    steps = torch.arange(len(states)).unsqueeze(1)
    rows = torch.where(steps < ends, ends - 1 - steps, steps) * len(lengths) + columns

    def turn(states: Tensor) -> Tensor:
        return states.flatten(0, 1).index_select(0, rows.flatten()).view_as(states)

    if isinstance(layer, FastLSTM) and is_predicting(states, layer):
        states, in_order = layer.run(states, turn if len(set(lengths)) > 1 else None)
    else:
        states, in_order = _run_directions(layer, states, turn)
    outputs = [row[:length] for row, length in zip(states.unbind(1), lengths, strict=True)]
    return outputs, torch.stack([output[ends - 1, columns] for output in in_order]).to(states.dtype)


def _run_directions(
    layer: nn.RNNBase, states: Tensor, turn: Callable[[Tensor], Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """What `FastLSTM.run` does, for learning."""
    start = states.new_zeros(1, states.shape[1], layer.hidden_size)
    n_directions = 2 if layer.bidirectional else 1
    options = (True, 1, 0.0, layer.training, False, False)
    in_order = []
    for number in range(layer.num_layers):
        if number:
            states = nn.functional.dropout(states, layer.dropout, layer.training)
        outputs = []
        for direction in range(n_directions):
            weights = tuple(layer.all_weights[number * n_directions + direction])
            inputs = turn(states) if direction else states
            output, _, _ = torch.lstm(inputs, (start, start), weights, *options)
            in_order.append(output)
            outputs.append(turn(output) if direction else output)
        states = torch.cat(outputs, dim=2)
    return states, in_order
