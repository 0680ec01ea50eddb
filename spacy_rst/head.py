"""What the thinc models of the trainable components share: an encoder with a torch net behind it.

The net is built when its sizes are known, that is on initialization or when weights are loaded.
What the config says is bound to the functions that are handed in here, and not saved with the
weights: the config of the loaded pipeline decides, so that for instance minimum-risk decoding can
be switched on in a trained parser.

White space before the first and after the last word of a Doc does not reach the nets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc
from thinc.api import Model, torch2xp, xp2torch
from thinc.types import Floats2d
from torch import Tensor

from .encoder.vectors import initialize_encoder
from .shims import LazyNetShim


def make_head(
    name: str,
    forward: Callable[..., Any],
    tok2vec: Model[list[Doc], list[Floats2d]],
    make_net: Callable[..., torch.nn.Module],
    *,
    get_sizes: Callable[[Model], dict[str, int]] | None = None,
    n_outputs: int | None = None,
    **attrs: Any,
) -> Model[list[Doc], Any]:
    """Put a torch net behind an encoder. `make_net` makes it from its sizes: `token_width`, and
    what `get_sizes` gives on initialization. `attrs` are attributes of the model."""
    return Model(
        name,
        forward,
        init=partial(_initialize, get_sizes=get_sizes),
        dims={"nI": None, "nO": n_outputs},
        layers=[tok2vec],
        refs={"tok2vec": tok2vec},
        shims=[LazyNetShim(make_net)],
        # Only if the rate stands here does thinc's set_dropout_rate change it.
        attrs={"dropout_rate": 0.0, **attrs},
    )


def _initialize(
    model: Model,
    X: Sequence[Doc] | None = None,
    Y: Any = None,
    *,
    get_sizes: Callable[[Model], dict[str, int]] | None,
) -> None:
    width = initialize_encoder(model, X, model.name)
    model.set_dim("nI", width, force=True)
    _shim(model).build(token_width=width, **(get_sizes(model) if get_sizes else {}))


def get_net(model: Model) -> Any:
    """The torch net of a model."""
    return _shim(model).net


def get_device(model: Model) -> torch.device:
    """The device of a model's net."""
    return _shim(model).device


def predict_tokens(model: Model, docs: Sequence[Doc]) -> Tensor:
    """Encode Docs, and prepare the net for prediction. Returns the vectors of the tokens in
    `word_range` of all Docs, (n_tokens, nI)."""
    get_net(model).eval()
    vectors = model.layers[0].predict(docs) if any(map(len, docs)) else []
    return _join(model, docs, vectors)


def learn_tokens(model: Model, docs: Sequence[Doc]) -> tuple[Tensor, Callable[[], list[Doc]]]:
    """Encode Docs, and prepare the net for training. Returns what `predict_tokens` returns, and a
    function that hands the gradient of this tensor to the encoder."""
    net = get_net(model)
    net.train()
    own = net.own_dropout
    net.set_dropout(model.attrs["dropout_rate"] if own is None else own)
    vectors, backprop = model.layers[0](docs, is_train=True)
    tokens = _join(model, docs, vectors).requires_grad_()

    def finish() -> list[Doc]:
        gradient = torch.zeros_like(tokens) if tokens.grad is None else tokens.grad
        return backprop(split_rows(model, docs, gradient))

    return tokens, finish


def word_range(doc: Doc) -> tuple[int, int]:
    """The first word of a Doc, and one past the last; (0, 0) where there is none. White space
    around these is not part of the text."""
    words = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
    return (int(words[0]), int(words[-1]) + 1) if len(words) else (0, 0)


def trim(docs: Sequence[Doc], rows_of_docs: Iterable[Any]) -> Iterator[Any]:
    """Keep the rows that belong to the `word_range` of each Doc."""
    for doc, rows in zip(docs, rows_of_docs, strict=True):
        yield rows[slice(*word_range(doc))]


def _join(model: Model, docs: Sequence[Doc], vectors: Sequence[Floats2d]) -> Tensor:
    """Put the vectors in the word ranges of all Docs in one tensor."""
    filled = [rows for rows in trim(docs, vectors) if len(rows)] if vectors else []
    if len(filled) == 1:
        joined = filled[0]
    else:  # the vectors of empty Docs may have no width
        width = model.get_dim("nI")
        joined = model.ops.xp.concatenate(filled) if filled else model.ops.alloc2f(0, width)
    return xp2torch(joined, device=get_device(model))


def split_rows(model: Model, docs: Sequence[Doc], rows: Tensor) -> list[Any]:
    """Give each Doc its rows of a tensor that has one for each token in the `word_range` of all
    Docs, and zeros for the white space at its ends."""
    array = torch2xp(rows, ops=model.ops)
    parts, first = [], 0
    for doc in docs:
        start, end = word_range(doc)
        part = array[first : first + end - start]
        first += end - start
        if len(part) < len(doc):
            padded = model.ops.xp.zeros((len(doc), *array.shape[1:]), dtype=array.dtype)
            padded[start:end] = part
            part = padded
        parts.append(cast(Floats2d, part))
    return parts


def _shim(model: Model) -> LazyNetShim:
    return cast(LazyNetShim, model.shims[0])
