"""What the torch nets with a recurrent encoder share: plain torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from .errors import Errors, RstError

Net = TypeVar("Net", bound="RecurrentNet")


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
                raise RstError(Errors.R250.format(name=name, size=size))
        if hidden_width % 2:
            raise RstError(Errors.R251.format(width=hidden_width))

    def set_dropout(self, rate: float) -> None:
        """Change the dropout rate everywhere.

        rate (float): From 0 (none) to less than 1.
        RAISES (RstError): For another rate.
        """
        if not 0 <= rate < 1:
            raise RstError(Errors.R253.format(rate=rate))
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
    RETURNS (tuple[list[Tensor], Tensor]): The outputs of each sequence, and the last states.
    """
    outputs, last = layer(pack_sequence(list(sequences), enforce_sorted=False), state)
    return unpack_sequence(outputs), last
