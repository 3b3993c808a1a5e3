# SPDX-License-Identifier: BSD-3-Clause
"""Where a motion may start: states that satisfy the constraints, and the nearest one to a state that does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.verdict import require_finite, require_symmetric
from dalembert.errors import MassMatrixError, StateError
from dalembert.extras import require
from dalembert.violation import EXACT, own_size, units, violated

Floats = NDArray[np.float64]


class State(NamedTuple):
    """Coordinates (n,) and velocities (n,)."""

    q: Floats
    qd: Floats


def terms_at(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> Terms:
    """The terms at one state, as numbers."""
    if dynamics.native is not None and dynamics.native.possible:
        return Terms(*dynamics.native.terms(q, qd, t, p))
    require("jax")
    from dalembert.integration.compiled import compiled_terms

    return compiled_terms(dynamics, q, qd, t, p)


OR_ALLOW_IT = ", or, if the violation is meant, pass `allow_violation=True`"
"""Advice for a single run; the members of an ensemble have no such argument."""


def require_start(
    dynamics: Dynamics, q: Floats, qd: Floats, t: Any, p: Any, *, allow_violation: bool, projected: bool = False
) -> list[str]:
    """Raise unless all terms are valid numbers and the state satisfies the constraints, unless it need not.

    Returns notes: how far a start that is accepted, but does not satisfy them exactly, is moved if it is ``projected``.
    """
    native: Any = dynamics.native
    if native is not None and native.usual_rows is not None:
        fine, exact, _ = native.start(np.concatenate([q, qd]), float(t), p)
        if fine and (exact or not projected):
            return []
    terms = terms_at(dynamics, q, qd, t, p)
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "position", "velocity")
    require_finite(dict(zip(names, terms, strict=True)))
    require_symmetric(np.asarray(terms.M))
    if not allow_violation:
        _require_satisfied(dynamics, terms, q, qd)
    return _moved(dynamics, terms, q, qd) if projected else []


def _require_satisfied(dynamics: Dynamics, terms: Terms, q: Floats, qd: Floats) -> None:
    off = violated_rows(terms, q, qd)
    found = [
        f"`{dynamics.constraints[k]}` is violated by {abs(residual[k]):.1e} at `{argument}`"
        for argument, level, residual in (("q0", "position", terms.position), ("qd0", "velocity", terms.velocity))
        for k in np.flatnonzero(off[level])
    ]
    if found:
        raise StateError(
            f"the start must satisfy the constraints; {'; '.join(found)}. "
            f"Start from `da.consistent_state(system, q0, qd0, ...)` instead{OR_ALLOW_IT}. "
            f"If constraints contradict one another, `da.check(system)` names them."
        )


def violated_rows(terms: Terms, q: Floats, qd: Floats) -> dict[str, NDArray[np.bool_]]:
    """Which constraints (m,) a state violates, at position and at velocity level."""
    return {
        "position": violated(terms.position, terms.A, q, mass_matrix=terms.M),
        "velocity": violated(terms.velocity, terms.A, qd, q, terms.M),
    }


def _moved(dynamics: Dynamics, terms: Terms, q: Floats, qd: Floats) -> list[str]:
    """Return notes on how far projection moves a start that misses the constraints by more than rounding."""
    A, notes = np.asarray(terms.A), list[str]()
    half = _half_of(np.asarray(terms.M))
    half = np.eye(A.shape[1]) if half is None else half
    for level, x, prime in (("position", q, ""), ("velocity", qd, "'")):
        miss = np.asarray(getattr(terms, level))
        off = np.abs(miss) > EXACT * (own_size(miss, A, x) + np.abs(A) @ units(terms.M, q, x))
        if off.any():
            move = half @ (np.linalg.pinv(A @ half, rcond=SPAN_TOLERANCE) @ miss)
            k, i = int(np.argmax(np.abs(miss) * off)), int(np.argmax(np.abs(move)))
            notes.append(
                f"The start misses `{dynamics.constraints[k]}` by {abs(miss[k]):.1e}; projection onto the constraints "
                f"moves it, by up to {abs(move[i]):.1e} in `{dynamics.coordinates[i]}{prime}`."
            )
    return notes


def nearest_state(dynamics: Dynamics, q0: Floats, qd0: Floats, t: Any, p: Any, *, euclidean: bool = False) -> State:
    """The state on the constraints nearest to (q0, qd0): positions first, then velocities.

    Nearest in the mass metric, or in the Euclidean one if that is asked for.
    """
    at_position = np.array([level == "position" for level in dynamics.levels], bool)
    at_velocity = np.array([level != "acceleration" for level in dynamics.levels], bool)

    def positions(q: Floats) -> Equations:
        terms = terms_at(dynamics, q, qd0, t, p)
        return Equations(np.asarray(terms.position)[at_position], np.asarray(terms.A)[at_position])

    q = _nearest(positions, q0, _metric(dynamics, q0, qd0, t, p, euclidean), _names(dynamics, at_position), "q0")

    def velocities(qd: Floats) -> Equations:
        terms = terms_at(dynamics, q, qd, t, p)
        return Equations(np.asarray(terms.velocity)[at_velocity], np.asarray(terms.A)[at_velocity])

    qd = _nearest(velocities, qd0, _metric(dynamics, q, qd0, t, p, euclidean), _names(dynamics, at_velocity), "qd0", q)
    return State(q, qd)


class Equations(NamedTuple):
    """Residuals (k,) and their Jacobian (k, n)."""

    residual: Floats
    jacobian: Floats


def _names(dynamics: Dynamics, rows: NDArray[np.bool_]) -> list[str]:
    return [name for name, wanted in zip(dynamics.constraints, rows, strict=True) if wanted]


def _metric(dynamics: Dynamics, q: Floats, qd: Floats, t: Any, p: Any, euclidean: bool) -> Floats:
    """Columns that are steps of unit length in the mass metric, or in the Euclidean one."""
    terms = terms_at(dynamics, q, qd, t, p)
    require_finite({"mass_matrix": terms.M, "constraint_matrix": terms.A, "position": terms.position})
    M = np.asarray(terms.M)
    if euclidean:
        return np.eye(len(M))
    half = _half_of(M)
    if half is None:
        raise MassMatrixError(
            f"`mass_matrix` must be positive definite for distances in the mass metric; its smallest eigenvalue is "
            f'{np.linalg.eigvalsh(M)[0]:.3g}. Pass `metric="euclidean"` to measure them in the coordinates themselves.'
        )
    return half


def _half_of(M: Floats) -> Floats | None:
    """L⁻ᵀ of the mass matrix LLᵀ, or None if M is no metric."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(M)).T, float)
    except np.linalg.LinAlgError:
        return None


def _nearest(
    equations: Callable[[Floats], Equations],
    x0: Floats,
    steps: Floats,
    names: list[str],
    argument: str,
    coordinates: Floats | None = None,
) -> Floats:
    """The point x0 + steps·y with the shortest y that solves the equations.

    First any solution near by (damped least squares, which gets there from afar and past singular places); then along
    the solutions towards x0, by Newton's method for the shortest y with the curvature of the equations, each step
    brought back onto them. Redundant equations are fine: only the spaces that J spans are used.
    """
    if not names:
        return x0
    scale = np.maximum(np.linalg.norm(equations(x0).jacobian @ steps, axis=1), 1e-12)

    def at(y: Floats) -> Equations:
        f, J = equations(x0 + steps @ y)
        return Equations(f / scale, J @ steps / scale[:, None])

    y = _some_solution(at, np.zeros_like(x0))
    x = x0 + steps @ y
    _require_solution(equations(x), x, coordinates, names, argument)
    for _ in range(100):
        J = at(y).jacobian
        tangent, J_plus = _tangent(J), np.linalg.pinv(J, rcond=SPAN_TOLERANCE)
        slope = tangent.T @ y
        if np.linalg.norm(slope) <= 1e-13 * (1 + np.linalg.norm(y)):
            break
        bend = np.eye(len(slope)) - _curvature(at, y, J_plus.T @ y, tangent)
        values, vectors = np.linalg.eigh(bend)
        # away from the minimum the bend may have any sign: go downhill all the same
        step = -tangent @ (vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), 1e-3)))
        shorter = _shorter(at, y, step)
        if shorter is None:
            break
        y = shorter
    return x0 + steps @ y


def _curvature(at: Callable[[Floats], Equations], y: Floats, weights: Floats, tangent: Floats) -> Floats:
    """The Hessian of the residuals' weighted sum along tangent directions.

    Differences are good enough: they tell only how long the steps towards the nearest point should be.
    """
    h = 1e-5 * (1 + np.linalg.norm(y))
    across = [weights @ (at(y + h * d).jacobian - at(y - h * d).jacobian) / (2 * h) for d in tangent.T]
    bend = np.array(across) @ tangent
    return (bend + bend.T) / 2


SPAN_TOLERANCE = 1e-7
"""Singular values below this fraction of the largest count as zero: a redundant equation is redundant only where the
equations hold, and here they hold to rounding at best."""


def _tangent(J: Floats) -> Floats:
    _, values, rows = np.linalg.svd(J)
    rank = int((values > SPAN_TOLERANCE * max(values.max(initial=0.0), 1e-300)).sum())
    return rows[rank:].T


def _some_solution(at: Callable[[Floats], Equations], y: Floats) -> Floats:
    near = _retracted(at, y)
    if np.linalg.norm(at(near).residual) <= 1e-13 * (1 + np.linalg.norm(near)):
        return near
    import scipy.optimize  # takes long to import, and is needed only from afar

    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    found = least_squares(
        lambda y: at(y).residual, y, lambda y: at(y).jacobian, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=500
    )
    return _retracted(at, found.x)


def _retracted(at: Callable[[Floats], Equations], y: Floats) -> Floats:
    """Back onto the equations by the shortest way, a few Gauss–Newton steps, as long as they help."""
    f, J = at(y)
    for _ in range(20):
        new = y - np.linalg.pinv(J, rcond=SPAN_TOLERANCE) @ f
        f_new, J_new = at(new)
        if not np.linalg.norm(f_new) < np.linalg.norm(f):
            break
        y, f, J = new, f_new, J_new
    return y


def _shorter(at: Callable[[Floats], Equations], y: Floats, step: Floats) -> Floats | None:
    """A solution along a step that is nearer than y, or None when rounding allows no more."""
    for _ in range(40):
        new = _retracted(at, y + step)
        if np.linalg.norm(at(new).residual) <= 1e-10 * (1 + np.linalg.norm(new)) and new @ new < y @ y:
            return new
        step = step / 2
    return None


def _require_solution(found: Equations, x: Floats, q: Floats | None, names: list[str], argument: str) -> None:
    off = violated(found.residual, found.jacobian, x, q) | ~np.isfinite(found.residual)
    if off.any():
        culprits = "; ".join(
            f"`{names[k]}` remains violated by {abs(found.residual[k]):.1e}" for k in map(int, np.flatnonzero(off))
        )
        raise StateError(
            f"some state near `{argument}` must satisfy the constraints; {culprits}. If they contradict one another, "
            f"`da.check(system)` says so; otherwise start from a guess nearer to them."
        )
