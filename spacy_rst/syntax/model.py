"""The syntactic net as a thinc model: from Docs to token vectors that represent syntax, around the
torch net in `net.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, xp2torch
from thinc.types import Floats2d
from torch import Tensor

from ..head import (
    get_device,
    get_net,
    learn_tokens,
    make_head,
    predict_tokens,
    split_rows,
    trim,
    word_range,
)
from .net import ParsedSyntax, SyntaxNet
from .sentence_chunks import cut_at_ends, sentence_ends

# Texts are read in chunks of at most so many tokens, that end with a sentence as far as marks tell.
# No head is looked for in another chunk.
CHUNK_TOKENS = 128


class SyntaxOutput(NamedTuple):
    """What a batch gives in training: the token vectors of each Doc, the lengths of its chunks;
    what makes the loss of the targets (3, n_tokens), and what takes the gradients of the vectors
    and, where there is one, the loss."""

    vectors: list[Floats2d]
    lengths: list[list[int]]
    find_loss: Callable[[np.ndarray], Tensor]
    backprop: Callable[..., list[Doc]]


@registry.architectures("spacy_rst.Syntax.v1")
def build_syntax(
    tok2vec: Model[list[Doc], list[Floats2d]],
    width: int = 320,
    hidden_width: int = 320,
    layers: int = 1,
    arc_width: int = 128,
    label_width: int = 64,
    dropout: float | None = 0.33,
) -> Model[list[Doc], list[Floats2d]]:
    """A BiLSTM with a tagger and a biaffine dependency parser, whose findings are mixed into the
    token vectors.

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `tok2vec` or
        `transformer` component, or an encoder of its own.
    width (int): Width of the vectors that go out.
    hidden_width (int): Width of the BiLSTM's output, half of it from each direction.
    layers (int): Layers of the BiLSTM.
    arc_width (int): Width of the inputs of the biaffine scorer of heads.
    label_width (int): Width of the inputs of the labeller.
    dropout (float | None): Dropout rate in training, whatever the rest of the pipeline has. None
        takes the rate that `update` is called with, `[training] dropout`.
    RETURNS (Model[list[Doc], list[Floats2d]]): The model.
    """
    return make_head(
        "syntax",
        _forward,
        tok2vec,
        partial(
            SyntaxNet,
            width=width,
            hidden_width=hidden_width,
            layers=layers,
            arc_width=arc_width,
            label_width=label_width,
            dropout=dropout,
        ),
        get_sizes=_count_tags_and_labels,
        n_outputs=width,
        # Set by the component.
        n_tags=1,
        n_labels=1,
    )


def _count_tags_and_labels(model: Model) -> dict[str, int]:
    return {name: model.attrs[name] for name in ("n_tags", "n_labels")}


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[Sequence[Floats2d]], list[Doc]]]:
    docs = list(docs)
    if not is_train:
        return predict_syntax(model, docs)[0], lambda d_vectors: docs
    output = learn_syntax(model, docs)
    return output.vectors, output.backprop


def predict_syntax(
    model: Model, docs: Sequence[Doc], *, parse: bool = False
) -> tuple[list[Floats2d], list[ParsedSyntax]]:
    """Make token vectors, and find the syntax in the `word_range` of each Doc, if that is
    wanted."""
    net: SyntaxNet = get_net(model)
    tokens = predict_tokens(model, docs)
    is_space = None
    if parse:
        spaces = [np.zeros(0, dtype=bool), *(doc.to_array(IS_SPACE) == 1 for doc in docs)]
        is_space = np.concatenate([spaces[0], *trim(docs, spaces[1:])])
    vectors, syntax = net.predict(tokens, _chunk_lengths(docs), is_space)
    return split_rows(model, docs, vectors), syntax


def learn_syntax(model: Model, docs: Sequence[Doc]) -> SyntaxOutput:
    """Make token vectors for training, and what is needed to learn."""
    net: SyntaxNet = get_net(model)
    device = get_device(model)
    tokens, backprop_tokens = learn_tokens(model, docs)
    lengths = _chunk_lengths(docs)
    scores = net(tokens, [length for parts in lengths for length in parts])

    def find_loss(targets: np.ndarray) -> Tensor:
        return net.loss(scores, torch.from_numpy(targets).to(device))

    def backprop(d_vectors: Sequence[Floats2d], loss: Tensor | None = None) -> list[Doc]:
        gradient = xp2torch(model.ops.xp.concatenate(list(trim(docs, d_vectors))), device=device)
        outputs, gradients = [scores.vectors], [gradient]
        if loss is not None:
            outputs, gradients = [*outputs, loss], [*gradients, torch.ones_like(loss)]
        torch.autograd.backward(outputs, gradients)
        return backprop_tokens()

    vectors = split_rows(model, docs, scores.vectors.detach())
    return SyntaxOutput(vectors, lengths, find_loss, backprop)


def _chunk_lengths(docs: Sequence[Doc]) -> list[list[int]]:
    """The number of tokens of each chunk of what lies in the word range of each Doc."""
    lengths = []
    for doc in docs:
        first, end = word_range(doc)
        is_short = end - first <= CHUNK_TOKENS
        ends = np.zeros(end - first, dtype=bool) if is_short else sentence_ends(doc)[first:end]
        lengths.append(cut_at_ends(ends, CHUNK_TOKENS))
    return lengths
