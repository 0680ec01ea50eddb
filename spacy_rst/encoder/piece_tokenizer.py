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
    """The word-piece tokenizer of a checkpoint, in a form that needs no files. Text must not be
    able to write any of the `special_ids`; `unknown_id` takes their place."""

    backend: Tokenizer
    start_id: int
    end_id: int
    pad_id: int
    unknown_id: int
    special_ids: list[int]

    @classmethod
    def from_pretrained(cls, name: str, config: dict[str, Any]) -> PieceTokenizer:
        """Take the tokenizer of a checkpoint, a name on the Hugging Face hub or a local
        directory."""
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
        """The ids of a text's pieces, without special ones, and their start and end characters.
        White space at the ends of the text has no pieces and changes no others, whatever the
        tokenizer makes of it."""
        n_skipped = len(text) - len(text.lstrip())
        encoding = self.backend.encode(text.strip(), add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        # A text that spells "<pad>" would otherwise shift the positions of all that follows.
        ids[np.isin(ids, self.special_ids)] = self.unknown_id
        return ids, np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2) + n_skipped

    def decode(self, ids: Ints) -> list[str]:
        """Write pieces out."""
        return [self.backend.id_to_token(number) for number in ids.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """All that `from_dict` needs, as strings and numbers."""
        return {**vars(self), "backend": self.backend.to_str()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PieceTokenizer:
        """Build the tokenizer that `to_dict` wrote."""
        from tokenizers import Tokenizer

        return cls(**{**data, "backend": Tokenizer.from_str(data["backend"])})
