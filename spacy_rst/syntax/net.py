"""The syntactic net in plain torch: a BiLSTM with a tagger and a dependency parser, and token
vectors in which all that they find is mixed.

Nothing is decided on the way: heads, labels and tags stay distributions, so that what is learned
from the vectors reaches the parser, and its doubts reach them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..fast_layers import FastLinear, FastLSTM
from ..recurrent import RecurrentNet, run_packed
from ..windows import batch_by_size

# Tokens that run through the net at once when predicting. More would hardly be faster.
BATCH_TOKENS = 2_000
# No target for this token.
UNKNOWN = -100
# A head that lies so many tokens away is far.
FAR = 8.0
# From these distances on, heads are taken to be at the same distance.
DISTANCES = (1, 2, 3, 4, 5, 7, 9, 13, 17, 33)


@dataclass
class SyntaxScores:
    """What the net says about the tokens of some chunks, one after the other: vectors for what
    comes next; logits of tags and of labels; log probabilities of heads, (total_tokens,
    longest_chunk + 1), first the tokens of the same chunk, last the root."""

    vectors: Tensor
    tags: Tensor
    heads: Tensor
    labels: Tensor


@dataclass
class ParsedSyntax:
    """The likeliest syntax of a document: the numbers of tags, heads (its own for a root) and
    labels, int (n_tokens,) each."""

    tags: np.ndarray
    heads: np.ndarray
    labels: np.ndarray


class SyntaxNet(RecurrentNet):
    """Tags tokens, finds their heads with a biaffine scorer, labels the arcs, and makes vectors.

    A token's vector is made of the one that came in, of its state in the BiLSTM, of its tag and
    label, of its head's state and place, and of the labels of all arcs that cross the border before
    the token: where a clause begins few arcs cross, and their labels say what kind of clause it is.

    The sizes are described at `model.build_syntax`."""

    def __init__(
        self,
        *,
        token_width: int,
        n_tags: int,
        n_labels: int,
        width: int,
        hidden_width: int,
        layers: int,
        arc_width: int,
        label_width: int,
        dropout: float | None = None,
    ) -> None:
        super().__init__(
            dropout,
            token_width=token_width,
            n_tags=n_tags,
            n_labels=n_labels,
            width=width,
            hidden_width=hidden_width,
            layers=layers,
            arc_width=arc_width,
            label_width=label_width,
        )
        self.dropout = nn.Dropout(0.0)
        self.encoder = FastLSTM(
            token_width, hidden_width // 2, layers, bidirectional=True, batch_first=True
        )
        self.tag = FastLinear(hidden_width, n_tags)
        # What a token is as a dependent: for the arcs and for the labels; then as a head: the
        # same, and what its dependents are told about it.
        self.as_dependent = FastLinear(hidden_width, arc_width + label_width)
        self.as_head = FastLinear(hidden_width, arc_width + 2 * label_width)
        self.root = nn.Parameter(torch.zeros(arc_width + 2 * label_width))
        self.arc = FastLinear(arc_width, arc_width)
        # How likely a token's head lies at each distance, to its left and to its right.
        self.distance = FastLinear(hidden_width, 2 * len(DISTANCES))
        self.label = FastLinear(label_width, n_labels)
        self.arc_width, self.label_width = arc_width, label_width
        n_facts = n_tags + 2 * n_labels + label_width + 3
        self.mix = FastLinear(token_width + hidden_width + n_facts, width)
        self.normalize = nn.LayerNorm(width)

    def forward(self, tokens: Tensor, lengths: Sequence[int]) -> SyntaxScores:
        """Parse chunks of text, which lie one after the other; none may be empty."""
        states = torch.cat(run_packed(self.encoder, self.dropout(tokens).split(list(lengths)))[0])
        dropped = self.dropout(states)
        tags = self.tag(dropped)
        padded = pad_sequence(dropped.split(list(lengths)), batch_first=True)
        size = padded.shape[1]
        places = torch.arange(size, device=tokens.device)
        is_token = places < torch.tensor(lengths, device=tokens.device).unsqueeze(1)
        dependents = self.as_dependent(padded)
        heads, labelled_heads, told = self._split(self.as_head(padded))
        root, labelled_root, told_by_root = self._split(self.root)
        asked = self.arc(self.dropout(F.relu(dependents[..., : self.arc_width])))
        scores = torch.bmm(asked, self.dropout(F.relu(heads)).transpose(1, 2))
        distances = _distance_classes(size, tokens.device).expand(len(lengths), -1, -1)
        scores = scores + self.distance(padded).gather(2, distances)
        is_no_head = ~is_token.unsqueeze(1) | (places == places.unsqueeze(1))
        scores = scores.masked_fill(is_no_head, -torch.inf)
        scores = torch.cat([scores, (asked @ root).unsqueeze(2)], dim=2)
        log_probs = scores.log_softmax(2)
        probs, is_root = log_probs.exp().split([size, 1], dim=2)
        by_head = torch.bmm(probs, torch.cat([labelled_heads, told], dim=2))
        by_head = by_head + is_root * torch.cat([labelled_root, told_by_root])
        of_head, told = by_head.split(self.label_width, dim=2)
        labels = self.label(self.dropout(F.relu(dependents[..., self.arc_width :] + of_head)))
        label_probs = labels.softmax(2)
        crossing = torch.bmm(_crossing(probs, is_token), label_probs).log1p()
        place = torch.cat([is_root, _place_of_head(probs, places)], dim=2)
        facts = torch.cat([label_probs, crossing, told, place], dim=2)[is_token]
        mixed = self.mix(self.dropout(torch.cat([tokens, states, tags.softmax(1), facts], dim=1)))
        vectors = self.normalize(F.gelu(mixed))
        return SyntaxScores(vectors, tags, log_probs[is_token], labels[is_token])

    def _split(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows.split([self.arc_width, self.label_width, self.label_width], dim=-1)

    def loss(self, scores: SyntaxScores, gold: Tensor) -> Tensor:
        """The sum of the cross entropies of tags, heads and labels. `gold`, long (3, total_tokens),
        has heads that count from the first token of the chunk, -1 for a root; `UNKNOWN` stands
        where there is nothing to learn."""
        gold_tags, gold_heads, gold_labels = gold
        root = scores.heads.shape[1] - 1
        gold_heads = torch.where(gold_heads == -1, root, gold_heads)
        tags = F.cross_entropy(scores.tags, gold_tags, reduction="sum")
        labels = F.cross_entropy(scores.labels, gold_labels, reduction="sum")
        return tags + labels + F.nll_loss(scores.heads, gold_heads, reduction="sum")

    @torch.inference_mode()
    def predict(
        self,
        tokens: Tensor,
        lengths: Sequence[Sequence[int]],
        is_space: np.ndarray | None = None,
    ) -> tuple[Tensor, list[ParsedSyntax]]:
        """Make vectors for the tokens of documents, given the lengths of the chunks of each, in
        bounded memory; and, if it is told where white space is, which cannot be a head, also find
        the likeliest syntax of each document. Call `eval()` before."""
        vectors = tokens.new_empty(len(tokens), self.mix.out_features)
        tags, heads, labels = np.zeros((3, len(tokens)), dtype=np.int64)
        start = 0
        for batch in batch_by_size((n for part in lengths for n in part), BATCH_TOKENS, int):
            end = start + sum(batch)
            scores = self(tokens[start:end], batch)
            vectors[start:end] = scores.vectors
            if is_space is not None:
                tags[start:end] = scores.tags.argmax(1).cpu().numpy()
                labels[start:end] = scores.labels.argmax(1).cpu().numpy()
                head_scores = scores.heads.cpu().numpy()
                for first, last in pairwise(accumulate(batch, initial=start)):
                    rows = head_scores[first - start : last - start]
                    heads[first:last] = first + find_tree(rows, is_space[first:last])
            start = end
        if is_space is None:
            return vectors, []
        documents = pairwise(accumulate(map(sum, lengths), initial=0))
        return vectors, [
            ParsedSyntax(tags[first:last], heads[first:last] - first, labels[first:last])
            for first, last in documents
        ]


def _crossing(probs: Tensor, is_token: Tensor) -> Tensor:
    """How likely the arc of each dependent crosses the border before each token: (chunks, borders,
    dependents), from `probs` (chunks, dependents, heads) and `is_token` (chunks, tokens)."""
    size = probs.shape[2]
    before = F.pad(probs.cumsum(2), (1, 0))[:, :, :size]
    places = torch.arange(size, device=probs.device)
    stands_before = places.unsqueeze(1) < places
    crossing = torch.where(stands_before, probs.sum(2, keepdim=True) - before, before)
    return (crossing * is_token.unsqueeze(2)).transpose(1, 2)


def _distance_classes(size: int, device: torch.device) -> Tensor:
    """The class of the distance from each token to each other one: (size, size)."""
    places = torch.arange(size, device=device)
    offsets = places - places.unsqueeze(1)
    borders = torch.tensor(DISTANCES, device=device)
    classes = torch.bucketize(offsets.abs(), borders, right=True) - 1
    return classes.clamp(min=0) + len(DISTANCES) * (offsets > 0)


def _place_of_head(probs: Tensor, places: Tensor) -> Tensor:
    """Whether the head of each token stands before it, and how far away it is: (..., 2)."""
    stands_before = probs.tril().sum(2)
    distance = probs @ places.to(probs.dtype) - probs.sum(2) * places
    return torch.stack([stands_before, torch.tanh(distance / FAR)], dim=2)


def find_tree(scores: np.ndarray, is_barred: np.ndarray | None = None) -> np.ndarray:
    """Choose heads that make trees: the best ones, but where these form a circle, the token that
    loses least takes its best head outside of all that hangs on the circle. `scores` (n, columns)
    are the log probabilities of the heads: first the tokens, last the root. A root's head is the
    token itself."""
    n_tokens = len(scores)
    scores = np.concatenate([scores[:, :n_tokens], scores[:, -1:]], axis=1)
    if is_barred is not None:
        scores[:, :-1][:, is_barred] = -np.inf
    heads = scores.argmax(1)
    while len(circle := _find_circle(heads)):
        hanging = _hanging_on(heads, circle)
        others = np.where(np.append(hanging, False), -np.inf, scores[circle])
        best = others.argmax(1)
        loss = scores[circle, heads[circle]] - others[np.arange(len(circle)), best]
        pick = loss.argmin()
        heads[circle[pick]] = best[pick]
    return np.where(heads == n_tokens, np.arange(n_tokens), heads)


def _find_circle(heads: np.ndarray) -> np.ndarray:
    """The tokens of a circle, none where there is none. The root is the head len(heads)."""
    root = len(heads)
    up = np.append(heads, root)
    far = up
    for _ in range(max(root, 1).bit_length()):
        far = far[far]
    # From as far up as there are tokens, what is not the root is on a circle.
    if not (far != root).any():
        return np.zeros(0, dtype=np.int64)
    first = token = int(far[far != root][0])
    circle = [first]
    while (token := int(up[token])) != first:
        circle.append(token)
    return np.array(circle)


def _hanging_on(heads: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Bool (n,), the tokens and all that hang on them."""
    hangs = np.zeros(len(heads) + 1, dtype=bool)
    hangs[tokens] = True
    up = np.append(heads, len(heads))
    while True:
        more = hangs | hangs[up]
        if (more == hangs).all():
            return hangs[:-1]
        hangs = more
