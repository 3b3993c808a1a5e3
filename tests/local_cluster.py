"""A Dask cluster of processes on this machine, for tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import distributed

from dalembert.native import assembly


class SameCode(distributed.WorkerPlugin):
    """Workers optimise machine code as little as the tests do, for the same rounding, and find their helpers."""

    name = "same code"

    def __init__(self):
        self.options, self.path = (assembly.PASSES, assembly.SELECTION), sys.path

    def setup(self, worker: Any) -> None:
        assembly.PASSES, assembly.SELECTION = self.options
        sys.path[:] = self.path


@contextmanager
def client_of(cluster: Any) -> Iterator[Any]:
    """Give a client of two workers; it is not that of ``with client:``, in which all computations would use it."""
    found = distributed.Client(cluster)
    found.wait_for_workers(2)
    found.register_plugin(SameCode())
    yield found
    found.close()


def two_workers() -> Any:
    """Return a cluster of two processes with a thread each."""
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
