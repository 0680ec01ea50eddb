"""Where a training stands: what is needed to go on as if it had never been interrupted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from thinc.api import Optimizer, to_numpy
from thinc.backends import get_array_ops

from ..errors import Errors, RstError
from ..util import atomic_path

if TYPE_CHECKING:
    import numpy as np

    from .parameters import Parameter

CHECKPOINT_FILE = "checkpoint.safetensors"
VERSION = 1
WEIGHTS = "weights"
# What thinc's optimizer keeps for each parameter.
OPTIMIZER_ARRAYS = ("mom1", "mom2", "averages")


@dataclass(frozen=True)
class Checkpoint:
    """A training after one of its evaluations.

    step (int): The step of the evaluation.
    scores (list[float]): The main scores of all evaluations so far.
    n_updates (dict[str, int]): How often each parameter was changed, by its place.
    arrays (dict[str, np.ndarray]): Weights, moments and averages, as KIND:PLACE.
    """

    step: int
    scores: list[float]
    n_updates: dict[str, int]
    arrays: dict[str, np.ndarray]

    @classmethod
    def take(
        cls,
        step: int,
        scores: Sequence[float],
        parameters: Sequence[Parameter],
        optimizer: Optimizer,
    ) -> Checkpoint:
        """Note where a training stands.

        step (int): The step.
        scores (Sequence[float]): The main scores of all evaluations so far.
        parameters (Sequence[Parameter]): All that is learned.
        optimizer (Optimizer): The optimizer.
        RETURNS (Checkpoint): All that is needed to go on.
        """
        arrays = {}
        for parameter in parameters:
            arrays[f"{WEIGHTS}:{parameter.place}"] = to_numpy(parameter.read())
            for kind in OPTIMIZER_ARRAYS:
                known = getattr(optimizer, kind) or {}
                if parameter.key in known:
                    arrays[f"{kind}:{parameter.place}"] = to_numpy(known[parameter.key])
        n_updates = {
            parameter.place: optimizer.nr_update[parameter.key]
            for parameter in parameters
            if parameter.key in optimizer.nr_update
        }
        return cls(step, list(scores), n_updates, arrays)

    def restore(self, parameters: Sequence[Parameter], optimizer: Optimizer) -> None:
        """Put a training where it stood.

        parameters (Sequence[Parameter]): All that is learned.
        optimizer (Optimizer): The optimizer. Its schedules are left as they are.
        """
        for parameter in parameters:
            ops = get_array_ops(parameter.read())
            parameter.write(ops.asarray(self.arrays[f"{WEIGHTS}:{parameter.place}"]))
            if parameter.place in self.n_updates:
                optimizer.nr_update[parameter.key] = self.n_updates[parameter.place]
            for kind in OPTIMIZER_ARRAYS:
                array = self.arrays.get(f"{kind}:{parameter.place}")
                known = getattr(optimizer, kind)
                if array is not None and known is not None:
                    known[parameter.key] = ops.asarray(array)

    def check(self, parameters: Sequence[Parameter], path: Path) -> None:
        """Refuse to go on with another pipeline.

        parameters (Sequence[Parameter]): What the pipeline learns.
        path (Path): The file, for the message.
        RAISES (RstError): R582, if these are not the parameters of the checkpoint.
        """
        start = f"{WEIGHTS}:"
        saved = {
            name.removeprefix(start): array.shape
            for name, array in self.arrays.items()
            if name.startswith(start)
        }
        own = {parameter.place: parameter.read().shape for parameter in parameters}
        if saved != own:
            places = sorted(place for place in saved | own if saved.get(place) != own.get(place))
            raise RstError(Errors.R582.format(path=path, places=", ".join(places[:3])))

    def write(self, path: Path) -> None:
        """Save it, as a whole or not at all.

        path (Path): The file.
        """
        facts = {"step": self.step, "scores": self.scores, "n_updates": self.n_updates}
        metadata = {"version": str(VERSION), "facts": json.dumps(facts)}
        with atomic_path(path) as temporary:
            temporary.write_bytes(save(self.arrays, metadata=metadata))

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Load what `write` saved.

        path (Path): The file.
        RETURNS (Checkpoint): The checkpoint.
        RAISES (RstError): R581 if there is none, R583 if it cannot be read.
        """
        if not path.is_file():
            raise RstError(Errors.R581.format(path=path))
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return cls(arrays=arrays, **_read_facts(metadata))
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise RstError(Errors.R583.format(path=path, error=error)) from error


def _read_facts(metadata: dict[str, str]) -> dict[str, Any]:
    if metadata["version"] != str(VERSION):
        raise ValueError(f"version {metadata['version']}")
    facts = json.loads(metadata["facts"])
    return {
        "step": int(facts["step"]),
        "scores": [float(score) for score in facts["scores"]],
        "n_updates": {str(place): int(number) for place, number in facts["n_updates"].items()},
    }
