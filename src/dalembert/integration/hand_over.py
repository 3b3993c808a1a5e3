# SPDX-License-Identifier: BSD-3-Clause
"""Decisions on handing over to the general integrator when the compiled one takes no step.

The general integrator keeps more digits at singular configurations. Everywhere else it would fail as well, after
seconds of compilation. These functions find the cause of such a failure beforehand, with NumPy at a single state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats, vector_of
from dalembert.equation.answer_checks import require_positive
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.factored import Factored
from dalembert.equation.implicit_laws import is_unique
from dalembert.errors import WHERE_NOT_FINITE, MassMatrixError
from dalembert.integration.control_outputs import unmet
from dalembert.integration.method import Method
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.row_selection import in_mass_metric
from dalembert.integration.start_states import terms_at
from dalembert.integration.state_answer import answer_at, answers_by_numpy, trouble_at
from dalembert.native.elimination import CLEARLY_INDEPENDENT, CLEARLY_POSITIVE
from dalembert.numerics.mass import in_units, own_units
from dalembert.numerics.violation import START_TOLERANCE, own_size

PIVOT_MARGIN = 10.0
"""Factor by which the pivots at a state must exceed the limits of the compiled integrator to be well conditioned."""

EXAMINED_TIMES_AHEAD = (1e-12, 1e-9, 1e-6)
"""Times ahead at which the equations are examined, relative to the time integrated so far."""

LEAST_EIGENVALUE = PIVOT_MARGIN * CLEARLY_POSITIVE
"""Smallest eigenvalue of M, scaled to a unit diagonal, below which the compiled integrator may hand over."""

SAMPLES, REFINEMENTS_AHEAD = 33, 5
"""Times at which the smallest eigenvalue is evaluated ahead of a state, and how often they are placed anew around the
smallest: to a millionth of the time to it."""


def is_stuck(dynamics: Dynamics, native: NativeSteps, y: Floats, t: float, so_far: float) -> bool:
    """Return whether no integrator can take a step: no step is short enough although M and A are well conditioned.

    The equations are examined just ahead of the state too, since a row that is about to vanish still has a direction.
    There they must be well conditioned as well, or have no solution at all.
    """
    q, qd = np.split(y, 2)
    if _singular_mass_ahead(dynamics, y, t, so_far, native.p):
        return True
    # along the tangent: the distances are so short that accelerations do not matter
    for ahead in (0.0, *(part * so_far for part in EXAMINED_TIMES_AHEAD)):
        state, time = np.concatenate([q + ahead * qd, qd]), t + ahead
        if not np.isfinite(state).all():
            return False
        terms = terms_at(dynamics, q + ahead * qd, qd, time, native.p)
        if _without_solution(terms):
            return True
        if not native.accepts(state, time) or not _well_conditioned(native, terms):
            return False
    return True


def trouble_ahead(dynamics: Dynamics, y: Floats, t: float, so_far: float, p: Any) -> str:
    """Return a message on what invalidates the equations just ahead of a state; empty if nothing does."""
    q, qd = np.split(y, 2)
    if not answers_by_numpy(dynamics) or not np.isfinite(y).all():
        return ""
    for ahead in (part * so_far for part in EXAMINED_TIMES_AHEAD):
        there = q + ahead * qd
        reason = unmet(dynamics, there, qd, t + ahead, p) or _without_solution(
            terms_at(dynamics, there, qd, t + ahead, p)
        )
        if reason:
            return f"just ahead {reason}"
    reason = _singular_mass_ahead(dynamics, y, t, so_far, p)
    return f"just ahead {reason}" if reason else ""


def _singular_mass_ahead(dynamics: Dynamics, y: Floats, t: float, so_far: float, p: Any) -> str:
    """Return a message if M, nearly singular at a state, becomes singular just ahead of it; else an empty one.

    M may touch zero without changing its sign, so its smallest eigenvalue is minimised along the parabola on which the
    motion continues.
    """
    q, qd = np.split(y, 2)
    native = dynamics.machine_code
    if (
        native is None
        or not np.isfinite(y).all()
        or _smallest_eigenvalue(native.terms(q, qd, t, p)[0]) > LEAST_EIGENVALUE
    ):
        return ""
    with np.errstate(all="ignore"):
        a = np.asarray(answer_at(dynamics, q, qd, t, p, Factored()).acceleration)
    # geometrically, since the distance of the singularity is not known by orders of magnitude
    ahead, values = so_far * np.geomspace(EXAMINED_TIMES_AHEAD[0], EXAMINED_TIMES_AHEAD[-1], SAMPLES), vector_of(p)
    for _ in range(REFINEMENTS_AHEAD):
        h = ahead[:, None]
        states = np.concatenate([q + h * qd + h**2 / 2 * a, np.broadcast_to(qd, (len(h), len(qd)))], axis=1)
        masses = native.terms_of_many(states, t + ahead, np.broadcast_to(values, (len(h), len(values))))[0]
        if not np.isfinite(masses).all():
            return ""
        k = int(np.argmin([_smallest_eigenvalue(M) for M in masses]))
        try:
            require_positive(masses[k])
        except MassMatrixError as error:
            return str(error)
        ahead = np.linspace(ahead[max(k - 1, 0)], ahead[min(k + 1, SAMPLES - 1)], SAMPLES)
    return ""


def _smallest_eigenvalue(M: Floats) -> float:
    """Return the smallest eigenvalue of M scaled to a unit diagonal."""
    return float(np.linalg.eigvalsh(in_units(M, own_units(M)))[0])


def _without_solution(terms: Terms) -> str:
    """Return why the equations have no solution whatever the constraints are; empty if they have one."""
    for name, values in zip(
        ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs"), terms, strict=False
    ):
        if not np.isfinite(np.asarray(values)).all():
            return f"`{name}` is not finite. {WHERE_NOT_FINITE}"
    try:
        require_positive(np.asarray(terms.M))
    except MassMatrixError as error:
        return str(error)
    return ""


def has_no_answer(dynamics: Dynamics, method: Method, y: Floats, t: float, p: Any) -> bool:
    """Return whether a state has no valid acceleration, so that no integrator can take a step from it."""
    if not answers_by_numpy(dynamics) or not np.isfinite(y).all():
        return False
    q, qd = np.split(y, 2)
    answer = answer_at(dynamics, q, qd, t, p, method.formulation)
    if answer.normals is not None and np.asarray(answer.normals.solutions) != 1:
        return True
    if answer.implicit is not None and not is_unique(answer.implicit):
        return True
    return bool(trouble_at(dynamics, answer, method.formulation))


def _well_conditioned(native: NativeSteps, terms: Terms) -> bool:
    """Return whether M and the rows in use are far from singular."""
    M, A = np.asarray(terms.M), np.asarray(terms.A)[list(native.rows)]
    if _smallest_eigenvalue(M) < LEAST_EIGENVALUE:
        return False
    B = in_mass_metric(M, A)
    lengths = np.linalg.norm(B, axis=1)
    if not len(B) or not (lengths > 0).all():
        return not len(B)
    # the square of the smallest singular value is a lower bound of the pivots that the compiled integrator checks
    smallest = np.linalg.svd(B / lengths[:, None], compute_uv=False)[-1]
    return bool(smallest**2 > PIVOT_MARGIN * CLEARLY_INDEPENDENT)


DISTANCES_AHEAD = 10.0 ** np.arange(-6, 1)
"""Times ahead at which the constraints are tested for a common solution, in units of the usual step."""

BISECTIONS = 16
"""Bisections that locate the last time with a common solution: to five digits of the interval."""

ITERATIONS, INITIAL_DAMPING = 200, 1e-3
"""Most iterations of the Levenberg–Marquardt method, and its initial damping relative to the trace of JᵀJ."""

SMALL_GAIN = 1e-3
"""Relative decrease of the residuals per iteration below which a stationary point counts as the minimum."""

STATIONARY_GRADIENT = 1e-3
"""A point is stationary when the gradient is less than this fraction of |J| |r|, its size at a general point."""

NAMED_RESIDUAL = 1e-2
"""Constraints whose residual exceeds this fraction of the largest one are named as excluding each other."""


class _Compromise(NamedTuple):
    """Coordinates (n,) with the smallest residuals (k,) of the constraints, and whether they solve the constraints or
    are a stationary point of the residuals."""

    q: Floats
    residual: Floats
    is_solution: bool
    is_stationary: bool


def excluded_ahead(dynamics: Dynamics, native: NativeSteps, y: Floats, t: float, usual: float, end: float) -> str:
    """Return a message that names constraints without a common solution just ahead of a state; empty if there are none.

    A prescribed motion can leave the reach of a mechanism: then no coordinates satisfy all constraints any more.
    ``usual`` is the length of the previous steps.
    """
    rows, p = [k for k in native.rows if dynamics.levels[k] == "position"], native.p
    q, qd = np.split(y, 2)
    now, later = (np.asarray(terms_at(dynamics, q, qd, s, p).position) for s in (t, t + usual))
    # only constraints that depend on time explicitly can lose their common solution
    if len(rows) < 2 or not np.isfinite(y).all() or np.array_equal(now, later):
        return ""
    possible = t
    for ahead in DISTANCES_AHEAD * usual:
        if t + ahead > end:
            break
        found = _compromise(dynamics, q, qd, t + ahead, p, rows)
        if found.is_solution:
            possible, q = t + ahead, found.q
            continue
        if not found.is_stationary:
            continue  # close to the limit the search converges slowly; farther ahead it tells
        limit = _last_possible(dynamics, q, qd, (possible, t + ahead), p, rows)
        large = np.abs(found.residual) > NAMED_RESIDUAL * np.abs(found.residual).max()
        names = [f"`{dynamics.constraints[rows[k]]}`" for k in np.flatnonzero(large)]
        return (
            f"{' and '.join(names)} must be possible together; beyond t = {limit:.6g} they exclude each other: no "
            f"nearby coordinates satisfy them. Change one of them, or end the motion before; `da.check(system)` "
            f"names the constraints that conflict."
        )
    return ""


def _last_possible(
    dynamics: Dynamics, q: Floats, qd: Floats, between: tuple[float, float], p: Any, rows: list[int]
) -> float:
    """Return the last time in an interval at which the constraints have a common solution, by bisection."""
    early, late = between
    for _ in range(BISECTIONS):
        middle = (early + late) / 2
        found = _compromise(dynamics, q, qd, middle, p, rows)
        early, late = (middle, late) if found.is_solution else (early, middle)
    return early


def _compromise(dynamics: Dynamics, q: Floats, qd: Floats, t: float, p: Any, rows: list[int]) -> _Compromise:
    """Minimise the residuals at position level from given coordinates by the Levenberg–Marquardt method.

    Coordinates are measured in units of the masses and residuals along their gradients, so that the result does not
    depend on the user's units.
    """
    start = terms_at(dynamics, q, qd, t, p)
    unit = own_units(np.asarray(start.M))
    lengths = np.linalg.norm(np.asarray(start.A)[rows] / unit, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)

    def at(q: Floats) -> tuple[Floats, Floats]:
        terms = terms_at(dynamics, q, qd, t, p)
        return np.asarray(terms.position)[rows] / lengths, np.asarray(terms.A)[rows] / unit / lengths[:, None]

    damping, (r, J) = INITIAL_DAMPING, at(q)
    allowed = START_TOLERANCE * own_size(r, J, q * unit)
    for _ in range(ITERATIONS):
        if (np.abs(r) <= allowed).all():
            return _Compromise(q, r, True, True)
        normal, gradient = J.T @ J, J.T @ r
        stationary = np.linalg.norm(gradient) <= STATIONARY_GRADIENT * np.linalg.norm(J) * np.linalg.norm(r)
        # damping by the trace, so that it follows the size of the gradients
        step = np.linalg.solve(normal + damping * np.trace(normal) * np.eye(len(q)), gradient)
        r_new, J_new = at(q - step / unit)
        gain = 1 - np.linalg.norm(r_new) / np.linalg.norm(r)
        # the residuals decrease no further: the constraints have no common solution nearby
        if stationary and gain < SMALL_GAIN:
            return _Compromise(q, r, False, True)
        if gain > 0:
            q, r, J, damping = q - step / unit, r_new, J_new, damping / 10
        else:
            damping *= 10
    return _Compromise(q, r, False, False)
