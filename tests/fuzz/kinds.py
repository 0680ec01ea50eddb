"""The kinds of input that come from outside: whole examples, and what reads them."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any

import spacy
from spacy.tokens import Doc

from spacy_rst.cli._inputs import find_texts, read_texts
from spacy_rst.cli.convert import LIST_COLUMNS, read_list
from spacy_rst.doc import TREE_KEY, get_json, get_node, get_tree
from spacy_rst.errors import RstError
from spacy_rst.layout import check_blocks, read_document
from spacy_rst.relations import read_relations
from spacy_rst.translator.table import TableTranslator
from spacy_rst.tree import RstTree
from spacy_rst.treebank.convert import ConversionOptions, convert_document, read_file
from spacy_rst.treebank.docbin import new_docbin, read_docbin
from spacy_rst.treebank.splits import SplitTable
from spacy_rst.treebank.syntax import read_syntax, set_syntax
from tests.sample import SAMPLE, sample_docs, sample_tree
from tests.treebank.rs3_files import group, rs3, segment
from tests.treebank.test_disrpt import HEADER, conllu, row

from .mutators import mutate_bytes, mutate_json, mutate_text
from .runner import Kind

ROOT = SAMPLE.parent.parent
LANGUAGES = ("en", "eu")
ENGLISH = ConversionOptions(lang="en")
MARKDOWN = """# A *title*

A paragraph, with [a link](x.html "t") and `code`.

1. one
2. two
   - nested

> quoted
> > twice

| a | b |
|---|---|
| 1 | 2 |

```python
code
```

Ann: Hello.
Bob: Hi <b>there</b> &amp; bye.
"""
HTML = """<!doctype html><html><head><title>T</title><script>x()</script></head>
<body><h1>Title</h1><p>One <b>bold</b> &eacute; &#8364; text.<br>More.</p>
<ul><li>a<li>b<ol><li>c</ol></ul><table><tr><td>1<td>2</table>
<blockquote><p>Quoted.</blockquote><pre>
 code </pre><!-- no --></body></html>
"""


@lru_cache(maxsize=1)
def _docs() -> list[Doc]:
    return sample_docs(spacy.blank("xx"), LANGUAGES)


def _sample_files() -> list[Path]:
    return [path for name in LANGUAGES for path in sorted((SAMPLE / name).glob("*.rs3"))]


def _trees() -> list[RstTree]:
    return [sample_tree(path) for path in _sample_files()]


# Treebanks


def _rs3_texts() -> list[str]:
    small = segment(1, "a", 4) + segment(2, "b", 1, "elaboration") + segment(3, "c", 5, "joint")
    small = rs3(small + group(4, "span", 5, "joint") + group(5, "multinuc"))
    extra = (
        '<secedges><secedge id="1-3" source="1" target="3" relname="joint"/></secedges>'
        '<signals><signal source="2" type="dm" subtype="dm" tokens="1,2"/></signals></body>'
    )
    texts = [path.read_text(encoding="utf8") for path in _sample_files()]
    return [*texts, small, small.replace("</body>", extra)]


def _dis_texts() -> list[str]:
    nested = (
        "( Root (span 1 3)\n  ( Satellite (leaf 1) (rel2par attribution) (text _!She said_!) )\n"
        "  ( Nucleus (span 2 3) (rel2par span)\n    ( Nucleus (leaf 2) (rel2par List) (text _!that "
        "(it) rains,_!) )\n    ( Nucleus (leaf 3) (rel2par List) (text _!snows.<P>_!) ) ) )\n"
    )
    return [nested, *(tree.to_dis() for tree in _trees())]


def _disrpt_files() -> list[dict[str, str]]:
    """Token and relation files as DISRPT writes them."""
    tokens = conllu("d", ["^She said ,", "that it rains ,", "^so we stay ,", "and wait ."])
    tokens = tokens.replace("\n4\t", "\n4-5\tthatit" + "\t_" * 8 + "\n4\t")
    relations = [
        row("d", "1-3", "4-7", "1>2", "attribution", "1-7"),
        row("d", "4-7", "8-11", "1<2", "result", "8-14"),
        row("d", "8-11", "12-14", "1<2", "joint", "8-14"),
    ]
    rels = "\n".join([HEADER, *relations, ""])
    return [{suffix: tokens, ".rels": rels} for suffix in (".conllu", ".tok")]


def _mutate_files(files: dict[str, str], rng: Random) -> dict[str, bytes]:
    damaged = {suffix: text.encode("utf8") for suffix, text in files.items()}
    for suffix in rng.sample(sorted(files), rng.randint(1, len(files))):
        damaged[suffix] = mutate_text(files[suffix], rng)
    return damaged


def _read_treebank(files: dict[str, bytes], folder: Path) -> None:
    for old in folder.glob("case.*"):
        old.unlink()
    for suffix, content in files.items():
        (folder / f"case{suffix}").write_bytes(content)
    raw_text = sum(map(len, files.values())) % 2 == 0
    main = next(suffix for suffix in (".rs3", ".dis", ".rels") if suffix in files)
    problem = None
    for document in read_file(folder / f"case{main}", largest_tree=raw_text):
        if isinstance(document, RstError):
            problem = document
        else:
            options = replace(ENGLISH, labels="original", raw_text=raw_text)
            doc = convert_document(document, options)
            doc.to_bytes()
            get_tree(doc)
            convert_document(document, ENGLISH)
    if problem is not None:
        raise problem


# Syntax


def _conllu_texts() -> list[str]:
    """Sentences in which each word hangs on the one before it."""
    texts = []
    for doc in _docs()[::2]:
        lines = ["# newdoc id = d"]
        for edu in doc.spans["edus"]:
            for number, token in enumerate(edu, start=1):
                head, dep = (number - 1, "dep") if number > 1 else (0, "root")
                columns = [number, token.text, "_", "NOUN", "_", "_", head, dep, "_", "_"]
                lines.append("\t".join(map(str, columns)))
            lines.append("")
        texts.append("\n".join(lines))
    return texts


def _read_conllu(content: bytes, folder: Path) -> None:
    (folder / "case.conllu").write_bytes(content)
    for syntax in read_syntax(folder).values():
        if isinstance(syntax, RstError):
            raise syntax
        doc = Doc(_docs()[0].vocab, [word.form for word in syntax.words])
        if set_syntax(doc, syntax):
            assert all(token.head.sent == token.sent for token in doc)


# Trees


def _read_tree_json(value: Any, folder: Path) -> None:
    tree = RstTree.from_dict(value)
    json.dumps(tree.to_dict())
    tree.to_rs3()
    tree.to_dis()


def _user_data() -> list[tuple[int, Any]]:
    return [(number, doc.user_data[TREE_KEY]) for number, doc in enumerate(_docs())]


def _read_user_data(case: tuple[int, Any], folder: Path) -> None:
    number, stored = case
    doc = _docs()[number].copy()
    doc.user_data[TREE_KEY] = stored
    tree = get_tree(doc)
    get_node(doc[:1])
    if tree is not None:
        json.dumps(get_json(doc))
        tree.to_rs3()


# Tables


def _write(content: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _read_splits(content: bytes, folder: Path) -> None:
    table = SplitTable.from_file(_write(content, folder, "splits.tsv"))
    table.split_of("library_hours", "sample.en", "en/library_hours.rs3")


def _read_treebank_list(content: bytes, folder: Path) -> None:
    with redirect_stdout(io.StringIO()):  # it names treebanks that are not there
        read_list(_write(content, folder, "treebanks.tsv"), ENGLISH)


def _read_relations(content: bytes, folder: Path) -> None:
    read_relations.cache_clear()
    read_relations(_write(content, folder, "relations.tsv"))


def _translation_table() -> list[str]:
    rows = ["source\ttarget\ttext\ttranslation"]
    for number, tree in enumerate(_trees()):
        rows += [f"eu\ten\t{edu}\tText {number}" for edu in map(str, tree.edus)]
    return ["\n".join([*rows, ""])]


def _read_translations(content: bytes, folder: Path) -> None:
    table = TableTranslator(_write(content, folder, "table.tsv"), missing="keep")
    table.translate(["Bai."], "eu", "en")


def _files(*names: str) -> Callable[[], Sequence[str]]:
    return lambda: [(ROOT / name).read_text(encoding="utf8") for name in names]


# Texts


def _jsonl_texts() -> list[str]:
    lines = [{"name": f"d{n}", "text": doc.text[:80]} for n, doc in enumerate(_docs())]
    more = [{"id": 3, "text": "Bai.", "more": [1]}]
    return ["".join(json.dumps(line) + "\n" for line in texts) for texts in (lines, more)]


def _read_jsonl(content: bytes, folder: Path) -> None:
    path = _write(content, folder, "texts.jsonl")
    files, _ = find_texts([str(path)])
    problems = [text for _, text in read_texts(files) if not isinstance(text, str)]
    # Those without a code first: they are the failures.
    for problem in sorted(problems, key=lambda problem: isinstance(problem, RstError)):
        raise problem


def _read_layout(content: bytes, folder: Path, *, name: str) -> None:
    layout = read_document(name, content.decode("utf8", errors="replace"))
    check_blocks(layout.text, layout.blocks)


# Files of our own


def _docbin() -> list[bytes]:
    return [new_docbin(_docs()[:1]).to_bytes(), new_docbin(_docs()[4:6]).to_bytes()]


def _mutate_docbin(content: bytes, rng: Random) -> bytes:
    """Damage the file, or what is packed in it."""
    if rng.random() < 0.3:
        return mutate_bytes(content, rng)
    return zlib.compress(mutate_bytes(zlib.decompress(content), rng))


def _read_docbin(content: bytes, folder: Path) -> None:
    for doc in read_docbin(_write(content, folder, "docs.spacy")):
        get_tree(doc)


def _lists() -> list[str]:
    header = "\t".join((*LIST_COLUMNS, "splits", "options"))
    rows = ["sample.en\ten\t.\ttreebanks.tsv\t", "ru.rrt\tru\t.\t\tlargest_tree"]
    return ["\n".join([header, *rows, ""])]


LAYOUT_KINDS = {"markdown": (MARKDOWN, "x.md"), "html": (HTML, "x.html")}
TEXT_KINDS = {
    "rs3": (_rs3_texts, lambda content, folder: _read_treebank({".rs3": content}, folder)),
    "dis": (_dis_texts, lambda content, folder: _read_treebank({".dis": content}, folder)),
    "syntax": (_conllu_texts, _read_conllu),
    "splits": (_files("assets/sample/splits.tsv"), _read_splits),
    "treebank-list": (_lists, _read_treebank_list),
    "relations": (_files("spacy_rst/relations.tsv"), _read_relations),
    "translations": (_translation_table, _read_translations),
    "jsonl": (_jsonl_texts, _read_jsonl),
    **{
        name: (partial(list, [text]), partial(_read_layout, name=file))
        for name, (text, file) in LAYOUT_KINDS.items()
    },
}
KINDS = {name: Kind(name, seeds, mutate_text, read) for name, (seeds, read) in TEXT_KINDS.items()}
for _kind in (
    Kind("disrpt", _disrpt_files, _mutate_files, _read_treebank),
    Kind("tree-json", lambda: [t.to_dict() for t in _trees()], mutate_json, _read_tree_json),
    Kind("user-data", _user_data, lambda c, rng: (c[0], mutate_json(c[1], rng)), _read_user_data),
    Kind("docbin", _docbin, _mutate_docbin, _read_docbin),
):
    KINDS[_kind.name] = _kind
