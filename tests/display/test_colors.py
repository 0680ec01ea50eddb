import pytest

from spacy_rst.display.colors import COLORS, relation_color
from spacy_rst.relations import RELATION_CLASSES


def test_each_class_has_a_colour_of_its_own():
    assert tuple(COLORS) == RELATION_CLASSES
    assert len({color.hex for color in COLORS.values()}) == len(COLORS)


@pytest.mark.parametrize("relation", RELATION_CLASSES)
def test_colours_are_readable_on_white(relation):
    """WCAG asks for a contrast of at least 4.5 between small print and its background."""
    code = relation_color(relation).hex
    channels = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert 1.05 / (luminance + 0.05) >= 4.5


def test_treebank_labels_take_the_colour_of_their_class():
    assert relation_color("elaboration-additional") == COLORS["Elaboration"]
    assert relation_color("Elaboration") == COLORS["Elaboration"]


def test_unknown_relations_get_the_same_colour_in_every_process():
    assert relation_color("no such relation") == relation_color("No_Such-Relation")
    assert relation_color("no such relation") in COLORS.values()
    assert relation_color("\ud800") in COLORS.values()
