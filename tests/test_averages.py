"""thinc's `use_averages` reaches the torch nets: in evaluation, on disk, and not for longer."""

from __future__ import annotations

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training.loop import train
from spacy.util import registry
from thinc.api import Adam

from spacy_rst.shims import LazyNetShim
from tests.parser.pipelines import own_encoder_pipeline
from tests.sample import examples_from, sample_docs, write_corpus
from tests.training.tiny import init_tiny

STEPS = 8


def torch_weights(nlp: Language) -> dict[str, torch.Tensor]:
    model = nlp.get_pipe("rst_parser").model
    shims = [shim for node in model.walk() for shim in node.shims]
    return {
        name: weight.detach().clone()
        for shim in shims
        for name, weight in shim._model.named_parameters()
    }


def are_equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)


def average(history: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """What thinc documents: a moving average with a decay of (1 + t) / (10 + t)."""
    averages = {name: torch.zeros_like(weight) for name, weight in history[0].items()}
    for step, weights in enumerate(history, start=1):
        decay = (1 + step) / (10 + step)
        for name, weight in weights.items():
            averages[name] = decay * averages[name] + (1 - decay) * weight
    return averages


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What `spacy train` makes with `use_averages = true`: the pipeline in memory, the folder, and
    the weights after each step."""
    folder = tmp_path_factory.mktemp("averages")
    docs = sample_docs(spacy.blank("xx"), ["en"])[:2]
    path = str(write_corpus(folder / "sample.spacy", docs))
    history = []

    @registry.callbacks("remember_weights")
    def make_callback():
        return lambda nlp, info: history.append(torch_weights(nlp))

    settings = {"max_steps": STEPS - 1, "eval_frequency": 4}
    settings["before_update"] = {"@callbacks": "remember_weights"}
    nlp = init_tiny(path, settings, **{"training.optimizer.use_averages": True})
    train(nlp, folder)
    history.append(torch_weights(nlp))
    return nlp, folder, history[1:]


def test_the_saved_weights_are_the_averages_and_those_in_memory_are_not(trained):
    nlp, folder, history = trained
    assert len(history) == STEPS
    saved = torch_weights(spacy.load(folder / "model-last"))
    assert are_equal(saved, average(history))
    assert not are_equal(saved, history[-1])
    assert are_equal(torch_weights(nlp), history[-1])


def test_the_best_checkpoint_has_the_averages_of_its_step(trained):
    _, folder, history = trained
    best = torch_weights(spacy.load(folder / "model-best"))
    assert any(are_equal(best, average(history[:step])) for step in (1, 5))


def test_scores_in_training_are_those_of_the_saved_pipeline(trained):
    _, folder, _ = trained
    best = spacy.load(folder / "model-best")
    examples = examples_from(best, sample_docs(best, ["en"])[:2])
    scores = best.evaluate(examples)
    assert scores["rst_full"] == pytest.approx(best.meta["performance"]["rst_full"])


@pytest.mark.parametrize("fails", [False, True])
def test_the_trained_weights_come_back(fails):
    nlp = own_encoder_pipeline()
    examples = examples_from(nlp, sample_docs(nlp, ["en"])[:2])
    optimizer = Adam(0.01, use_averages=True)
    nlp.initialize(lambda: examples, sgd=optimizer)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
    shim = nlp.get_pipe("rst_parser").model.shims[0]
    before = torch_weights(nlp)
    try:
        with shim.use_params(optimizer.averages):
            assert not are_equal(torch_weights(nlp), before)
            for name, weight in torch_weights(nlp).items():
                assert weight.numpy() == pytest.approx(optimizer.averages[shim.id, name])
            if fails:
                raise KeyError
    except KeyError:
        assert fails
    assert are_equal(torch_weights(nlp), before)
    assert all(weight.requires_grad for weight in shim.net.parameters())


def test_a_net_that_is_not_built_has_nothing_to_exchange():
    with LazyNetShim(lambda: torch.nn.Linear(1, 1)).use_params({(1, "W"): None}):
        pass
