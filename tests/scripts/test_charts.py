"""Charts: drawn for real, readable files, the same each time."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
import srsly

from spacy_rst.relations import RELATION_CLASSES
from spacy_rst.scoring.parseval import F1Scores
from tests.scripts import invoke

for library in ("matplotlib", "sklearn"):
    pytest.importorskip(library, reason=f"charts need {library}: pip install '.[analysis]'")

from analyze import BinScores, Confusion  # noqa: E402
from charts import (  # noqa: E402
    app,
    draw_bins,
    draw_confusion,
    draw_learning_curves,
    draw_matrix,
    draw_reliability,
    draw_topics,
    save_chart,
)
from matplotlib import rcParams  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.text import Text  # noqa: E402
from topics import Topic, TopicDocument, TopicMap  # noqa: E402

CURVES = {
    "EN-Training": [(0, 0.1), (100, 0.3), (200, 0.25)],
    "Multi-Training": [(0, 0.1), (100, 0.35), (200, 0.4)],
}
CONFUSION = Confusion(("Cause", "Joint"), ((3, 1), (0, 0)))
BINS = [
    BinScores("2", 10, 9, F1Scores(0.9, 0.7, 0.6, 0.5)),
    BinScores("3-4", 0, 0, None),
    BinScores("5-8", 1, 2, F1Scores(0.5, 0.0, 0.0, 0.0)),
]
TRANSFER = {"en": {"en": 0.5, "de": 0.3, "ru": None}, "all": {"en": 0.6, "de": 0.5, "ru": 0.1}}


def reliability(error, *bins):
    names = ("n", "probability", "right")
    return {"n": 6, "error": error, "bins": [dict(zip(names, b, strict=True)) for b in bins]}


RELIABLE = reliability(0.083, (4, 0.25, 0.25), (2, 0.75, 0.5))
OVERCONFIDENT = reliability(0.4, (0, None, None), (6, 0.9, 0.5))
TOPICS = TopicMap(
    [Topic(1, ("word", "other"), 3, [1.0, 1.0]), Topic(2, ("rare",), 0, None)],
    [
        TopicDocument(treebank, f"doc{n}", 1, (float(n), float(n * n)), (0.9, 0.1))
        for n, treebank in enumerate(["en.gum", "es.x", "ru.y"])
    ],
)
FIGURES = {
    "curves": lambda: draw_learning_curves(CURVES),
    "confusion": lambda: draw_confusion(CONFUSION, what="Relation"),
    "bins": lambda: draw_bins(BINS, x_name="Length", score_name="Original Parseval"),
    "transfer": lambda: draw_matrix(TRANSFER, "Full", ("Trained on", "Tested on"), "F1, %", 1),
    "reliability": lambda: draw_reliability({"splits": OVERCONFIDENT}, {"splits": RELIABLE}),
    "topics": lambda: draw_topics(TOPICS),
}


def text_of(figure) -> str:
    """All that is written on a chart."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("name", FIGURES)
def test_files_are_valid_and_always_the_same(name, tmp_path):
    figure = FIGURES[name]()
    assert all(axes.get_ylabel() or axes.get_xlabel() or not axes.axison for axes in figure.axes)
    save_chart(figure, tmp_path / "first" / name)
    first = [tmp_path / "first" / f"{name}.{kind}" for kind in ("png", "svg")]
    png, svg = (path.read_bytes() for path in first)
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.rstrip().endswith(b"IEND\xaeB`\x82")
    assert ElementTree.fromstring(svg).tag.endswith("svg") and b"date" not in svg.lower()
    # A user's own settings are neither used nor changed.
    previous = rcParams["font.size"]
    rcParams["font.size"] = 30
    try:
        save_chart(FIGURES[name](), tmp_path / "second" / name)
        assert rcParams["font.size"] == 30
    finally:
        rcParams["font.size"] = previous
    assert [(tmp_path / "second" / path.name).read_bytes() for path in first] == [png, svg]


def test_learning_curves():
    (axes,) = draw_learning_curves(CURVES).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(CURVES)
    assert axes.lines[0].get_ydata().tolist() == [10, 30, 25]
    # The ring of the first curve is on its best point, not on its last.
    assert axes.lines[1].get_xdata().tolist() == [100]
    assert to_hex(axes.lines[0].get_color()) != to_hex(axes.lines[2].get_color())
    assert axes.lines[0].get_linestyle() != axes.lines[2].get_linestyle()


def test_confusion_shows_shares_of_rows():
    text = text_of(draw_confusion(CONFUSION, what="Relation"))
    assert {"Cause (4)", "Joint (0)", "75", "25"} <= set(text.split("\n"))
    assert "75.0 % agree" in text


def test_eighteen_relations_fit():
    n_labels = len(RELATION_CLASSES)
    counts = tuple(
        tuple((row * column) % 7 for column in range(n_labels)) for row in range(n_labels)
    )
    figure = draw_confusion(Confusion(RELATION_CLASSES, counts), what="Relation")
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert all(box.x0 >= 0 for box in boxes)
    assert all(lower.y1 <= upper.y0 + 1 for upper, lower in pairwise(boxes))


def test_bins_without_spans_are_gaps():
    scores, counts = FIGURES["bins"]().axes
    assert len(scores.lines) == 4
    assert str(scores.lines[0].get_ydata().tolist()) == "[90.0, nan, 50.0]"
    assert [label.get_text() for label in counts.get_xticklabels()] == ["2", "3-4", "5-8"]


def test_transfer_shows_known_scores():
    texts = text_of(FIGURES["transfer"]()).split("\n")
    assert {"50.0", "30.0", "60.0", "10.0", "Trained on", "Tested on"} <= set(texts)
    assert "nan" not in texts


def test_reliability_shows_both_curves_and_their_errors():
    before = {"splits": OVERCONFIDENT, "labels": RELIABLE}
    figure = draw_reliability(before, {"splits": RELIABLE, "labels": RELIABLE})
    splits, labels, *_ = figure.axes
    titles = ["Splits of gold spans", "Labels of gold spans"]
    assert [axes.get_title() for axes in (splits, labels)] == titles
    _, old, new = splits.lines
    assert old.get_xydata().tolist() == [[90, 50]]
    assert new.get_xydata().tolist() == [[25, 25], [75, 50]]
    assert [text.get_text() for text in splits.get_legend().get_texts()] == [
        "before (error 40.0 %)",
        "after (error 8.3 %)",
    ]


def test_topics_name_treebanks_and_keywords():
    figure = draw_topics(TOPICS)
    text = text_of(figure)
    assert "Topic 1 (3 documents)\nword, other" in text and "3 documents, 2 topics" in text
    assert "en.gum (1)" in text and "es.x (1)" in text
    points = figure.axes[0].collections
    assert len({to_hex(collection.get_facecolor()[0]) for collection in points}) == 3
    assert len({str(collection.get_paths()[0].vertices.tolist()) for collection in points}) == 3


def test_learning_curves_and_reliability_are_drawn_from_files(tmp_path):
    log = tmp_path / "log.jsonl"
    lines = [{"step": step, "score": 0.1, "scores": {"rst_full": 12.5}} for step in (0, 5)]
    srsly.write_jsonl(log, lines)
    numbers = tmp_path / "numbers.json"
    srsly.write_json(numbers, {"before": {"splits": RELIABLE}, "after": {"splits": RELIABLE}})
    for arguments in (
        ["curves", log, "--score", "rst_full", "--output", tmp_path / "curves"],
        ["reliability", numbers, "--output", tmp_path / "reliability"],
    ):
        invoke(app, *arguments)
        assert arguments[-1].with_suffix(".svg").exists()
