"""What importing costs, and what the pure modules do without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spacy_rst

from .processes import run_python
from .test_entry_points import declared

PACKAGE = Path(spacy_rst.__file__).parent
HEAVY = {"transformers", "spacy_transformers", "spacy_rst.encoder.xlmr"}

COUNT_NETS = """
import json, sys
import spacy, torch
before = set(sys.modules)
built = []
make = torch.nn.Module.__init__
def counted(module, *args, **kwargs):
    built.append(type(module).__name__)
    make(module, *args, **kwargs)
torch.nn.Module.__init__ = counted
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([sorted(set(sys.modules) - before), built]))
"""

WITHOUT_SPACY = """
import sys, types
for name in ("spacy", "torch", "thinc", "numpy", "transformers"):
    sys.modules[name] = None
package = types.ModuleType("spacy_rst")
package.__path__ = [sys.argv[1]]
sys.modules["spacy_rst"] = package
from spacy_rst.layout import read_html, read_markdown, read_plain
from spacy_rst.relations import relation_class
from spacy_rst.scoring.parseval import count_trees, micro_scores
from spacy_rst.tree import RstTree
tree = RstTree.from_splits([(0, 1, 2, "Cause-SN")], ["It rains ,", "so we stay ."])
assert RstTree.from_dict(tree.to_dict()) == tree
assert RstTree.from_rs3(tree.to_rs3()) == tree
assert RstTree.from_dis(tree.to_dis()) == tree
assert micro_scores([count_trees(tree.splits, tree.splits)]).full == 1
assert relation_class("attribution-n") == "Attribution"
assert read_markdown("# T\\n\\nx").blocks == read_html("<h1>T</h1>x").blocks
assert len(read_plain("T\\n\\nx")) == 2
print("done")
"""


FACTORIES = {value.split(":")[0] for group, _, value in declared() if group == "spacy_factories"}


@pytest.mark.parametrize(
    "modules",
    [
        pytest.param(["spacy_rst"], id="package"),
        pytest.param(["spacy_rst", *sorted(FACTORIES)], id="factories"),
    ],
)
def test_importing_loads_no_transformers_and_builds_no_net(modules):
    loaded, built = json.loads(run_python(COUNT_NETS, *modules))
    assert set(modules) <= set(loaded)
    assert HEAVY & set(loaded) == set()
    assert built == []


def test_pure_modules_work_without_spacy_and_torch():
    assert run_python(WITHOUT_SPACY, str(PACKAGE)).strip() == "done"


def test_exports():
    assert all(getattr(spacy_rst, name) is not None for name in spacy_rst.__all__)
