"""Ctrl-C ends an ensemble at once, whatever computes its members, and however long the motion of one member is."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
LONG = {"max_steps": 10**9}
PROMPT = 10
"""Seconds within which Ctrl-C must be answered, on a loaded machine; the motions take minutes."""


def pendulum() -> da.System:
    return da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))


def block() -> da.System:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.2))
    return da.System((x, y), sp.eye(2), (5 * sp.sin(3 * da.t) - x, -9.81), floor)


def ball() -> da.System:
    """It is thrown up again and again by a wind."""
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=1)
    return da.System((x, y), sp.eye(2), (-x, -9.81), floor)


def with_function() -> da.System:
    drag = da.function("drag", lambda v: -0.001 * v)
    return da.System((x, y), sp.eye(2), (drag(x.diff(da.t)), -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))


def members(system: da.System, q: Any, qd: Any, **options: Any) -> Callable[[float], Any]:
    starts = np.tile(np.array(q, float), (3, 1))
    return lambda end: da.simulate_ensemble(system, starts, qd, [0, end], **LONG, **options)


WAYS = {
    "adaptive steps": members(pendulum(), (1, 0), (0, 0)),
    "fixed steps": members(pendulum(), (1, 0), (0, 0), step=1e-3),
    "friction": members(block(), (0, 0), (1, 0)),
    "contacts": members(ball(), (1, 1), (0, 0)),
    "events": members(pendulum(), (1, 0), (0, 0), events=[da.Event(x - 2, name="never")]),
    "functions": members(with_function(), (1, 0), (0, 0)),
}


def interrupted_after(compute: Callable[[], Any], seconds: float) -> float:
    """Return the time from Ctrl-C until it is answered."""
    pressed = []

    def press() -> None:
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            compute()
        return time.perf_counter() - pressed[0]
    finally:
        timer.cancel()


@pytest.mark.parametrize("way", WAYS)
def test_an_ensemble_ends_at_once(way: str) -> None:
    """A member was integrated to its end first, which took a minute for 10⁸ steps."""
    WAYS[way](0.1)  # compiled before, so that the interruption meets the motion
    assert interrupted_after(lambda: WAYS[way](1e7), 1.0) < PROMPT
    assert not WAYS[way](0.1)["reason"].values.any()


@pytest.mark.slow
def test_an_ensemble_on_workers_ends_at_once() -> None:
    """The caller returns, and the worker begins nothing further."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        way = members(pendulum(), (1, 0), (0, 0), client=client)
        way(0.1)
        assert interrupted_after(lambda: way(1e7), 3.0) < PROMPT
        assert all(future.status == "cancelled" for future in client.futures.values())
