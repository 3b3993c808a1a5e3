# SPDX-License-Identifier: BSD-3-Clause
"""Start states of a large system: the check that they satisfy the constraints, and the nearest state that does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES
from dalembert.errors import StateError
from dalembert.integration.sparse_descent import Descent
from dalembert.integration.sparse_masses import ADVICE
from dalembert.integration.sparse_motion import require_valid_terms
from dalembert.integration.start_states import OR_ALLOW_IT, START_NEARBY, State, nearest, unresolved_text
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import EXACT, LEAST_DISTANCE, START_TOLERANCE
from dalembert.numerics.violation import units_of, unresolved

MOST_CORRECTIONS = 200
"""Most iterations towards the nearest state; each one reduces the distance by a factor."""

LARGEST_ARRAYS = 200
"""Most coordinates for which arrays of n × n numbers are made to find a start."""

CLOSE = 1e-13
"""Steps below this part of the coordinates are rounding as soon as they no longer become shorter."""


def missed(dynamics: LargeDynamics, q: Floats, qd: Floats, level: int, tolerance: float) -> NDArray[np.int64]:
    """Return the constraints that the state of the last evaluation violates at a level, as ``violation.violated``."""
    code = dynamics.code
    residual, x = code.residuals[level], (q, qd)[level]
    sizes = abs(code.A)
    # the terms of a constraint: its constant part, and its linear terms by size, since they may cancel
    own = np.abs(residual - code.A @ x) + sizes @ np.abs(x)
    least = min(tolerance, LEAST_DISTANCE) * (sizes @ units_of(np.sqrt(np.abs(code.mass.diagonal)), q, x))
    off = ~(np.abs(residual) <= tolerance * own + least)
    return np.flatnonzero(off & (dynamics.levels <= level))


def require_start(
    dynamics: LargeDynamics,
    q: Floats,
    qd: Floats,
    t: float,
    numbers: Floats,
    *,
    allow_violation: bool,
    among: NDArray[np.bool_] | None = None,
) -> bool:
    """Raise an error unless a state satisfies the constraints; return whether it does so to rounding.

    ``among`` (m,) are the constraints that count; all by default.
    """
    dynamics.code.evaluate(q, qd, t, numbers)
    require_valid_terms(dynamics)
    _require_resolved(dynamics, q, qd, t, numbers)
    residuals, found = dynamics.code.residuals, []
    for level, argument in enumerate(("q0", "qd0")):
        rows = missed(dynamics, q, qd, level, START_TOLERANCE)
        # contacts that are open do not count
        rows = rows if among is None else rows[among[rows]]
        if len(rows):
            found.append(f"{_violations(dynamics, rows, residuals[level], 'is')} at `{argument}`")
    if found and not allow_violation:
        raise StateError(
            f"the initial state must satisfy the constraints; {'; '.join(found)}. {START_NEARBY}{OR_ALLOW_IT}."
        )
    return not any(len(missed(dynamics, q, qd, level, EXACT)) for level in (0, 1))


def _require_resolved(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> None:
    """Raise an error if the coordinates of the last evaluation count as zero and the constraints have such lengths."""
    code = dynamics.code

    def gradient_at(x: Floats) -> Any:
        code.evaluate(np.ascontiguousarray(x), qd, t, numbers, masses_too=False)
        return code.A.copy()

    found = np.flatnonzero(unresolved(code.residuals[0].copy(), code.A.copy(), gradient_at, q))
    if len(found):
        raise StateError(unresolved_text([dynamics.constraints[k] for k in found], q))
    code.evaluate(q, qd, t, numbers)


def projection_notes(
    dynamics: LargeDynamics, given: tuple[Floats, Floats], found: State, t: float, numbers: Floats
) -> list[str]:
    """Return notes on how far projection moves a start that misses the constraints by more than rounding."""
    notes: list[str] = []
    dynamics.code.evaluate(*given, t, numbers)
    for level, prime in enumerate(("", "'")):
        rows = missed(dynamics, *given, level, EXACT)
        if len(rows):
            miss, move = np.abs(dynamics.code.residuals[level][rows]), np.abs(found[level] - given[level])
            k, i = int(np.argmax(miss)), int(np.argmax(move))
            notes.append(
                f"The initial state misses `{dynamics.constraints[rows[k]]}` by {miss[k]:.1e}; projection onto the "
                f"constraints moves it, by up to {move[i]:.1e} in `{dynamics.coordinates[i]}{prime}`."
            )
    return notes


def _violations(dynamics: LargeDynamics, rows: NDArray[np.int64], residual: Floats, verb: str) -> str:
    """Return the violated constraints as text, the most violated ones first."""
    worst = rows[np.argsort(-np.abs(residual[rows]))]
    shown = [f"`{dynamics.constraints[k]}` {verb} violated by {abs(residual[k]):.1e}" for k in worst[:LISTED_NAMES]]
    more = f" and {len(rows) - LISTED_NAMES} more" if len(rows) > LISTED_NAMES else ""
    return ", ".join(shown) + more


def nearest_sparse_state(
    dynamics: LargeDynamics, q0: Floats, qd0: Floats, t: float, numbers: Floats, advice: str = ADVICE
) -> State:
    """Return the state on the constraints nearest to (q0, qd0) in the mass metric: positions first, then velocities.

    Inertia that was added to M belongs to the metric. ``advice`` is for mass matrices that are none.
    """
    dynamics.code.evaluate(q0, qd0, t, numbers)
    require_valid_terms(dynamics, advice)
    q = _nearest_or_by_arrays(dynamics, q0, qd0, t, numbers, 0)
    dynamics.code.evaluate(q, qd0, t, numbers)
    _require_resolved(dynamics, q, qd0, t, numbers)
    return State(q, _nearest_or_by_arrays(dynamics, q, qd0, t, numbers, 1))


def _nearest_or_by_arrays(
    dynamics: LargeDynamics, q0: Floats, qd0: Floats, t: float, numbers: Floats, level: int
) -> Floats:
    """Return the nearest coordinates, or velocities; far from the constraints with the curvature of these."""
    x = _nearest(dynamics, q0, qd0, t, numbers, level)
    if x is not None:
        return x
    if len(q0) <= LARGEST_ARRAYS:
        return _nearest_by_arrays(dynamics, q0, qd0, t, numbers, level)
    # arrays (n, n) would not fit into memory
    x = Descent(dynamics, q0, qd0, t, numbers, level).nearest()
    return _verified(dynamics, (x, qd0) if level == 0 else (q0, x), t, numbers, level)


def _nearest_by_arrays(
    dynamics: LargeDynamics, q0: Floats, qd0: Floats, t: float, numbers: Floats, level: int
) -> Floats:
    """Return the nearest coordinates, or velocities, with the curvature of the constraints taken into account."""
    code, rows = dynamics.code, dynamics.levels <= level
    state = [q0, qd0]

    def equations(x: Floats) -> tuple[Floats, Floats]:
        state[level] = np.ascontiguousarray(x)
        code.evaluate(state[0], state[1], t, numbers)
        return code.residuals[level][rows], code.A.toarray()[rows]

    code.evaluate(q0, qd0, t, numbers)
    # in these directions the mass metric is the Euclidean one
    steps = np.linalg.inv(np.linalg.cholesky(code.metric_matrix().toarray())).T
    names = [dynamics.constraints[k] for k in np.flatnonzero(rows)]
    return nearest(equations, state[level], steps, names, ("q0", "qd0")[level], None if level == 0 else q0)


def _nearest(dynamics: LargeDynamics, q0: Floats, qd0: Floats, t: float, numbers: Floats, level: int) -> Floats | None:
    """Return the nearest coordinates, or velocities, by steps to the nearest point of the linearised constraints.

    ``None`` if they do not converge to a state on the constraints: the curvature of these matters.
    """
    code, state = dynamics.code, [q0, qd0]
    start, before = state[level], np.inf
    if code.elimination is None or not (dynamics.levels <= level).any():
        return start
    # all rows again: which ones are independent may differ from where the state was last factored
    code.elimination.used = dynamics.levels <= level
    for i in range(MOST_CORRECTIONS):
        code.evaluate(state[0], state[1], t, numbers, masses_too=not i)  # the metric is that of the given state
        require_valid_terms(dynamics)
        code.factor()
        x, residual = state[level], code.residuals[level]
        # the nearest x with residual + A (x − x now) = 0; at a fixed point x − x0 = W Aᵀλ, which is the nearest point
        new = start - code.refined_correction(residual - code.A @ (x - start))[1]
        step = np.abs(new - x).max(initial=0.0)
        state[level] = new
        if not np.isfinite(step):
            return None
        # where steps become shorter slowly, the sum of those to come is much longer than the last one
        if step <= CLOSE * np.abs(new).max(initial=0.0) and not step < before:
            return None if len(_missed_at(dynamics, (state[0], state[1]), t, numbers, level)) else new
        before = step
    return None


def _missed_at(
    dynamics: LargeDynamics, state: tuple[Floats, Floats], t: float, numbers: Floats, level: int
) -> NDArray[np.int64]:
    """Return the constraints that a state violates at a level."""
    dynamics.code.evaluate(state[0], state[1], t, numbers)
    return missed(dynamics, state[0], state[1], level, START_TOLERANCE)


def _verified(dynamics: LargeDynamics, state: tuple[Floats, Floats], t: float, numbers: Floats, level: int) -> Floats:
    """Return the coordinates, or velocities, of a state; raise an error if it is not on the constraints."""
    rows = _missed_at(dynamics, state, t, numbers, level)
    if len(rows):
        violated = _violations(dynamics, rows, dynamics.code.residuals[level], "remains")
        raise StateError(
            f"some state near `{('q0', 'qd0')[level]}` must satisfy the constraints; {violated}. If they contradict "
            f"one another, correct them; otherwise start from a guess nearer to them."
        )
    return state[level]
