"""Make a wheel of a pipeline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from spacy.cli.package import package


def main(
    pipeline: Annotated[Path, typer.Argument(help="Folder of the pipeline")],
    output: Annotated[Path, typer.Argument(help="Folder for the package and its wheel")],
    name: Annotated[str, typer.Option(help="Its name without the language, e.g. rst_sm")],
    version: Annotated[str, typer.Option(help="Its version")],
) -> None:
    """Make a package of a pipeline and build its wheel, which needs no network."""
    output.mkdir(parents=True, exist_ok=True)
    package(pipeline, output, name=name, version=version, create_sdist=False, force=True)
    (source,) = output.glob(f"*_{name}-{version}/")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(output))
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(source), *options], check=True)


if __name__ == "__main__":
    typer.run(main)
