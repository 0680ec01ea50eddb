"""What the trainable components share as parts of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.util import minibatch


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
