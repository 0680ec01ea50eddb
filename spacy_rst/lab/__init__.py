"""The laboratory: grids of experiments, tables, charts and topics. Charts and topics need the
libraries of the extra `[analysis]`; everything else does without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Errors, RstError


@contextmanager
def require_extra(library: str) -> Iterator[None]:
    """RAISES (RstError): If a library is not installed, with how to install it."""
    try:
        yield
    except ImportError as error:
        raise RstError(Errors.R715.format(library=library)) from error
