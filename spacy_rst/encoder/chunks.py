"""spaCy's own encoders on documents of any length, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from spacy.attrs import LEMMA, MORPH, NORM, POS, TAG
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors, RstError
from ..windows import Window, batch_by_size, cut_windows

# Tokens that run through the encoder at once when predicting. More would not be faster.
GROUP_TOKENS = 5_000
# What an embedding layer may ask for and the word alone does not tell.
COPIED_ATTRIBUTES = [NORM, TAG, POS, MORPH, LEMMA]


@registry.architectures("spacy_rst.ChunkedTok2Vec.v1")
def ChunkedTok2Vec(
    tok2vec: Model[list[Doc], list[Floats2d]], chunk: int = 2000, margin: int = 4
) -> Model[list[Doc], list[Floats2d]]:
    """Run an encoder over long documents in chunks, so that its memory does not grow with them.

    spaCy's window encoders see a few tokens to each side, but keep many times the size of the
    result on the way. The vectors are those of the encoder itself where the margin covers all it
    can see: `depth * window_size` tokens. In training documents are not cut.

    tok2vec (Model[list[Doc], list[Floats2d]]): An encoder made of spaCy's embedding and encoding
        layers, such as `spacy.Tok2Vec.v2` or `spacy.HashEmbedCNN.v2`.
    chunk (int): Longer documents are cut into chunks of so many tokens.
    margin (int): Tokens at each side of a chunk that are only its context.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder. Its references are those of `tok2vec`,
        and "tok2vec" for that one as a whole.
    RAISES (RstError): R320, if there can be no such chunk or margin.
    """
    if chunk < 1 or margin < 0:
        raise RstError(Errors.R320.format(chunk=chunk, margin=margin))
    refs = {name: tok2vec.maybe_get_ref(name) for name in tok2vec.ref_names}
    return Model(
        "chunked_tok2vec",
        # Not as attributes, which would be saved with the weights and overrule the config.
        partial(_forward, chunk=chunk, margin=margin),
        init=_init,
        dims={"nO": tok2vec.maybe_get_dim("nO")},
        layers=[tok2vec],
        refs={**refs, "tok2vec": tok2vec},
    )


def _init(model: Model, X: Sequence[Doc] | None = None, Y: Any = None) -> None:
    tok2vec = model.layers[0]
    tok2vec.initialize(X=X, Y=Y)
    if tok2vec.has_dim("nO"):
        model.set_dim("nO", tok2vec.get_dim("nO"))


def _forward(
    model: Model[list[Doc], list[Floats2d]],
    docs: Sequence[Doc],
    is_train: bool,
    *,
    chunk: int,
    margin: int,
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    docs = list(docs)
    tok2vec = model.layers[0]
    if is_train or not any(map(len, docs)):
        return tok2vec(docs, is_train)
    rows: list[list[Floats2d]] = [[] for _ in docs]
    for parts in batch_by_size(_cut_docs(docs, chunk, margin), GROUP_TOKENS, _size):
        outputs = tok2vec.predict([part.doc for part in parts])
        for part, vectors in zip(parts, outputs, strict=True):
            start, _, keep_start, keep_end = part.window
            rows[part.number].append(vectors[keep_start - start : keep_end - start])
    width = next(parts[0].shape[1] for parts in rows if parts)
    empty = model.ops.alloc2f(0, width)
    vectors = [model.ops.xp.concatenate(parts) if parts else empty for parts in rows]
    return vectors, lambda d_vectors: docs


class _Part(NamedTuple):
    number: int
    window: Window
    doc: Doc


def _cut_docs(docs: Sequence[Doc], chunk: int, margin: int) -> Iterator[_Part]:
    for number, doc in enumerate(docs):
        attributes = doc.to_array(COPIED_ATTRIBUTES)
        for window in cut_windows([len(doc)], chunk + 2 * margin, margin):
            is_whole = window.end - window.start == len(doc)
            span = cast(Any, doc[window.start : window.end])
            copied = {"array_head": COPIED_ATTRIBUTES, "array": attributes}
            yield _Part(number, window, doc if is_whole else span.as_doc(**copied))


def _size(part: _Part) -> int:
    return len(part.doc)
