"""The segmenter's network in plain torch: a BiLSTM that scores tokens as starts of EDUs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from ..errors import Errors, RstError
from ..windows import batch_by_size, check_window, cut_windows

# Log odds of about one start in eight tokens, as in treebanks: a new net need not learn this first.
START_BIAS = -2.0
# Tokens that run through the BiLSTM at once when predicting. More would hardly be faster.
BATCH_TOKENS = 4_000


class EduNet(nn.Module):
    """Scores tokens as starts of EDUs.

    Dropout acts on the token vectors (not on the features), between the layers of the BiLSTM, and
    on its output.

    token_width (int): Width of the token vectors.
    hidden_width (int): Width of the BiLSTM's output, half of it from each direction. Even.
    layers (int): Layers of the BiLSTM.
    n_features (int): Number of further features per token.
    dropout (float): Dropout rate, see `set_dropout`.
    RAISES (RstError): For sizes that make no network.
    """

    def __init__(
        self,
        *,
        token_width: int,
        hidden_width: int = 256,
        layers: int = 1,
        n_features: int = 0,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        sizes = {"token_width": token_width, "hidden_width": hidden_width, "layers": layers}
        for name, size in sizes.items():
            if size < 1:
                raise RstError(Errors.R400.format(name=name, size=size))
        if hidden_width % 2:
            raise RstError(Errors.R401.format(width=hidden_width))
        self.token_width = token_width
        self.n_features = n_features
        self.dropout = nn.Dropout(0.0)
        self.encoder = nn.LSTM(
            token_width + n_features,
            hidden_width // 2,
            layers,
            bidirectional=True,
            batch_first=True,
        )
        self.score = nn.Linear(hidden_width, 1)
        nn.init.constant_(self.score.bias, START_BIAS)
        self.set_dropout(dropout)

    def set_dropout(self, rate: float) -> None:
        """Change the dropout rate everywhere.

        rate (float): From 0 (none) to less than 1.
        RAISES (RstError): For another rate.
        """
        if not 0 <= rate < 1:
            raise RstError(Errors.R253.format(rate=rate))
        self.dropout.p = rate
        # Between the layers the LSTM drops by itself. With a single layer there is no between.
        self.encoder.dropout = rate if self.encoder.num_layers > 1 else 0.0

    def forward(
        self, tokens: Tensor, lengths: Sequence[int], features: Tensor | None = None
    ) -> Tensor:
        """Score the tokens of documents, each read as a whole.

        tokens (Tensor): Float (total_tokens, token_width), all documents one after the other.
        lengths (Sequence[int]): The number of tokens of each document; 0 is fine.
        features (Tensor | None): Float (total_tokens, n_features), further facts about each token.
        RETURNS (Tensor): Float (total_tokens,), the log odds of a start.
        """
        self._check_sizes(tokens, lengths, features)
        inputs = self._inputs(tokens, features)
        return self._score(inputs.split([length for length in lengths if length]))

    @torch.inference_mode()
    def predict(
        self,
        tokens: Tensor,
        lengths: Sequence[int],
        features: Tensor | None = None,
        *,
        window: int = 2000,
        margin: int = 200,
    ) -> Tensor:
        """Score the tokens of documents of any length, in bounded memory. Call `eval()` before.

        tokens (Tensor): Float (total_tokens, token_width), all documents one after
            the other.
        lengths (Sequence[int]): The number of tokens of each document; 0 is fine.
        features (Tensor | None): Float (total_tokens, n_features), further facts about each token.
        window (int): Longer documents are read in windows of so many tokens.
        margin (int): Context at each side of a window of which the scores are not kept.
        RETURNS (Tensor): Float (total_tokens,), the log odds of a start.
        RAISES (RstError): If the margins leave nothing of a window.
        """
        check_window(window, margin)
        self._check_sizes(tokens, lengths, features)
        kept = [self.score.bias.new_zeros(0)]
        for batch in batch_by_size(
            cut_windows(lengths, window, margin), BATCH_TOKENS, lambda part: part.end - part.start
        ):
            places = [slice(part.start, part.end) for part in batch]
            scores = self._score(
                [
                    self._inputs(
                        tokens[place],
                        None if features is None else features[place],
                    )
                    for place in places
                ]
            )
            parts = scores.split([part.end - part.start for part in batch])
            kept += [
                row[part.keep_start - part.start : part.keep_end - part.start]
                for row, part in zip(parts, batch, strict=True)
            ]
        return torch.cat(kept)

    def _check_sizes(self, tokens: Tensor, lengths: Sequence[int], features: Tensor | None) -> None:
        expected = (sum(lengths), self.token_width)
        if tuple(tokens.shape) != expected:
            raise RstError(
                Errors.R402.format(
                    what="token vectors", expected=expected, found=tuple(tokens.shape)
                )
            )
        found = None if features is None else tuple(features.shape)
        wanted = (len(tokens), self.n_features) if self.n_features else None
        if found != wanted:
            raise RstError(Errors.R402.format(what="features", expected=wanted, found=found))

    def _inputs(self, tokens: Tensor, features: Tensor | None) -> Tensor:
        dropped = self.dropout(tokens)
        return dropped if features is None else torch.cat([dropped, features], dim=1)

    def _score(self, sequences: Sequence[Tensor]) -> Tensor:
        """The scores of some sequences, one after the other; none may be empty."""
        if not sequences:
            return self.score.bias.new_zeros(0)
        states, _ = self.encoder(pack_sequence(list(sequences), enforce_sorted=False))
        return self.score(self.dropout(torch.cat(unpack_sequence(states)))).squeeze(1)
