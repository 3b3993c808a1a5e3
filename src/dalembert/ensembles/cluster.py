# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of members on the workers of a Dask cluster.

The study is sent once, as a task of its own, so that Dask can restore it if the worker that holds it dies. Only some
blocks for each thread of the cluster are waiting at a time, so that neither the scheduler nor the workers hold more.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import Any

from dalembert.common.dask_client import result_of, sent, submitted, thread_count
from dalembert.ensembles.ensemble_layout import Block
from dalembert.ensembles.members import Members
from dalembert.ensembles.separate_members import AnyStudy
from dalembert.ensembles.study import BlockResult

WAITING_BLOCKS = 3
"""Blocks that are submitted for each thread of the cluster: one at work, and others so that none is idle."""

CONTINUE = " With a `store`, the same call continues with the blocks that are missing."
TASK = "a block of members", "keep fewer times or outputs"

_compiling = Lock()


def results_on_cluster(
    client: Any, study: AnyStudy, members: Members, blocks: Sequence[Block], missing: Sequence[int]
) -> Generator[tuple[int, BlockResult]]:
    """Yield the numbers and results of the missing blocks as they are finished by the workers of a client."""
    from distributed import as_completed

    # one thread for a block: the workers run as many blocks at once as they have threads
    whole = sent(client, replace(study, threads=1), advice=CONTINUE)
    waiting, numbers, unfinished = iter(missing), dict[Any, int](), dict[Any, Any]()

    def begun(k: int) -> Any:
        own = members.subset(blocks[k].members)
        future = submitted(client, simulated_block, whole, blocks[k].members.start, own, advice=CONTINUE)
        numbers[future.key], unfinished[future.key] = k, future
        return future

    running = as_completed([begun(k) for k in islice(waiting, WAITING_BLOCKS * thread_count(client))])
    try:
        for future in running:
            k, result = numbers.pop(future.key), result_of(future, *TASK, CONTINUE)
            unfinished.pop(future.key).release()
            for another in islice(waiting, 1):
                running.add(begun(another))
            yield k, result
    finally:
        # after Ctrl-C or an error the workers end the blocks they have begun, and begin no further ones
        if unfinished and client.status == "running":
            client.cancel([*unfinished.values(), whole])


def simulated_block(study: AnyStudy, first: int, members: Members) -> BlockResult:
    """Return the results of a block of members, on a worker."""
    # compiled code is cached by the study's system, so that a worker compiles once; threads must not do it twice
    with _compiling:
        runner = study.runner()
        runner.prepare()
    return runner(first, members)
