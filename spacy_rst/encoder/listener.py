"""A listener to token vectors that do not lie in `doc.tensor`, which belongs to the `tok2vec` of a
pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.pipeline.tok2vec import forward as listen
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors, RstError

# Beside the Docs, where they would be serialised with them.
SYNTAX_VECTORS: WeakKeyDictionary[Doc, Floats2d] = WeakKeyDictionary()


@registry.architectures("spacy_rst.SyntaxListener.v1")
def make_syntax_listener(width: int, upstream: str = "syntax") -> Model[list[Doc], list[Floats2d]]:
    """Make a listener to the token vectors of a `syntax` component.

    width (int): The width of the vectors.
    upstream (str): The name of the component.
    RETURNS (Model[list[Doc], list[Floats2d]]): The listener.
    """
    return SyntaxListener(upstream, width)


class SyntaxListener(Tok2VecListener):
    """Gets its vectors from a `syntax` component: in training through spaCy's own mechanism,
    otherwise from `SYNTAX_VECTORS`."""

    name = "syntax-listener"

    def __init__(self, upstream_name: str, width: int) -> None:
        super().__init__(upstream_name, width)
        self._func = _forward


def _forward(
    model: Any, docs: Sequence[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[Any], list[Doc]]]:
    # A component that is frozen hands nothing over.
    if is_train and getattr(model, "_batch_id", None) is not None:
        return listen(model, docs, is_train)
    if any(len(doc) and doc not in SYNTAX_VECTORS for doc in docs):
        raise RstError(Errors.R310.format(name=model.name))
    nothing = model.ops.alloc2f(0, model.get_dim("nO"))
    return [SYNTAX_VECTORS.get(doc, nothing) for doc in docs], lambda d_vectors: []
