"""Options that several commands have, so that they are spelt and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._formats import TreeFormat

TREES_HELP = "Trees: rs3, rs4, dis, DISRPT, JSON, a DocBin, or a folder of these"

BatchSize = Annotated[int | None, typer.Option(min=1, help="Documents to buffer")]
Code = Annotated[Path | None, typer.Option("--code", "-c", help="Python file to import first")]
Format = Annotated[
    TreeFormat | None,
    typer.Option("--format", "-f", help="What to write. Default: as OUTPUT ends"),
]
GpuId = Annotated[int, typer.Option("--gpu-id", "-g", help="GPU to use, -1 for the CPU")]
Languages = Annotated[
    str | None, typer.Option(help="Take these languages alone, with commas between them")
]
LargestTree = Annotated[
    bool,
    typer.Option("--largest-tree", help="Keep the largest tree of a document that has several"),
]
Model = Annotated[
    str,
    typer.Option("--model", "-m", help="A pipeline: the bundled one, a package's name or a folder"),
]
OutputPlace = Annotated[
    str | None,
    typer.Option("--output", "-o", help="Folder or file to write. Default: standard output"),
]
OutputFile = Annotated[Path | None, typer.Option("--output", "-o", help="File to write")]
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a run that was stopped or failed in part")
]
TreesInput = Annotated[Path, typer.Argument(metavar="INPUT", help=TREES_HELP)]
Treebanks = Annotated[
    str | None, typer.Option(help="Take these treebanks alone, with commas between them")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes to run")]
