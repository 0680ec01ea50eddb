"""Charts of scores and corpora with matplotlib, which is imported when the first is drawn.

Every function gives a matplotlib `Figure`; `save_chart` writes it as PNG and SVG. Colours are those
of Okabe & Ito and cividis, which colour-blind readers can tell apart, and lines and points differ
in their marks, too. The same numbers make the same files.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, RstError
from ..util import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..scoring.analysis import BinScores, Confusion, Curve, TransferMatrix
    from ..scoring.topics import TopicMap

# Okabe & Ito (2008), without the yellow that is too pale for lines on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
LINE_STYLES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p")
JUDGEMENT_NAMES = {
    "span": "Span",
    "nuclearity": "Nuclearity",
    "relation": "Relation",
    "full": "Full",
}
METHOD_NAMES = {"rst": "RST-Parseval", "original": "original Parseval"}
# Tried in this order for characters that matplotlib's own font does not have.
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "PingFang SC",
)
MISSING_GLYPH = re.compile(r"Glyph (\d+)")
STYLE: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "figure.dpi": 100,
    "font.size": 10,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "spacy_rst",
}
# Wider matrices have no room for numbers in their cells.
MAX_NUMBERED_COLUMNS = 40
MAX_UPRIGHT_NAME = 4


def save_chart(figure: Figure, path: str | Path) -> list[Path]:
    """Write a chart as PNG and as SVG, without dates, so that the same chart is the same file.

    figure (Figure): The chart.
    path (str | Path): Where to write it; the endings are added.
    RETURNS (list[Path]): The two files.
    """
    base, written = Path(path), []
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        target = base.with_name(f"{base.name}.{kind}")
        with _style(), _one_warning_for_missing_characters(), atomic_path(target) as temporary:
            figure.savefig(temporary, format=kind, metadata=metadata)
        written.append(target)
    return written


def draw_learning_curves(
    curves: Mapping[str, Curve], *, x_name: str = "Step", score_name: str = "Score (dev)"
) -> Figure:
    """Draw how scores grow in training.

    curves (Mapping[str, Sequence[tuple[float, float]]]): For each system its points (step or
        epoch, score between 0 and 1).
    x_name (str): What the points are counted in.
    score_name (str): Which score it is.
    RETURNS (Figure): The chart. A ring marks the best point of each curve.
    """
    curves = {name: list(curve) for name, curve in curves.items() if len(curve)}
    if not curves:
        raise RstError(Errors.R721.format(reason="no curve has a point"))
    with _style():
        figure, axes = _figure(7.5, 4.5)
        for number, (name, curve) in enumerate(curves.items()):
            xs, ys = zip(*sorted(curve), strict=True)
            color = _color(number)
            percents = [100 * y for y in ys]
            axes.plot(
                xs,
                percents,
                label=name,
                color=color,
                linestyle=LINE_STYLES[number % len(LINE_STYLES)],
                marker=_marker(number),
                markersize=4,
            )
            best = percents.index(max(percents))
            axes.plot(xs[best], percents[best], "o", markersize=10, mfc="none", mec=color)
        _label(axes, x_name, f"{score_name}, %")
        axes.grid(axis="y", alpha=0.3)
        _legend_beside(axes)
    return figure


def draw_confusion(confusion: Confusion, *, what: str = "Relation") -> Figure:
    """Draw a confusion matrix: each row shows how often its gold label was predicted as each
    other one, in percent of the row.

    confusion (Confusion): The counts.
    what (str): What the labels are.
    RETURNS (Figure): The chart.
    """
    if not confusion.total:
        raise RstError(Errors.R721.format(reason="the trees have no span in common"))
    shares: list[list[float | None]] = []
    for row in confusion.counts:
        total = sum(row)
        shares.append([count / total if total else None for count in row])
    totals = [sum(row) for row in confusion.counts]
    names = [f"{name} ({total:,})" for name, total in zip(confusion.labels, totals, strict=True)]
    accuracy = 100 * (confusion.accuracy or 0)
    return _draw_matrix(
        shares,
        row_names=names,
        column_names=confusion.labels,
        row_title=f"Gold {what.lower()} (number of spans)",
        column_title=f"Predicted {what.lower()}",
        bar_title="% of the gold label",
        title=f"{what}: {confusion.total:,} spans in both trees, {accuracy:.1f} % agree",
        decimals=0,
        hide_zeros=True,
    )


def draw_bins(bins: Sequence[BinScores], *, x_name: str, method: str = "original") -> Figure:
    """Draw F1 by the length or depth of spans, and below it how many spans there are.

    bins (Sequence[BinScores]): The scores, in order.
    x_name (str): What the bins are.
    method (str): "rst" or "original", for the title.
    RETURNS (Figure): The chart.
    """
    if not bins:
        raise RstError(Errors.R721.format(reason="the trees have no spans"))
    with _style():
        figure, (axes, counts) = _figure(
            max(6.0, 0.6 * len(bins) + 3.5), 5.0, rows=2, height_ratios=(3, 1), sharex=True
        )
        places = range(len(bins))
        for number, (metric, name) in enumerate(JUDGEMENT_NAMES.items()):
            percents = [
                math.nan if entry.scores is None else 100 * getattr(entry.scores, metric)
                for entry in bins
            ]
            axes.plot(
                places,
                percents,
                label=name,
                color=_color(number),
                marker=_marker(number),
                linestyle=LINE_STYLES[number % len(LINE_STYLES)],
                markersize=5,
            )
        axes.set_ylim(0, 103)
        axes.grid(axis="y", alpha=0.3)
        _label(axes, "", f"F1, % ({METHOD_NAMES.get(method, method)})")
        _legend_beside(axes)
        for number, (side, name) in enumerate((("gold", "Gold"), ("predicted", "Predicted"))):
            heights = [getattr(entry, side) for entry in bins]
            shifted = [place + 0.4 * (number - 0.5) for place in places]
            color = ("#444444", "#bbbbbb")[number]
            counts.bar(shifted, heights, width=0.4, color=color, label=name)
        counts.set_yscale("log")
        counts.set_ylim(bottom=0.7)
        counts.set_xticks(list(places), [entry.name for entry in bins])
        _label(counts, x_name, "Spans")
        _legend_beside(counts)
    return figure


def draw_transfer(matrix: TransferMatrix, *, score_name: str) -> Figure:
    """Draw what parsers trained on one language score on others.

    matrix (TransferMatrix): The scores.
    score_name (str): Which score it is.
    RETURNS (Figure): The chart.
    """
    if not any(value is not None for row in matrix.values for value in row):
        raise RstError(Errors.R721.format(reason="no score is known"))
    return _draw_matrix(
        matrix.values,
        row_names=matrix.trained_on,
        column_names=matrix.tested_on,
        row_title="Trained on",
        column_title="Tested on",
        bar_title=f"{score_name}, %",
        title=score_name,
        decimals=1,
        hide_zeros=False,
    )


def draw_topics(topic_map: TopicMap, *, n_keywords: int = 8) -> Figure:
    """Draw documents as points that lie close together where they are alike, in the colour of
    their treebank and with a mark for the language they were written in. A number stands in the
    middle of each topic; its keywords stand beside.

    topic_map (TopicMap): The documents and topics.
    n_keywords (int): How many keywords to print for each topic.
    RETURNS (Figure): The chart.
    """
    with _style():
        figure, (axes, side) = _figure(11.0, 6.0, columns=2, width_ratios=(2.1, 1))
        _scatter_documents(axes, topic_map)
        for topic in topic_map.topics:
            if topic.place is not None:
                _number_badge(axes, topic.place, str(topic.number))
        axes.set_xticks([])
        axes.set_yticks([])
        _label(axes, "t-SNE 1", "t-SNE 2")
        axes.set_title(
            f"{len(topic_map.documents):,} documents, {len(topic_map.topics)} topics (LDA)"
        )
        side.axis("off")
        _list_topics(side, topic_map, n_keywords)
        handles, labels = axes.get_legend_handles_labels()
        side.legend(
            handles,
            labels,
            title="Treebank",
            loc="lower left",
            bbox_to_anchor=(0, 0),
            borderaxespad=0,
            alignment="left",
            ncols=1 if len(labels) <= 8 else 2,
        )
    return figure


def _scatter_documents(axes: Axes, topic_map: TopicMap) -> None:
    treebanks = sorted({document.treebank for document in topic_map.documents})
    languages = sorted({document.original_language for document in topic_map.documents})
    for treebank in treebanks:
        for language in languages:
            points = [
                document.place
                for document in topic_map.documents
                if (document.treebank, document.original_language) == (treebank, language)
            ]
            if points:
                xs, ys = zip(*points, strict=True)
                axes.scatter(
                    xs,
                    ys,
                    s=22,
                    marker=_marker(languages.index(language)),
                    color=_color(treebanks.index(treebank)),
                    alpha=0.7,
                    linewidths=0.3,
                    edgecolors="white",
                    label=f"{treebank or language or 'unknown'} ({len(points)})",
                )


def _number_badge(axes: Axes, place: tuple[float, float], text: str) -> None:
    axes.annotate(
        text,
        place,
        ha="center",
        va="center",
        fontsize=12,
        fontweight="bold",
        bbox={"boxstyle": "circle,pad=0.25", "fc": "white", "ec": "black", "alpha": 0.9},
        zorder=5,
    )


def _list_topics(axes: Axes, topic_map: TopicMap, n_keywords: int) -> None:
    # Steps are in parts of the panel's height: a topic has a heading and two or three lines.
    step = min(0.16, 0.72 / len(topic_map.topics))
    top = 1.0
    for topic in topic_map.topics:
        heading = f"Topic {topic.number} ({topic.n_documents} documents)"
        axes.text(0, top, heading, fontweight="bold", va="top", transform=axes.transAxes)
        words = _wrap(topic.keywords[:n_keywords], width=44)
        axes.text(
            0, top - 0.04, words, fontsize=9, va="top", transform=axes.transAxes, linespacing=1.3
        )
        top -= step


def _wrap(words: Iterable[str], width: int) -> str:
    lines = [""]
    for word in words:
        joined = f"{lines[-1]}, {word}" if lines[-1] else word
        if len(joined) > width:
            lines[-1] += ","
            lines.append(word)
        else:
            lines[-1] = joined
    return "\n".join(lines)


def _draw_matrix(
    values: Sequence[Sequence[float | None]],
    *,
    row_names: Sequence[str],
    column_names: Sequence[str],
    row_title: str,
    column_title: str,
    bar_title: str,
    title: str,
    decimals: int,
    hide_zeros: bool,
) -> Figure:
    """Draw shares between 0 and 1 as colours with their percentages in the cells."""
    percents = [[math.nan if v is None else 100 * v for v in row] for row in values]
    known = [p for row in percents for p in row if not math.isnan(p)]
    with _style():
        longest = max(map(len, row_names))
        figure, axes = _figure(
            max(7.0, 0.09 * longest + 0.55 * len(column_names) + 3.0),
            0.42 * len(row_names) + 2.6,
        )
        image = axes.imshow(
            percents, cmap="cividis", vmin=min(0.0, *known), vmax=max(known), aspect="auto"
        )
        short = max(map(len, column_names)) <= MAX_UPRIGHT_NAME
        tilt: dict[str, Any] = {} if short else {"rotation": 45, "ha": "right"}
        axes.set_xticks(range(len(column_names)), column_names, **tilt)
        axes.set_yticks(range(len(row_names)), row_names)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        numbered = len(column_names) <= MAX_NUMBERED_COLUMNS
        middle = max(known) / 2
        for y, row in enumerate(percents):
            for x, percent in enumerate(row):
                shown = f"{percent:.{decimals}f}"
                if math.isnan(percent) or not numbered or (hide_zeros and float(shown) == 0):
                    continue
                ink = "white" if percent < middle else "black"
                axes.text(x, y, shown, ha="center", va="center", color=ink, fontsize=8)
        _label(axes, column_title, row_title)
        axes.set_title(title, loc="left")
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
        bar.set_label(bar_title)
        bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


def _figure(
    width: float,
    height: float,
    *,
    rows: int = 1,
    columns: int = 1,
    height_ratios: Sequence[float] | None = None,
    width_ratios: Sequence[float] | None = None,
    sharex: bool = False,
) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(
        rows, columns, height_ratios=height_ratios, width_ratios=width_ratios, sharex=sharex
    )
    return figure, axes


def _label(axes: Axes, x_name: str, y_name: str) -> None:
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)


def _legend_beside(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def _marker(number: int) -> str:
    return MARKERS[number % len(MARKERS)]


@contextmanager
def _style() -> Iterator[None]:
    """Set our style for a while, whatever the user's own settings are."""
    try:
        import matplotlib
        from matplotlib import font_manager
    except ImportError as error:
        raise RstError(Errors.R715.format(library="matplotlib")) from error
    installed = set(font_manager.get_font_names())
    fonts = [name for name in FONTS if name in installed]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)  # type: ignore[arg-type]
        matplotlib.rcParams["font.family"] = fonts or ["sans-serif"]
        yield


@contextmanager
def _one_warning_for_missing_characters() -> Iterator[None]:
    """Give one warning that says what to do, instead of matplotlib's for each character."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = set()
    for warning in caught:
        found = MISSING_GLYPH.match(str(warning.message))
        if found:
            missing.add(chr(int(found[1])))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    if missing:
        characters = "".join(sorted(missing)[:20])
        warnings.warn(Errors.R724.format(characters=characters), stacklevel=4)
