"""The parser as a thinc model: from Docs with EDUs to trees, around the torch net in `net.py`.

Torch's part of the model is built when the labels and the width of the token vectors are known,
that is on initialization or when weights are loaded. Nothing here imports `net.py` before that.
What the config says is bound to functions, and not saved with the weights: the config of the loaded
pipeline decides, so that for instance the search can be switched on in a trained parser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, torch2xp
from thinc.types import Floats2d

from ..doc import get_edus
from ..encoder.vectors import initialize_encoder, join_vectors
from ..errors import Errors, RstError
from ..shims import LazyNetShim
from .features import EDU_FEATURES
from .layout import BOUNDARY_KINDS, LAYOUT_FEATURES, EduFacts, LayoutMode, describe_edus

if TYPE_CHECKING:
    from torch import Tensor

    from .net import EduBatch, RstNet
    from .spans import EncodedEdus


@registry.architectures("spacy_rst.RstParser.v1")
def build_rst_parser(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 768,
    encoder_layers: int = 2,
    classifier_width: int = 768,
    splitter: Literal["pointer", "span"] = "pointer",
    layer_norm: bool = False,
    edu_features: bool = False,
    dropout: float | None = 0.5,
    label_smoothing: float = 0.0,
    search_edus: int = 0,
    loss_per: Literal["document", "edu"] = "document",
    exploration: float = 0.0,
    layout: LayoutMode = "none",
    attention: bool = False,
    label_ends: bool = False,
    bfloat16: bool = False,
) -> Model[list[Doc], list[Any]]:  # names that exist at run time, or settings go unchecked
    """The top-down parser of Liu, Shi & Chen (2020), and variants of it.

    The defaults are the paper's.

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `transformer`
        or `tok2vec` component, or an encoder of the parser's own.
    hidden_width (int): Width of the EDU vectors and of the recurrent states. It must be even: the
        paper's hidden size of 384 is that of each direction of the BiGRU.
    encoder_layers (int): Layers of the BiGRU over the EDUs.
    classifier_width (int): Width of the label classifier's latent features.
    splitter (str): "pointer", the paper's recurrent decoder, or "span", which scores each split
        point of a span by itself.
    layer_norm (bool): Normalize the EDU vectors.
    edu_features (bool): Give the parser the facts that `features.EDU_FEATURES` names, too.
    dropout (float | None): Dropout rate of the parser in training, whatever the rest of the
        pipeline has. None takes the rate that `update` is called with, `[training] dropout`.
    label_smoothing (float): Share of the label targets that is spread over all labels.
    search_edus (int): Below spans of at most so many EDUs, find the tree of which the most spans
        are expected to be right, instead of taking the best split of each span from the top. 0 for
        no search. For the span splitter only.
    loss_per (str): What the loss of a batch is a mean over: "document", as in the paper, or "edu",
        so that long and short documents teach at the same rate.
    exploration (float): In training, let the parser also split the documents by itself, and learn
        how to go on from its mistakes, with this weight. For the span splitter only.
    layout (str): Tell the parser about the layout of the text, as features of the EDUs, of the
        split points and of the labels: "none", "paragraphs" for the borders of blocks alone, or
        "all" for their kinds, levels and speakers, too.
    attention (bool): Learn how much each token of an EDU counts, instead of taking their mean.
    label_ends (bool): Choose labels by the first and the last EDU of the two parts, too, beside the
        means of the parts.
    bfloat16 (bool): When predicting, round the factors of large products to bfloat16, if the CPU
        has instructions for it. Elsewhere, and in training, it has no effect.
    RETURNS (Model[list[Doc], list[ParsedTree]]): The model. In training it gives, in place of
        trees, a function from `GoldTree`s to the split loss and the label loss, and a callback that
        takes their sum.
    RAISES (RstError): If the settings contradict each other.
    """
    if splitter == "pointer" and (search_edus or exploration):
        raise RstError(Errors.R256)
    make_net = partial(
        _make_net,
        bfloat16=bfloat16,
        hidden_width=hidden_width,
        encoder_layers=encoder_layers,
        classifier_width=classifier_width,
        splitter=splitter,
        layer_norm=layer_norm,
        n_features=len(EDU_FEATURES) * edu_features + len(LAYOUT_FEATURES) * (layout != "none"),
        n_boundary_kinds=len(BOUNDARY_KINDS) if layout != "none" else 0,
        attention=attention,
        label_ends=label_ends,
    )
    forward = partial(
        _forward,
        dropout=dropout,
        loss_options={
            "label_smoothing": label_smoothing,
            "per": loss_per,
            "exploration": exploration,
        },
        search_edus=search_edus,
    )
    return Model(
        "rst_parser",
        forward,
        init=_init,
        dims={"nI": None, "nO": None},
        layers=[tok2vec],
        refs={"tok2vec": tok2vec},
        shims=[LazyNetShim(make_net)],
        attrs={
            # Only if it stands here does thinc's set_dropout_rate change it.
            "dropout_rate": 0.0,
            # Being a function, it is not saved either.
            "describe": partial(describe_edus, use_features=edu_features, layout=layout),
        },
    )


def _make_net(*, bfloat16: bool, **options: Any) -> RstNet:
    from .net import RstNet

    net = RstNet(**options)
    return net


def _init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    """Initialize the encoder and build a new net. The dimension "nO" must be set before."""
    width = initialize_encoder(model, X, model.name)
    model.set_dim("nI", width, force=True)
    _shim(model).build(token_width=width, n_labels=model.get_dim("nO"))


def _forward(
    model: Model,
    docs: Sequence[Doc],
    is_train: bool,
    *,
    dropout: float | None,
    loss_options: dict[str, Any],
    search_edus: int,
) -> tuple[Any, Callable[[Tensor], list[Doc]]]:
    """Parse Docs; in training, encode them for a loss that is still to be asked for."""
    import torch

    docs = list(docs)
    net = get_net(model)
    if not is_train:
        return net.decode(encode_docs(model, docs), search_edus), lambda loss: docs
    net.train()
    net.set_dropout(model.attrs["dropout_rate"] if dropout is None else dropout)
    vectors, backprop_tok2vec = model.layers[0](docs, is_train=True)
    batch = _make_batch(model, docs, vectors)
    tokens = batch.tokens.requires_grad_()

    def backprop(loss: Tensor) -> list[Doc]:
        if loss.requires_grad:  # not so where no Doc has EDUs
            loss.backward()
        d_tokens = torch.zeros_like(tokens) if tokens.grad is None else tokens.grad
        d_array = cast(Floats2d, torch2xp(d_tokens, ops=model.ops))
        bounds = accumulate(map(len, docs), initial=0)
        return backprop_tok2vec([d_array[start:end] for start, end in pairwise(bounds)])

    return partial(net.loss, net.encode(batch), **loss_options), backprop


def get_net(model: Model) -> RstNet:
    """RETURNS (RstNet): The torch net of a parser's model."""
    return _shim(model).net


def encode_docs(model: Model, docs: Sequence[Doc]) -> EncodedEdus:
    """Make vectors of the EDUs of Docs, as it is done before these are parsed.

    model (Model): A `spacy_rst.RstParser.v1` with weights.
    docs (Sequence[Doc]): The Docs, with EDUs.
    RETURNS (EncodedEdus): What the net can decode.
    """
    import torch

    vectors = model.layers[0].predict(docs) if any(map(len, docs)) else []
    with torch.inference_mode():
        return get_net(model).eval().encode(_make_batch(model, docs, vectors))


def _make_batch(model: Model, docs: Sequence[Doc], vectors: Sequence[Floats2d]) -> EduBatch:
    import torch

    from .net import EduBatch
    from .spans import Boundaries

    device = _shim(model).device
    doc_edus = [get_edus(doc) for doc in docs]
    counts = [len(edus) for edus in doc_edus]
    offsets = accumulate(map(len, docs), initial=0)
    bounds = [
        (edu.start + offset, edu.end + offset)
        for edus, offset in zip(doc_edus, offsets, strict=False)
        for edu in edus
    ]
    places = torch.tensor(bounds, dtype=torch.long, device=device).view(-1, 2)
    describe: Callable[..., EduFacts] = model.attrs["describe"]
    facts = [describe(doc, edus) for doc, edus in zip(docs, doc_edus, strict=True)]
    features, kinds, levels = (np.concatenate(column) for column in zip(*facts, strict=True))
    return EduBatch(
        join_vectors(vectors, model.get_dim("nI"), model),
        places[:, 0],
        places[:, 1],
        counts,
        torch.from_numpy(features).to(device),
        Boundaries(kinds, levels, counts, device),
    )


def _shim(model: Model) -> LazyNetShim:
    return cast(LazyNetShim, model.shims[0])
