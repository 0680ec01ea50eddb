"""What the trainable components share: their batches, their torch nets, their gold texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

import srsly
from spacy.ml.models.tok2vec import get_tok2vec_width
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model, PyTorchShim, get_torch_default_device, xp2torch
from thinc.types import Floats2d

from .doc import NAME_KEY, SOURCE_KEY, document_fact
from .encoder.disk import DiskVectors
from .errors import Errors, RstError
from .util import return_freed_memory

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SHOWN_CHARACTERS = 20
LONG_DOC_TOKENS = 20_000


class TolerantPipe(TrainablePipe):
    """A trainable component in which a bad Doc does not take its batch along."""

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process a stream of Docs.

        A Doc that cannot be processed goes to the error handler alone, not with its whole batch.

        stream (Iterable[Doc]): The Docs.
        batch_size (int): The number of Docs to buffer.
        YIELDS (Doc): The Docs in order.
        """
        for docs in minibatch(stream, size=batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception:  # whatever it is, __call__ hands it to the error handler
                processed = (self(doc) for doc in docs)
                yield from (doc for doc in processed if doc is not None)
            else:
                yield from docs


def batch_by_tokens(docs: Iterable[Doc], max_tokens: int) -> Iterator[list[Doc]]:
    """Group Docs in their order, so that a long stream needs no more memory than a batch. After a
    very long Doc the memory that it needed is given back.

    docs (Iterable[Doc]): The Docs.
    max_tokens (int): The most tokens in a group. A longer Doc goes alone.
    YIELDS (list[Doc]): The groups.
    """
    batch: list[Doc] = []
    n_tokens = 0
    for doc in docs:
        if batch and n_tokens + len(doc) > max_tokens:
            yield batch
            if n_tokens > LONG_DOC_TOKENS:
                return_freed_memory()
            batch, n_tokens = [], 0
        batch.append(doc)
        n_tokens += len(doc)
    if batch:
        yield batch
    if n_tokens > LONG_DOC_TOKENS:
        return_freed_memory()


class AveragedShim(PyTorchShim):
    """Holds a torch net whose weights can be exchanged for an optimizer's averages for a while.

    thinc's own shim hands the weights to the optimizer under one kind of key and looks for their
    averages under another, so that `use_averages` would leave the net as it is.
    """

    @contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """Use other weights within a block, as `spacy train` does to evaluate and to save.

        params (Mapping[tuple[int, str], Any]): Arrays by the number of the shim and the name of
            the weight, as in `optimizer.averages`. Weights without an array stay as they are.
        """
        weights = {} if self._model is None else dict(self._model.named_parameters())
        own = {name: weight.data for name, weight in weights.items() if (self.id, name) in params}
        for name, trained in own.items():
            array = params[self.id, name]
            weights[name].data = xp2torch(array, device=trained.device)
        try:
            yield
        finally:
            for name, trained in own.items():
                weights[name].data = trained


class LazyNetShim(AveragedShim):
    """Holds a torch net, from the time when its sizes are known.

    make_net (Callable): Makes the net from the settings and the sizes.
    settings (Any): What the config says about the net. Settings are not saved with the weights:
        the config of the loaded pipeline decides.
    """

    def __init__(self, make_net: Callable[..., torch.nn.Module], settings: Any) -> None:
        super().__init__(None, config={}, deserialize_model=_load_weights)
        self.make_net = make_net
        self.settings = settings

    @property
    def is_built(self) -> bool:
        """RETURNS (bool): Whether there is a net."""
        return self._model is not None

    @property
    def net(self) -> Any:
        """RETURNS (torch.nn.Module): The net."""
        return self._model

    def build(self, **sizes: int) -> None:
        """Make the net, with new weights.

        **sizes (int): What `make_net` needs beside the settings.
        """
        use_one_thread_in_forks()
        self.cfg = sizes
        self._model = self.make_net(self.settings, **sizes).to(get_torch_default_device())

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): The sizes and the weights, where there are any."""
        return super().to_bytes() if self.is_built else srsly.msgpack_dumps({})

    def from_bytes(self, bytes_data: bytes) -> LazyNetShim:
        """Make a net of the saved sizes and load its weights.

        bytes_data (bytes): The output of `to_bytes`.
        RETURNS (LazyNetShim): The shim itself.
        """
        message = srsly.msgpack_loads(bytes_data)
        if message:
            self.build(**message["config"])
            super().from_bytes(bytes_data)
        return self


def _load_weights(net: torch.nn.Module, state: bytes, device: Any) -> torch.nn.Module:
    import torch

    net.load_state_dict(torch.load(BytesIO(state), map_location=device, weights_only=True))
    return net.to(device)


@lru_cache(maxsize=1)
def use_one_thread_in_forks() -> None:
    """Let forked processes run torch in one thread, from now on.

    `nlp.pipe(n_process=...)` forks. A fork inherits torch's thread pool without its threads, and
    would wait for them forever.
    """
    if hasattr(os, "register_at_fork"):
        import torch

        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


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


def rows_to_read(
    vectors: Sequence[Floats2d | DiskVectors], width: int, model: Model
) -> Tensor | DiskVectors:
    """Put all token vectors together, to be read in slices. Those of a single long Doc stay on the
    disk, if they are there.

    vectors (Sequence[Floats2d | DiskVectors]): The token vectors of each Doc.
    width (int): Their width.
    model (Model): The model, on whose device a tensor shall be.
    RETURNS (Tensor | DiskVectors): Float (total_tokens, width).
    """
    filled = [doc_vectors for doc_vectors in vectors if len(doc_vectors)]
    if len(filled) == 1 and isinstance(filled[0], DiskVectors):
        return filled[0]
    return join_vectors(cast("Sequence[Floats2d]", filled), width, model)


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


def document_name(doc: Doc) -> str:
    """Name a document for a message.

    doc (Doc): The Doc.
    RETURNS (str): What its user data says, or the beginning of its text.
    """
    for key in (SOURCE_KEY, NAME_KEY):
        if fact := document_fact(doc, key):
            return f"'{fact}'"
    return f"'{doc.text[: 2 * SHOWN_CHARACTERS]} ...'"


def check_same_text(predicted: Doc, reference: Doc) -> None:
    """Refuse an example of which the two Docs differ in their text.

    predicted (Doc): The predicted Doc.
    reference (Doc): The gold Doc.
    RAISES (RstError): If they differ. The message names the document and the place.
    """
    found, gold = predicted.text, reference.text
    if found == gold:
        return
    pairs = enumerate(zip_longest(found, gold))
    position = next(number for number, (own, other) in pairs if own != other)
    shown = slice(position, position + SHOWN_CHARACTERS)
    raise RstError(
        Errors.R201.format(
            document=document_name(reference),
            position=position,
            predicted=found[shown],
            gold=gold[shown],
        )
    )
