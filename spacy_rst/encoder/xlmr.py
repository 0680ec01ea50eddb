"""XLM-R over whole documents: windows of word pieces, lower layers frozen, one vector per token.

`XlmrEncoder` gives the token vectors as they are, for spaCy's `tok2vec` component or right inside
a component's model. `XlmrModel` packs the same vectors for the `transformer` component of
spacy-transformers and its listeners.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, chain, torch2xp, xp2torch
from thinc.types import Floats2d, Ints1d, Ragged

from ..errors import Errors, RstError
from .frozen_layers import DiskCache, MemoryCache, StateCache, fingerprint
from .piece_tokenizer import PieceTokenizer
from .vectors import split_vectors, token_offsets
from .xlmr_shim import (
    AUTOCAST_TYPES,
    SPECIAL_PIECES,
    Rates,
    WindowInputs,
    XlmrShim,
    adapt_transformer,
    read_checkpoint,
    usable_type,
)

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

OVERLAPS = ("center", "mean")
CACHES = ("none", "memory", "disk")


@registry.architectures("spacy_rst.XlmrEncoder.v1")
def XlmrEncoder(
    name: str = "xlm-roberta-base",
    window: int = 500,
    stride: int = 300,
    overlap: str = "center",
    trainable_layers: int | None = 4,
    max_batch_pieces: int | None = None,
    mixed_precision: str = "none",
    gradient_checkpointing: bool = False,
    int8: bool = False,
    cache_frozen: str = "none",
    cache_gigabytes: float = 4.0,
    cache_folder: str | None = None,
    learn_rate_factor: float = 1.0,
    layer_decay: float = 1.0,
    tokenizer_config: dict[str, Any] | None = None,
    transformer_config: dict[str, Any] | None = None,
) -> Model[list[Doc], list[Floats2d]]:
    """Token vectors of whole documents from XLM-R, or a model built like it.

    A token's vector is the mean over its word pieces. A token without pieces, such as a line
    break, has the vector of its neighbour.

    name (str): A name on the Hugging Face hub or a local directory. It is read when the pipeline
        is initialized, and not needed again when the pipeline is loaded.
    window (int): The most word pieces in a window, besides the model's two special pieces.
    stride (int): Word pieces between the starts of two neighbouring windows.
    overlap (str): "center" takes a piece from the window where it is most central, "mean" the mean
        over all windows that contain it.
    trainable_layers (int | None): How many layers, counted from the top, are trained. Embeddings
        and lower layers are frozen. None trains everything.
    max_batch_pieces (int | None): The most word pieces, padding and special pieces included, that
        run through the model at once. None for 1,024 on a CPU and 8,192 on a GPU.
    mixed_precision (str): "none", "fp16" or "bf16": the number format of the transformer on a GPU.
        On a CPU "bf16" has an effect if there are instructions for it, and "fp16" has none.
    gradient_checkpointing (bool): Whether the trained layers are computed again for their
        gradients, which takes more time and much less memory.
    int8 (bool): Whether a trained pipeline runs with 8-bit weights, which takes less time and
        memory and changes the vectors a little. It has no effect on a GPU, and is not for training.
    cache_frozen (str): Where training keeps what the frozen layers make of each window, so that it
        is computed once: "memory", "disk", or "none" for nowhere. These layers then have no
        dropout.
    cache_gigabytes (float): The most that is kept, in half precision: 1.5 kB for each piece of a
        window and a width of 768.
    cache_folder (str | None): Where "disk" keeps it. Other trainings with the same frozen weights
        find it there.
    learn_rate_factor (float): The learning rate of the top layer, as a share of the optimizer's.
    layer_decay (float): The rate of each layer, as a share of that of the layer above it.
    tokenizer_config (dict[str, Any] | None): Settings for `AutoTokenizer.from_pretrained`.
    transformer_config (dict[str, Any] | None): Settings for `AutoConfig.from_pretrained`, such as
        `hidden_dropout_prob`.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder.
    RAISES (RstError): If the settings contradict each other.
    """
    if not 1 <= stride <= window:
        raise RstError(Errors.R300.format(window=window, stride=stride))
    longest = window + SPECIAL_PIECES
    if max_batch_pieces is not None and max_batch_pieces < longest:
        raise RstError(Errors.R301.format(cap=max_batch_pieces, longest=longest))
    _check_choice("mixed_precision", mixed_precision, AUTOCAST_TYPES)
    _check_choice("overlap", overlap, OVERLAPS)
    _check_choice("cache_frozen", cache_frozen, CACHES)
    if cache_frozen != "none" and trainable_layers is None:
        raise RstError(Errors.R312)
    if cache_frozen == "disk" and cache_folder is None:
        raise RstError(Errors.R313)
    make_cache = partial(
        _make_cache,
        max_bytes=int(cache_gigabytes * 1e9),
        folder=cache_folder if cache_frozen == "disk" else None,
        mixed_precision=mixed_precision,
    )
    adapt = partial(
        adapt_transformer,
        window=window,
        trainable_layers=trainable_layers,
        gradient_checkpointing=gradient_checkpointing,
    )
    # What is bound here is not saved with the weights: the config of the loaded pipeline decides.
    return Model(
        "xlmr_encoder",
        partial(
            _encoder_forward,
            window=window,
            margin=(window - stride) // 2,
            average=overlap == "mean",
        ),
        init=partial(
            _encoder_init,
            read=partial(read_checkpoint, name, tokenizer_config or {}, transformer_config or {}),
        ),
        dims={"nO": None},
        shims=[
            XlmrShim(
                adapt,
                max_batch_pieces,
                mixed_precision,
                int8,
                make_cache if cache_frozen != "none" else None,
                Rates(learn_rate_factor, layer_decay),
            )
        ],
    )


@registry.architectures("spacy_rst.XlmrModel.v1")
@wraps(XlmrEncoder, assigned=())  # configs see the settings of the encoder
def XlmrModel(*args: Any, **settings: Any) -> Model[list[Doc], Any]:
    """The model of a `transformer` component, with the vectors of `XlmrEncoder`.

    The component and its listeners see one vector per token in place of the word pieces.

    *args, **settings (Any): As for `XlmrEncoder`.
    RETURNS (Model[list[Doc], FullTransformerBatch]): The model.
    RAISES (RstError): If the settings contradict each other.
    """
    return Model(
        "xlmr_transformer",
        _transformer_forward,
        init=_transformer_init,
        dims={"nO": None},
        layers=[XlmrEncoder(*args, **settings)],
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


def _make_cache(
    frozen: torch.nn.Module, *, max_bytes: int, folder: str | None, mixed_precision: str
) -> StateCache:
    """A cache in memory, or in a folder for these weights and their number format."""
    if folder is None:
        return MemoryCache(max_bytes)
    device = next(frozen.parameters()).device
    weights = fingerprint(frozen, usable_type(mixed_precision, device))
    return DiskCache(Path(folder, weights), max_bytes)


def _encoder_init(
    model: Model,
    X: Any = None,
    Y: Any = None,
    *,
    read: Callable[[], tuple[PreTrainedModel, PieceTokenizer]],
) -> None:
    """Read the checkpoint, unless there are weights already."""
    shim = cast(XlmrShim, model.shims[0])
    if not shim.is_built:
        shim.check_floats()
        shim.attach(*read())
    model.set_dim("nO", shim.width)


def _encoder_forward(
    model: Model[list[Doc], list[Floats2d]],
    docs: list[Doc],
    is_train: bool,
    *,
    window: int,
    margin: int,
    average: bool,
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    shim = cast(XlmrShim, model.shims[0])
    if not shim.is_built:
        raise RstError(Errors.R307)
    inputs = WindowInputs()
    for doc in docs:
        offsets = token_offsets(doc)
        inputs.add_text(
            doc.text, offsets, shim.tokenizer, window=window, margin=margin, average=average
        )
    vectors, backprop_vectors = shim(inputs, is_train)

    def backprop(d_doc_vectors: list[Floats2d]) -> list[Doc]:
        d_vectors = model.ops.xp.concatenate(d_doc_vectors)
        backprop_vectors(xp2torch(d_vectors, device=shim.device))
        return docs

    return split_vectors(cast(Floats2d, torch2xp(vectors, ops=model.ops)), docs), backprop


def _transformer_init(model: Model, X: Any = None, Y: Any = None) -> None:
    encoder = model.layers[0]
    encoder.initialize()
    model.set_dim("nO", encoder.get_dim("nO"))


def _transformer_forward(
    model: Model[list[Doc], Any], docs: list[Doc], is_train: bool
) -> tuple[Any, Callable[[Any], list[Doc]]]:
    """Pack token vectors as spacy-transformers' listeners expect them.

    Each token stands as a window of one word piece, aligned to itself. Thus the listeners'
    pooling leaves the vectors as they are, and documents of any length can be stacked.
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
        d_vectors = cast(Any, d_output.tensors[0]).squeeze(1)
        d_array = cast(Floats2d, torch2xp(d_vectors, ops=model.ops))
        return backprop_vectors(split_vectors(d_array, docs))

    return output, backprop


def _check_choice(setting: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        listed = ", ".join(f"'{choice}'" for choice in choices)
        raise RstError(Errors.R302.format(setting=setting, value=value, choices=listed))


def _replace_listener(model: Model[list[Doc], Any]) -> Model[list[Doc], Any]:
    from spacy_transformers.layers.split_trf import split_trf_batch

    return chain(model, split_trf_batch())


def _replace_listener_config(
    model_config: dict[str, Any], listener_config: dict[str, Any]
) -> dict[str, Any]:
    kept = {key: listener_config[key] for key in ("pooling", "grad_factor")}
    return {"@architectures": "spacy_rst.XlmrTok2Vec.v1", "transformer": model_config, **kept}
