"""All weights that a pipeline learns: those of thinc's layers and those of torch's nets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from thinc.api import Model, PyTorchShim, torch2xp, xp2torch
from thinc.types import FloatsXd

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Parameter(ABC):
    """An array of weights.

    place (str): Where it is in the pipeline: the same in each process with the same config.
    """

    place: str

    @property
    @abstractmethod
    def key(self) -> tuple[int, str]:
        """RETURNS (tuple[int, str]): What an optimizer knows it by, in this process."""

    @abstractmethod
    def read(self) -> FloatsXd:
        """RETURNS (FloatsXd): The weights."""

    @abstractmethod
    def write(self, weights: FloatsXd) -> None:
        """Change the weights.

        weights (FloatsXd): The new ones.
        """


@dataclass(frozen=True)
class LayerParameter(Parameter):
    """Weights of a layer of thinc."""

    layer: Model
    name: str

    @property
    def key(self) -> tuple[int, str]:
        """RETURNS (tuple[int, str]): What an optimizer knows it by, in this process."""
        return self.layer.id, self.name

    def read(self) -> FloatsXd:
        """RETURNS (FloatsXd): The weights."""
        return self.layer.get_param(self.name)

    def write(self, weights: FloatsXd) -> None:
        """Change the weights.

        weights (FloatsXd): The new ones.
        """
        self.layer.set_param(self.name, weights)


@dataclass(frozen=True)
class NetParameter(Parameter):
    """Weights of a torch net."""

    shim: PyTorchShim
    name: str
    tensor: torch.nn.Parameter

    @property
    def key(self) -> tuple[int, str]:
        """RETURNS (tuple[int, str]): What an optimizer knows it by, in this process."""
        return self.shim.id, self.name

    def read(self) -> FloatsXd:
        """RETURNS (FloatsXd): The weights."""
        return cast(FloatsXd, torch2xp(self.tensor.data))

    def write(self, weights: FloatsXd) -> None:
        """Change the weights.

        weights (FloatsXd): The new ones.
        """
        self.tensor.data.copy_(xp2torch(weights, device=self.tensor.device))


def trained_parameters(nlp: Language, frozen: Collection[str] = ()) -> list[Parameter]:
    """Find the weights that are learned, once each.

    nlp (Language): The pipeline, initialized.
    frozen (Collection[str]): Names of components that are not.
    RETURNS (list[Parameter]): The weights, in the same order in each process.
    """
    found: dict[tuple[type[Parameter], tuple[int, str]], Parameter] = {}
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        if name in frozen or not isinstance(pipe, TrainablePipe) or not isinstance(model, Model):
            continue
        for number, layer in enumerate(model.walk()):
            for parameter in _parameters_of(layer, f"{name}/{number}"):
                found.setdefault((type(parameter), parameter.key), parameter)
    return list(found.values())


def _parameters_of(layer: Model, place: str) -> list[Parameter]:
    parameters: list[Parameter] = [
        LayerParameter(f"{place}/{name}", layer, name)
        for name in layer.param_names
        if layer.has_param(name)
    ]
    for number, shim in enumerate(layer.shims):
        net: Any = getattr(shim, "_model", None)
        if isinstance(shim, PyTorchShim) and net is not None:
            parameters += [
                NetParameter(f"{place}/net{number}/{name}", shim, name, tensor)
                for name, tensor in net.named_parameters()
                if tensor.requires_grad
            ]
    return parameters
