"""Charts: drawn for real, readable files, the same each time."""

from __future__ import annotations

import warnings
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from spacy_rst.errors import RstError
from spacy_rst.lab.analysis import BinScores, Confusion
from spacy_rst.lab.calibration import ProbabilityBin, Reliability
from spacy_rst.relations import RELATION_CLASSES
from spacy_rst.scoring.parseval import F1Scores

for library in ("matplotlib", "sklearn"):
    pytest.importorskip(library, reason=f"charts need {library}: pip install '.[analysis]'")

from matplotlib import rcParams  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from spacy_rst.lab.charts import (  # noqa: E402
    draw_bins,
    draw_confusion,
    draw_learning_curves,
    draw_reliability,
    draw_topics,
    draw_transfer,
    save_chart,
)
from spacy_rst.lab.topics import Topic, TopicDocument, TopicMap  # noqa: E402

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
RELIABLE = Reliability((ProbabilityBin(4, 0.25, 0.25), ProbabilityBin(2, 0.75, 0.5)))
TOO_SURE = Reliability((ProbabilityBin(0, None, None), ProbabilityBin(6, 0.9, 0.5)))


def topic_map(keyword="word"):
    topics = (Topic(1, (keyword, "other"), 3, (1.0, 1.0)), Topic(2, ("rare",), 0, None))
    documents = tuple(
        TopicDocument(f"doc{n}", treebank, "en", language, 1, (0.9, 0.1), (float(n), float(n * n)))
        for n, (treebank, language) in enumerate([("en.gum", "en"), ("es.x", "es"), ("", "ru")])
    )
    return TopicMap(topics, documents, 3)


FIGURES = {
    "curves": lambda: draw_learning_curves(CURVES),
    "confusion": lambda: draw_confusion(CONFUSION),
    "bins": lambda: draw_bins(BINS, x_name="Length"),
    "transfer": lambda: draw_transfer(TRANSFER, score_name="Full F1"),
    "reliability": lambda: draw_reliability({"splits": TOO_SURE}, {"splits": RELIABLE}),
    "topics": lambda: draw_topics(topic_map()),
}


def text_of(figure) -> str:
    """All that is written on a chart."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("name", FIGURES)
def test_files_are_valid_and_always_the_same(name, tmp_path):
    png, svg = save_chart(FIGURES[name](), tmp_path / "first" / name)
    assert (png.name, svg.name) == (f"{name}.png", f"{name}.svg")
    content = png.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and content.rstrip().endswith(b"IEND\xaeB`\x82")
    root = ElementTree.parse(svg).getroot()
    assert root.tag.endswith("svg")
    again = save_chart(FIGURES[name](), tmp_path / "second" / name)
    assert [path.read_bytes() for path in again] == [content, svg.read_bytes()]
    assert b"date" not in svg.read_bytes().lower()


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"topics"}))
def test_axes_are_labelled(name):
    for axes in FIGURES[name]().axes:
        assert axes.get_ylabel() or axes.get_xlabel()


def test_own_settings_of_the_user_are_neither_used_nor_changed(tmp_path):
    expected = save_chart(FIGURES["bins"](), tmp_path / "plain")[0].read_bytes()
    previous = rcParams["font.size"]
    rcParams["font.size"] = 30
    try:
        assert save_chart(FIGURES["bins"](), tmp_path / "large")[0].read_bytes() == expected
        assert rcParams["font.size"] == 30
    finally:
        rcParams["font.size"] = previous


def test_learning_curves():
    figure = draw_learning_curves(CURVES, x_name="Epoch", score_name="Full F1")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Epoch" and axes.get_ylabel() == "Full F1, %"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(CURVES)
    assert axes.lines[0].get_ydata().tolist() == [10, 30, 25]
    # The ring of the first curve is on its best point, not on its last.
    assert axes.lines[1].get_xdata().tolist() == [100]
    assert to_hex(axes.lines[0].get_color()) != to_hex(axes.lines[2].get_color())
    assert axes.lines[0].get_linestyle() != axes.lines[2].get_linestyle()


def test_confusion_shows_shares_of_rows():
    text = text_of(draw_confusion(CONFUSION))
    assert "Cause (4)" in text and "Joint (0)" in text
    assert "75" in text.split("\n") and "25" in text.split("\n")
    assert "75.0 % agree" in text


def test_eighteen_relations_fit():
    n_labels = len(RELATION_CLASSES)
    counts = tuple(
        tuple((row * column) % 7 for column in range(n_labels)) for row in range(n_labels)
    )
    figure = draw_confusion(Confusion(RELATION_CLASSES, counts))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(box.x0 >= 0 for box in boxes)
    assert all(lower.y1 <= upper.y0 + 1 for upper, lower in pairwise(boxes))


def test_bins_leave_gaps_where_nothing_is():
    figure = draw_bins(BINS, x_name="Length", method="rst")
    scores, counts = figure.axes
    assert len(scores.lines) == 4
    assert str(scores.lines[0].get_ydata().tolist()) == "[90.0, nan, 50.0]"
    assert [label.get_text() for label in counts.get_xticklabels()] == ["2", "3-4", "5-8"]
    assert "RST-Parseval" in scores.get_ylabel()


def test_transfer_shows_known_scores():
    texts = text_of(draw_transfer(TRANSFER, score_name="Full F1")).split("\n")
    assert {"50.0", "30.0", "60.0", "10.0"} <= set(texts)
    assert "nan" not in texts and {"Trained on", "Tested on"} <= set(texts)


def test_reliability_shows_both_curves_and_their_errors():
    before = {"splits": TOO_SURE, "labels": RELIABLE}
    figure = draw_reliability(before, {"splits": RELIABLE, "labels": RELIABLE})
    splits, labels, *_ = figure.axes
    assert (splits.get_title(), labels.get_title()) == (
        "Splits of gold spans",
        "Labels of gold spans",
    )
    _, old, new = splits.lines
    assert old.get_xydata().tolist() == [[90, 50]]
    assert new.get_xydata().tolist() == [[25, 25], [75, 50]]
    assert [text.get_text() for text in splits.get_legend().get_texts()] == [
        "before (error 40.0 %)",
        "after (error 8.3 %)",
    ]


def test_topics_name_treebanks_and_keywords():
    figure = draw_topics(topic_map())
    text = text_of(figure)
    assert "Topic 1 (3 documents)" in text and "word, other" in text and "en.gum (1)" in text
    assert "es.x (1)" in text and "ru (1)" in text and "3 documents, 2 topics" in text
    points = figure.axes[0].collections
    assert len({to_hex(collection.get_facecolor()[0]) for collection in points}) == 3
    assert len({str(collection.get_paths()[0].vertices.tolist()) for collection in points}) == 3


def test_missing_characters_give_one_warning(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_chart(draw_topics(topic_map("\U0001e900\U0001e901")), tmp_path / "topics")
    assert all("R724" in str(warning.message) for warning in caught)
    assert len(caught) == 2  # one for each file


@pytest.mark.parametrize(
    "draw",
    [
        lambda: draw_learning_curves({"empty": []}),
        lambda: draw_confusion(Confusion((), ())),
        lambda: draw_bins([], x_name="Length"),
        lambda: draw_transfer({"en": {"de": None}}, score_name="F1"),
        lambda: draw_reliability({}, {}),
    ],
)
def test_nothing_to_draw(draw):
    with pytest.raises(RstError, match="R721"):
        draw()
