"""How far a parser's probabilities can be trusted, and temperatures that make them honest.

Splits and labels are judged in the spans of gold trees, nodes in the trees that the parser makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..doc import get_tree
from ..errors import Errors, RstError
from ..evaluation import makes_edus, parse_docs
from ..parser.component import RstParser
from ..scoring.scorer import edu_chars
from ..tree import RstTree
from ..treebank.corpus import make_example

if TYPE_CHECKING:
    from ..parser.spans import Choices

# What is judged, and how it is called in tables and charts.
VIEWS = {
    "splits": "Splits of gold spans",
    "labels": "Labels of gold spans",
    "nodes_gold": "Nodes over gold EDUs",
    "nodes_predicted": "Nodes from raw text",
}
N_BINS = 10
# Where all choices are right, the best temperature would be 0.
MAX_TEMPERATURE = 20.0
HALVINGS = 40


@dataclass(frozen=True, slots=True)
class ProbabilityBin:
    """Choices to which a parser gave similar probabilities.

    n (int): How many there are.
    probability (float | None): The mean of their probabilities, None where there are none.
    right (float | None): The share of them that is right.
    """

    n: int
    probability: float | None
    right: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """What probabilities of a parser are worth.

    bins (tuple[ProbabilityBin, ...]): The choices by their probability, in bins of equal width
        between 0 and 1.
    """

    bins: tuple[ProbabilityBin, ...]

    @property
    def n(self) -> int:
        """RETURNS (int): The number of choices."""
        return sum(part.n for part in self.bins)

    @property
    def error(self) -> float | None:
        """RETURNS (float | None): The expected calibration error: the mean distance between the
        probability of a choice and the share of its bin that is right. None without choices."""
        gaps = [part.n * abs(part.probability - part.right) for part in self.bins if part.n]  # type: ignore[operator]
        return sum(gaps) / self.n if self.n else None

    def as_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): The number of choices, the error, and the bins."""
        rows = [
            {
                "from": number / len(self.bins),
                "n": part.n,
                "probability": part.probability,
                "right": part.right,
            }
            for number, part in enumerate(self.bins)
        ]
        return {"n": self.n, "expected_calibration_error": self.error, "bins": rows}


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration found and changed.

    temperatures (dict[str, float | None]): Those by which the scores of "splits" and "labels" were
        divided. None for the splits of a pointer, which have no weights of their own.
    before (dict[str, Reliability]): What the parser's probabilities were worth: those of "splits"
        and "labels" in the spans of gold trees, and those of the nodes of its own trees,
        "nodes_gold" over gold EDUs and "nodes_predicted" from the text alone.
    after (dict[str, Reliability]): What they are worth since.
    n_trees (int): The number of trees that were made, each twice.
    n_changed (int): How many are others than before: none, but with a search.
    """

    temperatures: dict[str, float | None]
    before: dict[str, Reliability]
    after: dict[str, Reliability]
    n_trees: int
    n_changed: int

    def as_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): All of it in JSON values."""
        return {
            "temperatures": self.temperatures,
            "before": {name: part.as_dict() for name, part in self.before.items()},
            "after": {name: part.as_dict() for name, part in self.after.items()},
            "trees": self.n_trees,
            "changed_trees": self.n_changed,
        }


def calibrate(
    nlp: Language,
    docs: Sequence[Doc],
    *,
    edus: Sequence[str] = ("gold",),
    batch_size: int | None = None,
) -> Calibration:
    """Find the temperatures at which the gold trees of some documents are likeliest, and build
    them into the weights of the pipeline's parser.

    nlp (Language): The pipeline, whose parser is changed. Its trees stay the same.
    docs (Sequence[Doc]): Gold Docs of two EDUs or more that were not trained on.
    edus (Sequence[str]): Over what EDUs trees are made to judge their nodes: "gold", "predicted".
    batch_size (int | None): Documents to buffer.
    RETURNS (Calibration): The temperatures, and what they changed.
    RAISES (RstError): If the pipeline has no parser.
    """
    parser_name = find_parser(nlp)
    parser: RstParser = nlp.get_pipe(parser_name)  # type: ignore[assignment]
    parsed = [parse_docs(nlp, docs, edus=mode, batch_size=batch_size) for mode in edus]
    choices = collect_choices(nlp, parser_name, docs, batch_size=batch_size)
    temperatures = {name: fit_temperature(part) for name, part in choices.items()}
    parser.apply_temperature(**temperatures)
    parsed_again = [parse_docs(nlp, docs, edus=mode, batch_size=batch_size) for mode in edus]
    before = {name: judge_choices(part) for name, part in choices.items()}
    after = {
        name: judge_choices(temper_choices(part, temperatures[name]))
        for name, part in choices.items()
    }
    for mode, old, new in zip(edus, parsed, parsed_again, strict=True):
        before[f"nodes_{mode}"], after[f"nodes_{mode}"] = judge_nodes(old), judge_nodes(new)
    trees = [
        [_splits(example.predicted) for examples in runs for example in examples]
        for runs in (parsed, parsed_again)
    ]
    n_changed = sum(old != new for old, new in zip(*trees, strict=True))
    found = {"splits": None, "labels": None, **temperatures}
    return Calibration(found, before, after, len(trees[0]), n_changed)


def find_parser(nlp: Language) -> str:
    """RETURNS (str): The name of the first `rst_parser` in a pipeline.
    RAISES (RstError): If there is none."""
    for name, component in nlp.pipeline:
        if isinstance(component, RstParser):
            return name
    model, pipes = f"{nlp.meta['lang']}_{nlp.meta['name']}", ", ".join(nlp.pipe_names)
    raise RstError(Errors.R227.format(model=model, pipes=pipes or "there are none"))


def collect_choices(
    nlp: Language, parser_name: str, docs: Iterable[Doc], *, batch_size: int | None = None
) -> dict[str, Choices]:
    """Ask a parser how likely it holds what could be done with the spans of gold trees.

    nlp (Language): The pipeline.
    parser_name (str): The name of its parser.
    docs (Iterable[Doc]): Gold Docs of two EDUs or more.
    batch_size (int | None): Documents to buffer.
    RETURNS (dict[str, Choices]): The "splits" of spans of three EDUs or more, but for a pointer's,
        and the "labels" of all spans.
    """
    parser: RstParser = nlp.get_pipe(parser_name)  # type: ignore[assignment]
    names = nlp.pipe_names
    segmenters = [name for name in names if makes_edus(nlp, name)]
    disable = [*segmenters, *names[names.index(parser_name) :]]
    examples = (make_example(nlp, doc) for doc in docs)
    inputs = ((example.predicted, example) for example in examples)
    collected: dict[str, list[Choices]] = {"splits": [], "labels": []}
    # One by one: the token vectors of all documents together may need much memory.
    for doc, example in nlp.pipe(inputs, as_tuples=True, batch_size=batch_size, disable=disable):
        example.predicted = doc
        for name, part in zip(collected, parser.gold_choices(example), strict=True):
            if part is not None:
                collected[name].append(part)
    return {name: join_choices(parts) for name, parts in collected.items() if parts}


def join_choices(parts: Sequence[Choices]) -> Choices:
    """RETURNS (Choices): Those of several documents as one, on the CPU and in double precision."""
    import torch

    from ..parser.spans import Choices

    n_options = np.cumsum([0, *(len(part.log_probs) for part in parts)]).tolist()
    n_choices = np.cumsum([0, *(len(part.gold) for part in parts)]).tolist()
    return Choices(
        torch.cat([part.log_probs.cpu().double() for part in parts]),
        torch.cat([p.numbers.cpu() + n for p, n in zip(parts, n_choices, strict=False)]),
        torch.cat([p.gold.cpu() + n for p, n in zip(parts, n_options, strict=False)]),
    )


def temper_choices(choices: Choices, temperature: float) -> Choices:
    """RETURNS (Choices): The same choices with probabilities at another temperature."""
    from ..parser.spans import segment_log_softmax

    scores = choices.log_probs / temperature
    log_probs = segment_log_softmax(scores, choices.numbers, len(choices.gold))
    return choices._replace(log_probs=log_probs)


def fit_temperature(choices: Choices) -> float:
    """Find the temperature at which what is right is likeliest.

    choices (Choices): The choices.
    RETURNS (float): The temperature; 1 without choices.
    """
    if not len(choices.gold):
        return 1.0
    scores = choices.log_probs
    low, high = -log(MAX_TEMPERATURE), log(MAX_TEMPERATURE)
    # The log loss is convex in the inverse of the temperature, and this is its slope.
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        probs = temper_choices(choices, exp(middle)).log_probs.exp()
        is_too_sure = float((probs * scores).sum() - scores[choices.gold].sum()) > 0
        low, high = (middle, high) if is_too_sure else (low, middle)
    return exp((low + high) / 2)


def judge_choices(choices: Choices) -> Reliability:
    """RETURNS (Reliability): What the probabilities of the likeliest options are worth."""
    from ..parser.spans import segment_max

    best = segment_max(choices.log_probs, choices.numbers, len(choices.gold))
    is_right = choices.log_probs[choices.gold] >= best
    return measure_reliability(best.exp().numpy(), is_right.numpy())


def judge_nodes(examples: Iterable[Example]) -> Reliability:
    """Compare the inner nodes of predicted trees with those of gold trees.

    examples (Iterable[Example]): The documents.
    RETURNS (Reliability): What the nodes' scores are worth, that is the probability of split and
        label together. A node is right if the gold tree has one over the same text, with the same
        split, relation and nuclearity.
    """
    probs: list[float] = []
    is_right: list[bool] = []
    for example in examples:
        gold, predicted = get_tree(example.reference), get_tree(example.predicted)
        right = set(_places(gold))
        scores = (predicted and predicted.scores) or ()
        probs += [score.split * score.label for score in scores]
        is_right += [place in right for place in _places(predicted)]
    return measure_reliability(np.array(probs), np.array(is_right, dtype=bool))


def _places(tree: RstTree | None) -> list[tuple[int, int, int, str]]:
    """Where the nodes of a tree begin, are split and end in the text, and their labels."""
    edus = edu_chars(tree)
    splits = () if tree is None else tree.splits
    return [
        (edus[start][0], edus[split][0], edus[end - 1][1], label)
        for start, split, end, label in splits
    ]


def _splits(doc: Doc) -> Any:
    tree = get_tree(doc)
    return None if tree is None else tree.splits


def measure_reliability(
    probs: np.ndarray, is_right: np.ndarray, n_bins: int = N_BINS
) -> Reliability:
    """Sort choices into bins by their probability.

    probs (np.ndarray): Float (n,), the probability of each choice.
    is_right (np.ndarray): Bool (n,), whether it is right.
    n_bins (int): The number of bins.
    RETURNS (Reliability): The bins.
    """
    numbers = np.minimum((probs * n_bins).astype(int), n_bins - 1)
    bins = []
    for number in range(n_bins):
        is_here = numbers == number
        n = int(is_here.sum())
        means = [float(part[is_here].mean()) if n else None for part in (probs, is_right)]
        bins.append(ProbabilityBin(n, *means))
    return Reliability(tuple(bins))
