"""The discourse tree of a document: immutable, checked, and free of spaCy.

All traversals are iterative and linear, so that a document with ten thousand units is no
different from one with ten.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import index as whole_number
from typing import Any, NamedTuple

from .errors import Errors, RstError
from .relations import NUCLEARITIES, join_label, split_label

NO_NODE = -1
ROUNDING = 1e-6  # what a model's arithmetic may make of 0 and 1
SPAN_RELATION = "span"
DICT_VERSION = 1


Edu = Any  # a string, or a spaCy Span, which this module does not know


class Split(NamedTuple):
    """One inner node: the EDUs `start:end` are divided into `start:split` and `split:end`."""

    start: int
    split: int
    end: int
    label: str


class Score(NamedTuple):
    """A model's probabilities for one inner node."""

    split: float
    label: float


class Dependency(NamedTuple):
    """The link of one EDU to its head EDU; the root EDU has head -1 and no relation."""

    edu: int
    head: int
    relation: str | None
    nuclearity: str | None


class Relation(NamedTuple):
    """One row of a tree as a table: a relation and its two arguments. Of two nuclei, the right one
    stands in the place of the satellite. The Spans are None if the tree is not on a Doc."""

    relation: str
    nuclearity: str
    nucleus: str
    satellite: str
    nucleus_span: Any
    satellite_span: Any
    depth: int
    score: float | None


class _Immutable:
    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} cannot be set: trees and their nodes are immutable")


class RstNode(_Immutable):
    """A node of an `RstTree`: a view that costs nothing to make.

    Two nodes are equal if they are the same node of the same tree.

    tree (RstTree): The tree this node belongs to.
    index (int): Position of the node in depth-first, left-first order; the root is 0.
    """

    __slots__ = ("index", "tree")
    tree: RstTree
    index: int

    def __init__(self, tree: RstTree, index: int) -> None:
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "index", index)

    def __reduce__(self) -> tuple[type[RstNode], tuple[RstTree, int]]:
        return RstNode, (self.tree, self.index)

    @property
    def start(self) -> int:
        """RETURNS (int): Index of the first EDU."""
        return self.tree._starts[self.index]

    @property
    def end(self) -> int:
        """RETURNS (int): Index after the last EDU."""
        return self.tree._ends[self.index]

    @property
    def is_leaf(self) -> bool:
        """RETURNS (bool): Whether the node is a single EDU."""
        return self.tree._lefts[self.index] == NO_NODE

    @property
    def left(self) -> RstNode | None:
        """RETURNS (Optional[RstNode]): The left child, None for a leaf."""
        return self.tree._node(self.tree._lefts[self.index])

    @property
    def right(self) -> RstNode | None:
        """RETURNS (Optional[RstNode]): The right child, None for a leaf."""
        return self.tree._node(self.tree._rights[self.index])

    @property
    def children(self) -> tuple[RstNode, ...]:
        """RETURNS (Tuple[RstNode, ...]): The two children, or nothing for a leaf."""
        left, right = self.left, self.right
        return () if left is None or right is None else (left, right)

    @property
    def nucleus(self) -> RstNode | None:
        """RETURNS (Optional[RstNode]): The nucleus, the left one of two; None for a leaf."""
        return next((child for child in self.children if child.role == "N"), None)

    @property
    def satellite(self) -> RstNode | None:
        """RETURNS (Optional[RstNode]): The satellite; None for a leaf and between two nuclei."""
        return next((child for child in self.children if child.role == "S"), None)

    @property
    def parent(self) -> RstNode | None:
        """RETURNS (Optional[RstNode]): The parent, None for the root."""
        return self.tree._node(self.tree._parents[self.index])

    @property
    def depth(self) -> int:
        """RETURNS (int): Number of nodes above this one."""
        return self.tree._depths[self.index]

    @property
    def split(self) -> int | None:
        """RETURNS (Optional[int]): Index of the first EDU of the right child, None for a leaf."""
        right = self.tree._rights[self.index]
        return None if right == NO_NODE else self.tree._starts[right]

    @property
    def label(self) -> str | None:
        """RETURNS (Optional[str]): Relation and nuclearity, e.g. "Contrast-NN"; None for a leaf."""
        return self.tree._labels[self.index]

    @property
    def relation(self) -> str | None:
        """RETURNS (Optional[str]): The relation between the children, None for a leaf."""
        label = self.label
        return None if label is None else split_label(label)[0]

    @property
    def nuclearity(self) -> str | None:
        """RETURNS (Optional[str]): "NS", "SN" or "NN", the children's roles; None for a leaf."""
        label = self.label
        return None if label is None else split_label(label)[1]

    @property
    def role(self) -> str | None:
        """RETURNS (Optional[str]): "N" or "S", the role in the parent; None for the root."""
        return self.tree._roles[self.index]

    @property
    def relation_to_parent(self) -> str | None:
        """RETURNS (Optional[str]): The relation of a satellite or of one nucleus among several,
        "span" for the nucleus of a satellite, None for the root."""
        parent = self.parent
        if parent is None:
            return None
        if self.role == "N" and parent.nuclearity != "NN":
            return SPAN_RELATION
        return parent.relation

    @property
    def score(self) -> Score | None:
        """RETURNS (Optional[Score]): The model's probabilities, where a model made the tree."""
        return self.tree._scores[self.index]

    @property
    def edus(self) -> tuple[Edu, ...]:
        """RETURNS (Tuple): The EDUs of this node, as strings or spaCy Spans."""
        return tuple(self.tree._edus[self.start : self.end])

    @property
    def span(self) -> Any:
        """RETURNS (Optional[Span]): The spaCy Span of this node where the tree hangs on a Doc."""
        first, last = self.tree._edus[self.start], self.tree._edus[self.end - 1]
        if isinstance(first, str) or isinstance(last, str):
            return None
        return first.doc[first.start : last.end]

    @property
    def text(self) -> str:
        """RETURNS (str): The text of this node."""
        span = self.span
        return " ".join(map(edu_text, self.edus)) if span is None else span.text

    def descendants(self) -> Iterator[RstNode]:
        """YIELDS (RstNode): This node and all nodes below it, depth first, left first."""
        n_nodes = 2 * (self.end - self.start) - 1
        return (RstNode(self.tree, i) for i in range(self.index, self.index + n_nodes))

    def __len__(self) -> int:
        return self.end - self.start

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RstNode):
            return NotImplemented
        return self.tree is other.tree and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.tree), self.index))

    def __repr__(self) -> str:
        return f"RstNode({self.start}:{self.end} {self.label or self.text!r})"


@dataclass(slots=True, weakref_slot=True, init=False, eq=False, repr=False)
class RstTree(_Immutable):
    """The binary discourse tree over the EDUs of a document.

    Build one with `from_splits` (or `from_dict`, `from_rs3`, `from_dis`); it never changes
    afterwards.
    """

    _edus: Sequence[Edu]
    _starts: tuple[int, ...]
    _ends: tuple[int, ...]
    _lefts: tuple[int, ...]
    _rights: tuple[int, ...]
    _parents: tuple[int, ...]
    _depths: tuple[int, ...]
    _roles: tuple[str | None, ...]
    _labels: tuple[str | None, ...]
    _scores: tuple[Score | None, ...]
    _leaves: tuple[int, ...]
    _heads: tuple[int, ...] | None

    def __init__(
        self,
        splits: Iterable[Sequence[Any]],
        edus: Sequence[Edu] | None = None,
        scores: Sequence[Sequence[float]] | None = None,
    ) -> None:
        """Check the splits and lay the tree out. See `from_splits` for the arguments."""
        split_list = [_checked_split(entry) for entry in _entries(splits)]
        units = ("",) * (len(split_list) + 1) if edus is None else _checked_edus(edus)
        if not units:
            raise RstError(Errors.R001)
        n_splits = len(split_list)
        score_list = [None] * n_splits if scores is None else _checked_scores(scores, n_splits)
        numbered = {(s.start, s.end): i for i, s in enumerate(split_list)}
        if len(numbered) < len(split_list):
            twice = next(s for i, s in enumerate(split_list) if numbered[s.start, s.end] != i)
            raise _not_one_tree(f"two splits divide {twice.start}:{twice.end}")
        *columns, order = zip(*_lay_out(split_list, numbered, len(units)), strict=True)
        padded = [*score_list, None]  # the place -1, NO_NODE, is that of the leaves
        node_scores = tuple(padded[number] for number in order)
        leaves = tuple(index for index, number in enumerate(order) if number == NO_NODE)
        values = (units, *columns, node_scores, leaves, None)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_splits(
        cls,
        splits: Iterable[Sequence[Any]],
        edus: Sequence[Edu] | None = None,
        scores: Sequence[Sequence[float]] | None = None,
    ) -> RstTree:
        """Build a tree from its m-1 splits, given in any order.

        splits (Iterable[Sequence]): Entries `(start, split, end, label)` over EDU indices, e.g.
            `(0, 1, 3, "Elaboration-NS")`.
        edus (Optional[Sequence]): The m EDUs, as strings or spaCy Spans. Empty strings by default.
        scores (Optional[Sequence]): One pair (probability of the split, of the label) per split.
        RETURNS (RstTree): The tree.
        RAISES (RstError): If the splits do not form one binary tree over all EDUs.
        """
        return cls(splits, edus, scores)

    def with_edus(self, edus: Sequence[Edu] | None = None) -> RstTree:
        """Put the same tree over other EDUs, which is much quicker than to build it anew.

        edus (Optional[Sequence]): As many EDUs as the tree has, as strings or spaCy Spans. Empty
            strings by default.
        RETURNS (RstTree): The tree over these EDUs.
        """
        units = ("",) * len(self) if edus is None else _checked_edus(edus)
        if len(units) != len(self):
            raise RstError(Errors.R021.format(n_tree=len(self), n_edus=len(units)))
        return self._over(units)

    def _over(self, units: Sequence[Edu]) -> RstTree:
        """Put the same tree over EDUs that may be made one by one, when they are asked for."""
        other = object.__new__(RstTree)
        for field in fields(self):
            object.__setattr__(other, field.name, getattr(self, field.name))
        object.__setattr__(other, "_edus", units)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return RstTree.from_dict, (self.to_dict(),)

    def _node(self, index: int) -> RstNode | None:
        return None if index == NO_NODE else RstNode(self, index)

    @property
    def root(self) -> RstNode:
        """RETURNS (RstNode): The node over the whole document."""
        return RstNode(self, 0)

    @property
    def edus(self) -> tuple[Edu, ...]:
        """RETURNS (Tuple): The EDUs in text order, as strings or spaCy Spans."""
        if not isinstance(self._edus, tuple):
            object.__setattr__(self, "_edus", tuple(self._edus))
        return tuple(self._edus)

    @property
    def splits(self) -> tuple[Split, ...]:
        """RETURNS (Tuple[Split, ...]): The inner nodes, depth first, left first."""
        columns = zip(self._starts, self._rights, self._ends, self._labels, strict=True)
        return tuple(
            Split(start, self._starts[right], end, label)
            for start, right, end, label in columns
            if label is not None
        )

    @property
    def scores(self) -> tuple[Score, ...] | None:
        """RETURNS (Optional[Tuple[Score, ...]]): The model's probabilities in the order of
        `splits`, or None where no model made the tree."""
        scores = tuple(score for score in self._scores if score is not None)
        return scores or None

    def nodes(self) -> Iterator[RstNode]:
        """YIELDS (RstNode): All 2m-1 nodes, depth first, left first."""
        return self.root.descendants()

    def leaves(self) -> Iterator[RstNode]:
        """YIELDS (RstNode): The leaves in text order."""
        return (RstNode(self, index) for index in self._leaves)

    def find(
        self,
        relation: str | Collection[str] | None = None,
        nuclearity: str | Collection[str] | None = None,
    ) -> Iterator[RstNode]:
        """Look up inner nodes.

        relation (Optional[Union[str, Collection[str]]]): One relation or several, in any case.
        nuclearity (Optional[Union[str, Collection[str]]]): "NS", "SN", "NN", or several.
        YIELDS (RstNode): The matching inner nodes, depth first, left first.
        """
        relations, nuclearities = _casefolded(relation), _casefolded(nuclearity)
        unknown = sorted(nuclearities - {name.casefold() for name in NUCLEARITIES})
        if unknown:
            raise RstError(Errors.R013.format(label=unknown[0]))
        for index, label in enumerate(self._labels):
            if label is None:
                continue
            found, order = map(str.casefold, split_label(label))
            is_found = relation is None or found in relations
            if is_found and (nuclearity is None or order in nuclearities):
                yield RstNode(self, index)

    def relations(self) -> Iterator[Relation]:
        """List the relations of the tree, for tables.

        YIELDS (Relation): One entry per inner node, depth first, left first. Its score is the
            model's probability of the split with this label, None where no model made the tree.
        """
        for node in self.find():
            nucleus, satellite = node.children
            if node.nuclearity == "SN":
                nucleus, satellite = satellite, nucleus
            yield Relation(
                relation=node.relation or "",
                nuclearity=node.nuclearity or "",
                nucleus=nucleus.text,
                satellite=satellite.text,
                nucleus_span=nucleus.span,
                satellite_span=satellite.span,
                depth=node.depth,
                score=None if node.score is None else node.score.split * node.score.label,
            )

    def to_records(self) -> list[dict[str, Any]]:
        """Make a table of the relations for `pandas.DataFrame`.

        RETURNS (List[dict]): What `relations` gives, with character offsets (`nucleus_start`,
            `nucleus_end`, ...) in place of Spans.
        """
        return [
            {
                **dict(zip(Relation._fields[:4], entry, strict=False)),
                **_chars("nucleus", entry.nucleus_span),
                **_chars("satellite", entry.satellite_span),
                "depth": entry.depth,
                "score": entry.score,
            }
            for entry in self.relations()
        ]

    def covering(self, start: int, end: int) -> RstNode:
        """Find the smallest node that covers some EDUs.

        start (int): Index of the first EDU.
        end (int): Index after the last EDU.
        RETURNS (RstNode): The node.
        """
        if not 0 <= start < end <= len(self):
            raise RstError(Errors.R009.format(start=start, end=end, n_edus=len(self)))
        if end - start == 1:
            return RstNode(self, self._leaves[start])
        index = 0
        while True:
            left, right = self._lefts[index], self._rights[index]
            if end <= self._ends[left]:
                index = left
            elif start >= self._starts[right]:
                index = right
            else:
                return RstNode(self, index)

    def head(self, node: RstNode | None = None) -> RstNode:
        """Follow the nuclei down to one leaf, the leftmost where several are equal.

        node (Optional[RstNode]): Where to start, the root by default.
        RETURNS (RstNode): The leaf that the node is about.
        """
        return RstNode(self, self._head_indices()[0 if node is None else node.index])

    def _head_indices(self) -> tuple[int, ...]:
        if self._heads is None:
            heads = list(range(len(self._starts)))
            for index in reversed(heads):
                if self._lefts[index] != NO_NODE:
                    left, right = self._lefts[index], self._rights[index]
                    heads[index] = heads[left if self._roles[left] == "N" else right]
            object.__setattr__(self, "_heads", tuple(heads))
        assert self._heads is not None
        return self._heads

    def promotion(self, node: RstNode | None = None) -> tuple[RstNode, ...]:
        """Marcu's promotion set: the leaves reached from a node through nuclei only.

        node (Optional[RstNode]): The node, the root by default.
        RETURNS (Tuple[RstNode, ...]): The promoted leaves in text order.
        """
        stack, promoted = [0 if node is None else node.index], []
        while stack:
            index = stack.pop()
            if self._lefts[index] == NO_NODE:
                promoted.append(RstNode(self, index))
                continue
            for child in (self._rights[index], self._lefts[index]):
                if self._roles[child] == "N":
                    stack.append(child)
        return tuple(promoted)

    def salience(self) -> tuple[int, ...]:
        """Marcu's ranking: the higher up a unit is promoted, the more important it is.

        RETURNS (Tuple[int, ...]): One number per EDU: the number of levels of the tree for those
            promoted to the root, one less for each level that the highest promotion lies below.
        """
        highest = list(self._depths)
        for index in range(1, len(highest)):
            if self._roles[index] == "N":
                highest[index] = highest[self._parents[index]]
        levels = max(self._depths) + 1
        return tuple(levels - highest[leaf.index] for leaf in self.leaves())

    def summary(self, n: int) -> tuple[RstNode, ...]:
        """Pick the most salient EDUs.

        n (int): How many; among equals the earlier one is taken.
        RETURNS (Tuple[RstNode, ...]): The leaves in text order.
        """
        if n < 0:
            raise ValueError(f"A summary of {n} units cannot be made")
        salience = self.salience()
        ranked = sorted(range(len(salience)), key=lambda edu: (-salience[edu], edu))
        chosen = set(ranked[:n])
        return tuple(leaf for leaf in self.leaves() if leaf.start in chosen)

    def to_dependencies(self) -> tuple[Dependency, ...]:
        """Convert to dependencies between EDUs, as Li et al. (2014) do: a satellite's head depends
        on the head of its nucleus, the head of a right nucleus on that of the left one.

        RETURNS (Tuple[Dependency, ...]): One entry per EDU in text order.
        """
        heads = self._head_indices()
        links: list[Dependency] = [Dependency(i, -1, None, None) for i in range(len(self))]
        for index, label in enumerate(self._labels):
            if label is None:
                continue
            left, right = heads[self._lefts[index]], heads[self._rights[index]]
            head = heads[index]
            edu = self._starts[right if head == left else left]
            links[edu] = Dependency(edu, self._starts[head], *split_label(label))
        return tuple(links)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict): The tree as plain lists and strings, ready for JSON."""
        return {
            "version": DICT_VERSION,
            "edus": [edu_text(edu) for edu in self._edus],
            "splits": [list(split) for split in self.splits],
            "scores": None if self.scores is None else [list(score) for score in self.scores],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RstTree:
        """Build a tree from what `to_dict` made.

        data (dict): The dictionary.
        RETURNS (RstTree): The tree.
        """
        try:
            edus, splits, scores = data["edus"], data["splits"], data.get("scores")
            version = data.get("version", DICT_VERSION)
        except (KeyError, TypeError, AttributeError) as error:
            raise RstError(Errors.R005.format(error=repr(error))) from error
        if version != DICT_VERSION:
            raise RstError(Errors.R005.format(error=f"its version is {_shown(version)}"))
        if not isinstance(edus, list | tuple) or not all(isinstance(edu, str) for edu in edus):
            raise RstError(Errors.R005.format(error="edus is not a list of strings"))
        return cls(splits, edus, scores)

    def to_rs3(self) -> str:
        """RETURNS (str): The tree as an rs3 file, as rstWeb and RSTTool read it."""
        from .treebank.rs3_writer import write_rs3

        return write_rs3(self)

    @classmethod
    def from_rs3(cls, text: str) -> RstTree:
        """Read an rs3 or rs4 file, binarised, with its own labels.

        text (str): The content of the file.
        RETURNS (RstTree): The tree.
        """
        from .treebank.binarize import binarize
        from .treebank.rs3 import parse_rs3

        return binarize(parse_rs3(text))

    def to_dis(self) -> str:
        """RETURNS (str): The tree in the bracket format of RST-DT."""
        from .treebank.dis import write_dis

        return write_dis(self)

    @classmethod
    def from_dis(cls, text: str) -> RstTree:
        """Read a file in the bracket format of RST-DT, binarised, with its own labels.

        text (str): The content of the file.
        RETURNS (RstTree): The tree.
        """
        from .treebank.binarize import binarize
        from .treebank.dis import parse_dis

        return binarize(parse_dis(text))

    def render(self, style: str = "text", **options: Any) -> str:
        """Draw the tree.

        style (str): "text" for the terminal, "svg" for the classic diagram, "html" for an
            interactive page.
        **options: Passed on to the renderer.
        RETURNS (str): The drawing.
        """
        from .display import render_tree

        return render_tree(self, style=style, **options)

    def to_png(self, **options: Any) -> bytes:
        """Draw the tree as a PNG file (needs `spacy_rst[pictures]`).

        **options: `scale`, and what `render("svg")` takes.
        RETURNS (bytes): The content of the file.
        """
        from .display.pictures import render_png

        return render_png(self, **options)

    def to_pdf(self, **options: Any) -> bytes:
        """Draw the tree as a PDF file (needs `spacy_rst[pictures]`).

        **options: What `render("svg")` takes.
        RETURNS (bytes): The content of the file.
        """
        from .display.pictures import render_pdf

        return render_pdf(self, **options)

    def _repr_svg_(self) -> str:
        return self.render("svg")

    def __len__(self) -> int:
        return len(self._edus)

    def __iter__(self) -> Iterator[RstNode]:
        return self.nodes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RstTree):
            return NotImplemented
        if (self._starts, self._labels) != (other._starts, other._labels):
            return False
        if self._ends != other._ends or self._scores != other._scores:
            return False
        return [*map(edu_text, self._edus)] == [*map(edu_text, other._edus)]

    def __hash__(self) -> int:
        return hash((self._starts, self._ends, self._labels))

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        label = self._labels[0]
        return f"RstTree({len(self)} EDUs{'' if label is None else f', root {label}'})"


def edu_text(edu: Edu) -> str:
    """RETURNS (str): The text of an EDU, which is a string or a spaCy Span."""
    return edu if isinstance(edu, str) else str(edu.text)


def _lay_out(
    splits: Sequence[Split], numbered: dict[tuple[int, int], int], n_edus: int
) -> list[tuple[Any, ...]]:
    """Visit the nodes depth first, left first, and give each a row: start, end, left and right
    child, parent, depth, role, label, and the number of its split."""
    rows: list[tuple[Any, ...]] = []
    stack: list[tuple[int, int, int, int, str | None]] = [(0, n_edus, NO_NODE, 0, None)]
    while stack:
        start, end, parent, depth, role = stack.pop()
        index = len(rows)
        if end - start == 1:
            rows.append((start, end, NO_NODE, NO_NODE, parent, depth, role, None, NO_NODE))
            continue
        number = numbered.pop((start, end), None)
        if number is None:
            raise _not_one_tree(f"no split divides {start}:{end}")
        middle, label = splits[number].split, splits[number].label
        # The left child has 2 * (middle - start) - 1 nodes, which come before the right one.
        right = index + 2 * (middle - start)
        rows.append((start, end, index + 1, right, parent, depth, role, label, number))
        roles = split_label(label)[1]
        stack.append((middle, end, index, depth + 1, roles[1]))
        stack.append((start, middle, index, depth + 1, roles[0]))
    if numbered:
        split = splits[next(iter(numbered.values()))]
        raise _not_one_tree(f"{split.start}:{split.end} is not a span of the tree above it")
    return rows


def _not_one_tree(problem: str) -> RstError:
    return RstError(Errors.R004.format(problem=problem))


def _entries(values: Iterable[Any]) -> list[Any]:
    """List values; one that is not iterable becomes the only entry, which is refused later."""
    return list(values) if isinstance(values, Iterable) else [values]


def _checked_edus(edus: Sequence[Edu]) -> tuple[Edu, ...]:
    units = _entries(edus)
    for edu in units:
        if not isinstance(edu, str) and not hasattr(edu, "doc"):
            raise RstError(Errors.R014.format(value=_shown(edu)))
    return tuple(units)


def _checked_split(entry: Sequence[Any]) -> Split:
    try:
        start, split, end, label = entry
        start, split, end = map(whole_number, (start, split, end))
        if not 0 <= start < split < end <= sys.maxsize:
            raise ValueError("these are not the borders of two parts")
        return Split(start, split, end, join_label(*split_label(label)))
    except RstError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise RstError(Errors.R011.format(value=_shown(entry))) from error


def _checked_scores(scores: Iterable[Any], n_splits: int) -> list[Score]:
    refusal = RstError(Errors.R012.format(value=_shown(scores), n_splits=n_splits))
    try:
        checked = [Score(*map(float, score)) for score in scores]
    except (TypeError, ValueError, OverflowError) as error:
        raise refusal from error
    if len(checked) != n_splits:
        raise refusal
    if not all(-ROUNDING <= value <= 1 + ROUNDING for score in checked for value in score):
        raise refusal
    return [Score(min(max(split, 0.0), 1.0), min(max(label, 0.0), 1.0)) for split, label in checked]


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # a number too long for Python to write
        return f"a {type(value).__name__}"


def _chars(name: str, span: Any) -> dict[str, int | None]:
    start, end = (None, None) if span is None else (span.start_char, span.end_char)
    return {f"{name}_start": start, f"{name}_end": end}


def _casefolded(names: str | Collection[str] | None) -> set[str]:
    return {name.casefold() for name in ([names] if isinstance(names, str) else names or ())}
