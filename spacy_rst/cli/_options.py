"""Options that several commands have, so that they are spelt and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from spacy.cli._util import Arg, Opt

from ._formats import TreeFormat

TREES_HELP = "Trees: rs3, rs4, dis, DISRPT, JSON, a DocBin, or a folder of these"

BatchSize = Annotated[int | None, Opt(min=1, help="Documents to buffer")]
Classes = Annotated[
    bool, Opt("--classes", help="Take the 18 classes instead of the files' own labels")
]
Code = Annotated[Path | None, Opt("--code", "-c", help="Python file to import first")]
Corpora = Annotated[
    list[Path], Arg(metavar="CORPUS...", help="Converted treebanks: .spacy files, or their folders")
]
EduSource = Annotated[
    Literal["gold", "predicted", "both"],
    Opt(help="Parse gold EDUs on gold tokens, run the pipeline on raw text, or do both"),
]
Format = Annotated[
    TreeFormat | None, Opt("--format", "-f", help="What to write. Default: as OUTPUT ends")
]
GpuId = Annotated[int, Opt("--gpu-id", "-g", help="GPU to use, -1 for the CPU")]
LargestTree = Annotated[
    bool, Opt("--largest-tree", help="Keep the largest tree of a document that has several")
]
Model = Annotated[
    str, Opt("--model", "-m", help="A pipeline: the bundled one, a package's name or a folder")
]
ModelArgument = Annotated[
    str, Arg(metavar="MODEL", help="A pipeline: xx_rst_sm, a package or a folder")
]
OutputPlace = Annotated[
    str | None, Opt("--output", "-o", help="Folder or file to write. Default: standard output")
]
Resume = Annotated[
    bool, Opt("--resume", help="Go on with a run that was stopped or failed in part")
]
TreesInput = Annotated[Path, Arg(metavar="INPUT", help=TREES_HELP)]
