"""The word-piece tokenizer of a transformer, in a form that needs no files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Errors, RstError
from .alignment import Ints

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # type: ignore[import-untyped]


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
        RAISES (RstError): R303, if it does not tell the characters of a piece.
        """
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name, **{"use_fast": True, **config})
        if not tokenizer.is_fast:
            raise RstError(Errors.R303.format(name=name, reason="its tokenizer is a slow one"))
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
        """Tokenize a text of any length, without adding special pieces. White space at its ends has
        no pieces and changes no others, whatever the tokenizer makes of it.

        text (str): The text.
        RETURNS (tuple[Ints, Ints]): The ids of the pieces, and their start and end characters.
        """
        n_skipped = len(text) - len(text.lstrip())
        encoding = self.backend.encode(text.strip(), add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        # A text that spells "<pad>" would otherwise shift the positions of all that follows.
        ids[np.isin(ids, self.special_ids)] = self.unknown_id
        return ids, np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2) + n_skipped

    def decode(self, ids: Ints) -> list[str]:
        """Write pieces out.

        ids (Ints): The ids of the pieces.
        RETURNS (list[str]): The pieces.
        """
        return [self.backend.id_to_token(number) for number in ids.tolist()]

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
