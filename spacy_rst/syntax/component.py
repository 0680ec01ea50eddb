"""The pipeline component `syntax`: token vectors that represent syntax, and the syntax itself."""

# No `annotations` from __future__: spaCy checks the config by those of the class.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, POS
from spacy.language import Language
from spacy.pipeline import Tok2Vec
from spacy.pipeline.dep_parser import parser_score
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.scorer import Scorer
from spacy.symbols import IDS
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d, Ints2d
from torch import Tensor

from ..doc import GUESSED_SENTENCES_KEY
from ..encoder.listener import SYNTAX_VECTORS, SyntaxListener
from ..errors import Errors, RstError
from ..gold import number_syntax, read_gold_syntax
from ..head import word_range
from ..pipe import TorchPipe, default_model_config
from .model import SyntaxOutput, build_syntax, learn_syntax, predict_syntax
from .net import UNKNOWN, ParsedSyntax

DEFAULT_MODEL = default_model_config("spacy_rst.Syntax.v1", build_syntax)
SCORE_WEIGHTS = dict.fromkeys(("pos_acc", "dep_uas", "dep_las"))


class Prediction(NamedTuple):
    """What is found for a Doc: token vectors and, if it is wanted, the syntax in its
    `word_range`."""

    vectors: Floats2d
    syntax: ParsedSyntax | None


@registry.scorers("spacy_rst.syntax_scorer.v1")
def make_syntax_scorer() -> Callable[..., dict[str, Any]]:
    """Registered scorer of `syntax`."""
    return score_syntax


def score_syntax(examples: Iterable[Example], **options: Any) -> dict[str, Any]:
    """Score the syntax of the Docs with gold syntax: tags, and attachment without punctuation.

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
    default_config={
        "model": DEFAULT_MODEL,
        "annotate": False,
        "max_batch_tokens": 20_000,
        "scorer": {"@scorers": "spacy_rst.syntax_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
class Syntax(TorchPipe, Tok2Vec):
    """Makes token vectors that represent syntax, to which other components listen with a
    `spacy_rst.SyntaxListener.v1`, and, if wanted, parts of speech, dependencies and sentences.

    nlp (Language): The pipeline.
    name (str): The component's name, under which its loss is recorded.
    model (Model): A `spacy_rst.Syntax.v1`.
    annotate (bool): Put parts of speech, dependencies and sentences on Docs that have neither
        dependencies nor sentences. EDUs and trees are the same with and without them.
    max_batch_tokens (int): The most tokens that are processed at once. A longer Doc goes alone.
    scorer (Callable | None): The scoring method.

    DOCS: docs/syntax.md
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model[list[Doc], Any],
        annotate: bool,
        max_batch_tokens: int,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        TorchPipe.__init__(self, nlp, name, model, max_batch_tokens, scorer)
        self.listener_map: dict[str, list[Tok2VecListener]] = {}
        self.annotate = annotate
        self.cfg |= {"tags": [], "labels": []}

    def find_listeners(self, component: Any) -> None:
        """Connect the listeners of a component that listens to this one. One that listens to it as
        if to a `tok2vec` is refused."""
        model = getattr(component, "model", None)
        for node in model.walk() if isinstance(model, Model) else ():
            if not isinstance(node, Tok2VecListener) or node.upstream_name != self.name:
                continue
            if not isinstance(node, SyntaxListener):
                raise RstError(Errors.R340.format(listener=component.name, name=self.name))
            self.add_listener(node, component.name)

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

    def predict_batch(self, docs: Sequence[Doc]) -> list[Prediction]:
        """Find vectors, and the syntax where it is wanted. See `TorchPipe`."""
        parse = self.annotate and bool(self.cfg["labels"])
        vectors, syntax = predict_syntax(self.model, docs, parse=parse)
        return [*map(Prediction, vectors, syntax if parse else [None] * len(docs))]

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Prediction]) -> None:
        """Keep token vectors for the listeners, and put syntax on Docs where that is wanted and
        there is none."""
        for doc, (vectors, syntax) in zip(docs, predictions, strict=True):
            SYNTAX_VECTORS[doc] = vectors
            has_own = doc.has_annotation("DEP") or doc.has_annotation("SENT_START")
            if syntax is not None and len(doc) and not has_own:
                self._annotate(doc, syntax)

    def _annotate(self, doc: Doc, syntax: ParsedSyntax) -> None:
        strings = doc.vocab.strings
        places = np.arange(len(doc))
        # White space hangs on the token before it.
        columns = {
            POS: np.full(len(doc), IDS["SPACE"], dtype="uint64"),
            DEP: np.full(len(doc), strings.add("dep"), dtype="uint64"),
            HEAD: np.maximum(places - 1, 0) - places,
        }
        first, end = word_range(doc)
        words = first + np.flatnonzero(doc.to_array(IS_SPACE)[first:end] == 0)
        found = words - first
        labels = np.array([strings.add(label) for label in self.cfg["labels"]], "uint64")
        tags = np.array([IDS.get(tag, 0) for tag in self.cfg["tags"]], "uint64")
        is_root = syntax.heads[found] == found
        columns[POS][words] = tags[syntax.tags[found]]
        columns[DEP][words] = np.where(is_root, strings.add("ROOT"), labels[syntax.labels[found]])
        columns[HEAD][words] = syntax.heads[found] - found
        columns[HEAD] = columns[HEAD].astype(np.int64).view("uint64")
        doc.user_data[GUESSED_SENTENCES_KEY] = True
        doc.from_array(list(columns), cast(Ints2d, np.stack(list(columns.values()), axis=1)))

    def learn(self, examples: Sequence[Example]) -> dict[str, float]:
        """Run a batch through the model, and hand the vectors to the listeners. The gradients are
        found when the last of these gives back its own."""
        docs = [example.predicted for example in examples]
        output = learn_syntax(self.model, docs)
        loss = self._mean_loss(examples, output)
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
        tags, labels = (
            {name: number for number, name in enumerate(self.cfg[key])}
            for key in ("tags", "labels")
        )
        targets = [
            number_syntax(
                read_gold_syntax(example),
                lengths,
                tags,
                labels,
                UNKNOWN,
                first=word_range(example.predicted)[0],
            )
            for example, lengths in zip(examples, output.lengths, strict=True)
        ]
        n_tokens = max(1, sum(map(sum, output.lengths)))
        return output.find_loss(np.concatenate(targets, axis=1)) / n_tokens
