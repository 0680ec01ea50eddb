"""Small rs3 files, each with one quirk that real treebanks show."""

from __future__ import annotations

DEFAULT_RELATIONS = {
    "elaboration": ("rst",),
    "background": ("rst",),
    "evidence": ("rst",),
    "joint": ("multinuc",),
    "contrast": ("multinuc",),
    "same-unit": ("multinuc",),
}


def rs3(body: str, relations: dict[str, tuple[str, ...]] | None = None) -> str:
    """Wrap a body of segments and groups into a whole file."""
    declared = "".join(
        f'<rel name="{name}" type="{kind}"/>'
        for name, kinds in (relations or DEFAULT_RELATIONS).items()
        for kind in kinds
    )
    return f"<rst><header><relations>{declared}</relations></header><body>{body}</body></rst>"


def segment(node: int, text: str, parent: int | None = None, relation: str = "span") -> str:
    """A segment; without a parent it is a root."""
    link = "" if parent is None else f' parent="{parent}" relname="{relation}"'
    return f'<segment id="{node}"{link}>{text}</segment>'


def group(node: int, kind: str, parent: int | None = None, relation: str = "span") -> str:
    """A group; without a parent it is a root."""
    link = "" if parent is None else f' parent="{parent}" relname="{relation}"'
    return f'<group id="{node}" type="{kind}"{link}/>'


def nuclei(*texts: str, relation: str = "joint", parent: int | None = None) -> str:
    """Up to eight segments, numbered from 1, and the multinuclear group 9 that they form."""
    segments = (segment(number, text, 9, relation) for number, text in enumerate(texts, start=1))
    return "".join(segments) + group(9, "multinuc", parent)
