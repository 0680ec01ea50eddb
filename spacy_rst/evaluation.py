"""How a pipeline is scored on converted treebanks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from tqdm import tqdm

from .doc import EDUS_KEY, TREE_KEY, TREEBANK_KEY, get_meta, original_language
from .errors import Errors, RstError
from .scoring.baselines import BASELINES, baseline_examples
from .scoring.scorer import LANGUAGE_MEAN_PREFIX, score_trees
from .scoring.segmentation import score_edus
from .treebank.corpus import Corpus, copy_language, make_example

Parse = Callable[[Sequence[Example]], list[Example]]
# What a choice of EDUs stands for: the runs to make.
EDU_SOURCES = {"gold": ["gold"], "predicted": ["predicted"], "both": ["gold", "predicted"]}


def read_gold(
    paths: Sequence[Path], vocab: Vocab, *, edus_only: bool = False, **filters: Any
) -> list[Doc]:
    """Read the gold Docs that have a tree, or EDUs if these are enough, from files and folders.
    Filters are settings of the `Corpus` reader, such as `languages`."""
    docs = [doc for path in paths for doc in Corpus(path, **filters).read(vocab)]
    docs = [doc for doc in docs if has_tree(doc) or (edus_only and doc.spans.get(EDUS_KEY))]
    if not docs:
        raise RstError(Errors.R226.format(paths=", ".join(map(str, paths))))
    return docs


def has_tree(doc: Doc) -> bool:
    """Whether a tree is stored on a Doc."""
    return doc.user_data.get(TREE_KEY) is not None


def parse_docs(
    nlp: Language, docs: Iterable[Doc], *, edus: str = "gold", batch_size: int | None = None
) -> list[Example]:
    """Parse the texts of gold Docs. With "gold" EDUs, these and the gold tokens are kept and
    segmenters left out; with "predicted" ones, the whole pipeline runs on the text."""
    disable: list[str] = []
    if edus == "gold":
        examples = [make_example(nlp, doc) for doc in docs]
        disable = [name for name in nlp.pipe_names if makes_edus(nlp, name)]
    else:
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
        for example in examples:
            copy_language(example.reference, example.predicted)
    inputs = [example.predicted for example in examples]
    parsed = nlp.pipe(inputs, batch_size=batch_size, disable=disable)
    parsed = tqdm(parsed, total=len(inputs), desc="Parsing", unit="doc", disable=None)
    for example, doc in zip(examples, parsed, strict=True):
        example.predicted = doc
    return examples


def makes_edus(nlp: Language, name: str) -> bool:
    """Whether a component makes EDUs. It says so itself: others may assign `doc.spans`, too."""
    return getattr(nlp.get_pipe(name), "makes_edus", False)


def make_report(examples: Sequence[Example], *, baselines: bool = False) -> dict[str, Any]:
    """Score parsed documents: all of them, per language, and per treebank where there are several.

    baselines (bool): Do the same for the trees of `baselines.BASELINES` over the same EDUs, each
        with the commonest gold label of the documents that are scored together.
    """
    report: dict[str, Any] = {"documents": len(examples), "scores": _scores(examples)}
    report |= _group_scores(examples)
    if baselines:
        report["baselines"] = {}
        for name in BASELINES:
            parse = partial(baseline_examples, name=name)
            report["baselines"][name] = _scores(parse(examples)) | _group_scores(examples, parse)
    return report


def _scores(examples: Sequence[Example]) -> dict[str, Any]:
    scores = {"documents": len(examples), **score_edus(examples), **score_trees(examples)}
    return {
        key: value
        for key, value in scores.items()
        if not key.endswith("_per_lang") and not key.startswith(LANGUAGE_MEAN_PREFIX)
    }


def _group_scores(examples: Sequence[Example], parse: Parse = list) -> dict[str, dict[str, Any]]:
    """Score the documents of each language, and of each treebank where there are several."""
    keys: dict[str, Callable[[Doc], str | None]] = {
        "per_lang": original_language,
        "per_treebank": partial(get_meta, key=TREEBANK_KEY),
    }
    report = {}
    for part, key in keys.items():
        groups: dict[str, list[Example]] = defaultdict(list)
        for example in examples:
            if (name := key(example.reference)) is not None:
                groups[name].append(example)
        if part == "per_lang" or len(groups) > 1:
            report[part] = {name: _scores(parse(groups[name])) for name in sorted(groups)}
    return report
