"""The pipeline component `syntax`: token vectors that know of syntax, and the syntax itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, POS
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.pipeline import Tok2Vec
from spacy.pipeline.dep_parser import parser_score
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.scorer import Scorer
from spacy.symbols import IDS
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.util import registry
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.types import Floats2d, Ints2d

from ..doc import GUESSED_SENTENCES_KEY
from ..encoder.vectors import check_encoded
from ..pipe import TorchPipe, default_model_config
from ..shims import LazyNetShim
from ..windows import batch_by_size
from .gold import local_targets, read_gold_syntax
from .model import SyntaxOutput, build_syntax, learn_syntax, predict_syntax

if TYPE_CHECKING:
    from torch import Tensor

    from .net import ParsedSyntax

DEFAULT_MODEL = default_model_config("spacy_rst.Syntax.v1", build_syntax)
SCORE_WEIGHTS = dict.fromkeys(("pos_acc", "dep_uas", "dep_las"))


class Prediction(NamedTuple):
    """What is found for a Doc.

    vectors (Floats2d): Its token vectors.
    syntax (ParsedSyntax | None): Its syntax, if that shall be put on Docs.
    """

    vectors: Floats2d
    syntax: ParsedSyntax | None


@registry.scorers("spacy_rst.syntax_scorer.v1")
def make_syntax_scorer() -> Callable[..., dict[str, Any]]:
    """RETURNS (Callable): `score_syntax`."""
    return score_syntax


def score_syntax(examples: Iterable[Example], **options: Any) -> dict[str, Any]:
    """Score the syntax of the Docs that have a gold one: tags, and attachment without punctuation.

    examples (Iterable[Example]): The Docs.
    **options (Any): Not used.
    RETURNS (dict[str, Any]): "pos_acc", "dep_uas" and "dep_las"; nothing where no Doc has any.
    """
    known = [
        example
        for example in examples
        if example.reference.has_annotation("DEP") and example.predicted.has_annotation("DEP")
    ]
    if not known:
        return {}
    scores = Scorer.score_token_attr(known, "pos")
    heads = parser_score(known)
    return scores | {name: heads[name] for name in ("dep_uas", "dep_las")}


@Language.factory(
    "syntax",
    assigns=["doc.tensor"],
    default_config={
        "model": DEFAULT_MODEL,
        "annotate": False,
        "loss_weight": 1.0,
        "max_batch_tokens": 20_000,
        "scorer": {"@scorers": "spacy_rst.syntax_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_syntax(
    nlp: Language,
    name: str,
    model: Model[list[Doc], Any],
    annotate: bool,
    loss_weight: float,
    max_batch_tokens: int,
    scorer: Callable[..., dict[str, Any]] | None,
) -> Syntax:
    """Make a `syntax` component. See `Syntax` for the arguments.

    nlp (Language): The pipeline.
    name (str): The component's name.
    RETURNS (Syntax): The component.
    """
    return Syntax(
        nlp.vocab,
        model,
        name,
        annotate=annotate,
        loss_weight=loss_weight,
        max_batch_tokens=max_batch_tokens,
        scorer=scorer,
    )


class Syntax(TorchPipe, Tok2Vec):
    """Gives Docs token vectors that know of syntax, to which other components listen as they do to
    a `tok2vec`, and, if wanted, parts of speech, dependencies and sentences.

    DOCS: docs/syntax.md
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], Any],
        name: str = "syntax",
        *,
        annotate: bool = False,
        loss_weight: float = 1.0,
        max_batch_tokens: int = 20_000,
        scorer: Callable[..., dict[str, Any]] | None = score_syntax,
    ) -> None:
        """Make the component.

        vocab (Vocab): The shared vocabulary.
        model (Model): A `spacy_rst.Syntax.v1`.
        name (str): The component's name, under which its loss is recorded.
        annotate (bool): Put parts of speech, dependencies and sentences on Docs that have neither
            dependencies nor sentences. EDUs and trees are the same with and without them.
        loss_weight (float): Weight of the loss, which is the cross entropy of a token's tag, head
            and label.
        max_batch_tokens (int): The most tokens that are processed at once. A longer Doc goes alone.
        scorer (Callable | None): The scoring method.
        """
        TorchPipe.__init__(self, vocab, model, name, max_batch_tokens, scorer)
        self.listener_map: dict[str, list[Tok2VecListener]] = {}
        self.annotate = annotate
        self.loss_weight = loss_weight
        self.cfg |= {"tags": [], "labels": []}

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
    ) -> None:
        """Collect the tags and labels of the training data, and give the model new weights. Data
        without syntax is fine: then there is nothing of it to learn.

        get_examples (Callable): A function that returns the training examples.
        nlp (Language | None): The pipeline.
        """
        validate_get_examples(get_examples, "Syntax.initialize")
        tags: set[str] = set()
        labels: set[str] = set()
        for gold in map(read_gold_syntax, get_examples()):
            if gold is not None:
                tags.update(gold.tags)
                labels.update(gold.labels)
        self.cfg |= {"tags": sorted(tags - {""}), "labels": sorted(labels - {""})}
        self.model.attrs["n_tags"] = max(1, len(self.cfg["tags"]))
        self.model.attrs["n_labels"] = max(1, len(self.cfg["labels"]))
        self.initialize_model(get_examples)

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Make token vectors without changing the Docs.

        docs (Iterable[Doc]): The Docs, through which the encoder has gone.
        RETURNS (list[Prediction]): What was found for each Doc.
        """
        shim = self.model.shims[0]
        if not (isinstance(shim, LazyNetShim) and shim.is_built):
            raise ValueError(SpacyErrors.E109.format(name=self.name))
        parse = self.annotate and bool(self.cfg["labels"])
        predictions: list[Prediction] = []
        for batch in batch_by_size(docs, self.max_batch_tokens):
            check_encoded(self.model, batch, self.name)
            vectors, syntax = predict_syntax(self.model, batch, parse=parse)
            found: Sequence[ParsedSyntax | None] = syntax if parse else [None] * len(batch)
            predictions += map(Prediction, vectors, found)
        return predictions

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Prediction]) -> None:
        """Put token vectors on Docs, and syntax where that is wanted and there is none.

        docs (Sequence[Doc]): The Docs.
        predictions (Sequence[Prediction]): What `predict` returned for them.
        """
        for doc, (vectors, syntax) in zip(docs, predictions, strict=True):
            doc.tensor = cast(np.ndarray, vectors)
            has_own = doc.has_annotation("DEP") or doc.has_annotation("SENT_START")
            if syntax is not None and len(doc) and not has_own:
                self._annotate(doc, syntax)

    def _annotate(self, doc: Doc, syntax: ParsedSyntax) -> None:
        labels = np.array([doc.vocab.strings.add(label) for label in self.cfg["labels"]], "uint64")
        tags = np.array([IDS.get(tag, 0) for tag in self.cfg["tags"]], "uint64")
        is_space = doc.to_array(IS_SPACE) == 1
        places = np.arange(len(doc))
        heads = np.where(is_space, np.maximum(places - 1, 0), syntax.heads)
        label_of = np.where(heads == places, doc.vocab.strings.add("ROOT"), labels[syntax.labels])
        columns = {
            POS: np.where(is_space, np.uint64(IDS["SPACE"]), tags[syntax.tags]),
            DEP: np.where(is_space, doc.vocab.strings.add("dep"), label_of),
            HEAD: (heads - places).astype(np.int64).view("uint64"),
        }
        table = np.stack([column.astype("uint64") for column in columns.values()], axis=1)
        doc.user_data[GUESSED_SENTENCES_KEY] = True
        doc.from_array(list(columns), cast(Ints2d, table))

    def learn(self, examples: Sequence[Example]) -> dict[str, float]:
        """Run a batch through the model, and hand the vectors to the listeners. The gradients are
        found when the last of these gives back its own.

        examples (Sequence[Example]): The batch.
        RETURNS (dict[str, float]): The loss.
        """
        docs = [example.predicted for example in examples]
        output = learn_syntax(self.model, docs)
        loss = self.loss_weight * self._mean_loss(examples, output)
        d_vectors = [self.model.ops.alloc2f(*vectors.shape) for vectors in output.vectors]

        def accumulate(more: Sequence[Floats2d]) -> list[Floats2d]:
            for total, gradient in zip(d_vectors, more, strict=True):
                total += gradient
            return [self.model.ops.alloc2f(*vectors.shape) for vectors in output.vectors]

        def finish(more: Sequence[Floats2d]) -> Any:
            accumulate(more)
            return output.backprop(d_vectors, loss)

        batch_id = Tok2VecListener.get_batch_id(docs)
        for listener in self.listeners[:-1]:
            listener.receive(batch_id, output.vectors, accumulate)
        if self.listeners:
            self.listeners[-1].receive(batch_id, output.vectors, finish)
        else:
            finish(d_vectors)
        return {self.name: loss.item()}

    def _mean_loss(self, examples: Sequence[Example], output: SyntaxOutput) -> Tensor:
        """The cross entropy of tags, heads and labels, a mean over the tokens of a batch."""
        from .net import UNKNOWN

        tags, labels = (
            {name: number for number, name in enumerate(self.cfg[key])}
            for key in ("tags", "labels")
        )
        targets = [
            local_targets(read_gold_syntax(example), lengths, tags, labels, UNKNOWN)
            for example, lengths in zip(examples, output.lengths, strict=True)
        ]
        return output.find_loss(np.concatenate(targets, axis=1)) / sum(map(sum, output.lengths))
