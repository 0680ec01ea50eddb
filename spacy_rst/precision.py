"""Numbers of reduced precision, where they make products of matrices faster: plain torch."""

from __future__ import annotations

from functools import cache

import torch

# Instructions that multiply bfloat16 as it is. Without them torch turns it to floats on the way.
BFLOAT16_INSTRUCTIONS = ("avx512_bf16", "amx_bf16")


@cache
def has_fast_bfloat16() -> bool:
    """Find out about this machine's CPU.

    RETURNS (bool): Whether it multiplies matrices of bfloat16 faster than those of floats. False,
        too, where torch is too old to tell or cannot use it.
    """
    find_capabilities = getattr(torch.cpu, "get_capabilities", None)
    if find_capabilities is None or not torch.backends.mkldnn.is_available():
        return False
    capabilities = find_capabilities()
    return any(capabilities.get(name, False) for name in BFLOAT16_INSTRUCTIONS)
