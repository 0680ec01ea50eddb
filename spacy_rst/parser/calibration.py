"""How reliable a parser's probabilities are, and the temperatures that calibrate them.

Splits and labels are judged in the spans of gold trees, nodes in the trees that the parser makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..doc import get_tree
from ..errors import Errors, RstError
from ..evaluation import makes_edus, parse_docs
from ..scoring.scorer import edu_chars
from ..tree import RstTree
from ..treebank.corpus import make_example
from .component import RstParser
from .spans import Choices, segment_log_softmax, segment_max

# What is judged, and its title in tables and charts.
VIEWS = {
    "splits": "Splits of gold spans",
    "labels": "Labels of gold spans",
    "nodes_gold": "Nodes over gold EDUs",
    "nodes_predicted": "Nodes from raw text",
}
N_BINS = 10
# If all choices are right, the log loss is least at temperature 0.
MAX_TEMPERATURE = 20.0
N_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class ProbabilityBin:
    """Choices with similar probabilities: their number, the mean of the probabilities, and the
    share that is right (None without choices)."""

    n: int
    probability: float | None
    right: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often choices are right, by the probability that a parser gave them.

    n (int): The number of choices.
    error (float | None): The expected calibration error: the mean distance between the probability
        of a choice and the share of its bin that is right. None without choices.
    bins (tuple[ProbabilityBin, ...]): Bins of equal width between 0 and 1.
    """

    n: int
    error: float | None
    bins: tuple[ProbabilityBin, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration found and changed.

    temperatures (dict[str, float | None]): What the scores of "splits" and "labels" were divided
        by. None for the splits of a pointer, which have no weights of their own.
    before (dict[str, Reliability]): The reliability of "splits" and "labels" in the spans of gold
        trees, and of the nodes of the parser's trees, "nodes_gold" over gold EDUs and
        "nodes_predicted" from raw text.
    after (dict[str, Reliability]): The same after calibration.
    n_trees (int): The number of trees that were made, each twice.
    n_changed (int): How many of them the calibration changed: none without minimum-risk decoding.
    """

    temperatures: dict[str, float | None]
    before: dict[str, Reliability]
    after: dict[str, Reliability]
    n_trees: int
    n_changed: int


def calibrate(
    nlp: Language,
    docs: Sequence[Doc],
    *,
    edus: Sequence[str] = ("gold",),
    batch_size: int | None = None,
) -> Calibration:
    """Find the temperatures that make the gold trees of some documents most likely, and build them
    into the weights of the pipeline's parser.

    nlp (Language): The pipeline, whose parser is changed.
    docs (Sequence[Doc]): Gold Docs of two EDUs or more that were not trained on.
    edus (Sequence[str]): Judge nodes over these EDUs: "gold", "predicted".
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
    before, after = {}, {}
    for name, part in choices.items():
        before[name] = judge_choices(part)
        after[name] = judge_choices(apply_temperature(part, temperatures[name]))
    n_changed = 0
    for mode, old, new in zip(edus, parsed, parsed_again, strict=True):
        before[f"nodes_{mode}"], after[f"nodes_{mode}"] = judge_nodes(old), judge_nodes(new)
        trees = ([_places(get_tree(example.predicted)) for example in run] for run in (old, new))
        n_changed += sum(first != second for first, second in zip(*trees, strict=True))
    found = {"splits": None, "labels": None, **temperatures}
    return Calibration(found, before, after, len(docs) * len(edus), n_changed)


def find_parser(nlp: Language) -> str:
    """The name of the first `rst_parser` in a pipeline."""
    for name, component in nlp.pipeline:
        if isinstance(component, RstParser):
            return name
    model, pipes = f"{nlp.meta['lang']}_{nlp.meta['name']}", ", ".join(nlp.pipe_names)
    advice = "add 'rst_parser' to it"
    raise RstError(
        Errors.R554.format(model=model, what="trees", pipes=pipes or "none", advice=advice)
    )


def collect_choices(
    nlp: Language, parser_name: str, docs: Iterable[Doc], *, batch_size: int | None = None
) -> dict[str, Choices]:
    """Collect the probabilities that a parser gives to the options in the spans of gold trees: the
    "splits" of spans of three EDUs or more, unless it is a pointer, and the "labels" of all."""
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
    """Join the choices of several documents, on the CPU and in double precision."""
    n_options = np.cumsum([0, *(len(part.log_probs) for part in parts)]).tolist()
    n_choices = np.cumsum([0, *(len(part.gold) for part in parts)]).tolist()
    return Choices(
        torch.cat([part.log_probs.cpu().double() for part in parts]),
        torch.cat([p.numbers.cpu() + n for p, n in zip(parts, n_choices, strict=False)]),
        torch.cat([p.gold.cpu() + n for p, n in zip(parts, n_options, strict=False)]),
    )


def apply_temperature(choices: Choices, temperature: float) -> Choices:
    """RETURNS (Choices): The same choices with probabilities at another temperature."""
    scores = choices.log_probs / temperature
    log_probs = segment_log_softmax(scores, choices.numbers, len(choices.gold))
    return choices._replace(log_probs=log_probs)


def fit_temperature(choices: Choices) -> float:
    """RETURNS (float): The temperature with the least log loss; 1 without choices."""
    if not len(choices.gold):
        return 1.0
    scores = choices.log_probs
    low, high = -log(MAX_TEMPERATURE), log(MAX_TEMPERATURE)
    # The log loss is convex in the inverse of the temperature, and this is its slope.
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        probs = apply_temperature(choices, exp(middle)).log_probs.exp()
        is_overconfident = float((probs * scores).sum() - scores[choices.gold].sum()) > 0
        low, high = (middle, high) if is_overconfident else (low, middle)
    return exp((low + high) / 2)


def judge_choices(choices: Choices) -> Reliability:
    """RETURNS (Reliability): How often the likeliest options are the gold ones."""
    best = segment_max(choices.log_probs, choices.numbers, len(choices.gold))
    is_right = choices.log_probs[choices.gold] >= best
    return measure_reliability(best.exp().numpy(), is_right.numpy())


def judge_nodes(examples: Iterable[Example]) -> Reliability:
    """RETURNS (Reliability): How often the inner nodes of predicted trees are right, by the product
    of their probabilities: the gold tree has the same span, split, relation and nuclearity."""
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
    """Where the inner nodes of a tree begin, are split and end in the text, and their labels."""
    edus = edu_chars(tree)
    return [
        (edus[start][0], edus[split][0], edus[end - 1][1], label)
        for start, split, end, label in (() if tree is None else tree.splits)
    ]


def measure_reliability(probs: np.ndarray, is_right: np.ndarray) -> Reliability:
    """Sort choices into bins, given the probability of each and whether it is right."""
    numbers = np.minimum((probs * N_BINS).astype(int), N_BINS - 1)
    bins, error = [], 0.0
    for number in range(N_BINS):
        is_here = numbers == number
        n = int(is_here.sum())
        probability, right = (float(x[is_here].mean()) if n else None for x in (probs, is_right))
        bins.append(ProbabilityBin(n, probability, right))
        error += abs(float((probs - is_right)[is_here].sum()))
    return Reliability(len(probs), error / len(probs) if len(probs) else None, tuple(bins))
