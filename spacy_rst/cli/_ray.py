"""Parsing with Ray, on this computer or in a cluster.

Ray Data reads the files in tasks and hands documents to a pool of workers, each of which has
loaded the pipeline once. The workers write what they have parsed themselves, so that neither texts
nor trees go through the process that the user has started: it hears of each part how it went.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from spacy.util import minibatch
from tqdm import tqdm

from ..errors import Errors, RstError
from ..util import require_extra
from ._bulk import (
    BulkFile,
    Done,
    PartFolder,
    PartFormat,
    Row,
    find_files,
    group_files,
    is_below,
    make_row,
    open_folder,
    parse_readings,
    part_name,
)
from ._formats import TreeFormat
from ._texts import Origin, Reading, read_texts
from ._util import Tally, report_problem
from .parse import EduUnits, load_pipeline

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
# Reading is so much faster than parsing that one reader feeds many workers.
WORKERS_A_READER = 50
# How often progress is shown, at the least.
TERMINAL_SECONDS = 0.1
LOG_SECONDS = 60


class BulkSettings(NamedTuple):
    """How documents are parsed.

    model (str): The pipeline: a name, or a folder that all workers find.
    edus (EduUnits): Where the EDUs come from.
    encoding (str): The encoding of the inputs.
    batch_size (int): Documents that go through the pipeline together.
    part_size (int): The most documents in a part file.
    workers (int | None): Processes that parse. None for as many as there are cores or GPUs.
    worker_gpus (float): What each has of a GPU.
    address (str | None): The address of a cluster, None for this computer.
    """

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
) -> int:
    """Parse files in bulk: `parse --engine ray`.

    inputs (Sequence[str]): Files and folders, as paths or URIs.
    output (str | None): Where the results go, a folder's path or URI.
    file_format (TreeFormat | None): JSONL, or None for Parquet.
    settings (BulkSettings): How to parse.
    RETURNS (int): The exit code.
    RAISES (RstError): If nothing can be done.
    """
    folder = open_folder(_check_output(output, inputs), _choose_format(file_format))
    files, problems = find_files(inputs, folder.place)
    tally = Tally()
    for place, error in problems:
        tally.fail(place, error)
    if not files:
        return tally.exit_code
    # It is loaded here too, so that what is wrong with it is told before anything is started.
    meta = load_pipeline(settings.model, settings.edus).meta
    run = {
        "model": settings.model,
        "pipeline": f"{meta['lang']}_{meta['name']} {meta['version']}",
        "edus": settings.edus.value,
        "encoding": settings.encoding,
        "format": folder.part_format.value,
    }
    if os.path.isdir(settings.model):  # workers may run elsewhere
        settings = settings._replace(model=os.path.abspath(settings.model))
    one_each = all(file.text_file.has_one_text for file in files)
    in_terminal = sys.stderr.isatty()
    try:
        with folder.open():
            folder.check_run(run)
            with tqdm(
                desc="Parsing",
                total=len(files) if one_each else None,
                unit="doc",
                mininterval=TERMINAL_SECONDS if in_terminal else LOG_SECONDS,
            ) as bar:
                for n_finished in parse_on_ray(files, folder, settings, tally):
                    bar.update(n_finished - bar.n)
    except KeyboardInterrupt:
        report_problem(
            "parse", f"Stopped. What is finished is in {folder.place}; run it again to go on"
        )
        raise
    if not tally.succeeded and not tally.failed:
        raise RstError(Errors.R520)
    tqdm.write(str(tally), file=sys.stderr)
    return tally.exit_code


def _check_output(output: str | None, inputs: Sequence[str]) -> str:
    """Find out whether results can be written where they shall be."""
    if not inputs or "-" in inputs:
        advice = "name files or folders"
        raise RstError(Errors.R563.format(option="Standard input", advice=advice))
    if output is None:
        advice = "name a folder with --output"
        raise RstError(Errors.R563.format(option="Standard output", advice=advice))
    for given in inputs:
        if is_below(output, given):
            raise RstError(Errors.R522.format(output=output, input=given))
    return output


def _choose_format(file_format: TreeFormat | None) -> PartFormat:
    if file_format is None:
        return PartFormat.parquet
    if file_format is TreeFormat.jsonl:
        return PartFormat.jsonl
    advice = "results are Parquet, or JSONL with --format jsonl"
    raise RstError(Errors.R563.format(option=f"--format {file_format}", advice=advice))


@contextmanager
def ray_session(address: str | None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a cluster, or start Ray on this computer and stop it at the end.

    address (str | None): The cluster's address, None for this computer.
    workers (int | None): Processes that this computer shall run, None for one a core.
    YIELDS (ModuleType): The module `ray`.
    RAISES (RstError): R090 without Ray, R569 if it does not start or answer.
    """
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
        raise RstError(Errors.R569.format(error=error)) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def parse_on_ray(
    files: Sequence[BulkFile],
    folder: PartFolder,
    settings: BulkSettings,
    tally: Tally,
) -> Iterator[int]:
    """Parse files, each document into a row of a part file.

    files (Sequence[BulkFile]): What to read.
    folder (PartFolder): Where the parts go; it is open.
    settings (BulkSettings): How to parse.
    tally (Tally): Counts what becomes of the documents.
    YIELDS (int): Whenever a part is finished, how many documents are.
    RAISES (RstError): If Ray cannot be used, or does not go on.
    """
    done = folder.done()
    tally.skipped += sum(len(documents) for documents in done.values())
    groups = [group_message(group, done) for group in group_files(files, settings.part_size)]
    with ray_session(settings.address, settings.workers) as ray:
        try:
            for outcome in _outcomes(ray, groups, folder, settings):
                for place, error in json.loads(outcome["errors"]):
                    report_problem(place, error)
                    tally.failed += 1
                tally.written += outcome["trees"]
                tally.empty += outcome["empty"]
                yield tally.succeeded + tally.failed
        except Exception as error:
            raise RstError(Errors.R571.format(place=folder.place, error=error)) from error


def _outcomes(
    ray: Any, groups: Sequence[str], folder: PartFolder, settings: BulkSettings
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
        [{"group": group} for group in groups], override_num_blocks=len(groups)
    ).map_batches(
        read_group,
        batch_size=None,
        fn_kwargs={"encoding": settings.encoding, "size": settings.part_size},
        num_cpus=0,  # the workers may have taken all cores
        concurrency=min(2 + workers // WORKERS_A_READER, len(groups)),
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


def group_message(files: Sequence[BulkFile], done: Done) -> str:
    """Tell a reading task what to read.

    files (Sequence[BulkFile]): The files.
    done (Done): The documents of all files that are finished.
    RETURNS (str): The files and their finished documents, as JSON.
    """
    finished = {file.source: sorted(done[file.source]) for file in files if file.source in done}
    return json.dumps({"files": files, "done": finished})


def unfinished_readings(message: str, encoding: str) -> Iterator[dict[str, Any]]:
    """Read the documents of a group that are not finished.

    message (str): What `group_message` wrote.
    encoding (str): The encoding of the files.
    YIELDS (dict[str, Any]): What was read, in values that fit into a table.
    """
    group = json.loads(message)
    for file in (BulkFile(*values) for values in group["files"]):
        done = {(name, number) for name, number in group["done"].get(file.source, ())}
        for origin, text in read_texts([file.text_file], encoding):
            if (origin.name, origin.number) in done:
                continue
            failed = isinstance(text, Exception)
            yield {
                "source": file.source,
                "name": origin.name,
                "number": origin.number,
                "place": origin.place,
                "path": str(origin.path),
                "fields": json.dumps(origin.fields),
                "text": None if failed else text,
                "error": str(text) if failed else None,
            }


def to_reading(row: dict[str, Any]) -> tuple[str, Reading]:
    """RETURNS (tuple[str, Reading]): What `unfinished_readings` packed, and its file before it."""
    origin = Origin(
        row["name"], row["place"], Path(row["path"]), row["number"], json.loads(row["fields"])
    )
    text = row["text"]
    return row["source"], (origin, RstError(row["error"]) if text is None else text)


def read_group(batch: dict[str, Any], encoding: str, size: int) -> Iterator[Any]:
    """Read groups of files: a task of Ray Data.

    batch (dict[str, Any]): The groups' messages.
    encoding (str): The encoding of the files.
    size (int): The most documents in a part.
    YIELDS (pyarrow.Table): Parts, each in a table of one row.
    """
    import pyarrow as pa

    strings = ("source", "name", "place", "path", "fields", "text", "error")
    reading = pa.struct({**dict.fromkeys(strings, pa.string()), "number": pa.int64()})
    schema = pa.schema({"readings": pa.list_(reading)})
    for message in batch["group"]:
        for readings in minibatch(unfinished_readings(message, encoding), size):
            yield pa.Table.from_pylist([{"readings": readings}], schema=schema)


class Attempts:
    """Remembers what was begun and not finished: it outlives the workers."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, name: str) -> int:
        """Begin something.

        name (str): What it is called.
        RETURNS (int): How often it was begun before without being finished.
        """
        self._begun[name] += 1
        return self._begun[name] - 1

    def finish(self, name: str) -> None:
        """Finish something.

        name (str): What it is called.
        """
        del self._begun[name]


class Worker:
    """Has a pipeline, and turns documents into part files: an actor of Ray Data.

    folder (PartFolder): Where the parts go.
    settings (BulkSettings): How to parse.
    attempts (ActorHandle): An `Attempts`.
    """

    def __init__(self, folder: PartFolder, settings: BulkSettings, attempts: Any) -> None:
        if settings.worker_gpus:
            import spacy

            spacy.require_gpu()
        self._nlp = load_pipeline(settings.model, settings.edus)
        self._folder = folder
        self._settings = settings
        self._attempts = attempts

    def __call__(self, table: Any) -> dict[str, list[Any]]:
        """Parse documents and write them as a part.

        table (pyarrow.Table): The documents, as `read_group` gives them.
        RETURNS (dict[str, list[Any]]): One row that tells how it went.
        """
        packed = table["readings"][0].as_py()
        readings = [to_reading(row) for row in packed]
        name = part_name((row["source"], row["name"], row["number"]) for row in packed)
        if self._begin(name) < MAX_DEATHS:
            rows = self._parse(readings)
        else:
            rows = [self._parse_alone(f"{name} {n}", one) for n, one in enumerate(readings)]
        self._folder.write_part(rows)
        self._finish(name)
        places = [origin.place for _, (origin, _) in readings]
        errors = [
            (place, row["error"])
            for place, row in zip(places, rows, strict=True)
            if row["error"] is not None
        ]
        n_trees = sum(row["tree"] is not None for row in rows)
        n_empty = len(rows) - n_trees - len(errors)
        return {"trees": [n_trees], "empty": [n_empty], "errors": [json.dumps(errors)]}

    def _parse(self, readings: Sequence[tuple[str, Reading]]) -> list[Row]:
        return parse_readings(self._nlp, readings, self._settings.edus, self._settings.batch_size)

    def _parse_alone(self, name: str, reading: tuple[str, Reading]) -> Row:
        if self._begin(name) < MAX_DEATHS:
            (row,) = self._parse([reading])
        else:
            source, (origin, _) = reading
            row = make_row(source, origin, None, Errors.R568)
        self._finish(name)
        return row

    def _begin(self, name: str) -> int:
        import ray

        return int(ray.get(self._attempts.begin.remote(name)))

    def _finish(self, name: str) -> None:
        import ray

        ray.get(self._attempts.finish.remote(name))
