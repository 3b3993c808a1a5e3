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
from dalembert.integration.native_steps import NativeSteps, native_steps
from dalembert.integration.run import run
from dalembert.native.stepper import FINISHED
from dalembert.violation import violated

Floats = NDArray[np.float64]

ROOM = 2048
"""Steps of a member in one go."""


class Motions(NamedTuple):
    """States (N, T, 2n) of members at times, NaN from where a motion failed; what is wrong (N,), empty if nothing."""

    y: Floats
    reasons: NDArray[np.str_]


def motions(dynamics: Dynamics, method: Method, y: Floats, p: Floats, times: Floats) -> Motions:
    """The motions of N members with states y (N, 2n) and parameters p (N, k)."""
    workers = os.cpu_count() or 1
    parts = [part for part in np.array_split(np.arange(len(y)), min(workers, len(y))) if len(part)]
    found = np.full((len(y), len(times), y.shape[1]), np.nan)
    reasons = [""] * len(y)

    def work(part: Any) -> None:
        mover = _Mover(dynamics, method, times)
        for k in part:
            reasons[k] = mover.move(y[k], p[k], found[k])

    # the first member compiles what the others use
    work(parts[0][:1])
    rest = [parts[0][1:], *parts[1:]]
    with ThreadPoolExecutor(len(rest)) as pool:
        list(pool.map(work, rest))
    return Motions(found, np.array(reasons))


class _Mover:
    """Moves one member at a time; each thread has its own."""

    def __init__(self, dynamics: Dynamics, method: Method, times: Floats):
        self.dynamics, self.method, self.times = dynamics, method, times
        self.native: NativeSteps | None = None

    def move(self, y: Floats, p: Floats, out: Floats) -> str:
        """Write the states at all times (T, 2n); return why that ended early, or nothing."""
        if not (np.isfinite(y).all() and np.isfinite(p).all()):
            return "its start or its parameters are not finite numbers."
        if not self._quickly(y, p, out):
            return self._slowly(y, p, out)
        return ""

    def _quickly(self, y: Floats, p: Floats, out: Floats) -> bool:
        """By machine code alone; False where it declines or the start is off the constraints."""
        if self.native is None:
            self.native = native_steps(self.dynamics, self.method, p)
        native = self.native
        if native is None or not self._sound(y, p):
            return False
        native.p, native.step = np.ascontiguousarray(p), 0.0
        t, t1 = float(self.times[0]), float(self.times[-1])
        ts, ys = [np.array([t])], [y[None]]
        steps = 0
        while steps < self.method.max_steps:
            found = native.stretch(ys[-1][-1], float(ts[-1][-1]), t1, min(ROOM, self.method.max_steps - steps))
            if found is None:
                return False
            ts.append(found.t)
            ys.append(found.y)
            steps += len(found.t)
            if found.ending == FINISHED:
                return self._sampled(native, np.concatenate(ts), np.concatenate(ys), out)
        return False

    def _sampled(self, native: NativeSteps, ts: Floats, ys: Floats, out: Floats) -> bool:
        before = np.searchsorted(ts, self.times, side="right") - 1
        states, _, trusted = native.engine.sample(ts[before], ys[before], self.times, native.p)
        out[:] = states
        return bool(trusted.all() and np.isfinite(states).all())

    def _sound(self, y: Floats, p: Floats) -> bool:
        n = len(y) // 2
        native: Any = self.dynamics.native
        _, _, A, _, position, velocity = native.terms(y[:n], y[n:], self.times[0], p)
        return not (violated(position, A, y[:n]).any() or violated(velocity, A, y[n:], y[:n]).any())

    def _slowly(self, y: Floats, p: Floats, out: Floats) -> str:
        """By all means of a single run, which knows what to say where it fails."""
        out[:] = np.nan
        n = len(y) // 2
        start: dict[str, Any] = {"allow_violation": False, "progress": False}
        try:
            done = run(self.dynamics, self.method, y[:n], y[n:], self.times, tuple(map(float, p)), **start)
        except SimulationError as end:
            reached = end.trajectory
            known = np.searchsorted(reached.t, self.times[self.times <= reached.t[-1]])
            out[: len(known)] = np.concatenate([reached.q, reached.qd], axis=1)[known]
            return str(end)
        except DalembertError as refusal:
            return str(refusal)
        out[:] = np.concatenate([done.q, done.qd], axis=1)
        return ""
