# SPDX-License-Identifier: BSD-3-Clause
"""Steps of the compiled integrator, which is used wherever the constraints are clearly independent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, all_true, vector_of
from dalembert.equation.dynamics import Dynamics, damping_rates, native_of
from dalembert.errors import InputError
from dalembert.integration.drift import Drift
from dalembert.integration.method import StepBatch
from dalembert.integration.row_selection import is_refined, rows_for
from dalembert.native.collocation import Collocation
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.protocol import Rates
from dalembert.native.step_control import LEAST_STEP, MOST_STEP, UNRELIABLE_OUTPUT, least_step, settings_of
from dalembert.native.stepper import FINISHED
from dalembert.native.tableau import Tableau
from dalembert.numerics.tolerances import RANK_TOLERANCE, UNIQUE_SHARE


@dataclass
class NativeSteps:
    """The compiled integrator for the constraint rows in use; it selects other rows where these become dependent.

    Where no selection is well conditioned, near a singular configuration or where the equations break down, the
    compiled integrator hands over to the general one, which is slower but keeps more digits and explains its failures.
    """

    dynamics: Dynamics
    drift: Drift
    p: Floats
    rtol: float
    atol: Any
    max_step: float = np.inf
    fixed: float | None = None  # the length of all steps, or None for adaptive ones
    tableau: Tableau | Collocation = DORMAND_PRINCE
    engine: Any = None
    rows: tuple[int, ...] = ()
    refined: bool = False  # whether the solution of the equations is refined: see ``elimination.needs_refinement``
    step: float = 0.0  # the step to try next; zero if it must be estimated
    _settings: Floats | None = field(default=None, init=False)

    def begin(self, y: Floats, t: float) -> None:
        """Select rows if none are in use yet."""
        if self.engine is None:
            native = native_of(self.dynamics)
            # among redundant rows the selection depends on state and parameters, so one of an earlier run is not reused
            if native.usual_rows is None or len(native.usual_rows) < len(self.dynamics.levels):
                native.usual_rows = rows_for(self.dynamics, y, t, self.p)
            self._use(native.usual_rows, y, t)

    def _use(self, rows: tuple[int, ...], y: Floats, t: float) -> None:
        native = native_of(self.dynamics)
        self.rows, self.refined = rows, is_refined(self.dynamics, rows, y, t, self.p)
        cure = cure_of(self.drift, self.dynamics.levels)
        self.engine = native.engine(rows, *cure, self.refined, self.tableau)

    def selected_at(self, y: Floats, t: float) -> NativeSteps:
        """Return steps with the independent rows at a state."""
        other = replace(self)
        other._use(rows_for(self.dynamics, y, t, self.p), y, t)
        return other

    def step_batch(self, y: Floats, t: float, end: float, room: int) -> StepBatch | None:
        """Take up to ``room`` steps; return None if not even one can be taken."""
        self.begin(y, t)
        found = self._step_batch(y, t, end, room)
        # rows that were independent at the start may have become dependent on the way
        if not len(found.t) and self._select_other_rows(y, t):
            found = self._step_batch(y, t, end, room)
        if not len(found.t):
            return None
        finished = found.ending == FINISHED
        return StepBatch(
            found.t,
            found.y,
            found.rejected,
            finished,
            not finished,
            True,
            [len(self.rows)],
            [],
            from_start=found.from_start,
        )

    def _select_other_rows(self, y: Floats, t: float) -> bool:
        """Switch to the independent rows at a state, refined if needed there; return whether that differs."""
        before = self.rows, self.refined
        self._use(rows_for(self.dynamics, y, t, self.p, self.rows), y, t)
        return (self.rows, self.refined) != before

    def _step_batch(self, y: Floats, t: float, end: float, room: int) -> Any:
        settings = self.settings(t, end, len(y))
        step = self.step if self.fixed is None else self.fixed
        found, step = self.engine.step_batch(y, t, end, step, self.p, settings, room)
        # a step that was shortened in vain is no estimate for the next start
        self.step = step if len(found.t) else 0.0
        return found

    def settings(self, t: float, end: float, size: int) -> Floats:
        """Return tolerances and bounds of the step in the layout of the compiled code.

        The array is the same at each call, with the bounds of the last one.
        """
        found = self._settings
        if found is None:
            tolerances = self.tableau.step_tolerances(self.rtol, self.atol)
            found = self._settings = settings_of(t, end, *tolerances, self.max_step, size)
        found[LEAST_STEP], found[MOST_STEP] = least_step(t, end), self.max_step
        return found

    def is_well_conditioned(self, y: Floats, t: float) -> bool:
        """Return whether the compiled acceleration at a state is well conditioned."""
        return self.engine.slope(y, t, self.p)[-1] == 1.0

    def accepts(self, y: Floats, t: float) -> bool:
        """Return whether a step from a state is possible, however short: the rows left out must agree as well."""
        return self.is_well_conditioned(y, t) and self.engine.agrees(y, t, self.p)

    def sample(
        self, t0: Floats, y0: Floats, times: Floats, *, states_only: bool = False
    ) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
        """Return all outputs at times reached by one step each, by the names of ``Trajectory``, and which are valid.

        The second result is None if all are. The entry "accurate" holds whether the error estimate of each step met the
        tolerance. With ``states_only``, only the entries "q" and "qd" are returned: the multipliers of redundant
        constraints take most of the time.
        """
        self.begin(y0[0], float(t0[0]))
        found, valid = self._sample(t0, y0, times, states_only)
        if valid is not None and self._select_other_rows(y0[0], float(t0[0])):
            return self._sample(t0, y0, times, states_only)
        return found, valid

    def _sample(
        self, t0: Floats, y0: Floats, times: Floats, states_only: bool
    ) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
        settings = self.settings(0.0, 0.0, y0.shape[1])
        y, outputs, validity, is_complete = self.engine.sample(t0, y0, times, self.p, settings)
        valid = None if is_complete else (validity > 0) & np.isfinite(y).all(axis=1)
        if valid is not None and all_true(valid):
            valid = None
        if states_only:
            return by_coordinates(y), valid
        if valid is not None:
            solved = {name: values for name, values in outputs.items() if name != "energy"}
            # zero rather than NaN, which would spread to the other states in the products below
            outputs |= {name: np.where(valid[:, None], values, 0.0) for name, values in solved.items()}
        n, count = y.shape[1] // 2, len(times)
        found: dict[str, Any] = {name: outputs[name] for name in SOLVED_OUTPUTS}
        # redundant rows: the compiled code knows multipliers of the rows in use only, the shortest ones use all
        if len(self.rows) < len(self.dynamics.levels):
            A = outputs["constraint_matrix"].reshape(count, -1, n)
            pseudo_inverse = shortest_multipliers(A)
            found["multipliers"] = np.einsum("kmn,kn->km", pseudo_inverse, outputs["ideal_force"])
            reaction = outputs["ideal_force"] + outputs["nonideal_force"] - outputs["nonideal_c"]
            found["reactions"] = np.einsum("kmn,kn->km", pseudo_inverse, reaction)
        if outputs["energy"].size:
            found["energy"] = outputs["energy"][:, 0]
        found["q"], found["qd"] = y[:, :n], y[:, n:]
        found["rank"], found["inconsistency"] = np.array([len(self.rows)] * count), np.zeros(count)
        velocity = found["velocity_violation"] = outputs["velocity"]
        found["violation"] = at_own_level(self.dynamics.levels, outputs["position"], velocity, outputs["residual"])
        found["accurate"] = validity != UNRELIABLE_OUTPUT
        return found, valid


SOLVED_OUTPUTS = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions")
"""Outputs of the compiled integrator that are outputs of a run as they are."""


def by_coordinates(states: Floats) -> dict[str, Any]:
    """Return states (k, 2n) as coordinates and velocities (k, n), by the names of ``Trajectory``."""
    n = states.shape[1] // 2
    return {"q": states[:, :n], "qd": states[:, n:]}


def cure_of(drift: Drift, levels: tuple[str, ...]) -> tuple[int | None, Rates]:
    """Return the iterations of a projection and the stabilising rates, None where a drift cure has none."""
    return drift.projections or None, damping_rates(levels, drift.gains())


def shortest_multipliers(A: Floats) -> Floats:
    """Return the matrices (k, m, n) at k states that map an ideal force Aᵀλ to its shortest λ."""
    if not A.size:
        return np.zeros_like(A)
    lengths = np.linalg.norm(A, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1.0
    # of rows of equal length, since the unit of a constraint must not decide whether it counts
    left, sizes, right = np.linalg.svd(A / lengths)
    ranks, found = (sizes > RANK_TOLERANCE * sizes[:, :1]).sum(axis=1), np.empty_like(A)
    for rank in np.unique(ranks):  # states of one rank have bases of one shape
        at = ranks == rank
        some = left[at, :, :rank] / sizes[at, None, :rank] / lengths[at] @ right[at, :rank]
        found[at] = _shortened(some, left[at, :, rank:], lengths[at])
    return found


def _shortened(some: Floats, idle: Floats, lengths: Floats) -> Floats:
    """Return matrices ``some`` less their part along the multipliers that cause no force.

    ``idle`` (k, m, m - rank) are orthonormal bases of such multipliers of rows of equal length.
    """
    # in units of λ, rounding of a short row would be large
    determined = np.linalg.norm(idle, axis=-1, keepdims=True) < UNIQUE_SHARE
    idle = np.where(determined, 0.0, idle) / lengths
    without = np.linalg.pinv(idle, rcond=RANK_TOLERANCE)
    # twice: the first time leaves rounding of the λ of a short row, which is large beside those of long rows
    for _ in range(2):
        some = some - idle @ (without @ np.where(determined, 0.0, some))
    return some


@lru_cache(maxsize=64)
def _masks(levels: tuple[str, ...]) -> list[tuple[str, Floats]]:
    """Return for each level that occurs one (m,) for its constraints, and zero for the others."""
    return [(level, np.array([at == level for at in levels], float)) for level in dict.fromkeys(levels)]


def at_own_level(levels: tuple[str, ...], position: Any, velocity: Any, acceleration: Any) -> Any:
    """Return the residual of each constraint at its own level; constraints are along the last axis."""
    own = {"position": position, "velocity": velocity, "acceleration": acceleration}
    if len({*levels}) <= 1:
        return own[levels[0]] if levels else position
    return sum(own[level] * mask for level, mask in _masks(levels))


def in_machine_code(dynamics: Dynamics, method: Any) -> bool:
    """Return whether the compiled integrator supports a system and the formulation and drift cure of a method."""
    usual = method.formulation.uses_engine and method.drift.in_machine_code
    return usual and dynamics.machine_code is not None


def native_steps(dynamics: Dynamics, method: Any, p: Any) -> NativeSteps | None:
    """Return the compiled integrator for a method, or None if another solver is requested or it is not supported."""
    tableau = method.tableau
    if tableau is None or not in_machine_code(dynamics, method):
        _refuse_implicit(dynamics, method)
        return None
    numbers = vector_of(p)
    return NativeSteps(dynamics, method.drift, numbers, method.rtol, method.atol, method.max_step, method.step, tableau)


def _refuse_implicit(dynamics: Dynamics, method: Any) -> None:
    """Raise an error if a method is ``da.Implicit``, because the compiled integrator does not support the rest."""
    if not method.is_implicit:
        return
    if not method.formulation.uses_engine:
        what = f"the formulation {type(method.formulation).__name__}. Leave `formulation` out"
    elif not method.drift.in_machine_code:
        what = f"the drift cure {type(method.drift).__name__}. Take `da.Projection`, `da.Baumgarte` or None"
    else:
        what = "a system with a function that cannot be compiled. State it by expressions"
    raise InputError(
        f"`da.Implicit()` must be used with the compiled integrator; got {what}, or pass `solver=diffrax.Kvaerno5()`."
    )
