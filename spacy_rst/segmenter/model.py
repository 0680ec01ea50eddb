"""The segmenter as a thinc model: from Docs to the log odds of an EDU's start at each token.

Torch's part of the model, in `net.py`, is built when the width of the token vectors is known, that
is on initialization or when weights are loaded. Nothing here imports `net.py` before that. What the
config says is bound to functions, and not saved with the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, torch2xp, xp2torch
from thinc.types import Floats1d, Floats2d

from ..encoder.vectors import initialize_encoder, join_vectors
from ..shims import LazyNetShim
from ..windows import check_window
from .boundaries import Borders, read_borders
from .features import LAYOUT_FEATURES, TOKEN_FEATURES, convention_features, layout_features
from .features import token_features as describe_tokens
from .gold import GoldStarts

if TYPE_CHECKING:
    from torch import Tensor

    from .net import EduNet


def _count_edus(golds: Sequence[GoldStarts | None]) -> int:
    return max(1, sum(gold.n_edus for gold in golds if gold is not None))


COUNT_UNITS: dict[str, Callable[[Sequence[GoldStarts | None]], int]] = {
    "document": len,
    "edu": _count_edus,
}


@registry.architectures("spacy_rst.EduSegmenter.v1")
def build_edu_segmenter(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 256,
    layers: int = 1,
    token_features: bool = True,
    dropout: float | None = 0.3,
    window: int = 2000,
    margin: int = 200,
    loss_per: Literal["document", "edu"] = "document",
    training_window: int = 0,
    layout: bool = False,
    conventions: list[str] | tuple[str, ...] = (),
    bfloat16: bool = False,
) -> Model[list[Doc], list[Floats1d]]:
    """A BiLSTM that tags the tokens at which EDUs begin.

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `transformer`
        or `tok2vec` component, or an encoder of the segmenter's own.
    hidden_width (int): Width of the BiLSTM's output, half of it from each direction.
    layers (int): Layers of the BiLSTM.
    token_features (bool): Give the BiLSTM the facts that `features.TOKEN_FEATURES` names, too:
        punctuation, upper case, lines, paragraphs and sentences.
    dropout (float | None): Dropout rate of the segmenter in training, whatever the rest of the
        pipeline has. None takes the rate that `update` is called with, `[training] dropout`.
    window (int): Tokens that are read at once. A longer Doc is read in overlapping windows, so that
        its length does not matter to the memory.
    margin (int): Tokens at each side of a window that are only its context.
    loss_per (str): What the loss of a batch is a mean over, "document" or "edu". Choose the same
        for a parser that shares the encoder, so that neither drowns the other.
    training_window (int): In training, cut Docs after every so many tokens, and read the parts side
        by side, which is several times faster. 0 reads every Doc as a whole.
    layout (bool): Give the BiLSTM the facts about the layout that `features.LAYOUT_FEATURES` names,
        too. Blocks are divided in any case.
    conventions (list[str]): Treebanks that have an EDU begin where the others of the same language
        have not. The BiLSTM is told which of them a Doc follows, if any: what its
        `doc.user_data["rst_treebank"]` says.
    bfloat16 (bool): When predicting, round the factors of large products to bfloat16, if the CPU
        has instructions for it. Elsewhere, and in training, it has no effect.
    RETURNS (Model[list[Doc], list[Floats1d]]): The model: for each token of each Doc the log odds
        of a start.
    RAISES (RstError): If the margins leave nothing of a window.
    """
    check_window(window, margin)
    make_net = partial(
        _make_net,
        bfloat16=bfloat16,
        hidden_width=hidden_width,
        layers=layers,
        n_features=len(TOKEN_FEATURES) * token_features
        + len(LAYOUT_FEATURES) * layout
        + len(conventions),
    )
    forward = partial(
        _forward,
        dropout=dropout,
        describe=[describe_tokens] * token_features
        + [layout_features] * layout
        + [partial(convention_features, conventions=tuple(conventions))] * bool(conventions),
        windows={"window": window, "margin": margin},
        training_window=training_window,
    )
    return Model(
        "edu_segmenter",
        forward,
        init=_init,
        dims={"nI": None, "nO": 1},
        layers=[tok2vec],
        refs={"tok2vec": tok2vec},
        shims=[LazyNetShim(make_net)],
        attrs={
            # Only if it stands here does thinc's set_dropout_rate change it.
            "dropout_rate": 0.0,
            # A function is not saved, so that here, too, the config of a loaded pipeline decides.
            "count_units": COUNT_UNITS[loss_per],
        },
    )


def _make_net(*, bfloat16: bool, **options: Any) -> EduNet:
    from .net import EduNet

    net = EduNet(**options)
    return net


def _init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    width = initialize_encoder(model, X, "edu_segmenter")
    model.set_dim("nI", width, force=True)
    _shim(model).build(token_width=width)


def _forward(
    model: Model,
    docs: Sequence[Doc],
    is_train: bool,
    *,
    dropout: float | None,
    describe: Sequence[Callable[[Doc, Borders], np.ndarray]],
    windows: dict[str, int],
    training_window: int,
) -> tuple[list[Floats1d], Callable[[Sequence[Floats1d]], list[Doc]]]:
    docs = list(docs)
    lengths = [len(doc) for doc in docs]
    net: EduNet = _shim(model).net
    net.train(is_train)
    tok2vec, width = model.get_ref("tok2vec"), model.get_dim("nI")
    features = _features(model, docs, describe)
    if not is_train:
        vectors = tok2vec.predict(docs) if any(lengths) else []
        tokens = join_vectors(vectors, width, model)
        scores = net.predict(tokens, lengths, features, **windows)
        return _split(model, scores, lengths), lambda d_scores: docs
    net.set_dropout(model.attrs["dropout_rate"] if dropout is None else dropout)
    vectors, backprop_tok2vec = tok2vec(docs, is_train=True)
    tokens = join_vectors(vectors, width, model).requires_grad_()
    scores = net(tokens, cut_lengths(lengths, training_window), features)

    def backprop(d_scores: Sequence[Floats1d]) -> list[Doc]:
        gradient = model.ops.xp.concatenate(d_scores)
        scores.backward(xp2torch(gradient, device=_shim(model).device))
        return backprop_tok2vec(_split(model, cast("Tensor", tokens.grad), lengths))

    return _split(model, scores.detach(), lengths), backprop


def cut_lengths(lengths: Sequence[int], window: int) -> list[int]:
    """Cut documents into parts that are read side by side.

    lengths (Sequence[int]): The number of tokens of each document.
    window (int): The most tokens of a part, 0 for no limit.
    RETURNS (list[int]): The number of tokens of each part.
    """
    if not window:
        return list(lengths)
    return [min(window, length - start) for length in lengths for start in range(0, length, window)]


def _features(
    model: Model, docs: Sequence[Doc], describe: Sequence[Callable[[Doc, Borders], np.ndarray]]
) -> Tensor | None:
    import torch

    if not (docs and describe):
        return None
    borders = [read_borders(doc) for doc in docs]
    columns = [
        np.concatenate([describe_one(*pair) for pair in zip(docs, borders, strict=True)])
        for describe_one in describe
    ]
    return torch.from_numpy(np.concatenate(columns, axis=1)).to(_shim(model).device)


def _split(model: Model, rows: Tensor, lengths: Sequence[int]) -> list[Any]:
    array = torch2xp(rows, ops=model.ops)
    return [array[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def _shim(model: Model) -> LazyNetShim:
    return cast(LazyNetShim, model.shims[0])
