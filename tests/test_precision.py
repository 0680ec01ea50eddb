from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from spacy_rst.precision import has_fast_bfloat16

CPU_FACTS = Path("/proc/cpuinfo")


@pytest.fixture
def asked_anew() -> Iterator[None]:
    has_fast_bfloat16.cache_clear()
    yield
    has_fast_bfloat16.cache_clear()


@pytest.mark.skipif(not CPU_FACTS.exists(), reason="only Linux tells in a file")
def test_cpu_is_asked() -> None:
    flags = CPU_FACTS.read_text().split()
    assert has_fast_bfloat16() == ("avx512_bf16" in flags or "amx_bf16" in flags)


@pytest.mark.parametrize("capabilities", [{}, {"avx2": True}, {"avx512_bf16": False}])
def test_other_cpu_has_none(
    capabilities: dict[str, bool], asked_anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert not has_fast_bfloat16()


def test_old_torch_cannot_tell(asked_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not has_fast_bfloat16()
