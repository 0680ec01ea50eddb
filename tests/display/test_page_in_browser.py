"""Open and use the page in a real browser. Needs chromium and its driver: make test-system."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spacy_rst import RstTree
from spacy_rst.display import notebook_markup
from spacy_rst.display.html import render_html

from .browser import Browser, start_browser
from .test_server import serving
from .trees import doc_with_blocks, left_branching, mixed_tree, random_tree, right_branching, single

MISSING = "chromium or chromedriver is not there; `make test-system` installs them"
EVIL = (
    "</script><script>document.title = 'evil'</script><img src=x onerror=\"document.title='evil'\">"
)
UP, DOWN, LEFT, RIGHT, END, ENTER, SHIFT = "\ue013\ue015\ue012\ue014\ue010\ue007\ue008"
ROWS = """
return [...document.querySelectorAll(".row")].map((row) => [
  Number(row.getAttribute("aria-level")),
  row.getAttribute("aria-expanded"),
  [...row.children]
    .filter((part) => part.offsetWidth && part.textContent && part.className != "arrow")
    .map((part) => part.textContent).join(" "),
]);
"""
IN_VIEW = """
const place = document.querySelector(".row.here").getBoundingClientRect();
const header = document.querySelector("header").getBoundingClientRect();
return place.top >= header.bottom && place.bottom <= window.innerHeight;
"""
FITS = "return document.documentElement.scrollWidth <= window.innerWidth"
COUNT = "return document.getElementById('count').textContent"
TEXTS = "return [...document.querySelectorAll(arguments[0])].map((part) => part.textContent)"

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        shutil.which("chromedriver") is None or shutil.which("chromium") is None, reason=MISSING
    ),
]


@pytest.fixture(scope="module")
def chromium():
    with start_browser() as browser:
        yield browser


@pytest.fixture
def browser(chromium):
    """A browser with a fresh page, which must not complain to the console nor load anything."""
    chromium.resize(1280, 900)
    chromium.open("about:blank")
    chromium.console()
    yield chromium
    assert chromium.console() == []
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0


@pytest.fixture
def show(browser, tmp_path):
    def open_page(page: str) -> None:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf8")
        browser.open(path.as_uri())

    return open_page


def with_scores(tree: RstTree) -> RstTree:
    scores = [(0.5 + i % 50 / 100, 0.25) for i in range(len(tree) - 1)]
    return RstTree.from_splits(tree.splits, tree.edus, scores)


def count_rows(browser: Browser) -> int:
    return browser.run("return document.querySelectorAll('.row').length")


def texts(browser: Browser, selector: str) -> list[str]:
    return browser.run(TEXTS, selector)


def search(browser: Browser, query: str) -> None:
    browser.type("#query", query)
    browser.wait_for("document.getElementById('count').textContent")


def test_tree_is_shown_as_an_outline(browser, show):
    show(render_html(mixed_tree()))
    assert browser.run(ROWS) == [
        [1, "true", "Background [1–6]"],
        [2, "true", "S Attribution [1–2]"],
        [3, None, "S 1 She said"],
        [3, None, "N 2 it rained."],
        [2, "true", "N Elaboration [3–6]"],
        [3, "true", "N Joint [3–5]"],
        [4, None, "N 3 We stayed,"],
        [4, None, "N 4 we cooked"],
        [4, None, "N 5 and we slept."],
        [3, None, "S 6 It was a good day, all things considered."],
    ]
    assert texts(browser, ".arrow") == ["S→N", "S→N", "N←S", "N↔N"]


def test_only_right_branching_groups_of_one_relation_are_joined(browser, show):
    splits = [(0, 2, 4, "Joint-NN"), (0, 1, 2, "Joint-NN"), (2, 3, 4, "List-NN")]
    show(render_html(RstTree.from_splits(splits, list("abcd"))))
    assert [row[0] for row in browser.run(ROWS)] == [1, 2, 3, 3, 2, 3, 3]


@pytest.mark.parametrize("n_edus", [1, 5, 40, 300, 500])
def test_every_size_opens_readable(browser, show, n_edus, tmp_path):
    show(render_html(random_tree(n_edus), levels=1))
    assert count_rows(browser) == 1
    show(render_html(with_scores(random_tree(n_edus, seed=n_edus))))
    assert min(n_edus, 5) <= count_rows(browser) <= 80
    assert browser.run(FITS)
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 5000
    browser.click("#expand")
    assert texts(browser, ".number") == [str(number) for number in range(1, n_edus + 1)]
    assert browser.run(FITS)
    browser.resize(500, 800)
    assert browser.run(FITS)


def test_rows_collapse_and_expand(browser, show):
    show(render_html(mixed_tree()))
    browser.click(".row:nth-child(5) .chip")
    assert [row[2] for row in browser.run(ROWS)][4:] == [
        "N Elaboration [3–6] We stayed, we cooked and we slept. "
        "It was a good day, all things considered. nucleus 3–5 · satellite 6"
    ]
    browser.click(".row:nth-child(5) .chip")
    assert count_rows(browser) == 10
    browser.click(".row:nth-child(6) .chip")
    browser.click(".row:nth-child(1) .chip")
    browser.click(".row:nth-child(1) .chip")
    assert count_rows(browser) == 7  # inner rows remember what was open
    browser.click("#collapse")
    assert count_rows(browser) == 1
    browser.click("#expand")
    assert count_rows(browser) == 10
    browser.run(
        "const slider = document.getElementById('levels'); slider.value = 2;"
        "slider.dispatchEvent(new Event('input'));"
    )
    assert [row[:2] for row in browser.run(ROWS)] == [[1, "true"], [2, "false"], [2, "false"]]
    assert texts(browser, "#levels-shown") == ["2"]


def test_keyboard_suffices(browser, show):
    show(render_html(mixed_tree()))
    focused = "return document.activeElement.querySelector('.range, .text').textContent"
    browser.run("document.querySelector('.row').focus()")
    browser.type(".row", DOWN + DOWN)
    assert browser.run(focused) == "She said"
    for key, expected, n_rows in [
        (LEFT, "[1–2]", 10),
        (LEFT, "[1–2]", 8),
        (RIGHT, "[1–2]", 10),
        (RIGHT, "She said", 10),
        (UP, "[1–2]", 10),
        (ENTER, "[1–2]", 8),
        (" ", "[1–2]", 10),
        (END, "It was a good day, all things considered.", 10),
        (DOWN, "It was a good day, all things considered.", 10),
    ]:
        browser.type(".row[tabindex='0']", key)
        assert browser.run(focused) == expected
        assert count_rows(browser) == n_rows
    assert browser.run("return document.querySelectorAll('.row[tabindex=\"0\"]').length") == 1


def test_search_opens_marks_and_counts(browser, show):
    units = [f"Unit {i} {'has a needle.' if i % 100 == 7 else 'is hay.'}" for i in range(300)]
    show(render_html(RstTree.from_splits(random_tree(300).splits, units)))
    browser.click("#collapse")
    search(browser, "NEEDLE.")
    assert texts(browser, ".text mark") == ["needle."] * 3
    here = "return document.querySelector('.row.here .number').textContent"
    seen = []
    for step in ("#next", "#next", "#next", "#previous"):
        seen.append((browser.run(COUNT), browser.run(here)))
        assert browser.run(IN_VIEW)
        browser.click(step)
    assert seen == [("1 of 3", "8"), ("2 of 3", "108"), ("3 of 3", "208"), ("1 of 3", "8")]
    browser.type("#query", ENTER)
    assert browser.run(COUNT) == "1 of 3"
    browser.type("#query", SHIFT + ENTER)
    assert browser.run(COUNT) == "3 of 3"


def test_search_finds_more_than_it_opens_at_once(browser, show):
    show(render_html(right_branching(600)))
    search(browser, "this is unit")
    assert browser.run(COUNT) == "1 of 600"
    assert count_rows(browser) < 600
    browser.click("#previous")
    assert browser.run(COUNT) == "600 of 600"
    assert count_rows(browser) == 1199
    assert browser.run(IN_VIEW)


def test_legend_finds_relations(browser, show):
    show(render_html(mixed_tree()))
    relations = ["Attribution 1", "Background 1", "Elaboration 1", "Joint 1"]
    assert texts(browser, "#legend button") == relations
    browser.click("#collapse")
    browser.click("#legend button:nth-child(4)")
    assert browser.run(COUNT) == "1 of 1"
    pressed = "#legend [aria-pressed='true']"
    assert texts(browser, pressed) == ["Joint 1"]
    assert texts(browser, ".match .chip") == ["Joint"]
    browser.click("#legend button:nth-child(4)")
    assert browser.run(COUNT) == "" and texts(browser, pressed) == []
    search(browser, ".*[(\\/")  # taken literally
    assert browser.run(COUNT) == "no match" and texts(browser, "mark") == []


def test_hovering_shows_probabilities(browser, show):
    show(render_html(with_scores(mixed_tree())))
    shown = (
        "return [...document.querySelectorAll('.details')].filter((d) => d.offsetWidth)"
        ".map((d) => d.textContent)"
    )
    assert browser.run(shown) == []
    browser.hover(".row:nth-child(2) .chip")
    assert browser.run(shown) == [
        "satellite 1 · nucleus 2 · split after 1: 51.0 %, relation: 25.0 %"
    ]
    browser.hover(".row:nth-child(6) .chip")
    assert browser.run(shown) == ["3 nuclei · least sure: split after 3: 53.0 %, relation: 25.0 %"]
    title = "return document.querySelectorAll('.chip')[3].title"
    assert browser.run(title).splitlines() == [
        "split after 3: 53.0 %, relation: 25.0 %",
        "split after 4: 54.0 %, relation: 25.0 %",
    ]


def test_texts_are_never_markup(browser, show):
    tree = RstTree.from_splits([(0, 1, 2, f"{EVIL}-NS")], [EVIL, "fine"])
    show(render_html(tree, names=[EVIL], title="safe"))
    assert browser.run("return document.title") == "safe"
    assert texts(browser, "img, main script") == []
    assert texts(browser, ".text, h2 span:first-child") == [EVIL, EVIL, "fine"]


def test_right_to_left_text_begins_on_the_right(browser, show):
    edus = ["هوا سرد بود", "اما ما بیرون رفتیم.", "OK"]
    tree = RstTree.from_splits([(0, 1, 3, "Contrast-NN"), (1, 2, 3, "Cause-NS")], edus)
    show(render_html(tree))
    lefts = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".map((part) => part.getBoundingClientRect().right)"
    )
    toggles = browser.run(lefts, ".toggle")
    assert toggles[0] > toggles[1] > toggles[3] > 1000
    direction = (
        "return getComputedStyle(document.querySelectorAll('.text')[arguments[0]]).direction"
    )
    assert [browser.run(direction, i) for i in range(3)] == ["rtl", "rtl", "ltr"]
    assert texts(browser, ".arrow")[1] == "S→N"
    browser.type(".row[tabindex='0']", LEFT)
    assert texts(browser, ".row:focus .text") == edus[:1]


@pytest.mark.parametrize("branching", [left_branching, right_branching])
def test_ten_thousand_edus_in_a_chain(browser, show, branching):
    show(render_html(branching(10_000)))
    assert count_rows(browser) < 100
    search(browser, "unit 5000.")
    assert browser.run(COUNT) == "1 of 1"
    assert browser.run(IN_VIEW)
    browser.click("#expand")
    assert count_rows(browser) == 19_999
    browser.click("#collapse")
    assert count_rows(browser) == 1


def test_ten_thousand_nuclei_in_a_group(browser, show):
    show(render_html(with_scores(right_branching(10_000, "Joint-NN"))))
    assert count_rows(browser) == 10_001


def test_several_trees_on_a_page(browser, show):
    show(render_html([mixed_tree(), single("alone")], names=["first", "second"]))
    assert texts(browser, "h2") == ["first 6 EDUs", "second 1 EDU"]
    search(browser, "alone")
    assert browser.run(COUNT) == "1 of 1"
    browser.click("#collapse")
    assert count_rows(browser) == 2


def test_blocks_are_marked(browser, show):
    show(render_html(doc_with_blocks()._.rst_tree))
    marks = """
    return [...document.querySelectorAll(".opening")].map((row) => [
      row.querySelector(".block").textContent,
      row.querySelector(".block").title,
      getComputedStyle(row.querySelector(".text")).fontWeight,
    ]);
    """
    assert browser.run(marks) == [
        ["##", "heading, level 2", "700"],
        ["¶", "paragraph", "400"],
        ["•", "item, level 1", "400"],
        ["¶", "further paragraph, level 1", "400"],
        ["—", "turn, An<na>", "400"],
    ]
    kinds = "return [...document.querySelectorAll('.paragraph')].map((row) => row.rstNode.start)"
    assert browser.run(kinds) == [1, 2]


def test_dark_scheme(browser, show):
    show(render_html(mixed_tree()))
    background = "return getComputedStyle(document.body).backgroundColor"
    browser.prefer_scheme("light")
    assert browser.run(background) == "rgb(255, 255, 255)"
    browser.prefer_scheme("dark")
    assert browser.run(background) == "rgb(21, 24, 29)"
    browser.prefer_scheme("")


def test_page_works_in_a_notebooks_frame(browser, show):
    show(f"<!DOCTYPE html><meta charset=utf-8>{notebook_markup(render_html(mixed_tree()), 'html')}")
    browser.enter_frame(0)
    browser.click("#collapse")
    assert count_rows(browser) == 1


@pytest.mark.parametrize(
    ("style", "selector"), [("html", ".row"), ("svg", "svg .edu"), ("text", "pre")]
)
def test_served_drawings_open(browser, style, selector):
    with serving(mixed_tree().render(style), style) as server:
        browser.open(server.url)
        assert browser.run("return document.querySelector(arguments[0]) !== null", selector)


def test_samples_open(browser, show):
    samples = sorted((Path(__file__).parents[2] / "assets" / "sample").glob("*/*.rs3"))
    trees = [RstTree.from_rs3(path.read_text(encoding="utf8")) for path in samples]
    show(render_html(trees, names=[path.stem for path in samples]))
    browser.click("#expand")
    assert len(texts(browser, ".text")) == sum(map(len, trees))
