"""What the subcommands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import typer
from spacy.cli._util import parse_config_overrides
from tqdm import tqdm
from typer.core import TyperCommand

from ..display.characters import clean_text
from ..errors import RstError
from ..tree import RstTree
from ..util import require_extra

Item = TypeVar("Item")
# File systems allow 255 bytes; the number of a repeated name and the ending need some of them.
MAX_NAME_BYTES = 180


class ParseCommand(TyperCommand):
    """A command for which wrong usage ends with exit code 1: 2 means that some inputs failed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments. See click's `Command.parse_args`."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer does not give its class for wrong usage a public name.
            if isinstance(error, typer.BadParameter.__bases__):
                error.exit_code = 1  # type: ignore[attr-defined]
            raise


class OverridesCommand(TyperCommand):
    """A command that takes settings of a pipeline's config as options, and keeps them in
    `ctx.meta["overrides"]`. They may stand anywhere: click would take them for further files, if
    the command has any number of these."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments. See click's `Command.parse_args`."""
        overrides, others = split_overrides(args)
        ctx.meta["overrides"] = parse_config_overrides(overrides)
        return super().parse_args(ctx, others)


def split_overrides(args: list[str]) -> tuple[list[str], list[str]]:
    """Tell settings of a config from other arguments: only their names have dots.

    args (list[str]): The arguments of a command.
    RETURNS (tuple[list[str], list[str]]): Settings with their values, and the others.
    """
    overrides: list[str] = []
    others: list[str] = []
    remaining = iter(args)
    for arg in remaining:
        name, equals, _ = arg.partition("=")
        if not name.startswith("--") or "." not in name:
            others.append(arg)
            continue
        overrides.append(arg)
        if not equals:
            overrides += [value for value in (next(remaining, None),) if value is not None]
    return overrides, others


@contextmanager
def clean_errors(place: str = "rst") -> Iterator[None]:
    """Show a problem as one message, without a traceback, and end with exit code 1.

    place (str): What the message begins with: the command.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of the output has seen enough: typer ends quietly
        raise
    except (RstError, OSError) as error:
        report_problem(place, error)
        raise typer.Exit(1) from error


def report_problem(place: str, problem: BaseException | str) -> None:
    """Report a problem in one line on standard error, away from the trees.

    place (str): Where it occurred.
    problem (BaseException | str): What occurred.
    """
    message = f"{place}: {str(problem) or type(problem).__name__}"
    tqdm.write(clean_text(message, "\ufffd"), file=sys.stderr)


@dataclass(slots=True)
class Tally:
    """What became of the inputs.

    written (int): Trees written.
    empty (int): Documents without text, which have no tree.
    skipped (int): Documents that had been parsed before.
    failed (int): Inputs that could not be read or parsed.
    """

    written: int = 0
    empty: int = 0
    skipped: int = 0
    failed: int = 0

    def fail(self, place: str, error: Exception) -> None:
        """Report and count an input that failed.

        place (str): The file, and the line where it has several documents.
        error (Exception): The reason.
        """
        report_problem(place, error)
        self.failed += 1

    def count(self, tree: RstTree | None) -> None:
        """Count an input that did not fail.

        tree (RstTree | None): Its tree.
        """
        if tree is None:
            self.empty += 1
        else:
            self.written += 1

    @property
    def succeeded(self) -> int:
        """RETURNS (int): Inputs that did not fail."""
        return self.written + self.empty + self.skipped

    @property
    def exit_code(self) -> int:
        """RETURNS (int): 0 if nothing failed, 1 if everything did, else 2."""
        if not self.failed:
            return 0
        return 2 if self.succeeded else 1

    def __str__(self) -> str:
        counts = {"without text": self.empty, "skipped": self.skipped, "failed": self.failed}
        others = [f"{count} {what}" for what, count in counts.items() if count]
        return ", ".join([f"Trees: {self.written}", *others])


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterable[Item]:
    """Show a progress bar on standard error, if that is a terminal.

    items (Iterable): What to go through.
    description (str): What is being done.
    total (Optional[int]): How many there are, where `items` cannot tell.
    RETURNS (Iterable): The same items.
    """
    return tqdm(items, desc=description, total=total, unit="file", disable=not sys.stderr.isatty())


def load_arrow() -> ModuleType:
    """RETURNS (ModuleType): `_arrow`, what we do with pyarrow.
    RAISES (RstError): If pyarrow is not installed.
    """
    with require_extra("pyarrow", "ray"):
        from . import _arrow
    return _arrow


class FileNames:
    """Gives every document a file name of its own."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """Find a name. One that was given before gets a number; case makes no difference.

        name (str): The document's name.
        RETURNS (str): The name of its file, without an ending.
        """
        stem = safe_name(name)
        candidate, number = stem, self._taken.get(stem.casefold(), 0)
        while candidate.casefold() in self._taken:
            number += 1
            candidate = f"{stem}_{number}"
        self._taken[stem.casefold()] = max(number, 1)
        self._taken.setdefault(candidate.casefold(), 1)
        return candidate


def safe_name(name: str) -> str:
    """Make a document's name fit for a file: documents may come from anyone.

    name (str): The name.
    RETURNS (str): The name without what could lead to another folder.
    """
    kept = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    kept = kept.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return kept.lstrip(".") or "document"
