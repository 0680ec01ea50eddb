"""A short run of each kind; `make fuzz` makes a long one."""

from __future__ import annotations

from random import Random

import pytest

from .kinds import KINDS, LAYOUT_KINDS
from .mutators import mutate_json, mutate_text
from .runner import Hang, Kind, cpu_limit, run_cases

CASES = 200


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_damaged_input_is_read_or_refused_with_a_coded_error(kind, tmp_path):
    outcome = run_cases(kind, range(CASES), tmp_path)
    assert outcome.failures == {}
    assert outcome.read + outcome.refused.total() == CASES
    # Damage that is never noticed would test little; to a browser, everything is HTML.
    assert outcome.refused or kind.name in LAYOUT_KINDS


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_whole_input_is_read(kind, tmp_path):
    untouched = Kind(kind.name, kind.make_seeds, lambda seed, rng: _as_given(kind, seed), kind.read)
    outcome = run_cases(untouched, range(10), tmp_path)
    assert outcome.failures == {} and not outcome.refused, outcome


def _as_given(kind: Kind, seed: object) -> object:
    if kind.name == "disrpt":
        return {suffix: text.encode("utf8") for suffix, text in seed.items()}
    return seed.encode("utf8") if isinstance(seed, str) else seed


def test_cases_are_the_same_each_time():
    kind = KINDS["rs3"]
    assert [kind.case(n) for n in range(20)] == [kind.case(n) for n in range(20)]
    assert len({kind.case(n) for n in range(20)}) == 20
    assert kind.case(0, seed=1) != kind.case(0)


def test_damage_leaves_the_whole_input_alone():
    value = {"a": [1, {"b": "text"}], "c": None}
    before = repr(value)
    assert any(mutate_json(value, Random(n)) != value for n in range(20))
    assert repr(value) == before
    assert {type(mutate_text("", Random(n))) for n in range(50)} == {bytes}


def test_what_computes_for_ever_is_stopped():
    def spin(case: object, folder: object) -> None:
        with cpu_limit(0.2):
            while True:
                try:
                    while True:
                        pass
                except Exception:
                    pass

    outcome = run_cases(Kind("spin", lambda: [0], lambda seed, rng: seed, spin), range(1), None)
    (failure,) = outcome.failures
    assert failure.startswith("Hang")
    with pytest.raises(Hang), cpu_limit(0.05):
        while True:
            pass


def test_errors_without_a_code_are_failures(tmp_path):
    def stumble(case: object, folder: object) -> None:
        raise KeyError("edus")

    kind = Kind("stumble", lambda: [0], lambda seed, rng: seed, stumble)
    outcome = run_cases(kind, range(3), tmp_path)
    assert list(outcome.failures.values()) == [[0, 1, 2]]
