"""The parser as a thinc model: from Docs with EDUs to trees, around the torch net in `net.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from spacy.tokens import Doc, Span
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d
from torch import Tensor

from ..doc import EDUS_KEY, get_edus
from ..head import get_device, get_net, learn_tokens, make_head, predict_tokens, word_range
from .features import BOUNDARY_KINDS, N_FEATURES, describe_edus
from .net import EduBatch, RstNet
from .spans import Boundaries, EncodedEdus
from .splitters import PointerSplitter, SpanSplitter, Splitter


@registry.architectures("spacy_rst.PointerSplitter.v1")
def build_pointer_splitter() -> Callable[[int, int], Splitter]:
    """The paper's recurrent decoder, which points at the split points of spans.

    RETURNS (Callable[[int, int], Splitter]): Makes the splitter.
    """
    return PointerSplitter


@registry.architectures("spacy_rst.SpanSplitter.v1")
def build_span_splitter(
    search_edus: int = 0, exploration: float = 0.0
) -> Callable[[int, int], Splitter]:
    """A scorer of each split point of a span by itself.

    search_edus (int): Minimum-risk decoding of spans of at most so many EDUs: find the tree with
        the largest expected number of correct spans. Larger spans are split greedily, top-down. 0
        for greedy decoding alone.
    exploration (float): In training, let the parser also split the documents by itself, and learn
        how to go on from its mistakes, with this weight.
    RETURNS (Callable[[int, int], Splitter]): Makes the splitter.
    """
    return partial(SpanSplitter, search_edus=search_edus, exploration=exploration)


@registry.architectures("spacy_rst.RstParser.v1")
def build_rst_parser(
    tok2vec: Model[list[Doc], list[Floats2d]],
    splitter: Callable[[int, int], Any],
    hidden_width: int = 768,
    encoder_layers: int = 2,
    classifier_width: int = 768,
    layer_norm: bool = False,
    text_features: bool = False,
    dropout: float | None = 0.5,
    label_smoothing: float = 0.0,
    loss_per: Literal["document", "edu"] = "document",
    attention: bool = False,
    label_ends: bool = False,
) -> Model[list[Doc], list[Any]]:
    """The top-down parser of Liu, Shi & Chen (2020), and variants of it.

    The defaults are the paper's.

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `transformer`
        or `tok2vec` component, or an encoder of the parser's own.
    splitter (Callable[[int, int], Splitter]): Makes the splitter: `spacy_rst.PointerSplitter.v1`,
        the paper's, or `spacy_rst.SpanSplitter.v1`.
    hidden_width (int): Width of the EDU vectors and of the recurrent states. It must be even: the
        paper's hidden size of 384 is that of each direction of the BiGRU.
    encoder_layers (int): Layers of the BiGRU over the EDUs.
    classifier_width (int): Width of the label classifier's latent features.
    layer_norm (bool): Normalize the EDU vectors.
    text_features (bool): Tell the parser about punctuation, sentences and the layout of the text:
        as features of the EDUs (`features.py`), of the split points and of the labels.
    dropout (float | None): Dropout rate of the parser in training, whatever the rest of the
        pipeline has. None takes the rate that `update` is called with, `[training] dropout`.
    label_smoothing (float): Share of the label targets that is spread over all labels.
    loss_per (str): What the loss of a batch is a mean over: "document", as in the paper, or "edu",
        so that long and short documents teach at the same rate.
    attention (bool): Learn how much each token of an EDU counts, instead of taking their mean.
    label_ends (bool): Choose labels by the first and the last EDU of the two parts, too, beside the
        means of the parts.
    RETURNS (Model[list[Doc], list[ParsedTree]]): The model. In training it gives, in place of
        trees, a function from `GoldSplits` of each Doc to the split loss and the label loss, and a
        callback that takes their sum.
    """
    make_net = partial(
        RstNet,
        hidden_width=hidden_width,
        encoder_layers=encoder_layers,
        classifier_width=classifier_width,
        make_splitter=splitter,
        layer_norm=layer_norm,
        n_features=N_FEATURES if text_features else 0,
        n_boundary_kinds=len(BOUNDARY_KINDS) if text_features else 0,
        attention=attention,
        label_ends=label_ends,
        label_smoothing=label_smoothing,
        loss_per=loss_per,
        dropout=dropout,
    )
    return make_head(
        "rst_parser",
        _forward,
        tok2vec,
        make_net,
        get_sizes=_count_labels,
        text_features=text_features,
    )


def _count_labels(model: Model) -> dict[str, int]:
    return {"n_labels": model.get_dim("nO")}


def _forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[Any, Callable[[Tensor], list[Doc]]]:
    """Parse Docs; in training, encode them for a loss that is still to be asked for."""
    docs = list(docs)
    net: RstNet = get_net(model)
    if not is_train:
        return net.decode(encode_docs(model, docs)), lambda loss: docs
    tokens, backprop_tokens = learn_tokens(model, docs)

    def backprop(loss: Tensor) -> list[Doc]:
        if loss.requires_grad:  # not so where no Doc has EDUs
            loss.backward()
        return backprop_tokens()

    # These are the gold EDUs, and none where there is nothing to learn.
    doc_edus = [list(doc.spans.get(EDUS_KEY, ())) for doc in docs]
    return partial(net.loss, net.encode(_make_batch(model, docs, doc_edus, tokens))), backprop


def encode_docs(model: Model, docs: Sequence[Doc]) -> EncodedEdus:
    """Make vectors of the EDUs of Docs, as before they are parsed."""
    doc_edus = [get_edus(doc) if doc.text.strip() else [] for doc in docs]
    tokens = predict_tokens(model, docs)
    with torch.inference_mode():
        return get_net(model).encode(_make_batch(model, docs, doc_edus, tokens))


def _make_batch(
    model: Model, docs: Sequence[Doc], doc_edus: Sequence[Sequence[Span]], tokens: Tensor
) -> EduBatch:
    device = get_device(model)
    counts = [len(edus) for edus in doc_edus]
    bounds: list[tuple[int, int]] = []
    n_tokens = 0
    for doc, edus in zip(docs, doc_edus, strict=True):
        first, end = word_range(doc)
        # An EDU may lie in the white space at an end: it is taken for the word beside it.
        bounds += [
            (
                n_tokens - first + min(max(edu.start, first), end - 1),
                n_tokens - first + max(min(edu.end, end), first + 1),
            )
            for edu in edus
        ]
        n_tokens += end - first
    edu_starts, edu_ends = torch.tensor(bounds, dtype=torch.long, device=device).view(-1, 2).t()
    batch = EduBatch(tokens, edu_starts, edu_ends, counts)
    if model.attrs["text_features"]:
        facts = [describe_edus(doc, edus) for doc, edus in zip(docs, doc_edus, strict=True)]
        features, kinds, levels = map(np.concatenate, zip(*facts, strict=True))
        batch.edu_features = torch.from_numpy(features).to(device)
        batch.boundaries = Boundaries(kinds, levels, counts, device)
    return batch
