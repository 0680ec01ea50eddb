import re
from xml.etree import ElementTree

import pytest

from spacy_rst.display.colors import relation_color
from spacy_rst.display.svg import render_svg
from spacy_rst.tree import RstTree

from .trees import MIXED_TEXTS, mixed_tree, random_tree, right_branching, single

SVG = "{http://www.w3.org/2000/svg}"


def draw(tree: RstTree, **options) -> ElementTree.Element:
    return ElementTree.fromstring(render_svg(tree, **options))


def of_class(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return svg.findall(f".//*[@class='{name}']")


def edu_texts(svg: ElementTree.Element) -> list[str]:
    return [
        " ".join(line.text or "" for line in edu.iter(f"{SVG}tspan"))
        for edu in of_class(svg, "edu")
    ]


def test_parts_of_a_small_tree():
    svg = draw(mixed_tree())
    assert edu_texts(svg) == MIXED_TEXTS
    assert len(of_class(svg, "arc")) == len(of_class(svg, "arrow")) == 3
    assert len(of_class(svg, "nucleus")) == 3
    assert len(of_class(svg, "multinuclear")) == 1
    assert len(of_class(svg, "conucleus")) == 3
    assert [text.text for text in of_class(svg, "range")] == ["1-6", "1-2", "3-6", "3-5"]
    relations = {text.text for text in of_class(svg, "relation")}
    assert relations == {"Background", "Attribution", "Elaboration", "Joint"}
    assert svg.get("role") == "img"
    assert svg[0].tag == f"{SVG}title" and svg[0].text == "Rhetorical structure of 6 EDUs"


@pytest.mark.parametrize("n_edus", [1, 2, 5, 40, 300])
def test_one_arc_per_satellite_and_one_box_per_edu(n_edus):
    tree = random_tree(n_edus, seed=n_edus)
    svg = draw(tree)
    assert len(of_class(svg, "arc")) == sum(node.role == "S" for node in tree)
    assert edu_texts(svg) == list(tree.edus)


@pytest.mark.parametrize(("nuclearity", "toward"), [("NS", -1), ("SN", 1)])
def test_arrow_points_from_satellite_to_nucleus(nuclearity, toward):
    svg = draw(right_branching(2, f"Elaboration-{nuclearity}"))

    def xs(name: str) -> list[float]:
        path = of_class(svg, name)[0].get("d")
        return [float(x) for x in re.findall(r"[-.\d]+", path)[::2]]

    arc_start, nucleus = xs("arc")[0], xs("nucleus")[0]
    tip, *wings = xs("arrow")
    for wing in wings:
        assert arc_start * toward < wing * toward < tip * toward < nucleus * toward


def test_all_is_inside_the_picture():
    svg = draw(random_tree(40))
    width, height = int(svg.get("width")), int(svg.get("height"))
    assert svg.get("viewBox") == f"0 0 {width} {height}"
    for rect in svg.iter(f"{SVG}rect"):
        x, y = int(rect.get("x", 0)), int(rect.get("y", 0))
        assert x >= 0 and x + int(rect.get("width")) <= width
        assert y >= 0 and y + int(rect.get("height")) <= height


def test_markup_in_the_input_is_only_text():
    evil = "<script>alert('x')</script> & \"quotes\" ]]> <!-- "
    tree = RstTree.from_splits([(0, 1, 2, f"{evil}-NS")], [evil, "fine"])
    svg = draw(tree, title=evil, edu_width=2000)
    assert {element.tag for element in svg.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "g", "path", "text", "tspan")
    }
    assert edu_texts(svg)[0] == evil.strip()
    assert svg.find(f"{SVG}title").text == svg.get("aria-label") == evil.strip()
    assert of_class(svg, "relation")[0].text == evil.strip()


def test_illegal_characters_are_removed():
    bad = "a\x00\x08\x1b\x7f\ud800\ufffe\uffffb"
    tree = RstTree.from_splits([(0, 1, 2, f"R{bad}-NN")], [bad, "x"])
    svg = draw(tree, title=bad)
    assert edu_texts(svg) == ["ab", "x"]
    assert of_class(svg, "relation")[0].text == "Rab"
    render_svg(tree, title=bad).encode("utf8")


def test_nothing_comes_from_elsewhere():
    drawing = render_svg(random_tree(40))
    assert re.findall(r"https?://[^\"]*", drawing) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|<style|\bid=|\son\w+=", drawing)


def test_right_to_left_text_runs_from_the_right_edge():
    tree = RstTree.from_splits([(0, 1, 2, "Contrast-NN")], ["سلام دنیا", "hello world"])
    persian, english = of_class(draw(tree), "edu")
    persian_text, english_text = persian[-1], english[-1]
    assert persian_text.get("text-anchor") == "end" and english_text.get("text-anchor") is None
    assert persian_text[0].text == "\u2067سلام دنیا\u2069"
    for edu, is_right in ((persian, True), (english, False)):
        rect = edu.find(f"{SVG}rect")
        middle = int(rect.get("x")) + int(rect.get("width")) // 2
        assert (int(edu[-1][0].get("x")) > middle) is is_right


@pytest.mark.parametrize(
    ("edus", "is_mirrored"),
    [(["هوا سرد بود", "hello"], True), (["1. שלום", "x"], True), (["hello", "سلام"], False)],
)
def test_texts_from_right_to_left_begin_on_the_right(edus, is_mirrored):
    tree = RstTree.from_splits([(0, 1, 2, "Contrast-NN")], edus)
    first, second = (int(edu.find(f"{SVG}rect").get("x")) for edu in of_class(draw(tree), "edu"))
    assert (first > second) is is_mirrored
    assert render_svg(tree) == render_svg(tree, mirror=is_mirrored)
    assert render_svg(tree) != render_svg(tree, mirror=not is_mirrored)


def test_cut_text_is_kept_as_a_tooltip():
    long = "word " * 100
    (edu,) = of_class(draw(single(long), max_edu_chars=20), "edu")
    assert edu[-1][-1].text.endswith("…")
    assert edu.find(f"{SVG}title").text == long.strip()


def test_tooltips_show_parts_and_scores():
    tree = RstTree.from_splits(
        [(0, 1, 3, "Cause-NS"), (1, 2, 3, "Joint-NN")], scores=[(0.9, 0.75)] * 2
    )
    svg = draw(tree)
    assert of_class(svg, "satellite")[0][0].text == "Cause (p = 0.75): S 2-3, N 1"
    assert of_class(svg, "multinuclear")[0][0].text == "Joint (p = 0.75): N 2, N 3"


def test_relations_have_the_colours_of_their_classes():
    for relation in ("elaboration-additional", "Elaboration", "Cause"):
        (arc,) = of_class(draw(right_branching(2, f"{relation}-NS")), "arc")
        assert arc.get("stroke") == relation_color(relation).hex


def test_lines_to_far_nuclei_stay_level_until_they_end():
    paths = [line.get("d") for line in of_class(draw(right_branching(30, "Joint-NN")), "conucleus")]
    assert "H" in paths[0] and "H" in paths[-1]
    assert "H" not in paths[14] and "H" not in paths[15]
