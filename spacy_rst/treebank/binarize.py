"""Turn a treebank's n-ary tree into the binary tree that parsers learn.

- The nuclei of a multinuclear node become a right-branching chain.
- Satellites join their nucleus (or the whole group of nuclei) from the nearest to the farthest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

from ..errors import Errors, RstError
from ..relations import join_label
from ..tree import RstTree, Split
from .document import NUCLEUS, NaryChild, NaryNode, TreebankDocument


def binarize(document: TreebankDocument) -> RstTree:
    """Make a document's binary tree over its EDUs, with the treebank's own relations."""
    source = document.source or "the input"
    splits = [split for node in _nodes(document) for split in _split_node(node, source)]
    return RstTree.from_splits(splits, document.edus)


def _nodes(document: TreebankDocument) -> Iterable[NaryNode]:
    return () if document.root is None else document.root.descendants()


def multinuclear_parts(document: TreebankDocument) -> Iterator[tuple[int, int]]:
    """Find the nodes `start:end` of the binary tree that have the last nuclei of a multinuclear
    node, but not all of them."""
    for node in _nodes(document):
        nuclei = [child.node for child in node.children if child.role == NUCLEUS]
        for nucleus in nuclei[1:-1]:
            yield nucleus.start, nuclei[-1].end


def _split_node(node: NaryNode, source: str) -> Iterator[Split]:
    """Divide the children of one n-ary node, outermost split last."""
    children = node.children
    if not children:
        return
    nuclei = [index for index, child in enumerate(children) if child.role == NUCLEUS]
    if not nuclei:
        place = f"The node over the EDUs {node.start + 1} to {node.end}"
        problem = "has satellites but no nucleus"
        raise RstError(Errors.R105.format(node=place, source=source, problem=problem))
    first, last = nuclei[0], nuclei[-1]
    core = children[first : last + 1]
    yield from _split_nuclei(core)
    start, end = core[0].node.start, core[-1].node.end
    for satellite in _nearest_first(children[:first], children[last + 1 :]):
        if satellite.node.end == start:
            split = Split(satellite.node.start, start, end, join_label(satellite.relation, "SN"))
        else:
            split = Split(start, end, satellite.node.end, join_label(satellite.relation, "NS"))
        yield split
        start, end = split.start, split.end


def _split_nuclei(core: Sequence[NaryChild]) -> Iterator[Split]:
    """Chain nuclei to the right. A split carries the relation of the nucleus it detaches, and a
    satellite that stands between two nuclei joins the one before it."""
    end = core[-1].node.end
    for child, following in pairwise(child for child in core if child.role == NUCLEUS):
        label = join_label(child.relation, "NN")
        yield Split(child.node.start, following.node.start, end, label)
    nucleus = core[0]
    for child in core[1:]:
        if child.role == NUCLEUS:
            nucleus = child
            continue
        label = join_label(child.relation, "NS")
        yield Split(nucleus.node.start, child.node.start, child.node.end, label)


def _nearest_first(left: Sequence[NaryChild], right: Sequence[NaryChild]) -> Iterator[NaryChild]:
    """Order satellites from the nucleus outwards, the right one before the left one of a pair."""
    pairs = zip_longest(right, reversed(left))
    return (satellite for pair in pairs for satellite in pair if satellite is not None)
