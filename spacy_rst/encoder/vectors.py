"""How a component gets the token vectors of its encoder, whichever that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.ml.models.tok2vec import get_tok2vec_width
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors, RstError
from .alignment import Ints
from .listener import SYNTAX_VECTORS, SyntaxListener


def initialize_encoder(model: Model, docs: Sequence[Doc] | None, component: str) -> int:
    """Initialize the encoder of a component, its reference "tok2vec", and find the width of its
    token vectors. Raises R405 if the encoder listens to a component that is missing."""
    tok2vec = model.get_ref("tok2vec")
    if any(listener.has_dim("nO") is None for listener in _listeners(model)):
        raise RstError(Errors.R405.format(name=component))
    tok2vec.initialize(X=docs)
    width = get_tok2vec_width(model)
    if width is None:  # some encoders do not tell
        width = tok2vec.predict([Doc(Vocab(), words=["word"])])[0].shape[1]
    return int(width)


def check_encoded(model: Model, docs: Sequence[Doc], component: str) -> None:
    """Refuse Docs without the token vectors that a component listens to, or with vectors of another
    width (R310, R311). spaCy's listeners would silently replace them by zeros."""
    for listener in _listeners(model):
        for doc in filter(len, docs):
            if not isinstance(listener, Tok2VecListener):
                if doc._.trf_data is None:
                    raise RstError(Errors.R310.format(name=component))
                continue
            is_own = isinstance(listener, SyntaxListener)
            vectors = SYNTAX_VECTORS.get(doc) if is_own else doc.tensor
            if vectors is None or not vectors.size:
                raise RstError(Errors.R310.format(name=component))
            width, found = listener.get_dim("nO"), vectors.shape[1]
            if width != found:
                raise RstError(Errors.R311.format(name=component, width=width, found=found))


def _listeners(model: Model) -> list[Model]:
    return [node for node in model.get_ref("tok2vec").walk() if hasattr(node, "upstream_name")]


def token_offsets(doc: Doc) -> Ints:
    """Start and end character of each token, shape (tokens, 2). Whitespace tokens have none."""
    starts, lengths = doc.to_array([IDX, LENGTH]).astype(np.int64).reshape(-1, 2).T
    # Token.is_space would depend on the vocab: a bare one knows no whitespace.
    has_text = np.array([not token.text.isspace() for token in doc], dtype=bool)
    return np.stack([starts, starts + lengths * has_text], axis=1)


def inner_tokens(offsets: Ints) -> slice:
    """The tokens from the first to the last that is not white space, by their `token_offsets`."""
    words = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    return slice(int(words[0]), int(words[-1]) + 1) if len(words) else slice(0, 0)
