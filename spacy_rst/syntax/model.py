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
from spacy.attrs import IS_SPACE
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
    """What there is to learn from.

    vectors (list[Floats2d]): The token vectors of each Doc.
    lengths (list[list[int]]): The number of tokens of each Doc's chunks.
    find_loss (Callable): Takes the targets of all tokens, an array (3, n_tokens), and returns the
        loss.
    backprop (Callable): Takes the gradients of the vectors, and a loss if that shall be learned
        from, too.
    """

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
    chunk: int = 128,
    bfloat16: bool = False,
) -> Model[list[Doc], list[Floats2d]]:
    """A BiLSTM with a tagger and a biaffine dependency parser, whose findings are mixed into the
    token vectors: an encoder like others, of which the `syntax` component can ask more.

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
    bfloat16 (bool): When predicting, round the factors of large products to bfloat16, if the CPU
        has instructions for it. Elsewhere, and in training, it has no effect.
    RETURNS (Model[list[Doc], list[Floats2d]]): The model.
    RAISES (RstError): If there can be no such chunk.
    """
    if chunk < 2:
        raise RstError(Errors.R340.format(chunk=chunk))
    make_net = partial(
        _make_net,
        bfloat16=bfloat16,
        width=width,
        hidden_width=hidden_width,
        layers=layers,
        arc_width=arc_width,
        label_width=label_width,
    )
    return Model(
        "syntax",
        _forward,
        init=_init,
        dims={"nI": None, "nO": width},
        layers=[tok2vec],
        refs={"tok2vec": tok2vec},
        shims=[LazyNetShim(make_net)],
        attrs={
            # Only if it stands here does thinc's set_dropout_rate change it.
            "dropout_rate": 0.0,
            # How many of both there are: set by the component.
            "n_tags": 1,
            "n_labels": 1,
            # Functions are not saved, so that the config of a loaded pipeline decides.
            "predict_syntax": partial(_predict, chunk=chunk),
            "learn_syntax": partial(_learn, chunk=chunk, dropout=dropout),
        },
    )


def _make_net(*, bfloat16: bool, **options: Any) -> SyntaxNet:
    from .net import SyntaxNet

    net = SyntaxNet(**options)
    return net


def _init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    width = initialize_encoder(model, X, "syntax")
    model.set_dim("nI", width, force=True)
    _shim(model).build(
        token_width=width, n_tags=model.attrs["n_tags"], n_labels=model.attrs["n_labels"]
    )


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[Sequence[Floats2d]], list[Doc]]]:
    if not is_train:
        return predict_syntax(model, docs)[0], lambda d_vectors: list(docs)
    output = learn_syntax(model, docs)
    return output.vectors, output.backprop


def predict_syntax(
    model: Model, docs: Sequence[Doc], *, parse: bool = False
) -> tuple[list[Floats2d], list[ParsedSyntax]]:
    """Make token vectors, and find the syntax.

    model (Model): A `spacy_rst.Syntax.v1`.
    docs (Sequence[Doc]): The Docs.
    parse (bool): Whether the syntax is wanted.
    RETURNS (tuple[list[Floats2d], list[ParsedSyntax]]): The vectors of each Doc, and the syntax of
        each, if that is wanted.
    """
    return model.attrs["predict_syntax"](model, list(docs), parse=parse)


def learn_syntax(model: Model, docs: Sequence[Doc]) -> SyntaxOutput:
    """Make token vectors for training.

    model (Model): A `spacy_rst.Syntax.v1`.
    docs (Sequence[Doc]): The Docs.
    RETURNS (SyntaxOutput): The vectors, and what is needed to learn.
    """
    return model.attrs["learn_syntax"](model, list(docs))


def _predict(
    model: Model, docs: Sequence[Doc], *, parse: bool, chunk: int
) -> tuple[list[Floats2d], list[ParsedSyntax]]:
    net: SyntaxNet = _shim(model).net
    net.eval()
    inputs = model.layers[0].predict(docs) if any(map(len, docs)) else []
    tokens = join_vectors(inputs, model.get_dim("nI"), model)
    lengths = [cut_doc(doc, chunk) for doc in docs]
    spaces = [doc.to_array(IS_SPACE) == 1 for doc in docs] if parse else []
    vectors, syntax = net.predict(tokens, lengths, np.concatenate(spaces) if spaces else None)
    return split_vectors(cast(Floats2d, torch2xp(vectors, ops=model.ops)), docs), syntax


def _learn(model: Model, docs: Sequence[Doc], *, chunk: int, dropout: float | None) -> SyntaxOutput:
    import torch

    shim = _shim(model)
    net: SyntaxNet = shim.net
    net.train()
    net.set_dropout(model.attrs["dropout_rate"] if dropout is None else dropout)
    inputs, backprop_tok2vec = model.layers[0](docs, is_train=True)
    tokens = join_vectors(inputs, model.get_dim("nI"), model).requires_grad_()
    lengths = [cut_doc(doc, chunk) for doc in docs]
    scores = net(tokens, [length for parts in lengths for length in parts])

    def find_loss(targets: np.ndarray) -> Tensor:
        from .net import SyntaxTargets

        return net.loss(scores, SyntaxTargets(*torch.from_numpy(targets).to(shim.device)))

    def backprop(d_vectors: Sequence[Floats2d], loss: Tensor | None = None) -> list[Doc]:
        gradient = xp2torch(model.ops.xp.concatenate(d_vectors), device=shim.device)
        outputs, gradients = [scores.vectors], [gradient]
        if loss is not None:
            outputs, gradients = [*outputs, loss], [*gradients, torch.ones_like(loss)]
        torch.autograd.backward(outputs, gradients)
        d_tokens = cast(Floats2d, torch2xp(cast("Tensor", tokens.grad), ops=model.ops))
        return backprop_tok2vec(split_vectors(d_tokens, docs))

    array = cast(Floats2d, torch2xp(scores.vectors.detach(), ops=model.ops))
    return SyntaxOutput(split_vectors(array, docs), lengths, find_loss, backprop)


def _shim(model: Model) -> LazyNetShim:
    return cast(LazyNetShim, model.shims[0])
