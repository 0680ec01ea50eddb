"""Read the shared-task format DISRPT, which gives dependencies between EDUs, and rebuild trees.

A `.rels` file has one row per relation between two units, given as token ranges; the tokens of the
documents, their sentences and the EDU starts (`Seg=B-seg`) are in the `.conllu` or `.tok` file
beside it. The format keeps which EDU depends on which, but not the tree. It is rebuilt like this:

- Nuclearity. The dependent is the satellite, except under the relations in MULTINUCLEAR, whose
  nuclei all depend on the first of them. The relation is the treebank's own, from `orig_label`.
- Split units. A unit interrupted by another ("1-5,10-12") stands for several EDUs, of which the
  later ones depend on the first as `same-unit`. A relation with the whole unit is one with its
  first EDU, so that what lies between the fragments joins the fragment it depends on.
- Order of attachment. On each side it can only be the nearest first. Between the two sides the
  right one comes first, unless it is more than twice as many sentences away as the left one. The
  rule was chosen on the training part of the German Potsdam Commentary Corpus, which exists both as
  trees and in this format. It uses no labels, so it means the same in every language.
- Nuclei under the same relation that follow each other form one n-ary node.
- Crossing dependencies. A dependent that is not adjacent to what its head covers moves up to the
  nearest head of that head to which it is.

Errors in a treebank that can be understood do not cost the document:

- EDUs in no relation (headlines) and all trees but the largest are left out, see `removed`.
- A unit that begins where no EDU start is marked: the ranges in `.rels` are right, the marks wrong.
- Several words of a multi-word token marked as EDU starts: all further relations then count as many
  EDUs too far, and the last EDUs have none. The marks are dropped and the EDUs counted anew.

A multi-word token (Portuguese "da", for "de" and "a") is one word, as it is written, unless an EDU
starts within it. Where a file gives no `SpaceAfter`, words are set apart by spaces, but not beside
Chinese or Japanese characters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, RstError
from ..layout.blocks import TURN, Block
from ..orthography import is_unspaced
from ..relations import normalize_relation
from .conllu import TOKEN_RANGE, Word, numbered_lines, read_words
from .document import NUCLEUS, SATELLITE, SPAN, EduTokens, NaryChild, NaryNode, TreebankDocument
from .files import in_file, shown_path, usable

SAME_UNIT = "same-unit"

# English labels: as declared in the rs3 files of the Potsdam Commentary Corpus and GUM. Spanish and
# Basque ones: their translations. All of these have the dependent to the right (but for two rows of
# the Portuguese CSTNews); antithesis, comparison and restatement occur both ways: satellites.
MULTINUCLEAR = frozenset(
    {
        SAME_UNIT,
        *("conjunction", "contrast", "disjunction", "joint", "list", "restatement-mn", "sequence"),
        *("joint-list", "joint-sequence", "joint-disjunction", "joint-other"),
        *("adversative-contrast", "restatement-repetition"),
        *("conjunción", "contraste", "disyunción", "lista", "secuencia", "unión"),
        *("bateratzea", "birformulazioa-nn", "disjuntzioa", "konjuntzioa", "kontrastea"),
        "sekuentzia",
    }
)

TOKEN_SUFFIXES = (".conllu", ".tok")
NEEDED_COLUMNS = ("doc", "unit1_toks", "unit2_toks", "dir", "orig_label")
SENTENCE_COLUMNS = ("s1_toks", "s2_toks")

Range = tuple[int, int]
Unit = tuple[int, ...]  # the EDUs that a unit consists of, in text order


class _Relation(NamedTuple):
    """A row of a `.rels` file. Ranges are pairs of word indices, the end excluded."""

    line: int
    dependent: list[Range]
    head: list[Range]
    relation: str
    sentence_starts: list[int]


class _Link(NamedTuple):
    """What an EDU depends on, and how."""

    head: int
    relation: str


def find_token_file(rels_path: Path) -> Path:
    """Find the tokens that belong to a `.rels` file: `.conllu`, or else `.tok`."""
    candidates = [rels_path.with_suffix(suffix) for suffix in TOKEN_SUFFIXES]
    for path in candidates:
        if path.is_file():
            return path
    names = " nor ".join(path.name for path in candidates)
    raise RstError(Errors.R140.format(source=rels_path, problem=f"there is neither {names}"))


def read_disrpt(
    path: str | Path, *, largest_tree: bool = False, edus_only: bool = False
) -> Iterator[TreebankDocument | RstError]:
    """Read the documents of a DISRPT file one by one, with rebuilt trees, and an error in place of
    each that cannot be read. With `edus_only`, for treebanks that are not of RST, relations are
    ignored, all EDUs are kept, and sentences with a speaker become turns."""
    path = Path(path)
    token_file = find_token_file(path)
    relations = {} if edus_only else _read_relations(path)
    for name, words in read_words(token_file):
        rows = relations.pop(name, [])
        try:
            own_rows, own_words = usable(rows), usable(words)
            if not own_words:
                problem = f"document {name} has no tokens"
                raise RstError(Errors.R104.format(source=path, problem=problem))
            if edus_only:
                yield _edus_alone(name, path, own_words)
            else:
                yield _make_document(name, path, own_words, own_rows, largest_tree)
        except Exception as error:
            yield in_file(error, path)
    for name, rows in relations.items():
        problem = f"document {name} is not in {token_file}"
        missing = RstError(Errors.R140.format(source=path, problem=problem))
        yield rows if isinstance(rows, RstError) else missing


def _read_relations(path: Path) -> dict[str, list[_Relation] | RstError]:
    """Read the relations of each document, or the first problem that it has."""
    relations: dict[str, list[_Relation] | RstError] = {}
    lines = numbered_lines(path)
    columns = next(lines, (1, ""))[1].split("\t")
    missing = ", ".join(column for column in NEEDED_COLUMNS if column not in columns)
    if missing:
        problem, needed = f"its first line does not name {missing}", ", ".join(NEEDED_COLUMNS)
        raise RstError(Errors.R130.format(path=path, problem=problem, columns=needed))
    for number, line in lines:
        if not line.strip():
            continue
        fields = line.split("\t")
        row = dict(zip(columns, fields, strict=False))
        rows = relations.setdefault(row.get("doc", ""), [])
        if isinstance(rows, RstError):
            continue
        try:
            if len(fields) != len(columns):
                raise ValueError(f"has {len(fields)} columns instead of {len(columns)}")
            rows.append(_read_row(row, number))
        except ValueError as error:
            message = Errors.R143.format(line=number, source=path, problem=error)
            relations[row.get("doc", "")] = RstError(message)
    return relations


def _read_row(row: dict[str, str], number: int) -> _Relation:
    relation, direction = row["orig_label"].strip(), row["dir"]
    if direction not in ("1>2", "1<2"):
        raise ValueError(f"has the direction '{direction}', not '1>2' or '1<2'")
    if not relation:
        raise ValueError("names no relation in the column orig_label")
    units = [_parse_ranges(row[column]) for column in ("unit1_toks", "unit2_toks")]
    dependent, head = units if direction == "1>2" else reversed(units)
    sentences = [range_ for c in SENTENCE_COLUMNS if c in row for range_ in _parse_ranges(row[c])]
    return _Relation(number, dependent, head, relation, [start for start, _ in sentences])


def _parse_ranges(text: str) -> list[Range]:
    ranges: list[Range] = []
    for part in text.split(","):
        match = TOKEN_RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise ValueError(f"gives the tokens as '{text}', not in ranges such as '1-5,10-12'")
        ranges.append((first - 1, last))
    return ranges


def _edus_alone(name: str, source: Path, words: list[Word]) -> TreebankDocument:
    """Make a document without a tree of the marked EDUs."""
    starts = _edu_starts(words, [])
    tokens = _tokens_of_edus(words, starts, _sentence_starts(words, []))
    edus = [edu.text for edu in tokens]
    blocks = _turns(words, starts)
    return TreebankDocument(edus, None, name, shown_path(source), tokens=tokens, blocks=blocks)


def _turns(words: list[Word], starts: list[int]) -> list[Block]:
    """Find the turns of a dialogue, in EDUs. None where the file names no speakers."""
    speakers = [(words[start].comments or {}).get("speaker") for start in starts]
    begun = [edu for edu, speaker in enumerate(speakers) if speaker is not None]
    if not begun or begun[0]:
        return []
    borders = pairwise([*begun, len(starts)])
    return [Block(edu, end, TURN, speaker=speakers[edu]) for edu, end in borders]


def _make_document(
    name: str, source: Path, words: list[Word], relations: list[_Relation], largest_tree: bool
) -> TreebankDocument:
    for relation in relations:
        if max(end for _, end in (*relation.dependent, *relation.head)) > len(words):
            problem = f"names tokens beyond the {len(words)} of its document"
            raise RstError(Errors.R143.format(line=relation.line, source=source, problem=problem))
    place = f"document {name} of {source}"
    starts = _edu_starts(words, relations)
    links, linked = _link_edus(relations, starts, source)
    if not linked and len(starts) == 1:
        linked = {0}
    if not linked:
        raise RstError(Errors.R109.format(source=place, n_edus=len(starts)))
    starts = _drop_marks_within_tokens(words, starts, linked)
    tree = _choose_tree(links, linked, place, largest_tree)
    kept = sorted(tree)
    position = {edu: index for index, edu in enumerate(kept)}
    links = {
        position[edu]: _Link(position[link.head], link.relation)
        for edu, link in links.items()
        if edu in position
    }
    sentence_starts = _sentence_starts(words, relations)
    sentence_of_word = list(accumulate(int(i in sentence_starts) for i in range(len(words))))
    sentences = [sentence_of_word[starts[edu]] for edu in kept]
    root = _rebuild([position[edu] for edu in tree], links, sentences)
    tokens = _tokens_of_edus(words, starts, sentence_starts)
    removed = [
        (bisect_left(kept, edu), own.text) for edu, own in enumerate(tokens) if edu not in position
    ]
    tokens = [tokens[edu] for edu in kept]
    edus = [edu.text for edu in tokens]
    return TreebankDocument(edus, root, name, shown_path(source), removed, tokens=tokens)


def _edu_starts(words: list[Word], relations: list[_Relation]) -> list[int]:
    """Take the marked EDU starts, or the bounds of units where those contradict the marks."""
    marked = {0, *(index for index, word in enumerate(words) if word.starts_edu)}
    ranges = {r for relation in relations for r in (*relation.dependent, *relation.head)}
    unmarked = [(start, end) for start, end in ranges if start not in marked]
    for start, end in unmarked:
        marked.difference_update(range(start, end))
    bounds = {bound for both in ranges for bound in both if bound < len(words)}
    return sorted(marked | bounds)


def _drop_marks_within_tokens(words: list[Word], starts: list[int], linked: set[int]) -> list[int]:
    """Undo a slip of the conversion: see the module's description."""
    marked = set(starts)
    slips: set[int] = set()
    for index in starts:
        written = words[index].written
        marks = marked.intersection(range(index, index + (written.n_words if written else 1)))
        slips |= marks if len(marks) > 1 else set()
    cleaned = [start for start in starts if start not in slips]
    return cleaned if max(linked) < len(cleaned) else starts


def _link_edus(
    relations: list[_Relation], starts: list[int], source: Path
) -> tuple[dict[int, _Link], set[int]]:
    """Find the link of each dependent EDU, and all EDUs that occur in relations."""
    units = [(_edus_of(row.dependent, starts), _edus_of(row.head, starts)) for row in relations]
    fragments = _link_fragments({unit for pair in units for unit in pair})
    links: dict[int, _Link] = {}
    for row, (dependent, head) in zip(relations, units, strict=True):
        edu = _first_fragment(dependent[0], fragments)
        if edu in links:
            problem = "gives a unit a second head"
            raise RstError(Errors.R143.format(line=row.line, source=source, problem=problem))
        links[edu] = _Link(head[0], row.relation)
    links |= {edu: _Link(head, SAME_UNIT) for edu, head in fragments.items()}
    return links, {edu for pair in units for unit in pair for edu in unit}


def _edus_of(ranges: list[Range], starts: list[int]) -> Unit:
    bounds = [(bisect_right(starts, a) - 1, bisect_right(starts, b - 1)) for a, b in ranges]
    return tuple(sorted({edu for first, end in bounds for edu in range(first, end)}))


def _link_fragments(units: set[Unit]) -> dict[int, int]:
    """Link the later EDUs of each unit to its first one; units that overlap become one."""
    heads: dict[int, int] = {}
    for first, *others in sorted(units):
        for edu in others:
            one, other = _first_fragment(edu, heads), _first_fragment(first, heads)
            if edu not in heads:
                heads[edu] = first
            elif one != other:
                heads[max(one, other)] = min(one, other)
    return heads


def _first_fragment(edu: int, heads: dict[int, int]) -> int:
    while edu in heads:
        edu = heads[edu]
    return edu


def _choose_tree(
    links: dict[int, _Link], linked: set[int], place: str, largest_tree: bool
) -> list[int]:
    """Find the EDUs of the only or largest tree, heads before their dependents."""
    dependents = _dependents(links)
    trees: list[list[int]] = []
    for root in sorted(linked - links.keys()):
        tree = [root]
        for edu in tree:  # the list grows while it is gone through
            tree.extend(dependents[edu])
        trees.append(tree)
    outside = linked.difference(*trees)
    if outside:
        node, problem = f"EDU {min(outside) + 1}", "is attached to itself through a cycle"
        raise RstError(Errors.R105.format(node=node, source=place, problem=problem))
    if len(trees) > 1 and not largest_tree:
        sizes = " and ".join(str(len(tree)) for tree in trees)
        raise RstError(Errors.R108.format(source=place, trees=f"of {sizes} EDUs"))
    return max(trees, key=len)


def _dependents(links: dict[int, _Link]) -> dict[int, list[int]]:
    dependents: dict[int, list[int]] = defaultdict(list)
    for edu, link in links.items():
        dependents[link.head].append(edu)
    return dependents


def _rebuild(heads_first: list[int], links: dict[int, _Link], sentences: list[int]) -> NaryNode:
    """Build the tree over all EDUs; `sentences` has the number of the sentence of each."""
    dependents = _dependents(links)
    nodes: dict[int, NaryNode] = {}
    for head in reversed(heads_first):
        node = NaryNode(head, head + 1)
        left, right, crossing = _adjacent(head, dependents[head], nodes)
        if crossing:
            dependents[links[head].head].extend(crossing)
        while left or right:
            side = left or right
            if left and right:
                n_left = sentences[head] - sentences[left[-1]]
                n_right = sentences[right[-1]] - sentences[head]
                side = left if 2 * n_left < n_right else right
            relation = links[side[-1]].relation
            is_multinuclear = normalize_relation(relation) in MULTINUCLEAR
            children = [NaryChild(NUCLEUS, relation if is_multinuclear else SPAN, node)]
            role = NUCLEUS if is_multinuclear else SATELLITE
            children.append(NaryChild(role, relation, nodes[side.pop()]))
            while (
                is_multinuclear
                and right
                and side is right
                and links[right[-1]].relation == relation
            ):
                children.append(NaryChild(NUCLEUS, relation, nodes[right.pop()]))
            node = NaryNode.over(children)
        nodes[head] = node
    return nodes[heads_first[0]]


def _adjacent(
    head: int, dependents: list[int], nodes: dict[int, NaryNode]
) -> tuple[list[int], list[int], list[int]]:
    """Sort dependents into those left and right of the head, the nearest last, and those that
    something else separates from it."""
    left: list[int] = []
    right: list[int] = []
    crossing: list[int] = []
    start, end = head, head + 1
    for edu in sorted(dependents, key=lambda edu: abs(edu - head)):
        node = nodes[edu]
        if node.end == start:
            left.append(edu)
            start = node.start
        elif node.start == end:
            right.append(edu)
            end = node.end
        else:
            crossing.append(edu)
    return left[::-1], right[::-1], crossing


def _sentence_starts(words: list[Word], relations: list[_Relation]) -> set[int]:
    """Find the words that begin a sentence: `.tok` files do not say, but `.rels` files do."""
    starts = {index for index, word in enumerate(words) if word.starts_sentence}
    if len(starts) == 1:
        starts.update(start for relation in relations for start in relation.sentence_starts)
    return starts


def _tokens_of_edus(
    words: list[Word], starts: list[int], sentence_starts: set[int]
) -> list[EduTokens]:
    found: list[EduTokens] = []
    for index, end in pairwise([*starts, len(words)]):
        found.append(EduTokens([], []))
        while index < end:
            form, space_after, n_words = words[index].form, words[index].space_after, 1
            written = words[index].written
            if written and index + written.n_words <= end:
                form, space_after, n_words = written
            found[-1].words.append(form)
            found[-1].sentence_starts.append(index in sentence_starts)
            index += n_words
            next_form = words[index].form if index < len(words) else ""
            is_joined = any(map(is_unspaced, form[-1:] + next_form[:1]))
            found[-1].spaces.append(space_after and not is_joined)
    return found
