"""Charts of scores and corpora with matplotlib; run it to draw learning curves or the reliability
of a parser's probabilities.

The colours are those of Okabe & Ito and cividis, which colour-blind readers can tell apart; lines
and points differ in their marks, too. The same numbers give the same files.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import srsly
import typer

from spacy_rst.parser.calibration import VIEWS
from spacy_rst.scoring.parseval import METRICS
from spacy_rst.util import atomic_path, require_extra

with require_extra("matplotlib", "analysis"):
    import matplotlib.style
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import get_font_names

if TYPE_CHECKING:
    from analyze import BinScores, Confusion
    from topics import TopicMap

app = typer.Typer(no_args_is_help=True)
Curve = Sequence[tuple[float, float]]

# Okabe & Ito (2008), without the yellow that is too pale for lines on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
GREYS = {"gold": "#444444", "predicted": "#bbbbbb"}
LINE_STYLES = ("-", "--", ":", "-.")
MARKERS = "os^DvPX*<>hp"
# Tried in this order for characters that matplotlib's own font does not have.
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans SC", "WenQuanYi Zen Hei", "PingFang SC")
STYLE: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "spacy_rst",
}
MAX_UPRIGHT_NAME = 4
KEYWORD_WIDTH = 44


@app.command("curves")
def curves_cli(
    logs: Annotated[list[Path], typer.Argument(help="What spacy.ConsoleLogger.v3 wrote, by run")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture, without ending")],
    score: Annotated[str, typer.Option(help="A score, by default the weighted one")] = "score",
) -> None:
    """Draw how the score on the dev set grew in one or more trainings."""
    save_chart(draw_learning_curves({str(log): read_curve(log, score) for log in logs}), output)


@app.command("reliability")
def reliability_cli(
    report: Annotated[Path, typer.Argument(help="What 'rst calibrate --json' wrote")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture, without ending")],
) -> None:
    """Draw how often a parser is right by its probabilities, before and after a calibration."""
    numbers = json.loads(report.read_text(encoding="utf8"))
    save_chart(draw_reliability(numbers["before"], numbers["after"]), output)


def read_curve(path: Path, score: str = "score") -> list[tuple[float, float]]:
    """The points (step, score between 0 and 1) of a training, from the log of spaCy's logger."""
    lines = list(srsly.read_jsonl(path))
    if score == "score":
        return [(line["step"], line["score"]) for line in lines]
    # The logger writes single scores in percent, unlike the weighted one.
    return [(line["step"], line["scores"][score] / 100) for line in lines]


def save_chart(figure: Figure, path: Path) -> None:
    """Write a chart as PNG and SVG, without dates, so that the same chart is the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        target = path.with_name(f"{path.name}.{kind}")
        with _style(), atomic_path(target) as temporary:
            figure.savefig(temporary, format=kind, metadata=metadata)


def draw_learning_curves(curves: Mapping[str, Curve]) -> Figure:
    """Draw how scores grow over the steps of a training. A ring marks the best point of each."""
    with _style():
        figure = Figure(figsize=(7.5, 4.5))
        axes = figure.subplots()
        for number, (name, curve) in enumerate(curves.items()):
            steps, percents = zip(*((step, 100 * score) for step, score in curve), strict=True)
            _plot(axes, number, name, steps, percents)
            best = percents.index(max(percents))
            ring = _cycle(COLORS, number)
            axes.plot(steps[best], percents[best], "o", markersize=10, mfc="none", mec=ring)
        axes.set(xlabel="Step", ylabel="Score (dev), %")
        _legend_beside(axes)
    return figure


def draw_confusion(confusion: Confusion, *, what: str) -> Figure:
    """Draw how often each gold label was predicted as each other one, in percent of the row."""
    shares: dict[str, dict[str, float | None]] = {}
    for label, row in zip(confusion.labels, confusion.counts, strict=True):
        total = sum(row)
        parts = [count / total if total else None for count in row]
        shares[f"{label} ({total:,})"] = dict(zip(confusion.labels, parts, strict=True))
    agreement = f"{confusion.total:,} spans in both trees, {100 * confusion.accuracy:.1f} % agree"
    axis_titles = (f"Gold {what.lower()} (number of spans)", f"Predicted {what.lower()}")
    return draw_matrix(shares, f"{what}: {agreement}", axis_titles, "% of the gold label", 0)


def draw_bins(bins: Sequence[BinScores], *, x_name: str, score_name: str) -> Figure:
    """Draw F1 by the length or depth of spans, and below it how many spans there are."""
    with _style():
        figure = Figure(figsize=(max(6.0, 0.6 * len(bins) + 3.5), 5.0))
        axes, counts = figure.subplots(2, height_ratios=(3, 1), sharex=True)
        places = range(len(bins))
        for number, metric in enumerate(METRICS):
            scores = [getattr(entry.scores, metric, math.nan) for entry in bins]
            _plot(axes, number, metric.title(), places, [100 * score for score in scores])
        axes.set(ylim=(0, 103), ylabel=f"F1, % ({score_name})")
        _legend_beside(axes)
        for shift, (side, grey) in zip((-0.2, 0.2), GREYS.items(), strict=True):
            heights = [getattr(entry, side) for entry in bins]
            shifted = [place + shift for place in places]
            counts.bar(shifted, heights, width=0.4, color=grey, label=side.title())
        counts.set(yscale="log", xlabel=x_name, ylabel="Spans")
        counts.set_ylim(bottom=0.7)
        counts.set_xticks(list(places), [entry.name for entry in bins])
        _legend_beside(counts)
    return figure


def draw_reliability(before: Mapping[str, Any], after: Mapping[str, Any]) -> Figure:
    """Draw how often choices are right by the probability that a parser gave them: on the diagonal
    if the probabilities are calibrated, below it if the parser is too sure. The arguments are those
    of the report of `rst calibrate`."""
    with _style():
        figure = Figure(figsize=(3.6 * len(before) + 0.8, 5.0))
        panels = figure.subplots(
            2, len(before), height_ratios=(3, 1), sharex=True, sharey="row", squeeze=False
        )
        for (name, old), axes, counts in zip(before.items(), *panels, strict=True):
            axes.plot((0, 100), (0, 100), color=GREYS["predicted"], linewidth=1)
            for number, (when, part) in enumerate((("before", old), ("after", after[name]))):
                filled = [entry for entry in part["bins"] if entry["n"]]
                xs, ys = ([100 * e[key] for e in filled] for key in ("probability", "right"))
                error = 100 * (part["error"] or 0)
                _plot(axes, number, f"{when} (error {error:.1f} %)", xs, ys)
                heights = [entry["n"] for entry in part["bins"]]
                edges = [100 * place / len(heights) for place in range(len(heights) + 1)]
                look = {"color": _cycle(COLORS, number), "linestyle": _cycle(LINE_STYLES, number)}
                counts.stairs(heights, edges, **look)
            axes.set(xlim=(0, 100), ylim=(0, 103))
            axes.set_title(VIEWS[name])
            axes.legend(loc="upper left")
            counts.set(yscale="log", xlabel="Probability, %")
        panels[0, 0].set_ylabel("Right, %")
        panels[1, 0].set_ylabel("Number")
        panels[1, 0].set_ylim(bottom=0.7)
    return figure


def draw_topics(topic_map: TopicMap) -> Figure:
    """Draw documents as points, close together if they are alike, with a colour and a mark for
    each treebank, and the topics beside."""
    with _style():
        figure = Figure(figsize=(11.0, 6.0))
        axes, side = figure.subplots(1, 2, width_ratios=(2.1, 1))
        _scatter_documents(axes, topic_map)
        badge = {"boxstyle": "circle,pad=0.25", "fc": "white", "ec": "black", "alpha": 0.9}
        bold = {"ha": "center", "va": "center", "fontsize": 12, "fontweight": "bold"}
        for topic in topic_map.topics:
            if topic.place is not None:
                axes.annotate(str(topic.number), topic.place, bbox=badge, zorder=5, **bold)
        axes.set(xticks=[], yticks=[], xlabel="t-SNE 1", ylabel="t-SNE 2")
        n_documents, n_topics = len(topic_map.documents), len(topic_map.topics)
        axes.set_title(f"{n_documents:,} documents, {n_topics} topics (LDA)")
        side.axis("off")
        lines = []
        for topic in topic_map.topics:
            keywords = ", ".join(topic.keywords)
            lines += [f"Topic {topic.number} ({topic.n_documents} documents)"]
            lines += [*textwrap.wrap(keywords, KEYWORD_WIDTH, break_on_hyphens=False), ""]
        side.text(0, 1, "\n".join(lines), va="top", fontsize=9, transform=side.transAxes)
        handles, labels = axes.get_legend_handles_labels()
        place = {"loc": "lower left", "bbox_to_anchor": (0, 0), "borderaxespad": 0}
        n_columns = 1 if len(labels) <= 8 else 2
        side.legend(handles, labels, title="Treebank", alignment="left", ncols=n_columns, **place)
    return figure


def _scatter_documents(axes: Axes, topic_map: TopicMap) -> None:
    points = defaultdict(list)
    for document in topic_map.documents:
        points[document.treebank].append(document.place)
    dots: dict[str, Any] = {"s": 22, "alpha": 0.7, "linewidths": 0.3, "edgecolors": "white"}
    for number, treebank in enumerate(sorted(points)):
        xs, ys = zip(*points[treebank], strict=True)
        dots |= {"color": _cycle(COLORS, number), "marker": _cycle(MARKERS, number)}
        axes.scatter(xs, ys, label=f"{treebank} ({len(xs)})", **dots)


def draw_matrix(
    matrix: Mapping[str, Mapping[str, float | None]],
    title: str,
    axis_titles: tuple[str, str],
    bar_title: str,
    decimals: int,
) -> Figure:
    """Draw shares between 0 and 1 as colours with their percentages in the cells. If these are
    whole numbers, zeros are left out."""
    row_names, column_names = list(matrix), list(next(iter(matrix.values())))
    percents = [[math.nan if v is None else 100 * v for v in m.values()] for m in matrix.values()]
    known = [p for row in percents for p in row if not math.isnan(p)]
    number_style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
    with _style():
        width = 0.09 * max(map(len, row_names)) + 0.55 * len(column_names) + 3.0
        figure = Figure(figsize=(max(7.0, width), 0.42 * len(row_names) + 2.6))
        axes = figure.subplots()
        highest = max(known)
        image = axes.imshow(percents, "cividis", aspect="auto", vmin=0, vmax=highest)
        is_short = max(map(len, column_names)) <= MAX_UPRIGHT_NAME
        tilt: dict[str, Any] = {} if is_short else {"rotation": 45, "ha": "right"}
        axes.set_xticks(range(len(column_names)), column_names, **tilt)
        axes.set_yticks(range(len(row_names)), row_names)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        for y, x in product(range(len(row_names)), range(len(column_names))):
            percent = percents[y][x]
            if not math.isnan(percent) and (decimals or round(percent)):
                ink = "white" if percent < highest / 2 else "black"
                axes.text(x, y, f"{percent:.{decimals}f}", color=ink, **number_style)
        axes.set(ylabel=axis_titles[0], xlabel=axis_titles[1])
        axes.set_title(title, loc="left")
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, label=bar_title)
        bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


def _plot(
    axes: Axes, number: int, name: str, xs: Sequence[float], percents: Sequence[float]
) -> None:
    looks = {"color": COLORS, "marker": MARKERS, "linestyle": LINE_STYLES}
    chosen: dict[str, Any] = {key: _cycle(values, number) for key, values in looks.items()}
    axes.plot(xs, percents, label=name, markersize=4, **chosen)
    axes.grid(axis="y", alpha=0.3)


def _legend_beside(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)


def _cycle(values: Sequence[str], number: int) -> str:
    return values[number % len(values)]


def _style() -> AbstractContextManager[None]:
    """Set our style for a while, whatever the user's own settings are."""
    installed = set(get_font_names())
    fonts = [name for name in FONTS if name in installed] or ["sans-serif"]
    return matplotlib.style.context({**STYLE, "font.family": fonts}, after_reset=True)


if __name__ == "__main__":
    app()
