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
    """A child of an n-ary node.

    role (str): "N" or "S".
    relation (str): The treebank's own label. Ignored for the single nucleus of satellites.
    node (NaryNode): The child itself.
    """

    role: str
    relation: str
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
        """RETURNS (NaryNode): The node over some children, which are put in text order."""
        ordered = sorted(children, key=lambda child: child.node.start)
        return cls(ordered[0].node.start, ordered[-1].node.end, tuple(ordered))

    def descendants(self) -> Iterator[NaryNode]:
        """YIELDS (NaryNode): This node and all nodes below it, each before its children."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(child.node for child in reversed(node.children))


@dataclass(slots=True)
class EduTokens:
    """The tokens of one EDU, where the treebank gives them.

    words (list[str]): The tokens.
    spaces (list[bool]): Whether a space follows each.
    sentence_starts (list[bool]): Whether each begins a sentence. Empty where that is unknown.
    """

    words: list[str]
    spaces: list[bool]
    sentence_starts: list[bool] = field(default_factory=list)

    @property
    def text(self) -> str:
        """RETURNS (str): The text of the EDU, without padding."""
        pairs = zip(self.words, self.spaces, strict=True)
        return "".join(word + " " * space for word, space in pairs).strip()


@dataclass(slots=True)
class TreebankDocument:
    """One document of a treebank.

    edus (list[str]): The text of each EDU in text order, without padding.
    root (NaryNode | None): The tree over them, None where the treebank has only EDUs.
    name (str): The document's name, as the splits file knows it.
    source (str): The file it was read from.
    removed (list[tuple[int, str]]): Units that were not linked to the tree, such as headlines: the
        EDU before which each stands (one past the last for the end), and its text.
    declared (list[tuple[str, str]]): The relations that the treebank declares, each with its type:
        "rst" or "multinuc".
    tokens (list[EduTokens] | None): The tokens of each EDU, where the treebank gives them.
    blocks (list[Block]): The layout, counted in EDUs. Empty where it is unknown.
    crossing_edus (list[int]): EDUs in the middle of which a block begins; it is moved behind them.
    """

    edus: list[str]
    root: NaryNode | None
    name: str = ""
    source: str = ""
    removed: list[tuple[int, str]] = field(default_factory=list)
    declared: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[EduTokens] | None = None
    blocks: list[Block] = field(default_factory=list)
    crossing_edus: list[int] = field(default_factory=list)


def paragraph_blocks(starts: Collection[int], n_edus: int) -> list[Block]:
    """Make paragraphs of the EDUs that begin one.

    starts (Collection[int]): EDUs that begin a paragraph. Without any, the layout is unknown.
    n_edus (int): The number of EDUs in the document.
    RETURNS (list[Block]): The paragraphs, counted in EDUs.
    """
    borders = sorted({0, n_edus, *starts})
    return [Block(*ends, PARAGRAPH) for ends in pairwise(borders)] if starts else []
