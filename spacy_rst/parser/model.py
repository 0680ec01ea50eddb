"""The parser as a thinc model: from Docs with EDUs to trees, around the torch net in `net.py`.

Torch's part of the model is built when the labels and the width of the token vectors are known,
that is on initialization or when weights are loaded. Nothing here imports `net.py` before that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from .features import EDU_FEATURES, edu_features

if TYPE_CHECKING:
    from torch import Tensor

    from .net import EduBatch, EncodedEdus, GoldTree, RstNet


@dataclass(frozen=True)
class ParserSettings:
    """What the config says about the parser. See `build_rst_parser` for the meaning of each value.

    The settings are not saved with the weights: the config of the loaded pipeline decides, so that
    for instance an exact search can be switched on for a trained parser.
    """

    hidden_width: int
    encoder_layers: int
    classifier_width: int
    splitter: str
    layer_norm: bool
    edu_features: bool
    dropout: float | None
    label_smoothing: float
    exact_search: bool
    max_exact_edus: int
    loss_per: str
    exploration: float

    def __post_init__(self) -> None:
        if (self.exact_search or self.exploration) and self.splitter != "span":
            raise RstError(Errors.R256)


@registry.architectures("spacy_rst.RstParser.v1")
def build_rst_parser(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 384,
    encoder_layers: int = 2,
    classifier_width: int = 384,
    splitter: Literal["pointer", "span"] = "pointer",
    layer_norm: bool = False,
    edu_features: bool = False,
    dropout: float | None = 0.5,
    label_smoothing: float = 0.0,
    exact_search: bool = False,
    max_exact_edus: int = 128,
    loss_per: Literal["document", "edu"] = "document",
    exploration: float = 0.0,
) -> Model[list[Doc], list[Any]]:  # names that exist at run time, or settings go unchecked
    """The top-down parser of Liu, Shi & Chen (2020), and variants of it.

    The defaults are the paper's.

    tok2vec (Model[list[Doc], list[Floats2d]]): Token vectors: a listener to a shared `transformer`
        or `tok2vec` component, or an encoder of the parser's own.
    hidden_width (int): Width of the EDU vectors and of the recurrent states. It must be even.
    encoder_layers (int): Layers of the BiGRU over the EDUs.
    classifier_width (int): Width of the label classifier's latent features.
    splitter (str): "pointer", the paper's recurrent decoder, or "span", which scores each split
        point of a span by itself.
    layer_norm (bool): Normalize the EDU vectors.
    edu_features (bool): Give the parser the facts that `features.EDU_FEATURES` names, too.
    dropout (float | None): Dropout rate of the parser in training, whatever the rest of the
        pipeline has. None takes the rate that `update` is called with, `[training] dropout`.
    label_smoothing (float): Share of the label targets that is spread over all labels.
    exact_search (bool): Find the tree with the highest product of split probabilities, instead of
        the best split of each span from the top. For the span splitter only.
    max_exact_edus (int): Documents with more EDUs are parsed from the top all the same.
    loss_per (str): What the loss of a batch is a mean over: "document", as in the paper, or "edu",
        so that long and short documents teach at the same rate.
    exploration (float): In training, let the parser also split the documents by itself, and learn
        how to go on from its mistakes, with this weight. For the span splitter only.
    RETURNS (Model[list[Doc], list[ParsedTree]]): The model. In training it gives a `PendingParse`
        in place of trees, and a callback that takes the loss made from it.
    RAISES (RstError): If the settings contradict each other.
    """
    settings = ParserSettings(
        hidden_width=hidden_width,
        encoder_layers=encoder_layers,
        classifier_width=classifier_width,
        splitter=splitter,
        layer_norm=layer_norm,
        edu_features=edu_features,
        dropout=dropout,
        label_smoothing=label_smoothing,
        exact_search=exact_search,
        max_exact_edus=max_exact_edus,
        loss_per=loss_per,
        exploration=exploration,
    )
    return Model(
        "rst_parser",
        forward,
        init=init,
        dims={"nI": None, "nO": None},
        layers=[tok2vec],
        refs={"tok2vec": tok2vec},
        shims=[LazyNetShim(make_net, settings)],
        # Only if it stands here does thinc's set_dropout_rate change it.
        attrs={"dropout_rate": 0.0} if dropout is None else {},
    )


def make_net(settings: ParserSettings, token_width: int, n_labels: int) -> RstNet:
    """Make a torch net with new weights.

    settings (ParserSettings): What the config says.
    token_width (int): Width of the token vectors.
    n_labels (int): Number of labels.
    RETURNS (RstNet): The net.
    """
    from .net import RstNet

    return RstNet(
        token_width=token_width,
        n_labels=n_labels,
        hidden_width=settings.hidden_width,
        encoder_layers=settings.encoder_layers,
        classifier_width=settings.classifier_width,
        n_features=len(EDU_FEATURES) if settings.edu_features else 0,
        dropout=settings.dropout or 0.0,
        splitter=settings.splitter,
        layer_norm=settings.layer_norm,
    )


@dataclass
class PendingParse:
    """A batch in training: encoded, and waiting for its gold trees.

    encoded (EncodedEdus): The encoded documents.
    net (RstNet): The net that encoded them.
    settings (ParserSettings): What the config says about the loss.
    """

    encoded: EncodedEdus
    net: RstNet
    settings: ParserSettings

    def losses(self, gold: Sequence[GoldTree]) -> tuple[Tensor, Tensor]:
        """Compare the batch with its gold trees.

        gold (Sequence[GoldTree]): The gold tree of each document, over the EDUs of its Doc.
        RETURNS (tuple[Tensor, Tensor]): The split loss and the label loss, means over the
            documents or the EDUs. The model's callback takes their sum.
        """
        return self.net.loss(
            self.encoded,
            gold,
            label_smoothing=self.settings.label_smoothing,
            per=self.settings.loss_per,
            exploration=self.settings.exploration,
        )


def init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    """Initialize the encoder and build a new net. The dimension "nO" must be set before.

    model (Model): The parser's model.
    X (Sequence[Doc] | None): Sample Docs for the encoder.
    Y (Any): Not used.
    RAISES (RstError): If the encoder listens to a component that is not there.
    """
    width = initialize_encoder(model, X, model.name)
    model.set_dim("nI", width, force=True)
    _shim(model).build(token_width=width, n_labels=model.get_dim("nO"))


def forward(
    model: Model, docs: Sequence[Doc], is_train: bool
) -> tuple[Any, Callable[[Tensor], list[Doc]]]:
    """Parse Docs, or encode them for an update.

    model (Model): The parser's model.
    docs (Sequence[Doc]): The Docs, with EDUs.
    is_train (bool): Whether gradients will be asked for.
    RETURNS (tuple): A `ParsedTree` per Doc or, in training, a `PendingParse`; and a callback that
        takes the loss as a tensor, and passes the gradients on to the encoder.
    RAISES (RstError): If a Doc's EDUs are missing or wrong.
    """
    import torch

    docs = list(docs)
    shim = _shim(model)
    net, settings = shim.net, shim.settings
    if not is_train:
        net.eval()
        vectors = model.layers[0].predict(docs) if any(map(len, docs)) else []
        with torch.inference_mode():
            # Without a name for the joined vectors, they are gone before the decoding begins.
            encoded = net.encode(
                make_batch(model, docs, join_vectors(vectors, model.get_dim("nI"), model))
            )
            trees = net.decode(
                encoded, exact=settings.exact_search, max_exact=settings.max_exact_edus
            )
        return trees, lambda loss: docs
    net.train()
    net.set_dropout(model.attrs["dropout_rate"] if settings.dropout is None else settings.dropout)
    vectors, backprop_tok2vec = model.layers[0](docs, is_train=True)
    batch = make_batch(model, docs, join_vectors(vectors, model.get_dim("nI"), model))
    tokens = batch.tokens.requires_grad_()

    def backprop(loss: Tensor) -> list[Doc]:
        if loss.requires_grad:  # not so where no Doc has EDUs
            loss.backward()
        d_tokens = torch.zeros_like(tokens) if tokens.grad is None else tokens.grad
        d_array = cast(Floats2d, torch2xp(d_tokens, ops=model.ops))
        bounds = accumulate(map(len, docs), initial=0)
        return backprop_tok2vec([d_array[start:end] for start, end in pairwise(bounds)])

    return PendingParse(net.encode(batch), net, settings), backprop


def make_batch(model: Model, docs: Sequence[Doc], tokens: Tensor) -> EduBatch:
    """Tell the net where the EDUs of Docs lie.

    model (Model): The parser's model.
    docs (Sequence[Doc]): The Docs, with EDUs.
    tokens (Tensor): The vectors of all their tokens.
    RETURNS (EduBatch): The batch.
    """
    import torch

    from .net import EduBatch

    doc_edus = [get_edus(doc) for doc in docs]
    offsets = accumulate(map(len, docs), initial=0)
    bounds = [
        (edu.start + offset, edu.end + offset)
        for edus, offset in zip(doc_edus, offsets, strict=False)
        for edu in edus
    ]
    places = torch.tensor(bounds, dtype=torch.long, device=_shim(model).device).view(-1, 2)
    features = None
    if _shim(model).settings.edu_features:
        rows = [edu_features(doc, edus) for doc, edus in zip(docs, doc_edus, strict=True)]
        rows.append(np.zeros((0, len(EDU_FEATURES)), dtype=np.float32))
        features = torch.from_numpy(np.concatenate(rows)).to(_shim(model).device)
    return EduBatch(tokens, places[:, 0], places[:, 1], [len(edus) for edus in doc_edus], features)


def _shim(model: Model) -> LazyNetShim:
    return cast(LazyNetShim, model.shims[0])
