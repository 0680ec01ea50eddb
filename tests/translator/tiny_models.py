"""Tiny translation models on disk: real classes and tokenizers, random weights."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tiny_models import train_pieces

SIZES = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
    # Larger than usual: narrow layers would hardly see their input otherwise.
    "init_std": 0.4,
}


def _write_pieces(path: Path, names: list[str], vocabulary_start: list[str], end: list[str]) -> int:
    """Write SentencePiece models and a vocabulary over them. RETURNS (int): Its size."""
    from sentencepiece import SentencePieceProcessor

    path.mkdir(parents=True, exist_ok=True)
    content = train_pieces()
    for name in names:
        (path / name).write_bytes(content)
    processor = SentencePieceProcessor(model_proto=content)
    pieces = [processor.id_to_piece(number) for number in range(len(processor))]
    special = {"<unk>", "<s>", "</s>"}
    words = [*vocabulary_start, *(piece for piece in pieces if piece not in special), *end]
    vocabulary = {word: number for number, word in enumerate(words)}
    (path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf8")
    return len(vocabulary)


def build_tiny_marian(path: Path, seed: int = 0, codes: tuple[str, ...] = ()) -> str:
    """Write a Marian model, as OPUS-MT has them. `codes` such as >>spa<< are for a model with
    several target languages."""
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    start = ["</s>", "<unk>", *codes]
    size = _write_pieces(path, ["source.spm", "target.spm"], start, ["<pad>"])
    tokenizer = MarianTokenizer(
        *(str(path / name) for name in ("source.spm", "target.spm", "vocab.json")),
        model_max_length=64,
    )
    tokenizer.save_pretrained(path)
    config = MarianConfig(
        vocab_size=size,
        pad_token_id=size - 1,
        decoder_start_token_id=size - 1,
        eos_token_id=0,
        forced_eos_token_id=0,
        **SIZES,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        MarianMTModel(config).save_pretrained(path)
    return str(path)


def build_tiny_m2m100(path: Path) -> str:
    """Write an M2M100 model, which knows a hundred languages."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    start = ["<s>", "<pad>", "</s>", "<unk>"]
    _write_pieces(path, ["sentencepiece.bpe.model"], start, [])
    tokenizer = M2M100Tokenizer(
        str(path / "vocab.json"),
        str(path / "sentencepiece.bpe.model"),
        model_max_length=64,
        additional_special_tokens=[f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]],
    )
    tokenizer.save_pretrained(path)
    config = M2M100Config(vocab_size=len(tokenizer) + 8, **SIZES)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        M2M100ForConditionalGeneration(config).save_pretrained(path)
    return str(path)


def build_nllb_tokenizer(path: Path) -> str:
    """Write NLLB's tokenizer, whose codes name a language and a script."""
    from transformers import NllbTokenizer

    path.mkdir(parents=True, exist_ok=True)
    (path / "sentencepiece.bpe.model").write_bytes(train_pieces())
    NllbTokenizer(str(path / "sentencepiece.bpe.model")).save_pretrained(path)
    return str(path)
