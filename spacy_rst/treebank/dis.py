"""Read and write RST-DT's bracket format (`.dis`, `.lisp`).

`( Root (span 1 3) ( Nucleus (leaf 1) (rel2par span) (text _!...._!) ) ... )`: a satellite carries
its relation, its nucleus says `span`, and coordinate nuclei all carry theirs.

A file of RST-DT may have two companions beside it: `NAME.edus` (one EDU per line), from which the
texts of the EDUs are then taken, and the raw article, whose blank lines tell the paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

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
from .text import clean_edu_text, ends_paragraph, starts_paragraph

if TYPE_CHECKING:
    from ..tree import RstNode, RstTree

TEXT_MARK = "_!"
TOKEN = re.compile(
    r"\(\s*text\s+_!(?P<text>.*?)_!\s*\)"
    r"|\(\s*(?P<role>Root|Nucleus|Satellite)\b"
    r"|\(\s*leaf\s+(?P<leaf>\d{1,9})\s*\)"
    r"|\(\s*span\s+(?P<first>\d{1,9})\s+(?P<last>\d{1,9})\s*\)"
    r"|\(\s*rel2par\s+(?P<relation>[^\s()][^()]*)\)"
    r"|(?P<close>\))"
    r"|(?P<comment>//TT_ERR)"
    r"|(?P<space>\s+)",
    re.DOTALL,
)
ROLES = {"Nucleus": NUCLEUS, "Satellite": SATELLITE}
EDUS_SUFFIX = ".edus"
BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(slots=True)
class _Bracket:
    """A bracket that is still open."""

    role: str
    position: int
    leaf: int | None = None
    span: tuple[int, int] | None = None
    relation: str = SPAN
    text: str = ""
    children: list[NaryChild] = field(default_factory=list)


def read_dis(path: str | Path) -> TreebankDocument:
    """Read a `.dis` file, with its `.edus` and its raw article where they lie beside it. The
    document's name is that of the file without endings."""
    path = Path(path)
    companions = (path.with_suffix(EDUS_SUFFIX), Path(f"{path}{EDUS_SUFFIX}"))
    companion = next((file for file in companions if file.exists()), None)
    edus = None if companion is None else _read_text(companion).splitlines()
    document = parse_dis(_read_text(path), source=shown_path(path), edus=edus)
    document.name = shown_path(path.name.split(".")[0])
    article = path.with_suffix("")
    if article != path and article.is_file():
        starts = _find_paragraphs(document.edus, _read_text(article))
        if starts is not None:
            document.blocks = paragraph_blocks(starts, len(document.edus))
    return document


def _read_text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _find_paragraphs(edus: list[str], article: str) -> list[int] | None:
    """Find the EDUs that begin a paragraph of the raw article. None where that has other words than
    the EDUs, so that it cannot tell."""
    letters = ["".join(edu.split()) for edu in edus]
    paragraphs = ["".join(paragraph.split()) for paragraph in BLANK_LINES.split(article)]
    if "".join(letters) != "".join(paragraphs):
        return None
    borders = set(accumulate(map(len, paragraphs), initial=0))
    starts = accumulate(map(len, letters[:-1]), initial=0)
    return [number for number, start in enumerate(starts) if start in borders]


def parse_dis(
    content: str, *, source: str = "the input", edus: Sequence[str] | None = None
) -> TreebankDocument:
    """Read the content of a `.dis` file, with the texts of its EDUs if they are given: empty ones
    are left out."""
    content = content.encode(errors="replace").decode()
    leaves: list[_Bracket] = []
    open_brackets: list[_Bracket] = []
    root: NaryNode | None = None
    for match in _tokens(content, source):
        if match.lastgroup == "role":
            if root is not None:
                raise _problem(content, match.start(), source, "a second tree begins")
            open_brackets.append(_Bracket(match["role"], match.start()))
        elif not open_brackets:
            raise _problem(content, match.start(), source, "it belongs to no bracket")
        elif match.lastgroup == "leaf":
            open_brackets[-1].leaf = int(match["leaf"])
        elif match.lastgroup == "last":
            open_brackets[-1].span = int(match["first"]), int(match["last"])
        elif match.lastgroup == "relation":
            open_brackets[-1].relation = match["relation"].rstrip()
        elif match.lastgroup == "text":
            open_brackets[-1].text = match["text"]
        else:
            closed = open_brackets.pop()
            node = _close(closed, leaves, content, source)
            if open_brackets:
                child = NaryChild(ROLES.get(closed.role, NUCLEUS), closed.relation, node)
                open_brackets[-1].children.append(child)
            else:
                root = node
    if open_brackets:
        raise _problem(content, open_brackets[-1].position, source, "its bracket is never closed")
    if root is None:
        raise RstError(Errors.R104.format(source=source, problem="it has no bracket '( Root ...'"))
    texts = _texts_of(leaves, edus, content, source)
    paragraphs = {i for i, leaf in enumerate(leaves) if starts_paragraph(leaf.text)}
    paragraphs |= {i for i, leaf in enumerate(leaves[:-1], start=1) if ends_paragraph(leaf.text)}
    blocks = paragraph_blocks(paragraphs, len(texts))
    return TreebankDocument(texts, root, source=source, blocks=blocks)


def _texts_of(
    leaves: Sequence[_Bracket], edus: Sequence[str] | None, content: str, source: str
) -> list[str]:
    """Get the texts of the EDUs: those of their list, or else those of the leaves."""
    if edus is None:
        texts = [clean_edu_text(leaf.text) for leaf in leaves]
        if "" in texts:
            position = leaves[texts.index("")].position
            raise _problem(content, position, source, "the leaf has no text")
        return texts
    texts = [text for text in map(clean_edu_text, edus) if text]
    if len(texts) != len(leaves):
        problem = f"it has {len(leaves)} EDUs, but the .edus file has {len(texts)} lines"
        raise RstError(Errors.R140.format(source=source, problem=problem))
    return texts


def _problem(content: str, position: int, source: str, problem: str) -> RstError:
    line = content.count("\n", 0, position) + 1
    return RstError(Errors.R120.format(line=line, source=source, problem=problem))


def _tokens(content: str, source: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(content):
        match = TOKEN.match(content, position)
        if match is None:
            raise _problem(content, position, source, "it has no such part")
        if match.lastgroup not in ("space", "comment"):
            yield match
        position = match.end()


def _close(bracket: _Bracket, leaves: list[_Bracket], content: str, source: str) -> NaryNode:
    """Make the node of a bracket. Its leaves decide what it covers, not the `span` line, which
    says the same again and is wrong in some files."""
    if not bracket.children:
        number = bracket.leaf
        if number is None and bracket.span is not None and bracket.span[0] == bracket.span[1]:
            number = bracket.span[0]
        if number != len(leaves) + 1:
            problem = "the leaf has no number, or one out of order"
            raise _problem(content, bracket.position, source, problem)
        leaves.append(bracket)
        return NaryNode(len(leaves) - 1, len(leaves))
    if len(bracket.children) == 1:
        return bracket.children[0].node
    return NaryNode.over(bracket.children)


def write_dis(tree: RstTree) -> str:
    """Write a tree in the bracket format. A text mark (`_!`) inside an EDU gets a space in its
    middle, since the format cannot quote it."""
    lines: list[str] = []
    open_nodes: list[RstNode] = []
    for node in tree.nodes():
        while open_nodes and open_nodes[-1].end <= node.start:
            open_nodes.pop()
            lines.append(_indent(len(open_nodes)) + ")")
        head = "Root" if node.role is None else {"N": "Nucleus", "S": "Satellite"}[node.role]
        relation = "" if node.role is None else f" (rel2par {node.relation_to_parent})"
        indent = _indent(len(open_nodes))
        if node.is_leaf:
            text = " ".join(node.text.split()).replace(TEXT_MARK, "_ !")
            lines.append(f"{indent}( {head} (leaf {node.end}){relation} (text _!{text}_!) )")
        else:
            lines.append(f"{indent}( {head} (span {node.start + 1} {node.end}){relation}")
            open_nodes.append(node)
    lines += [_indent(depth) + ")" for depth in reversed(range(len(open_nodes)))]
    return "\n".join([*lines, ""])


def _indent(depth: int) -> str:
    # Deep trees would otherwise fill their files with spaces: quadratic in the number of EDUs.
    return "  " * min(depth, 40)
