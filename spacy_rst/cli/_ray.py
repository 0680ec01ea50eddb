"""Parsing with Ray, on this computer or in a cluster.

Ray Data reads the files in tasks and hands documents to a pool of workers, each of which has
loaded the pipeline once. The workers write what they have parsed themselves, so that neither texts
nor trees go through the process that the user has started: it hears of each part how it went.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import spacy
from spacy.util import minibatch
from tqdm import tqdm

from ..errors import Errors, RstError
from ..util import require_extra
from ._bulk import PartFolder, Row, make_row, parse_rows, part_name
from ._formats import TreeFormat
from ._inputs import STDIN_MARK, InputFile, Reading, find_texts, is_below, is_uri, read_texts
from ._parsing import EduUnits, load_pipeline
from ._util import Counts, report_problem

# Ray reads these when it is imported. The second makes it listen on loopback only, as it does by
# itself on the systems that it is named after. The third keeps its C++ part from writing into ours.
ALONE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
# How often a worker may die over a part, and over one of its documents alone: the first deaths
# may have had other reasons.
MAX_DEATHS = 2
# Files to read together, each with the names and numbers of its documents that are finished.
Group = Sequence[tuple[InputFile, set[tuple[str, int]]]]


class BulkSettings(NamedTuple):
    """How documents are parsed: the options of `parse`."""

    model: str
    edus: EduUnits
    encoding: str
    batch_size: int
    part_size: int
    workers: int | None
    worker_gpus: float
    address: str | None


def parse_in_bulk(
    inputs: Sequence[str],
    output: str | None,
    file_format: TreeFormat | None,
    settings: BulkSettings,
    counts: Counts,
) -> None:
    """Parse files in bulk: `parse --engine ray`. The output is a folder's path or URI."""
    folder = _choose_folder(inputs, output, file_format)
    files, problems = find_texts(inputs, folder.place)
    for place, error in problems:
        counts.fail(place, error)
    if not files:
        return
    # Also loaded here, so that its problems are reported before Ray starts.
    meta = load_pipeline(settings.model, settings.edus).meta
    run = {
        "model": settings.model,
        "pipeline": f"{meta['lang']}_{meta['name']} {meta['version']}",
        "edus": settings.edus.value,
        "encoding": settings.encoding,
        "format": folder.part_format,
    }
    if os.path.isdir(settings.model):  # workers may run elsewhere
        settings = settings._replace(model=os.path.abspath(settings.model))
    try:
        with folder.open():
            folder.check_run(run)
            with tqdm(
                desc="Parsing",
                total=len(files) if all(file.has_one_text for file in files) else None,
                unit="doc",
                mininterval=0.1 if sys.stderr.isatty() else 60,  # seconds; not to fill up logs
            ) as bar:
                for n_finished in _parse_files(files, folder, settings, counts):
                    bar.update(n_finished - bar.n)
    except KeyboardInterrupt:
        advice = "run it again to go on"
        report_problem("parse", f"Stopped. What is finished is in {folder.place}; {advice}")
        raise
    if not counts.succeeded and not counts.failed:
        raise RstError(Errors.R510)


def _choose_folder(
    inputs: Sequence[str], output: str | None, file_format: TreeFormat | None
) -> PartFolder:
    """Check that results can be written to the output in this format."""
    option = advice = ""
    if not inputs or STDIN_MARK in inputs:
        option, advice = "Standard input", "name files or folders"
    elif output is None:
        option, advice = "Standard output", "name a folder with --output"
    elif file_format not in (None, TreeFormat.jsonl):
        option, advice = f"--format {file_format}", "leave it out for Parquet, or take jsonl"
    if option or output is None:
        place = "with --engine ray"
        raise RstError(Errors.R521.format(option=option, place=place, advice=advice))
    for given in inputs:
        if is_below(output, given):
            problem = f"it could overwrite {given}, or be read as a text later"
            raise RstError(Errors.R522.format(output=output, problem=problem))
    return PartFolder(output, "parquet" if file_format is None else "jsonl")


@contextmanager
def ray_session(address: str | None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a cluster, or start Ray on this computer and stop it at the end."""
    if address is None:
        os.environ.update({name: os.environ.get(name, ALONE[name]) for name in ALONE})
    with require_extra("Ray", "ray"):
        import ray
        import ray.data
    alone = {"address": "local", "num_cpus": workers, "include_dashboard": False}
    where = {"address": address} if address else alone
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray has many, with no class in common
        advice = "check --address, or leave it out to run on this computer"
        raise RstError(Errors.R569.format(error=error, advice=advice)) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _parse_files(
    files: Sequence[InputFile], folder: PartFolder, settings: BulkSettings, counts: Counts
) -> Iterator[int]:
    """Parse files and count what becomes of their documents; with each part that is finished, yield
    how many documents are."""
    done = folder.done()
    counts.skipped += sum(map(len, done.values()))
    groups = [
        [(_absolute(file), done.get(file.source, set())) for file in group]
        for group in group_files(files, settings.part_size)
    ]
    with ray_session(settings.address, settings.workers) as ray:
        try:
            for outcome in _outcomes(ray, groups, folder, settings):
                for place, error in json.loads(outcome["errors"]):
                    counts.fail(place, error)
                counts.written += outcome["trees"]
                counts.empty += outcome["empty"]
                yield counts.succeeded + counts.failed
        except Exception as error:
            advice = f"run the same command again: it goes on from what is in {folder.place}"
            raise RstError(Errors.R569.format(error=error, advice=advice)) from error


def group_files(files: Sequence[InputFile], size: int) -> list[list[InputFile]]:
    """Divide files for reading: those with many documents alone, others together."""
    texts = [file for file in files if file.has_one_text]
    tables = [[file] for file in files if not file.has_one_text]
    return [*tables, *minibatch(texts, size)]


def _absolute(file: InputFile) -> InputFile:
    """Name a file as workers in other folders find it."""
    is_path = not is_uri(file.location)
    return file._replace(location=os.path.realpath(file.location)) if is_path else file


def _outcomes(
    ray: Any, groups: Sequence[Group], folder: PartFolder, settings: BulkSettings
) -> Iterator[dict[str, Any]]:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    attempts = ray.remote(Attempts).options(num_cpus=0, max_restarts=-1).remote()
    kind, share = ("GPU", settings.worker_gpus) if settings.worker_gpus else ("CPU", 1)
    workers = settings.workers or max(1, int(ray.cluster_resources().get(kind, 1) / share))
    # Each part is a row, and this makes each row a task: the unit in which workers share the work.
    context.target_max_block_size = 1
    parts = ray.data.from_items(
        [{"group": pickle.dumps(group)} for group in groups], override_num_blocks=len(groups)
    ).map_batches(
        read_parts,
        batch_size=None,
        batch_format="pyarrow",
        fn_kwargs={"encoding": settings.encoding, "size": settings.part_size},
        num_cpus=0,  # the workers may have taken all cores
        # Reading is so much faster than parsing that one reader feeds many workers.
        concurrency=min(2 + workers // 50, len(groups)),
    )
    outcomes = parts.map_batches(
        Worker,
        batch_size=1,
        batch_format="pyarrow",
        fn_constructor_kwargs={"folder": folder, "settings": settings, "attempts": attempts},
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=0 if settings.worker_gpus else 1,
        num_gpus=settings.worker_gpus or None,
    )
    yield from outcomes.iter_rows()


def read_parts(table: Any, encoding: str, size: int) -> Iterator[Any]:
    """Read groups of files: a task of Ray Data. Each part is a row with its pickled readings."""
    import pyarrow as pa

    for group in table["group"].to_pylist():
        for readings in minibatch(unfinished_readings(pickle.loads(group), encoding), size):
            yield pa.table({"readings": [pickle.dumps(readings)]})


def unfinished_readings(group: Group, encoding: str) -> Iterator[Reading]:
    """Read the documents of a group that are not finished."""
    for file, done in group:
        for origin, text in read_texts([file], encoding):
            if (origin.name, origin.number) not in done:
                yield origin, text


class Attempts:
    """Remembers what was begun and not finished: it outlives the workers."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, name: str) -> int:
        """RETURNS (int): How often this was begun before without being finished."""
        self._begun[name] += 1
        return self._begun[name] - 1

    def finish(self, name: str) -> None:
        """Forget what was finished."""
        del self._begun[name]


class Worker:
    """Has a pipeline, and turns documents into part files: an actor of Ray Data."""

    def __init__(self, folder: PartFolder, settings: BulkSettings, attempts: Any) -> None:
        if settings.worker_gpus:
            spacy.require_gpu()
        self._nlp = load_pipeline(settings.model, settings.edus)
        self._folder = folder
        self._settings = settings
        self._attempts = attempts

    def __call__(self, table: Any) -> dict[str, list[Any]]:
        """Parse a row of `read_parts`, write a part, and return one row with the counts."""
        readings: list[Reading] = pickle.loads(table["readings"][0].as_py())
        name = part_name([origin.key for origin, _ in readings])
        rows = self._parse(name, readings)
        if rows is None:
            rows = [
                row
                for number, (origin, text) in enumerate(readings)
                for row in self._parse(f"{name} {number}", [(origin, text)])
                or [make_row(origin, RstError(Errors.R568))]
            ]
        self._folder.write_part(rows)
        errors = [
            (origin.place, row["error"])
            for (origin, _), row in zip(readings, rows, strict=True)
            if row["error"] is not None
        ]
        n_trees = sum(row["tree"] is not None for row in rows)
        n_empty = len(rows) - n_trees - len(errors)
        return {"trees": [n_trees], "empty": [n_empty], "errors": [json.dumps(errors)]}

    def _parse(self, name: str, readings: Sequence[Reading]) -> list[Row] | None:
        """Parse documents, unless workers have died of them."""
        import ray

        if ray.get(self._attempts.begin.remote(name)) >= MAX_DEATHS:
            return None
        rows = parse_rows(self._nlp, readings, self._settings.edus, self._settings.batch_size)
        ray.get(self._attempts.finish.remote(name))
        return rows
