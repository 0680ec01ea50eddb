"""Tiny pretrained encoders on disk: real classes and real SentencePiece models, random weights.

Import the fixtures into a `conftest.py` (`from tests.tiny_models import tiny_xlmr`), or call
`build_tiny_xlmr` and `build_tiny_pieces` for another shape.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
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


def train_pieces() -> bytes:
    """Train a SentencePiece model on the sentences. Returns what belongs into its file."""
    from sentencepiece import SentencePieceTrainer

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
    return pieces.getvalue()


def build_tiny_xlmr(
    path: Path,
    layers: int = 6,
    width: int = 16,
    heads: int = 2,
    inner_width: int = 32,
    dropout: float = 0.1,
) -> Path:
    """Write a checkpoint that `AutoModel` and `AutoTokenizer` read like `xlm-roberta-base`."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    path.mkdir(parents=True, exist_ok=True)
    (path / "sentencepiece.bpe.model").write_bytes(train_pieces())
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


def build_tiny_pieces(path: Path, table_width: int = 12, width: int = 8, n_shards: int = 3) -> Path:
    """Write what `spacy_rst.PieceEncoder.v1` reads: a table of word pieces and convolutions, with
    the names of the real file."""
    from sentencepiece import SentencePieceProcessor

    path.mkdir(parents=True, exist_ok=True)
    model = train_pieces()
    (path / "sp.model").write_bytes(model)
    n_pieces = SentencePieceProcessor(model_proto=model).GetPieceSize()
    rng = np.random.default_rng(0)

    def normal(*shape: int, mean: float = 0.0, scale: float = 1.0) -> np.ndarray:
        # Numbers that half precision has: the encoder rounds what it reads.
        return rng.normal(mean, scale, shape).astype(np.float16).astype(np.float32)

    rows = -(-n_pieces // n_shards)
    arrays = {
        f"q{shard + 1}": rng.integers(0, 64, (rows, table_width), dtype=np.uint8)
        for shard in range(n_shards)
    }
    arrays["lo"] = rng.uniform(-3, -1, n_shards).astype(np.float32)
    arrays["scale"] = rng.uniform(0.02, 0.1, n_shards).astype(np.float32)
    arrays["bits"] = np.array([6], dtype=np.int8)
    for n in (2, 3, 5):
        arrays[f"proj{n}"] = normal(table_width, width, scale=table_width**-0.5)
        arrays[f"proj_b{n}"] = normal(width, scale=0.3)
        arrays[f"ln_g{n}"] = normal(width, mean=1.0, scale=0.3)
        arrays[f"ln_b{n}"] = normal(width, scale=0.3)
        for layer in (1, 2):
            arrays[f"w{layer}_{n}"] = normal(n * width, width, scale=(n * width) ** -0.5)
            arrays[f"b{layer}_{n}"] = normal(width, scale=0.3)
    arrays["ln_g"] = normal(table_width + 3 * width, mean=1.0, scale=0.3)
    arrays["ln_b"] = normal(table_width + 3 * width, scale=0.3)
    arrays["eps"] = np.array(1e-12)
    np.savez(path / "weights.npz", **arrays)
    return path


@pytest.fixture(scope="session")
def tiny_pieces(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a tiny piece encoder: a table 12 wide in 3 shards, convolutions 8 wide."""
    return str(build_tiny_pieces(tmp_path_factory.mktemp("tiny_pieces")))
