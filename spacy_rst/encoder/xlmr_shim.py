"""The transformer of `spacy_rst.XlmrModel.v1`: read, frozen in part, run on windows, saved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import srsly
import torch
from thinc.api import Optimizer, PyTorchGradScaler

from ..errors import Errors, RstError
from ..shims import NetShim
from ..windows import Window, batch_by_size, cut_windows
from .alignment import Ints
from .frozen_layers import FrozenLayers
from .int8_net import round_weights
from .piece_tokenizer import PieceTokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MODEL_TYPES = ("xlm-roberta", "roberta", "camembert", "bert", "mpnet")
SPECIAL_PIECES = 2
AUTOCAST_TYPES = {"none": None, "fp16": torch.float16, "bf16": torch.bfloat16}
# CPU instructions that multiply bfloat16. Without them torch converts it to floats on the way.
BFLOAT16_INSTRUCTIONS = ("avx512_bf16", "amx_bf16")
LAYER_NAME = re.compile(r"encoder\.layer\.(\d+)\.")
# More at once is no faster on a CPU, and needs more memory.
BATCH_PIECES = {"cpu": 1024, "cuda": 8192}


class PieceWindow(NamedTuple):
    """A window over the pieces of a text: the model's input, special pieces included, the places in
    it whose vectors count, and the pieces there, counted through all texts of a batch."""

    ids: Ints
    kept: slice
    pieces: slice


def cut_pieces(
    ids: Ints, offset: int, *, window: int, margin: int, average: bool
) -> Iterator[PieceWindow]:
    """Cut the pieces of a text, between the model's special pieces, into windows. The first one has
    the number `offset` in its batch. At each side of a window there are `margin` pieces for which
    another window has more context; they count only if vectors are averaged."""
    n_pieces = len(ids) - SPECIAL_PIECES
    for cut in list(cut_windows([n_pieces], window, margin)) or [Window(0, 0, 0, 0)]:
        start, end = (cut.start, cut.end) if average else (cut.keep_start, cut.keep_end)
        # The special pieces are taken from the windows at the ends of the text.
        first = start + 1 if start else 0
        last = end + 1 if end < n_pieces else len(ids)
        yield PieceWindow(
            np.concatenate((ids[:1], ids[cut.start + 1 : cut.end + 1], ids[-1:])),
            slice(first - cut.start, last - cut.start),
            slice(offset + first, offset + last),
        )


def read_checkpoint(
    name: str, tokenizer_config: dict[str, Any], transformer_config: dict[str, Any]
) -> tuple[PreTrainedModel, PieceTokenizer]:
    """Read a pretrained model and its tokenizer; a hub name may be downloaded. Raises R303 if this
    encoder cannot use models of their kind."""
    from transformers import AutoConfig, AutoModel

    tokenizer = PieceTokenizer.from_pretrained(name, tokenizer_config)
    config = AutoConfig.from_pretrained(name, **transformer_config)
    if config.model_type not in MODEL_TYPES:
        reason = f"it is of the type '{config.model_type}'"
        raise RstError(Errors.R303.format(name=name, reason=reason))
    transformer = AutoModel.from_pretrained(
        name, config=config, torch_dtype=torch.float32, add_pooling_layer=False
    )
    return transformer, tokenizer


def adapt_transformer(
    transformer: PreTrainedModel,
    *,
    window: int,
    trainable_layers: int | None,
    gradient_checkpointing: bool,
) -> None:
    """Apply the settings of a config to a transformer, whether it was just read or saved before.
    Raises R300 if the model has fewer layers or positions."""
    longest = count_positions(transformer) - SPECIAL_PIECES
    if window > longest:
        raise bad_setting("window", window, f"at most {longest}, for which the model has positions")
    layers = cast(torch.nn.ModuleList, transformer.get_submodule("encoder.layer"))
    if trainable_layers is not None and not 0 <= trainable_layers <= len(layers):
        wanted = f"from 0 (nothing is trained) to {len(layers)}, or null (everything is)"
        raise bad_setting("trainable_layers", trainable_layers, wanted)
    transformer.requires_grad_(trainable_layers is None)
    for layer in layers[len(layers) - (trainable_layers or 0) :]:
        layer.requires_grad_(True)
    if gradient_checkpointing:
        transformer.gradient_checkpointing_enable({"use_reentrant": False})


def bad_setting(name: str, value: object, wanted: str) -> RstError:
    """The error for a setting that cannot be used."""
    return RstError(Errors.R300.format(name=name, value=value, wanted=wanted))


def count_positions(transformer: PreTrainedModel) -> int:
    """The number of pieces that fit into one input, special pieces included."""
    module = transformer.get_submodule("embeddings.position_embeddings")
    positions = cast(torch.nn.Embedding, module)
    # RoBERTa's family counts positions from behind the padding index.
    unused = 0 if positions.padding_idx is None else positions.padding_idx + 1
    return positions.num_embeddings - unused


@cache
def has_fast_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 faster than floats. An old torch does not tell:
    False."""
    find_capabilities = getattr(torch.cpu, "get_capabilities", None)
    if find_capabilities is None or not torch.backends.mkldnn.is_available():
        return False
    capabilities = find_capabilities()
    return any(capabilities.get(name, False) for name in BFLOAT16_INSTRUCTIONS)


class XlmrShim(NetShim):
    """The transformer and its tokenizer inside a thinc model.

    It takes a list of `PieceWindow`, which together cover all pieces of a batch of texts, and gives
    one vector per piece. Its bytes hold all that a saved pipeline needs: the weights as
    safetensors, the tokenizer and the model's config as JSON. `adapt` applies the config to each
    new transformer; the other options are those of `XlmrModel`.
    """

    tokenizer: PieceTokenizer

    def __init__(
        self,
        adapt: Callable[[PreTrainedModel], None],
        max_batch_pieces: int | None,
        mixed_precision: str,
        int8: bool = False,
        max_cache_bytes: int = 0,
        learn_rate_factor: float = 1.0,
        layer_decay: float = 1.0,
    ):
        super().__init__(None)
        self.adapt = adapt
        self.max_batch_pieces = max_batch_pieces
        self.mixed_precision = mixed_precision
        self.int8 = int8
        self.max_cache_bytes = max_cache_bytes
        self.learn_rate_factor = learn_rate_factor
        self.layer_decay = layer_decay
        self._frozen: FrozenLayers | None = None

    @property
    def width(self) -> int:
        """The width of the vectors."""
        return int(self._model.config.hidden_size)

    @property
    def autocast_type(self) -> torch.dtype | None:
        """The number format of large products, None for that of the weights. Half precision is for
        GPUs, and bfloat16 also for CPUs that have instructions for it: on others it would only be
        slower and less exact."""
        wanted = AUTOCAST_TYPES[self.mixed_precision]
        if self.device.type == "cpu" and not (wanted is torch.bfloat16 and has_fast_bfloat16()):
            return None
        return wanted

    def attach(self, transformer: PreTrainedModel, tokenizer: PieceTokenizer) -> None:
        """Take a transformer and its tokenizer, and adapt it to the config."""
        self.adapt(transformer)
        self.set_net(cast(torch.nn.Module, transformer))
        if self.int8 and self.device.type == "cpu":
            round_weights(self._model)
        self.tokenizer = tokenizer
        self._frozen = None
        needs_scaling = self.mixed_precision == "fp16" and self.device.type == "cuda"
        self._grad_scaler = PyTorchGradScaler(enabled=needs_scaling)
        self._grad_scaler.to_(self.device)

    def predict(self, inputs: Any) -> torch.Tensor:
        """Compute vectors, (pieces, width), in the memory of one batch of windows beyond them."""
        self.net.eval()
        with torch.no_grad():
            vectors, _ = self._run(inputs, None)
        return vectors

    def begin_update(self, inputs: Any) -> tuple[torch.Tensor, Callable[[torch.Tensor], None]]:
        """Compute vectors, (pieces, width), and a callback that takes their gradient."""
        self.check_floats()
        self.net.train()
        if self.max_cache_bytes:
            self._frozen = self._frozen or FrozenLayers(self._model, self.max_cache_bytes)
            self._frozen.disable_dropout()
        return self._run(inputs, self._frozen)

    def check_floats(self) -> None:
        """Refuse what needs weights in float, if the config rounds them (R309)."""
        if self.int8:
            raise RstError(Errors.R309)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the trained layers, each at a rate of its own."""
        # Once per step, as several backward passes may have added up their scaled gradients.
        gradients = [p.grad for p in self._model.parameters() if p.grad is not None]
        if gradients:
            self._grad_scaler.unscale(gradients)
        n_layers = len(cast(torch.nn.ModuleList, self._model.get_submodule("encoder.layer")))

        def change(key: tuple[int, str], weights: Any, gradient: Any) -> tuple[Any, Any]:
            found = LAYER_NAME.match(key[1])
            # The embeddings learn like one more layer below the others.
            depth = n_layers - 1 - int(found[1]) if found else n_layers
            rate = self.learn_rate_factor * self.layer_decay**depth
            return optimizer(key, weights, gradient, lr_scale=rate)

        super().finish_update(cast(Optimizer, change))

    def to_bytes(self) -> bytes:
        """Weights, config and tokenizer, without any pickle. Raises R309 if the weights are
        rounded."""
        if not self.is_built:
            return srsly.msgpack_dumps({})
        self.check_floats()
        from safetensors.torch import save

        state = {name: value.cpu().contiguous() for name, value in self._model.state_dict().items()}
        # Private entries tell where the checkpoint lay on this machine.
        config = {k: v for k, v in self._model.config.to_dict().items() if not k.startswith("_")}
        return srsly.msgpack_dumps(
            {
                "config": json.dumps(config),
                "tokenizer": self.tokenizer.to_dict(),
                "weights": save(state),
            }
        )

    def from_bytes(self, bytes_data: bytes) -> XlmrShim:
        """Load what `to_bytes` wrote, and adapt it to the config. Raises R308 if the weights do not
        fit the installed transformers version."""
        message = srsly.msgpack_loads(bytes_data)
        if not message:
            return self
        from safetensors.torch import load
        from transformers import MODEL_MAPPING, AutoConfig

        config = AutoConfig.for_model(**json.loads(message["config"]))
        model_class = cast(Any, MODEL_MAPPING[type(config)])
        transformer, report = model_class.from_pretrained(
            None,
            config=config,
            state_dict=load(message["weights"]),
            torch_dtype=torch.float32,
            add_pooling_layer=False,
            output_loading_info=True,
        )
        misfits = [*report["missing_keys"], *report["unexpected_keys"]]
        if misfits:
            raise RstError(Errors.R308.format(names=", ".join(misfits)))
        self.attach(transformer, PieceTokenizer.from_dict(message["tokenizer"]))
        return self

    def _run(
        self, windows: Sequence[PieceWindow], frozen: FrozenLayers | None
    ) -> tuple[torch.Tensor, Callable[[torch.Tensor], None]]:
        """Run all windows and average their vectors into those of the pieces, batch by batch."""
        copies = np.zeros(max((window.pieces.stop for window in windows), default=0), dtype="f")
        for window in windows:
            copies[window.pieces] += 1
        shares = torch.from_numpy(1 / copies).to(self.device).unsqueeze(1)
        vectors = torch.zeros((len(copies), self.width), device=self.device)
        runs: list[tuple[list[PieceWindow], torch.Tensor]] = []
        for batch in self._batches(windows):
            hidden = self._hidden_states([window.ids for window in batch], frozen)
            for window, states in zip(batch, hidden.detach(), strict=True):
                vectors[window.pieces] += states[window.kept]
            if hidden.requires_grad:
                runs.append((batch, hidden))
        vectors *= shares

        def backprop(d_vectors: torch.Tensor) -> None:
            d_vectors = d_vectors * shares
            while runs:
                batch, hidden = runs.pop()
                d_hidden = torch.zeros_like(hidden)
                for window, d_states in zip(batch, d_hidden, strict=True):
                    d_states[window.kept] = d_vectors[window.pieces]
                torch.autograd.backward(hidden, self._grad_scaler.scale(d_hidden))

        return vectors, backprop

    def _batches(self, windows: Sequence[PieceWindow]) -> Iterator[list[PieceWindow]]:
        """Windows of similar length together, the longest first: little is lost to padding."""
        cap = self.max_batch_pieces or BATCH_PIECES.get(self.device.type, BATCH_PIECES["cuda"])
        by_length = sorted(windows, key=lambda window: len(window.ids), reverse=True)
        return batch_by_size(by_length, cap, lambda window: len(window.ids), padded=True)

    def _hidden_states(self, ids: list[Ints], frozen: FrozenLayers | None) -> torch.Tensor:
        """Run windows, the longest first, as one padded batch: (windows, longest, width)."""
        padded = np.full((len(ids), len(ids[0])), self.tokenizer.pad_id)
        mask = np.zeros(padded.shape, dtype=np.int64)
        for n, window_ids in enumerate(ids):
            padded[n, : len(window_ids)] = window_ids
            mask[n, : len(window_ids)] = 1
        device, dtype = self.device, self.autocast_type
        pieces, is_piece = torch.from_numpy(padded).to(device), torch.from_numpy(mask).to(device)
        with torch.autocast(device.type, dtype=dtype, enabled=dtype is not None):
            if frozen is not None:
                return frozen.run(ids, pieces, is_piece).float()
            output = self._model(input_ids=pieces, attention_mask=is_piece, return_dict=True)
        return output.last_hidden_state.float()
