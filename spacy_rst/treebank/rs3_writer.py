"""Write trees as rs3. Reading and binarizing what is written gives the same tree."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ..errors import Errors, RstError
from ..relations import ALWAYS_MULTINUCLEAR, MULTINUCLEAR_CLASSES, RELATION_CLASSES
from .document import SPAN
from .rs3 import MONONUC, MULTINUC

if TYPE_CHECKING:
    from ..tree import RstNode, RstTree

ILLEGAL_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Relation = tuple[str, str]  # name and type


class _Facts(NamedTuple):
    """What the Doc of a tree knows beyond it."""

    declared: list[Relation]  # what the treebank declares
    unlinked: list[tuple[int, str]]  # units beside the tree, with the EDU before which each stands
    joined: set[tuple[int, int]] | None  # nodes whose nuclei belong to the group of their parent


def write_rs3(tree: RstTree) -> str:
    """Write a tree as rs3. On a Doc that was read from a treebank it is written as it was there,
    with units beside it, groups and declared relations. Otherwise, nuclei that follow each other
    under one relation form one group, and all classes are declared for an editor to offer."""
    from ..tree import edu_text

    facts = _facts_of(tree)
    relations = _inventory(tree, facts.declared)
    units: list[tuple[int, str, RstNode | None]] = [(at, text, None) for at, text in facts.unlinked]
    units += [(leaf.start, edu_text(tree.edus[leaf.start]), leaf) for leaf in tree.leaves()]
    units.sort(key=lambda unit: unit[0])  # stable: what is unlinked stays before its EDU
    ids = {leaf.index: i for i, (_, _, leaf) in enumerate(units, start=1) if leaf is not None}
    numbers = count(len(units) + 1)
    groups: list[RstNode] = []
    for node in tree.nodes():
        if (group := _group_of(node, facts.joined)) is not None:
            ids[node.index] = ids[group.index]
        elif not node.is_leaf:
            ids[node.index] = next(numbers)
            groups.append(node)
    multinuclear = {name for name, kind in relations if kind == MULTINUC}
    wrappers = {node.index: next(numbers) for node in groups if _needs_wrapper(node, multinuclear)}
    lines = ["<rst>", "  <header>", "    <relations>"]
    lines += [f"      <rel name={_quoted(n)} type={_quoted(kind)} />" for n, kind in relations]
    lines += ["    </relations>", "  </header>", "  <body>"]
    for number, (_, text, leaf) in enumerate(units, start=1):
        link = "" if leaf is None else _link(leaf, ids, wrappers)
        text = escape(ILLEGAL_IN_XML.sub("\ufffd", text))
        lines.append(f'    <segment id="{number}"{link}>{text}</segment>')
    for node in groups:
        kind = MULTINUC if node.nuclearity == "NN" else SPAN
        link = _link(node, ids, wrappers)
        if node.index in wrappers:
            wrapper = wrappers[node.index]
            lines.append(f'    <group id="{wrapper}" type="{SPAN}"{link} />')
            link = f' parent="{wrapper}" relname="{SPAN}"'
        lines.append(f'    <group id="{ids[node.index]}" type="{kind}"{link} />')
    return "\n".join([*lines, "  </body>", "</rst>", ""])


def _facts_of(tree: RstTree) -> _Facts:
    doc = getattr(tree.edus[0], "doc", None)
    if doc is None:
        return _Facts([], [], None)
    from ..doc import DECLARED_KEY, JOINED_KEY, UNLINKED_KEY, get_meta

    starts = [edu.start_char for edu in tree.edus]  # type: ignore[union-attr]
    keys = (DECLARED_KEY, UNLINKED_KEY, JOINED_KEY)
    declared, unlinked, joined = (get_meta(doc, key) for key in keys)
    try:
        return _Facts(
            [(str(name), str(kind)) for name, kind in declared or ()],
            [(bisect_left(starts, place), str(text)) for place, text in unlinked or ()],
            None if joined is None else {(start, end) for start, end in joined},
        )
    except (TypeError, ValueError) as error:
        raise RstError(Errors.R114.format(keys=" or ".join(keys), error=error)) from error


def _inventory(tree: RstTree, declared: Iterable[Relation]) -> list[Relation]:
    """List the relations to declare: those that are known, and whatever else the tree has."""
    used = {
        (node.relation or "", MULTINUC if node.nuclearity == "NN" else MONONUC)
        for node in tree
        if not node.is_leaf
    }
    if not declared and all(name in RELATION_CLASSES for name, _ in used):
        declared = [(name, MONONUC) for name in RELATION_CLASSES if name not in ALWAYS_MULTINUCLEAR]
        declared += [(name, MULTINUC) for name in MULTINUCLEAR_CLASSES]
    return list(dict.fromkeys([*declared, *sorted(used)]))


def _group_of(node: RstNode, joined: set[tuple[int, int]] | None) -> RstNode | None:
    """Get a node's parent, if the nuclei of the node are further nuclei of its group."""
    parent = node.parent
    if parent is None or node.start == parent.start:
        return None
    if not node.nuclearity == parent.nuclearity == "NN":
        return None
    if joined is None:
        return parent if node.relation == parent.relation else None
    return parent if (node.start, node.end) in joined else None


def _needs_wrapper(node: RstNode, multinuclear: set[str]) -> bool:
    """Whether a multinuclear node needs a span group around it: its satellite has a relation which
    is also declared as a multinuclear one, and would be read as a further nucleus."""
    parent = node.parent
    return (
        parent is not None
        and node.role == "N"
        and node.nuclearity == "NN"
        and parent.nuclearity != "NN"
        and parent.relation in multinuclear
    )


def _link(node: RstNode, ids: dict[int, int], wrappers: dict[int, int]) -> str:
    parent = node.parent
    if parent is None:
        return ""
    target = ids[parent.index]
    if node.role == "S":
        nucleus = next(child.index for child in parent.children if child.role == "N")
        target = wrappers.get(nucleus, ids[nucleus])
    return f' parent="{target}" relname={_quoted(node.relation_to_parent or "")}'


def _quoted(value: str) -> str:
    return quoteattr(ILLEGAL_IN_XML.sub("\ufffd", value))
