"""`python -m spacy rst parse`: the trees of texts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Literal

from spacy.cli._util import Arg, Opt

from ..errors import Errors, RstError
from ..pipelines import DEFAULT_PIPELINE
from . import rst_app
from ._formats import TreeFormat, choose_format
from ._inputs import STDIN_MARK, UTF8, Outcome, Reading, check_encoding, find_texts, read_texts
from ._options import Format, Model, OutputPlace, Resume
from ._outputs import Output, choose_output
from ._parsing import EduUnits, load_pipeline, parse_texts
from ._util import Counts, ParseCommand, clean_errors, progress, report_problem

STOPPED = 130
DEFAULT_PART_SIZE = 256
RAY_PANEL = "Options for --engine ray"


@rst_app.command("parse", cls=ParseCommand)
def parse_cli(
    inputs: Annotated[
        list[str] | None,
        Arg(
            metavar="FILES",
            help="Text, .jsonl or .parquet files, folders or URIs of these, or - for standard "
            "input (the default)",
        ),
    ] = None,
    model: Model = DEFAULT_PIPELINE,
    file_format: Format = None,
    output_path: OutputPlace = None,
    edus: Annotated[
        EduUnits, Opt(help="Units: the pipeline's own segmentation, sentences, or lines of input")
    ] = EduUnits.auto,
    encoding: Annotated[
        str, Opt(help="Encoding of the inputs. Output is UTF-8", callback=check_encoding)
    ] = UTF8,
    batch_size: Annotated[int, Opt(min=1, help="Documents to buffer")] = 64,
    workers: Annotated[
        int | None, Opt(min=1, help="Processes to run. Default: 1, or all cores or GPUs with Ray")
    ] = None,
    resume: Resume = False,
    engine: Annotated[
        Literal["ray"] | None,
        Opt(help="Parse in bulk, on one computer or many, into Parquet or JSONL"),
    ] = None,
    worker_gpus: Annotated[
        float | None, Opt(min=0, help="GPUs per process, e.g. 1 or 0.5", rich_help_panel=RAY_PANEL)
    ] = None,
    part_size: Annotated[
        int | None,
        Opt(
            min=1,
            help=f"Documents in a file of results. Default: {DEFAULT_PART_SIZE}",
            rich_help_panel=RAY_PANEL,
        ),
    ] = None,
    address: Annotated[
        str | None,
        Opt(
            envvar="RAY_ADDRESS",
            help="A cluster to run on. Default: this computer",
            rich_help_panel=RAY_PANEL,
        ),
    ] = None,
) -> None:
    """Parse texts and write their discourse trees.

    Without --format and --output, trees are drawn on standard output. An input that cannot be read
    or parsed is reported; the others are parsed all the same. Exit codes: 0 if all went well, 2 if
    some inputs failed, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst parse article.txt README.md page.html
      python -m spacy rst parse texts/ --format html --output all.html
      python -m spacy rst parse texts/ --model training/model-best --format rs3 --output trees/
      python -m spacy rst parse texts/ --engine ray --output bulk/
    """
    counts = Counts()
    with clean_errors("parse"):
        if engine == "ray":
            from ._ray import BulkSettings, parse_in_bulk

            size, gpus = part_size or DEFAULT_PART_SIZE, worker_gpus or 0
            settings = BulkSettings(model, edus, encoding, batch_size, size, workers, gpus, address)
            parse_in_bulk(inputs or [], output_path, file_format, settings, counts)
            counts.finish()
        for option, value in (("--worker-gpus", worker_gpus), ("--part-size", part_size)):
            if value is not None:
                place, advice = "without --engine ray", "leave it out, or name the engine"
                raise RstError(Errors.R521.format(option=option, place=place, advice=advice))
        if not inputs and sys.stdin.isatty():
            raise RstError(Errors.R510)
        chosen = choose_format(file_format, output_path, default=TreeFormat.text)
        output = choose_output(output_path, chosen, resume=resume)
        output.check_apart(given for given in inputs or [] if given != STDIN_MARK)
        files, problems = find_texts(inputs or [STDIN_MARK], output_path)
        for place, error in problems:
            counts.fail(place, error)
        if files:
            nlp = load_pipeline(model, edus)
            texts = read_texts(files, encoding)
            n_texts = len(files) if all(file.has_one_text for file in files) else None
            with kept_when_stopped(output, workers), output.open():
                parse = partial(
                    parse_texts, nlp, edus=edus, batch_size=batch_size, n_process=workers or 1
                )
                parse_into(output, texts, parse, counts, n_texts)
    counts.finish()


@contextmanager
def kept_when_stopped(output: Output, workers: int | None) -> Iterator[None]:
    """Say what there is when the command is stopped in the block."""
    try:
        yield
    except KeyboardInterrupt:
        if output.kept is not None and output.kept.exists():
            advice = "; run it again with --resume to go on" if output.can_resume else ""
            report_problem("parse", f"Stopped. What is finished is in {output.kept}{advice}")
        if workers and workers > 1:  # spaCy's queues would wait for the workers to read them
            os._exit(STOPPED)
        raise


def parse_into(
    output: Output,
    texts: Iterable[Reading],
    parse: Callable[[Iterable[Reading]], Iterable[Outcome]],
    counts: Counts,
    n_texts: int | None,
) -> None:
    """Parse texts and write their trees; what fails is reported, counted and left out."""
    n_begun = n_done = n_readable = 0

    def unfinished() -> Iterator[Reading]:
        nonlocal n_begun, n_readable
        for origin, text in texts:
            if output.has(origin):
                counts.skipped += 1
                continue
            if isinstance(text, str):
                output.check_room(n_readable)
                n_readable += 1
            n_begun += 1
            yield origin, text

    for origin, tree in progress(parse(unfinished()), "Parsing", n_texts):
        n_done += 1
        if isinstance(tree, Exception):
            counts.fail(origin.place, tree)
            continue
        try:
            output.write(origin, tree)
        except ValueError as error:
            counts.fail(origin.place, error)
            continue
        if tree is None:
            report_problem(origin.place, "no text, so no tree")
        counts.count(tree)
    counts.failed += n_begun - n_done  # those that other processes reported
    if not counts.succeeded and not counts.failed:
        raise RstError(Errors.R510)
