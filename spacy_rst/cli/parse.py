"""`python -m spacy rst parse`: the trees of texts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple, NoReturn

import typer
from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm
from typer.core import TyperCommand

from ..display import RENDERERS, render_tree
from ..display.characters import clean_text
from ..doc import NAME_KEY, doc_from_edus, get_json, get_tree
from ..errors import Errors, RstError
from ..evaluation import makes_edus
from ..pipelines import DEFAULT_PIPELINE
from ..util import atomic_path, write_atomically
from . import rst_app
from ._util import FileNames, load_trained, progress
from .export import tree_as

FORMATS = (*RENDERERS, "json", "jsonl", "rs3", "dis")
ENDINGS = {"text": ".txt"}
INPUT_ENDINGS = (".txt", ".jsonl")
STDIN = "stdin"
JSON_OBJECT_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')


class EduUnits(StrEnum):
    """Where the EDUs come from."""

    auto = "auto"
    sentences = "sentences"
    lines = "lines"


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


@rst_app.command("parse", cls=ParseCommand)
def parse_cli(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Text files, .jsonl files, folders of both, or - for standard input (the default)",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", help="A pipeline: the bundled one, a package's name or a folder"
        ),
    ] = DEFAULT_PIPELINE,
    file_format: Annotated[
        str, typer.Option("--format", "-f", metavar="|".join(FORMATS), help="What to write")
    ] = "text",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Folder or file to write. Default: standard output"),
    ] = None,
    edus: Annotated[
        EduUnits,
        typer.Option(help="Units: the pipeline's own segmentation, sentences, or lines of input"),
    ] = EduUnits.auto,
    n_process: Annotated[int, typer.Option(min=1, help="Processes to run")] = 1,
    batch_size: Annotated[int, typer.Option(min=1, help="Documents to buffer")] = 16,
    resume: Annotated[
        bool, typer.Option("--resume", help="Skip documents whose output file exists")
    ] = False,
) -> None:
    """Parse texts and write their discourse trees.

    An input that cannot be read or parsed is reported; the others are parsed all the same. Exit
    codes: 0 if all went well, 2 if some inputs failed, 1 if nothing could be done.

    **Examples**

    `python -m spacy rst parse article.txt`

    `python -m spacy rst parse texts/ --model training/model-best --format rs3 --output trees/`
    """
    try:
        if not inputs and sys.stdin.isatty():
            raise RstError(Errors.R510)
        if file_format not in FORMATS:
            raise RstError(Errors.R511.format(name=file_format, known=", ".join(FORMATS)))
        files = find_texts(inputs or ["-"])
        target = Target.choose(output, file_format, resume=resume)
        target.check_inputs(inputs or [])
        nlp = load_pipeline(model, edus.value)
        with target.open():
            tally = parse_files(
                nlp, files, target, edus=edus.value, n_process=n_process, batch_size=batch_size
            )
    except BrokenPipeError:  # the reader of the output has seen enough: typer ends quietly
        raise
    except (RstError, OSError) as error:
        complain("parse", error)
        raise typer.Exit(1) from error
    tqdm.write(str(tally), file=sys.stderr)
    raise typer.Exit(tally.exit_code)


def complain(place: str, error: BaseException) -> None:
    """Report a problem in one line on standard error, away from the trees.

    place (str): Where it occurred.
    error (BaseException): What occurred.
    """
    message = f"{place}: {str(error) or type(error).__name__}"
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
        complain(place, error)
        self.failed += 1

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


# Reading


@dataclass(frozen=True, slots=True)
class TextSource:
    """A document that can be read.

    name (str): Its name.
    place (str): Where it comes from, for messages.
    read (Callable[[], str]): Gives its text, or raises what is wrong with it.
    """

    name: str
    place: str
    read: Callable[[], str]


def find_texts(inputs: Iterable[str]) -> list[tuple[str, Path | None]]:
    """List the files to read.

    inputs (Iterable[str]): Files, folders that are searched with all folders below them, and "-".
    RETURNS (list[tuple[str, Path | None]]): A name for each file, and the file; None is standard
        input. A folder without texts is listed itself, to be reported like a bad file.
    """
    found: list[tuple[str, Path | None]] = []
    for given in inputs:
        path = Path(given)
        if given == "-":
            found.append((STDIN, None))
        elif path.is_dir():
            texts = sorted(
                file
                for file in path.rglob("*")
                if file.suffix.lower() in INPUT_ENDINGS and file.is_file()
            )
            found += [(file.relative_to(path).with_suffix("").as_posix(), file) for file in texts]
            if not texts:
                found.append((path.name, path))
        else:
            found.append((path.stem, path))
    return found


def read_sources(files: Iterable[tuple[str, Path | None]]) -> Iterator[TextSource]:
    """Find the documents in files, one after another.

    files (Iterable[tuple[str, Path | None]]): What `find_texts` listed.
    YIELDS (TextSource): The documents. What cannot be read raises when its text is asked for.
    """
    for name, path in files:
        if path is None:
            yield from _stdin_sources(typer.get_binary_stream("stdin"))
        elif path.suffix.lower() != ".jsonl" or path.is_dir():
            yield TextSource(name, str(path), partial(_read_text, path))
        else:
            try:
                with path.open("rb") as lines:
                    yield from _jsonl_sources(lines, name, str(path))
            except OSError as error:
                yield TextSource(name, str(path), partial(_raise, error))


def _raise(error: Exception) -> NoReturn:
    raise error


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise RstError(Errors.R512.format(path=path, endings=" or ".join(INPUT_ENDINGS)))
    return _decode(path.read_bytes())


def _decode(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RstError(Errors.R513.format(error=error)) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _stdin_sources(stream: IO[bytes]) -> Iterator[TextSource]:
    lines = iter(stream.readline, b"")
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    if head and JSON_OBJECT_START.match(head[-1]):
        yield from _jsonl_sources(chain(head, lines), STDIN, STDIN)
    else:
        content = b"".join(chain(head, lines))
        yield TextSource(STDIN, STDIN, partial(_decode, content))


def _jsonl_sources(lines: Iterable[bytes], name: str, place: str) -> Iterator[TextSource]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        line_name, line_place = f"{name}_{number}", f"{place}, line {number}"
        try:
            given_name, text = _read_json_line(line)
        except RstError as error:
            yield TextSource(line_name, line_place, partial(_raise, error))
        else:
            yield TextSource(given_name or line_name, line_place, partial(str, text))


def _read_json_line(line: bytes) -> tuple[str | None, str]:
    decoded = _decode(line)
    try:
        data = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        raise RstError(Errors.R514.format(error=error)) from error
    text = data.get("text") if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise RstError(Errors.R515)
    names = [data.get(key) for key in ("name", "id")]
    name = next((str(value) for value in names if isinstance(value, str | int)), None)
    try:
        f"{name}{text}".encode()
    except UnicodeEncodeError as error:  # half of a character, escaped as \ud83d
        raise RstError(Errors.R514.format(error=error)) from error
    return name, text


# Parsing


def load_pipeline(model: str, edus: str = "auto") -> Language:
    """Load a pipeline and make it take its EDUs from where they shall come from.

    model (str): The name of a bundled pipeline or of a package, or a folder.
    edus (str): "auto" for its own segmenter, "sentences", or "lines" for EDUs that are given.
    RETURNS (Language): The pipeline.
    RAISES (RstError): If it cannot be loaded, or has no parser or no segmenter.
    """
    nlp = load_trained(model)
    metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
    makers = (name for name, meta in metas.items() if "doc._.rst_tree" in meta.assigns)
    parser = next(makers, None)
    if parser is None:
        pipes = ", ".join(metas) or "there are none"
        raise RstError(Errors.R517.format(model=model, pipes=pipes))
    before = nlp.pipe_names[: nlp.pipe_names.index(parser)]
    segmenters = [name for name in before if makes_edus(nlp, name)]
    if edus == "auto":
        if not segmenters:
            raise RstError(Errors.R518.format(model=model))
        return nlp
    for name in segmenters:
        nlp.remove_pipe(name)
    if edus == "sentences":
        if not any("token.is_sent_start" in metas[name].assigns for name in before):
            nlp.add_pipe("sentencizer", name="sentencizer_for_edus", before=parser)
        nlp.add_pipe("sentence_edus", name="sentences_as_edus", before=parser)
    return nlp


def doc_from_lines(nlp: Language, text: str) -> Doc:
    """Make a Doc whose EDUs are the lines of a text. A blank line begins a paragraph.

    nlp (Language): The pipeline whose tokenizer is used.
    text (str): The text.
    RETURNS (Doc): The Doc, in which the EDUs are joined with spaces.
    """
    edus: list[str] = []
    paragraph_starts: set[int] = set()
    for line in text.split("\n"):
        if line.strip():
            edus.append(line)
        else:
            paragraph_starts.add(len(edus))
    return doc_from_edus(nlp, edus, paragraph_starts)


class Origin(NamedTuple):
    """What accompanies a Doc through the pipeline.

    name (str): The document's name.
    place (str): Where it comes from, for messages.
    path (Path | None): The file for its tree, where it gets one of its own.
    """

    name: str
    place: str
    path: Path | None


def report_failure(component: str, _: Any, docs: Sequence[Doc] | None, error: Exception) -> None:
    """Report Docs that a component could not process: an error handler for spaCy.

    It only reports, as it may run in another process than the one that counts.
    """
    for doc in docs or ():
        complain(f"{doc._context.place} ({component})", error)
    if docs is None:  # a whole process failed
        complain("parse", error)


def parse_files(
    nlp: Language,
    files: Sequence[tuple[str, Path | None]],
    target: Target,
    *,
    edus: str = "auto",
    n_process: int = 1,
    batch_size: int = 16,
) -> Tally:
    """Parse all documents of files and write their trees; what fails is reported and left out.

    nlp (Language): The pipeline, as `load_pipeline` prepared it for the same `edus`.
    files (Sequence[tuple[str, Path | None]]): What `find_texts` listed.
    target (Target): Where the trees go.
    edus (str): "auto", "sentences" or "lines".
    n_process (int): Processes to run.
    batch_size (int): Documents to buffer.
    RETURNS (Tally): What became of the inputs.
    RAISES (RstError): If there is no document, or more than the target can hold.
    """
    tally = Tally()
    make_doc = partial(doc_from_lines, nlp) if edus == "lines" else nlp.make_doc
    n_begun = n_parsed = 0

    def make_docs() -> Iterator[tuple[Doc, Origin]]:
        nonlocal n_begun
        for source in read_sources(files):
            path = target.claim(source.name)
            if target.resume and path is not None and path.exists():
                tally.skipped += 1
                continue
            try:
                doc = make_doc(source.read())
            except (OSError, ValueError) as error:
                tally.fail(source.place, error)
                continue
            if n_begun and target.holds_one:
                raise RstError(Errors.R519.format(path=target.file, format=target.file_format))
            n_begun += 1
            doc.user_data[NAME_KEY] = source.name
            yield doc, Origin(source.name, source.place, path)

    nlp.set_error_handler(report_failure)  # type: ignore[arg-type]
    parsed = nlp.pipe(make_docs(), as_tuples=True, batch_size=batch_size, n_process=n_process)
    one_each = all(path is not None and path.suffix.lower() != ".jsonl" for _, path in files)
    for doc, origin in progress(parsed, "Parsing", len(files) if one_each else None):
        n_parsed += 1
        try:
            target.write(doc, origin)
        except ValueError as error:
            tally.fail(origin.place, error)
            continue
        if get_tree(doc) is None:
            tqdm.write(f"{clean_text(origin.place)}: no text, so no tree", file=sys.stderr)
            tally.empty += 1
        else:
            tally.written += 1
    tally.failed += n_begun - n_parsed  # those that the error handler reported
    if not tally.succeeded and not tally.failed:
        raise RstError(Errors.R520)
    return tally


# Writing


@dataclass(slots=True)
class Target:
    """Where the trees go: a file for each in a folder, one file, or standard output.

    file_format (str): One of `FORMATS`.
    folder (Path | None): The folder, if it is one.
    file (Path | None): The file, if it is one.
    resume (bool): Leave files that are there as they are, and do not parse their documents.
    """

    file_format: str
    folder: Path | None = None
    file: Path | None = None
    resume: bool = False
    _names: FileNames = field(default_factory=FileNames)
    _echo: Callable[[str], object] | None = None

    @classmethod
    def choose(cls, output: str | None, file_format: str, *, resume: bool = False) -> Target:
        """Tell a folder from a file.

        output (str | None): A path. It is a folder if it is one already, ends with a slash or has
            no ending.
        file_format (str): One of `FORMATS`.
        resume (bool): Whether files that are there shall stay.
        RETURNS (Target): The target.
        RAISES (RstError): If there is no folder to resume.
        """
        target = cls(file_format, resume=resume)
        if output is not None:
            path = Path(output)
            is_folder = path.is_dir() or output.endswith(("/", "\\"))
            if is_folder or not (path.suffix or path.is_file()):
                target.folder = path
            else:
                target.file = path
        if resume and target.folder is None:
            raise RstError(Errors.R521)
        return target

    @property
    def ending(self) -> str:
        """RETURNS (str): How the names of the files in the folder end."""
        return ENDINGS.get(self.file_format, f".{self.file_format}")

    @property
    def holds_one(self) -> bool:
        """RETURNS (bool): Whether there is room for one tree only."""
        return self.file is not None and self.file_format != "jsonl"

    def check_inputs(self, inputs: Iterable[str]) -> None:
        """Refuse to write where texts are read: they could be overwritten, or trees be read as
        texts the next time.

        inputs (Iterable[str]): What the user gave.
        RAISES (RstError): If the target lies among the inputs.
        """
        place = self.file or self.folder
        if place is None:
            return
        ending = self.file.suffix if self.file else self.ending
        resolved = place.resolve()
        for given in inputs:
            path = Path(given).resolve()
            if path.is_dir():
                clash = ending.lower() in INPUT_ENDINGS and resolved.is_relative_to(path)
            elif self.file:
                clash = path == resolved
            else:
                clash = path.parent == resolved and path.suffix == ending
            if clash and given != "-":
                raise RstError(Errors.R522.format(output=place, input=given))

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder, or hold the file open: it gets its place at the end, if no error comes
        in between and anything was written."""
        place = self.folder or (self.file.parent if self.file else None)
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:

            def open_and_write(content: str) -> None:
                assert self.file is not None
                temporary = stack.enter_context(atomic_path(self.file))
                self._echo = stack.enter_context(temporary.open("w", encoding="utf8")).write
                self._echo(content)

            self._echo = _print if self.file is None else open_and_write
            yield

    def claim(self, name: str) -> Path | None:
        """Find a file for a document. A name that was given before gets a number.

        name (str): The document's name.
        RETURNS (Path | None): The file, None where documents have no files of their own.
        """
        if self.folder is None:
            return None
        return self.folder / f"{self._names.claim(name)}{self.ending}"

    def write(self, doc: Doc, origin: Origin) -> None:
        """Write the tree of a document, if it has one or the format has a word for none.

        doc (Doc): The parsed Doc.
        origin (Origin): Its name and file.
        RAISES (RstError): If its own file cannot be written.
        """
        heading = color = False
        if self.file_format == "text" and self.file is None and self.folder is None:
            heading, color = True, sys.stdout.isatty()
        content = format_tree(doc, origin.name, self.file_format, color=color)
        if content is None:
            return
        if origin.path is None:
            assert self._echo is not None
            self._echo(f"{clean_text(origin.name)}\n{content}\n" if heading else content)
            return
        try:
            write_atomically(origin.path, content)
        except OSError as error:
            raise RstError(Errors.R523.format(path=origin.path, error=error)) from error


def _print(content: str) -> None:
    # As bytes, since trees are UTF-8 wherever they go.
    typer.echo(content.encode(), nl=False)


def format_tree(doc: Doc, name: str, file_format: str, *, color: bool = False) -> str | None:
    """Write the tree of a Doc in a format.

    doc (Doc): The Doc.
    name (str): The document's name, which stands in JSONL.
    file_format (str): One of `FORMATS`.
    color (bool): Draw text in colours.
    RETURNS (str | None): The content with a line break at its end. A Doc without a tree is null in
        JSON and JSONL, and None in other formats.
    """
    if file_format == "jsonl":
        return json.dumps({"name": name, "tree": get_json(doc)}, ensure_ascii=False) + "\n"
    tree = get_tree(doc)
    if tree is None:
        return "null\n" if file_format == "json" else None
    if file_format in RENDERERS:
        content = render_tree(tree, file_format, **({"color": True} if color else {}))
    else:
        content = tree_as(doc, file_format) or ""
    return content if content.endswith("\n") else content + "\n"
