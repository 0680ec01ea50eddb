"""`python -m spacy rst experiments`: train and score a grid of parsers, and write the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import import_code
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors, RstError
from ..lab.grid import Cell, Grid, read_grid
from ..lab.grid_report import write_charts, write_report
from ..lab.runner import BUSY_EXIT_CODE, ResultFolder, State, run_cell, run_cells
from . import rst_app
from ._options import Code, GpuId
from ._util import clean_errors


@rst_app.command("experiments")
def experiments_cli(
    grid_path: Annotated[
        Path,
        typer.Argument(metavar="GRID", help="Grid file (YAML)", exists=True, dir_okay=False),
    ],
    output: Annotated[
        Path, typer.Argument(help="Folder for results, models and tables", file_okay=False)
    ] = Path("experiments"),
    n_process: Annotated[int, typer.Option(min=1, help="Cells to run at a time")] = 1,
    only: Annotated[
        str, typer.Option(help="Run the cells whose names fit this pattern, e.g. 'multi.*'")
    ] = "*",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the cells, run none")] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Write the tables of what is done, run nothing")
    ] = False,
    keep_models: Annotated[bool, typer.Option(help="Keep the best pipeline of each cell")] = True,
    cell: Annotated[
        str | None, typer.Option(help="Run one cell in this process, and write no tables")
    ] = None,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Train parsers on English, on all languages and on each language alone, with several seeds,
    score each on all dev and test parts, and write tables of the means.

    What is done is skipped: run it again after a crash, or from several shells at once. The exit
    code is 1 if a cell failed; the others are run all the same.

    \b
    Examples:
      python -m spacy rst experiments scripts/grids/sample.yml experiments --dry-run
      python -m spacy rst experiments scripts/grids/cpu.yml experiments --n-process 2
    """
    with clean_errors():
        import_code(code)
        grid = read_grid(grid_path)
        folder = ResultFolder(output)
        cells = [known for known in grid.cells() if fnmatchcase(known.name, cell or only)]
        if not cells:
            names = ", ".join(known.name for known in grid.cells())
            raise RstError(Errors.R736.format(pattern=cell or only, names=names))
        if cell is not None:
            state = run_cell(grid, cells[0], folder, gpu_id=gpu_id, keep_model=keep_models)
            raise typer.Exit(0 if state is State.done else BUSY_EXIT_CODE)
        states = {known: folder.state(grid, known) for known in cells}
        if dry_run:
            rows = [(known.name, " ".join(known.languages), states[known]) for known in cells]
            msg.table(rows, header=("Cell", "Learns", "State"), divider=True)
            return
        if not report:
            options = ["--gpu-id", str(gpu_id)]
            options += [] if keep_models else ["--no-keep-models"]
            options += [] if code is None else ["--code", str(code)]
            states |= _run_missing(grid_path, states, folder, n_process, options)
        _report(grid, folder)
        failed = [known.name for known, state in states.items() if state is State.failed]
        if failed and not report:
            msg.fail(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}", exits=1)


def _run_missing(
    grid_path: Path,
    states: Mapping[Cell, State],
    folder: ResultFolder,
    n_process: int,
    options: Sequence[str],
) -> dict[Cell, State]:
    """Run what is not done, with a progress bar over all cells and a line for each at its end."""
    missing = [cell for cell, state in states.items() if state not in (State.done, State.running)]
    ended: dict[Cell, State] = {}
    done = sum(state is State.done for state in states.values())
    if done:
        msg.info(f"{done} of {len(states)} cells are done already")
    bar = tqdm(total=len(states), initial=done, desc="Experiments", unit="cell", disable=None)
    with bar:
        for cell, state in run_cells(
            grid_path, missing, folder, n_process=n_process, options=options
        ):
            ended[cell] = state
            bar.update(state is State.done)
            with bar.external_write_mode():
                _print_end(cell, state, folder)
    if others := [cell.name for cell in states if ended.get(cell, states[cell]) is State.running]:
        msg.warn(f"Another process is at {', '.join(others)}; run this again when it is done")
    return ended


def _print_end(cell: Cell, state: State, folder: ResultFolder) -> None:
    if state is State.failed:
        msg.fail(f"{cell.name} failed; see {folder.log(cell)}")
    elif state is State.done and (result := folder.read(cell)):
        score, times = result["checkpoint"]["score"], result["times"]
        seconds = times["train_seconds"] + times["score_seconds"]
        msg.good(f"{cell.name}: {score:.4f} on dev, {seconds / 60:.1f} minutes")


def _report(grid: Grid, folder: ResultFolder) -> None:
    files = write_report(grid, folder)
    if not files:
        msg.warn("No cell is done, so there is nothing to report")
        return
    if find_spec("matplotlib") is None:
        msg.info("For charts, too: pip install 'spacy_rst[analysis]'")
    else:
        files += write_charts(grid, folder)
    msg.good(f"Wrote {len(files)} files to {folder.report}")
