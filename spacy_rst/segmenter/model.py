"""The segmenter as a thinc model: from Docs to the log odds of an EDU's start at each token, around
the torch net in `net.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
import torch
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, xp2torch
from thinc.types import Floats1d, Floats2d
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
from .boundaries import read_borders
from .features import N_FEATURES, describe_tokens
from .net import EduNet


@registry.architectures("spacy_rst.EduSegmenter.v1")
def build_edu_segmenter(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 256,
    layers: int = 1,
    dropout: float | None = 0.3,
    loss_per: Literal["document", "edu"] = "document",
    conventions: list[str] | tuple[str, ...] = (),
) -> Model[list[Doc], list[Floats1d]]:
    """A BiLSTM that tags the tokens at which EDUs begin. It reads the token vectors, and facts
    about punctuation, upper case, lines, sentences and layout (`features.py`).

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `transformer`
        or `tok2vec` component, or an encoder of the segmenter's own.
    hidden_width (int): Width of the BiLSTM's output, half of it from each direction.
    layers (int): Layers of the BiLSTM.
    dropout (float | None): Dropout rate of the segmenter in training, whatever the rest of the
        pipeline has. None takes the rate that `update` is called with, `[training] dropout`.
    loss_per (str): What the loss of a batch is a mean over, "document" or "edu". Choose the same
        for a parser that shares the encoder, so that neither drowns the other.
    conventions (list[str]): Treebanks whose EDUs follow conventions of their own. The BiLSTM is
        told which of them a Doc follows, if any: what its `doc.user_data["rst_treebank"]` says.
    RETURNS (Model[list[Doc], list[Floats1d]]): The model: for each token of each Doc the log odds
        of a start.
    """
    return make_head(
        "edu_segmenter",
        partial(_forward, conventions=tuple(conventions)),
        tok2vec,
        partial(
            EduNet,
            hidden_width=hidden_width,
            layers=layers,
            n_features=N_FEATURES + len(conventions),
            loss_per=loss_per,
            dropout=dropout,
        ),
        n_outputs=1,
    )


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool, *, conventions: Sequence[str]
) -> tuple[list[Floats1d], Callable[[Sequence[Floats1d]], list[Doc]]]:
    docs = list(docs)
    net: EduNet = get_net(model)
    lengths = [end - first for first, end in map(word_range, docs)]
    features = _features(model, docs, conventions)
    if not is_train:
        scores = net.predict(predict_tokens(model, docs), lengths, features)
        return split_rows(model, docs, scores), lambda d_scores: docs
    tokens, backprop_tokens = learn_tokens(model, docs)
    scores = net(tokens, lengths, features)

    def backprop(d_scores: Sequence[Floats1d]) -> list[Doc]:
        gradient = model.ops.xp.concatenate(list(trim(docs, d_scores)))
        scores.backward(xp2torch(gradient, device=get_device(model)))
        return backprop_tokens()

    return split_rows(model, docs, scores.detach()), backprop


def _features(model: Model, docs: Sequence[Doc], conventions: Sequence[str]) -> Tensor:
    rows = (describe_tokens(doc, read_borders(doc), conventions) for doc in docs)
    features = [np.zeros((0, N_FEATURES + len(conventions)), dtype="f"), *trim(docs, rows)]
    return torch.from_numpy(np.concatenate(features)).to(get_device(model))
