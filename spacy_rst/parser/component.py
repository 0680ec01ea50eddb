"""The pipeline component `rst_parser`: from EDUs to `doc._.rst_tree`."""

# No `annotations` from __future__: spaCy checks the config by those of the class.
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from thinc.api import Model

from ..doc import set_edus, set_tree
from ..errors import Errors, RstError
from ..gold import GoldTree, read_gold_tree
from ..head import get_net
from ..pipe import TorchPipe, default_model_config, read_layouts
from ..relations import split_label
from ..tree import RstTree
from .model import build_rst_parser, encode_docs
from .net import GoldSplits, ParsedTree
from .spans import Choices
from .splitters import SpanSplitter

DEFAULT_MODEL = default_model_config(
    "spacy_rst.RstParser.v1",
    build_rst_parser,
    splitter={"@architectures": "spacy_rst.PointerSplitter.v1"},
)

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
class RstParser(TorchPipe):
    """Builds the discourse tree of each Doc over the EDUs in `doc.spans["edus"]`.

    nlp (Language): The pipeline.
    name (str): The component's name, under which its loss is recorded.
    model (Model[list[Doc], list[ParsedTree]]): A `spacy_rst.RstParser.v1`.
    max_batch_tokens (int): The most tokens that are parsed at once. A longer Doc goes alone.
    scorer (Callable | None): The scoring method.

    DOCS: docs/rst_parser.md
    """

    partial_losses = ("rst_split", "rst_label")

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model[list[Doc], list[Any]],
        max_batch_tokens: int,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        super().__init__(nlp, name, model, max_batch_tokens, scorer)
        self.cfg["labels"] = []

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
        RAISES (ValueError): If the parser has its weights already, or the label is not one.
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
            wanted = "a gold tree with two or more EDUs"
            raise RstError(Errors.R200.format(wanted=wanted, name=self.name))
        self.cfg["labels"] = known
        self.model.set_dim("nO", len(known), force=True)
        self.initialize_model(get_examples)

    def _check_examples(self, examples: Iterable[Example], labels: list[str] | None) -> set[str]:
        """Refuse examples that would break the training later, and collect their labels."""
        n_examples = n_trees = 0
        found: set[str] = set()
        for example in examples:
            n_examples += 1
            gold = read_gold_tree(example, labels)
            if gold is not None:
                n_trees += 1
                found.update(gold.labels)
        # With labels one may initialize without data, for which spaCy makes up a single example.
        if not n_trees and (labels is None or n_examples > 1):
            raise RstError(Errors.R200.format(wanted="a gold tree", name=self.name))
        return found

    def set_annotations(self, docs: Iterable[Doc], trees: Sequence[ParsedTree]) -> None:
        """Set trees on Docs, with the model's probabilities as scores."""
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

    def learn(self, examples: Sequence[Example]) -> dict[str, float]:
        """Find the gradients of a batch. The predicted Docs get the gold EDUs, whatever they had
        before, and none where there is no gold tree."""
        golds = [read_gold_tree(example, self.cfg["labels"]) for example in examples]
        docs = [example.predicted for example in examples]
        for doc, gold in zip(docs, golds, strict=True):
            # What has no tree is encoded, as a listener takes whole batches only, and no more.
            set_edus(doc, gold.edus if gold else [])
        find_losses, backprop = self.model.begin_update(docs)
        split_loss, label_loss = find_losses(self._gold_splits(golds))
        backprop(split_loss + label_loss)
        parts = {"rst_split": split_loss.item(), "rst_label": label_loss.item()}
        return {self.name: sum(parts.values()), **parts}

    def gold_choices(self, example: Example) -> tuple[Choices | None, Choices]:
        """Compare the parser's probabilities in the spans of a gold tree of two EDUs or more with
        the tree: the splits, None from a pointer, and the labels that the parser knows. The
        predicted Doc has gone through the components before the parser, and gets the gold EDUs."""
        gold = read_gold_tree(example)
        if gold is None:
            raise ValueError("The example has no gold tree")
        read_layouts([example.predicted])
        set_edus(example.predicted, gold.edus)
        encoded = encode_docs(self.model, [example.predicted])
        return get_net(self.model).gold_choices(encoded, self._gold_splits([gold]))

    def apply_temperature(
        self, *, splits: float | None = None, labels: float | None = None
    ) -> None:
        """Change how sure the parser is of its choices, by way of its weights.

        splits (float | None): Temperature by which the scores of split points are divided: more
            than 1 makes the parser less sure. A pointer takes none.
        labels (float | None): The same for labels.
        RAISES (ValueError): If there is a temperature for a pointer.
        """
        net = get_net(self.model)
        if splits is not None:
            if not isinstance(net.splitter, SpanSplitter):
                raise ValueError("A PointerSplitter has no weight that scales its scores alone")
            net.splitter.apply_temperature(splits)
        if labels is not None:
            net.classifier.apply_temperature(labels)

    def _gold_splits(self, golds: Sequence[GoldTree | None]) -> list[GoldSplits]:
        label_ids = {label: number for number, label in enumerate(self.cfg["labels"])}
        rows = [([], []) if gold is None else (gold.splits, gold.labels) for gold in golds]
        return [
            GoldSplits(
                torch.tensor(splits, dtype=torch.long).view(-1, 3),
                torch.tensor([label_ids.get(label, -1) for label in labels], dtype=torch.long),
            )
            for splits, labels in rows
        ]
