"""XLM-R over whole documents: windows of word pieces, lower layers frozen.

`XlmrModel` is for the `transformer` component of spacy-transformers and its listeners.
`XlmrEncoder` gives token vectors, for spaCy's `tok2vec` component or right inside the model of
another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from spacy_transformers.data_classes import FullTransformerBatch, TransformerData, WordpieceBatch
from spacy_transformers.layers import split_trf_batch, trfs2arrays
from thinc.api import Model, chain, get_array_module, reduce_mean, torch2xp, xp2torch
from thinc.types import Floats2d, Floats3d, Ints1d, Ragged
from transformers.file_utils import ModelOutput

from ..errors import Errors, RstError
from .alignment import nearest_token_with_pieces, pair_tokens_and_pieces, token_piece_ranges
from .piece_tokenizer import PieceTokenizer
from .vectors import token_offsets
from .word_pieces import TokenPieces
from .xlmr_shim import (
    AUTOCAST_TYPES,
    SPECIAL_PIECES,
    XlmrShim,
    adapt_transformer,
    bad_setting,
    cut_pieces,
    read_checkpoint,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OVERLAPS = ("center", "mean")


@registry.architectures("spacy_rst.XlmrModel.v1")
def XlmrModel(
    name: str = "xlm-roberta-base",
    window: int = 500,
    stride: int = 300,
    overlap: str = "center",
    trainable_layers: int | None = 4,
    max_batch_pieces: int | None = None,
    mixed_precision: str = "none",
    gradient_checkpointing: bool = False,
    int8: bool = False,
    cache_gigabytes: float = 0.0,
    learn_rate_factor: float = 1.0,
    layer_decay: float = 1.0,
    tokenizer_config: dict[str, Any] | None = None,
    transformer_config: dict[str, Any] | None = None,
) -> Model[list[Doc], FullTransformerBatch]:
    """XLM-R, or a model built like it, over whole documents, for a `transformer` component.

    The windows of a Doc are put together again: its `TransformerData` has one sequence with all of
    its word pieces and the model's special pieces at both ends. A token without pieces, such as a
    line break, is aligned with those of its neighbour.

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
    cache_gigabytes (float): In training, keep what the frozen layers compute for each window in so
        much memory, so that it is computed once: 1.5 kB for each piece of a window and a width of
        768. These layers then have no dropout. 0 for none.
    learn_rate_factor (float): The learning rate of the top layer, as a share of the optimizer's.
    layer_decay (float): The rate of each layer, as a share of that of the layer above it.
    tokenizer_config (dict[str, Any] | None): Settings for `AutoTokenizer.from_pretrained`.
    transformer_config (dict[str, Any] | None): Settings for `AutoConfig.from_pretrained`, such as
        `hidden_dropout_prob`.
    RETURNS (Model[list[Doc], FullTransformerBatch]): The model.
    RAISES (RstError): R300, if the settings contradict each other.
    """
    if not 1 <= stride <= window:
        raise bad_setting("stride", stride, f"from 1 to window ({window}), so that no text is lost")
    longest = window + SPECIAL_PIECES
    if max_batch_pieces is not None and max_batch_pieces < longest:
        wanted = f"at least {longest}, the size of a window with its special pieces"
        raise bad_setting("max_batch_pieces", max_batch_pieces, wanted)
    _check_choice("mixed_precision", mixed_precision, AUTOCAST_TYPES)
    _check_choice("overlap", overlap, OVERLAPS)
    adapt = partial(
        adapt_transformer,
        window=window,
        trainable_layers=trainable_layers,
        gradient_checkpointing=gradient_checkpointing,
    )
    read = partial(read_checkpoint, name, tokenizer_config or {}, transformer_config or {})
    # What is bound here is not saved with the weights: the config of the loaded pipeline decides.
    cut = partial(
        cut_pieces, window=window, margin=(window - stride) // 2, average=overlap == "mean"
    )
    return Model(
        "xlmr_transformer",
        partial(_forward, cut=cut),
        init=partial(_init, read=read),
        dims={"nO": None},
        shims=[
            XlmrShim(
                adapt,
                max_batch_pieces,
                mixed_precision,
                int8,
                0 if trainable_layers is None else int(cache_gigabytes * 1e9),
                learn_rate_factor,
                layer_decay,
            )
        ],
        attrs={
            "replace_listener": _replace_listener,
            "replace_listener_cfg": _replace_listener_config,
        },
    )


@registry.architectures("spacy_rst.XlmrEncoder.v1")
def XlmrEncoder(
    transformer: Model[list[Doc], FullTransformerBatch],
    pooling: Model[Ragged, Floats2d] | None = None,
    grad_factor: float = 1.0,
) -> Model[list[Doc], list[Floats2d]]:
    """Token vectors of whole documents: a transformer and what its listeners do, in one.

    `nlp.replace_listeners` puts this in the place of a listener.

    transformer (Model[list[Doc], FullTransformerBatch]): An `XlmrModel`.
    pooling (Model[Ragged, Floats2d] | None): Makes a token's vector of those of its pieces. None
        for their mean.
    grad_factor (float): A factor for the gradients that the transformer gets.
    RETURNS (Model[list[Doc], list[Floats2d]]): The encoder.
    """
    return Model(
        "xlmr_encoder",
        _encoder_forward,
        init=_encoder_init,
        dims={"nO": None},
        # As in a component whose listener was replaced, so that its weights can be loaded.
        layers=[_replace_listener(transformer), trfs2arrays(pooling or reduce_mean(), grad_factor)],
    )


class StitchedBatch(FullTransformerBatch):
    """The sequences of several Docs, which have different lengths. They are not padded, but kept
    Doc by Doc: use `doc_data`."""

    def unsplit_by_doc(self, arrays: list[list[Floats3d]]) -> FullTransformerBatch:
        """Join the gradients, (1, pieces, width) for each Doc with tokens, for the backward
        pass."""
        gradients = [doc_arrays[0] for doc_arrays in arrays]
        joined = get_array_module(gradients[0]).concatenate(gradients, axis=1)
        batch = FullTransformerBatch.empty(len(self.spans))
        batch.model_output = ModelOutput(last_hidden_state=xp2torch(joined))
        return batch


def read_doc(doc: Doc, tokenizer: PieceTokenizer) -> TokenPieces:
    """Tokenize a Doc: pieces with special ones at both ends, at least one piece for each token."""
    offsets = token_offsets(doc)
    ids, piece_offsets = tokenizer.encode(doc.text)
    ranges = token_piece_ranges(offsets, piece_offsets)
    ranges = ranges[nearest_token_with_pieces(ranges)] + 1  # behind the start piece
    if (ranges[:, 0] == ranges[:, 1]).any():  # there are no pieces but the special ones
        ranges[:] = (0, 1)
    return TokenPieces(np.concatenate(([tokenizer.start_id], ids, [tokenizer.end_id])), ranges)


def _init(
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


def _forward(
    model: Model[list[Doc], FullTransformerBatch],
    docs: Sequence[Doc],
    is_train: bool,
    *,
    cut: Callable[..., Any],
) -> tuple[FullTransformerBatch, Callable[[FullTransformerBatch], list[Doc]]]:
    shim = cast(XlmrShim, model.shims[0])
    if not shim.is_built:
        raise RstError(Errors.R307)
    docs = list(docs)
    filled = [number for number, doc in enumerate(docs) if len(doc)]
    texts = [read_doc(docs[number], shim.tokenizer) for number in filled]
    starts = list(accumulate((len(text.ids) for text in texts), initial=0))
    windows = [w for text, start in zip(texts, starts, strict=False) for w in cut(text.ids, start)]
    vectors, backprop_vectors = shim(windows, is_train)
    array = cast(Floats2d, torch2xp(vectors, ops=model.ops))

    batch = StitchedBatch.empty(len(docs))
    batch.spans = [[doc[:]] if len(doc) else [] for doc in docs]
    doc_data = cast(list[TransformerData], batch.cached_doc_data)
    for number, text, start in zip(filled, texts, starts, strict=False):
        own = array[start : start + len(text.ids)]
        doc_data[number] = _make_data(model, own, text, shim.tokenizer)

    def backprop(d_output: FullTransformerBatch) -> list[Doc]:
        backprop_vectors(cast(Any, d_output.tensors[0])[0])
        return docs

    return batch, backprop


def _make_data(
    model: Model, vectors: Floats2d, text: TokenPieces, tokenizer: PieceTokenizer
) -> TransformerData:
    """Pack the pieces of a Doc as one window."""
    n_pieces = len(text.ids)
    _, aligned = pair_tokens_and_pieces(text.ranges)
    lengths = (text.ranges[:, 1] - text.ranges[:, 0]).astype("i")
    return TransformerData(
        wordpieces=WordpieceBatch(
            strings=[tokenizer.decode(text.ids)],
            input_ids=cast(Any, text.ids[np.newaxis]),
            attention_mask=cast(Floats2d, np.ones((1, n_pieces), dtype="f")),
            lengths=[n_pieces],
            token_type_ids=None,
        ),
        model_output=ModelOutput(last_hidden_state=cast(Any, vectors)[np.newaxis]),
        align=Ragged(model.ops.asarray1i(cast(Ints1d, aligned)), cast(Ints1d, lengths)),
    )


def _encoder_init(model: Model, X: Any = None, Y: Any = None) -> None:
    transformer = model.layers[0].layers[0]
    transformer.initialize()
    model.set_dim("nO", transformer.get_dim("nO"))


def _encoder_forward(
    model: Model[list[Doc], list[Floats2d]], docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    filled = [doc for doc in docs if len(doc)]
    vectors = [model.ops.alloc2f(0, model.maybe_get_dim("nO") or 0) for _ in docs]
    if not filled:
        return vectors, lambda d_vectors: docs
    transformer, pooling = model.layers
    data, backprop_data = transformer(filled, is_train)
    pooled, backprop_pooling = pooling(data, is_train)
    own = iter(pooled)
    vectors = [next(own) if len(doc) else empty for doc, empty in zip(docs, vectors, strict=True)]

    def backprop(d_vectors: list[Floats2d]) -> list[Doc]:
        backprop_data(backprop_pooling([rows for rows in d_vectors if len(rows)]))
        return docs

    return vectors, backprop


def _replace_listener(model: Model[list[Doc], Any]) -> Model[list[Doc], Any]:
    return chain(model, split_trf_batch())


def _replace_listener_config(
    model_config: dict[str, Any], listener_config: dict[str, Any]
) -> dict[str, Any]:
    kept = {key: listener_config[key] for key in ("pooling", "grad_factor")}
    return {"@architectures": "spacy_rst.XlmrEncoder.v1", "transformer": model_config, **kept}


def _check_choice(setting: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise bad_setting(setting, value, " or ".join(f'"{choice}"' for choice in choices))
