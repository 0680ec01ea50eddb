"""`python -m spacy rst parse`: the trees of texts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm

from ..doc import NAME_KEY, doc_from_edus, get_tree
from ..doc_layout import doc_from_layout
from ..errors import Errors, RstError
from ..evaluation import makes_edus
from ..layout import read_document
from ..pipelines import DEFAULT_PIPELINE, load
from . import rst_app
from ._formats import TreeFormat, choose_format
from ._outputs import Output, choose_output
from ._texts import UTF8, Origin, Reading, check_encoding, find_texts, read_texts
from ._util import ParseCommand, Tally, clean_errors, progress, report_problem

STOPPED = 130
RAY_PANEL = "Options for --engine ray"
DEFAULT_PART_SIZE = 256


class EduUnits(StrEnum):
    """Where the EDUs come from."""

    auto = "auto"
    sentences = "sentences"
    lines = "lines"


class Engine(StrEnum):
    """What runs the pipeline, if not this process and its own."""

    ray = "ray"


@rst_app.command("parse", cls=ParseCommand)
def parse_cli(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Text files, .jsonl files, folders of both, or - for standard input (the default)",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", help="A pipeline: the bundled one, a package's name or a folder"
        ),
    ] = DEFAULT_PIPELINE,
    file_format: Annotated[
        TreeFormat | None,
        typer.Option("--format", "-f", help="What to write. Default: as OUTPUT ends, or text"),
    ] = None,
    output_path: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Folder or file to write. Default: standard output"),
    ] = None,
    edus: Annotated[
        EduUnits,
        typer.Option(help="Units: the pipeline's own segmentation, sentences, or lines of input"),
    ] = EduUnits.auto,
    encoding: Annotated[
        str, typer.Option(help="Encoding of the inputs. Trees are always written as UTF-8")
    ] = UTF8,
    n_process: Annotated[int, typer.Option(min=1, help="Processes to run")] = 1,
    batch_size: Annotated[int, typer.Option(min=1, help="Documents to buffer")] = 64,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped or failed in part")
    ] = False,
    engine: Annotated[
        Engine | None,
        typer.Option(help="Parse in bulk, on one computer or many, into Parquet or JSONL"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes. Default: as many as cores or GPUs", rich_help_panel=RAY_PANEL
        ),
    ] = None,
    worker_gpus: Annotated[
        float | None,
        typer.Option(
            min=0, help="GPUs for each process, such as 1 or 0.5", rich_help_panel=RAY_PANEL
        ),
    ] = None,
    part_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Documents in a file of results. Default: {DEFAULT_PART_SIZE}",
            rich_help_panel=RAY_PANEL,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            envvar="RAY_ADDRESS",
            help="A cluster to run on. Default: this computer",
            rich_help_panel=RAY_PANEL,
        ),
    ] = None,
) -> None:
    """Parse texts and write their discourse trees.

    An input that cannot be read or parsed is reported; the others are parsed all the same. Exit
    codes: 0 if all went well, 2 if some inputs failed, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst parse article.txt README.md page.html
      python -m spacy rst parse texts/ --format html --output all.html
      python -m spacy rst parse texts/ --model training/model-best --format rs3 --output trees/
    """
    with clean_errors("parse"):
        if not inputs and engine is None and sys.stdin.isatty():
            raise RstError(Errors.R510)
        check_encoding(encoding)
        if engine is Engine.ray:
            from ._ray import BulkSettings, parse_in_bulk

            bulk = BulkSettings(
                model,
                edus,
                encoding,
                batch_size,
                part_size or DEFAULT_PART_SIZE,
                workers,
                worker_gpus or 0,
                address,
            )
            if n_process > 1:
                advice = "use --workers"
                raise RstError(Errors.R563.format(option="--n-process", advice=advice))
            raise typer.Exit(parse_in_bulk(inputs or [], output_path, file_format, bulk))
        for option, value in (
            ("--workers", workers),
            ("--worker-gpus", worker_gpus),
            ("--part-size", part_size),
        ):
            if value is not None:
                raise RstError(Errors.R564.format(option=option))
        chosen = choose_format(file_format, output_path, default=TreeFormat.text)
        output = choose_output(output_path, chosen, resume=resume)
        output.check_apart(inputs or [])
        files, problems = find_texts(inputs or ["-"])
        tally = Tally()
        for place, error in problems:
            tally.fail(place, error)
        if not files:
            raise typer.Exit(tally.exit_code)
        nlp = load_pipeline(model, edus)
        one_each = all(file.has_one_text for file in files)
        try:
            with output.open():
                parse_texts(
                    nlp,
                    read_texts(files, encoding),
                    output,
                    tally,
                    edus,
                    n_texts=len(files) if one_each else None,
                    n_process=n_process,
                    batch_size=batch_size,
                )
        except KeyboardInterrupt:
            if output.kept is not None:
                advice = "; run it again with --resume to go on" if output.can_resume else ""
                report_problem("parse", f"Stopped. What is finished is in {output.kept}{advice}")
            if n_process > 1:  # at a usual end, spaCy's queues would wait for the workers to read
                os._exit(STOPPED)
            raise
    tqdm.write(str(tally), file=sys.stderr)
    raise typer.Exit(tally.exit_code)


def load_pipeline(model: str, edus: EduUnits = EduUnits.auto) -> Language:
    """Load a pipeline and make it take its EDUs from where they shall come from.

    model (str): The name of a bundled pipeline or of a package, or a folder.
    edus (EduUnits): Where the EDUs come from.
    RETURNS (Language): The pipeline.
    RAISES (RstError): If it cannot be loaded, or has no parser or no segmenter.
    """
    nlp = load(model)
    metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
    makers = (name for name, meta in metas.items() if "doc._.rst_tree" in meta.assigns)
    parser = next(makers, None)
    if parser is None:
        pipes = ", ".join(metas) or "there are none"
        raise RstError(Errors.R517.format(model=model, pipes=pipes))
    before = nlp.pipe_names[: nlp.pipe_names.index(parser)]
    segmenters = [name for name in before if makes_edus(nlp, name)]
    if edus is EduUnits.auto:
        if not segmenters and "doc.spans" not in metas[parser].assigns:
            raise RstError(Errors.R518.format(model=model))
        return nlp
    for name in segmenters:
        nlp.remove_pipe(name)
    if edus is EduUnits.sentences:
        if not any("token.is_sent_start" in metas[name].assigns for name in before):
            nlp.add_pipe("sentencizer", name="sentencizer_for_edus", before=parser)
        nlp.add_pipe("sentence_edus", name="sentences_as_edus", before=parser)
    return nlp


def doc_from_lines(nlp: Language, text: str) -> Doc:
    """Make a Doc whose EDUs are the lines of a text. A blank line begins a paragraph.

    nlp (Language): The pipeline whose tokenizer is used.
    text (str): The text.
    RETURNS (Doc): The Doc, in which the EDUs are joined with spaces.
    """
    edus: list[str] = []
    paragraph_starts: set[int] = set()
    for line in text.split("\n"):
        if line.strip():
            edus.append(line)
        else:
            paragraph_starts.add(len(edus))
    return doc_from_edus(nlp, edus, paragraph_starts)


def make_doc(nlp: Language, origin: Origin, text: str, edus: EduUnits) -> Doc:
    """Make a Doc to be parsed.

    nlp (Language): The pipeline whose tokenizer is used.
    origin (Origin): Where the text comes from.
    text (str): The text.
    edus (EduUnits): Where the EDUs come from.
    RETURNS (Doc): The Doc, with its name and with the layout of Markdown and HTML.
    """
    if edus is EduUnits.lines:
        doc = doc_from_lines(nlp, text)
    elif origin.has_markup:
        doc = doc_from_layout(nlp, read_document(cast(Path, origin.path), text))
    else:
        doc = nlp.make_doc(text)
    doc.user_data[NAME_KEY] = origin.name
    return doc


def report_failure(component: str, _: Any, docs: Sequence[Doc] | None, error: Exception) -> None:
    """Report Docs that a component could not process: an error handler for spaCy.

    It only reports, as it may run in another process than the one that counts.
    """
    for doc in docs or ():
        report_problem(f"{doc._context.place} ({component})", error)
    if docs is None:  # a whole process failed
        report_problem("parse", error)


def parse_texts(
    nlp: Language,
    texts: Iterable[Reading],
    output: Output,
    tally: Tally,
    edus: EduUnits = EduUnits.auto,
    *,
    n_texts: int | None = None,
    n_process: int = 1,
    batch_size: int = 64,
) -> None:
    """Parse texts and write their trees; what fails is reported and left out.

    nlp (Language): The pipeline, as `load_pipeline` prepared it for the same `edus`.
    texts (Iterable[Reading]): What `read_texts` gives.
    output (Output): Where the trees go; it is open.
    tally (Tally): Counts what becomes of the texts.
    edus (EduUnits): Where the EDUs come from.
    n_texts (int | None): How many texts there are, where that is known.
    n_process (int): Processes to run.
    batch_size (int): Documents to buffer.
    RAISES (RstError): If there is no document, or more than the output can hold.
    """
    n_begun = n_parsed = 0

    def make_docs() -> Iterator[tuple[Doc, Origin]]:
        nonlocal n_begun
        for origin, text in texts:
            if output.has(origin):
                tally.skipped += 1
                continue
            try:
                if isinstance(text, Exception):
                    raise text
                doc = make_doc(nlp, origin, text, edus)
            except (OSError, ValueError) as error:
                tally.fail(origin.place, error)
                continue
            output.check_room(n_begun)
            n_begun += 1
            yield doc, origin

    nlp.set_error_handler(report_failure)  # type: ignore[arg-type]
    parsed = nlp.pipe(make_docs(), as_tuples=True, batch_size=batch_size, n_process=n_process)
    for doc, origin in progress(parsed, "Parsing", n_texts):
        n_parsed += 1
        try:
            tree = get_tree(doc)
            output.write(origin, tree)
        except ValueError as error:
            tally.fail(origin.place, error)
            continue
        if tree is None:
            report_problem(origin.place, "no text, so no tree")
        tally.count(tree)
    tally.failed += n_begun - n_parsed  # those that the error handler reported
    if not tally.succeeded and not tally.failed:
        raise RstError(Errors.R520)
