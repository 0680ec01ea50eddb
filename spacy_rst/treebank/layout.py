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
GUM_KINDS = {"head": HEADING, "item": ITEM, "caption": CAPTION, "row": ROW, "sp": TURN}
GUM_KINDS["quote"] = QUOTATION
GUM_DIVISIONS = frozenset({"p", "lg"} | GUM_KINDS.keys())
# Quotations and speech inside running text do not divide it.
GUM_RUNNING_TEXT = frozenset({"p", "head", "caption"})
GUM_INLINE = frozenset({"quote", "sp"})
GCDT_KINDS = {"list": ITEM, "longquote": QUOTATION, "speaker": TURN}
GCDT_SECTIONS = {"text": 1, "section": 2, "subsection": 3, "subsubsection": 4}  # heading levels
GCDT_TAG = re.compile(r'<(?P<end>/?)(?P<name>[a-z]+)(?: who="#?(?P<speaker>[^"]*)")?[^>]*>')
LARGEST_DIFFERENCE = 0.01  # the share of letters in which a text may differ from its EDUs


@dataclass(eq=False)
class _Part:
    """An element of a page, which one or more blocks of the same kind belong to."""

    kind: str = PARAGRAPH
    level: int = 0
    speaker: str | None = None
    is_begun: bool = False


def read_layouts(folder: Path) -> dict[str, Layout | RstError]:
    """Read text and blocks of all documents in a folder by their names, or why they cannot be
    read. CoNLL-U files without layout are left out."""
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
                    found[name] = _lay_out(_gum_blocks(words))
        except (OSError, UnicodeDecodeError, RstError) as error:
            found[path.stem] = in_file(error, path)
    return found


def _lay_out(blocks: Iterable[tuple[str, _Part]]) -> Layout:
    """Write the texts of blocks one after the other."""
    found: list[Block] = []
    written = ""
    for text, part in blocks:
        written += BLOCK_BREAK if written else ""
        continues = part.is_begun and part.kind != PARAGRAPH
        ends = len(written), len(written) + len(text)
        found.append(Block(*ends, part.kind, part.level, part.speaker, continues))
        part.is_begun = True
        written += text
    return Layout.verbatim(written, found)


@dataclass(eq=False)
class _GumElement:
    name: str
    attributes: str
    n_sentences: int
    part: _Part = field(default_factory=_Part)


def _gum_blocks(words: Sequence[Word]) -> Iterator[tuple[str, _Part]]:
    open_elements: list[_GumElement] = []
    text, part = "", _Part()
    has_title = False
    for comments, sentence in _sentences(words):
        elements = [element for element in open_elements if element.n_sentences > 0]
        is_divided = any(e.n_sentences <= 0 and e.name in GUM_DIVISIONS for e in open_elements)
        for name, attributes, n_sentences in GUM_ELEMENT.findall(comments.get(GUM_BLOCKS, "")):
            element = _GumElement(name, attributes, int(n_sentences))
            if not element.n_sentences:
                continue
            is_inline = name in GUM_INLINE and any(e.name in GUM_RUNNING_TEXT for e in elements)
            if name in GUM_DIVISIONS and not is_inline:
                is_divided = True
                element.part = _gum_part(element, elements, has_title)
                has_title |= name == "head"
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


def _gum_part(element: _GumElement, around: Sequence[_GumElement], has_title: bool) -> _Part:
    outer = around[-1].part if around else _Part()
    kind = GUM_KINDS.get(element.name)
    if kind is None:
        return outer
    speaker = GUM_SPEAKER.search(element.attributes) if kind == TURN else None
    depth = 1 + sum(other.name == element.name for other in around)
    level = {HEADING: 2 if has_title else 1, ITEM: depth, QUOTATION: depth}.get(kind, 0)
    return _Part(kind, level, speaker[1] if speaker else outer.speaker)


def read_gcdt_layout(xml: str) -> Layout:
    """Read a document of GCDT: each tag has a line of its own, but need not be closed."""
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
            kind, speaker = GCDT_KINDS.get(tag["name"]), tag["speaker"] or parts[-1].speaker
            parts.append(_Part(kind, int(kind != TURN), speaker) if kind else parts[-1])
            heading_level = GCDT_SECTIONS.get(tag["name"], 0)


def _gcdt_paragraph(
    lines: Sequence[str], part: _Part, heading_level: int
) -> Iterator[tuple[str, _Part]]:
    if part.kind == ITEM:
        yield from ((line, replace(part)) for line in lines)
    elif heading_level and len(lines) == 1 and lines[0][-1] not in SENTENCE_ENDS:
        yield lines[0], _Part(HEADING, heading_level, part.speaker)
    else:
        text = ""
        for line in lines:
            is_close = not text or is_unspaced(text[-1]) or is_unspaced(line[0])
            text += line if is_close else f" {line}"
        yield text, part


def with_layout(document: TreebankDocument, layout: Layout) -> TreebankDocument:
    """Give a document, in whose EDUs all tokens stand apart, its layout and the text as people
    write it."""
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
    forms = ([ESCAPED_BRACKETS.get(word, word) for word in edu] for edu in words)
    return [EduTokens(own_forms, list(islice(spaces, len(own_forms)))) for own_forms in forms]


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
