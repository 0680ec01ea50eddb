"""The logger `spacy_rst.CurveLogger.v1`: every evaluation of a training with all its scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from spacy.language import Language
from spacy.training.loggers import console_logger_v3
from spacy.util import registry

StepLogger = Callable[[dict[str, Any] | None], None]


@registry.loggers("spacy_rst.CurveLogger.v1")
def make_curve_logger(
    path: Path, console_output: bool = True
) -> Callable[[Language, IO, IO], tuple[StepLogger, Callable[[], None]]]:
    """Make a logger that keeps the learning curve. spaCy's own keeps only the scores that choose
    the checkpoint; this one all of them, so those per language, too.

    path (Path): The file. An old one is replaced.
    console_output (bool): Print what `spacy.ConsoleLogger.v3` prints, too.
    RETURNS (Callable): The logger, for `[training.logger]`.
    """
    setup_console = console_logger_v3(console_output=console_output)

    def setup(nlp: Language, stdout: IO, stderr: IO) -> tuple[StepLogger, Callable[[], None]]:
        log_to_console, finish_console = setup_console(nlp, stdout, stderr)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        curve = Path(path).open("w", encoding="utf8")  # noqa: SIM115  (`finish` closes it)

        def log_step(info: dict[str, Any] | None) -> None:
            log_to_console(info)
            if info is None:
                return
            point = {key: info[key] for key in ("epoch", "step", "seconds", "words")}
            point["losses"] = {name: float(loss) for name, loss in info["losses"].items()}
            point |= {"score": float(info["score"]), "scores": info["other_scores"]}
            curve.write(json.dumps(point) + "\n")
            curve.flush()

        def finish() -> None:
            finish_console()
            curve.close()

        return log_step, finish

    return setup


def best_point(curve: list[dict[str, Any]]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The evaluation whose checkpoint spaCy kept: the best, and of equal
    ones the last."""
    return max(curve, key=lambda point: (point["score"], point["step"]))
