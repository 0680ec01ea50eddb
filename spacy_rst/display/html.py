"""An interactive page for trees: one file, no network, and safe for texts from anywhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from ..errors import Errors, RstError
from ..relations import split_label
from ..tree import edu_text
from . import check_at_least
from .characters import clean_text, is_right_to_left
from .colors import relation_color
from .marks import block_mark, find_blocks

if TYPE_CHECKING:
    from ..layout import Block
    from ..tree import RstTree

FOLDER = Path(__file__).parent
REPLACEMENT = "\ufffd"
# Inside a script element these could end it, or the line in which they stand.
UNSAFE_IN_SCRIPT = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def render_html(
    trees: RstTree | Sequence[RstTree],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    levels: int | None = None,
) -> str:
    """Make an interactive page of one tree or several.

    trees (Union[RstTree, Sequence[RstTree]]): What to show.
    names (Optional[Sequence[str]]): A heading for each tree. Numbers where there are several trees.
    title (Optional[str]): The title of the page.
    levels (Optional[int]): How many levels are open at first. By default as many as fit a screen or
        two.
    RETURNS (str): The whole page, from `<!DOCTYPE html>` to `</html>`.
    RAISES (RstError): If there are not as many names as trees, or no levels to show.
    """
    shown = list(trees) if isinstance(trees, Sequence) else [trees]
    if names is not None and len(names) != len(shown):
        wanted = f"a list of {len(shown)}, one for each tree"
        raise RstError(Errors.R300.format(name="names", value=names, wanted=wanted))
    if levels is not None:
        check_at_least("levels", levels, 1)
    if names is None:
        names = [f"Tree {i}" if len(shown) > 1 else "" for i in range(1, len(shown) + 1)]
    if title is None:
        title = "Discourse trees" if len(shown) > 1 else "Discourse tree"
    return Template(_page_file("page.html")).substitute(
        policy=escape(content_policy()),
        title=escape(clean_text(title, REPLACEMENT)),
        style=_page_file("page.css"),
        script=_page_file("page.js"),
        data=_as_script_data(_describe_page(shown, names, levels)),
    )


@lru_cache(maxsize=1)
def content_policy() -> str:
    """Make a Content-Security-Policy that allows the page its own style and script alone."""
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash_source('page.css')}; script-src {_hash_source('page.js')}"
    )


@lru_cache(maxsize=3)
def _page_file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf8")


def _hash_source(name: str) -> str:
    digest = sha256(_page_file(name).encode("utf8")).digest()
    return f"'sha256-{b64encode(digest).decode('ascii')}'"


def _as_script_data(data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.translate(UNSAFE_IN_SCRIPT)


def _describe_page(
    trees: Sequence[RstTree], names: Sequence[str], levels: int | None
) -> dict[str, Any]:
    labels = {split.label for tree in trees for split in tree.splits}
    relations = sorted({split_label(label)[0] for label in labels}, key=str.casefold)
    numbers = {relation: number for number, relation in enumerate(relations)}
    return {
        "levels": levels,
        "relations": [
            {"name": clean_text(relation, REPLACEMENT), "color": relation_color(relation).hex}
            for relation in relations
        ],
        "trees": [
            _describe_tree(tree, name, numbers) for tree, name in zip(trees, names, strict=True)
        ],
    }


def _describe_tree(tree: RstTree, name: str, numbers: dict[str, int]) -> dict[str, Any]:
    """List EDUs and splits; the page rebuilds the nodes, as splits come depth first."""
    edus = [clean_text(edu_text(edu), REPLACEMENT) for edu in tree.edus]
    splits = []
    for split in tree.splits:
        relation, nuclearity = split_label(split.label)
        splits.append([split.split, numbers[relation], nuclearity])
    scores = tree.scores and [[round(p, 4) for p in score] for score in tree.scores]
    return {
        "name": clean_text(name, REPLACEMENT),
        "rightToLeft": is_right_to_left(" ".join(edus)),
        "edus": edus,
        "blocks": {
            number: [block_mark(block), block.kind, _describe_block(block)]
            for number, block in find_blocks(tree).items()
        },
        "splits": splits,
        "scores": scores,
    }


def _describe_block(block: Block) -> str:
    kind = "further paragraph" if block.continues else block.kind
    level = f", level {block.level}" if block.level else ""
    speaker = f", {clean_text(block.speaker, REPLACEMENT)}" if block.speaker else ""
    return kind + level + speaker
