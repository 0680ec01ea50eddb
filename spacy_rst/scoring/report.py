"""Tables of scores in the layout of the paper's Table 2, with published figures beside ours.

Every row says what it was trained and tested on, and every table repeats it below: figures on
other documents, or on trees that were rebuilt from dependencies, are no competitors.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from ..errors import Errors, RstError
from .parseval import METRICS, SpanCounts, macro_scores, micro_scores

METHODS = ("rst_parseval", "original_parseval")
AVERAGES = ("macro", "micro")
FORMATS = ("markdown", "csv", "latex")
PUBLISHED_FILE = Path(__file__).parent / "published.tsv"
# As in the paper; other languages follow in the order of the alphabet.
PAPER_LANGUAGES = ("en", "pt", "es", "de", "nl", "eu")
METHOD_NAMES = {"rst_parseval": "RST-Parseval", "original_parseval": "Original Parseval"}
SHORT_NAMES = {"span": "S", "nuclearity": "N", "relation": "R", "full": "Full"}
# How `count_example` names the methods, and how the scorer begins the names of its scores.
COUNTED_METHODS = {"rst_parseval": "rst", "original_parseval": "original"}
SCORER_PREFIXES = {
    ("rst_parseval", "micro"): "rst_",
    ("rst_parseval", "macro"): "rst_macro_",
    ("original_parseval", "micro"): "rst_original_",
    ("original_parseval", "macro"): "rst_original_macro_",
}
LATEX_SPECIAL = re.compile(r"[\\&%$#_{}~^]")
LATEX_ESCAPES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
MISSING = "–"
GROUP_NAMES = {True: "Published, not on our data (see the notes)", False: "Ours"}
CSV_HEADER = (
    "system",
    "published",
    "data",
    "note",
    "column",
    "source",
    "method",
    "average",
    "judgement",
    "mean",
    "deviation",
    "n",
)


class Metric(NamedTuple):
    """What a figure says; a plain tuple of the three strings is as good.

    method (str): "rst_parseval" or "original_parseval".
    average (str): "micro" or "macro".
    judgement (str): "span", "nuclearity", "relation" or "full".
    """

    method: str
    average: str
    judgement: str


ALL_METRICS = tuple(Metric(m, a, j) for m in METHODS for a in AVERAGES for j in METRICS)
MetricKey = Metric | tuple[str, str, str]


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
    scores (Mapping): Language or treebank -> metric -> value.
    published (bool): Whether the figures were taken from a publication.
    note (str): What else a reader must know.
    """

    system: str
    data: str
    scores: Mapping[str, Mapping[MetricKey, Value]] = field(hash=False)
    published: bool = False
    note: str = ""


def aggregate(seeds: Sequence[float]) -> Value:
    """Average the scores that several seeds gave.

    seeds (Sequence[float]): One score per seed.
    RETURNS (Value): The mean, the sample standard deviation (None for a single seed), their number.
    """
    if not seeds:
        raise RstError(Errors.R711)
    deviation = stdev(seeds) if len(seeds) > 1 else None
    return Value(fmean(seeds), deviation, len(seeds))


def aggregate_scores(
    seeds: Iterable[Mapping[str, Mapping[MetricKey, float]]],
) -> dict[str, dict[MetricKey, Value]]:
    """Average all scores that several seeds gave.

    seeds (Iterable[Mapping]): For each seed: language or treebank -> metric -> score.
    RETURNS (dict): The `scores` of a `Row`. What only some seeds have is averaged over those.
    """
    collected: dict[str, dict[MetricKey, list[float]]] = {}
    for scores in seeds:
        for column, by_metric in scores.items():
            for metric, score in by_metric.items():
                collected.setdefault(column, {}).setdefault(metric, []).append(score)
    return {
        column: {metric: aggregate(values) for metric, values in by_metric.items()}
        for column, by_metric in collected.items()
    }


def scores_from_counts(counts: Mapping[str, Sequence[SpanCounts]]) -> dict[MetricKey, float]:
    """Score documents from their counts.

    counts (Mapping[str, Sequence[SpanCounts]]): The counts of each document by method, "rst" and
        "original", as `scorer.count_example` gives them.
    RETURNS (dict): Metric -> score; empty where no document has a span.
    """
    scores: dict[MetricKey, float] = {}
    for method, counted in COUNTED_METHODS.items():
        documents = counts.get(counted, ())
        for average, summarize in (("macro", macro_scores), ("micro", micro_scores)):
            f1 = summarize(documents)
            if f1 is not None:
                for judgement, value in f1.as_dict().items():
                    scores[Metric(method, average, judgement)] = value
    return scores


def scores_from_names(named: Mapping[str, Any]) -> dict[MetricKey, float]:
    """Take the scores of trees from what the scorer or `spacy rst evaluate --output` calls them.

    named (Mapping[str, Any]): Scores by name, such as `rst_span`; other names are passed over.
    RETURNS (dict): Metric -> score, without those that are None.
    """
    scores: dict[MetricKey, float] = {}
    for metric in ALL_METRICS:
        value = named.get(SCORER_PREFIXES[metric.method, metric.average] + metric.judgement)
        if value is not None:
            scores[metric] = value
    return scores


def published_rows() -> list[Row]:
    """Read the figures of Table 2 in Liu, Shi & Chen (2020), their own and those they quote.

    RETURNS (list[Row]): A row per system, all in RST-Parseval; the paper's own four systems have
        macro and micro figures, the others one of them.
    """
    scores: dict[tuple[str, str, str], dict[str, dict[MetricKey, Value]]] = {}
    with PUBLISHED_FILE.open(encoding="utf8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            system = scores.setdefault((line["system"], line["data"], line["note"]), {})
            values = system.setdefault(line["language"], {})
            for judgement in METRICS:
                if line.get(judgement):
                    metric = Metric("rst_parseval", line["average"], judgement)
                    values[metric] = Value(float(line[judgement]) / 100, n=None)
    return [
        Row(system, data, by_language, published=True, note=note)
        for (system, data, note), by_language in scores.items()
    ]


def write_table(
    rows: Sequence[Row],
    format: str = "markdown",
    *,
    methods: str | Sequence[str] = "rst_parseval",
    averages: str | Sequence[str] = AVERAGES,
    columns: Sequence[str] | None = None,
    judgements: Sequence[str] = METRICS,
    deviations: bool = True,
) -> str:
    """Write the paper's Table 2: systems as rows, languages as groups of columns.

    rows (Sequence[Row]): The systems. Published ones stand above the others.
    format (str): "markdown", "csv" (one line per figure) or "latex" (needs the packages booktabs
        and graphicx).
    methods (str | Sequence[str]): "rst_parseval", "original_parseval" or both.
    averages (str | Sequence[str]): "macro", "micro" or both.
    columns (Sequence[str] | None): Languages and treebanks to show, in this order. By default all
        that our rows have, then those that only published rows have. A published figure, which is
        given for a language, stands in the column of our only treebank of that language; the note
        below the table says what it was measured on.
    judgements (Sequence[str]): Which of Span, Nuclearity, Relation and Full to show.
    deviations (bool): Show standard deviations, too.
    RETURNS (str): The table, in percent (in CSV between 0 and 1), with the data of each row below.
    RAISES (RstError): For an unknown choice, or if there is no figure at all.
    """
    methods = _chosen("metric", methods, METHODS)
    averages = _chosen("average", averages, AVERAGES)
    judgements = _chosen("judgement", judgements, METRICS)
    if format not in FORMATS:
        raise RstError(Errors.R712.format(name=format, known=", ".join(FORMATS)))
    table = _Table(
        rows=[*(row for row in rows if row.published), *(row for row in rows if not row.published)],
        blocks=[(method, average) for method in methods for average in averages],
        columns=_default_columns(rows) if columns is None else list(columns),
        judgements=judgements,
        deviations=deviations,
    )
    if not table.filled_blocks():
        blocks = ", ".join(f"{method} {average}" for method, average in table.blocks)
        raise RstError(Errors.R714.format(n_rows=len(rows), blocks=blocks))
    writers = {"markdown": _write_markdown, "csv": _write_csv, "latex": _write_latex}
    return writers[format](table)


@dataclass(frozen=True)
class _Table:
    rows: list[Row]
    blocks: list[tuple[str, str]]
    columns: list[str]
    judgements: Sequence[str]
    deviations: bool

    def values(self, row: Row, column: str, block: tuple[str, str]) -> list[Value | None]:
        scores = row.scores.get(self.source(row, column), {})
        return [scores.get(Metric(*block, judgement)) for judgement in self.judgements]

    def source(self, row: Row, column: str) -> str:
        """The key of a row's scores that belongs in a column."""
        language = language_of(column)
        alone = [language_of(other) for other in self.columns].count(language) == 1
        return language if row.published and alone and column not in row.scores else column

    def rows_of(self, block: tuple[str, str]) -> list[Row]:
        return [
            row
            for row in self.rows
            if any(value for column in self.columns for value in self.values(row, column, block))
        ]

    def grouped_rows(self, block: tuple[str, str]) -> list[tuple[Row, str]]:
        """The rows, each with the name of the group that begins with it, "" where none does."""
        rows = self.rows_of(block)
        previous = [None, *(row.published for row in rows)]
        return [
            (row, "" if row.published == before else GROUP_NAMES[row.published])
            for row, before in zip(rows, previous, strict=False)
        ]

    def filled_blocks(self) -> list[tuple[str, str]]:
        return [block for block in self.blocks if self.rows_of(block)]

    def notes(self) -> dict[str, str]:
        """The notes below the table with the letter of each, in the order of the rows."""
        texts = [note_of(row) for block in self.filled_blocks() for row in self.rows_of(block)]
        return {text: _letters(number) for number, text in enumerate(dict.fromkeys(texts))}


def language_of(column: str) -> str:
    """RETURNS (str): The language of a column that may be named after a treebank: "en.gum"."""
    return column.split(".")[0]


def note_of(row: Row) -> str:
    """Say what the figures of a row stand for.

    row (Row): The row.
    RETURNS (str): Where they come from, the data, the number of seeds and the row's own note.
    """
    values = [value for by_metric in row.scores.values() for value in by_metric.values()]
    seeds = {value.n for value in values}
    parts = ["Published" if row.published else "", row.data and f"Data: {row.data}", row.note]
    if len(seeds) == 1 and (n := seeds.pop()) is not None and n > 1:
        parts.append(f"Mean and standard deviation over {n} seeds")
    elif len(seeds) > 1:
        numbers = sorted(n for n in seeds if n is not None)
        parts.append(f"Means over {numbers[0]} to {numbers[-1]} seeds")
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _default_columns(rows: Iterable[Row]) -> list[str]:
    rows = list(rows)
    ours = {column for row in rows if not row.published for column in row.scores}
    languages = [language_of(column) for column in ours]
    published = {
        column
        for row in rows
        if row.published
        for column in row.scores
        if languages.count(language_of(column)) != 1
    }
    return sorted(ours | published, key=_paper_order)


def _paper_order(column: str) -> tuple[int, str]:
    language = language_of(column)
    known = language in PAPER_LANGUAGES
    return PAPER_LANGUAGES.index(language) if known else len(PAPER_LANGUAGES), column


def _chosen(what: str, names: str | Sequence[str], known: Collection[str]) -> list[str]:
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in known:
            raise RstError(Errors.R713.format(what=what, name=name, known=", ".join(known)))
    return chosen


def _letters(number: int) -> str:
    """Count a, b, ..., z, aa, ab, ..."""
    rest, letter = divmod(number, 26)
    return (_letters(rest - 1) if rest else "") + "abcdefghijklmnopqrstuvwxyz"[letter]


def _title(block: tuple[str, str]) -> str:
    method, average = block
    return f"{METHOD_NAMES[method]}, {average} F1"


def _write_markdown(table: _Table) -> str:
    judgements = " / ".join(SHORT_NAMES[judgement] for judgement in table.judgements)
    notes = table.notes()
    parts = []
    for block in table.filled_blocks():
        lines = [
            f"**{_title(block)}** ({judgements})",
            "",
            _markdown_line(["", *table.columns]),
            _markdown_line(["---", *["---:"] * len(table.columns)]),
        ]
        for row, group in table.grouped_rows(block):
            if group:
                lines.append(_markdown_line([f"*{group}*", *[""] * len(table.columns)]))
            cells = (table.values(row, column, block) for column in table.columns)
            name = f"{_markdown_text(row.system)} <sup>{notes[note_of(row)]}</sup>"
            lines.append(
                _markdown_line([name, *(_markdown_cell(v, table.deviations) for v in cells)])
            )
        parts.append("\n".join(lines))
    listed = (f"<sup>{letter}</sup> {_markdown_text(text)}" for text, letter in notes.items())
    return "\n\n".join([*parts, "  \n".join(listed)]) + "\n"


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\|*_<>`\[\]])", r"\\\1", text)


def _markdown_cell(values: Sequence[Value | None], deviations: bool) -> str:
    if not any(values):
        return MISSING
    return " / ".join(_percent(value, "±" if deviations else None) for value in values)


def _percent(value: Value | None, deviation_sign: str | None) -> str:
    if value is None:
        return MISSING
    mean = f"{100 * value.mean:.1f}"
    if deviation_sign is None or value.deviation is None:
        return mean
    return f"{mean}{deviation_sign}{100 * value.deviation:.1f}"


def _write_csv(table: _Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for block in table.filled_blocks():
        for row in table.rows_of(block):
            for column in table.columns:
                values = table.values(row, column, block)
                for judgement, value in zip(table.judgements, values, strict=True):
                    if value is not None:
                        source = table.source(row, column)
                        where = (column, source, *block, judgement)
                        figures = (f"{value.mean:.6f}", _exact(value.deviation), value.n)
                        published = str(row.published).lower()
                        writer.writerow(
                            (row.system, published, row.data, row.note, *where, *figures)
                        )
    return text.getvalue()


def _exact(number: float | None) -> str:
    return "" if number is None else f"{number:.6f}"


def _write_latex(table: _Table) -> str:
    notes = table.notes()
    width = len(table.judgements)
    groups = [rf"\multicolumn{{{width}}}{{c}}{{{_latex_text(name)}}}" for name in table.columns]
    starts = range(2, 2 + width * len(table.columns), width)
    rules = "".join(rf"\cmidrule(lr){{{start}-{start + width - 1}}}" for start in starts)
    layout = r"@{\hspace{8pt}}" + "r" * width
    short = [SHORT_NAMES[judgement] for judgement in table.judgements] * len(table.columns)
    lines = [
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.",
        r"\begin{table*}",
        r"\centering",
        r"\setlength{\tabcolsep}{3pt}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{layout * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["", *groups]) + r" \\",
        rules,
        " & ".join(["System", *short]) + r" \\",
    ]
    for block in table.filled_blocks():
        n_columns = 1 + width * len(table.columns)
        lines += [
            r"\midrule",
            rf"\multicolumn{{{n_columns}}}{{l}}{{\textbf{{{_title(block)}}}}} \\",
            r"\midrule",
        ]
        for row, group in table.grouped_rows(block):
            if group:
                lines.append(rf"\multicolumn{{{n_columns}}}{{l}}{{\textit{{{group}}}}} \\")
            cells = [
                _latex_cell(value, table.deviations)
                for column in table.columns
                for value in table.values(row, column, block)
            ]
            name = rf"{_latex_text(row.system)}\textsuperscript{{{notes[note_of(row)]}}}"
            lines.append(" & ".join([name, *cells]) + r" \\")
    listed = (
        rf"\textsuperscript{{{letter}}} {_latex_text(text)}" for text, letter in notes.items()
    )
    lines += [
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip\raggedright\footnotesize",
        " \\\\\n".join(listed),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _latex_text(text: str) -> str:
    return LATEX_SPECIAL.sub(lambda found: LATEX_ESCAPES.get(found[0], "\\" + found[0]), text)


def _latex_cell(value: Value | None, deviations: bool) -> str:
    if value is None:
        return "--"
    if not deviations or value.deviation is None:
        return _percent(value, None)
    return rf"{_percent(value, None)}{{\tiny$\pm${100 * value.deviation:.1f}}}"
