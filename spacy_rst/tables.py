"""Read tables: TSV files whose first line names the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .errors import Errors, RstError


def read_table(path: str | Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a TSV file in UTF-8, in which quotation marks have no meaning. Give the number of each
    line that is not empty and its cells by column: the required ones, and others if there."""

    def refuse(problem: str) -> RstError:
        return RstError(Errors.R130.format(path=path, problem=problem, columns=", ".join(columns)))

    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise refuse(str(error)) from error
    # Not splitlines(): a text may hold one of the other characters that end lines.
    first, *lines = content.split("\n")
    names = first.split("\t")
    missing = [name for name in columns if name not in names]
    if missing:
        raise refuse(f"its first line does not name {', '.join(missing)}")
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        cells = line.split("\t")
        row = dict(zip(names, cells, strict=False))
        if len(cells) > len(names) or not row.keys() >= set(columns):
            raise refuse(f"line {number} has {len(cells)} cells for {len(names)} columns")
        yield number, row
