"""Every entry point of setup.cfg is installed, can be loaded, and is known to spaCy."""

from __future__ import annotations

import configparser
from importlib.metadata import EntryPoint, distribution
from pathlib import Path

import pytest
import spacy
from spacy.util import registry

import spacy_rst

SETUP = Path(spacy_rst.__file__).parent.parent / "setup.cfg"


def declared() -> list[tuple[str, str, str]]:
    config = configparser.ConfigParser()
    config.optionxform = str  # type: ignore[assignment, method-assign]
    config.read(SETUP, encoding="utf8")
    return sorted(
        (group, *(part.strip() for part in line.split("=", 1)))
        for group, lines in config["options.entry_points"].items()
        for line in lines.strip().splitlines()
    )


def test_the_installed_entry_points_are_those_of_setup_cfg():
    """If this fails, install the package again: `pip install -e .`."""
    points = distribution("spacy_rst").entry_points
    assert sorted((point.group, point.name, point.value) for point in points) == declared()


@pytest.mark.parametrize("group, name, value", declared())
def test_entry_point_resolves(group, name, value):
    target = EntryPoint(name=name, value=value, group=group).load()
    assert callable(target)
    if group != "spacy_factories":
        assert registry.get(group.removeprefix("spacy_"), name) is not None


def test_every_component_can_be_added_by_its_name():
    nlp = spacy.blank("xx")
    names = [name for group, name, _ in declared() if group == "spacy_factories"]
    for name in names:
        nlp.add_pipe(name)
    assert nlp.pipe_names == names
