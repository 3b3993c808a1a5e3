# SPDX-License-Identifier: BSD-3-Clause
"""The motion of one member after another, in machine code: adaptive steps for each, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.integration.method import Method
from dalembert.integration.native_steps import native_steps
from dalembert.integration.run import run
from dalembert.native.stepper import FINISHED
from dalembert.violation import violated

Floats = NDArray[np.float64]

ROOM = 8192
"""Most steps of a member in one go; who needs more is simulated alone."""


class Motions(NamedTuple):
    """States (N, T, 2n) of members at times, NaN from where a motion failed; what is wrong (N,), empty if nothing."""

    y: Floats
    reasons: NDArray[np.str_]


def motions(dynamics: Dynamics, method: Method, y: Floats, p: Floats, times: Floats) -> Motions:
    """The motions of N members with states y (N, 2n) and parameters p (N, k)."""
    found = np.full((len(y), len(times), y.shape[1]), np.nan)
    numbers = np.isfinite(y).all(axis=1) & np.isfinite(p).all(axis=1)
    done = _quickly(dynamics, method, y, p, times, np.flatnonzero(numbers), found)
    reasons = np.full(len(y), "", object)
    reasons[~numbers] = "its start or its parameters are not finite numbers."
    for k in np.flatnonzero(numbers & ~done):
        found[k], reasons[k] = _slowly(dynamics, method, y[k], p[k], times)
    return Motions(found, reasons.astype(str))


def _quickly(
    dynamics: Dynamics, method: Method, y: Floats, p: Floats, times: Floats, members: Any, found: Floats
) -> NDArray[np.bool_]:
    """Fill in the states of members that machine code answers for, on all cores; whose they are."""
    done = np.zeros(len(y), bool)
    if not len(members):
        return done
    native = native_steps(dynamics, method, p[members[0]])
    members = members[_sound(dynamics, y[members], p[members], float(times[0]))] if native is not None else members[:0]
    if native is None or not len(members):
        return done
    native.begin(y[members[0]], float(times[0]))
    room = min(ROOM, method.max_steps)

    def work(part: NDArray[np.int64]) -> None:
        own = np.ascontiguousarray(y[part]), np.ascontiguousarray(p[part])
        states, endings = native.engine.many(*own, times, method.rtol, method.atol, room)
        fine = (endings == FINISHED) & np.isfinite(states).all(axis=(1, 2))
        found[part[fine]], done[part[fine]] = states[fine], True

    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        # more parts than workers: members take unequally long
        list(pool.map(work, (part for part in np.array_split(members, 4 * workers) if len(part))))
    return done


def _sound(dynamics: Dynamics, y: Floats, p: Floats, t: float) -> NDArray[np.bool_]:
    """Whose start satisfies the constraints."""
    n = y.shape[1] // 2
    native: Any = dynamics.native
    _, _, A, _, position, velocity = native.terms_of_many(y, np.full(len(y), t), p)
    q, qd = y[:, :n], y[:, n:]
    off = violated(position, A, q) | violated(velocity, A, qd, q)
    return np.asarray(~off.any(axis=1))


def _slowly(dynamics: Dynamics, method: Method, y: Floats, p: Floats, times: Floats) -> tuple[Floats, str]:
    """States at all times by all means of a single run, which knows what to say where it fails; and what it says."""
    n, states = len(y) // 2, np.full((len(times), len(y)), np.nan)
    start: dict[str, Any] = {"allow_violation": False, "progress": False}
    try:
        done = run(dynamics, method, y[:n], y[n:], times, tuple(map(float, p)), **start)
    except SimulationError as end:
        reached = end.trajectory
        known = np.searchsorted(reached.t, times[times <= reached.t[-1]])
        states[: len(known)] = np.concatenate([reached.q, reached.qd], axis=1)[known]
        return states, str(end)
    except DalembertError as refusal:
        return states, str(refusal)
    return np.concatenate([done.q, done.qd], axis=1), ""
