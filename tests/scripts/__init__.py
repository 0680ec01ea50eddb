"""The scripts of the project, which import each other without a package."""

import importlib
import shutil
import sys
from pathlib import Path

import typer
from click.testing import Result
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))


def invoke(app: typer.Typer, *arguments: object, **options: object) -> Result:
    """Run a command in this process, without an error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == 0, f"{arguments}\n{result.output}\n{result.exception!r}"
    return result


def script_app(name: str) -> typer.Typer:
    """The command line of a script."""
    module = importlib.import_module(name)
    if hasattr(module, "app"):
        return module.app
    app = typer.Typer()
    app.command()(module.main)
    return app


def make_checkout(folder: Path) -> None:
    """Copy what a user of the project has."""
    for name in ("assets", "scripts"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "project.yml", folder)
    (folder / "spacy_rst").symlink_to(ROOT / "spacy_rst")
