"""Running the cells of a grid: each in a process of its own, each with one result file."""

from __future__ import annotations

import json
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

import srsly
from filelock import FileLock, Timeout
from pydantic import BaseModel
from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import DIR_MODEL_BEST, train
from spacy.util import load_model
from thinc.api import require_gpu

from ..doc import NAME_KEY, SOURCE_KEY, TREEBANK_KEY, edu_places, get_meta, original_language
from ..errors import Errors, RstError
from ..evaluation import EDU_SOURCES, make_report, makes_edus, parse_docs, read_gold
from ..scoring.parseval import SpanCounts
from ..scoring.scorer import count_example
from ..scoring.segmentation import count_edus
from ..util import write_atomically
from .curve import best_point
from .grid import Cell, Grid, cell_config, fingerprint, hash_corpus

PACKAGES = ("spacy_rst", "spacy", "thinc", "torch", "spacy-transformers", "numpy")
SCORED_SPLITS = ("dev", "test")
# The exit code for "try again later" of Unix' sysexits.h.
BUSY_EXIT_CODE = 75
LOCK_SECONDS = 5.0
POLL_SECONDS = 0.1
STOP_SECONDS = 10.0
LOG_TAIL = 20


class _Point(BaseModel):
    step: float
    score: float


class _Document(BaseModel):
    lang: str | None
    treebank: str | None
    source: str | None
    rst: SpanCounts
    original: SpanCounts


class _Result(BaseModel):
    """The parts of a result file that are read again."""

    fingerprint: str
    checkpoint: _Point
    times: dict[str, float | str]
    curve: list[_Point]
    documents: dict[str, dict[str, list[_Document]]]


class State(StrEnum):
    """How far a cell is."""

    done = "done"
    running = "running"
    failed = "failed"
    outdated = "outdated"
    waiting = "waiting"


def _place(folder: str, ending: str = "") -> Callable[[ResultFolder, Cell], Path]:
    return lambda self, cell: self.root / folder / f"{cell.name}{ending}"


@dataclass(frozen=True)
class ResultFolder:
    """Where the files of a grid are: a folder for each kind, with one file or folder per cell."""

    root: Path

    result = _place("cells", ".json")  # there once the cell is done
    failure = _place("failed", ".json")  # what is known about the last failure
    log = _place("logs", ".log")  # what the cell's processes printed
    model = _place("models")  # the best pipeline
    work = _place("work")  # what is needed while the cell is trained
    lock = _place("work", ".lock")  # held by the process that runs the cell

    @property
    def report(self) -> Path:
        """RETURNS (Path): The tables and pictures."""
        return self.root / "report"

    def state(self, grid: Grid, cell: Cell) -> State:
        """RETURNS (State): How far a cell is; outdated if there is a result of another config or
        other data."""
        result = self.read(cell)
        if result is not None and result["fingerprint"] == fingerprint(grid, cell):
            return State.done
        if _is_locked(self.lock(cell)):
            return State.running
        if self.failure(cell).exists():
            return State.failed
        return State.waiting if result is None else State.outdated

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """RETURNS (dict[str, Any] | None): The cell's result, if it is there."""
        path = self.result(cell)
        if not path.exists():
            return None
        try:
            result = json.loads(path.read_text(encoding="utf8"))
            _Result.model_validate(result)
        except (ValueError, RecursionError) as error:
            raise RstError(Errors.R734.format(path=path, error=error)) from error
        return result


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


def run_cell(
    grid: Grid, cell: Cell, folder: ResultFolder, *, gpu_id: int = -1, keep_model: bool = True
) -> State:
    """Run one cell in this process, unless it is done or being run by another one.

    RETURNS (State): Done or running.
    """
    work, model = folder.work(cell), folder.model(cell)
    work.parent.mkdir(parents=True, exist_ok=True)
    try:
        # The system frees the lock when the process ends, however it does. The patience is for
        # those who only look whether it is taken.
        with FileLock(folder.lock(cell), timeout=LOCK_SECONDS):
            if folder.state(grid, cell) is State.done:
                return State.done
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            result = _train_and_score(grid, cell, work, gpu_id=gpu_id)
            shutil.rmtree(model, ignore_errors=True)
            if keep_model:
                model.parent.mkdir(exist_ok=True)
                (work / DIR_MODEL_BEST).rename(model)
            write_atomically(folder.result(cell), json.dumps(result, ensure_ascii=False) + "\n")
            folder.failure(cell).unlink(missing_ok=True)
            shutil.rmtree(work)
    except Timeout:
        return State.running
    return State.done


def _train_and_score(grid: Grid, cell: Cell, work: Path, *, gpu_id: int) -> dict[str, Any]:
    """Train a pipeline as `spacy train` does and score its best checkpoint. The result has all that
    is worth knowing about the cell; the counts of each document make every score again."""
    identity = fingerprint(grid, cell)
    approach = grid.approaches[cell.approach]
    config = cell_config(grid, cell)
    logger = config["training"]["logger"]
    curve_path = str(work / "curve.jsonl")
    config["training"]["logger"] = {"@loggers": "spacy_rst.CurveLogger.v1", "path": curve_path}
    if gpu_id >= 0:
        require_gpu(gpu_id)
    started, clock = _now(), time.perf_counter()
    nlp = init_nlp(config, use_gpu=gpu_id)
    modes = EDU_SOURCES[grid.edus]
    if "predicted" in modes and not any(makes_edus(nlp, name) for name in nlp.pipe_names):
        raise RstError(Errors.R735.format(path=approach.config))
    train(nlp, work, use_gpu=gpu_id)
    trained = time.perf_counter()
    full_config = nlp.config.copy()
    full_config["training"]["logger"] = logger
    curve = list(srsly.read_jsonl(curve_path))
    chosen = best_point(curve)
    best = load_model(work / DIR_MODEL_BEST)
    scores, documents = _score_splits(best, grid, approach.corpus, modes)
    return {
        "cell": cell.name,
        "fingerprint": identity,
        **asdict(cell),
        "treebanks": grid.languages,
        "edus": grid.edus,
        "checkpoint": {
            "chosen_on": [f"dev: {language}" for language in cell.languages],
            "chosen_by": {k: v for k, v in full_config["training"]["score_weights"].items() if v},
            **{key: chosen[key] for key in ("score", "step", "epoch")},
        },
        "scores": scores,
        "documents": documents,
        "curve": curve,
        "times": {
            "started": started,
            "finished": _now(),
            "train_seconds": round(trained - clock, 1),
            "score_seconds": round(time.perf_counter() - trained, 1),
        },
        "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
        "machine": {"system": platform.platform(), "gpu_id": gpu_id},
        "data": {"corpus": str(approach.corpus), "sha256": hash_corpus(approach.corpus)},
        "config": full_config,
    }


def _score_splits(
    nlp: Language, grid: Grid, corpus: Path, modes: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Score a pipeline on the development and the test data of all languages of a grid: by split
    and mode of EDUs, what `make_report` says, and the counts of each document."""
    scores: dict[str, dict[str, Any]] = {split: {} for split in SCORED_SPLITS}
    documents: dict[str, dict[str, Any]] = {split: {} for split in SCORED_SPLITS}
    for split in SCORED_SPLITS:
        docs = read_gold([corpus / split], nlp.vocab, treebanks=grid.treebanks())
        for mode in modes:
            examples = parse_docs(nlp, docs, edus=mode)
            scores[split][mode] = make_report(examples)
            documents[split][mode] = list(map(document_counts, examples))
    return scores, documents


def document_counts(example: Example) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The name, language, treebank and file of a parsed document, the
    fields of `SpanCounts` for each metric, and those of `EduCounts`."""
    gold = example.reference
    edus = count_edus(edu_places(gold), edu_places(example.predicted))
    return {
        "name": get_meta(gold, NAME_KEY),
        "treebank": get_meta(gold, TREEBANK_KEY),
        "source": get_meta(gold, SOURCE_KEY),
        "lang": original_language(gold),
        **{method: list(counts) for method, counts in count_example(example).items()},
        "edus": list(edus),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def run_cells(
    grid_path: Path,
    cells: Sequence[Cell],
    folder: ResultFolder,
    *,
    n_process: int = 1,
    options: Sequence[str] = (),
) -> Iterator[tuple[Cell, State]]:
    """Run cells, each in a process of its own, so that their memory is given back and a crash ends
    one cell only. When the generator is closed or interrupted, the processes are ended.

    n_process (int): How many to run at a time.
    options (Sequence[str]): Further options of `python -m spacy rst experiments`.
    YIELDS (tuple[Cell, State]): Each cell at its end: done, failed, or running if another process
        was at it already.
    """
    waiting = deque(cells)
    running: dict[subprocess.Popen, Cell] = {}
    try:
        while waiting or running:
            while waiting and len(running) < n_process:
                cell = waiting.popleft()
                running[_start(grid_path, cell, folder, options)] = cell
            ended = [process for process in running if process.poll() is not None]
            for process in ended:
                cell = running.pop(process)
                yield cell, _outcome(process.returncode, cell, folder)
            if not ended:
                time.sleep(POLL_SECONDS)
    finally:
        _stop(running)


def _start(
    grid_path: Path, cell: Cell, folder: ResultFolder, options: Sequence[str]
) -> subprocess.Popen:
    log = folder.log(cell)
    log.parent.mkdir(parents=True, exist_ok=True)
    command = ["rst", "experiments", str(grid_path), str(folder.root), "--cell", cell.name]
    # Another process may be at this cell, so that its lines must stay.
    with log.open("a", encoding="utf8") as lines:
        return subprocess.Popen(
            [sys.executable, "-m", "spacy", *command, *options],
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=subprocess.STDOUT,
        )


def _outcome(exit_code: int, cell: Cell, folder: ResultFolder) -> State:
    if exit_code == 0:
        return State.done
    if exit_code == BUSY_EXIT_CODE:
        return State.running
    lines = folder.log(cell).read_text(encoding="utf8", errors="replace").splitlines()
    failure = {
        "cell": cell.name,
        "exit_code": exit_code,
        "signal": signal.Signals(-exit_code).name if exit_code < 0 else None,
        "time": _now(),
        "log": lines[-LOG_TAIL:],
    }
    write_atomically(folder.failure(cell), json.dumps(failure, indent=2, ensure_ascii=False) + "\n")
    return State.failed


def _stop(processes: Collection[subprocess.Popen]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
