# SPDX-License-Identifier: BSD-3-Clause
"""Checks of initial states, and the nearest state that satisfies the constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.extras import require
from dalembert.common.levels import rows_at
from dalembert.common.names import quoted
from dalembert.equation.answer_checks import require_finite, require_symmetric
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.scaling import metric_of
from dalembert.errors import MassMatrixError, StateError
from dalembert.numerics.constraint_solver import Equations, nearest_root, retract, solves
from dalembert.numerics.tolerances import EXACT, ROUNDING, SOLVED_RANK_TOLERANCE
from dalembert.numerics.violation import own_size, units, unresolved, violated


class State(NamedTuple):
    """Coordinates (n,) and velocities (n,)."""

    q: Floats
    qd: Floats


def terms_at(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> Terms:
    """Return the terms of the equation of motion at one state, as NumPy arrays."""
    native = dynamics.machine_code
    if native is not None:
        return Terms(*native.terms(q, qd, t, p))
    require("jax")
    from dalembert.integration.compiled import compiled_terms

    return compiled_terms(dynamics, q, qd, t, p)


def terms_of_states(dynamics: Dynamics, y: Floats, t: Floats, p: Floats) -> Terms:
    """Return the terms at states y (k, 2n) with times (k,) and parameters p (k, ·), each with a leading axis k."""
    native, n = dynamics.machine_code, len(dynamics.coordinates)
    with np.errstate(all="ignore"):  # states that are not finite are found by other checks
        if native is not None:
            return Terms(*native.terms_of_many(y, t, p))
        found = [terms_at(dynamics, a[:n], a[n:], b, c) for a, b, c in zip(y, t, p, strict=True)]
    return Terms(*(np.stack(values) for values in zip(*found, strict=True)))


START_NEARBY = "Start from `da.consistent_state(system, q0, qd0, ...)` instead"
"""Advice for a start that violates constraints; the command line replaces it by its own."""

NAMES_CONFLICTS = "`da.check(system)` names them"
"""Advice for constraints that contradict one another, likewise."""

OR_ALLOW_IT = ", or, if the violation is meant, pass `allow_violation=True`"
"""Advice for a single run; ensembles have no such argument."""


def require_start(
    dynamics: Dynamics, q: Floats, qd: Floats, t: Any, p: Any, *, allow_violation: bool, projected: bool = False
) -> list[str]:
    """Raise an error unless all terms are finite and the state satisfies the constraints.

    With ``allow_violation`` the constraints are not checked. The result are notes on how far projection moves a start
    that misses the constraints by more than rounding, if it is ``projected``.
    """
    native = dynamics.machine_code
    if native is not None:
        # the compiled check decides the usual case in microseconds; messages need the terms themselves
        fine, exact, _ = native.start(np.concatenate([q, qd]), float(t), p)
        if fine and (exact or not projected):
            return []
    terms = terms_at(dynamics, q, qd, t, p)
    names = ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs", "position", "velocity")
    require_finite(dict(zip(names, terms, strict=True)))
    # after the test for finite values: NaN is not equal to itself, and would be reported as asymmetry
    require_symmetric(np.asarray(terms.M))
    require_resolved(dynamics.constraints, terms, lambda x: terms_at(dynamics, x, qd, t, p).A, q)
    if not allow_violation:
        _require_satisfied(dynamics, terms, q, qd)
    return _projection_notes(dynamics, terms, q, qd) if projected else []


def require_resolved(constraints: Sequence[str], terms: Terms, gradient_at: Callable[[Floats], Any], q: Floats) -> None:
    """Raise an error that names the constraints whose own lengths count as zero, if there are any."""
    found = np.flatnonzero(unresolved(terms.position, terms.A, gradient_at, q))
    if len(found):
        raise StateError(unresolved_text([constraints[k] for k in map(int, found)], q))


def unresolved_text(names: Sequence[str], q: Floats) -> str:
    """Return the text that refuses a state for the constraints with lengths that count as zero."""
    return (
        f"coordinates and lengths must not all be below {ROUNDING:g}, where numbers count as zero; the coordinates are "
        f"at most {np.abs(q).max():.1e}, with lengths of that order in {quoted(names)}. State the problem in a smaller "
        f"unit of length."
    )


def _require_satisfied(dynamics: Dynamics, terms: Terms, q: Floats, qd: Floats) -> None:
    """Raise an error that names the violated constraints, if there are any."""
    off = violated_rows(terms, q, qd)
    found = [
        f"`{dynamics.constraints[k]}` is violated by {abs(residual[k]):.1e} at `{argument}`"
        for argument, level, residual in (("q0", "position", terms.position), ("qd0", "velocity", terms.velocity))
        for k in np.flatnonzero(off[level])
    ]
    if found:
        raise StateError(
            f"the initial state must satisfy the constraints; {'; '.join(found)}. "
            f"{START_NEARBY}{OR_ALLOW_IT}. If constraints contradict one another, {NAMES_CONFLICTS}."
        )


def violated_rows(terms: Terms, q: Floats, qd: Floats) -> dict[str, NDArray[np.bool_]]:
    """Return masks (m,) of the constraints that a state violates at position and at velocity level."""
    return {
        "position": violated(terms.position, terms.A, q, mass_matrix=terms.M),
        "velocity": violated(terms.velocity, terms.A, qd, q, terms.M),
    }


def _projection_notes(dynamics: Dynamics, terms: Terms, q: Floats, qd: Floats) -> list[str]:
    """Return notes on how far projection moves a start that misses the constraints by more than rounding."""
    notes: list[str] = []
    for level, x, prime in (("position", q, ""), ("velocity", qd, "'")):
        miss, off = np.asarray(getattr(terms, level)), inexact_rows(terms, level, q, x)
        if off.any():
            move = first_correction(terms, level)
            k, i = int(np.argmax(np.abs(miss) * off)), int(np.argmax(np.abs(move)))
            notes.append(
                f"The initial state misses `{dynamics.constraints[k]}` by {abs(miss[k]):.1e}; projection onto the "
                f"constraints moves it, by up to {abs(move[i]):.1e} in `{dynamics.coordinates[i]}{prime}`."
            )
    return notes


def inexact_rows(terms: Terms, level: str, q: Floats, x: Floats) -> NDArray[np.bool_]:
    """Return a mask (..., m) of the constraints that coordinates q and velocities x, or x = q, miss beyond rounding."""
    miss, A = np.asarray(getattr(terms, level)), np.asarray(terms.A)
    scale = (np.abs(A) @ units(terms.M, q, x)[..., None])[..., 0]
    return np.abs(miss) > EXACT * (own_size(miss, A, x) + scale)


def first_correction(terms: Terms, level: str) -> Floats:
    """Return the first step (n,) of the projection at a level: the Gauss–Newton step in its metric."""
    A, miss = np.asarray(terms.A), np.asarray(getattr(terms, level))
    inverse_root = _steps_for_any_mass(np.asarray(terms.M), A)
    # a pseudoinverse, since constraints may be redundant
    return inverse_root @ (np.linalg.pinv(A @ inverse_root, rcond=SOLVED_RANK_TOLERANCE) @ miss)


Metric = Literal["mass", "any mass", "euclidean"]
"""The metric of distances between states: M, which must be positive definite; ``scaling.metric_of``, for any M; or the
Euclidean metric of the coordinates."""


class HeldRows(NamedTuple):
    """Linear equations rows·x = values, which are required beside constraints, with a name for each."""

    names: list[str]
    rows: Floats
    values: Floats


def nearest_state(
    dynamics: Dynamics,
    q0: Floats,
    qd0: Floats,
    t: Any,
    p: Any,
    metric: Metric = "mass",
    held: Callable[[str, Floats], HeldRows] | None = None,
) -> State:
    """Return the state on the constraints nearest to (q0, qd0) in a metric: positions first, then velocities.

    ``held`` is a function of the level, "position" or "velocity", and of q, for equations beside the constraints.
    """
    positions, names = constraint_equations(dynamics, "position", lambda q: terms_at(dynamics, q, qd0, t, p))
    if held is not None:
        positions, names = _with_held(positions, names, held("position", q0))
    # the metric is that of the given state: with one that changes on the way, "nearest" would have no meaning
    q = nearest(positions, q0, unit_steps(dynamics, q0, qd0, t, p, metric), names, "q0")
    velocities, names = constraint_equations(dynamics, "velocity", lambda qd: terms_at(dynamics, q, qd, t, p))
    if held is not None:
        velocities, names = _with_held(velocities, names, held("velocity", q))
    terms = terms_at(dynamics, q, qd0, t, p)
    require_resolved(dynamics.constraints, terms, lambda x: terms_at(dynamics, x, qd0, t, p).A, q)
    # after the positions, and with M there: the velocity constraints depend on them
    qd = nearest(velocities, qd0, unit_steps(dynamics, q, qd0, t, p, metric), names, "qd0", q)
    return State(q, qd)


def _with_held(equations: Equations, names: Sequence[str], held: HeldRows) -> tuple[Equations, list[str]]:
    """Return equations together with linear ones, and the names of all."""

    def both(x: Floats) -> tuple[Floats, Floats]:
        residual, jacobian = equations(x)
        return np.concatenate([residual, held.rows @ x - held.values]), np.concatenate([jacobian, held.rows])

    return both, [*names, *held.names]


def onto_constraints(dynamics: Dynamics, q0: Floats, qd0: Floats, t: Any, p: Any) -> State:
    """Return a state on the constraints near (q0, qd0); values that satisfy them exactly are unchanged."""
    positions, _ = constraint_equations(dynamics, "position", lambda q: terms_at(dynamics, q, qd0, t, p))
    # positions first: the gradients of the velocity constraints are those at the final positions
    q = retract(positions, q0)
    velocities, _ = constraint_equations(dynamics, "velocity", lambda qd: terms_at(dynamics, q, qd, t, p))
    return State(q, retract(velocities, qd0))


def constraint_equations(
    dynamics: Dynamics, level: str, terms: Callable[[Floats], Terms]
) -> tuple[Equations, list[str]]:
    """Return the constraints at position or velocity level as equations for a root finder, and their names."""
    rows = rows_at(dynamics.levels, level)

    def equations(x: Floats) -> tuple[Floats, Floats]:
        found = terms(x)
        return np.asarray(getattr(found, level))[rows], np.asarray(found.A)[rows]

    return equations, [dynamics.constraints[k] for k in np.flatnonzero(rows)]


def unit_steps(dynamics: Dynamics, q: Floats, qd: Floats, t: Any, p: Any, metric: Metric) -> Floats:
    """Return a matrix whose columns have unit length in a metric and are orthogonal in it."""
    terms = terms_at(dynamics, q, qd, t, p)
    require_finite({"mass_matrix": terms.M, "constraint_matrix": terms.A, "position": terms.position})
    M = np.asarray(terms.M)
    if metric == "euclidean":
        return np.eye(len(M))
    if metric == "any mass":
        return _steps_for_any_mass(M, np.asarray(terms.A))
    inverse_root = _inverse_root(M)
    if inverse_root is None:
        raise MassMatrixError(
            f"`mass_matrix` must be positive definite for distances in the mass metric; its smallest eigenvalue is "
            f'{np.linalg.eigvalsh(M)[0]:.3g}. Pass `metric="euclidean"` to measure them in the coordinates themselves.'
        )
    return inverse_root


def _steps_for_any_mass(M: Floats, A: Floats) -> Floats:
    """Return a matrix whose columns have unit length in ``scaling.metric_of``."""
    with np.errstate(all="ignore"):  # the test of M takes the roots of its diagonal, whatever its sign
        found = _inverse_root(metric_of(M, A))
    assert found is not None
    return found


def _inverse_root(M: Floats) -> Floats | None:
    """Return L⁻ᵀ of the mass matrix M = LLᵀ, or None if M is not positive definite."""
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(M)).T, float)
    except np.linalg.LinAlgError:
        return None


def nearest(
    equations: Equations,
    x0: Floats,
    steps: Floats,
    names: Sequence[str],
    argument: str,
    coordinates: Floats | None = None,
) -> Floats:
    """Return the solution nearest to x0 in a metric; see ``constraint_solver.nearest_root``."""
    if not names:
        return x0
    x = nearest_root(equations, x0, steps)
    residual, jacobian = equations(x)
    # the columns of ``steps`` are those of L⁻ᵀ: M = LLᵀ is the inverse of their products
    q, M = x if coordinates is None else coordinates, np.linalg.inv(steps @ steps.T)
    # in the units of the metric, since a solution in micrometres must be as accurate as one in metres; and NaN
    # satisfies no comparison, so that it would not count as violated
    off = violated(residual, jacobian, x, q, M) | ~solves(equations, x, steps)
    if off.any():
        remaining = "; ".join(
            f"`{names[k]}` remains violated by {abs(residual[k]):.1e}" for k in map(int, np.flatnonzero(off))
        )
        raise StateError(
            f"some state near `{argument}` must satisfy the constraints; {remaining}. If they contradict one another, "
            f"`da.check(system)` names them; otherwise start from a guess nearer to them."
        )
    return x
