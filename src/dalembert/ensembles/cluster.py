# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of members on the workers of a Dask cluster.

The study is sent once, as a task of its own, so that Dask can restore it if the worker that holds it dies. Only some
blocks for each thread of the cluster are waiting at a time, so that neither the scheduler nor the workers hold more.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import Any

from dalembert.common.extras import require
from dalembert.ensembles.ensemble_layout import Block
from dalembert.ensembles.members import Members
from dalembert.ensembles.study import BlockResult, Study, StudyRunner
from dalembert.errors import DeviceError, InputError

WAITING_BLOCKS = 3
"""Blocks that are submitted for each thread of the cluster: one at work, and others so that none is idle."""

_compiling = Lock()


def client_in_use(given: Any) -> Any:
    """Return the given client, or that of the enclosing ``with client:``; None if there is neither."""
    if given is not None or "distributed" not in sys.modules:
        return given
    from distributed import Client

    try:
        return Client.current(allow_global=False)
    except ValueError:
        return None


def results_on_cluster(
    client: Any, study: Study, members: Members, blocks: Sequence[Block], missing: Sequence[int]
) -> Generator[tuple[int, BlockResult]]:
    """Yield the numbers and results of the missing blocks as they are finished by the workers of a client."""
    require("distributed")
    from distributed import Client, as_completed

    if not isinstance(client, Client):
        raise InputError(f"`client` must be a `dask.distributed.Client`; got {type(client).__name__}.")
    # one thread for a block: the workers run as many blocks at once as they have threads
    whole = client.submit(pickle.loads, pickle.dumps(replace(study, threads=1)), pure=False)
    waiting, numbers, unfinished = iter(missing), dict[Any, int](), dict[Any, Any]()

    def submitted(k: int) -> Any:
        own = members.subset(blocks[k].members)
        try:
            future = client.submit(simulated_block, whole, blocks[k].members.start, own, pure=False)
        except Exception:  # the class of the error of a closed client differs between versions of Dask
            if client.status in ("closing", "closed"):
                raise DeviceError(LOST_CLIENT) from None
            raise
        numbers[future.key], unfinished[future.key] = k, future
        return future

    known: Any = client.nthreads()
    threads = max(sum(known.values()), 1)
    running = as_completed([submitted(k) for k in islice(waiting, WAITING_BLOCKS * threads)])
    try:
        for future in running:
            k, result = numbers.pop(future.key), _result(future)
            unfinished.pop(future.key).release()
            for another in islice(waiting, 1):
                running.add(submitted(another))
            yield k, result
    finally:
        # after Ctrl-C or an error the workers end the blocks they have begun, and begin no further ones
        if unfinished and client.status == "running":
            client.cancel([*unfinished.values(), whole])


def _result(future: Any) -> BlockResult:
    """Return the result of a block, or raise an error that says why the cluster did not compute it."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        return future.result()
    except KilledWorker as error:
        raise DeviceError(
            f"a block of members must be simulated by a worker; {error.allowed_failures + 1} workers died one after "
            f"another while they simulated the same block. (a) Their memory is too small: keep fewer times or outputs. "
            f"(b) The machine code crashed: simulate without `client`. Look at the logs of the workers. {CONTINUE}"
        ) from None
    except (CancelledError, CommClosedError):  # before the result was asked for, or while it was on its way
        raise DeviceError(LOST_CLIENT) from None


CONTINUE = "With a `store`, the same call continues with the blocks that are missing."
LOST_CLIENT = f"the client must stay connected to the scheduler; the connection was lost. {CONTINUE}"


def simulated_block(study: Study, first: int, members: Members) -> BlockResult:
    """Return the results of a block of members, on a worker."""
    # compiled code is cached by the study's system, so that a worker compiles once; threads must not do it twice
    with _compiling:
        runner = StudyRunner(study)
        runner.prepare()
    return runner(first, members)
