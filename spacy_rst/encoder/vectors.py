"""How a component gets the token vectors of its encoder, whichever that is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.ml.models.tok2vec import get_tok2vec_width
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors, RstError
from .alignment import Ints
from .listener import SYNTAX_VECTORS, SyntaxListener


def initialize_encoder(model: Model, docs: Sequence[Doc] | None, component: str) -> int:
    """Initialize the encoder of a component, and find how wide its token vectors are.

    model (Model): The component's model, with its encoder as the reference "tok2vec".
    docs (Sequence[Doc] | None): Sample Docs.
    component (str): The component's name, for the message.
    RETURNS (int): The width.
    RAISES (RstError): If the encoder listens to a component that is not there.
    """
    tok2vec = model.get_ref("tok2vec")
    if any(listener.has_dim("nO") is None for listener in _listeners(model)):
        raise RstError(Errors.R405.format(name=component))
    tok2vec.initialize(X=docs)
    width = get_tok2vec_width(model)
    if width is None:  # some encoders do not tell
        width = tok2vec.predict([Doc(Vocab(), words=["word"])])[0].shape[1]
    return int(width)


def check_encoded(model: Model, docs: Sequence[Doc], component: str) -> None:
    """Refuse Docs without the token vectors that a component listens to. spaCy's listeners would
    take zeros for them without a word.

    model (Model): The component's model, with its encoder as the reference "tok2vec".
    docs (Sequence[Doc]): The Docs.
    component (str): The component's name, for the message.
    RAISES (RstError): R310 or R311, if the vectors are missing or have another width.
    """
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


def split_vectors(vectors: Floats2d, docs: Sequence[Doc]) -> list[Floats2d]:
    """Give each Doc its part of the token vectors.

    vectors (Floats2d): The vectors of all tokens.
    docs (Sequence[Doc]): The Docs.
    RETURNS (list[Floats2d]): The vectors of each Doc.
    """
    bounds = accumulate(map(len, docs), initial=0)
    return [vectors[start:end] for start, end in pairwise(bounds)]


def token_offsets(doc: Doc) -> Ints:
    """Find the characters of each token. Whitespace tokens have none.

    doc (Doc): The Doc.
    RETURNS (Ints): Start and end character of each token, shape (tokens, 2).
    """
    starts, lengths = doc.to_array([IDX, LENGTH]).astype(np.int64).reshape(-1, 2).T
    # Token.is_space would depend on the vocab: a bare one knows no whitespace.
    has_text = np.array([not token.text.isspace() for token in doc], dtype=bool)
    return np.stack([starts, starts + lengths * has_text], axis=1)


def inner_tokens(offsets: Ints) -> slice:
    """Leave out the white space at both ends of a Doc.

    offsets (Ints): The output of `token_offsets`.
    RETURNS (slice): The tokens from the first to the last that is not white space.
    """
    words = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    return slice(int(words[0]), int(words[-1]) + 1) if len(words) else slice(0, 0)
