"""The pipeline component `rst_parser`: from EDUs to `doc._.rst_tree`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, Optimizer, set_dropout_rate

from ..doc import set_edus, set_tree
from ..errors import Errors, RstError
from ..pipe import TolerantPipe
from ..relations import split_label
from ..scoring.scorer import score_trees
from ..shims import LazyNetShim
from ..tree import RstTree
from ..windows import batch_by_size
from .gold import GoldAnnotation, read_gold
from .model import PendingParse

if TYPE_CHECKING:
    from torch import Tensor

    from .net import GoldTree, ParsedTree

DEFAULT_MODEL_CONFIG = """
[model]
@architectures = "spacy_rst.RstParser.v1"
hidden_width = 384
encoder_layers = 2
classifier_width = 384
splitter = "pointer"
layer_norm = false
edu_features = false
dropout = 0.5
label_smoothing = 0.0
exact_search = false
max_exact_edus = 128

[model.tok2vec]
@architectures = "spacy-transformers.TransformerListener.v1"
grad_factor = 1.0
upstream = "*"

[model.tok2vec.pooling]
@layers = "reduce_mean.v1"
"""
DEFAULT_MODEL = Config().from_str(DEFAULT_MODEL_CONFIG)["model"]

SCORE_WEIGHTS = {
    "rst_span": 0.2,
    "rst_nuclearity": 0.2,
    "rst_relation": 0.2,
    "rst_full": 0.4,
    "rst_original_span": None,
    "rst_original_nuclearity": None,
    "rst_original_relation": None,
    "rst_original_full": None,
    "rst_per_lang": None,
}
SAMPLE_DOCS = 10


@Language.factory(
    "rst_parser",
    assigns=["doc._.rst_tree"],
    requires=["doc.spans"],
    default_config={
        "model": DEFAULT_MODEL,
        "max_batch_tokens": 20_000,
        "scorer": {"@scorers": "spacy_rst.rst_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_rst_parser(
    nlp: Language,
    name: str,
    model: Model[list[Doc], list[ParsedTree]],
    max_batch_tokens: int,
    scorer: Callable[..., dict[str, Any]] | None,
) -> RstParser:
    """Make an `rst_parser` component.

    nlp (Language): The pipeline.
    name (str): The component's name.
    model (Model[list[Doc], list[ParsedTree]]): A `spacy_rst.RstParser.v1`.
    max_batch_tokens (int): The most tokens that are parsed at once. A longer Doc goes alone.
    scorer (Callable | None): The scoring method.
    RETURNS (RstParser): The component.
    """
    return RstParser(nlp.vocab, model, name, max_batch_tokens=max_batch_tokens, scorer=scorer)


class RstParser(TolerantPipe):
    """Builds the discourse tree of each Doc over the EDUs in `doc.spans["edus"]`.

    DOCS: docs/rst_parser.md
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], Any],
        name: str = "rst_parser",
        *,
        max_batch_tokens: int = 20_000,
        scorer: Callable[..., dict[str, Any]] | None = score_trees,
    ) -> None:
        """Make the component.

        vocab (Vocab): The shared vocabulary.
        model (Model[list[Doc], list[ParsedTree]]): A `spacy_rst.RstParser.v1`.
        name (str): The component's name, under which its loss is recorded.
        max_batch_tokens (int): The most tokens that are parsed at once. A longer Doc goes alone.
        scorer (Callable | None): The scoring method.
        """
        self.vocab = vocab
        self.model = model
        self.name = name
        self.max_batch_tokens = max_batch_tokens
        self.scorer = scorer
        self.cfg: dict[str, Any] = {"labels": []}

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): The joint labels, e.g. "Elaboration-NS"."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): What `spacy init labels` saves: the labels."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label, before the parser is initialized.

        label (str): Relation and nuclearity, e.g. "Elaboration-NS".
        RETURNS (int): 0 if the label is there already, otherwise 1.
        RAISES (ValueError): If the parser has its weights already, or the label is none.
        """
        split_label(label)
        if label in self.cfg["labels"]:
            return 0
        self._allow_extra_label()
        self.cfg["labels"].append(label)
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
    ) -> None:
        """Check the training data and give the model new weights.

        get_examples (Callable): A function that returns the training examples.
        nlp (Language | None): The pipeline.
        labels (Iterable[str] | None): The labels, e.g. from a file of `spacy init labels`. By
            default all that occur in the examples, and those that were added.
        RAISES (RstError): If the examples cannot be learned from.
        """
        validate_get_examples(get_examples, "RstParser.initialize")
        known = None if labels is None else list(labels)
        found = self._check_examples(get_examples(), known)
        if known is None:
            known = [*self.labels, *sorted(found - set(self.labels))]
        for label in known:
            split_label(label)
        if not known:
            raise RstError(Errors.R205.format(name=self.name))
        self.cfg["labels"] = known
        self.model.set_dim("nO", len(known), force=True)
        sample = [example.predicted for example in islice(get_examples(), SAMPLE_DOCS)]
        self.model.initialize(X=sample)

    def _check_examples(self, examples: Iterable[Example], labels: list[str] | None) -> set[str]:
        """Refuse examples that would break the training later, and collect their labels."""
        n_examples = n_trees = 0
        found: set[str] = set()
        for example in examples:
            n_examples += 1
            gold = read_gold(example, labels)
            if gold is not None:
                n_trees += 1
                found.update(gold.labels)
        # With labels one may initialize without data, for which spaCy makes up a single example.
        if not n_trees and (labels is None or n_examples > 1):
            raise RstError(Errors.R200.format(n_examples=n_examples, name=self.name))
        return found

    def predict(self, docs: Iterable[Doc]) -> list[ParsedTree]:
        """Parse Docs without changing them.

        docs (Iterable[Doc]): The Docs, with EDUs.
        RETURNS (list[ParsedTree]): A tree per Doc, with labels as numbers.
        RAISES (RstError): If a Doc's EDUs are missing or wrong.
        """
        shim = self.model.shims[0]
        if not (isinstance(shim, LazyNetShim) and shim.is_built):
            raise ValueError(SpacyErrors.E109.format(name=self.name))
        batches = batch_by_size(docs, self.max_batch_tokens)
        return [tree for batch in batches for tree in self.model.predict(batch)]

    def set_annotations(self, docs: Iterable[Doc], trees: Sequence[ParsedTree]) -> None:
        """Hang trees on Docs, with the model's probabilities as scores.

        docs (Iterable[Doc]): The Docs.
        trees (Sequence[ParsedTree]): What `predict` returned for them.
        """
        for doc, parsed in zip(docs, trees, strict=True):
            set_tree(doc, self._make_tree(doc, parsed))

    def _make_tree(self, doc: Doc, parsed: ParsedTree) -> RstTree | None:
        if not doc.spans.get("edus"):
            return None
        splits = [
            (*split, self.cfg["labels"][label])
            for split, label in zip(parsed.splits.tolist(), parsed.labels.tolist(), strict=True)
        ]
        scores = zip(parsed.split_probs.tolist(), parsed.label_probs.tolist(), strict=True)
        return RstTree.from_splits(splits, scores=list(scores))

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch. The predicted Docs get the gold EDUs, whatever they had before.

        examples (Iterable[Example]): The batch. Documents without a gold tree teach nothing.
        drop (float): The dropout rate of the encoder, and of the parser where its model has no
            rate of its own.
        sgd (Optimizer | None): The optimizer.
        losses (dict[str, float] | None): Record of the losses, to which the total is added under
            the component's name, and its parts as `rst_split` and `rst_label`.
        RETURNS (dict[str, float]): The losses.
        """
        losses = {} if losses is None else losses
        for key in (self.name, "rst_split", "rst_label"):
            losses.setdefault(key, 0.0)
        examples = list(examples)
        validate_examples(examples, "RstParser.update")
        if not any(len(example.predicted) for example in examples):
            return losses
        label_ids = self._label_ids()
        annotations = [read_gold(example, label_ids) for example in examples]
        for example, gold in zip(examples, annotations, strict=True):
            _set_gold_edus(example.predicted, gold)
        set_dropout_rate(self.model, drop)
        # All Docs go in at once, also those without a tree: a listener takes whole batches only.
        pending, backprop = self.model.begin_update([example.predicted for example in examples])
        split_loss, label_loss = pending.losses(_gold_trees(annotations, label_ids))
        backprop(split_loss + label_loss)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses["rst_split"] += split_loss.item()
        losses["rst_label"] += label_loss.item()
        losses[self.name] += split_loss.item() + label_loss.item()
        return losses

    def get_loss(self, examples: Iterable[Example], scores: PendingParse) -> tuple[Tensor, Tensor]:
        """Compare a batch with its gold trees.

        examples (Iterable[Example]): The batch.
        scores (PendingParse): What the model's `begin_update` returned for the predicted Docs.
        RETURNS (tuple[Tensor, Tensor]): The split loss and the label loss. The callback of
            `begin_update` takes their sum.
        """
        label_ids = self._label_ids()
        annotations = [read_gold(example, label_ids) for example in examples]
        return scores.losses(_gold_trees(annotations, label_ids))

    def _label_ids(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.cfg["labels"])}


def _set_gold_edus(predicted: Doc, gold: GoldAnnotation | None) -> None:
    """Give a Doc its gold EDUs, or a single one where it has no gold tree and nothing to teach."""
    if gold is not None:
        set_edus(predicted, gold.edus)
    else:
        set_edus(predicted, [predicted[:]] if len(predicted) else [])


def _gold_trees(
    annotations: Sequence[GoldAnnotation | None], label_ids: dict[str, int]
) -> list[GoldTree]:
    import torch

    from .net import GoldTree

    trees = []
    for gold in annotations:
        splits = [] if gold is None else gold.splits
        labels = [] if gold is None else [label_ids[label] for label in gold.labels]
        trees.append(
            GoldTree(
                torch.tensor(splits, dtype=torch.long).view(-1, 3),
                torch.tensor(labels, dtype=torch.long),
            )
        )
    return trees
