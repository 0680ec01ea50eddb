"""`python -m spacy rst bundle`: prepare a trained pipeline for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import srsly
from spacy.cli._util import Arg, Opt
from wasabi import msg

from ..errors import Errors, RstError
from ..pipelines.bundle import bundle_pipeline
from . import rst_app
from ._util import clean_errors


@rst_app.command("bundle")
def bundle_cli(
    source: Annotated[Path, Arg(metavar="PIPELINE", help="A trained pipeline's folder")],
    target: Annotated[Path, Arg(metavar="FOLDER", help="Folder to write")],
    meta_path: Annotated[Path | None, Opt("--meta", help="JSON: name, version, ...")] = None,
) -> None:
    """Copy a trained pipeline without what only training needs.

    The copy lacks the words of the training texts, paths of this computer and losses. It parses as
    before.

    \b
    Example:
      python -m spacy rst bundle training/model-best my_pipeline --meta meta.json
    """
    with clean_errors():
        bundled = bundle_pipeline(source, target, read_meta(meta_path) if meta_path else {})
        size = sum(file.stat().st_size for file in bundled.rglob("*") if file.is_file())
        msg.good(f"Wrote {bundled} ({size / 1e6:.1f} MB)")


def read_meta(path: Path) -> dict[str, object]:
    """Read a JSON object with facts about a pipeline."""
    try:
        meta = srsly.json_loads(path.read_text(encoding="utf8"))
        if not isinstance(meta, dict):
            raise ValueError("not an object")
    except ValueError as error:
        raise RstError(Errors.R134.format(path=path, error=error)) from error
    return meta
