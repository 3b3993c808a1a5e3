# SPDX-License-Identifier: BSD-3-Clause
"""Acceleration, forces and multipliers of a large system at one state, and its redundant constraints.

Notation: M, Q, A, b, C as in ``docs/notation.md``; W = M⁻¹, S = A W Aᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.levels import LEVELS
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.common.stabilisation import Gains, damping
from dalembert.equation.answer import ConstrainedMotion
from dalembert.errors import WHERE_NOT_FINITE, ConstraintError, InputError
from dalembert.integration.constrained_solution import constrained
from dalembert.integration.control_outputs import reason_unmet
from dalembert.integration.sparse_contradictions import inconsistency
from dalembert.integration.sparse_control import control_answer, control_of
from dalembert.integration.sparse_dependencies import Dependencies, shortest
from dalembert.integration.sparse_laws import (
    NO_FORCES,
    caused_by,
    law_forces,
    nonideal_sum,
    refuse_lost_reaction,
    refuse_negative_laws,
)
from dalembert.integration.sparse_masses import ADVICE, free_motion, refuse_unsuited_mass
from dalembert.native.protocol import Control
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE, TINY


class SparseSolution(NamedTuple):
    """The motion at one state; multipliers have zeros for the rows left out.

    acceleration, free_acceleration (n,)    q̈ and a = W Q, with the inertia that was added to M, if any
    multipliers (m,), ideal_force (n,)      λ of the ideal problem, and Aᵀλ
    left (m,)                               b − A q̈
    C (n,), effect (m,)                     the sum of all laws, and the multipliers that it adds: the nonideal force
                                            is C + Aᵀ effect
    force (n,)                              Q, with the force of the inputs of servo constraints
    control                                 these inputs; None without servo constraints
    """

    acceleration: Floats
    free_acceleration: Floats
    multipliers: Floats
    ideal_force: Floats
    left: Floats
    C: Floats
    effect: Floats
    force: Floats
    control: Control | None = None


def evaluated_rhs(dynamics: LargeDynamics, gains: Gains | None) -> Floats:
    """Return b of the last evaluation, with the stabilising terms of a drift cure."""
    code = dynamics.code
    b = code.rhs
    if gains is None:
        return b
    position, velocity = code.residuals
    factors = np.array([damping(level, gains) for level in LEVELS], float)[dynamics.levels]
    return b - factors[:, 0] * velocity - factors[:, 1] * position


def acceleration(dynamics: LargeDynamics, gains: Gains | None) -> Floats:
    """Return q̈ (n,) at the state of the last evaluation, whose S is factored."""
    code = dynamics.code
    if code.servos is not None:
        return solution(dynamics, gains).acceleration
    force = code.force
    if code.laws is not None and not code.laws.needs_forces:
        force = force + code.evaluate_laws(NO_FORCES, NO_FORCES, NO_FORCES)
    found, lam = _slope(code, force, evaluated_rhs(dynamics, gains))
    if code.laws is None or not code.laws.needs_forces:
        return found
    return found + caused_by(code, nonideal_sum(code, lam))[0]


def _slope(code: SparseSystem, force: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return q̈ and λ for the slope of a stage, whose tolerance is far above rounding: not refined unless needed."""
    if code.has_added_inertia:
        return constrained(code, force, b)[:2]
    a = code.mass.solve(force)
    lam, change = code.correction(b - code.A @ a)
    return a + change, lam


def solution(dynamics: LargeDynamics, gains: Gains | None = None) -> SparseSolution:
    """Return the solution at the state of the last evaluation, whose S is factored, refined once."""
    code = dynamics.code
    servos = code.evaluate_servos()
    if servos is None:
        return _under(code, code.force, evaluated_rhs(dynamics, gains))
    # a controller knows the model, and not the drift cure of the integration
    control = control_of(code, servos, free_acceleration(code))
    found = _under(code, code.force + control.force[0], evaluated_rhs(dynamics, gains))
    return found._replace(control=control)


def free_acceleration(code: SparseSystem) -> Floats:
    """Return the acceleration (n,) without inputs of servo constraints and without the terms of a drift cure."""
    return _under(code, code.force, code.rhs).acceleration


def _under(code: SparseSystem, force: Floats, b: Floats) -> SparseSolution:
    """Return the solution under an applied force, refined once."""
    a = code.mass.solve(force)
    qdd, lam, _ = constrained(code, force, b)
    C, effect = np.zeros(code.n), np.zeros(code.m)
    if code.laws is not None:
        C = nonideal_sum(code, lam)
        further, effect = caused_by(code, C)
        qdd = qdd + further
    return SparseSolution(qdd, a, lam, code.A_transposed @ lam, b - code.A @ qdd, C, effect, force)


def sparse_answer(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> ConstrainedMotion:
    """Return accelerations and forces of a large system at one state; M and A are sparse matrices."""
    code = dynamics.code
    code.evaluate(q, qd, t, numbers)
    require_valid_terms(dynamics)
    code.factor()
    found = solution(dynamics)
    refuse_negative_laws(dynamics)
    refuse_lost_reaction(dynamics, found.C, t)
    dependencies, share = Dependencies(code), inconsistency(code, found)
    if share > CONSISTENCY_TOLERANCE:
        found = _nearest_solution(code, found, dependencies)
    lam = shortest(dependencies, found.multipliers)
    free = free_motion(code, found.force)
    # Gauss's function of the ideal problem: C counts as an applied force
    loaded = free_motion(code, found.force + found.C)
    change = None if loaded is None else found.acceleration - loaded
    m, laws = code.m, law_forces(dynamics)
    answer: dict[str, Any] = {
        "acceleration": found.acceleration,
        "free_acceleration": free,
        "ideal_force": found.ideal_force,
        "nonideal_force": found.C + code.A_transposed @ found.effect,
        "multipliers": lam,
        "reactions": lam if code.laws is None else shortest(dependencies, found.multipliers + found.effect),
        "unique_multipliers": dependencies.unique(),
        "rank": np.asarray(m - len(dependencies.rows)),
        "rank_gap": np.asarray(rank_gap_of(code)),
        "inconsistency": np.asarray(share),
        "residual": np.asarray(_residual(code, found, dependencies.rows)),
        "gauss": None if change is None else np.asarray(change @ code.mass.times(change)),
        "mass_matrix": code.mass.matrix(),
        "applied_force": found.force.copy(),
        "constraint_matrix": code.A.copy(),
        "constraint_rhs": code.rhs,
        "nonideal": found.C,
        "law_nonideal": laws[0],
        "law_forces": laws[1],
        "laws": tuple(dynamics.laws),
        **control_answer(code.servos, found.control),
    }
    return ConstrainedMotion(**answer)


def _nearest_solution(code: SparseSystem, found: SparseSolution, dependencies: Dependencies) -> SparseSolution:
    """Return the motion that satisfies contradictory constraints in the sense of least squares, rows of equal length.

    Of b − A a the part that no acceleration can meet is left out.
    """
    lengths = code.row_lengths
    unmet = lengths * dependencies.part_of(found.left / lengths, lengths)
    return _under(code, found.force, code.rhs - unmet)._replace(control=found.control)


def rank_gap_of(code: SparseSystem) -> float:
    """Return the size of the last row kept over that of the largest one left out; infinite if none was."""
    if code.elimination is None or not code.elimination.left_out.any():
        return np.inf
    # pivots are squares of the sizes of rows, hence the root
    remaining, out = np.abs(code.elimination.remaining), code.elimination.left_out
    return float(np.sqrt(remaining[~out].min(initial=np.inf) / max(remaining[out].max(), TINY)))


def _residual(code: SparseSystem, found: SparseSolution, rows: Any) -> float:
    """Return the residual of M q̈ = Q + Aᵀλ and A q̈ = b relative to their terms, without the rows left out."""
    inertia, nonideal = code.mass.times(found.acceleration), found.C + code.A_transposed @ found.effect
    motion = np.abs(inertia - found.force - found.ideal_force - nonideal).max(initial=0.0)
    size = max(np.abs(x).max(initial=0.0) for x in (inertia, found.force, found.ideal_force, nonideal))
    left = found.left / code.row_lengths
    # the rows left out are judged by ``inconsistency``
    left[rows] = 0.0
    root = np.sqrt(np.abs(code.mass.diagonal))
    # in equilibrium q̈ is the rounding of what it cancels
    sizes = np.maximum(np.abs(found.acceleration), np.abs(found.free_acceleration))
    rows_size = max(float((root * sizes).max(initial=0.0)), TINY)
    return max(float(motion) / max(float(size), TINY), float(np.abs(left).max(initial=0.0)) / rows_size)


def require_valid_terms(dynamics: LargeDynamics, advice: str = ADVICE) -> None:
    """Raise an error unless the terms of the last evaluation are finite and the mass matrix is a suitable one."""
    code = dynamics.code
    mass = code.mass.diagonal
    # the diagonal shows no NaN outside of it
    inside = np.isfinite(code.mass.values).all()
    parts = {"mass_matrix": mass if inside else code.mass.times(np.ones(code.n)), "applied_force": code.force}
    for name, values in parts.items():
        off = np.flatnonzero(~np.isfinite(values))
        if len(off):
            raise InputError(_not_finite(name, [dynamics.coordinates[i] for i in off[:LISTED_NAMES]]))
    if not np.isfinite(code.terms[: code.half.start]).all():
        # a product with ones is not finite in each row with such an entry
        off = np.flatnonzero(~np.isfinite(code.A @ np.ones(code.n)) | ~np.isfinite(code.rhs))
        raise InputError(_not_finite("constraint_matrix", [dynamics.constraints[i] for i in off[:LISTED_NAMES]]))
    refuse_unsuited_mass(dynamics, advice)


def _not_finite(name: str, owners: Sequence[str]) -> str:
    return f"`{name}` must be finite at this state; that of {quoted(owners)} is not. {WHERE_NOT_FINITE}"


def refuse_unmet_servos(dynamics: LargeDynamics, found: SparseSolution, t: float) -> None:
    """Raise an error that names the servo constraints that no inputs can meet at a state."""
    servos = dynamics.code.servos
    if servos is None or found.control is None:
        return
    layout = servos.layout
    # a rate that is negative would let errors grow, which a run shows late
    if (servos.rates < 0).any():
        names = [name for name, rows in layout.servos.items() if (servos.rates[list(rows)] < 0).any()]
        raise InputError(
            f"`settle` of servo {quoted(names)} must not be negative, or errors grow; got {servos.rates.min():g}."
        )
    limits = servos.limits[layout.constant]
    if (limits <= 0).any():
        names = [layout.actuators[i] for i in layout.constant[limits <= 0]]
        raise InputError(f"`limit` of actuator {quoted(names)} must be positive; got zero or less.")
    reason = reason_unmet(found.control, layout.servos, layout.actuators, t)
    if reason:
        raise ConstraintError(reason)
