"""Where trees go: a file for each in a folder, one file, or standard output."""

from __future__ import annotations

import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import starmap
from pathlib import Path

import typer

from ..display.characters import clean_text
from ..display.html import render_html
from ..errors import Errors, RstError
from ..tree import RstTree
from ..util import atomic_path, is_special, replace_file, write_atomically
from ._formats import TreeFormat, format_heading, format_tree
from ._texts import ENDINGS as TEXT_ENDINGS
from ._texts import Origin
from ._util import FileNames, safe_name

PART = ".part"
# A document is known by its file, its name, and a number where a file has the name repeatedly.
DocumentKey = tuple[str, str, int]


class Output(ABC):
    """A place for trees.

    place (Path | None): The folder or file, None for standard output.
    file_format (TreeFormat): What is written there.
    takes_many (bool): Whether there is room for more than one tree.
    kept (Path | None): What stays when the run is stopped.
    can_resume (bool): Whether another run can go on with it.
    """

    takes_many = True
    kept: Path | None = None
    can_resume = False

    def __init__(self, place: Path | None, file_format: TreeFormat) -> None:
        self.place = place
        self.file_format = file_format

    def check_room(self, n_trees: int) -> None:
        """Refuse one tree too many, before it is made.

        n_trees (int): How many were written.
        RAISES (RstError): If there is no room for another one.
        """
        if n_trees and not self.takes_many:
            raise RstError(Errors.R519.format(path=self.place, format=self.file_format))

    @abstractmethod
    def open(self) -> AbstractContextManager[None]:
        """RETURNS (AbstractContextManager[None]): A block in which trees can be written."""

    def has(self, origin: Origin) -> bool:
        """Tell whether an earlier run has written a document's tree. Ask once for each document.

        origin (Origin): The document.
        RETURNS (bool): Whether it need not be parsed again.
        """
        return False

    @abstractmethod
    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """Write the tree of a document, if it has one or the format has a word for none.

        origin (Origin): The document.
        tree (RstTree | None): Its tree.
        """

    def _format(self, origin: Origin, tree: RstTree | None, *, color: bool = False) -> str | None:
        return format_tree(tree, origin.name, self.file_format, fields=origin.fields, color=color)

    def check_apart(self, inputs: Iterable[str]) -> None:
        """Refuse to write where texts are read: they could be overwritten, or trees be read as
        texts the next time.

        inputs (Iterable[str]): What the user gave.
        RAISES (RstError): If the trees would lie among the inputs.
        """
        if self.place is None:
            return
        place = self.place.resolve()
        for given in inputs:
            path = Path(given).resolve()
            if path.is_dir():
                clash = self.ending.lower() in TEXT_ENDINGS and place.is_relative_to(path)
            else:
                clash = self.would_overwrite(path)
            if clash and given != "-":
                raise RstError(Errors.R522.format(output=self.place, input=given))

    @property
    def ending(self) -> str:
        """RETURNS (str): How the names of the files end."""
        return self.place.suffix if self.place else ""

    def would_overwrite(self, path: Path) -> bool:
        """Tell whether a file is in danger.

        path (Path): The file, resolved.
        RETURNS (bool): Whether a tree may be written in its place.
        """
        return self.place is not None and self.place.resolve() == path


def choose_output(
    path: str | None,
    file_format: TreeFormat,
    *,
    resume: bool | None = None,
    color: bool | None = None,
) -> Output:
    """Tell a folder from a file.

    path (str | None): A path, None for standard output. It is a folder if it is one already, ends
        with a slash or has no ending.
    file_format (TreeFormat): What to write.
    resume (bool | None): Whether to go on with what an earlier run has written. With None no run
        will ever go on with this one.
    color (bool | None): Draw text in colours. By default on a terminal.
    RETURNS (Output): The place.
    RAISES (RstError): If there is nothing to resume.
    """
    place = None if path is None else Path(path)
    if place is not None and not is_special(place):
        ends_like_folder = str(path).endswith(("/", "\\")) or not place.suffix
        if place.is_dir() or (ends_like_folder and not place.is_file()):
            return FolderOutput(place, file_format, resume=resume)
        if file_format is TreeFormat.jsonl or (file_format.is_table and not resume):
            return LinesOutput(place, file_format, resume=bool(resume))
    if resume:
        raise RstError(Errors.R521)
    if file_format is TreeFormat.html:
        return PageOutput(place, file_format)
    if color is None:
        color = place is None and sys.stdout.isatty()
    return StreamOutput(place, file_format, color=color)


class StreamOutput(Output):
    """Standard output or a file, with one tree after another.

    color (bool): Draw text in colours.
    """

    def __init__(self, place: Path | None, file_format: TreeFormat, *, color: bool) -> None:
        super().__init__(place, file_format)
        is_drawing = file_format is TreeFormat.text
        self.takes_many = is_drawing or place is None or is_special(place)
        self._color = color

    @contextmanager
    def open(self) -> Iterator[None]:
        """See `Output.open`."""
        with ExitStack() as self._stack:
            self._write: Callable[[str], object] = self._open_and_write
            yield

    def _open_and_write(self, content: str) -> None:
        """Open the file with the first tree, so that none replaces an old file by nothing."""
        if self.place is None:
            self._write = _print
        else:
            temporary = self._stack.enter_context(atomic_path(self.place))
            self._write = self._stack.enter_context(temporary.open("w", encoding="utf8")).write
        self._write(format_heading(self.file_format) + content)

    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """See `Output.write`."""
        content = self._format(origin, tree, color=self._color)
        if content is not None and self.file_format is TreeFormat.text:
            content = f"{clean_text(origin.name)}\n{content}\n"
        if content is not None:
            self._write(content)


class PageOutput(Output):
    """One page for all trees, which is written at the end."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """See `Output.open`."""
        self._named_trees: list[tuple[str, RstTree]] = []
        yield
        if not self._named_trees:
            return
        names, trees = zip(*self._named_trees, strict=True)
        page = render_html(trees, names=names)
        if self.place is None:
            _print(page)
        else:
            write_atomically(self.place, page)

    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """See `Output.write`."""
        if tree is not None:
            self._named_trees.append((origin.name, tree))


class LinesOutput(Output):
    """A file with a line for each tree.

    Until the run is over, the lines stand in a file whose name ends with `.part`. It stays if the
    run is stopped, and another run can go on from it.

    resume (bool): Go on from the lines that are there, in the part or in the whole file.
    """

    def __init__(self, place: Path, file_format: TreeFormat, *, resume: bool) -> None:
        super().__init__(place, file_format)
        self._resume = resume
        self._target = Path(os.path.realpath(place))
        self.kept = self._part = self._target.with_name(self._target.name + PART)
        self.can_resume = file_format is TreeFormat.jsonl
        self._done: Counter[str] = Counter()

    @contextmanager
    def open(self) -> Iterator[None]:
        """See `Output.open`."""
        self._part.parent.mkdir(parents=True, exist_ok=True)
        if self._resume:
            self._take_up()
        with self._part.open("a" if self._resume else "w", encoding="utf8") as self._stream:
            yield
        if self._part.stat().st_size:
            replace_file(self._part, self._target)
        else:
            self._part.unlink()

    def _take_up(self) -> None:
        source = self._part if self._part.exists() else self._target
        if not source.is_file():
            return
        n_bytes = 0
        with source.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):  # the run was killed while it wrote this
                    break
                self._done[_name_in(line, source)] += 1
                n_bytes += len(line)
        if source is self._target:
            shutil.copyfile(source, self._part)
        os.truncate(self._part, n_bytes)

    def has(self, origin: Origin) -> bool:
        """See `Output.has`."""
        if not self._done[origin.name]:
            return False
        self._done[origin.name] -= 1
        return True

    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """See `Output.write`."""
        content = self._format(origin, tree)
        if content is not None:
            heading = "" if self._stream.tell() else format_heading(self.file_format)
            self._stream.write(heading + content)
            self._stream.flush()


class FolderOutput(Output):
    """A folder with a file for each tree.

    resume (bool | None): Leave files of an earlier run as they are. A list in the folder tells
        whose they are, as documents may differ in characters that names of files cannot have;
        with None there is no list.
    """

    def __init__(self, folder: Path, file_format: TreeFormat, *, resume: bool | None) -> None:
        super().__init__(folder, file_format)
        self.kept = self.folder = folder
        self.can_resume = True
        self._resume = resume
        self._list_path = folder / f".parsed-{file_format.value}.list"
        self._files: dict[DocumentKey, str] = {}
        self._names = FileNames()

    @contextmanager
    def open(self) -> Iterator[None]:
        """See `Output.open`."""
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
                self._names.claim(file.removesuffix(self.ending))

    def _key(self, origin: Origin) -> DocumentKey:
        if origin.path is None:
            return origin.place, origin.name, origin.number
        source = os.path.relpath(os.path.realpath(origin.path), os.path.realpath(self.folder))
        return source, origin.name, origin.number

    @property
    def ending(self) -> str:
        """RETURNS (str): How the names of the files end."""
        return self.file_format.ending

    def would_overwrite(self, path: Path) -> bool:
        """See `Output.would_overwrite`."""
        return path.parent == self.folder.resolve() and path.suffix == self.ending

    def has(self, origin: Origin) -> bool:
        """See `Output.has`."""
        file = self._files.get(self._key(origin))
        return file is not None and (self.folder / file).is_file()

    def write(self, origin: Origin, tree: RstTree | None) -> None:
        """See `Output.write`."""
        content = self._format(origin, tree)
        if content is None:
            return
        key = self._key(origin)
        file = self._files.get(key) or self._names.claim(origin.name) + self.ending
        try:
            write_atomically(self.folder / file, format_heading(self.file_format) + content)
        except OSError as error:
            raise RstError(Errors.R523.format(path=self.folder / file, error=error)) from error
        if self._resume is not None:
            self._list.write(_list_line(key, file))
            self._list.flush()


def _name_in(line: bytes, path: Path) -> str:
    try:
        return str(json.loads(line)["name"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RstError(Errors.R524.format(path=path)) from error


def _list_line(key: DocumentKey, file: str) -> str:
    return json.dumps([*key, file]) + "\n"


def _print(content: str) -> None:
    # As bytes, since trees are UTF-8 wherever they go.
    typer.echo(content.encode(), nl=False)
