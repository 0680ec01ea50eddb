"""Where trees go: a file for each in a folder, one file, or standard output."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import starmap
from pathlib import Path
from typing import IO, TypeAlias

import typer

from ..display.characters import clean_text
from ..display.html import render_html
from ..display.text import render_text
from ..errors import Errors, RstError
from ..tree import RstTree
from ..util import is_special, replace_file, write_atomically
from ._formats import FORMATS, TreeFormat, format_tree
from ._inputs import TEXT_ENDINGS, DocumentKey, Origin
from ._util import FileNames, safe_name

PART = ".part"
Output: TypeAlias = "FileOutput | FolderOutput"


class _Output:
    """A place for trees: a folder or file, or standard output if it is None."""

    holds_many = True
    kept: Path | None = None  # what stays when the run is stopped
    can_resume = False  # whether another run can go on with it

    def __init__(self, place: Path | None, file_format: TreeFormat, ending: str) -> None:
        self.place = place
        self.file_format = file_format
        self.ending = ending

    def check_room(self, n_trees: int) -> None:
        """Refuse one tree too many, before it is made."""
        if n_trees and not self.holds_many:
            raise RstError(Errors.R519.format(path=self.place, format=self.file_format))

    def check_apart(self, inputs: Iterable[str]) -> None:
        """Refuse to write where inputs are read: they could be overwritten, or trees be read as
        texts the next time."""
        if self.place is None:
            return
        place = self.place.resolve()
        for given in inputs:
            path = Path(given).resolve()
            clash = path == place or (path.parent == place and path.suffix == self.ending)
            if path.is_dir():
                clash = self.ending.lower() in TEXT_ENDINGS and place.is_relative_to(path)
            if clash:
                problem = f"it could overwrite {given}, or be read as a text later"
                raise RstError(Errors.R522.format(output=self.place, problem=problem))


def choose_output(
    path: str | None,
    file_format: TreeFormat,
    *,
    resume: bool | None = None,
    color: bool | None = None,
) -> Output:
    """Make a place of a path, None for standard output. It is a folder if it is one already, ends
    with a slash or has no ending. With resume=None no run will ever go on with this one."""
    place = None if path is None else Path(path)
    if place is not None and not is_special(place):
        ends_like_folder = str(path).endswith(("/", "\\")) or not place.suffix
        if place.is_dir() or (ends_like_folder and not place.is_file()):
            return FolderOutput(place, file_format, resume=resume)
    output = FileOutput(place, file_format, resume=bool(resume), color=color)
    if resume and not output.can_resume:
        advice = "name a folder or a file of JSONL with --output"
        raise RstError(
            Errors.R521.format(option="--resume", place="with this output", advice=advice)
        )
    return output


class FileOutput(_Output):
    """A file or standard output, with one tree after another.

    Until the run is over, a file has a name that ends with `.part`. If it has room for several
    trees, that stays if the run is stopped, and another run can go on from it with JSONL.
    """

    def __init__(
        self, place: Path | None, file_format: TreeFormat, *, resume: bool, color: bool | None
    ) -> None:
        super().__init__(place, file_format, place.suffix if place else "")
        is_stream = place is None or is_special(place)
        self.holds_many = is_stream or FORMATS[file_format].holds_many
        self._resume = resume
        self._color = place is None and sys.stdout.isatty() if color is None else color
        self._done: Counter[str] = Counter()
        self._heading = FORMATS[file_format].heading
        self._pages: list[tuple[str, RstTree]] = []
        self._write: Callable[[str], object] = _print
        self._part = None if is_stream else Path(os.path.realpath(place or "") + PART)
        if self._part and self.holds_many and file_format is not TreeFormat.html:
            self.kept = self._part
            self.can_resume = file_format is TreeFormat.jsonl

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open the place: trees can be written in this block."""
        with self._open_stream() as stream:
            if stream is not None:
                # Line by line, so that nothing is lost if the process is killed.
                self._write = lambda content: (stream.write(content), stream.flush())
            yield
            if self._pages:
                names, trees = zip(*self._pages, strict=True)
                self._write(render_html(trees, names=names))

    def _open_stream(self) -> AbstractContextManager[IO[str] | None]:
        if self.place is None:
            return nullcontext()
        if self._part is None:
            return self.place.open("w", encoding="utf8")
        return self._open_part(self._part, Path(os.path.realpath(self.place)))

    @contextmanager
    def _open_part(self, part: Path, target: Path) -> Iterator[IO[str]]:
        part.parent.mkdir(parents=True, exist_ok=True)
        if self._resume:
            self._take_up(part, target)
        try:
            with part.open("a" if self._resume else "w", encoding="utf8") as stream:
                yield stream
            if part.stat().st_size:
                replace_file(part, target)
        finally:
            if part.exists() and not (self.kept and part.stat().st_size):
                part.unlink()

    def _take_up(self, part: Path, target: Path) -> None:
        source = part if part.exists() else target
        if not source.is_file():
            return
        n_bytes = 0
        with source.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):  # the run was killed while it wrote this
                    break
                try:
                    self._done[str(json.loads(line)["name"])] += 1
                except (ValueError, TypeError, KeyError, RecursionError) as error:
                    raise RstError(Errors.R524.format(path=source, error=error)) from error
                n_bytes += len(line)
        if source is target:
            shutil.copyfile(source, part)
        os.truncate(part, n_bytes)

    def has(self, origin: Origin) -> bool:
        """Tell whether an earlier run wrote a document's tree. Ask once for each document."""
        if not self._done[origin.name]:
            return False
        self._done[origin.name] -= 1
        return True

    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """Write the tree of a document, or that it has none, if the format can say that."""
        if tree is not None and self.file_format is TreeFormat.html:
            self._pages.append((origin.name, tree))  # for one page, which is written at the end
            return
        if tree is not None and self.file_format is TreeFormat.text:
            drawing = render_text(tree, color=self._color)
            content: str | None = f"{clean_text(origin.name)}\n{drawing}\n\n"
        else:
            content = format_tree(tree, origin, self.file_format)
        if content is not None:
            self._write(self._heading + content)
            self._heading = ""


class FolderOutput(_Output):
    """A folder with a file for each tree. Another run can go on with it, as a list in it tells
    whose the files are: documents may differ in characters that names of files cannot have."""

    can_resume = True

    def __init__(self, folder: Path, file_format: TreeFormat, *, resume: bool | None) -> None:
        super().__init__(folder, file_format, FORMATS[file_format].ending)
        self.kept = self.folder = folder
        self._resume = resume
        self._list_path = folder / f".parsed-{file_format.value}.list"
        self._files: dict[DocumentKey, str] = {}
        self._names = FileNames()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open the place: trees can be written in this block."""
        if self._resume is None:
            yield
            return
        if self._resume and self._list_path.exists():
            self._read_list()
        write_atomically(self._list_path, "".join(starmap(_list_line, self._files.items())))
        with self._list_path.open("a", encoding="utf8") as self._list:
            yield

    def _read_list(self) -> None:
        for line in self._list_path.read_text(encoding="utf8").splitlines():
            with suppress(ValueError):  # the run was killed while it wrote this
                source, name, number, file = json.loads(line)
                self._files[source, name, number] = safe_name(file)
                self._names.make_unique(file.removesuffix(self.ending))

    def has(self, origin: Origin) -> bool:
        """Tell whether an earlier run wrote a document's tree. Ask once for each document."""
        file = self._files.get(origin.key)
        return file is not None and (self.folder / file).is_file()

    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """Write the tree of a document, or that it has none, if the format can say that."""
        content = format_tree(tree, origin, self.file_format)
        if content is None:
            return
        file = self._files.get(origin.key) or self._names.make_unique(origin.name) + self.ending
        try:
            write_atomically(self.folder / file, FORMATS[self.file_format].heading + content)
        except OSError as error:
            raise RstError(Errors.R134.format(path=self.folder / file, error=error)) from error
        if self._resume is not None:
            self._list.write(_list_line(origin.key, file))
            self._list.flush()


def _list_line(key: DocumentKey, file: str) -> str:
    return json.dumps([*key, file]) + "\n"


def _print(content: str) -> None:
    # As bytes, since trees are UTF-8 wherever they go.
    typer.echo(content.encode(), nl=False)
