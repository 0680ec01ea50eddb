"""How torch nets live inside thinc models: in forked processes, and as RNNs."""

from __future__ import annotations

import json
import os

import pytest
import torch
from thinc.api import Adam

from spacy_rst.shims import LazyNetShim
from tests.processes import run_python

FORKS = """
import json, os, sys
import torch
from spacy_rst.shims import LazyNetShim

torch.set_num_threads(3)
shim = LazyNetShim(lambda: torch.nn.Linear(2, 2))
shim.build()

def threads_in_fork(use):
    reader, writer = os.pipe()
    if os.fork() == 0:
        use()
        os.write(writer, bytes([torch.get_num_threads()]))
        os._exit(0)
    os.wait()
    return os.read(reader, 1)[0]

found = {
    "another fork": threads_in_fork(lambda: None),
    "a fork with the net": threads_in_fork(lambda: shim.net),
    "a fork with a net of its own": threads_in_fork(lambda: shim.build()),
    "here": torch.get_num_threads(),
}
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_only_forks_that_use_a_net_run_in_one_thread():
    assert json.loads(run_python(FORKS)) == {
        "another fork": 3,
        "a fork with the net": 1,
        "a fork with a net of its own": 1,
        "here": 3,
    }


def test_the_weights_of_rnns_are_put_together_whenever_they_change(monkeypatch):
    flattened = []
    monkeypatch.setattr(torch.nn.GRU, "flatten_parameters", lambda rnn: flattened.append(rnn))
    shim = LazyNetShim(lambda: torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GRU(3, 4)))
    shim.build()
    rnn = shim.net[1]
    optimizer = Adam(0.01, use_averages=True)
    shim.net(torch.ones(1, 2))[0].sum().backward()
    flattened.clear()
    shim.finish_update(optimizer)
    assert flattened == [rnn]
    with shim.use_params(optimizer.averages):
        assert flattened == [rnn] * 2
    assert flattened == [rnn] * 3
