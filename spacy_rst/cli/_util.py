"""What the subcommands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any, NoReturn, TypeVar

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
        overrides: list[str] = []
        others: list[str] = []
        remaining = iter(args)
        for arg in remaining:
            name, equals, _ = arg.partition("=")
            is_setting = name.startswith("--") and "." in name
            (overrides if is_setting else others).append(arg)
            if is_setting and not equals:
                overrides += islice(remaining, 1)  # its value
        ctx.meta["overrides"] = parse_config_overrides(overrides)
        return super().parse_args(ctx, others)


@contextmanager
def clean_errors(place: str = "rst") -> Iterator[None]:
    """Show a problem as one message after the command's name, without a traceback, and end with
    exit code 1."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has seen enough: typer ends quietly
        raise
    except (RstError, OSError) as error:
        report_problem(place, error)
        raise typer.Exit(1) from error


def report_problem(place: str, problem: BaseException | str) -> None:
    """Report a problem in one line on standard error, away from the trees."""
    message = f"{place}: {str(problem) or type(problem).__name__}"
    tqdm.write(clean_text(message, "\ufffd"), file=sys.stderr)


@dataclass(slots=True)
class Counts:
    """What became of the inputs: trees written, documents without text, documents that had been
    parsed before, and inputs that could not be read or parsed."""

    written: int = 0
    empty: int = 0
    skipped: int = 0
    failed: int = 0

    def fail(self, place: str, error: Exception | str) -> None:
        """Report and count an input that failed."""
        report_problem(place, error)
        self.failed += 1

    def count(self, tree: RstTree | None) -> None:
        """Count an input that did not fail."""
        if tree is None:
            self.empty += 1
        else:
            self.written += 1

    @property
    def succeeded(self) -> int:
        """Inputs that did not fail."""
        return self.written + self.empty + self.skipped

    @property
    def exit_code(self) -> int:
        """0 if nothing failed, 1 if everything did, else 2."""
        return 0 if not self.failed else 2 if self.succeeded else 1

    def finish(self) -> NoReturn:
        """Print the counts and end the command."""
        counts = {"without text": self.empty, "skipped": self.skipped, "failed": self.failed}
        others = [f"{count} {what}" for what, count in counts.items() if count]
        tqdm.write(", ".join([f"Trees: {self.written}", *others]), file=sys.stderr)
        raise typer.Exit(self.exit_code)


def percent(value: float | None) -> str:
    """Write a share of 1 in percent."""
    return "-" if value is None else f"{100 * value:.1f}"


def progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterable[Item]:
    """Show a progress bar on standard error, if that is a terminal."""
    return tqdm(items, desc=description, total=total, unit="file", disable=not sys.stderr.isatty())


def load_arrow() -> ModuleType:
    """Import `_arrow`, which needs pyarrow."""
    with require_extra("pyarrow", "ray"):
        from . import _arrow
    return _arrow


class FileNames:
    """Gives every document a file name of its own."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def make_unique(self, name: str) -> str:
        """Make a file name, without an ending, of a document's name. One that was given before gets
        a number; case makes no difference."""
        stem = candidate = safe_name(name)
        while candidate.casefold() in self._taken:
            self._taken[stem.casefold()] += 1
            candidate = f"{stem}_{self._taken[stem.casefold()]}"
        self._taken[candidate.casefold()] = 1
        return candidate


def safe_name(name: str) -> str:
    """Take out of a document's name what could lead to another folder: anyone may have named it."""
    kept = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    kept = kept.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    return kept.lstrip(".") or "document"
