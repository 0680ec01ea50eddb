"""Processes on one computer that train together."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..errors import Errors, RstError

if TYPE_CHECKING:
    import torch

# Whoever waits for longer than any evaluation takes: processes that end are noticed at once.
PATIENCE = timedelta(days=2)


@dataclass(frozen=True)
class Worker:
    """One of several processes that train together, or one that trains alone.

    rank (int): Its number, from 0.
    count (int): How many there are.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """RETURNS (bool): Whether it is the one that evaluates, reports and saves."""
        return self.rank == 0

    def add_up(self, values: torch.Tensor) -> None:
        """Replace values by their sum over all workers. All must call this alike.

        values (torch.Tensor): The values, changed in place.
        """
        if self.count > 1:
            import torch.distributed

            torch.distributed.all_reduce(values)

    def copy_first(self, values: torch.Tensor) -> None:
        """Replace values by those of the first worker. All must call this alike.

        values (torch.Tensor): The values, changed in place.
        """
        if self.count > 1:
            import torch.distributed

            torch.distributed.broadcast(values, src=0)


def run_workers(count: int, function: Callable[..., None], *arguments: Any) -> None:
    """Run a function in several processes that can exchange tensors. If one of them fails, the
    others are ended.

    count (int): How many.
    function (Callable[..., None]): Called with a `Worker` and the arguments; both must be of the
        kind that can be sent to a new process.
    *arguments (Any): What else it needs.
    RAISES (RstError): R580, if a worker failed.
    """
    from torch.multiprocessing.spawn import ProcessException, start_processes

    with TemporaryDirectory(prefix="spacy_rst-") as folder:
        store = str(Path(folder, "store"))
        threads = max(1, (os.cpu_count() or 1) // count)
        # Read when a process starts. Equal hashes let sets have the same order in all workers.
        with _environment(OMP_NUM_THREADS=str(threads), PYTHONHASHSEED="0"):
            setting = (count, threads, store, function, arguments)
            processes = start_processes(_run_worker, setting, nprocs=count, join=False)
        try:
            while not processes.join(grace_period=1.0):
                pass
        except ProcessException as error:
            rank = error.error_index + 1
            message = Errors.R580.format(rank=rank, count=count, error=str(error).strip())
            raise RstError(message) from None


def _run_worker(
    rank: int,
    count: int,
    threads: int,
    store: str,
    function: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    import torch
    import torch.distributed

    torch.set_num_threads(threads)
    if loopback := _loopback():
        os.environ["GLOO_SOCKET_IFNAME"] = loopback
    torch.distributed.init_process_group(
        "gloo",
        store=torch.distributed.FileStore(store, count),
        rank=rank,
        world_size=count,
        timeout=PATIENCE,
    )
    try:
        function(Worker(rank, count), *arguments)
    finally:
        torch.distributed.destroy_process_group()


def _loopback() -> str | None:
    """Find the network interface that no other computer can reach."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name in ("lo", "lo0")), None)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
