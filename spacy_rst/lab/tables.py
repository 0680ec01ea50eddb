"""Tables of scores in the layout of the paper's Table 2, with published figures beside ours.

Every row says what it was trained and tested on, and every table repeats it below: figures on
other documents, or on trees that were rebuilt from dependencies, are no competitors.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby, product
from operator import attrgetter
from pathlib import Path
from statistics import fmean, stdev

from ..scoring.parseval import METRICS
from ..scoring.scorer import AVERAGES, score_name
from ..tables import read_table

METHOD_NAMES = {"rst": "RST-Parseval", "original": "Original Parseval"}
SHORT_NAMES = {"span": "S", "nuclearity": "N", "relation": "R", "full": "Full"}
PUBLISHED_FILE = Path(__file__).parent / "published.tsv"
# As in the paper; other languages follow in the order of the alphabet.
PAPER_LANGUAGES = ("en", "pt", "es", "de", "nl", "eu")
GROUP_NAMES = {True: "Published, not on our data (see the notes)", False: "Ours"}
CSV_HEADER = (
    *("system", "published", "data", "note", "column", "source"),
    *("method", "average", "judgement", "mean", "deviation", "n"),
)
MARKDOWN_SPECIAL = re.compile(r"[\\|*_<>`\[\]]")
LATEX_SPECIAL = re.compile(r"[\\&%$#_{}~^]")
LATEX_ESCAPES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}

Block = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Value:
    """A score between 0 and 1, as the mean over seeds.

    mean (float): The mean.
    deviation (float | None): The sample standard deviation, None for a single seed or where it was
        not published.
    n (int | None): The number of seeds, None where it was not published.
    """

    mean: float
    deviation: float | None = None
    n: int | None = 1


@dataclass(frozen=True)
class Row:
    """The scores of one system.

    system (str): Its name.
    data (str): What it was trained and tested on, e.g. "our split, rebuilt trees".
    scores (Mapping): Language or treebank -> name of the score, such as `rst_span` -> value.
    published (bool): Whether the figures were taken from a publication.
    note (str): What else a reader must know.
    """

    system: str
    data: str
    scores: Mapping[str, Mapping[str, Value]] = field(hash=False)
    published: bool = False
    note: str = ""


def aggregate(seeds: Sequence[float]) -> Value:
    """Average the scores that several seeds gave.

    seeds (Sequence[float]): One score per seed.
    RETURNS (Value): The mean, the sample standard deviation (None for a single seed), their number.
    """
    return Value(fmean(seeds), stdev(seeds) if len(seeds) > 1 else None, len(seeds))


def aggregate_scores(
    seeds: Iterable[Mapping[str, Mapping[str, float]]],
) -> dict[str, dict[str, Value]]:
    """Average all scores that several seeds gave, by language or treebank and by name, to the
    `scores` of a `Row`. What only some seeds have is averaged over those."""
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
    """Read the figures of Table 2 in Liu, Shi & Chen (2020), their own and those they quote.

    RETURNS (list[Row]): A row per system, all in RST-Parseval; the paper's own four systems have
        macro and micro figures, the others one of them.
    """
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


def write_table(
    rows: Sequence[Row],
    format: str = "markdown",
    *,
    methods: Sequence[str] = ("rst",),
    averages: Sequence[str] = ("macro", "micro"),
    columns: Sequence[str] | None = None,
    judgements: Sequence[str] = METRICS,
    deviations: bool = True,
) -> str:
    """Write the paper's Table 2: systems as rows, languages as groups of columns.

    rows (Sequence[Row]): The systems. Published ones stand above the others.
    format (str): "markdown", "csv" (one line per figure) or "latex" (needs the packages booktabs
        and graphicx).
    methods (Sequence[str]): "rst" for RST-Parseval, "original" for original Parseval.
    averages (Sequence[str]): "macro", "micro" or both.
    columns (Sequence[str] | None): Languages and treebanks to show, in this order. By default all
        that our rows have, then those that only published rows have. A published figure, which is
        given for a language, stands in the column of our only treebank of that language; the note
        below the table says what it was measured on.
    judgements (Sequence[str]): Which of Span, Nuclearity, Relation and Full to show.
    deviations (bool): Show standard deviations, too.
    RETURNS (str): The table, in percent (in CSV between 0 and 1), with the data of each row below.
    """
    known_names: list[Iterable[str]] = [WRITERS, METHOD_NAMES, AVERAGES, METRICS]
    chosen = ([format], methods, averages, judgements)
    for names, known in zip(chosen, known_names, strict=True):
        for name in names:
            if name not in known:
                raise ValueError(f"'{name}' is none of {', '.join(known)}")
    rows = _in_our_columns(rows, columns)
    if columns is None:
        columns = sorted({column for row in rows for column in row.scores}, key=_paper_order)
    table = _Table(rows, columns, judgements, deviations, list(product(methods, averages)))
    if not table.filled_blocks:
        raise ValueError(f"none of the {len(rows)} rows has a score for this table")
    return WRITERS[format](table)


def _in_our_columns(rows: Sequence[Row], columns: Sequence[str] | None) -> list[Row]:
    """Put published rows first, their figures in the columns of our only treebanks."""
    ours = [row for row in rows if not row.published]
    by_language = defaultdict(set)
    for column in columns or [column for row in ours for column in row.scores]:
        by_language[_language_of(column)].add(column)
    places = {name: found.pop() for name, found in by_language.items() if len(found) == 1}
    published = [
        replace(row, scores={places.get(name, name): row.scores[name] for name in row.scores})
        for row in rows
        if row.published
    ]
    return published + ours


def _language_of(column: str) -> str:
    """The language of a column that may be named after a treebank: "en.gum"."""
    return column.split(".")[0]


def _paper_order(column: str) -> tuple[int, str]:
    return (*PAPER_LANGUAGES, _language_of(column)).index(_language_of(column)), column


@dataclass(frozen=True)
class _Table:
    rows: Sequence[Row]
    columns: Sequence[str]
    judgements: Sequence[str]
    deviations: bool
    blocks: Sequence[Block]

    def values(self, row: Row, column: str, block: Block) -> list[Value | None]:
        scores = row.scores.get(column, {})
        return [scores.get(score_name(*block, judgement)) for judgement in self.judgements]

    @cached_property
    def filled_blocks(self) -> dict[Block, list[Row]]:
        """The blocks that have scores, with the rows that have them."""
        filled = defaultdict(list)
        for block, row in product(self.blocks, self.rows):
            if any(any(self.values(row, column, block)) for column in self.columns):
                filled[block].append(row)
        return filled

    @cached_property
    def notes(self) -> dict[str, str]:
        """The notes below the table with the letter of each, in the order of the rows."""
        texts = dict.fromkeys(map(_note_of, chain.from_iterable(self.filled_blocks.values())))
        return {text: _letters(number) for number, text in enumerate(texts)}

    def percent(self, value: Value | None, deviation: str, missing: str) -> str:
        if value is None:
            return missing
        mean = f"{100 * value.mean:.1f}"
        if not self.deviations or value.deviation is None:
            return mean
        return mean + deviation % f"{100 * value.deviation:.1f}"


def _note_of(row: Row) -> str:
    """Say where the figures of a row come from, on which data and how many seeds."""
    seeds = {value.n for scores in row.scores.values() for value in scores.values()}
    numbers = sorted(n for n in seeds if n is not None)
    parts = ["Published" if row.published else "", row.data and f"Data: {row.data}", row.note]
    if len(numbers) > 1:
        parts.append(f"Means over {numbers[0]} to {numbers[-1]} seeds")
    elif numbers and numbers[0] > 1:
        parts.append(f"Mean and standard deviation over {numbers[0]} seeds")
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _letters(number: int) -> str:
    """Count a, b, ..., z, aa, ab, ..."""
    rest, letter = divmod(number, 26)
    return (_letters(rest - 1) if rest else "") + "abcdefghijklmnopqrstuvwxyz"[letter]


def _title(block: Block) -> str:
    method, average = block
    return f"{METHOD_NAMES[method]}, {average} F1"


def _write_markdown(table: _Table) -> str:
    def text(plain: str) -> str:
        return MARKDOWN_SPECIAL.sub(r"\\\g<0>", plain)

    def line(*cells: str) -> str:
        return f"| {' | '.join(cells)} |"

    def cell(values: Sequence[Value | None]) -> str:
        return " / ".join(table.percent(v, "±%s", "–") for v in values) if any(values) else "–"

    judgements = " / ".join(SHORT_NAMES[judgement] for judgement in table.judgements)
    empty = [""] * len(table.columns)
    parts = []
    for block, rows in table.filled_blocks.items():
        lines = [f"**{_title(block)}** ({judgements})", "", line("", *table.columns)]
        lines.append(line("---", *("---:" for _ in table.columns)))
        for published, group in groupby(rows, key=attrgetter("published")):
            lines.append(line(f"*{GROUP_NAMES[published]}*", *empty))
            for row in group:
                name = f"{text(row.system)} <sup>{table.notes[_note_of(row)]}</sup>"
                cells = (cell(table.values(row, column, block)) for column in table.columns)
                lines.append(line(name, *cells))
        parts.append("\n".join(lines))
    listed = (f"<sup>{letter}</sup> {text(note)}" for note, letter in table.notes.items())
    return "\n\n".join([*parts, "  \n".join(listed)]) + "\n"


def _write_csv(table: _Table) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for block, rows in table.filled_blocks.items():
        for row, column in product(rows, table.columns):
            system = (row.system, str(row.published).lower(), row.data, row.note)
            source = _language_of(column) if row.published else column
            values = table.values(row, column, block)
            for judgement, value in zip(table.judgements, values, strict=True):
                if value is not None:
                    deviation = "" if value.deviation is None else f"{value.deviation:.6f}"
                    figures = (f"{value.mean:.6f}", deviation, value.n)
                    writer.writerow((*system, column, source, *block, judgement, *figures))
    return written.getvalue()


def _write_latex(table: _Table) -> str:
    def text(plain: str) -> str:
        return LATEX_SPECIAL.sub(lambda found: LATEX_ESCAPES.get(found[0], "\\" + found[0]), plain)

    def line(*cells: str) -> str:
        return " & ".join(cells) + r" \\"

    def across(style: str, plain: str) -> str:
        return line(rf"\multicolumn{{{n_columns}}}{{l}}{{\{style}{{{plain}}}}}")

    width = len(table.judgements)
    n_columns = 1 + width * len(table.columns)
    languages = [rf"\multicolumn{{{width}}}{{c}}{{{text(name)}}}" for name in table.columns]
    rules = (rf"\cmidrule(lr){{{n}-{n + width - 1}}}" for n in range(2, n_columns + 1, width))
    layout = (r"@{\hspace{8pt}}" + "r" * width) * len(table.columns)
    short = [SHORT_NAMES[judgement] for judgement in table.judgements] * len(table.columns)
    lines = [
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.",
        r"\begin{table*}",
        r"\centering",
        r"\setlength{\tabcolsep}{3pt}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{layout}}}",
        r"\toprule",
        line("", *languages),
        "".join(rules),
        line("System", *short),
    ]
    for block, rows in table.filled_blocks.items():
        lines += [r"\midrule", across("textbf", _title(block)), r"\midrule"]
        for published, group in groupby(rows, key=attrgetter("published")):
            lines.append(across("textit", GROUP_NAMES[published]))
            for row in group:
                name = rf"{text(row.system)}\textsuperscript{{{table.notes[_note_of(row)]}}}"
                values = (v for column in table.columns for v in table.values(row, column, block))
                cells = (table.percent(v, r"{\tiny$\pm$%s}", "--") for v in values)
                lines.append(line(name, *cells))
    lines += [
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip\raggedright\footnotesize",
        " \\\\\n".join(rf"\textsuperscript{{{n}}} {text(note)}" for note, n in table.notes.items()),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


WRITERS = {"markdown": _write_markdown, "csv": _write_csv, "latex": _write_latex}
