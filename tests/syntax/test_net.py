from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from spacy_rst.syntax.net import UNKNOWN, SyntaxNet, _crossing, find_tree

WIDTH = 6


@pytest.fixture
def net():
    torch.manual_seed(0)
    sizes = {"width": 8, "hidden_width": 10, "layers": 1, "arc_width": 4, "label_width": 3}
    return SyntaxNet(token_width=WIDTH, n_tags=3, n_labels=5, **sizes).eval()


def test_a_chunk_is_read_the_same_in_any_batch(net):
    lengths = [5, 1, 12, 3]
    tokens = torch.randn(sum(lengths), WIDTH)
    together = net(tokens, lengths)
    for rows, own in zip(together.vectors.split(lengths), tokens.split(lengths), strict=True):
        torch.testing.assert_close(net(own, [len(own)]).vectors, rows)
    vectors, syntax = net.predict(tokens, [[5, 1], [], [12, 3]], np.zeros(21, dtype=bool))
    torch.testing.assert_close(vectors, together.vectors)
    assert [len(parsed.heads) for parsed in syntax] == [6, 0, 15]
    assert (syntax[2].heads[:12] < 12).all() and (syntax[2].heads[12:] >= 12).all()


def test_heads_are_probabilities_without_the_token_itself(net):
    scores = net(torch.randn(7, WIDTH), [4, 3])
    probs = scores.heads.exp()
    torch.testing.assert_close(probs.sum(1), torch.ones(7))
    assert probs[:4].diagonal().sum() == 0
    assert probs[4:, 3].sum() == 0  # no token of the other chunk


def test_loss_counts_what_is_known_alone(net):
    scores = net(torch.randn(3, WIDTH), [3])
    unknown = torch.full((3,), UNKNOWN)
    assert net.loss(scores, torch.stack([unknown] * 3)) == 0
    heads = torch.tensor([-1, 0, UNKNOWN])
    expected = -(scores.heads[0, 3] + scores.heads[1, 0])
    torch.testing.assert_close(net.loss(scores, torch.stack([unknown, heads, unknown])), expected)


def test_arcs_cross_the_borders_between_dependent_and_head():
    # 0 <- 1 (root), 1 -> 3, 3 -> 2
    heads = torch.zeros(1, 4, 4)
    for dependent, head in ((0, 1), (2, 3), (3, 1)):
        heads[0, dependent, head] = 1
    crossing = _crossing(heads, torch.ones(1, 4, dtype=torch.bool))
    assert crossing[0].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]]


@given(
    st_numpy.arrays(np.float32, st.integers(1, 9).map(lambda n: (n, n + 1)),
                    elements=st.floats(-20, 0, width=32))
)  # fmt: skip
def test_heads_make_trees(scores):
    np.fill_diagonal(scores[:, :-1], -np.inf)
    heads = find_tree(scores)
    for token in range(len(heads)):
        for _ in range(len(heads)):
            token = heads[token]
        assert heads[token] == token


def test_best_heads_stay_if_they_make_a_tree():
    scores = np.log(np.array([[0, 0.9, 0.1], [0.2, 0, 0.8]]) + 1e-9)
    assert find_tree(scores).tolist() == [1, 1]
    circle = np.log(np.array([[0, 0.9, 0.1], [0.6, 0, 0.4]]) + 1e-9)
    assert find_tree(circle).tolist() == [1, 1]  # 0.9 * 0.4 is more than 0.1 * 0.6


def test_barred_tokens_are_no_heads():
    scores = np.log(np.array([[0, 0.9, 0.1], [0.9, 0, 0.1]]) + 1e-9)
    assert find_tree(scores, np.array([False, True])).tolist() == [0, 0]
