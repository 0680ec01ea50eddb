"""The direction of imports: the rooms stand in a row, and none imports what is to its right."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import spacy_rst

PACKAGE = Path(spacy_rst.__file__).parent

# From left to right. A room (a folder or a file) imports from the lines above its own only.
ROOMS = """
    about errors
    tables orthography util
    relations
    tree
    layout
    languages
    doc_layout
    doc
    fast_layers
    windows shims recurrent
    gold
    treebank
    encoder
    pipe head
    syntax
    segmenter
    parser
    display scoring
    pipelines
    translator
    evaluation
    configs
    training
    cli
"""
ALLOWED = {
    "tree": {"treebank", "display"},  # a tree's own methods to write and draw itself
    "parser.calibration": {"scoring", "evaluation"},  # it judges what the parser makes
}
PURE = (
    "errors", "relations", "tree", "layout", "scoring.parseval", "treebank.rs3", "treebank.dis",
    "display.svg", "display.html", "display.text",
)  # fmt: skip
NETS = (
    "net", "int8_net", "pieces_cache", "fast_layers", "frozen_layers", "pieces_net",
    "recurrent", "splitters",
)  # fmt: skip

ROWS = [row.split() for row in ROOMS.split("\n") if row.strip()]
PLACES = {room: number for number, row in enumerate(ROWS) for room in row}


class Import(NamedTuple):
    """An import statement: the modules without "spacy_rst.", or an external name."""

    importer: str
    imported: str
    is_own: bool
    at_start: bool  # run when the importer is imported, not in a function or for types only

    @property
    def rooms(self) -> tuple[str, str]:
        return self.importer.split(".")[0], self.imported.split(".")[0]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def late_imports(tree: ast.AST) -> set[ast.AST]:
    late: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if is_for_types or isinstance(node, ast.FunctionDef):
            late.update(ast.walk(node))
    return late


def imported_modules(node: ast.AST, importer: str) -> Iterator[tuple[str, bool]]:
    """Give what a statement imports, with whether it is our own."""
    if isinstance(node, ast.Import):
        for name in node.names:
            yield name.name.removeprefix("spacy_rst."), name.name.startswith("spacy_rst.")
    if isinstance(node, ast.ImportFrom) and not node.level:
        own = node.module.removeprefix("spacy_rst.")
        yield own, own != node.module
    if isinstance(node, ast.ImportFrom) and node.level:
        folder = PATHS[importer].parent.relative_to(PACKAGE).parts
        above = folder[: len(folder) + 1 - node.level]
        base = ".".join([*above, *([node.module] if node.module else [])])
        for name in node.names:
            submodule = f"{base}.{name.name}" if base else name.name
            yield submodule if submodule in PATHS else base, True


def all_imports() -> Iterator[Import]:
    for importer, path in PATHS.items():
        tree = ast.parse(path.read_text(encoding="utf8"))
        late = late_imports(tree)
        for node in ast.walk(tree):
            for imported, is_own in imported_modules(node, importer):
                yield Import(importer, imported, is_own, node not in late)


IMPORTS = list(all_imports())


def needed_from_outside(module: str) -> set[str]:
    """Find all that importing a module brings in from other packages."""
    seen, queue, outside = set(), [module], set()
    while queue:
        current = queue.pop()
        seen.add(current)
        for entry in IMPORTS:
            if entry.importer != current or not entry.at_start:
                continue
            if not entry.is_own:
                outside.add(entry.imported.split(".")[0])
            elif entry.imported not in seen:
                queue.append(entry.imported)
    return outside


def test_every_module_has_a_room():
    assert {module.split(".")[0] for module in PATHS if module} == set(PLACES)


def test_nothing_imports_what_lies_to_its_right():
    wrong = set()
    for entry in IMPORTS:
        importer, imported = entry.rooms
        if not entry.is_own or not importer or importer == imported:
            continue
        if imported in ALLOWED.get(entry.importer, ()):
            continue
        if PLACES.get(imported, -1) >= PLACES.get(importer, -1):
            wrong.add(f"{entry.importer} imports {entry.imported}")
    assert wrong == set()


def test_no_exception_is_left_over():
    used = {(entry.importer, entry.rooms[1]) for entry in IMPORTS if entry.is_own}
    allowed = {(importer, room) for importer, rooms in ALLOWED.items() for room in rooms}
    assert allowed <= used


def modules_in(room: str) -> list[str]:
    return [name for name in PATHS if name == room or name.startswith(f"{room}.")]


@pytest.mark.parametrize("module", [name for room in PURE for name in modules_in(room)])
def test_pure_modules_need_no_spacy_and_no_torch(module):
    assert needed_from_outside(module) & {"spacy", "thinc", "torch", "numpy"} == set()


@pytest.mark.parametrize("module", [name for name in PATHS if name.split(".")[-1] in NETS])
def test_nets_are_plain_torch(module):
    needed = needed_from_outside(module)
    assert "torch" in needed
    assert needed & {"spacy", "thinc", "srsly", "transformers", "spacy_transformers"} == set()
