# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a Dask cluster on one machine, compared with threads of one process.

Run ``python -m benchmarks.cluster_overhead``.

The same members are simulated in turns by the threads of this process and by a ``LocalCluster`` of four worker
processes with one thread each. Compiling, which each worker does once, is left out. Times of the clock need a machine
that does nothing else; processor times of this process and of all workers are given beside.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import xarray as xr

import dalembert as da
from dalembert.ensembles.runner import CHUNK

WORKERS, BLOCKS, REPEATS = 4, 16, 3
END = 400.0
"""Time that a pendulum moves, so that a block of members takes about a second of one core."""


def study(client: Any, end: float = END) -> xr.Dataset:
    x, y = da.coordinates("x y")
    g = da.parameters("g")
    pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -g), da.Constraint(x**2 + y**2 - 1, name="rod"))
    gravity = {"g": np.linspace(9, 10, BLOCKS * CHUNK)}
    return da.simulate_ensemble(
        pendulum, (1, 0), (0, 0), [0, end], parameters=gravity, keep="end", progress=False, client=client
    )


def measure(client: Any) -> tuple[float, float, np.ndarray]:
    """Return the time of the clock and the processor time of one study, and its last positions."""

    def processor_time() -> float:
        workers = sum(client.run(time.process_time).values()) if client else 0.0
        return workers + time.process_time()

    clock, processor = time.perf_counter(), processor_time()
    found = study(client)["q"].values
    return time.perf_counter() - clock, processor_time() - processor, found


def main() -> None:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as c:
        for client in (None, c):
            study(client, 0.1)  # compiles
        rows = [[measure(client) for client in (None, c)] for _ in range(REPEATS)]
    threads, workers = (np.array([[row[i][0], row[i][1]] for row in rows]) for i in (0, 1))
    same = all(np.array_equal(alone[2], together[2]) for alone, together in rows)
    sys.stdout.write(
        f"{BLOCKS} blocks of {CHUNK} members on {os.cpu_count()} cores, {WORKERS} workers, {REPEATS} times in turns; "
        f"results equal bit for bit: {same}\n"
        f"a block takes {np.median(threads[:, 1]) / BLOCKS:.2f} s of one core\n"
        f"time of the clock, cluster over threads: {', '.join(f'{x:.3f}' for x in workers[:, 0] / threads[:, 0])}\n"
        f"processor time, cluster over threads:    {', '.join(f'{x:.3f}' for x in workers[:, 1] / threads[:, 1])}\n"
    )


if __name__ == "__main__":
    main()
