"""The parser's network against a slow reference, written out from the paper's formulas."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import random
from functools import partial

import numpy as np
import pytest
import torch

from spacy_rst.errors import RstError
from spacy_rst.parser import net as net_module
from spacy_rst.parser import search
from spacy_rst.parser import splitters as splitters_module
from spacy_rst.parser.model import build_rst_parser
from spacy_rst.parser.net import EduBatch, GoldSplits, ParsedTree, RstNet
from spacy_rst.parser.spans import (
    CODES_OF_A_KIND,
    Boundaries,
    EncodedEdus,
    prefix_sums,
    segment_log_softmax,
    span_means,
)
from spacy_rst.parser.splitters import PointerSplitter, SpanSplitter

SPLITTERS = {"pointer": PointerSplitter, "span": SpanSplitter}
TOKEN_WIDTH, HIDDEN_WIDTH, CLASSIFIER_WIDTH, N_LABELS, N_FEATURES = 6, 8, 5, 4, 3
N_KINDS = 3
# The paper's net, and one that pools tokens by attention and sees boundaries and ends of parts.
VARIANTS = [{}, {"attention": True, "label_ends": True, "n_boundary_kinds": N_KINDS}]


def make_net(splitter: str = "pointer", *, dropout: float = 0.5, **overrides) -> RstNet:
    torch.manual_seed(7)
    settings = {
        "token_width": TOKEN_WIDTH,
        "n_labels": N_LABELS,
        "hidden_width": HIDDEN_WIDTH,
        "encoder_layers": 2,
        "classifier_width": CLASSIFIER_WIDTH,
        "make_splitter": SPLITTERS[splitter],
        **overrides,
    }
    net = RstNet(**settings).eval()
    net.set_dropout(dropout)
    with torch.no_grad():
        for parameter in net.parameters():  # far from uniform distributions
            parameter.mul_(2)
    return net


def decode(net: RstNet, encoded: EncodedEdus, search_edus: int = 0) -> list[ParsedTree]:
    """Decode greedily, or search for trees."""
    net.splitter.search_edus = search_edus
    return net.decode(encoded)


def loss_with(net: RstNet, option: str, value: float, *batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The losses with another value of an option, of the net or of its splitter."""
    owner = net if hasattr(net, option) else net.splitter
    before = getattr(owner, option)
    setattr(owner, option, value)
    losses = net.loss(*batch)
    setattr(owner, option, before)
    return losses


def make_boundaries(edu_counts: list[int], seed: int = 0) -> Boundaries:
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, N_KINDS, sum(edu_counts))
    return Boundaries(kinds, kinds // 2, edu_counts)


def learn(net: RstNet) -> RstNet:
    """Give attention and boundaries a meaning, which they do not have in a new net."""
    learned = [net.attend, *(part.boundary for part in (net.splitter, net.classifier))]
    for weight in learned:
        if weight is not None:
            torch.nn.init.normal_(getattr(weight, "weight", weight))
    return net


def make_batch(edu_counts: list[int], seed: int = 0, n_features: int = 0) -> EduBatch:
    """Random vectors; EDUs of 1 to 4 tokens, with tokens here and there that belong to none."""
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    starts, ends, position = [], [], 0
    for _ in range(sum(edu_counts)):
        position += rng.random() < 0.3
        starts.append(position)
        position += rng.randint(1, 4)
        ends.append(position)
    return EduBatch(
        tokens=torch.randn(position + 1, TOKEN_WIDTH, generator=generator),
        edu_starts=torch.tensor(starts, dtype=torch.long),
        edu_ends=torch.tensor(ends, dtype=torch.long),
        edu_counts=edu_counts,
        edu_features=torch.randn(len(starts), n_features, generator=generator)
        if n_features
        else None,
        boundaries=make_boundaries(edu_counts, seed),
    )


def random_splits(n_edus: int, rng: random.Random) -> list[tuple[int, int, int]]:
    splits, stack = [], [(0, n_edus)]
    while stack:
        start, end = stack.pop()
        if end - start > 1:
            split = rng.randint(start + 1, end - 1)
            splits.append((start, split, end))
            stack += [(split, end), (start, split)]
    return splits


def make_gold(edu_counts: list[int], seed: int = 0) -> list[GoldSplits]:
    rng = random.Random(seed)
    trees = []
    for count in edu_counts:
        splits = random_splits(count, rng)
        labels = [rng.randrange(N_LABELS) for _ in splits]
        trees.append(
            GoldSplits(
                torch.tensor(splits, dtype=torch.long).view(-1, 3),
                torch.tensor(labels, dtype=torch.long),
            )
        )
    return trees


def one_document(batch: EduBatch, document: int) -> EduBatch:
    first = sum(batch.edu_counts[:document])
    edus = slice(first, first + batch.edu_counts[document])
    kinds = batch.boundaries._tensors[1][edus].numpy() // CODES_OF_A_KIND
    counts = [batch.edu_counts[document]]
    return EduBatch(
        tokens=batch.tokens,
        edu_starts=batch.edu_starts[edus],
        edu_ends=batch.edu_ends[edus],
        edu_counts=counts,
        edu_features=None if batch.edu_features is None else batch.edu_features[edus],
        boundaries=Boundaries(kinds, kinds // 2, counts),
    )


def softmax(scores) -> np.ndarray:
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


class Reference:
    """The paper's network on the weights of an `RstNet`: one document, step by step, in double
    precision."""

    def __init__(self, net: RstNet, batch: EduBatch, document: int = 0):
        self.weights = {name: value.double().numpy() for name, value in net.state_dict().items()}
        self.n_layers = net.encoder.num_layers
        self.batch = one_document(batch, document)
        self.edus, self.state = self.encode()

    def gru(self, prefix: str, suffix: str, inputs, state) -> np.ndarray:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        w_ih, w_hh, b_ih, b_hh = (self.weights[f"{prefix}.{name}_{suffix}"] for name in names)
        states = []
        for x in inputs:
            of_input, of_state = np.split(w_ih @ x + b_ih, 3), np.split(w_hh @ state + b_hh, 3)
            reset, update = (sigmoid(of_input[i] + of_state[i]) for i in range(2))
            state = (1 - update) * np.tanh(of_input[2] + reset * of_state[2]) + update * state
            states.append(state)
        return np.array(states)

    def encode(self) -> tuple[np.ndarray, np.ndarray]:
        tokens = self.batch.tokens.double().numpy()
        bounds = list(zip(self.batch.edu_starts, self.batch.edu_ends, strict=True))
        rows = np.array([self.pool(tokens[start:end]) for start, end in bounds])
        zeros = np.zeros(HIDDEN_WIDTH // 2)
        for layer in range(self.n_layers):
            forward = self.gru("encoder", f"l{layer}", rows, zeros)
            backward = self.gru("encoder", f"l{layer}_reverse", rows[::-1], zeros)[::-1]
            rows = np.concatenate([forward, backward], axis=1)
        ends = [np.concatenate([tokens[start], tokens[end - 1]]) for start, end in bounds]
        parts = [rows, ends]
        if self.batch.edu_features is not None:
            parts.append(self.batch.edu_features.numpy())
        inputs = np.concatenate(parts, axis=1)
        edus = inputs @ self.weights["combine.weight"].T + self.weights["combine.bias"]
        return edus, np.concatenate([forward[-1], backward[0]])

    def pool(self, tokens) -> np.ndarray:
        if "attend" not in self.weights:
            return tokens.mean(0)
        return softmax(tokens @ self.weights["attend"]) @ tokens

    def describe(self, part) -> np.ndarray:
        """What the classifier is told about the EDUs of a part."""
        n_vectors = self.weights["classifier.project_left.weight"].shape[1] // HIDDEN_WIDTH
        return np.concatenate([part.mean(0), part[0], part[-1]][:n_vectors])

    def boundary(self, name: str, start: int, split: int, end: int) -> np.ndarray | float:
        """The vector of a boundary in a part of the net, 0 where there is none."""
        if f"{name}.boundary.weight" not in self.weights:
            return 0.0
        places = (torch.tensor([place]) for place in (start, split, end))
        return self.weights[f"{name}.boundary.weight"][self.batch.boundaries.codes(*places)[0]]

    def split_probs(self, splitter: str, spans) -> list[np.ndarray]:
        """For each span the probabilities of its candidates start+1 ... end-1."""
        edus = self.edus
        if splitter == "span":
            scorers = [partial(self.span_score, *span) for span in spans]
        else:
            inputs = [edus[start:end].mean(0) for start, end in spans]
            states = self.gru("splitter.gru", "l0", inputs, self.state)
            scorers = [
                lambda k, h=h, start=start, end=end: (
                    h @ (edus[k - 1] + self.boundary("splitter", start, k, end))
                )
                for h, (start, end) in zip(states, spans, strict=True)
            ]
        return [
            softmax([score(k) for k in range(start + 1, end)])
            for score, (start, end) in zip(scorers, spans, strict=True)
        ]

    def span_score(self, start: int, end: int, split: int) -> float:
        edus = self.edus
        means = (edus[a:b].mean(0) for a, b in ((start, split), (split, end), (start, end)))
        left, right, whole = means
        x = np.concatenate([left, right, edus[split - 1], edus[split], whole])
        hidden = self.weights["splitter.mix.weight"] @ x + self.weights["splitter.mix.bias"]
        hidden = np.maximum(hidden + self.boundary("splitter", start, split, end), 0)
        return self.weights["splitter.score.weight"][0] @ hidden

    def label_probs(self, start: int, split: int, end: int) -> np.ndarray:
        weights = self.weights
        left = weights["classifier.project_left.weight"] @ self.describe(self.edus[start:split])
        right = weights["classifier.project_right.weight"] @ self.describe(self.edus[split:end])
        both = np.concatenate([left, right]) + self.boundary("classifier", start, split, end)
        left, right = np.split(np.where(both > 0, both, np.exp(both) - 1), 2)
        logits = weights["classifier.left.weight"] @ left
        logits += weights["classifier.right.weight"] @ right + weights["classifier.right.bias"]
        return softmax(logits + np.einsum("i,lij,j->l", left, weights["classifier.both"], right))


def assert_same_trees(found: list[ParsedTree], expected: list[ParsedTree]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.splits, b.splits)
        np.testing.assert_array_equal(a.labels, b.labels)
        np.testing.assert_allclose(a.split_probs, b.split_probs, rtol=1e-4)
        np.testing.assert_allclose(a.label_probs, b.label_probs, rtol=1e-4)


# Equation by equation


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("attention", [False, True])
def test_encoder_is_the_papers(layers, attention):
    net = learn(make_net(encoder_layers=layers, n_features=N_FEATURES, attention=attention))
    batch = make_batch([5, 1, 3], n_features=N_FEATURES)
    encoded = net.encode(batch)
    for document, (start, end) in enumerate(encoded.bounds):
        expected = Reference(net, batch, document)
        found = encoded.edus[start:end], encoded.state[document]
        for own, other in zip(found, (expected.edus, expected.state), strict=True):
            torch.testing.assert_close(own, torch.from_numpy(other).float())


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("per, divisor", [("document", 4), ("edu", 6 + 1 + 9 + 2)])
def test_loss_is_the_papers(splitter, variant, per, divisor):
    net = learn(make_net(splitter, loss_per=per, **variant))
    counts = [6, 1, 9, 0, 2]  # a document without EDUs does not count
    batch, gold = make_batch(counts), make_gold(counts)
    split_loss, label_loss = net.loss(net.encode(batch), gold)
    expected_split = expected_label = 0.0
    for document, tree in enumerate(gold):
        rows = tree.splits.tolist()
        if not rows:
            continue
        reference = Reference(net, batch, document)
        probs = reference.split_probs(splitter, [(a, b) for a, _, b in rows])
        for row, label, candidates in zip(rows, tree.labels, probs, strict=True):
            expected_split -= math.log(candidates[row[1] - row[0] - 1])
            expected_label -= math.log(reference.label_probs(*row)[label])
    assert split_loss.item() == pytest.approx(expected_split / divisor, rel=1e-4)
    assert label_loss.item() == pytest.approx(expected_label / divisor, rel=1e-4)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_decode_follows_the_likeliest_splits_and_labels(splitter, variant):
    net = learn(make_net(splitter, **variant))
    batch = make_batch([7, 12, 3])
    trees = net.decode(net.encode(batch))
    for document, tree in enumerate(trees):
        rows = tree.splits.tolist()
        # The spans of a depth-first, left-first walk through the tree itself.
        stack = [(0, batch.edu_counts[document])]
        for start, split, end in rows:
            assert stack.pop() == (start, end)
            stack += [(a, b) for a, b in ((split, end), (start, split)) if b - a > 1]
        assert not stack
        reference = Reference(net, batch, document)
        probs = reference.split_probs(splitter, [(a, b) for a, _, b in rows])
        for i, (start, split, end) in enumerate(rows):
            assert split == start + 1 + int(np.argmax(probs[i]))
            assert tree.split_probs[i] == pytest.approx(max(probs[i]), rel=1e-4)
            labels = reference.label_probs(start, split, end)
            assert tree.labels[i] == int(np.argmax(labels))
            assert tree.label_probs[i] == pytest.approx(max(labels), rel=1e-4)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("n_kinds", [0, N_KINDS])
def test_teacher_forcing_scores_what_decoding_scored(splitter, n_kinds):
    net = make_net(splitter, n_boundary_kinds=n_kinds)
    learn(net)
    encoded = net.encode(make_batch([20, 5, 1, 33]))
    trees = net.decode(encoded)
    gold = [GoldSplits(torch.from_numpy(t.splits), torch.from_numpy(t.labels)) for t in trees]
    split_loss, label_loss = net.loss(encoded, gold)
    split_probs = np.concatenate([tree.split_probs for tree in trees])
    label_probs = np.concatenate([tree.label_probs for tree in trees])
    assert split_loss.item() == pytest.approx(-np.log(split_probs).sum() / 4, rel=1e-4)
    assert label_loss.item() == pytest.approx(-np.log(label_probs).sum() / 4, rel=1e-4)


def test_label_smoothing_touches_labels_only():
    net = make_net()
    encoded, gold = net.encode(make_batch([9])), make_gold([9])
    plain, smooth = (loss_with(net, "label_smoothing", share, encoded, gold) for share in (0, 0.3))
    assert plain[0].item() == smooth[0].item()
    logits = net.classifier(encoded, gold[0].splits)
    log_probs = logits.log_softmax(1)
    expected = 0.7 * plain[1] - 0.3 * log_probs.mean(1).sum()
    torch.testing.assert_close(smooth[1], expected)


def test_exploration_teaches_how_to_go_on_from_own_mistakes():
    counts = [9, 1, 14, 2]
    net, batch, gold = make_net("span"), make_batch(counts), make_gold(counts)
    encoded = net.encode(batch)
    plain, labels = net.loss(encoded, gold)
    explored, same_labels = loss_with(net, "exploration", 0.5, encoded, gold)
    expected = 0.0
    for (offset, _), tree, own in zip(encoded.bounds, gold, net.decode(encoded), strict=True):
        gold_splits = tree.splits.tolist()
        gold_spans = {(start, end) for start, _, end in gold_splits}
        for start, _, end in own.splits.tolist():
            if (start, end) in gold_spans:
                continue
            around = [row for row in gold_splits if row[0] <= start and end <= row[2]]
            best = min(around, key=lambda row: row[2] - row[0])[1]
            spans = torch.tensor([[start + offset, best + offset, end + offset]])
            expected += net.splitter.loss(encoded, spans).item()
    assert expected > 1  # the net made mistakes
    torch.testing.assert_close(explored - plain, torch.tensor(0.5 * expected / len(counts)))
    torch.testing.assert_close(same_labels, labels)


def test_exploration_finds_nothing_where_the_net_is_right():
    net, batch = make_net("span"), make_batch([6, 3])
    encoded = net.encode(batch)
    gold = [
        GoldSplits(torch.from_numpy(tree.splits), torch.from_numpy(tree.labels))
        for tree in net.decode(encoded)
    ]
    explored = loss_with(net, "exploration", 1.0, encoded, gold)
    torch.testing.assert_close(explored[0], net.loss(encoded, gold)[0])


def test_attention_begins_with_the_mean_and_leaves_it():
    plain, attending = make_net(), make_net(attention=True)
    batch = make_batch([5, 0, 3])
    means = plain.encode(batch)
    for name in ("edus", "state"):
        torch.testing.assert_close(getattr(attending.encode(batch), name), getattr(means, name))
    learned = learn(attending).encode(batch)
    assert not torch.allclose(learned.edus, means.edus)
    # A token that all attention is on is the only one that counts.
    with torch.no_grad():
        attending.attend[:] = torch.tensor([200.0] + [0.0] * (TOKEN_WIDTH - 1))
        chosen = [
            batch.tokens[start:end][batch.tokens[start:end, 0].argmax()]
            for start, end in zip(batch.edu_starts, batch.edu_ends, strict=True)
        ]
    pooled = net_module._pool_tokens(batch, attending.attend)
    torch.testing.assert_close(pooled, torch.stack(chosen), atol=0.05, rtol=0)


def test_labels_can_depend_on_the_ends_of_parts_alone():
    means, ends = (make_net(label_ends=label_ends) for label_ends in (False, True))
    # The parts have the same means in both, but not the same EDUs at their ends.
    edus = torch.randn(6, HIDDEN_WIDTH)
    swapped = edus[[1, 0, 2, 3, 5, 4]]
    logits = {}
    for net in (means, ends):
        for rows in (edus, swapped):
            encoded = EncodedEdus(rows, prefix_sums(rows), torch.zeros(1, HIDDEN_WIDTH), [6])
            spans = torch.tensor([[0, 3, 6]])
            logits.setdefault(net, []).append(net.classifier(encoded, spans))
    torch.testing.assert_close(*logits[means])
    assert not torch.allclose(*logits[ends])


def test_layer_norm_normalises_the_edus():
    edus = make_net(layer_norm=True).encode(make_batch([9])).edus
    plain = make_net().encode(make_batch([9])).edus
    # make_net doubles the norm's weight too
    expected = 2 * torch.nn.functional.layer_norm(plain, (HIDDEN_WIDTH,))
    torch.testing.assert_close(edus, expected)


# Means and softmaxes over spans


def test_span_means_stay_precise_in_long_documents():
    vectors = torch.randn(5000, 16, generator=torch.Generator().manual_seed(0)) + 100
    sums = prefix_sums(vectors)
    starts = torch.tensor([0, 4999, 4990, 17, 0, 2500])
    ends = torch.tensor([5000, 5000, 4993, 18, 1, 4000])
    means = span_means(sums, starts, ends)
    assert means.dtype == torch.float32
    for row, start, end in zip(means, starts, ends, strict=True):
        expected = vectors[start:end].double().mean(0)
        torch.testing.assert_close(row.double(), expected, rtol=2e-7, atol=0)


def test_split_scores_stay_precise_in_long_documents():
    splitter = SpanSplitter(HIDDEN_WIDTH)
    topics = torch.randn(2, HIDDEN_WIDTH).repeat_interleave(3000, dim=0) * 5
    edus = topics + torch.randn(6000, HIDDEN_WIDTH) + 10
    found = []
    with torch.inference_mode():
        for rows in (edus, edus[-10:]):
            sums, state = prefix_sums(rows), torch.zeros(1, HIDDEN_WIDTH)
            table = splitter._make_table(EncodedEdus(rows, sums, state, [len(rows)]))
            end = torch.tensor([len(rows)])
            found.append(splitter.score_spans(table, end - 10, end)[0])
    torch.testing.assert_close(*found, atol=1e-3, rtol=0)


def test_segment_log_softmax_is_a_softmax_per_segment():
    scores = torch.tensor([-1e4, 1e4, -3.0, 0.0, 2.0, 5.0], requires_grad=True)
    segments = torch.tensor([0, 0, 1, 2, 2, 2])
    log_probs = segment_log_softmax(scores, segments, 3)
    expected = [scores[:2].log_softmax(0), scores[2:3].log_softmax(0), scores[3:].log_softmax(0)]
    torch.testing.assert_close(log_probs, torch.cat(expected))
    (gradient,) = torch.autograd.grad(log_probs[4], scores)
    (expected_gradient,) = torch.autograd.grad(expected[2][1], scores)
    torch.testing.assert_close(gradient, expected_gradient)


# Batches


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_document_does_not_depend_on_its_batch(splitter, variant):
    net = learn(make_net(splitter, n_features=N_FEATURES, **variant))
    counts = [4, 0, 40, 1, 2, 17, 40]
    batch = make_batch(counts, n_features=N_FEATURES)
    gold = make_gold(counts)
    together = net.encode(batch)
    alone = [net.encode(one_document(batch, i)) for i in range(len(counts))]
    torch.testing.assert_close(together.edus, torch.cat([encoded.edus for encoded in alone]))
    torch.testing.assert_close(together.state, torch.cat([encoded.state for encoded in alone]))
    assert_same_trees(net.decode(together), [net.decode(encoded)[0] for encoded in alone])
    losses = [net.loss(encoded, [tree]) for encoded, tree in zip(alone, gold, strict=True)]
    for found, expected in zip(net.loss(together, gold), zip(*losses, strict=True), strict=True):
        torch.testing.assert_close(found, sum(expected) / 6)  # documents with EDUs


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("counts", [[], [0], [1], [0, 1, 1], [2], [0, 2, 1]])
def test_tiny_documents(splitter, variant, counts):
    net = make_net(splitter, **variant)
    encoded = net.encode(make_batch(counts))
    trees = net.decode(encoded)
    assert [tree.splits.tolist() for tree in trees] == [
        [[0, 1, 2]] if count == 2 else [] for count in counts
    ]
    for tree, count in zip(trees, counts, strict=True):
        size = max(count - 1, 0)
        assert tree.splits.shape == (size, 3)
        assert tree.labels.shape == tree.split_probs.shape == tree.label_probs.shape == (size,)
        np.testing.assert_allclose(tree.split_probs, 1.0)
    split_loss, label_loss = net.loss(encoded, make_gold(counts))
    assert split_loss.item() == pytest.approx(0.0, abs=1e-6)
    assert (label_loss.item() > 0) == (2 in counts)


# Training


def test_a_new_net_makes_nothing_of_boundaries():
    with_boundaries, without = make_net(n_boundary_kinds=N_KINDS), make_net()
    without.load_state_dict(with_boundaries.state_dict(), strict=False)
    trees = [net.decode(net.encode(make_batch([9]))) for net in (with_boundaries, without)]
    assert_same_trees(*trees)


def test_a_net_for_boundaries_refuses_a_batch_without():
    net, batch = make_net(n_boundary_kinds=N_KINDS), make_batch([3])
    batch.boundaries = None
    with pytest.raises(ValueError, match="boundaries"):
        net.decode(net.encode(batch))


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_parameter_learns(splitter, variant):
    settings = {"n_features": N_FEATURES, "layer_norm": True, "n_boundary_kinds": N_KINDS}
    net = make_net(splitter, **settings | variant).train()
    counts = [6, 1, 11]
    encoded = net.encode(make_batch(counts, n_features=N_FEATURES))
    sum(net.loss(encoded, make_gold(counts))).backward()
    without = [
        name
        for name, parameter in net.named_parameters()
        if parameter.grad is None or not parameter.grad.abs().sum() > 0
    ]
    assert without == []
    # The mean, the first and the last EDU of a part.
    for vector in net.classifier.project_left.weight.grad.split(HIDDEN_WIDTH, dim=1):
        assert vector.any()


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_chunks_change_neither_loss_nor_gradient_nor_tree(splitter, monkeypatch):
    net = make_net(splitter)
    counts = [12, 30]
    batch, gold = make_batch(counts), make_gold(counts)

    def run():
        net.zero_grad()
        encoded = net.encode(batch)
        losses = net.loss(encoded, gold)
        sum(losses).backward()
        gradients = [parameter.grad.clone() for parameter in net.parameters()]
        return losses, gradients, net.decode(encoded)

    losses, gradients, trees = run()
    monkeypatch.setattr(splitters_module, "CANDIDATE_ROWS", 7)
    monkeypatch.setattr(splitters_module, "TRAINING_ROWS", 7)
    monkeypatch.setattr(net_module, "BIAFFINE_ELEMENTS", 1)
    chunked_losses, chunked_gradients, chunked_trees = run()
    torch.testing.assert_close(chunked_losses, losses)
    torch.testing.assert_close(chunked_gradients, gradients)
    assert_same_trees(chunked_trees, trees)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_dropout_drops_in_training_only_and_can_be_changed(splitter):
    net = make_net(splitter, dropout=0.5)
    batch, gold = make_batch([8, 15]), make_gold([8, 15])

    def losses() -> list[float]:
        return [loss.item() for loss in net.loss(net.encode(batch), gold)]

    in_evaluation = losses()
    assert losses() == in_evaluation
    net.train()
    first, second = losses(), losses()
    assert first[0] != second[0] and first[1] != second[1]
    net.set_dropout(0.0)
    assert losses() == losses() == pytest.approx(in_evaluation)
    net.set_dropout(0.2)
    assert losses() != losses()
    assert net.encoder.dropout == 0.2


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_each_place_of_dropout_is_at_work(splitter):
    net = make_net(splitter).train()
    batch, gold = make_batch([8, 15]), make_gold([8, 15])
    places = [m for m in net.modules() if isinstance(m, torch.nn.Dropout)] + [net.encoder]
    assert len(places) == 4
    for place in places:
        net.set_dropout(0.0)
        setattr(place, "dropout" if place is net.encoder else "p", 0.5)
        losses = {sum(net.loss(net.encode(batch), gold)).item() for _ in range(5)}
        assert len(losses) > 1, place


# Shapes of trees


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_chains_of_many_edus(splitter, side):
    """Trees as deep as they are long, which no recursion and no batch of levels may choke on."""
    net = make_net(splitter)
    n_edus = 400
    encoded = net.encode(make_batch([n_edus]))

    def pick_from_scores(scores):
        return (0 if side == "right" else len(scores) - 1), 0.5

    def pick_from_flat(log_probs, spans, first):
        return first if side == "right" else first + spans.bincount() - 1

    net.splitter.pick = pick_from_scores if splitter == "pointer" else pick_from_flat
    (tree,) = net.decode(encoded)
    if side == "right":
        expected = [[i, i + 1, n_edus] for i in range(n_edus - 1)]
    else:
        expected = [[0, i - 1, i] for i in range(n_edus, 1, -1)]
    assert tree.splits.tolist() == expected


# The search


def all_trees(start: int, end: int):
    if end - start == 1:
        yield ()
        return
    for split in range(start + 1, end):
        for left in all_trees(start, split):
            for right in all_trees(split, end):
                yield ((start, split, end), *left, *right)


def span_probs(net, batch, document: int) -> dict[tuple[int, int], list[float]]:
    """The probabilities of the split points of all spans of a document, from the reference."""
    spans = itertools.combinations(range(batch.edu_counts[document] + 1), 2)
    spans = [(start, end) for start, end in spans if end - start > 1]
    reference = Reference(net, batch, document)
    return dict(zip(spans, reference.split_probs("span", spans), strict=True))


def test_the_search_equals_brute_force():
    net = make_net("span")
    greedy_was_beaten = likeliest_was_beaten = False
    for seed in range(6):
        counts = [3, 6, 1, 7]
        batch = make_batch(counts, seed=seed)
        encoded = net.encode(batch)
        found, greedy = decode(net, encoded, 128), decode(net, encoded)
        for document, count in enumerate(counts):
            probs = span_probs(net, batch, document)
            trees = {
                tree: math.prod(probs[a, b][k - a - 1] for a, k, b in tree)
                for tree in all_trees(0, count)
            }

            def expected_spans(tree, trees=trees) -> float:
                own = {(start, end) for start, _, end in tree}
                return sum(
                    prob * sum((start, end) in own for start, _, end in other)
                    for other, prob in trees.items()
                )

            best = max(trees, key=expected_spans)
            assert found[document].splits.tolist() == [list(row) for row in best]
            own_probs = [probs[a, b][k - a - 1] for a, k, b in best]
            assert found[document].split_probs == pytest.approx(own_probs, abs=1e-5)
            from_top = tuple(map(tuple, greedy[document].splits.tolist()))
            greedy_was_beaten |= expected_spans(best) > expected_spans(from_top) + 1e-3
            likeliest_was_beaten |= best != max(trees, key=trees.__getitem__)
    assert greedy_was_beaten and likeliest_was_beaten, "the documents are too easy"


def test_the_search_leaves_out_what_is_hardly_reached(monkeypatch):
    net = make_net("span")
    encoded = net.encode(make_batch([40, 2, 25], seed=3))
    scored = []
    score_spans = SpanSplitter.score_spans

    def count(self, table, starts, ends):
        scored[-1] += len(starts)
        return score_spans(self, table, starts, ends)

    monkeypatch.setattr(SpanSplitter, "score_spans", count)
    monkeypatch.setattr(net.splitter, "score", sharpened(net.splitter.score, 10))
    found = []
    for least in (1e-9, search.LEAST_REACH):
        monkeypatch.setattr(search, "LEAST_REACH", least)
        scored.append(0)
        found.append(decode(net, encoded, 128))
    assert_same_trees(*found)
    assert scored[0] > 2 * scored[1] > 2 * (39 + 1 + 24)


def sharpened(layer: torch.nn.Linear, factor: float) -> torch.nn.Linear:
    """A layer with a surer opinion."""
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.weight *= factor
    return other


def test_the_search_leaves_larger_spans_to_greedy_decoding():
    net = make_net("span")
    encoded = net.encode(make_batch([12, 0, 30, 13, 1]))
    searched, greedy = decode(net, encoded, 128), decode(net, encoded)
    assert searched[2].splits.tolist() != greedy[2].splits.tolist()
    mixed = decode(net, encoded, 13)
    assert_same_trees([*mixed[:2], *mixed[3:]], [*searched[:2], *searched[3:]])
    large = [row for row in greedy[2].splits.tolist() if row[2] - row[0] > 13]
    assert large and all(row in mixed[2].splits.tolist() for row in large)
    assert_same_trees(decode(net, encoded, 1), greedy)


# Bad input


@pytest.mark.parametrize(
    "settings",
    [
        {"n_labels": 0},
        {"encoder_layers": 0},
        {"hidden_width": 7},
        {"dropout": 1.0},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(RstError, match=f"R300.*{next(iter(settings))}"):
        make_net(**settings)


def test_a_batch_with_another_number_of_edus_is_refused():
    batch = make_batch([3, 2])
    batch.edu_counts = [3, 3]
    with pytest.raises(ValueError, match="6 EDUs"):
        make_net().encode(batch)


@pytest.mark.parametrize("counts", [[3], [3, 4], [4, 2], [3, 3, 0]])
def test_gold_trees_that_do_not_fit_are_refused(counts):
    net = make_net()
    with pytest.raises(ValueError, match=r"\[3, 3\] EDUs"):
        net.loss(net.encode(make_batch([3, 3])), make_gold(counts))


def test_candidates_that_differ_by_rounding_errors_are_equal_and_the_middle_one_wins():
    splitter = SpanSplitter(4)
    spans, first = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2]), torch.tensor([0, 3, 5])
    log_probs = torch.tensor([-2.0, -1.0000005, -1.0, -0.5, -0.4, -1.0, -1.0, -1.0, -1.0])
    assert splitter.pick(log_probs, spans, first).tolist() == [1, 4, 6]
    alone = torch.zeros(1, dtype=torch.long)
    for span in ([-1.0] * 5, [-1.0] * 4, [-1.0, -2.0, -2.0, -1.0000001], [-3.0, -2.0]):
        scores = torch.tensor(span)
        pick = int(splitter.pick(scores, torch.zeros(len(span), dtype=torch.long), alone))
        assert pick == PointerSplitter(4).pick(scores.numpy())[0]
        assert pick == {5: 2, 4: 1 if span[1] == -1 else 0, 2: 1}[len(span)]


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_a_text_that_repeats_itself_becomes_no_chain(splitter):
    """Its trees were as deep as it is long, and took quadratic time."""
    net = make_net(splitter)
    n_edus = 300
    edus = torch.ones(n_edus, HIDDEN_WIDTH) * torch.randn(HIDDEN_WIDTH)
    encoded = EncodedEdus(edus, prefix_sums(edus), torch.zeros(1, HIDDEN_WIDTH), [n_edus])
    (tree,) = net.decode(encoded)
    depths = {(0, n_edus): 1}
    for start, split, end in tree.splits.tolist():
        depths[start, split] = depths[split, end] = depths[start, end] + 1
    assert max(depths.values()) <= 12


def test_the_papers_network_has_the_papers_size():
    """The paper counts 67M trainable weights, 31M of them XLM-R's. Its labels are 42."""
    options = inspect.signature(build_rst_parser).parameters
    names = ("hidden_width", "encoder_layers", "classifier_width", "layer_norm")
    defaults = {name: options[name].default for name in names}
    with torch.device("meta"):
        net = RstNet(token_width=768, n_labels=42, make_splitter=PointerSplitter, **defaults)
    assert net.encoder.hidden_size == 384
    n_weights = sum(weight.numel() for weight in net.parameters())
    assert n_weights == pytest.approx(36e6, rel=0.02)


def test_recurrent_weights_are_put_together_before_training_and_evaluation(monkeypatch):
    """cuDNN reads them in one piece, but thinc's optimizer puts each in a place of its own."""
    flattened = []
    monkeypatch.setattr(
        torch.nn.RNNBase, "flatten_parameters", lambda layer: flattened.append(layer)
    )
    net = make_net("pointer")
    for change in (net.train, net.eval):
        flattened.clear()
        change()
        assert flattened == [net.encoder, net.splitter.gru]
