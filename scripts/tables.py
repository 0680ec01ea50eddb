"""Tables of scores in the layout of the paper's Table 2, with published figures beside ours.

Every row says what it was measured on, and the notes below a table repeat it: figures on other
documents, or on trees that were rebuilt from dependencies, cannot be compared with ours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from operator import attrgetter
from pathlib import Path
from statistics import fmean, stdev
from string import ascii_lowercase
from typing import NamedTuple

from spacy_rst.scoring.parseval import METRICS
from spacy_rst.scoring.scorer import score_name
from spacy_rst.tables import read_table

METHOD_NAMES = {"rst": "RST-Parseval", "original": "Original Parseval"}
AVERAGES = ("macro", "micro")
SHORT_NAMES = ("S", "N", "R", "Full")
PUBLISHED_FILE = Path(__file__).parent / "published.tsv"
# As in the paper; other languages follow in alphabetical order.
PAPER_LANGUAGES = ("en", "pt", "es", "de", "nl", "eu")
GROUP_NAMES = {True: "Published, not on our data (see the notes)", False: "Ours"}
MARKDOWN_SPECIAL = re.compile(r"[\\|*_<>`\[\]]")
LATEX_SPECIAL = re.compile(r"[\\&%$#_{}~^]")
LATEX_ESCAPES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


class Value(NamedTuple):
    """A score between 0 and 1: the mean over seeds, their standard deviation (None for a single
    seed or if it was not published) and their number (None if it was not published)."""

    mean: float
    deviation: float | None = None
    n: int | None = 1


@dataclass(frozen=True)
class Row:
    """The scores of one system: language or treebank -> name of the score -> value."""

    system: str
    data: str
    scores: Mapping[str, Mapping[str, Value]]
    published: bool = False
    note: str = ""

    def values(self, column: str, method: str, average: str) -> list[Value | None]:
        """The four scores of a cell of the table."""
        scores = self.scores.get(column, {})
        return [scores.get(score_name(method, average, metric)) for metric in METRICS]

    @property
    def full_note(self) -> str:
        """Where the figures come from, on which data, and over how many seeds."""
        seeds = {value.n for scores in self.scores.values() for value in scores.values()}
        numbers = sorted(n for n in seeds if n is not None)
        parts = ["Published" if self.published else "", self.data and f"Data: {self.data}"]
        parts.append(self.note)
        if len(numbers) > 1:
            parts.append(f"Means over {numbers[0]} to {numbers[-1]} seeds")
        elif numbers and numbers[0] > 1:
            parts.append(f"Mean and standard deviation over {numbers[0]} seeds")
        return ". ".join(part.rstrip(".") for part in parts if part) + "."


@dataclass(frozen=True)
class Block:
    """The part of a table with one metric and average: the rows that have such scores."""

    method: str
    average: str
    rows: Sequence[Row]

    @property
    def title(self) -> str:
        """What the block shows."""
        return f"{METHOD_NAMES[self.method]}, {self.average} F1"


def aggregate(seeds: Sequence[float]) -> Value:
    """The mean and the sample standard deviation of what several seeds gave."""
    return Value(fmean(seeds), stdev(seeds) if len(seeds) > 1 else None, len(seeds))


def aggregate_scores(
    seeds: Iterable[Mapping[str, Mapping[str, float]]],
) -> dict[str, dict[str, Value]]:
    """Average the scores of several seeds, by language or treebank and by name. What only some
    seeds have is averaged over those."""
    collected: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for columns in seeds:
        for column, scores in columns.items():
            for name, score in scores.items():
                collected[column][name].append(score)
    return {
        column: {name: aggregate(values) for name, values in scores.items()}
        for column, scores in collected.items()
    }


def published_rows() -> list[Row]:
    """The figures of Table 2 in Liu, Shi & Chen (2020), their own and those they quote."""
    systems: dict[tuple[str, str, str], dict[str, dict[str, Value]]] = {}
    for _, line in read_table(PUBLISHED_FILE, ("system", "data", "note")):
        scores = systems.setdefault((line["system"], line["data"], line["note"]), {})
        scores.setdefault(line["language"], {}).update(
            (score_name("rst", line["average"], metric), Value(float(figure) / 100, n=None))
            for metric in METRICS
            if (figure := line.get(metric))
        )
    return [
        Row(system, data, scores, published=True, note=note)
        for (system, data, note), scores in systems.items()
    ]


def write_table(rows: Sequence[Row], format: str = "md") -> str:
    """Write systems as rows and languages or treebanks as groups of columns.

    rows (Sequence[Row]): The systems. Published ones are moved to the top.
    format (str): "md" for Markdown, or "tex" for LaTeX with the packages booktabs and graphicx.
    RETURNS (str): The table, in percent, with notes below.
    """
    rows = sorted(rows, key=attrgetter("published"), reverse=True)
    columns = sorted({column for row in rows for column in row.scores}, key=_paper_order)
    blocks = []
    for method, average in product(METHOD_NAMES, AVERAGES):
        filled = [r for r in rows if any(any(r.values(c, method, average)) for c in columns)]
        if filled:
            blocks.append(Block(method, average, filled))
    if not blocks:
        raise ValueError(f"none of the {len(rows)} rows has a score for this table")
    notes = dict.fromkeys(row.full_note for block in blocks for row in block.rows)
    return WRITERS[format](blocks, columns, dict(zip(notes, ascii_lowercase, strict=False)))


def _paper_order(column: str) -> tuple[int, str]:
    language = column.split(".")[0]
    return (*PAPER_LANGUAGES, language).index(language), column


def _percent(value: Value | None, deviation: str, missing: str) -> str:
    if value is None:
        return missing
    mean = f"{100 * value.mean:.1f}"
    return mean if value.deviation is None else mean + deviation % f"{100 * value.deviation:.1f}"


def _write_markdown(
    blocks: Sequence[Block], columns: Sequence[str], notes: Mapping[str, str]
) -> str:
    def text(plain: str) -> str:
        return MARKDOWN_SPECIAL.sub(r"\\\g<0>", plain)

    def line(*cells: str) -> str:
        return f"| {' | '.join(cells)} |"

    def cell(values: Sequence[Value | None]) -> str:
        return " / ".join(_percent(v, "±%s", "–") for v in values) if any(values) else "–"

    parts = []
    for block in blocks:
        lines = [f"**{block.title}** ({' / '.join(SHORT_NAMES)})", "", line("", *columns)]
        lines.append(line("---", *("---:" for _ in columns)))
        for published, group in groupby(block.rows, key=attrgetter("published")):
            lines.append(line(f"*{GROUP_NAMES[published]}*", *("" for _ in columns)))
            for row in group:
                name = f"{text(row.system)} <sup>{notes[row.full_note]}</sup>"
                cells = (cell(row.values(c, block.method, block.average)) for c in columns)
                lines.append(line(name, *cells))
        parts.append("\n".join(lines))
    listed = (f"<sup>{letter}</sup> {text(note)}" for note, letter in notes.items())
    return "\n\n".join([*parts, "  \n".join(listed)]) + "\n"


def _write_latex(blocks: Sequence[Block], columns: Sequence[str], notes: Mapping[str, str]) -> str:
    def text(plain: str) -> str:
        return LATEX_SPECIAL.sub(lambda found: LATEX_ESCAPES.get(found[0], "\\" + found[0]), plain)

    def line(*cells: str) -> str:
        return " & ".join(cells) + r" \\"

    def across(style: str, plain: str) -> str:
        return line(rf"\multicolumn{{{n_columns}}}{{l}}{{\{style}{{{plain}}}}}")

    width = len(METRICS)
    column = r"@{\hspace{8pt}}" + "r" * width
    n_columns = 1 + width * len(columns)
    names = [rf"\multicolumn{{{width}}}{{c}}{{{text(name)}}}" for name in columns]
    rules = (rf"\cmidrule(lr){{{n}-{n + width - 1}}}" for n in range(2, n_columns + 1, width))
    lines = [
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.",
        r"\begin{table*}",
        r"\centering",
        r"\setlength{\tabcolsep}{3pt}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{column * len(columns)}}}",
        r"\toprule",
        line("", *names),
        "".join(rules),
        line("System", *SHORT_NAMES * len(columns)),
    ]
    for block in blocks:
        lines += [r"\midrule", across("textbf", block.title), r"\midrule"]
        for published, group in groupby(block.rows, key=attrgetter("published")):
            lines.append(across("textit", GROUP_NAMES[published]))
            for row in group:
                name = rf"{text(row.system)}\textsuperscript{{{notes[row.full_note]}}}"
                values = (v for c in columns for v in row.values(c, block.method, block.average))
                lines.append(line(name, *(_percent(v, r"{\tiny$\pm$%s}", "--") for v in values)))
    lines += [
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip\raggedright\footnotesize",
        " \\\\\n".join(rf"\textsuperscript{{{n}}} {text(note)}" for note, n in notes.items()),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


Writer = Callable[[Sequence[Block], Sequence[str], Mapping[str, str]], str]
WRITERS: dict[str, Writer] = {"md": _write_markdown, "tex": _write_latex}
