"""Layers whose weights are 8-bit numbers, for inference on a CPU.

Each row of a weight matrix is rounded to whole numbers from -127 to 127, with a factor of its own.
`Int8Linear` rounds its inputs in the same way, so that the product is one of whole numbers, for
which CPUs have special instructions.
"""

from __future__ import annotations

import torch
from torch import nn

LARGEST = 127
SMALLEST_FACTOR = 1e-12


def round_rows(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Round the rows of a matrix to whole numbers of 8 bits, with the factor of each row in a
    column."""
    factors = values.abs().amax(1, keepdim=True).clamp_min_(SMALLEST_FACTOR * LARGEST).div_(LARGEST)
    return (values / factors).round_().to(torch.int8), factors


class Int8Linear(nn.Module):
    """A linear layer that was trained in float."""

    rounded: torch.Tensor
    factors: torch.Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        rounded, factors = round_rows(linear.weight.detach())
        self.register_buffer("rounded", rounded)
        self.register_buffer("factors", factors.flatten())
        self.bias = linear.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The trained layer's output, except for rounding."""
        rounded, factors = round_rows(inputs.flatten(end_dim=-2))
        # torch's product of 8-bit matrices has no public name yet; torchao calls it by this one.
        outputs = torch._int_mm(rounded, self.rounded.t()).float()
        outputs.mul_(factors).mul_(self.factors)
        if self.bias is not None:
            outputs.add_(self.bias)
        return outputs.unflatten(0, inputs.shape[:-1])


class Int8Embedding(nn.Module):
    """A table of vectors that was trained in float."""

    rounded: torch.Tensor
    factors: torch.Tensor

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        rounded, factors = round_rows(embedding.weight.detach())
        self.register_buffer("rounded", rounded)
        self.register_buffer("factors", factors)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The vectors of some rows."""
        return self.rounded[ids] * self.factors[ids]


def round_weights(transformer: nn.Module) -> None:
    """Replace all linear layers and the word-piece table of a transformer, in place."""
    for module in list(transformer.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child))
            elif isinstance(child, nn.Embedding) and name == "word_embeddings":
                setattr(module, name, Int8Embedding(child))
