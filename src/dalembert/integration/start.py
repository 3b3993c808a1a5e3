# SPDX-License-Identifier: BSD-3-Clause
"""Where a motion may start: states that satisfy the constraints, and the nearest one to a state that does not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import StateError

START_TOLERANCE = 1e-8
"""A start may miss a constraint by this distance, relative to the size of the state."""

Floats = NDArray[np.float64]


class State(NamedTuple):
    """Coordinates (n,) and velocities (n,)."""

    q: Floats
    qd: Floats


@eqx.filter_jit
def terms_at(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> Terms:
    """The compiled terms at one state."""
    return dynamics.terms(q, qd, t, p)


def require_consistent(dynamics: Dynamics, q: Floats, qd: Floats, t: float, p: Any) -> None:
    """Raise unless the state satisfies the constraints at position and velocity level."""
    terms = terms_at(dynamics, q, qd, t, p)
    length = np.linalg.norm(np.asarray(terms.A), axis=1)
    found = _misses(dynamics, terms.position, length, q, "q0") + _misses(dynamics, terms.velocity, length, qd, "qd0")
    if found:
        raise StateError(
            f"the start must satisfy the constraints; {'; '.join(found)}. "
            f"Start from `da.consistent_state(system, q0, qd0, ...)` instead, or, if the violation is meant, pass "
            f"`allow_violation=True`."
        )


def _misses(dynamics: Dynamics, residual: Any, length: Floats, scale: Floats, argument: str) -> list[str]:
    limit = START_TOLERANCE * length * (1 + np.abs(scale).max())
    off = np.abs(np.asarray(residual))
    return [
        f"`{dynamics.constraints[k]}` is violated by {off[k]:.1e} at `{argument}`"
        for k in np.flatnonzero(off > np.maximum(limit, 1e-14))
    ]


def nearest_state(dynamics: Dynamics, q0: Floats, qd0: Floats, t: float, p: Any) -> State:
    """The state on the constraints nearest to (q0, qd0) in the mass metric: positions first, then velocities."""
    levels = np.array(dynamics.levels, dtype=object)
    at_position, at_velocity = levels == "position", levels != "acceleration"

    def positions(q: Floats) -> tuple[Floats, Floats]:
        terms = terms_at(dynamics, q, qd0, t, p)
        return np.asarray(terms.position)[at_position], np.asarray(terms.A)[at_position]

    def velocities(q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        terms = terms_at(dynamics, q, qd, t, p)
        return np.asarray(terms.velocity)[at_velocity], np.asarray(terms.A)[at_velocity]

    names = np.array(dynamics.constraints, dtype=object)
    q = _nearest(positions, q0, _metric(dynamics, q0, qd0, t, p), names[at_position], "q0")
    qd = _nearest(partial(velocities, q), qd0, _metric(dynamics, q, qd0, t, p), names[at_velocity], "qd0")
    return State(q, qd)


def _metric(dynamics: Dynamics, q: Floats, qd: Floats, t: float, p: Any) -> Floats:
    """L⁻ᵀ of the mass matrix LLᵀ, whose columns are steps of unit length; of the identity if M is not positive."""
    M = np.asarray(terms_at(dynamics, q, qd, t, p).M)
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(M)).T, float)
    except np.linalg.LinAlgError:
        return np.eye(len(M))


def _nearest(
    equations: Callable[[Floats], tuple[Floats, Floats]], x0: Floats, steps: Floats, names: Any, argument: str
) -> Floats:
    """The point x0 + steps·y with the shortest y that solves the equations.

    First any solution near by (damped least squares, which also gets there from afar and over singular places); then,
    y ← J⁺(J y − f), whose fixed points are the solutions with y in the row space of J: the nearest ones.
    """
    import scipy.optimize

    f, J = equations(x0)
    if not len(f):
        return x0
    scale = np.maximum(np.linalg.norm(J @ steps, axis=1), 1e-12)

    def residual(y: Floats) -> Floats:
        return equations(x0 + steps @ y)[0] / scale

    def jacobian(y: Floats) -> Any:
        return (equations(x0 + steps @ y)[1] @ steps) / scale[:, None]

    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    y: Floats = least_squares(residual, np.zeros_like(x0), jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    for _ in range(200):
        J_plus = np.linalg.pinv(jacobian(y), rcond=1e-7)
        new = J_plus @ (jacobian(y) @ y - residual(y))
        moved = np.linalg.norm(new - y)
        # A full step may overshoot where the constraints are strongly curved; never lose what was reached.
        y = new if np.linalg.norm(residual(new)) <= 2 * np.linalg.norm(residual(y)) + moved else (y + new) / 2
        if moved <= 1e-14 * (1 + np.linalg.norm(y)):
            break
    off = np.abs(residual(y))
    limit = 1e-10 * (1 + np.linalg.norm(y))
    if not (off <= limit).all():
        culprits = "; ".join(
            f"`{names[k]}` remains violated by {off[k] * scale[k]:.1e}" for k in np.flatnonzero(off > limit)
        )
        raise StateError(
            f"some state near `{argument}` must satisfy the constraints; {culprits}. Check that the constraints do not "
            f"contradict one another, or start from a guess nearer to them."
        )
    return x0 + steps @ y
