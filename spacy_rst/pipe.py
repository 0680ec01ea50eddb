"""What the trainable components share as parts of a pipeline."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.pipeline import Pipe, TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import minibatch
from thinc.api import Model, Optimizer, set_dropout_rate

from .doc_layout import copy_layout, read_layout
from .encoder.vectors import check_encoded
from .shims import LazyNetShim
from .windows import batch_by_size

TRANSFORMER_LISTENER = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "upstream": "*",
    "pooling": {"@layers": "reduce_mean.v1"},
}
SAMPLE_DOCS = 10


def default_model_config(
    architecture: str, build: Callable[..., Model], **blocks: dict[str, Any]
) -> dict[str, Any]:
    """Write out the config of a component's model that listens to a `transformer`, with the
    defaults of the function that builds it, and blocks that it has no defaults for."""
    parameters = inspect.signature(build).parameters.items()
    options = {name: option.default for name, option in parameters}
    blocks = {"tok2vec": TRANSFORMER_LISTENER, **blocks}
    return {"@architectures": architecture, **options, **blocks}


def read_layouts(docs: Iterable[Doc]) -> None:
    """Read the layout of Docs from their text, where they have none yet."""
    for doc in docs:
        read_layout(doc)


class BatchPipe(Pipe):
    """A component that parses Docs together, and in which a bad Doc does not take its batch along.
    Subclasses add `parse`."""

    name: str
    # Errors after which the other Docs of a batch would fare no better alone.
    fatal_errors: tuple[type[Exception], ...] = ()

    @abstractmethod
    def parse(self, docs: Sequence[Doc]) -> None:
        """Parse Docs together."""

    def __call__(self, doc: Doc) -> Doc:
        """Parse a Doc.

        doc (Doc): The Doc.
        RETURNS (Doc): The same Doc.
        """
        self.parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process a stream of Docs.

        A Doc that cannot be processed goes to the error handler alone, not with its whole batch.

        stream (Iterable[Doc]): The Docs.
        batch_size (int): The number of Docs to buffer.
        YIELDS (Doc): The Docs in order.
        """
        for docs in minibatch(stream, size=batch_size):
            try:
                self.parse(docs)
            except self.fatal_errors as error:
                self.get_error_handler()(self.name, self, docs, error)
            except Exception:  # whatever it is, it shows again for the Doc that has it
                yield from Pipe.pipe(self, docs)
            else:
                yield from docs


class TorchPipe(BatchPipe, TrainablePipe):
    """A trainable component around a torch net.

    Subclasses add `initialize`, `set_annotations`, and `learn`, which `update` calls.
    The layout of Docs that have none is read from their text before all of these.

    nlp (Language): The pipeline.
    name (str): The component's name, under which its loss is recorded.
    model (Model): A model from `make_head`.
    max_batch_tokens (int): The most tokens that are processed at once. A longer Doc goes alone.
    scorer (Callable | None): The scoring method.
    """

    # Parts of the loss that are recorded beside the whole.
    partial_losses: tuple[str, ...] = ()

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model[list[Doc], Any],
        max_batch_tokens: int,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        self.vocab = nlp.vocab
        self.model = model
        self.name = name
        self.max_batch_tokens = max_batch_tokens
        self.scorer = scorer
        self.cfg: dict[str, Any] = {}

    def initialize_model(self, get_examples: Callable[[], Iterable[Example]]) -> None:
        """Give the model new weights.

        get_examples (Callable): A function that returns the training examples.
        """
        sample = [example.predicted for example in islice(get_examples(), SAMPLE_DOCS)]
        self.model.initialize(X=sample)

    def predict(self, docs: Iterable[Doc]) -> list[Any]:
        """Run Docs through the model without changing them.

        docs (Iterable[Doc]): The Docs.
        RETURNS (list[Any]): What is predicted for each Doc.
        """
        return list(self.predict_batches(docs))

    def predict_batches(self, docs: Iterable[Doc]) -> Iterator[Any]:
        """Run Docs through the model, a bounded number of tokens at a time."""
        shim = self.model.shims[0]
        if not (isinstance(shim, LazyNetShim) and shim.is_built):
            raise ValueError(SpacyErrors.E109.format(name=self.name))
        for batch in batch_by_size(docs, self.max_batch_tokens):
            check_encoded(self.model, batch, self.name)
            yield from self.predict_batch(batch)

    def predict_batch(self, docs: Sequence[Doc]) -> Sequence[Any]:
        """Run Docs through the model at once."""
        return self.model.predict(list(docs))

    def parse(self, docs: Sequence[Doc]) -> None:
        """Process Docs together."""
        read_layouts(docs)
        self.set_annotations(docs, self.predict(docs))

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch.

        examples (Iterable[Example]): The batch. Documents without gold annotation teach nothing.
        drop (float): The dropout rate of the encoder, and of the component's net where that has no
            rate of its own.
        sgd (Optimizer | None): The optimizer.
        losses (dict[str, float] | None): Record of the losses, to which this one is added under
            the component's name.
        RETURNS (dict[str, float]): The losses.
        """
        losses = {} if losses is None else losses
        for key in (self.name, *self.partial_losses):
            losses.setdefault(key, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        if not any(len(example.predicted) for example in examples):
            return losses
        for example in examples:
            copy_layout(example.reference, example.predicted)
        read_layouts(example.predicted for example in examples)
        set_dropout_rate(self.model, drop)
        for key, loss in self.learn(examples).items():
            losses[key] += loss
        if sgd not in (None, False):
            self.finish_update(sgd)
        return losses

    @abstractmethod
    def learn(self, examples: Sequence[Example]) -> dict[str, float]:
        """Find the gradients of a batch, and return the loss under the component's name, and its
        parts. All Docs must go into the model at once, also those without gold annotation: a
        listener takes whole batches only."""
