"""What every treebank reader yields: the EDUs of a document and its own n-ary tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ..layout.blocks import PARAGRAPH, Block

NUCLEUS = "N"
SATELLITE = "S"
SPAN = "span"  # stands for the relation of a nucleus with satellites


class NaryChild(NamedTuple):
    """A child of an n-ary node."""

    role: str
    relation: str  # the treebank's own label; ignored for the single nucleus of satellites
    node: NaryNode


@dataclass(slots=True, eq=False, repr=False)
class NaryNode:
    """A node over the EDUs `start:end`: a leaf, or nuclei and satellites in text order.

    A node may hold several nuclei and several satellites at once; `binarize` puts them in order.
    """

    start: int
    end: int
    children: tuple[NaryChild, ...] = ()

    @classmethod
    def over(cls, children: Iterable[NaryChild]) -> NaryNode:
        """Make the node over some children, which are put in text order."""
        ordered = sorted(children, key=lambda child: child.node.start)
        return cls(ordered[0].node.start, ordered[-1].node.end, tuple(ordered))

    def descendants(self) -> Iterator[NaryNode]:
        """Go through this node and all nodes below it, each before its children."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(child.node for child in reversed(node.children))


@dataclass(slots=True)
class EduTokens:
    """The tokens of one EDU, where the treebank gives them."""

    words: list[str]
    spaces: list[bool]  # whether a space follows each
    sentence_starts: list[bool] = field(default_factory=list)  # empty where they are unknown

    @property
    def text(self) -> str:
        """The text of the EDU, without padding."""
        pairs = zip(self.words, self.spaces, strict=True)
        return "".join(word + " " * space for word, space in pairs).strip()


@dataclass(slots=True)
class TreebankDocument:
    """One document of a treebank.

    `removed` holds units that were not linked to the tree, such as headlines: the EDU before which
    each stands (one past the last for the end), and its text.
    """

    edus: list[str]  # in text order, without padding
    root: NaryNode | None  # None where the treebank has only EDUs
    name: str = ""  # as the table of splits knows it
    source: str = ""
    removed: list[tuple[int, str]] = field(default_factory=list)
    declared: list[tuple[str, str]] = field(default_factory=list)  # relations with their types
    tokens: list[EduTokens] | None = None
    blocks: list[Block] = field(default_factory=list)  # counted in EDUs
    crossing_edus: list[int] = field(default_factory=list)  # EDUs that go over the end of a block


def paragraph_blocks(starts: Collection[int], n_edus: int) -> list[Block]:
    """Make paragraphs, counted in EDUs, of the EDUs that begin one. Without any, the layout is
    unknown."""
    borders = sorted({0, n_edus, *starts})
    return [Block(*ends, PARAGRAPH) for ends in pairwise(borders)] if starts else []
