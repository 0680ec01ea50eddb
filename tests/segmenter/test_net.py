from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.errors import RstError
from spacy_rst.recurrent import run_packed
from spacy_rst.segmenter import net as net_module
from spacy_rst.segmenter.net import EduNet
from spacy_rst.windows import cut_windows

WIDTH = 6


def make_net(*, dropout=0.0, **settings):
    torch.manual_seed(0)
    net = EduNet(**{"token_width": WIDTH, "hidden_width": 10, "layers": 1, **settings}).eval()
    net.set_dropout(dropout)
    return net


def test_scores_do_not_depend_on_the_batch():
    net = make_net(layers=2)
    lengths = [5, 0, 1, 12, 3]
    tokens = torch.randn(sum(lengths), WIDTH)
    together = net(tokens, lengths).split(lengths)
    for scores, own in zip(together, tokens.split(lengths), strict=True):
        torch.testing.assert_close(scores, net(own, [len(own)]))


@pytest.fixture
def set_window(monkeypatch):
    def set_both(window, margin):
        monkeypatch.setattr(net_module, "WINDOW", window)
        monkeypatch.setattr(net_module, "MARGIN", margin)

    return set_both


def test_predicts_short_documents_as_it_reads_them_in_training(set_window):
    set_window(20, 4)
    net = make_net()
    lengths = [7, 20, 0, 2]
    tokens = torch.randn(sum(lengths), WIDTH)
    whole = net(tokens, lengths)
    torch.testing.assert_close(net.predict(tokens, lengths), whole)


def test_no_tokens_no_scores():
    net = make_net()
    nothing = torch.zeros(0, WIDTH)
    assert net(nothing, []).shape == net(nothing, [0, 0]).shape == (0,)
    assert net.predict(nothing, []).shape == net.predict(nothing, [0]).shape == (0,)


@given(
    st.lists(st.integers(0, 60), max_size=4),
    st.integers(0, 6),
    st.integers(1, 20),
)
def test_windows_keep_each_token_once_with_its_context(lengths, margin, kept):
    window = 2 * margin + kept
    windows = list(cut_windows(lengths, window, margin))
    tokens = [token for part in windows for token in range(part.keep_start, part.keep_end)]
    assert tokens == list(range(sum(lengths)))
    borders = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
    for part in windows:
        document_start = max(border for border in borders if border <= part.keep_start)
        document_end = min(border for border in borders if border >= part.keep_end)
        assert part.start == max(document_start, part.keep_start - margin)
        assert part.end == min(document_end, part.keep_end + margin)
        assert part.end - part.start <= window


def test_long_documents_are_scored_as_if_they_were_read_as_a_whole(monkeypatch, set_window):
    monkeypatch.setattr(net_module, "BATCH_TOKENS", 150)
    monkeypatch.setattr(net_module, "TRAINING_TOKENS", 1000)
    net = make_net()
    lengths = [333, 10, 64, 65]
    tokens = torch.randn(sum(lengths), WIDTH)
    whole = net(tokens, lengths)
    set_window(64, 24)
    windows = net.predict(tokens, lengths)
    torch.testing.assert_close(windows, whole, atol=1e-4, rtol=0)
    # So it does depend on the margin.
    set_window(64, 0)
    careless = net.predict(tokens, lengths)
    assert (careless - whole).abs().max() > 1e-2


@pytest.fixture
def read_by_the_lstm(monkeypatch):
    """What goes into the BiLSTM, batch by batch."""
    batches = []

    def note_and_run(layer, sequences):
        batches.append(torch.cat(list(sequences)))
        return run_packed(layer, sequences)

    monkeypatch.setattr(net_module, "run_packed", note_and_run)
    return batches


def test_a_long_document_runs_through_the_lstm_in_bounded_batches(
    monkeypatch, read_by_the_lstm, set_window
):
    set_window(64, 8)
    monkeypatch.setattr(net_module, "BATCH_TOKENS", 150)
    net = make_net()
    net.predict(torch.randn(1000, WIDTH), [1000])
    sizes = [len(batch) for batch in read_by_the_lstm]
    assert max(sizes) <= 150
    assert len(sizes) > 5


def test_in_training_long_documents_are_read_in_parts(monkeypatch, read_by_the_lstm):
    monkeypatch.setattr(net_module, "TRAINING_TOKENS", 7)
    net = make_net()
    tokens, lengths = torch.randn(22, WIDTH), [15, 0, 7]
    parts = net(tokens, lengths)
    torch.testing.assert_close(parts, net(tokens, [7, 7, 1, 7]))
    monkeypatch.undo()
    assert not torch.allclose(net(tokens, lengths)[:15], parts[:15], atol=1e-4)


def test_features_matter():
    net = make_net(n_features=2)
    tokens = torch.randn(4, WIDTH)
    without, with_one = torch.zeros(4, 2), torch.zeros(4, 2)
    with_one[2, 1] = 1
    assert not torch.equal(net(tokens, [4], without), net(tokens, [4], with_one))


def test_dropout_acts_in_training_only():
    net = make_net(dropout=0.5, layers=2)
    tokens = torch.randn(8, WIDTH)
    assert torch.equal(net(tokens, [8]), net(tokens, [8]))
    net.train()
    assert not torch.equal(net(tokens, [8]), net(tokens, [8]))
    net.set_dropout(0.0)
    assert torch.equal(net(tokens, [8]), net(tokens, [8]))


def test_dropout_spares_the_features(read_by_the_lstm):
    net = make_net(dropout=0.5, n_features=3).train()
    net(torch.ones(50, WIDTH), [50], torch.ones(50, 3))
    tokens, features = read_by_the_lstm[0].split([WIDTH, 3], dim=1)
    assert set(tokens.unique().tolist()) == {0.0, 2.0}
    assert features.unique().tolist() == [1.0]


def test_gradients_reach_every_weight_and_the_tokens():
    net = make_net(layers=2, n_features=1).train()
    tokens = torch.randn(9, WIDTH, requires_grad=True)
    net(tokens, [4, 5], torch.ones(9, 1)).sum().backward()
    assert tokens.grad is not None and bool((tokens.grad != 0).any(dim=1).all())
    assert all(weight.grad is not None for weight in net.parameters())


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_width": 0},
        {"layers": 0},
        {"token_width": 0},
        {"hidden_width": 7},
        {"dropout": 1.0},
    ],
)
def test_refuses_sizes_that_make_no_net(settings):
    with pytest.raises(RstError, match=f"R300.*{next(iter(settings))}"):
        make_net(**settings)
