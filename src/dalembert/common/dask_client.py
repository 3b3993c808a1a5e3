# SPDX-License-Identifier: BSD-3-Clause
"""The Dask client in use, and the results of tasks on its workers."""

from __future__ import annotations

import pickle
import sys
from typing import Any

from dalembert.common.extras import require
from dalembert.errors import DeviceError, InputError

LOST_CLIENT = "the client must stay connected to the scheduler; the connection was lost."


def client_in_use(given: Any) -> Any:
    """Return the given client, or that of the enclosing ``with client:``; None if there is neither."""
    if given is None and "distributed" not in sys.modules:
        return None
    require("distributed")
    from distributed import Client

    if given is None:
        try:
            return Client.current(allow_global=False)
        except ValueError:
            return None
    if not isinstance(given, Client):
        raise InputError(f"`client` must be a `dask.distributed.Client`; got {type(given).__name__}.")
    return given


def thread_count(client: Any) -> int:
    """Return the number of threads of all workers, at least one."""
    known: Any = client.nthreads()
    return max(sum(known.values()), 1)


def submitted(client: Any, task: Any, *arguments: Any, advice: str = "") -> Any:
    """Submit a task, or raise an error if the client has been closed."""
    try:
        return client.submit(task, *arguments, pure=False)
    except Exception:  # the class of the error of a closed client differs between versions of Dask
        if client.status in ("closing", "closed"):
            raise DeviceError(f"{LOST_CLIENT}{advice}") from None
        raise


def sent(client: Any, value: Any, *, advice: str = "") -> Any:
    """Send a value to a worker, as the result of a task, so that Dask can restore it if this worker dies.

    Functions of scripts and notebooks, which the workers cannot import, are sent with their code.
    """
    import cloudpickle  # needed by Dask itself

    return submitted(client, pickle.loads, cloudpickle.dumps(value), advice=advice)


def result_of(future: Any, task: str, cause: str, advice: str = "") -> Any:
    """Return the result of a task, or raise an error that says why the cluster did not compute it.

    ``task`` names the task, ``cause`` says why its memory may be too small, ``advice`` what to do when the call failed.
    """
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        return future.result()
    except KilledWorker as error:
        raise DeviceError(
            f"{task} must be simulated by a worker; {error.allowed_failures + 1} workers died one after another while "
            f"they simulated the same one. (a) Their memory is too small: {cause}. (b) The machine code crashed: "
            f"simulate without `client`. Look at the logs of the workers.{advice}"
        ) from None
    except (CancelledError, CommClosedError):  # before the result was asked for, or while it was on its way
        raise DeviceError(f"{LOST_CLIENT}{advice}") from None
