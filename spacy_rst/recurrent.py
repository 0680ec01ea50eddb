"""What the torch nets with a recurrent encoder share: plain torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence, unpack_sequence

from .errors import Errors, RstError
from .fast_layers import FastLSTM, is_predicting

Net = TypeVar("Net", bound="RecurrentNet")
# A batch of sequences is padded to at most so many times its size: when learning, and otherwise.
MAX_PADDING = 8
MAX_PADDING_WHEN_PREDICTING = 2


class RecurrentNet(nn.Module):
    """A net around a bidirectional recurrent encoder, each direction of which gives half of the
    hidden width."""

    encoder: nn.RNNBase

    @staticmethod
    def check_sizes(*, hidden_width: int, **sizes: int) -> None:
        """Refuse sizes that make no network.

        hidden_width (int): The encoder's width.
        **sizes (int): The other sizes of the net.
        RAISES (RstError): For a size below 1 and an odd hidden width.
        """
        for name, size in {"hidden_width": hidden_width, **sizes}.items():
            if size < 1:
                raise RstError(Errors.R300.format(name=name, wanted="at least 1", value=size))
        if hidden_width % 2:  # each direction gives half of it
            wanted = "an even number"
            raise RstError(
                Errors.R300.format(name="hidden_width", wanted=wanted, value=hidden_width)
            )

    def set_dropout(self, rate: float) -> None:
        """Change the dropout rate everywhere.

        rate (float): From 0 (none) to less than 1.
        RAISES (RstError): For another rate.
        """
        if not 0 <= rate < 1:
            wanted = "at least 0 and less than 1"
            raise RstError(Errors.R300.format(name="dropout", wanted=wanted, value=rate))
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = rate
        # Between its layers the encoder drops by itself. With a single layer there is no between.
        self.encoder.dropout = rate if self.encoder.num_layers > 1 else 0.0

    def train(self: Net, mode: bool = True) -> Net:
        """Change between training and evaluation.

        thinc's optimizer puts every weight in a place of its own, but cuDNN reads those of a
        recurrent layer in one piece: they are put together here, before either begins.

        mode (bool): Whether to train.
        RETURNS (RecurrentNet): The net itself.
        """
        if mode == self.training:  # after each update the weights are put together, too
            return self
        for module in self.modules():
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()
        return super().train(mode)


def run_packed(
    layer: nn.RNNBase, sequences: Sequence[Tensor], state: Tensor | None = None
) -> tuple[list[Tensor], Tensor]:
    """Run sequences of different lengths through a recurrent layer.

    layer (nn.RNNBase): The layer.
    sequences (Sequence[Tensor]): At least one sequence, and none empty.
    state (Tensor | None): The first states.
    RETURNS (tuple[list[Tensor], Tensor]): The outputs of each sequence, and the last ones of each
        layer and direction.
    """
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
    """Run each direction by itself: the way back over sequences that are turned around, so that
    padding always follows the end."""
    if isinstance(layer, FastLSTM) and is_predicting(sequences[0], layer):
        return _predict_padded(layer, sequences)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    columns = torch.arange(len(sequences))
    steps = torch.arange(int(lengths.max())).unsqueeze(1)
    turned = torch.where(steps < lengths, lengths - 1 - steps, steps)
    states = pad_sequence(list(sequences))
    start = states.new_zeros(1, len(sequences), layer.hidden_size)
    n_directions = 2 if layer.bidirectional else 1
    last = []
    for number in range(layer.num_layers):
        if number:
            states = nn.functional.dropout(states, layer.dropout, layer.training)
        outputs = []
        for direction in range(n_directions):
            weights = tuple(layer.all_weights[number * n_directions + direction])
            inputs = states[turned, columns] if direction else states
            options = (True, 1, 0.0, layer.training, False, False)
            output, _, _ = torch.lstm(inputs, (start, start), weights, *options)
            last.append(output[lengths - 1, columns])
            outputs.append(output[turned, columns] if direction else output)
        states = torch.cat(outputs, dim=2)
    rows = zip(states.unbind(1), lengths.tolist(), strict=True)
    return [row[:length] for row, length in rows], torch.stack(last)


def _predict_padded(layer: FastLSTM, sequences: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """What `_run_padded` does, with a layer that is faster when nothing is learned."""
    lengths = [len(sequence) for sequence in sequences]
    if len(set(lengths)) == 1:
        states, in_order = layer.run(torch.stack(list(sequences), dim=1))
        return list(states.unbind(1)), torch.stack([output[-1] for output in in_order]).to(
            states.dtype
        )
    ends, columns = torch.tensor(lengths), torch.arange(len(lengths))
    steps = torch.arange(max(lengths)).unsqueeze(1)
    turned = torch.where(steps < ends, ends - 1 - steps, steps) * len(lengths) + columns
    rows = turned.flatten()

    def turn(states: Tensor) -> Tensor:
        return states.flatten(0, 1).index_select(0, rows).view_as(states)

    states, in_order = layer.run(pad_sequence(list(sequences)), turn)
    outputs = [row[:length] for row, length in zip(states.unbind(1), lengths, strict=True)]
    return outputs, torch.stack([output[ends - 1, columns] for output in in_order]).to(states.dtype)
