"""Options that several subcommands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BatchSize = Annotated[int | None, typer.Option(min=1, help="Documents to buffer")]
Code = Annotated[Path | None, typer.Option("--code", "-c", help="Python file to import first")]
GpuId = Annotated[int, typer.Option("--gpu-id", "-g", help="GPU to use, -1 for the CPU")]
Languages = Annotated[
    str | None, typer.Option(help="Take these languages alone, with commas between them")
]
Treebanks = Annotated[
    str | None, typer.Option(help="Take these treebanks alone, with commas between them")
]
