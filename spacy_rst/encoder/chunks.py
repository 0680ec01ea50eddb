"""Long documents in chunks: spaCy's own encoders in bounded memory, at whatever length.

spaCy's window encoders see a few tokens to each side, but run over all tokens of a batch at once
and keep many times the size of the result on the way. `ChunkedTok2Vec` gives such an encoder a
part of a document at a time, with as much context as it can see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors, RstError
from ..windows import batch_by_size

# Tokens that run through the encoder at once when predicting. More would not be faster.
GROUP_TOKENS = 5_000


@registry.architectures("spacy_rst.ChunkedTok2Vec.v1")
def ChunkedTok2Vec(
    tok2vec: Model[list[Doc], list[Floats2d]], chunk: int = 2000, margin: int = 4
) -> Model[list[Doc], list[Floats2d]]:
    """Run an encoder over long documents in chunks, so that its memory does not grow with them.

    The vectors are those of the encoder itself where the margin covers all it can see: for spaCy's
    window encoders `depth * window_size` tokens. In training documents are not cut.

    tok2vec (Model[list[Doc], list[Floats2d]]): An encoder made of spaCy's embedding and encoding
        layers, such as `spacy.Tok2Vec.v2` or `spacy.HashEmbedCNN.v2`.
    chunk (int): Longer documents are cut into chunks of so many tokens.
    margin (int): Tokens at each side of a chunk that are only its context.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder. Its references are those of `tok2vec`,
        and "tok2vec" for that one as a whole.
    RAISES (RstError): R320 or R321, if there can be no such chunk or margin.
    """
    if chunk < 1:
        raise RstError(Errors.R320.format(chunk=chunk))
    if margin < 0:
        raise RstError(Errors.R321.format(margin=margin))
    refs = {name: tok2vec.maybe_get_ref(name) for name in tok2vec.ref_names}
    return Model(
        "chunked_tok2vec",
        # Not as attributes, which would be saved with the weights and overrule the config.
        partial(forward, chunk=chunk, margin=margin),
        init=init,
        dims={"nO": tok2vec.maybe_get_dim("nO")},
        layers=[tok2vec],
        refs={**refs, "tok2vec": tok2vec},
    )


def init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    """Initialize the encoder inside.

    model (Model): A `ChunkedTok2Vec`.
    X (Sequence[Doc] | None): Sample Docs.
    Y (Any): Sample vectors.
    """
    tok2vec = model.layers[0]
    tok2vec.initialize(X=X, Y=Y)
    if tok2vec.has_dim("nO"):
        model.set_dim("nO", tok2vec.get_dim("nO"))


def forward(
    model: Model[list[Doc], list[Floats2d]],
    docs: Sequence[Doc],
    is_train: bool,
    *,
    chunk: int,
    margin: int,
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """Compute token vectors.

    model (Model): A `ChunkedTok2Vec`.
    docs (Sequence[Doc]): The documents.
    is_train (bool): Whether gradients will be asked for. If so, no document is cut.
    chunk (int): Longer documents are cut into chunks of so many tokens.
    margin (int): Tokens at each side of a chunk that are only its context.
    RETURNS (tuple): The vectors of each document, and a callback that takes their gradients.
    """
    docs = list(docs)
    tok2vec = model.layers[0]
    if is_train or not any(map(len, docs)):
        return tok2vec(docs, is_train)
    vectors: list[Floats2d] = []
    for parts in batch_by_size(cut_docs(docs, chunk, margin), GROUP_TOKENS):
        outputs = tok2vec.predict(cast(list[Doc], [part.as_input() for part in parts]))
        if not vectors:
            width = outputs[0].shape[1]
            vectors = [model.ops.alloc2f(len(doc), width, zeros=False) for doc in docs]
        for part, rows in zip(parts, outputs, strict=True):
            kept = rows[part.keep_start - part.start : part.keep_end - part.start]
            vectors[part.number][part.keep_start : part.keep_end] = kept
    return vectors, lambda d_vectors: docs


@dataclass
class DocPart:
    """Neighbouring tokens of a Doc, with what spaCy's embedding layers ask of a whole one.

    A Span will not do: its `to_array` takes no names, and it has no `to_utf8_array`.

    doc (Doc): The Doc.
    number (int): Which Doc of the batch that is.
    start, end (int): The tokens that are read.
    keep_start, keep_end (int): Those whose vectors are kept.
    arrays (dict): What was asked of the whole Doc so far, shared by its parts: if each part asked
        anew, the time would grow with the square of the Doc's length.
    """

    doc: Doc
    number: int
    start: int
    end: int
    keep_start: int
    keep_end: int
    arrays: dict[tuple[str, str], np.ndarray] = field(repr=False)

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def vocab(self) -> Vocab:
        """RETURNS (Vocab): The Doc's vocabulary."""
        return self.doc.vocab

    def as_input(self) -> Doc | DocPart:
        """RETURNS (Doc | DocPart): The Doc where this is all of it, otherwise this part."""
        return self.doc if len(self) == len(self.doc) else self

    def to_array(self, attributes: Any) -> np.ndarray:
        """Do what `Doc.to_array` does.

        attributes (Any): A token attribute, or several.
        RETURNS (np.ndarray): Their values for the tokens of this part.
        """
        return self._rows("to_array", attributes)

    def to_utf8_array(self, nr_char: int = -1) -> np.ndarray:
        """Do what `Doc.to_utf8_array` does.

        nr_char (int): The number of bytes per token.
        RETURNS (np.ndarray): The bytes of this part's tokens.
        """
        return self._rows("to_utf8_array", nr_char)

    def _rows(self, method: str, argument: Any) -> np.ndarray:
        key = method, repr(argument)
        if key not in self.arrays:
            self.arrays[key] = getattr(self.doc, method)(argument)
        return self.arrays[key][self.start : self.end]


def cut_docs(docs: Sequence[Doc], chunk: int, margin: int) -> Iterator[DocPart]:
    """Cut long documents into overlapping parts. A document that is no longer than a chunk stays
    whole, an empty one has no part.

    docs (Sequence[Doc]): The documents.
    chunk (int): Tokens of a part whose vectors are kept.
    margin (int): Tokens of context at each side of them, but for a document's ends.
    YIELDS (DocPart): The parts. What they keep covers each token once, in order.
    """
    for number, doc in enumerate(docs):
        arrays: dict[tuple[str, str], np.ndarray] = {}
        for keep_start in range(0, len(doc), chunk):
            keep_end = min(keep_start + chunk, len(doc))
            start, end = max(keep_start - margin, 0), min(keep_end + margin, len(doc))
            yield DocPart(doc, number, start, end, keep_start, keep_end, arrays)
