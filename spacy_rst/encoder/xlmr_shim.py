"""The transformer of `spacy_rst.XlmrEncoder.v1`: read, frozen in part, run on windows, saved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import srsly
import torch
from thinc.api import Optimizer, PyTorchGradScaler

from ..errors import Errors, RstError
from ..precision import has_fast_bfloat16
from ..shims import NetShim
from ..windows import batch_by_size, cut_windows
from .alignment import Ints, nearest_token_with_pieces, pair_tokens_and_pieces, token_piece_ranges
from .frozen_layers import FrozenLayers, StateCache
from .int8_net import Int8Embedding, round_linear_layers
from .piece_tokenizer import PieceTokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MODEL_TYPES = ("xlm-roberta", "roberta", "camembert", "bert", "mpnet")
SPECIAL_PIECES = 2
AUTOCAST_TYPES = {"none": None, "fp16": torch.float16, "bf16": torch.bfloat16}
LAYER_NAME = re.compile(r"encoder\.layer\.(\d+)\.")
# More at once is no faster on a CPU, and needs more memory.
BATCH_PIECES = {"cpu": 1024, "cuda": 8192}


@dataclass
class WindowInputs:
    """The windows of a batch of texts. A row is a token of the batch, counted over all texts.

    n_rows (int): The number of tokens in all texts.
    ids (list[Ints]): The model's input for each window, special pieces included.
    positions (list[Ints]): For each window, the positions whose vectors are wanted.
    rows (list[Ints]): For each window, the row that each of these positions belongs to.
    lenders (list[Ints]): For each text, the row from which each of its rows takes its vector.
    """

    n_rows: int = 0
    ids: list[Ints] = field(default_factory=list)
    positions: list[Ints] = field(default_factory=list)
    rows: list[Ints] = field(default_factory=list)
    lenders: list[Ints] = field(default_factory=list)

    def add_text(
        self,
        text: str,
        token_offsets: Ints,
        tokenizer: PieceTokenizer,
        *,
        window: int,
        margin: int,
        average: bool,
    ) -> None:
        """Tokenize a text and cut it into windows.

        text (str): The text.
        token_offsets (Ints): Start and end character of each token, shape (tokens, 2).
        tokenizer (PieceTokenizer): The model's own tokenizer.
        window (int): Word pieces in a window.
        margin (int): Pieces at each side of a window that another window has more central.
        average (bool): Take the pieces in the margins too, for the mean over all windows.
        """
        ids, piece_offsets = tokenizer.encode(text)
        piece_ranges = token_piece_ranges(token_offsets, piece_offsets)
        tokens, pieces = pair_tokens_and_pieces(piece_ranges)
        by_piece = np.argsort(pieces, kind="stable")
        tokens, pieces = tokens[by_piece], pieces[by_piece]
        for cut in cut_windows([len(ids)], window, margin):
            wanted = (cut.start, cut.end) if average else (cut.keep_start, cut.keep_end)
            pairs = slice(*np.searchsorted(pieces, wanted))
            inside = ids[cut.start : cut.end]
            self.ids.append(np.concatenate(([tokenizer.start_id], inside, [tokenizer.end_id])))
            self.positions.append(pieces[pairs] - cut.start + 1)  # behind the start piece
            self.rows.append(tokens[pairs] + self.n_rows)
        if len(token_offsets) and not len(tokens):  # the first token takes the start piece
            self.ids.append(np.array([tokenizer.start_id, tokenizer.end_id]))
            self.positions.append(np.array([0]))
            self.rows.append(np.array([self.n_rows]))
        self.lenders.append(nearest_token_with_pieces(piece_ranges) + self.n_rows)
        self.n_rows += len(token_offsets)


def read_checkpoint(
    name: str, tokenizer_config: dict[str, Any], transformer_config: dict[str, Any]
) -> tuple[PreTrainedModel, PieceTokenizer]:
    """Read a pretrained model; a hub name may be downloaded.

    name (str): A name on the Hugging Face hub or a local directory.
    tokenizer_config (dict[str, Any]): Settings for `AutoTokenizer.from_pretrained`.
    transformer_config (dict[str, Any]): Settings for `AutoConfig.from_pretrained`.
    RETURNS (tuple[PreTrainedModel, PieceTokenizer]): The model and its tokenizer.
    RAISES (RstError): If they are not of the kind that this encoder can use.
    """
    from transformers import AutoConfig, AutoModel

    tokenizer = PieceTokenizer.from_pretrained(name, tokenizer_config)
    config = AutoConfig.from_pretrained(name, **transformer_config)
    if config.model_type not in MODEL_TYPES:
        raise RstError(Errors.R304.format(model_type=config.model_type))
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
    """Do with a transformer what the config says, whether it was just read or saved before.

    transformer (PreTrainedModel): A model with learned positions and `encoder.layer`, as XLM-R.
    window (int): Word pieces in a window.
    trainable_layers (int | None): How many layers, counted from the top, are trained. The
        embeddings and all layers below are frozen. None trains everything.
    gradient_checkpointing (bool): Whether to compute layers again for their gradients.
    RAISES (RstError): R305 or R306, if the model has fewer layers or positions.
    """
    longest = count_positions(transformer) - SPECIAL_PIECES
    if window > longest:
        raise RstError(Errors.R306.format(window=window, longest=longest))
    layers = cast(torch.nn.ModuleList, transformer.get_submodule("encoder.layer"))
    if trainable_layers is not None and not 0 <= trainable_layers <= len(layers):
        raise RstError(Errors.R305.format(wanted=trainable_layers, layers=len(layers)))
    transformer.requires_grad_(trainable_layers is None)
    for layer in layers[len(layers) - (trainable_layers or 0) :]:
        layer.requires_grad_(True)
    if gradient_checkpointing:
        transformer.gradient_checkpointing_enable({"use_reentrant": False})


def count_positions(transformer: PreTrainedModel) -> int:
    """RETURNS (int): The pieces that fit into one input, special pieces included."""
    module = transformer.get_submodule("embeddings.position_embeddings")
    positions = cast(torch.nn.Embedding, module)
    # RoBERTa's family counts positions from behind the padding index.
    unused = 0 if positions.padding_idx is None else positions.padding_idx + 1
    return positions.num_embeddings - unused


def usable_type(mixed_precision: str, device: torch.device) -> torch.dtype | None:
    """Find the number format for large products: half precision is for GPUs, and bfloat16 for
    CPUs with instructions for it. On others it would only be slower and less exact.

    mixed_precision (str): A key of `AUTOCAST_TYPES`.
    device (torch.device): The device.
    RETURNS (torch.dtype | None): The format, or None for that of the weights.
    """
    wanted = AUTOCAST_TYPES[mixed_precision]
    if device.type == "cpu" and not (wanted is torch.bfloat16 and has_fast_bfloat16()):
        return None
    return wanted


@dataclass(frozen=True)
class Rates:
    """How fast the layers of a transformer learn.

    top (float): The rate of the last layer, as a share of the optimizer's.
    decay (float): The rate of each layer as a share of that of the layer above.
    """

    top: float = 1.0
    decay: float = 1.0

    def applied_to(self, optimizer: Optimizer, transformer: torch.nn.Module) -> Any:
        """Slow an optimizer down.

        optimizer (Optimizer): The optimizer.
        transformer (torch.nn.Module): What it changes, with `encoder.layer`, as XLM-R. What lies
            below the layers learns like one more layer.
        RETURNS (Any): What to call in its place.
        """
        if self == Rates():
            return optimizer
        n_layers = len(cast(torch.nn.ModuleList, transformer.get_submodule("encoder.layer")))

        def change(key: tuple[int, str], weights: Any, gradient: Any) -> tuple[Any, Any]:
            found = LAYER_NAME.match(key[1])
            depth = n_layers - 1 - int(found[1]) if found else n_layers
            return optimizer(key, weights, gradient, lr_scale=self.top * self.decay**depth)

        return change


class XlmrShim(NetShim):
    """The transformer and its tokenizer inside a thinc model.

    It takes `WindowInputs` and gives one vector per token. Its bytes hold all that a saved
    pipeline needs: the weights as safetensors, the tokenizer and the model's config as JSON.

    adapt (Callable[[PreTrainedModel], None]): What to do with the transformer whenever it is new.
    max_batch_pieces (int | None): The most pieces at once. None for what suits the device.
    mixed_precision (str): A key of `AUTOCAST_TYPES`.
    int8 (bool): Run with 8-bit weights on a CPU.
    make_cache (Callable | None): Makes a cache for what a transformer of the frozen layers alone
        computes, when training begins. None to compute it each time.
    rates (Rates): How fast the layers learn.
    """

    tokenizer: PieceTokenizer

    def __init__(
        self,
        adapt: Callable[[PreTrainedModel], None],
        max_batch_pieces: int | None,
        mixed_precision: str,
        int8: bool = False,
        make_cache: Callable[[torch.nn.Module], StateCache] | None = None,
        rates: Rates | None = None,
    ):
        super().__init__(None)
        self.adapt = adapt
        self.max_batch_pieces = max_batch_pieces
        self.mixed_precision = mixed_precision
        self.int8 = int8
        self.make_cache = make_cache
        self.rates = rates or Rates()
        self._frozen: FrozenLayers | None = None

    @property
    def width(self) -> int:
        """RETURNS (int): The width of the token vectors."""
        return int(self._model.config.hidden_size)

    @property
    def autocast_type(self) -> torch.dtype | None:
        """RETURNS (torch.dtype | None): The number format of large products, if it is another one
        than that of the weights."""
        return usable_type(self.mixed_precision, self.device)

    def attach(self, transformer: PreTrainedModel, tokenizer: PieceTokenizer) -> None:
        """Take a transformer, and adapt it to the config.

        transformer (PreTrainedModel): The transformer.
        tokenizer (PieceTokenizer): Its tokenizer.
        """
        self.adapt(transformer)
        self.set_net(cast(torch.nn.Module, transformer))
        if self.int8 and self.device.type == "cpu":
            round_linear_layers(self._model)
            self._model.set_input_embeddings(Int8Embedding(self._model.get_input_embeddings()))
        self.tokenizer = tokenizer
        self._frozen = None
        needs_scaling = self.mixed_precision == "fp16" and self.device.type == "cuda"
        self._grad_scaler = PyTorchGradScaler(enabled=needs_scaling)
        self._grad_scaler.to_(self.device)

    def predict(self, inputs: Any) -> torch.Tensor:
        """Compute token vectors; memory beyond them is bounded by one batch of windows.

        inputs (WindowInputs): The windows.
        RETURNS (torch.Tensor): The vectors, shape (rows, width).
        """
        self.net.eval()
        with torch.no_grad():
            vectors, _ = self._run(inputs)
        self.net.train()
        return vectors

    def begin_update(self, inputs: Any) -> tuple[torch.Tensor, Callable[[torch.Tensor], None]]:
        """Compute token vectors and remember what the trained layers need for their gradients.

        inputs (WindowInputs): The windows.
        RETURNS (tuple): The vectors, shape (rows, width), and a callback that takes their gradient.
        RAISES (RstError): R309, if the weights are for inference only.
        """
        self.check_floats()
        self.net.train()
        if self.make_cache is not None:
            if self._frozen is None:
                self._frozen = FrozenLayers.of(self._model, self.make_cache)
            # What is kept must not depend on what dropout took away when it was computed.
            self._frozen.lower.eval()
        return self._run(inputs)

    def check_floats(self) -> None:
        """Refuse to do what needs weights in float.

        RAISES (RstError): R309, if the config rounds them.
        """
        if self.int8:
            raise RstError(Errors.R309)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the trained layers.

        optimizer (Optimizer): The optimizer.
        """
        # Once per step, as several backward passes may have added up their scaled gradients.
        gradients = [p.grad for p in self._model.parameters() if p.grad is not None]
        if gradients:
            self._grad_scaler.unscale(gradients)
        super().finish_update(self.rates.applied_to(optimizer, self._model))

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Weights, config and tokenizer, without any pickle.
        RAISES (RstError): R309, if the weights are for inference only.
        """
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
        """Load what `to_bytes` wrote, and adapt it to the config.

        bytes_data (bytes): The output of `to_bytes`.
        RETURNS (XlmrShim): The shim itself.
        RAISES (RstError): R308, if the weights do not fit the installed transformers version.
        """
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

    def _run(self, inputs: WindowInputs) -> tuple[torch.Tensor, Callable[[torch.Tensor], None]]:
        """Run all windows and average their vectors into the rows, batch by batch."""
        device = self.device
        vectors = torch.zeros((inputs.n_rows, self.width), device=device)
        if not inputs.ids:
            return vectors, lambda d_vectors: None
        copies = np.bincount(np.concatenate(inputs.rows), minlength=inputs.n_rows)
        shares = torch.from_numpy(1 / np.maximum(copies, 1)).float().to(device).unsqueeze(1)
        lenders = np.concatenate(inputs.lenders)
        borrowers = np.flatnonzero(lenders != np.arange(inputs.n_rows))
        borrowing = torch.from_numpy(borrowers).to(device)
        lending = torch.from_numpy(lenders[borrowers]).to(device)
        runs: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        for batch in self._batches(inputs):
            hidden = self._hidden_states([inputs.ids[i] for i in batch])
            length = len(inputs.ids[batch[0]])
            flat_positions = [inputs.positions[i] + n * length for n, i in enumerate(batch)]
            positions = torch.from_numpy(np.concatenate(flat_positions)).to(device)
            rows = torch.from_numpy(np.concatenate([inputs.rows[i] for i in batch])).to(device)
            vectors.index_add_(0, rows, hidden.detach()[positions] * shares[rows])
            if hidden.requires_grad:
                runs.append((hidden, positions, rows))
        vectors[borrowing] = vectors[lending]

        def backprop(d_vectors: torch.Tensor) -> None:
            d_rows = d_vectors.index_add(0, lending, d_vectors[borrowing]) * shares
            while runs:
                hidden, positions, rows = runs.pop()
                d_hidden = torch.zeros_like(hidden).index_add_(0, positions, d_rows[rows])
                torch.autograd.backward(hidden, self._grad_scaler.scale(d_hidden))

        return vectors, backprop

    def _batches(self, inputs: WindowInputs) -> Iterator[list[int]]:
        """Windows of similar length together, the longest first: little is lost to padding."""
        cap = self.max_batch_pieces or BATCH_PIECES.get(self.device.type, BATCH_PIECES["cuda"])
        lengths = [len(ids) for ids in inputs.ids]
        order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        return batch_by_size(order, cap, lengths.__getitem__, padded=True)

    def _hidden_states(self, ids: list[Ints]) -> torch.Tensor:
        """Run windows, the longest first, as one padded batch: (windows * longest, width)."""
        padded = np.full((len(ids), len(ids[0])), self.tokenizer.pad_id)
        mask = np.zeros(padded.shape, dtype=np.int64)
        for n, window_ids in enumerate(ids):
            padded[n, : len(window_ids)] = window_ids
            mask[n, : len(window_ids)] = 1
        device = self.device
        pieces, is_piece = torch.from_numpy(padded).to(device), torch.from_numpy(mask).to(device)
        with torch.autocast(
            device.type, dtype=self.autocast_type, enabled=self.autocast_type is not None
        ):
            if self._frozen is None:
                output = self._model(input_ids=pieces, attention_mask=is_piece, return_dict=True)
            else:
                states = self._frozen.states(ids, pieces, is_piece)
                output = self._frozen.upper(
                    inputs_embeds=states, attention_mask=is_piece, return_dict=True
                )
        return output.last_hidden_state.float().flatten(end_dim=1)
