"""Read the layout of a treebank's documents from files beside those of the trees.

GUM's CoNLL-U files name the elements of the page that begin at a sentence, and for how many
sentences each lasts; GCDT's files have the text with blank lines between paragraphs, and tags
for sections, lists, quotations and speakers. Both have the same text as the EDUs, and the spaces
that people write, which the EDUs lack.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice, pairwise
from pathlib import Path

from ..errors import Errors, RstError
from ..layout import Block, Layout
from ..layout.blocks import CAPTION, HEADING, ITEM, PARAGRAPH, QUOTATION, ROW, TURN
from ..orthography import SENTENCE_ENDS, is_unspaced
from .conllu import SUFFIX as CONLLU_SUFFIX
from .conllu import Word, read_words
from .detokenize import ESCAPED_BRACKETS
from .document import EduTokens, TreebankDocument
from .files import in_file, list_files

XML_SUFFIX = ".xml"
BLOCK_BREAK = "\n\n"
GUM_BLOCKS = "newpar_block"
# GUM: "sp who:::"#Ann" (2 s) | p (2 s)" are two elements that begin and last two sentences.
GUM_ELEMENT = re.compile(r'(\w+)((?: [\w.-]+:::"[^"]*")*) \((\d+) s\)')
GUM_SPEAKER = re.compile(r'who:::"#?([^"]*)"')
GUM_KINDS = {"head": HEADING, "item": ITEM, "caption": CAPTION, "row": ROW, "quote": QUOTATION}
GUM_KINDS |= {"sp": TURN}
GUM_DIVISIONS = frozenset({"p", "lg"} | GUM_KINDS.keys())
# Inside of these, quotations and speech are part of the text that runs on.
GUM_RUNNING_TEXT = frozenset({"p", "head", "caption"})
GCDT_KINDS = {"list": ITEM, "longquote": QUOTATION, "speaker": TURN}
# What begins with a heading, and the heading's level.
GCDT_SECTIONS = {"text": 1, "section": 2, "subsection": 3, "subsubsection": 4}
GCDT_TAG = re.compile(r'<(?P<end>/?)(?P<name>[a-z]+)(?: who="#?(?P<speaker>[^"]*)")?[^>]*>')
# A document's text may differ from its EDUs' in a letter here and there.
LARGEST_DIFFERENCE = 0.01


@dataclass(eq=False)
class _Part:
    """An element of a page, which one or more blocks of the same kind belong to."""

    kind: str = PARAGRAPH
    level: int = 0
    speaker: str | None = None
    is_begun: bool = False


def read_layouts(folder: Path) -> dict[str, Layout | RstError]:
    """Read the layout of all documents in a folder.

    folder (Path): A folder, which is searched with all folders below it.
    RETURNS (dict[str, Layout | RstError]): Text and blocks by the names of the documents, or why
        they cannot be read. CoNLL-U files that know nothing of layout are left out.
    """
    found: dict[str, Layout | RstError] = {}
    for path in list_files(folder, (CONLLU_SUFFIX, XML_SUFFIX)):
        try:
            if path.suffix == XML_SUFFIX:
                found[path.stem] = read_gcdt_layout(path.read_text(encoding="utf8"))
                continue
            for name, words in read_words(path):
                if isinstance(words, RstError):
                    found[name] = words
                elif any(word.comments and GUM_BLOCKS in word.comments for word in words):
                    found[name] = read_gum_layout(words)
        except (OSError, UnicodeDecodeError, RstError) as error:
            found[path.stem] = in_file(error, path)
    return found


def _lay_out(blocks: Iterable[tuple[str, _Part]]) -> Layout:
    """Write the texts of blocks one after the other."""
    found: list[Block] = []
    texts: list[str] = []
    position = 0
    for text, part in blocks:
        continues = part.is_begun and part.kind != PARAGRAPH
        end = position + len(text)
        found.append(Block(position, end, part.kind, part.level, part.speaker, continues))
        texts.append(text)
        part.is_begun = True
        position = end + len(BLOCK_BREAK)
    return Layout.verbatim(BLOCK_BREAK.join(texts), found)


@dataclass(eq=False)
class _GumElement:
    name: str
    attributes: str
    n_sentences: int
    part: _Part = field(default_factory=_Part)


def read_gum_layout(words: Sequence[Word]) -> Layout:
    """Make the text and the blocks of a document of GUM.

    words (Sequence[Word]): Its words, with comments on their sentences.
    RETURNS (Layout): The text as it is written, and the blocks.
    """
    return _lay_out(_gum_blocks(words))


def _gum_blocks(words: Sequence[Word]) -> Iterator[tuple[str, _Part]]:
    open_elements: list[_GumElement] = []
    text, part = "", _Part()
    has_title = False
    for comments, sentence in _sentences(words):
        elements = [element for element in open_elements if element.n_sentences > 0]
        is_divided = any(e.n_sentences <= 0 and e.name in GUM_DIVISIONS for e in open_elements)
        for element in _begun_elements(comments):
            if _divides(element, elements):
                is_divided = True
                element.part = _gum_part(element, elements, has_title)
                has_title |= element.name == "head"
            elif elements:
                element = replace(element, name="", part=elements[-1].part)
            elements.append(element)
        if is_divided and text:
            yield text.rstrip(), part
            text = ""
        part = elements[-1].part if elements else _Part()
        text += sentence
        for element in elements:
            element.n_sentences -= 1
        open_elements = elements
    if text:
        yield text.rstrip(), part


def _sentences(words: Sequence[Word]) -> Iterator[tuple[Mapping[str, str], str]]:
    """Get the comments on each sentence, and its text."""
    spaces = [word.space_after for word in words]
    for place, word in enumerate(words):
        if word.written:  # its words are written together
            n_words = word.written.n_words
            spaces[place : place + n_words] = [False] * (n_words - 1) + [word.written.space_after]
    pieces = [word.form + " " * space for word, space in zip(words, spaces, strict=True)]
    starts = [place for place, word in enumerate(words) if word.starts_sentence]
    for start, end in pairwise([*starts, len(words)]):
        yield words[start].comments or {}, "".join(pieces[start:end])


def _begun_elements(comments: Mapping[str, str]) -> list[_GumElement]:
    found = GUM_ELEMENT.findall(comments.get(GUM_BLOCKS, ""))
    elements = [_GumElement(name, attributes, int(n)) for name, attributes, n in found]
    return [element for element in elements if element.n_sentences]


def _divides(element: _GumElement, around: Sequence[_GumElement]) -> bool:
    if element.name in ("quote", "sp"):
        return not any(outer.name in GUM_RUNNING_TEXT for outer in around)
    return element.name in GUM_DIVISIONS


def _gum_part(element: _GumElement, around: Sequence[_GumElement], has_title: bool) -> _Part:
    outer = around[-1].part if around else _Part()
    kind = GUM_KINDS.get(element.name)
    if kind is None:
        return outer
    speaker = GUM_SPEAKER.search(element.attributes) if kind == TURN else None
    level = 0
    if kind == HEADING:
        level = 2 if has_title else 1
    elif kind in (ITEM, QUOTATION):
        level = 1 + sum(other.name == element.name for other in around)
    return _Part(kind, level, speaker[1] if speaker else outer.speaker)


def read_gcdt_layout(xml: str) -> Layout:
    """Read the text and the blocks of a document of GCDT.

    xml (str): Its file, in which each tag has a line of its own. It need not be well-formed.
    RETURNS (Layout): The text, and the blocks.
    """
    return _lay_out(_gcdt_blocks(xml))


def _gcdt_blocks(xml: str) -> Iterator[tuple[str, _Part]]:
    parts = [_Part()]
    heading_level = 0
    paragraph: list[str] = []
    for line in (*map(str.strip, xml.splitlines()), ""):
        tag = GCDT_TAG.fullmatch(line)
        if line and tag is None:
            paragraph.append(html.unescape(line))
            continue
        if paragraph:
            yield from _gcdt_paragraph(paragraph, parts[-1], heading_level)
            paragraph, heading_level = [], 0
        if tag and tag["end"]:
            parts = parts[:-1] or [_Part()]
        elif tag:
            parts.append(_gcdt_part(tag["name"], tag["speaker"], parts[-1]))
            heading_level = GCDT_SECTIONS.get(tag["name"], 0)


def _gcdt_part(name: str, speaker: str | None, outer: _Part) -> _Part:
    kind = GCDT_KINDS.get(name)
    if kind is None:
        return outer
    return _Part(kind, level=int(kind != TURN), speaker=speaker or outer.speaker)


def _gcdt_paragraph(
    lines: Sequence[str], part: _Part, heading_level: int
) -> Iterator[tuple[str, _Part]]:
    if part.kind == ITEM:
        yield from ((line, replace(part)) for line in lines)
    elif heading_level and len(lines) == 1 and lines[0][-1] not in SENTENCE_ENDS:
        yield lines[0], _Part(HEADING, heading_level, part.speaker)
    else:
        yield _join_sentences(lines), part


def _join_sentences(lines: Sequence[str]) -> str:
    text = ""
    for line in lines:
        is_close = not text or is_unspaced(text[-1]) or is_unspaced(line[0])
        text += line if is_close else f" {line}"
    return text


def with_layout(document: TreebankDocument, layout: Layout) -> TreebankDocument:
    """Give a document its layout, and the text of its EDUs as people write it.

    document (TreebankDocument): The document, whose EDUs have a space between all tokens.
    layout (Layout): Its text and blocks.
    RETURNS (TreebankDocument): The document with tokens and blocks.
    RAISES (RstError): If the texts differ.
    """
    places = [place for place, character in enumerate(layout.text) if not character.isspace()]
    words = [edu.split() for edu in document.edus]
    written = "".join(word for edu in words for word in edu)
    pairs = zip(written, (layout.text[place] for place in places), strict=False)
    n_different = sum(one != other for one, other in pairs)
    if len(written) != len(places) or n_different > LARGEST_DIFFERENCE * len(written):
        problem = f"the text of {document.name} differs from that of its EDUs"
        raise RstError(Errors.R140.format(source=document.source, problem=problem))
    tokens = _tokens(words, places)
    edu_starts = [0, *accumulate(len("".join(edu)) for edu in words)]
    blocks, crossing = _blocks_of_edus(layout.blocks, places, edu_starts)
    edus = [edu.text for edu in tokens]
    return replace(document, edus=edus, tokens=tokens, blocks=blocks, crossing_edus=crossing)


def _tokens(words: Sequence[Sequence[str]], places: Sequence[int]) -> list[EduTokens]:
    # A space follows a word if the next letter of the text does not stand right behind it.
    ends = accumulate(len(word) for edu in words for word in edu)
    following = [*places[1:], places[-1] + 1]
    spaces = (following[end - 1] > places[end - 1] + 1 for end in ends)
    return [
        EduTokens(
            [ESCAPED_BRACKETS.get(word, word) for word in edu], list(islice(spaces, len(edu)))
        )
        for edu in words
    ]


def _blocks_of_edus(
    blocks: Sequence[Block], places: Sequence[int], edu_starts: Sequence[int]
) -> tuple[list[Block], list[int]]:
    """Count blocks in EDUs. A block that begins inside an EDU begins after it."""
    starts = [bisect_left(places, block.start) for block in blocks]
    firsts = [bisect_left(edu_starts, start) for start in starts]
    pairs = zip(starts, firsts, strict=True)
    crossing = sorted({first - 1 for start, first in pairs if edu_starts[first] != start})
    ends = [*firsts[1:], len(edu_starts) - 1]
    found = [
        block._replace(start=first, end=end)
        for block, first, end in zip(blocks, firsts, ends, strict=True)
        if first < end
    ]
    return found, crossing
