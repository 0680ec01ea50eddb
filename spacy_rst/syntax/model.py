"""The syntactic net as a thinc model: from Docs to token vectors that know of syntax.

Torch's part of the model, in `net.py`, is built when its sizes are known, that is on initialization
or when weights are loaded. Nothing here imports `net.py` before that. What the config says is bound
to functions, and not saved with the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, torch2xp, xp2torch
from thinc.types import Floats2d

from ..encoder.vectors import initialize_encoder, join_vectors, split_vectors
from ..errors import Errors, RstError
from ..shims import LazyNetShim
from .chunks import cut_doc

if TYPE_CHECKING:
    from torch import Tensor

    from .net import ParsedSyntax, SyntaxNet


class SyntaxOutput(NamedTuple):
    """What the model makes of some Docs.

    vectors (list[Floats2d]): The token vectors of each Doc.
    syntax (list[ParsedSyntax]): The syntax of each Doc, where it was asked for.
    find_loss (Callable | None): In training: takes the targets of all tokens, an array (3,
        n_tokens), and returns the loss.
    lengths (list[list[int]]): The number of tokens of each Doc's chunks.
    """

    vectors: list[Floats2d]
    syntax: list[ParsedSyntax]
    find_loss: Callable[[np.ndarray], Tensor] | None
    lengths: list[list[int]]


class SyntaxGradient(NamedTuple):
    """What the model learns from.

    vectors (Sequence[Floats2d]): The gradients of the token vectors of each Doc.
    loss (Tensor): What `find_loss` returned, weighted.
    """

    vectors: Sequence[Floats2d]
    loss: Tensor


@registry.architectures("spacy_rst.Syntax.v1")
def build_syntax(
    tok2vec: Model[list[Doc], list[Floats2d]],
    width: int = 320,
    hidden_width: int = 320,
    layers: int = 1,
    arc_width: int = 128,
    label_width: int = 64,
    dropout: float | None = 0.33,
    chunk: int = 128,
) -> Model[list[Doc], Any]:
    """A BiLSTM with a tagger and a biaffine dependency parser, whose findings are mixed into the
    token vectors.

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `tok2vec` or
        `transformer` component, or an encoder of its own.
    width (int): Width of the vectors that go out.
    hidden_width (int): Width of the BiLSTM's output, half of it from each direction.
    layers (int): Layers of the BiLSTM.
    arc_width (int): Width of what the scorer of heads compares.
    label_width (int): Width of what labels are read off.
    dropout (float | None): Dropout rate in training, whatever the rest of the pipeline has. None
        takes the rate that `update` is called with, `[training] dropout`.
    chunk (int): Texts are read in chunks of at most so many tokens, that end with a sentence as far
        as marks tell. No head is looked for in another chunk.
    RETURNS (Model[list[Doc], SyntaxOutput]): The model.
    RAISES (RstError): If there can be no such chunk.
    """
    if chunk < 2:
        raise RstError(Errors.R340.format(chunk=chunk))
    make_net = partial(
        _make_net,
        width=width,
        hidden_width=hidden_width,
        layers=layers,
        arc_width=arc_width,
        label_width=label_width,
    )
    return Model(
        "syntax",
        partial(_forward, dropout=dropout, chunk=chunk),
        init=_init,
        dims={"nI": None, "nO": width},
        layers=[tok2vec],
        refs={"tok2vec": tok2vec},
        shims=[LazyNetShim(make_net)],
        attrs={
            # Only if it stands here does thinc's set_dropout_rate change it.
            "dropout_rate": 0.0,
            # Set by the component: how many of both there are, and whether they are wanted.
            "n_tags": 1,
            "n_labels": 1,
            "parse": False,
        },
    )


def _make_net(**options: Any) -> SyntaxNet:
    from .net import SyntaxNet

    return SyntaxNet(**options)


def _init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    width = initialize_encoder(model, X, "syntax")
    model.set_dim("nI", width, force=True)
    _shim(model).build(
        token_width=width, n_tags=model.attrs["n_tags"], n_labels=model.attrs["n_labels"]
    )


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool, *, dropout: float | None, chunk: int
) -> tuple[SyntaxOutput, Callable[..., list[Doc]]]:
    import torch

    docs = list(docs)
    net: SyntaxNet = _shim(model).net
    net.train(is_train)
    lengths = [cut_doc(doc, chunk) for doc in docs]
    tok2vec, width = model.get_ref("tok2vec"), model.get_dim("nI")
    if not is_train:
        tokens = join_vectors(tok2vec.predict(docs) if any(map(len, docs)) else [], width, model)
        vectors, syntax = net.predict(tokens, lengths, parse=model.attrs["parse"])
        array = cast(Floats2d, torch2xp(vectors, ops=model.ops))
        return SyntaxOutput(split_vectors(array, docs), syntax, None, lengths), lambda *_: docs
    net.set_dropout(model.attrs["dropout_rate"] if dropout is None else dropout)
    inputs, backprop_tok2vec = tok2vec(docs, is_train=True)
    tokens = join_vectors(inputs, width, model).requires_grad_()
    scores = net(tokens, [length for parts in lengths for length in parts])

    def find_loss(targets: np.ndarray) -> Tensor:
        from .net import SyntaxTargets

        rows = torch.from_numpy(targets).to(_shim(model).device)
        return net.loss(scores, SyntaxTargets(*rows))

    def backprop(gradient: SyntaxGradient) -> list[Doc]:
        vectors, loss = gradient
        d_vectors = xp2torch(model.ops.xp.concatenate(vectors), device=_shim(model).device)
        torch.autograd.backward([scores.vectors, loss], [d_vectors, torch.ones_like(loss)])
        d_tokens = cast(Floats2d, torch2xp(cast("Tensor", tokens.grad), ops=model.ops))
        return backprop_tok2vec(split_vectors(d_tokens, docs))

    array = cast(Floats2d, torch2xp(scores.vectors.detach(), ops=model.ops))
    return SyntaxOutput(split_vectors(array, docs), [], find_loss, lengths), backprop


def _shim(model: Model) -> LazyNetShim:
    return cast(LazyNetShim, model.shims[0])
