"""Read rs3 and rs4, the XML formats of RSTTool and rstWeb.

A `segment` is an EDU, a `group` a span over several. What a node is to its parent follows from
the parent's type and from how the header declares the relation:

- `relname="span"`: the nucleus of a span group;
- under a multinuclear group, a relation that the header declares multinuclear (or declares both
  ways, or not at all): one of the group's nuclei; one declared only as `rst`: a satellite of the
  whole group;
- a relation declared only as multinuclear on a segment or span group: a further nucleus beside it;
- anything else: a satellite of the parent.

The order of the file is the order of the text; ids mean nothing. rs4's signals and secondary edges
are not part of the tree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

import defusedxml
import defusedxml.ElementTree

from ..errors import Errors, RstError
from .document import (
    NUCLEUS,
    SATELLITE,
    SPAN,
    NaryChild,
    NaryNode,
    TreebankDocument,
    paragraph_blocks,
)
from .files import shown_path
from .text import clean_edu_text, starts_paragraph

SEGMENT = "segment"
MULTINUC = "multinuc"
MONONUC = "rst"
UNNAMED_RELATION = "joint"  # two nuclei that a file joins without naming a relation


@dataclass(slots=True)
class _Rs3Node:
    """A segment or group, with the links that point to it sorted by what they mean."""

    id: str
    type: str
    parent: str | None
    relation: str
    text: str = ""
    starts_paragraph: bool = False
    nuclei: list[tuple[str, _Rs3Node]] = field(default_factory=list)
    satellites: list[tuple[str, _Rs3Node]] = field(default_factory=list)
    built: NaryNode | None = None


def read_rs3(path: str | Path, *, largest_tree: bool = False) -> TreebankDocument:
    """Read an rs3 or rs4 file.

    path (Union[str, Path]): The file.
    largest_tree (bool): Keep the largest tree of a file that holds several, instead of refusing it.
    RETURNS (TreebankDocument): The document, with the file's stem as its name.
    RAISES (RstError): If the file is malformed.
    """
    path = Path(path)
    source = shown_path(path)
    document = parse_rs3(path.read_bytes(), source=source, largest_tree=largest_tree)
    document.name = shown_path(path.stem)
    return document


def parse_rs3(
    content: str | bytes, *, source: str = "the input", largest_tree: bool = False
) -> TreebankDocument:
    """Read the content of an rs3 or rs4 file.

    content (Union[str, bytes]): The content.
    source (str): Where it came from, named in errors.
    largest_tree (bool): Keep the largest tree of a file that holds several, instead of refusing it.
    RETURNS (TreebankDocument): The document.
    RAISES (RstError): If the content is malformed.
    """
    xml = _parse_xml(content, source)
    nodes = _read_nodes(xml, source)
    relations = xml.iterfind("header/relations/rel")
    declared = [(relation.get("name", ""), relation.get("type", "")) for relation in relations]
    _link(nodes, declared, source)
    tree = _choose_tree(nodes, source, largest_tree)
    linked = {node.id for node in tree}
    kept: list[_Rs3Node] = []
    removed: list[tuple[int, str]] = []
    for segment in (node for node in nodes.values() if node.type == SEGMENT):
        if segment.id not in linked:
            removed += [(len(kept), segment.text)] if segment.text else []
        elif segment.text:
            kept.append(segment)
        else:
            raise _problem(segment, source, "belongs to the tree but has no text")
    position = {segment.id: index for index, segment in enumerate(kept)}
    for node in reversed(tree):
        node.built = _build(node, position, source)
    paragraphs = [i for i, segment in enumerate(kept) if segment.starts_paragraph]
    return TreebankDocument(
        edus=[segment.text for segment in kept],
        root=tree[0].built,
        source=source,
        removed=removed,
        declared=declared,
        blocks=paragraph_blocks(paragraphs, len(kept)),
    )


def _problem(node: _Rs3Node, source: str, problem: str) -> RstError:
    return RstError(Errors.R105.format(node=f"Node {node.id}", source=source, problem=problem))


def _parse_xml(content: str | bytes, source: str) -> Element:
    if isinstance(content, str):
        content = content.encode(errors="replace").decode().lstrip()
    try:
        return defusedxml.ElementTree.fromstring(content, forbid_dtd=True)
    except defusedxml.DefusedXmlException as error:
        raise RstError(Errors.R103.format(source=source)) from error
    except (ParseError, LookupError, ValueError) as error:
        raise RstError(Errors.R102.format(source=source, error=error)) from error


def _read_nodes(xml: Element, source: str) -> dict[str, _Rs3Node]:
    nodes: dict[str, _Rs3Node] = {}
    elements = (element for element in xml.iterfind("body/*") if element.tag in (SEGMENT, "group"))
    for element in elements:
        node_id = element.get("id")
        if node_id is None or node_id in nodes:
            problem = f"has a node without an id or with one used twice ({node_id})"
            raise RstError(Errors.R105.format(node="The body", source=source, problem=problem))
        text = "".join(element.itertext()) if element.tag == SEGMENT else ""
        nodes[node_id] = _Rs3Node(
            id=node_id,
            type=SEGMENT if element.tag == SEGMENT else element.get("type", SPAN),
            parent=element.get("parent") or None,
            relation=element.get("relname", "").strip() or SPAN,
            text=clean_edu_text(text),
            starts_paragraph=starts_paragraph(text),
        )
    if not any(node.text for node in nodes.values()):
        raise RstError(Errors.R104.format(source=source, problem="no segment has text"))
    return nodes


def _link(nodes: dict[str, _Rs3Node], declared: list[tuple[str, str]], source: str) -> None:
    types_of: dict[str, set[str]] = defaultdict(set)
    for relation, kind in declared:
        types_of[relation].add(kind)
    for node in nodes.values():
        if node.parent is None:
            continue
        parent = nodes.get(node.parent)
        if parent is None:
            raise _problem(node, source, f"is attached to {node.parent}, which does not exist")
        types = types_of[node.relation]
        is_nucleus = node.relation.lower() == SPAN or types == {MULTINUC}
        if parent.type == MULTINUC:
            is_nucleus |= MULTINUC in types or not types
        (parent.nuclei if is_nucleus else parent.satellites).append((node.relation, node))


def _choose_tree(nodes: dict[str, _Rs3Node], source: str, largest_tree: bool) -> list[_Rs3Node]:
    """Find the nodes of the only or largest tree, parents first. Segments that stand alone beside
    it are left out."""
    forest = [[node] for node in nodes.values() if node.parent is None]
    for tree in forest:
        for node in tree:  # the list grows while it is gone through
            tree.extend(child for _, child in (*node.nuclei, *node.satellites))
    reached = {node.id for tree in forest for node in tree}
    for node in nodes.values():
        if node.id not in reached:
            raise _problem(node, source, "is part of a cycle, or attached to one")
    sizes = [sum(node.type == SEGMENT for node in tree) for tree in forest]
    trees = [(tree[0], size) for tree, size in zip(forest, sizes, strict=True) if size > 1]
    if len(trees) > 1 and not largest_tree:
        names = " and ".join(f"{root.id} ({size} segments)" for root, size in trees)
        raise RstError(Errors.R108.format(source=source, trees=f"with the roots {names}"))
    if not trees and sum(sizes) > 1:
        raise RstError(Errors.R109.format(source=source, n_edus=sum(sizes)))
    return forest[sizes.index(max(sizes))]


def _build(node: _Rs3Node, position: dict[str, int], source: str) -> NaryNode | None:
    """Make the n-ary node of a segment or group, after those attached to it."""
    children = [
        NaryChild(NUCLEUS, relation, child.built) for relation, child in node.nuclei if child.built
    ]
    if node.id in position:
        leaf = NaryNode(position[node.id], position[node.id] + 1)
        children.append(NaryChild(NUCLEUS, SPAN, leaf))
    if len(children) > 1:  # those without a relation get the one that the other nuclei carry
        named = Counter(nucleus.relation for nucleus in children if nucleus.relation != SPAN)
        common = named.most_common(1)[0][0] if named else UNNAMED_RELATION
        children = [n._replace(relation=common) if n.relation == SPAN else n for n in children]
    has_nucleus = bool(children)
    children += [
        NaryChild(SATELLITE, relation, child.built)
        for relation, child in node.satellites
        if child.built
    ]
    if len(children) < 2:
        return children[0].node if children else None
    if not has_nucleus:
        raise _problem(node, source, "has satellites but no nucleus")
    built = NaryNode.over(children)
    if any(left.node.end != right.node.start for left, right in pairwise(built.children)):
        raise _problem(node, source, "has parts that do not lie side by side in the text")
    return built
