"""How a component gets the token vectors of its encoder, whichever that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from spacy.ml.models.tok2vec import get_tok2vec_width
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, xp2torch
from thinc.types import Floats2d

from ..errors import Errors, RstError
from ..shims import LazyNetShim

if TYPE_CHECKING:
    from torch import Tensor


def initialize_encoder(model: Model, docs: Sequence[Doc] | None, component: str) -> int:
    """Initialize the encoder of a component, and find how wide its token vectors are.

    model (Model): The component's model, with its encoder as the reference "tok2vec".
    docs (Sequence[Doc] | None): Sample Docs.
    component (str): The component's name, for the message.
    RETURNS (int): The width.
    RAISES (RstError): If the encoder listens to a component that is not there.
    """
    tok2vec = model.get_ref("tok2vec")
    for node in tok2vec.walk():
        if hasattr(node, "upstream_name") and node.has_dim("nO") is None:
            raise RstError(Errors.R405.format(name=component))
    tok2vec.initialize(X=docs)
    width = get_tok2vec_width(model)
    if width is None:  # some encoders do not tell
        width = tok2vec.predict([Doc(Vocab(), words=["word"])])[0].shape[1]
    return int(width)


def join_vectors(vectors: Sequence[Floats2d], width: int, model: Model) -> Tensor:
    """Put all token vectors in one tensor. Those of empty Docs may have no width.

    vectors (Sequence[Floats2d]): The token vectors of each Doc.
    width (int): Their width.
    model (Model): The model, on whose device the tensor shall be.
    RETURNS (Tensor): Float (total_tokens, width).
    """
    filled = [doc_vectors for doc_vectors in vectors if len(doc_vectors)]
    joined = model.ops.xp.concatenate(filled) if filled else model.ops.alloc2f(0, width)
    return xp2torch(joined, device=cast(LazyNetShim, model.shims[0]).device)
