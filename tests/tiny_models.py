"""A tiny XLM-R checkpoint on disk: real classes and a real SentencePiece tokenizer, random weights.

Import the fixture into a `conftest.py` (`from tests.tiny_models import tiny_xlmr`), or call
`build_tiny_xlmr` for another shape.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

SENTENCES = [
    "The dog sleeps in the garden, although it rains.",
    "We stayed at home because the weather was bad; the others went out.",
    "Der Hund schläft im Garten, obwohl es regnet.",
    "El perro duerme en el jardín aunque llueve.",
    "Txakurra lorategian lo dago, euria ari badu ere.",
    "Собака спит в саду, хотя идёт дождь.",
    "狗在花园里睡觉，虽然下着雨。",
    "سگ در باغ می‌خوابد، هرچند باران می‌بارد.",
]


def build_tiny_xlmr(
    path: Path,
    layers: int = 6,
    width: int = 16,
    heads: int = 2,
    inner_width: int = 32,
    dropout: float = 0.1,
) -> Path:
    """Write a checkpoint that `AutoModel` and `AutoTokenizer` read like `xlm-roberta-base`.

    path (Path): The directory to write to; it is made if it does not exist.
    layers (int): The number of layers.
    width (int): The width of the vectors.
    heads (int): The number of attention heads.
    inner_width (int): The width of the feed-forward part of each layer.
    dropout (float): The dropout rate in training.
    RETURNS (Path): The directory.
    """
    import torch
    from sentencepiece import SentencePieceTrainer
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    path.mkdir(parents=True, exist_ok=True)
    pieces = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 5),
        model_writer=pieces,
        vocab_size=250,
        hard_vocab_limit=False,
        character_coverage=1.0,
        num_threads=1,
        minloglevel=2,
    )
    (path / "sentencepiece.bpe.model").write_bytes(pieces.getvalue())
    tokenizer = XLMRobertaTokenizerFast(str(path / "sentencepiece.bpe.model"), model_max_length=512)
    tokenizer.save_pretrained(path)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner_width,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        max_position_embeddings=514,
        type_vocab_size=1,
        # Larger than XLM-R's own 0.02, which in narrow layers leaves hardly any context to see.
        initializer_range=0.2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def tiny_xlmr(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a tiny XLM-R with 6 layers of width 16."""
    return str(build_tiny_xlmr(tmp_path_factory.mktemp("tiny_xlmr")))
