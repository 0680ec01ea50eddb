"""The segmenter's network in plain torch: a BiLSTM that scores tokens as starts of EDUs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..fast_layers import FastLSTM
from ..recurrent import RecurrentNet, run_packed
from ..windows import batch_by_size, cut_windows

# Log odds of about one start in eight tokens, as in treebanks: a new net need not learn this first.
START_BIAS = -2.0
# Tokens that run through the BiLSTM at once when predicting. More would hardly be faster.
BATCH_TOKENS = 4_000
# Longer documents are read in windows of so many tokens, so that their length does not matter to
# the memory. So many tokens at each side of a window are only its context.
WINDOW, MARGIN = 500, 50
# In training, documents are cut after every so many tokens, and the parts read side by side, which
# is several times faster.
TRAINING_TOKENS = 128


class EduNet(RecurrentNet):
    """Scores tokens as starts of EDUs, from their vectors and further features. Dropout acts on the
    token vectors (not on the features), between the layers of the BiLSTM, and on its output.
    `loss_per` is for the component, which finds the loss."""

    def __init__(
        self,
        *,
        token_width: int,
        hidden_width: int,
        layers: int,
        n_features: int = 0,
        loss_per: str = "document",
        dropout: float | None = None,
    ) -> None:
        super().__init__(dropout, token_width=token_width, hidden_width=hidden_width, layers=layers)
        self.loss_per = loss_per
        self.dropout = nn.Dropout(0.0)
        self.encoder = FastLSTM(
            token_width + n_features,
            hidden_width // 2,
            layers,
            bidirectional=True,
            batch_first=True,
        )
        self.score = nn.Linear(hidden_width, 1)
        nn.init.constant_(self.score.bias, START_BIAS)

    def forward(
        self, tokens: Tensor, lengths: Sequence[int], features: Tensor | None = None
    ) -> Tensor:
        """Score the tokens of documents, which lie one after the other, for training, in parts that
        are read side by side: the log odds of a start, (total_tokens,)."""
        inputs = self._inputs(tokens, features)
        parts = [
            min(TRAINING_TOKENS, length - start)
            for length in lengths
            for start in range(0, length, TRAINING_TOKENS)
        ]
        return self._score(inputs.split(parts))

    @torch.inference_mode()
    def predict(
        self, tokens: Tensor, lengths: Sequence[int], features: Tensor | None = None
    ) -> Tensor:
        """Score the tokens of documents of any length, in bounded memory. Call `eval()` before."""
        windows = cut_windows(lengths, WINDOW, MARGIN)
        kept = [self.score.bias.new_zeros(0)]
        for batch in batch_by_size(windows, BATCH_TOKENS, lambda part: part.end - part.start):
            # What the windows see lies side by side, but for other documents between them.
            first, last = batch[0].start, batch[-1].end
            inputs = self._inputs(
                tokens[first:last], None if features is None else features[first:last]
            )
            rows = [inputs[part.start - first : part.end - first] for part in batch]
            scores = self._score(rows)
            parts = scores.split([part.end - part.start for part in batch])
            kept += [
                row[part.keep_start - part.start : part.keep_end - part.start]
                for row, part in zip(parts, batch, strict=True)
            ]
        return torch.cat(kept)

    def _inputs(self, tokens: Tensor, features: Tensor | None) -> Tensor:
        dropped = self.dropout(tokens)
        return dropped if features is None else torch.cat([dropped, features], dim=1)

    def _score(self, sequences: Sequence[Tensor]) -> Tensor:
        """The scores of some sequences, one after the other; none may be empty."""
        if not sequences:
            return self.score.bias.new_zeros(0)
        states, _ = run_packed(self.encoder, sequences)
        return self.score(self.dropout(torch.cat(states))).squeeze(1)
