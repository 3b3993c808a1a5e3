# SPDX-License-Identifier: BSD-3-Clause
"""The quick way through a run: machine code, wherever the constraints are clearly independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics, damping
from dalembert.equation.factored import Factored
from dalembert.equation.tolerance import RANK_TOLERANCE
from dalembert.integration.drift import Baumgarte, Drift, NoCure, Projection
from dalembert.native.engine import Stretch
from dalembert.native.rows import independent_rows
from dalembert.native.stepper import DECLINED

Floats = NDArray[np.float64]


@dataclass
class NativeSteps:
    """Machine code for the rows now in use; other rows are chosen where those will not do.

    Where no choice will do, near a singular configuration or where the equations break down, it declines: the general
    integrator takes over there, which is slower, keeps more digits, and knows what to say when it fails.
    """

    dynamics: Dynamics
    drift: Drift
    p: Floats
    rtol: float
    atol: float
    engine: Any = None
    rows: tuple[int, ...] = ()
    step: float = 0.0

    def __post_init__(self) -> None:
        self._use(tuple(range(len(self.dynamics.levels))))

    def _use(self, rows: tuple[int, ...]) -> None:
        gains = self.drift.gains()
        rates = None if gains is None else tuple(damping(level, gains) for level in self.dynamics.levels)
        iterations = self.drift.iterations if isinstance(self.drift, Projection) else None
        native: Any = self.dynamics.native
        self.rows, self.engine = rows, native.engine(rows, iterations, rates)

    def stretch(self, y: Floats, t: float, end: float, room: int) -> Any:
        """Up to ``room`` steps, or None if not even one can be taken."""
        found = self._stretch(y, t, end, room)
        if not len(found.t) and self._chosen_anew(y, t):
            self.step = 0.0
            found = self._stretch(y, t, end, room)
        return found if len(found.t) else None

    def _chosen_anew(self, y: Floats, t: float) -> bool:
        """Whether there are other rows that will do better at a state; they are then in use."""
        native: Any = self.dynamics.native
        rows = self.rows if native.needs_multipliers else self._independent(y, t)
        if rows == self.rows:
            return False
        self._use(rows)
        return True

    def _stretch(self, y: Floats, t: float, end: float, room: int) -> Any:
        if self.engine.slope(y, t, self.p)[-1] != 1.0:
            return Stretch(np.empty(0), np.empty((0, len(y))), 0, DECLINED)
        if self.step == 0.0:
            self.step = self.engine.first_step(y, t, end, self.p, self.rtol, self.atol)
        found, self.step = self.engine.stretch(y, t, end, self.step, self.p, self.rtol, self.atol, room)
        return found

    def sample(self, t0: Floats, y0: Floats, times: Floats) -> dict[str, Any] | None:
        """States and all that follows from them at times reached by one step each, by the names of ``Trajectory``.

        None where the machine code will not answer for one of them.
        """
        found = self._sample(t0, y0, times)
        if found is None and self._chosen_anew(y0[0], float(t0[0])):
            found = self._sample(t0, y0, times)
        return found

    def _sample(self, t0: Floats, y0: Floats, times: Floats) -> dict[str, Any] | None:
        y, told, trusted = self.engine.sample(t0, y0, times, self.p)
        if not (trusted and np.isfinite(y).all()):
            return None
        n, count = y.shape[1] // 2, len(times)
        kept = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions")
        found: dict[str, Any] = {name: told[name] for name in kept}
        if len(self.rows) < len(self.dynamics.levels):
            A = told["constraint_matrix"].reshape(count, -1, n)
            found["multipliers"] = _shortest(A, told["ideal_force"])
            found["reactions"] = _shortest(A, told["ideal_force"] + told["nonideal_force"] - told["nature"])
        if told["energy"].size:
            found["energy"] = told["energy"][:, 0]
        return found | {
            "q": y[:, :n],
            "qd": y[:, n:],
            "rank": np.full(count, len(self.rows)),
            "inconsistency": np.zeros(count),
            "violation": at_own_level(self.dynamics.levels, told["position"], told["velocity"], told["residual"]),
            "velocity_violation": told["velocity"],
        }

    def _independent(self, y: Floats, t: float) -> tuple[int, ...]:
        native: Any = self.dynamics.native
        n = len(y) // 2
        M, _, A, *_ = native.terms(y[:n], y[n:], t, self.p)
        try:
            B = np.linalg.solve(np.linalg.cholesky(M), A.T).T
        except np.linalg.LinAlgError:
            return self.rows
        levels = [("position", "velocity", "acceleration").index(level) for level in self.dynamics.levels]
        return independent_rows(B, levels, RANK_TOLERANCE) if np.isfinite(B).all() else self.rows


def _shortest(A: Floats, force: Floats) -> Floats:
    """The shortest λ with Aᵀλ equal to an ideal force, at many states."""
    return np.einsum("...ij,...j->...i", np.linalg.pinv(np.swapaxes(A, -1, -2), rcond=RANK_TOLERANCE), force)


def at_own_level(levels: tuple[str, ...], position: Any, velocity: Any, acceleration: Any) -> Any:
    """The residual of each constraint at the level it was given at; constraints along the last axis."""
    own = {"position": position, "velocity": velocity, "acceleration": acceleration}
    return sum(values * np.array([at == level for at in levels], float) for level, values in own.items())


def native_steps(dynamics: Dynamics, method: Any, p: Any) -> NativeSteps | None:
    """Machine code for a method, if it is the default one and the system has what it takes."""
    usual = method.solver is None and method.step is None and isinstance(method.formulation, Factored)
    known = isinstance(method.drift, (Projection, Baumgarte, NoCure))
    if not (usual and known and dynamics.native is not None and dynamics.native.possible):
        return None
    numbers = np.array([float(value) for value in p])
    return NativeSteps(dynamics, method.drift, numbers, method.rtol, method.atol)
