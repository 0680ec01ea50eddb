"""Compare two ways to parse Russian: through human English, and directly.

The Russian treebank RRG is a human translation of the English GUM, so the English text is a
translation of the Russian one that no machine made. The two were segmented apart: few documents
have the same number of EDUs. Each Russian EDU is therefore aligned with English EDUs or a part of
one, and the pairs become a table for `spacy_rst.TableTranslator.v1`:

    python benchmarks/parallel_russian.py corpus --english training/english --multi training/multi

`corpus` is what `python -m spacy rst convert` makes of the treebanks en.gum and ru.rrg. Without
pipelines the table is made and the alignment measured.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc

from spacy_rst.doc import EDUS_KEY, NAME_KEY, get_tree
from spacy_rst.evaluation import make_report, parse_docs
from spacy_rst.scoring.parseval import METRICS
from spacy_rst.translator.table import TableTranslator
from spacy_rst.treebank.corpus import Corpus
from spacy_rst.util import write_atomically

ENGLISH, RUSSIAN = "en.gum", "ru.rrg"
RUSSIAN_SUFFIX = "_RU"
SPLITS = ("train", "dev", "test")

# How many Russian and English EDUs may stand for each other, and what a group costs.
GROUPS = {(1, 1): 0.0, (1, 2): 2.0, (2, 1): 2.0, (1, 3): 4.0, (3, 1): 4.0}
# Digits, Latin words and marks are the same in both texts.
ANCHOR = re.compile(r"[0-9]+|[A-Za-z]{2,}|[()\[\]?!:;]")
SENTENCE_END = re.compile(r"[.!?]\W*$")
ANCHOR_COST = 1.0
SENTENCE_END_COST = 3.0
# Variance of a text's length per character of its translation (Gale & Church, 1993).
LENGTH_VARIANCE = 6.8
LEAST_PROBABILITY = 1e-12
# Which share of a text the other one may be ahead.
MAX_DRIFT = 0.15


@dataclass(frozen=True)
class Group:
    """Russian and English EDUs that stand for each other, as half-open ranges."""

    russian: tuple[int, int]
    english: tuple[int, int]


def align(russian: Sequence[str], english: Sequence[str]) -> list[Group]:
    """Align the EDUs of a text and its translation, in order, by what can be seen without a
    dictionary: lengths, ends of sentences, and what is written alike.

    russian (Sequence[str]): The EDUs of the one text.
    english (Sequence[str]): Those of the other.
    RETURNS (list[Group]): Groups that cover both, none where one text is more than three times as
        finely divided as the other.
    """
    ratio = sum(map(len, russian)) / max(sum(map(len, english)), 1)
    left, right = _Side(russian, 1.0), _Side(english, ratio)
    best: dict[tuple[int, int], float] = {(0, 0): 0.0}
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(1, len(russian) + 1):
        for j in range(1, len(english) + 1):
            if abs(i / len(russian) - j / len(english)) > MAX_DRIFT:
                continue
            for size, group_cost in GROUPS.items():
                before = (i - size[0], j - size[1])
                if before not in best:
                    continue
                cost = best[before] + group_cost + _cost(left, right, before, (i, j))
                if cost < best.get((i, j), math.inf):
                    best[i, j], sizes[i, j] = cost, size
    end = (len(russian), len(english))
    if end not in best:
        return []
    groups = []
    while end != (0, 0):
        start = (end[0] - sizes[end][0], end[1] - sizes[end][1])
        groups.append(Group((start[0], end[0]), (start[1], end[1])))
        end = start
    return groups[::-1]


class _Side:
    """One of two texts, with what their EDUs are compared by."""

    def __init__(self, edus: Sequence[str], scale: float) -> None:
        self.lengths = [0.0, *accumulate(scale * len(edu) for edu in edus)]
        self.ends = [0, *accumulate(int(bool(SENTENCE_END.search(edu))) for edu in edus)]
        self.anchors = [Counter(ANCHOR.findall(edu)) for edu in edus]

    def length(self, start: int, end: int) -> float:
        return self.lengths[end] - self.lengths[start]

    def count_ends(self, start: int, end: int) -> int:
        return self.ends[end] - self.ends[start]

    def collect_anchors(self, start: int, end: int) -> Counter[str]:
        return sum(self.anchors[start:end], Counter())


def _cost(left: _Side, right: _Side, before: tuple[int, int], after: tuple[int, int]) -> float:
    spans = [(left, before[0], after[0]), (right, before[1], after[1])]
    first, second = (side.length(start, end) for side, start, end in spans)
    deviation = abs(first - second) / math.sqrt(LENGTH_VARIANCE * max(first + second, 1) / 2)
    cost = -math.log(max(math.erfc(deviation / math.sqrt(2)), LEAST_PROBABILITY))
    some, others = (side.collect_anchors(start, end) for side, start, end in spans)
    cost += ANCHOR_COST * (sum((some | others).values()) - 2 * sum((some & others).values()))
    inside = sum(side.count_ends(start, end - 1) for side, start, end in spans)
    at_end = [side.count_ends(end - 1, end) for side, _, end in spans]
    return cost + SENTENCE_END_COST * (inside + abs(at_end[0] - at_end[1]))


def translations(
    russian: Sequence[str], english: Sequence[str], groups: Sequence[Group]
) -> list[str]:
    """Give every Russian EDU an English text.

    russian (Sequence[str]): The Russian EDUs.
    english (Sequence[str]): The English EDUs.
    groups (Sequence[Group]): Their alignment.
    RETURNS (list[str]): A text for each Russian EDU: all English EDUs of its group, or, where the
        group has several Russian ones, a share of their words that fits its length.
    """
    texts = []
    for group in groups:
        words = " ".join(english[slice(*group.english)]).split()
        parts = russian[slice(*group.russian)]
        ends = [length / sum(map(len, parts)) for length in accumulate(map(len, parts))]
        start = 0
        for end in (round(share * len(words)) for share in ends):
            # A word alone may stand for two EDUs: none goes empty.
            texts.append(" ".join(words[start:end]) or words[min(start, len(words) - 1)])
            start = end
    return texts


def read_split(corpus: Path, split: str, treebank: str) -> dict[str, Doc]:
    """Read a part of a treebank.

    corpus (Path): The folder with train, dev and test.
    split (str): One of these.
    treebank (str): The treebank.
    RETURNS (dict[str, Doc]): The documents by the names that both treebanks share.
    """
    docs = Corpus(corpus / split / f"{treebank}.spacy").read(spacy.blank("xx").vocab)
    return {doc.user_data[NAME_KEY].removesuffix(RUSSIAN_SUFFIX): doc for doc in docs}


def check_splits(corpus: Path) -> None:
    """Make sure that no document is in one split in English and in another in Russian, since a
    parser would then have seen its tree in training.

    corpus (Path): The folder with train, dev and test.
    RAISES (SystemExit): If there is one.
    """
    homes: dict[str, str] = {}
    for split in SPLITS:
        for treebank in (ENGLISH, RUSSIAN):
            for name in read_split(corpus, split, treebank):
                if homes.setdefault(name, split) != split:
                    raise SystemExit(f"{name} is in {homes[name]} and in {split}.")
    print(f"Splits: none of {len(homes)} documents is in two parts, in whichever language.")


def edu_texts(doc: Doc) -> list[str]:
    """RETURNS (list[str]): The EDUs of a Doc, with single spaces."""
    return [" ".join(edu.text.split()) for edu in doc.spans[EDUS_KEY]]


def measure(russian: Doc, english: Doc, groups: Sequence[Group]) -> Counter[str]:
    """Count how well an alignment brings two trees together.

    russian (Doc): The one document.
    english (Doc): The other.
    groups (Sequence[Group]): The alignment of their EDUs.
    RETURNS (Counter[str]): Groups, groups of one EDU each, inner nodes of the Russian gold tree,
        and those whose EDUs together stand for a node of the English gold tree.
    """
    starts = {group.russian[0]: group.english[0] for group in groups}
    ends = {group.russian[1]: group.english[1] for group in groups}
    nodes = {(node.start, node.end) for node in get_tree(english).nodes()}
    inner = [node for node in get_tree(russian).nodes() if not node.is_leaf]
    return Counter(
        groups=len(groups),
        one_to_one=sum(g.russian[1] - g.russian[0] == g.english[1] - g.english[0] for g in groups),
        inner=len(inner),
        shared=sum((starts.get(node.start), ends.get(node.end)) in nodes for node in inner),
        equal=len(russian.spans[EDUS_KEY]) == len(english.spans[EDUS_KEY]),
        documents=1,
    )


@dataclass
class Parallel:
    """Documents that there are in both languages.

    russian (list[Doc]): The Russian ones, with gold trees.
    pairs (dict[str, str]): An English text for each Russian EDU. Where the same words were
        translated in several ways, the commonest.
    counts (Counter[str]): What `measure` counted, over all documents.
    """

    russian: list[Doc]
    pairs: dict[str, str]
    counts: Counter[str]


def make_parallel(corpus: Path, split: str) -> Parallel:
    """Align the documents of one part.

    corpus (Path): The folder with train, dev and test.
    split (str): One of these.
    RETURNS (Parallel): The documents and their translations.
    """
    english = read_split(corpus, split, ENGLISH)
    both: list[Doc] = []
    found: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    for name, doc in read_split(corpus, split, RUSSIAN).items():
        # Some of the English documents are not free, and were not converted.
        groups = align(edu_texts(doc), edu_texts(english[name])) if name in english else []
        if not groups:
            counts["alone"] += 1
            continue
        both.append(doc)
        counts += measure(doc, english[name], groups)
        texts = edu_texts(doc)
        for text, other in zip(
            texts, translations(texts, edu_texts(english[name]), groups), strict=True
        ):
            found.setdefault(text, Counter())[other] += 1
    pairs = {text: others.most_common(1)[0][0] for text, others in found.items()}
    return Parallel(both, pairs, counts)


def write_table(path: Path, pairs: dict[str, str]) -> None:
    """Write translations for `spacy_rst.TableTranslator.v1`.

    path (Path): The TSV file.
    pairs (dict[str, str]): An English text for each Russian one.
    """
    rows = (f"ru\ten\t{text}\t{translation}\n" for text, translation in pairs.items())
    write_atomically(path, "source\ttarget\ttext\ttranslation\n" + "".join(rows))


def print_alignment(counts: Counter[str]) -> None:
    """Print how well the documents are aligned."""
    print(
        f"Documents: {counts['documents']} in both languages, {counts['equal']} of them with as "
        f"many EDUs in each; {counts['alone']} in Russian alone."
    )
    print(
        f"Alignment: {counts['one_to_one']} of {counts['groups']} groups are one EDU each; "
        f"{counts['shared']} of {counts['inner']} Russian gold spans are gold spans of the English "
        "tree, too."
    )


def print_scores(rows: dict[str, dict[str, Any]]) -> None:
    """Print scores as a Markdown table.

    rows (dict[str, dict[str, Any]]): The scores of each way to parse.
    """
    names = ("Span", "Nuclearity", "Relation", "Full")
    print(f"\n| micro F1, gold EDUs | {' | '.join(f'RST {n}' for n in names)} |", end="")
    print(f" {' | '.join(f'Original {n}' for n in names)} |")
    print("|---|" + "---:|" * 2 * len(names))
    for name, scores in rows.items():
        keys = [f"{prefix}{metric}" for prefix in ("rst_", "rst_original_") for metric in METRICS]
        print(f"| {name} | " + " | ".join(f"{100 * scores[key]:.1f}" for key in keys) + " |")


def main() -> None:
    """Align, parse and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="folder with train, dev and test")
    parser.add_argument("--split", choices=SPLITS, default="dev", help="the part to parse")
    parser.add_argument("--english", help="pipeline with an rst_parser that learned English")
    parser.add_argument("--multi", help="pipeline with an rst_parser that learned many languages")
    parser.add_argument(
        "--table", type=Path, default=Path("parallel_russian.tsv"), help="where the table shall be"
    )
    arguments = parser.parse_args()
    check_splits(arguments.corpus)
    parallel = make_parallel(arguments.corpus, arguments.split)
    print_alignment(parallel.counts)
    write_table(arguments.table, parallel.pairs)
    print(f"Table: {len(parallel.pairs)} segments in {arguments.table}")
    rows: dict[str, dict[str, Any]] = {}
    if arguments.english:
        engine = TableTranslator(arguments.table)
        through_english = spacy.blank("ru")
        component = through_english.add_pipe("translated_rst_parser")
        component.engine, component.parser = engine, arguments.english
        report = make_report(parse_docs(through_english, parallel.russian), baselines=True)
        rows["through English, English parser"] = report["scores"]
        rows["baseline: right-branching"] = report["baselines"]["right-branching"]
    if arguments.multi:
        examples = parse_docs(spacy.load(arguments.multi), parallel.russian)
        rows["Russian, multilingual parser"] = make_report(examples)["scores"]
    if rows:
        print_scores(rows)


if __name__ == "__main__":
    main()
