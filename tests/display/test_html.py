"""The page as a file: complete, closed to the network, and faithful to the tree."""

from __future__ import annotations

import configparser
import json
import sys
from base64 import b64encode
from fnmatch import fnmatch
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
import spacy

import spacy_rst
from spacy_rst import RstError, RstTree, doc_from_edus
from spacy_rst.display import notebook_markup
from spacy_rst.display.colors import relation_color
from spacy_rst.display.html import _as_script_data, render_html

from .trees import MIXED_TEXTS, mixed_tree, single

PACKAGE = Path(spacy_rst.__file__).parent
EVIL = "</script><script>alert(1)</script><!-- <b title=\"'&amp;"


class Page(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.contents: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if data.strip():
            self.contents.append((self.tags[-1][0], data))

    def attributes(self, name: str) -> list[str | None]:
        return [found[name] for _, found in self.tags if name in found]

    def text(self, tag: str) -> list[str]:
        return [data for found, data in self.contents if found == tag]

    @property
    def data(self) -> dict:
        return json.loads(self.text("script")[0])


def docs_with_trees(n_docs: int = 2):
    nlp = spacy.blank("en")
    docs = []
    for number in range(n_docs):
        doc = doc_from_edus(nlp, MIXED_TEXTS)
        doc._.rst_tree = mixed_tree()
        doc.user_data["rst_name"] = f"document {number}"
        docs.append(doc)
    return docs


def test_page_loads_nothing():
    page = Page(render_html(mixed_tree()))
    assert page.attributes("src") == page.attributes("action") == page.attributes("srcset") == []
    assert page.attributes("href") == ["data:,"]
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]
    for content in page.text("style") + page.text("script"):
        assert "url(" not in content
        assert "@import" not in content
        assert "//" not in content.replace("  // ", "").replace("\n// ", "")


def test_policy_allows_just_the_style_and_the_script_of_the_page():
    page = Page(render_html(mixed_tree()))
    (policy,) = [f["content"] for _, f in page.tags if f.get("http-equiv")]
    directives = dict(part.split(maxsplit=1) for part in policy.split("; "))
    (style,), (_, script) = page.text("style"), page.text("script")
    for name, content in (("style-src", style), ("script-src", script)):
        digest = b64encode(sha256(content.encode("utf8")).digest()).decode("ascii")
        assert directives.pop(name) == f"'sha256-{digest}'"
    assert directives == {
        "default-src": "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_script_only_inserts_text():
    script = (PACKAGE / "display" / "page.js").read_text(encoding="utf8")
    for dangerous in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert dangerous not in script


def test_evil_texts_stay_texts():
    tree = RstTree.from_splits([(0, 1, 2, f"{EVIL}-NS")], [EVIL, "fine"])
    drawing = render_html(tree, names=[EVIL], title=EVIL)
    page = Page(drawing)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "b" not in [tag for tag, _ in page.tags]
    assert page.data["trees"][0]["edus"] == [EVIL, "fine"]
    assert page.data["trees"][0]["name"] == page.data["relations"][0]["name"] == EVIL
    assert page.text("title") == page.text("h1") == [EVIL]
    assert "alert(1)</script>" not in drawing


def test_nothing_can_end_the_script_or_its_lines():
    text = _as_script_data({"text": "<>&\u2028\u2029"})
    assert text == r'{"text":"\u003c\u003e\u0026\u2028\u2029"}'
    assert json.loads(text) == {"text": "<>&\u2028\u2029"}


def test_placeholders_in_texts_are_left_alone():
    page = Page(render_html(single("costs $title and ${data}"), title="$script"))
    assert page.data["trees"][0]["edus"] == ["costs $title and ${data}"]
    assert page.text("h1") == ["$script"]


def test_unprintable_characters_are_replaced():
    drawing = render_html(single("a\ud800b\x00c\u202ed\ne"))
    assert Page(drawing).data["trees"][0]["edus"] == ["a\ufffdb\ufffdc\ufffdd e"]
    drawing.encode("utf8")


def test_page_holds_the_whole_tree():
    scores = [(0.91234567, 0.5), (1, 0), (0.25, 0.75), (0.5, 0.125), (0.1, 0.2)]
    tree = RstTree.from_splits(mixed_tree().splits, MIXED_TEXTS, scores)
    data = Page(render_html(tree, levels=3)).data
    names = [relation["name"] for relation in data["relations"]]
    assert names == ["Attribution", "Background", "Elaboration", "Joint"]
    assert data["levels"] == 3
    assert [relation["color"] for relation in data["relations"]] == [
        relation_color(name).hex for name in names
    ]
    assert data["trees"] == [
        {
            "name": "",
            "rightToLeft": False,
            "edus": MIXED_TEXTS,
            "blocks": {},
            "splits": [[2, 1, "SN"], [1, 0, "SN"], [5, 2, "NS"], [3, 3, "NN"], [4, 3, "NN"]],
            "scores": [[0.9123, 0.5], [1, 0], [0.25, 0.75], [0.5, 0.125], [0.1, 0.2]],
        }
    ]


def test_direction_is_that_of_the_text():
    tree = RstTree.from_splits([(0, 1, 2, "Cause-SN")], ["1999:", "هوا سرد بود"])
    assert Page(render_html(tree)).data["trees"][0]["rightToLeft"] is True


def test_several_trees_share_a_page():
    data = Page(render_html([mixed_tree(), single("one")])).data
    assert [tree["name"] for tree in data["trees"]] == ["Tree 1", "Tree 2"]
    assert data["trees"][1]["splits"] == []
    assert data["trees"][1]["scores"] is None
    named = Page(render_html([mixed_tree(), single("one")], names=["a", "b"])).data
    assert [tree["name"] for tree in named["trees"]] == ["a", "b"]


def test_files_of_the_page_are_installed_with_the_package():
    config = configparser.ConfigParser()
    config.read(PACKAGE.parent / "setup.cfg", encoding="utf8")
    patterns = config["options.package_data"]["spacy_rst"].split(", ")
    for name in ("page.html", "page.css", "page.js"):
        assert (PACKAGE / "display" / name).exists()
        assert any(fnmatch(f"display/{name}", pattern) for pattern in patterns)


def test_docs_and_trees_are_rendered():
    first, second = docs_with_trees()
    data = Page(spacy_rst.render([first, second])).data
    assert [tree["name"] for tree in data["trees"]] == ["document 0", "document 1"]
    assert data["trees"][0]["edus"] == MIXED_TEXTS
    assert spacy_rst.render(mixed_tree()) == render_html(mixed_tree())
    assert spacy_rst.render(iter([mixed_tree()])) == render_html([mixed_tree()])
    options = {"title": "All", "names": ["x", "y"]}
    assert spacy_rst.render([first, second], options=options) == render_html(
        [mixed_tree(), mixed_tree()], **options
    )


def test_other_styles_follow_each_other():
    (doc,) = docs_with_trees(1)
    text = mixed_tree().render("text", max_width=60)
    assert spacy_rst.render(doc, style="text", options={"max_width": 60}) == text
    svg = mixed_tree().render("svg")
    assert spacy_rst.render([doc, mixed_tree()], style="svg") == f"{svg}\n\n{svg}"


@pytest.mark.parametrize("docs", ["text", [], [None], 5, None, [spacy.blank("en")("Hello.")]])
def test_what_cannot_be_drawn_is_refused(docs):
    with pytest.raises(RstError, match=r"R540.*'rst_parser'"):
        spacy_rst.render(docs)


def test_notebook_shows_the_drawing(monkeypatch):
    # IPython is not a dependency; this stands in for the two names that a notebook would have.
    shown = []
    stand_in = ModuleType("IPython.display")
    stand_in.HTML = lambda markup: markup
    stand_in.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", stand_in)
    assert spacy_rst.render(mixed_tree(), jupyter=True) is None
    assert spacy_rst.render(mixed_tree(), style="svg", jupyter=False) == mixed_tree().render("svg")
    assert shown == [notebook_markup(render_html(mixed_tree()), "html")]


def test_notebook_keeps_drawings_apart():
    drawing = render_html(single(EVIL))
    frame = Page(notebook_markup(drawing, "html"))
    ((tag, attributes),) = frame.tags
    assert (tag, attributes["sandbox"]) == ("iframe", "allow-scripts")
    assert attributes["srcdoc"] == drawing
    text = Page(notebook_markup("<b>$x$", "text"))
    assert [tag for tag, _ in text.tags] == ["div", "pre"]
    assert text.text("pre") == ["<b>$x$"]
    assert "<svg " in notebook_markup(single("x").render("svg"), "svg")
