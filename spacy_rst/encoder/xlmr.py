"""XLM-R over whole documents: windows of word pieces, lower layers frozen, one vector per token.

`XlmrEncoder` gives the token vectors as they are, for spaCy's `tok2vec` component or right inside
a component's model. `XlmrModel` packs the same vectors for the `transformer` component of
spacy-transformers and its listeners.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import srsly
import torch
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import (
    Model,
    Optimizer,
    PyTorchGradScaler,
    chain,
    get_torch_default_device,
    torch2xp,
    xp2torch,
)
from thinc.types import Floats2d, Ints1d, Ragged

from spacy_rst.encoder.windows import (
    Ints,
    batch_by_length,
    check_window_sizes,
    cut_windows,
    lending_tokens,
    token_piece_ranges,
)
from spacy_rst.errors import Errors, RstError
from spacy_rst.shims import AveragedShim

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # type: ignore[import-untyped]
    from transformers import PreTrainedModel

MODEL_TYPES = ("xlm-roberta", "roberta", "camembert", "bert", "mpnet")
SPECIAL_PIECES = 2
AUTOCAST_TYPES = {"none": None, "fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class XlmrSettings:
    """What the config says about the encoder. See `XlmrEncoder` for the meaning of each value.

    The settings are not saved with the weights: the config of the loaded pipeline decides, so
    that for instance the cap can be changed for another machine.
    """

    name: str
    window: int
    stride: int
    trainable_layers: int | None
    max_batch_pieces: int
    mixed_precision: str
    gradient_checkpointing: bool
    tokenizer_config: dict[str, Any]
    transformer_config: dict[str, Any]

    def __post_init__(self) -> None:
        check_window_sizes(self.window, self.stride)
        longest = self.window + SPECIAL_PIECES
        if self.max_batch_pieces < longest:
            raise RstError(Errors.R301.format(cap=self.max_batch_pieces, longest=longest))
        if self.mixed_precision not in AUTOCAST_TYPES:
            choices = ", ".join(f"'{choice}'" for choice in AUTOCAST_TYPES)
            raise RstError(Errors.R302.format(value=self.mixed_precision, choices=choices))


@dataclass
class PieceTokenizer:
    """The word-piece tokenizer of a checkpoint, in a form that needs no files.

    backend (Tokenizer): The tokenizer itself.
    start_id (int): The special piece in front of every input.
    end_id (int): The special piece behind every input.
    pad_id (int): The piece that fills a batch up.
    unknown_id (int): The piece for what the vocabulary cannot spell.
    special_ids (list[int]): All pieces that text must not be able to write.
    """

    backend: Tokenizer
    start_id: int
    end_id: int
    pad_id: int
    unknown_id: int
    special_ids: list[int]

    @classmethod
    def from_pretrained(cls, name: str, config: dict[str, Any]) -> PieceTokenizer:
        """Take the tokenizer of a checkpoint.

        name (str): A name on the Hugging Face hub or a local directory.
        config (dict[str, Any]): Settings for `AutoTokenizer.from_pretrained`.
        RETURNS (PieceTokenizer): The tokenizer.
        RAISES (RstError): R303, if it cannot tell the characters of a piece.
        """
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name, **{"use_fast": True, **config})
        if not tokenizer.is_fast:
            raise RstError(Errors.R303.format(name=name))
        return cls(
            tokenizer.backend_tokenizer,
            start_id=tokenizer.cls_token_id,
            end_id=tokenizer.sep_token_id,
            pad_id=tokenizer.pad_token_id,
            unknown_id=tokenizer.unk_token_id,
            special_ids=sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}),
        )

    def __post_init__(self) -> None:
        self.backend.no_truncation()
        self.backend.no_padding()

    def encode(self, text: str) -> tuple[Ints, Ints]:
        """Tokenize a text of any length, without adding special pieces.

        text (str): The text.
        RETURNS (tuple[Ints, Ints]): The ids of the pieces, and their start and end characters.
        """
        encoding = self.backend.encode(text, add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        # A text that spells "<pad>" would otherwise shift the positions of all that follows.
        ids[np.isin(ids, self.special_ids)] = self.unknown_id
        return ids, np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): All that `from_dict` needs, as strings and numbers."""
        return {**vars(self), "backend": self.backend.to_str()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PieceTokenizer:
        """Build the tokenizer that `to_dict` wrote.

        data (dict[str, Any]): The output of `to_dict`.
        RETURNS (PieceTokenizer): The tokenizer.
        """
        from tokenizers import Tokenizer

        return cls(**{**data, "backend": Tokenizer.from_str(data["backend"])})


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
        self, text: str, token_offsets: Ints, tokenizer: PieceTokenizer, window: int, stride: int
    ) -> None:
        """Tokenize a text and cut it into windows.

        text (str): The text.
        token_offsets (Ints): Start and end character of each token, shape (tokens, 2).
        tokenizer (PieceTokenizer): The model's own tokenizer.
        window (int): Word pieces in a window.
        stride (int): Word pieces between the starts of two neighbouring windows.
        """
        pieces, piece_offsets = tokenizer.encode(text)
        piece_ranges = token_piece_ranges(token_offsets, piece_offsets)
        for cut in cut_windows(piece_ranges, window, stride):
            inside = pieces[cut.start : cut.end]
            self.ids.append(np.concatenate(([tokenizer.start_id], inside, [tokenizer.end_id])))
            self.positions.append(cut.positions)
            self.rows.append(cut.tokens + self.n_rows)
        self.lenders.append(lending_tokens(piece_ranges) + self.n_rows)
        self.n_rows += len(token_offsets)


def freeze_lower_layers(transformer: PreTrainedModel, trainable_layers: int | None) -> None:
    """Let only the last layers of a transformer learn.

    transformer (PreTrainedModel): A model with `encoder.layer`, as XLM-R.
    trainable_layers (int | None): How many layers, counted from the top, are trained. The
        embeddings and all layers below are frozen. None trains everything.
    RAISES (RstError): R305, if the model has fewer layers.
    """
    layers = cast(torch.nn.ModuleList, transformer.get_submodule("encoder.layer"))
    if trainable_layers is not None and not 0 <= trainable_layers <= len(layers):
        raise RstError(Errors.R305.format(wanted=trainable_layers, layers=len(layers)))
    transformer.requires_grad_(trainable_layers is None)
    for layer in layers[len(layers) - (trainable_layers or 0) :]:
        layer.requires_grad_(True)


def longest_input(transformer: PreTrainedModel) -> int:
    """Count the pieces that fit into one input of a transformer.

    transformer (PreTrainedModel): A model with learned positions, as XLM-R.
    RETURNS (int): The number of pieces, special pieces included.
    """
    module = transformer.get_submodule("embeddings.position_embeddings")
    positions = cast(torch.nn.Embedding, module)
    # RoBERTa's family counts positions from behind the padding index.
    unused = 0 if positions.padding_idx is None else positions.padding_idx + 1
    return positions.num_embeddings - unused


class XlmrShim(AveragedShim):
    """The transformer and its tokenizer inside a thinc model.

    It takes `WindowInputs` and gives one vector per token. The transformer is read at
    initialization, or from the bytes of a saved pipeline, which hold all that is needed: the
    weights as safetensors, the tokenizer and the model's config as JSON. Freezing follows the
    settings each time.

    settings (XlmrSettings): The settings of the encoder.
    """

    tokenizer: PieceTokenizer

    def __init__(self, settings: XlmrSettings):
        super().__init__(None)
        self.settings = settings

    @property
    def is_loaded(self) -> bool:
        """RETURNS (bool): Whether there are weights yet."""
        return self._model is not None

    @property
    def width(self) -> int:
        """RETURNS (int): The width of the token vectors."""
        return int(self._model.config.hidden_size)

    def load_pretrained(self) -> None:
        """Read the checkpoint that the settings name; a hub name may be downloaded.

        RAISES (RstError): If tokenizer or model are not of the kind that this encoder can use.
        """
        from transformers import AutoConfig, AutoModel

        name = self.settings.name
        tokenizer = PieceTokenizer.from_pretrained(name, self.settings.tokenizer_config)
        config = AutoConfig.from_pretrained(name, **self.settings.transformer_config)
        if config.model_type not in MODEL_TYPES:
            raise RstError(Errors.R304.format(model_type=config.model_type))
        transformer = AutoModel.from_pretrained(
            name, config=config, torch_dtype=torch.float32, add_pooling_layer=False
        )
        self._attach(transformer, tokenizer)

    def prepare(self, texts: list[tuple[str, Ints]]) -> WindowInputs:
        """Tokenize texts and cut them into windows.

        texts (list[tuple[str, Ints]]): Texts with the character offsets of their tokens.
        RETURNS (WindowInputs): The input of the model.
        RAISES (RstError): R307, if there are no weights yet.
        """
        if not self.is_loaded:
            raise RstError(Errors.R307.format(name=self.settings.name))
        inputs = WindowInputs()
        for text, token_offsets in texts:
            inputs.add_text(
                text, token_offsets, self.tokenizer, self.settings.window, self.settings.stride
            )
        return inputs

    def predict(self, inputs: Any) -> torch.Tensor:
        """Compute token vectors; memory beyond them is bounded by one batch of windows.

        inputs (WindowInputs): The windows.
        RETURNS (torch.Tensor): The vectors, shape (rows, width).
        """
        self._model.eval()
        with torch.no_grad():
            vectors, _ = self._run(inputs)
        self._model.train()
        return vectors

    def begin_update(self, inputs: Any) -> tuple[torch.Tensor, Callable[[torch.Tensor], None]]:
        """Compute token vectors and remember what the trained layers need for their gradients.

        inputs (WindowInputs): The windows.
        RETURNS (tuple): The vectors, shape (rows, width), and a callback that takes their gradient.
        """
        self._model.train()
        return self._run(inputs)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the trained layers.

        optimizer (Optimizer): The optimizer.
        """
        # Once per step, as several backward passes may have added up their scaled gradients.
        gradients = [p.grad for p in self._model.parameters() if p.grad is not None]
        if gradients:
            self._grad_scaler.unscale(gradients)
        super().finish_update(optimizer)

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Weights, config and tokenizer, without any pickle."""
        if not self.is_loaded:
            return srsly.msgpack_dumps({})
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
        """Load what `to_bytes` wrote, and freeze it as the settings say.

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
        self._attach(transformer, PieceTokenizer.from_dict(message["tokenizer"]))
        return self

    def _attach(self, transformer: PreTrainedModel, tokenizer: PieceTokenizer) -> None:
        longest = self.settings.window + SPECIAL_PIECES
        if longest > longest_input(transformer):
            raise RstError(
                Errors.R306.format(
                    window=self.settings.window, longest=longest_input(transformer) - SPECIAL_PIECES
                )
            )
        freeze_lower_layers(transformer, self.settings.trainable_layers)
        if self.settings.gradient_checkpointing:
            transformer.gradient_checkpointing_enable({"use_reentrant": False})
        device = get_torch_default_device()
        self._model = cast(torch.nn.Module, transformer).to(device)
        self.tokenizer = tokenizer
        needs_scaling = self.settings.mixed_precision == "fp16" and device.type == "cuda"
        self._grad_scaler = PyTorchGradScaler(enabled=needs_scaling)
        self._grad_scaler.to_(device)

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
        for batch in batch_by_length([len(i) for i in inputs.ids], self.settings.max_batch_pieces):
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

    def _hidden_states(self, ids: list[Ints]) -> torch.Tensor:
        """Run windows, the longest first, as one padded batch: (windows * longest, width)."""
        padded = np.full((len(ids), len(ids[0])), self.tokenizer.pad_id)
        mask = np.zeros(padded.shape, dtype=np.int64)
        for n, window_ids in enumerate(ids):
            padded[n, : len(window_ids)] = window_ids
            mask[n, : len(window_ids)] = 1
        device = self.device
        autocast_type = AUTOCAST_TYPES[self.settings.mixed_precision]
        # On a CPU half precision is slower and less exact, so the setting is for GPUs alone.
        enabled = autocast_type is not None and device.type == "cuda"
        with torch.autocast(device.type, dtype=autocast_type, enabled=enabled):
            output = self._model(
                input_ids=torch.from_numpy(padded).to(device),
                attention_mask=torch.from_numpy(mask).to(device),
                return_dict=True,
            )
        return output.last_hidden_state.float().flatten(end_dim=1)


@registry.architectures("spacy_rst.XlmrEncoder.v1")
def XlmrEncoder(
    name: str = "xlm-roberta-base",
    window: int = 500,
    stride: int = 200,
    trainable_layers: int | None = 4,
    max_batch_pieces: int = 8192,
    mixed_precision: str = "none",
    gradient_checkpointing: bool = False,
    tokenizer_config: dict[str, Any] | None = None,
    transformer_config: dict[str, Any] | None = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Token vectors of whole documents from XLM-R, or a model built like it.

    A token's vector is the mean over its word pieces in all windows that contain it. A token
    without pieces, such as a line break, has the vector of its neighbour.

    name (str): A name on the Hugging Face hub or a local directory. It is read when the pipeline
        is initialized, and not needed again when the pipeline is loaded.
    window (int): The most word pieces in a window, besides the model's two special pieces.
    stride (int): Word pieces between the starts of two neighbouring windows.
    trainable_layers (int | None): How many layers, counted from the top, are trained. Embeddings
        and lower layers are frozen. None trains everything.
    max_batch_pieces (int): The most word pieces, padding and special pieces included, that run
        through the model at once.
    mixed_precision (str): "none", "fp16" or "bf16": the number format of the transformer on a GPU.
        It has no effect on a CPU.
    gradient_checkpointing (bool): Whether the trained layers are computed again for their
        gradients, which takes more time and much less memory.
    tokenizer_config (dict[str, Any] | None): Settings for `AutoTokenizer.from_pretrained`.
    transformer_config (dict[str, Any] | None): Settings for `AutoConfig.from_pretrained`, such as
        `hidden_dropout_prob`.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder.
    RAISES (RstError): If the settings contradict each other.
    """
    settings = XlmrSettings(
        name=name,
        window=window,
        stride=stride,
        trainable_layers=trainable_layers,
        max_batch_pieces=max_batch_pieces,
        mixed_precision=mixed_precision,
        gradient_checkpointing=gradient_checkpointing,
        tokenizer_config=dict(tokenizer_config or {}),
        transformer_config=dict(transformer_config or {}),
    )
    return Model(
        "xlmr_encoder",
        encoder_forward,
        init=encoder_init,
        dims={"nO": None},
        shims=[XlmrShim(settings)],
    )


@registry.architectures("spacy_rst.XlmrModel.v1")
def XlmrModel(
    name: str = "xlm-roberta-base",
    window: int = 500,
    stride: int = 200,
    trainable_layers: int | None = 4,
    max_batch_pieces: int = 8192,
    mixed_precision: str = "none",
    gradient_checkpointing: bool = False,
    tokenizer_config: dict[str, Any] | None = None,
    transformer_config: dict[str, Any] | None = None,
) -> Model[list[Doc], Any]:
    """The model of a `transformer` component, with the vectors of `XlmrEncoder`.

    The component and its listeners see one vector per token in place of the word pieces. The
    arguments are those of `XlmrEncoder`.

    RETURNS (Model[list[Doc], FullTransformerBatch]): The model.
    RAISES (RstError): If the settings contradict each other.
    """
    encoder = XlmrEncoder(
        name=name,
        window=window,
        stride=stride,
        trainable_layers=trainable_layers,
        max_batch_pieces=max_batch_pieces,
        mixed_precision=mixed_precision,
        gradient_checkpointing=gradient_checkpointing,
        tokenizer_config=tokenizer_config,
        transformer_config=transformer_config,
    )
    return Model(
        "xlmr_transformer",
        transformer_forward,
        init=transformer_init,
        dims={"nO": None},
        layers=[encoder],
        attrs={
            "replace_listener": _replace_listener,
            "replace_listener_cfg": _replace_listener_config,
        },
    )


@registry.architectures("spacy_rst.XlmrTok2Vec.v1")
def XlmrTok2Vec(
    transformer: Model[list[Doc], Any], pooling: Model[Ragged, Floats2d], grad_factor: float = 1.0
) -> Model[list[Doc], list[Floats2d]]:
    """What a listener becomes when `nlp.replace_listeners` gives a component its own `XlmrModel`.

    Use `XlmrEncoder` in configs written by hand.

    transformer (Model[list[Doc], FullTransformerBatch]): An `XlmrModel`.
    pooling (Model[Ragged, Floats2d]): The listener's pooling.
    grad_factor (float): The listener's factor for gradients.
    RETURNS (Model[list[Doc], list[Floats2d]]): The layers in the order that the replacement has.
    """
    from spacy_transformers.layers.trfs2arrays import trfs2arrays

    return chain(_replace_listener(transformer), trfs2arrays(pooling, grad_factor))


def encoder_init(model: Model, X: Any = None, Y: Any = None) -> None:
    """Read the checkpoint, unless the model has weights already.

    model (Model): An `XlmrEncoder`.
    X (Any): Not used: neither labels nor sizes depend on the data.
    Y (Any): Not used.
    """
    shim = cast(XlmrShim, model.shims[0])
    if not shim.is_loaded:
        shim.load_pretrained()
    model.set_dim("nO", shim.width)


def encoder_forward(
    model: Model[list[Doc], list[Floats2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """Compute the token vectors of documents.

    model (Model): An `XlmrEncoder`.
    docs (list[Doc]): The documents.
    is_train (bool): Whether gradients will be asked for.
    RETURNS (tuple): The vectors of each document, and a callback that takes their gradients.
    """
    shim = cast(XlmrShim, model.shims[0])
    inputs = shim.prepare([(doc.text, _token_offsets(doc)) for doc in docs])
    vectors, backprop_vectors = shim(inputs, is_train)

    def backprop(d_doc_vectors: list[Floats2d]) -> list[Doc]:
        d_vectors = model.ops.xp.concatenate(d_doc_vectors)
        backprop_vectors(xp2torch(d_vectors, device=shim.device))
        return docs

    return _split_by_doc(cast(Floats2d, torch2xp(vectors, ops=model.ops)), docs), backprop


def transformer_init(model: Model, X: Any = None, Y: Any = None) -> None:
    """Read the checkpoint, unless the model has weights already.

    model (Model): An `XlmrModel`.
    X (Any): Not used: neither labels nor sizes depend on the data.
    Y (Any): Not used.
    """
    encoder = model.layers[0]
    encoder.initialize()
    model.set_dim("nO", encoder.get_dim("nO"))


def transformer_forward(
    model: Model[list[Doc], Any], docs: list[Doc], is_train: bool
) -> tuple[Any, Callable[[Any], list[Doc]]]:
    """Pack token vectors as spacy-transformers' listeners expect them.

    Each token stands as a window of one word piece, aligned to itself. Thus the listeners'
    pooling leaves the vectors as they are, and documents of any length can be stacked.

    model (Model): An `XlmrModel`.
    docs (list[Doc]): The documents.
    is_train (bool): Whether gradients will be asked for.
    RETURNS (tuple): A FullTransformerBatch, and a callback that takes one with gradients.
    """
    from spacy_transformers.data_classes import (
        FullTransformerBatch,
        TransformerData,
        WordpieceBatch,
    )
    from transformers.file_utils import ModelOutput

    doc_vectors, backprop_vectors = model.layers[0](docs, is_train)
    doc_data = []
    for vectors in doc_vectors:
        if not len(vectors):
            doc_data.append(TransformerData.empty())
            continue
        one_each = cast(Ints1d, np.ones(len(vectors), dtype="i"))
        alignment = Ragged(model.ops.xp.arange(len(vectors), dtype="i"), one_each)
        doc_data.append(
            TransformerData(
                wordpieces=WordpieceBatch.empty(),
                model_output=ModelOutput(last_hidden_state=vectors[:, None]),
                align=alignment,
            )
        )
    output = FullTransformerBatch.empty(len(docs))
    output.cached_doc_data = doc_data

    def backprop(d_output: FullTransformerBatch) -> list[Doc]:
        d_vectors = cast(torch.Tensor, d_output.tensors[0]).squeeze(1)
        d_array = cast(Floats2d, torch2xp(d_vectors, ops=model.ops))
        return backprop_vectors(_split_by_doc(d_array, docs))

    return output, backprop


def _token_offsets(doc: Doc) -> Ints:
    """Start and end character of each token, as `token_piece_ranges` wants them."""
    # Token.is_space would depend on the vocab: a bare one knows no whitespace.
    sizes = ((token.idx, 0 if token.text.isspace() else len(token)) for token in doc)
    offsets = [(start, start + length) for start, length in sizes]
    return np.asarray(offsets, dtype=np.int64).reshape(-1, 2)


def _split_by_doc(vectors: Floats2d, docs: list[Doc]) -> list[Floats2d]:
    bounds = accumulate((len(doc) for doc in docs), initial=0)
    return [vectors[start:end] for start, end in pairwise(bounds)]


def _replace_listener(model: Model[list[Doc], Any]) -> Model[list[Doc], Any]:
    from spacy_transformers.layers.split_trf import split_trf_batch

    return chain(model, split_trf_batch())


def _replace_listener_config(
    model_config: dict[str, Any], listener_config: dict[str, Any]
) -> dict[str, Any]:
    kept = {key: listener_config[key] for key in ("pooling", "grad_factor")}
    return {"@architectures": "spacy_rst.XlmrTok2Vec.v1", "transformer": model_config, **kept}
