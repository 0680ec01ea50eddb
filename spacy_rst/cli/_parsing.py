"""Texts through a pipeline: what `parse` does in one process and what each worker of Ray does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..doc import NAME_KEY, doc_from_edus, get_tree
from ..doc_layout import doc_from_layout
from ..errors import Errors, RstError
from ..evaluation import makes_edus
from ..layout import MARKUP_SUFFIXES, read_document
from ..pipelines import load
from ._inputs import Origin, Outcome, Reading
from ._util import report_problem


class EduUnits(StrEnum):
    """Where the EDUs come from."""

    auto = "auto"
    sentences = "sentences"
    lines = "lines"


def load_pipeline(model: str, edus: EduUnits = EduUnits.auto) -> Language:
    """Load a pipeline and choose where it takes its EDUs from."""
    nlp = load(model)
    metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
    parser = first_parser(nlp, model)
    before = nlp.pipe_names[: nlp.pipe_names.index(parser)]
    segmenters = [name for name in before if makes_edus(nlp, name)]
    if edus is EduUnits.auto:
        if not segmenters and "doc.spans" not in metas[parser].assigns:
            advice = (
                "add 'edu_segmenter' before its parser, set makes_edus = True on a component of "
                "your own that makes them, or use --edus sentences or --edus lines"
            )
            raise _lacks(nlp, model, "EDUs", advice)
        return nlp
    for name in segmenters:
        nlp.remove_pipe(name)
    if edus is EduUnits.sentences:
        if not any("token.is_sent_start" in metas[name].assigns for name in before):
            nlp.add_pipe("sentencizer", name="sentencizer_for_edus", before=parser)
        nlp.add_pipe("sentence_edus", name="sentences_as_edus", before=parser)
    return nlp


def first_parser(nlp: Language, model: str) -> str:
    """Find the first component that makes trees."""
    for name in nlp.pipe_names:
        if "doc._.rst_tree" in nlp.get_pipe_meta(name).assigns:
            return name
    raise _lacks(nlp, model, "trees", "add 'rst_parser' to it")


def _lacks(nlp: Language, model: str, what: str, advice: str) -> RstError:
    pipes = ", ".join(nlp.pipe_names) or "none"
    return RstError(Errors.R554.format(model=model, what=what, pipes=pipes, advice=advice))


def doc_from_lines(nlp: Language, text: str) -> Doc:
    """Make a Doc whose EDUs are the lines of a text. A blank line begins a paragraph."""
    edus: list[str] = []
    paragraph_starts: set[int] = set()
    for line in text.split("\n"):
        if line.strip():
            edus.append(line)
        else:
            paragraph_starts.add(len(edus))
    return doc_from_edus(nlp, edus, paragraph_starts)


def make_doc(nlp: Language, origin: Origin, text: str, edus: EduUnits) -> Doc:
    """Make a Doc to be parsed, with its name and with the layout of Markdown and HTML."""
    if edus is EduUnits.lines:
        doc = doc_from_lines(nlp, text)
    elif origin.file.ending in MARKUP_SUFFIXES:
        doc = doc_from_layout(nlp, read_document(f"text{origin.file.ending}", text))
    else:
        doc = nlp.make_doc(text)
    doc.user_data[NAME_KEY] = origin.name
    return doc


class Failures(list[tuple[Origin, Exception]]):
    """Texts that were not parsed, and why: an error handler for spaCy. In another process than the
    one that made it, it can only report them."""

    def __init__(self) -> None:
        super().__init__()
        self._process = os.getpid()

    def __call__(
        self, component: str, _: Any, docs: Sequence[Doc] | None, error: Exception
    ) -> None:
        """Take note of an error."""
        if docs is None:  # a whole process failed
            report_problem("parse", error)
        for doc in docs or ():
            if doc is None:  # what spaCy's sentencizer hands on after an error
                continue
            origin, problem = doc._context, ValueError(f"{component}: {error}")
            if os.getpid() == self._process:
                self.append((origin, problem))
            else:
                report_problem(origin.place, problem)


def parse_texts(
    nlp: Language,
    texts: Iterable[Reading],
    edus: EduUnits,
    *,
    batch_size: int,
    n_process: int = 1,
) -> Iterator[Outcome]:
    """Parse texts, one after another: the origin of each and its tree, or why there is none. Those
    that fail in one of several processes are reported there, and are left out here."""
    failures = Failures()

    def make_docs() -> Iterator[tuple[Doc, Origin]]:
        for origin, text in texts:
            try:
                if isinstance(text, Exception):
                    raise text
                yield make_doc(nlp, origin, text, edus), origin
            except (OSError, ValueError) as error:
                failures.append((origin, error))

    nlp.set_error_handler(failures)  # type: ignore[arg-type]
    docs = nlp.pipe(make_docs(), as_tuples=True, batch_size=batch_size, n_process=n_process)
    for doc, origin in docs:
        yield from failures
        failures.clear()
        try:
            yield origin, get_tree(doc)
        except ValueError as error:
            yield origin, error
    yield from failures
