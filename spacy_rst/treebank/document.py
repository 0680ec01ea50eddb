"""What every treebank reader yields: the EDUs of a document and its own n-ary tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, RstError
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

    words (List[str]): The tokens.
    spaces (List[bool]): Whether a space follows each.
    sentence_starts (List[bool]): Whether each begins a sentence.
    """

    words: list[str]
    spaces: list[bool]
    sentence_starts: list[bool]


@dataclass(slots=True)
class TreebankDocument:
    """One document of a treebank.

    edus (List[str]): The text of each EDU in text order, without padding.
    root (NaryNode | None): The tree over them, None where the treebank has only EDUs.
    name (str): The document's name, as the splits file knows it.
    source (str): The file it was read from.
    removed (list[tuple[int, str]]): Units that were not linked to the tree, such as headlines: the
        EDU before which each stands (one past the last for the end), and its text.
    declared (list[tuple[str, str]]): The relations that the treebank declares, each with its type:
        "rst" or "multinuc". None where it declares none.
    tokens (Optional[List[EduTokens]]): The tokens of each EDU, where the treebank gives them.
    paragraph_starts (List[int]): EDUs that begin a paragraph, where the treebank marks them.
    blocks (List[Block]): The layout, where files of its own tell it; places are counted in EDUs.
    crossing_edus (List[int]): EDUs inside of which a block begins, though it is said to begin after
        them.
    """

    edus: list[str]
    root: NaryNode | None
    name: str = ""
    source: str = ""
    removed: list[tuple[int, str]] = field(default_factory=list)
    declared: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[EduTokens] | None = None
    paragraph_starts: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    crossing_edus: list[int] = field(default_factory=list)

    def layout(self) -> list[Block]:
        """RETURNS (List[Block]): The blocks, or else the paragraphs, counted in EDUs. None where
        the layout is unknown."""
        if self.blocks or not self.paragraph_starts:
            return self.blocks
        borders = sorted({0, len(self.edus), *self.paragraph_starts})
        return [Block(start, end, PARAGRAPH) for start, end in pairwise(borders)]


def shown_path(path: str | Path) -> str:
    """RETURNS (str): A path as it can be printed and stored: names of files may be no Unicode."""
    return str(path).encode(errors="replace").decode()


def in_file(error: Exception, source: str | Path) -> RstError:
    """Make what was raised about a file a coded error that names it.

    error (Exception): The problem.
    source (str | Path): The file.
    RETURNS (RstError): The same problem.
    """
    source, message = shown_path(source), shown_path(str(error))
    if not isinstance(error, RstError):
        kind = "" if isinstance(error, OSError) else f"{type(error).__name__}: "
        return RstError(Errors.R134.format(path=source, error=f"{kind}{message}"))
    return RstError(message if source in message else f"{message} ({source})")
