# SPDX-License-Identifier: BSD-3-Clause
"""Existence and uniqueness of the normal forces under friction (Painlevé's paradox), and the errors raised.

Notation: u − G |u| = u₀ for the normal forces u of the contacts whose friction depends on the actual reaction. Column j
of G is proportional to the coefficient of friction of contact j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, all_finite
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.implicit_laws import LARGEST_REACTION_RESIDUAL, is_unique
from dalembert.equation.reaction import UNKNOWN_COUNT, Normals, can_enumerate, signs
from dalembert.errors import ConstraintError, PainleveError, undetermined
from dalembert.numerics.tolerances import EXACT

REAL_EIGENVALUE = EXACT
"""Eigenvalues with a smaller imaginary part are real; those of a critical matrix are of order one."""


def refuse_undetermined(dynamics: Dynamics, answer: ConstrainedMotion) -> None:
    """Raise an error if a law uses a multiplier that redundant constraints leave undetermined."""
    unique = np.asarray(answer.unique_multipliers)
    off = [dynamics.constraints[k] for k in dynamics.law_multipliers if not unique[k]]
    if off:
        raise ConstraintError(undetermined(", ".join(f"`{name}`" for name in off)))


def refuse_paradox(
    dynamics: Dynamics,
    answer: ConstrainedMotion,
    q: Any,
    qd: Any,
    t: Any,
    *,
    margin: float = 0.0,
    trajectory: Any = None,
) -> None:
    """Raise an error if the normal forces have no solution or several, or if friction is within a relative margin of
    the critical coefficient; likewise for other laws of the actual reaction."""
    _refuse_lost_reaction(dynamics, answer, q, qd, t, margin, trajectory)
    if answer.normals is None or not all_finite(answer.normals.coupling):
        return
    normals: Any = answer.normals._replace(mu=np.asarray(answer.normals.mu))
    critical = critical_coefficients(normals, dynamics.pressing)
    # contacts without friction cannot become critical
    with np.errstate(divide="ignore"):
        ratio = np.where(normals.mu > 0, critical / np.where(normals.mu > 0, normals.mu, 1.0), np.inf)
    worst = int(np.argmin(ratio))
    if normals.solutions == 1 and not ratio[worst] <= 1 + margin:
        return
    constraint, law = dynamics.laws[dynamics.contacts[worst]]
    name = constraint or law
    state = dict(zip(dynamics.coordinates, map(float, q), strict=True))
    where = ", ".join(f"{key} = {value:.6g}" for key, value in state.items())
    descriptions = {
        0: "there is none",
        1: "it is about to be lost",
        UNKNOWN_COUNT: "it cannot be guaranteed that there is one only",
    }
    found = descriptions.get(int(normals.solutions), f"there are {normals.solutions}")
    raise PainleveError(
        f"friction must leave one reaction possible; at t = {float(t):.6g}, where {where}, {found} (Painlevé's "
        f"paradox): the coefficient of `{name}` is {normals.mu[worst]:.6g}, critical there is {critical[worst]:.6g}. "
        f'Lower it, use `normal="ideal"`, or let the motion end before.',
        constraint=name,
        critical_mu=float(critical[worst]),
        state={"q": np.asarray(q, float), "qd": np.asarray(qd, float), "t": float(t)},
        trajectory=trajectory,
    )


def _refuse_lost_reaction(
    dynamics: Dynamics, answer: ConstrainedMotion, q: Any, qd: Any, t: Any, margin: float, trajectory: Any
) -> None:
    """Raise an error if laws of the actual reaction leave none, or one that is not unique nearby."""
    found = answer.implicit
    finite = all_finite(answer.ideal_force)
    if found is None or not finite or (is_unique(found) and float(found.determinant) > margin):
        return
    names = ", ".join(f"`{constraint or law}`" for constraint, law in dynamics.laws)
    where = ", ".join(f"{key} = {value:.6g}" for key, value in zip(dynamics.coordinates, map(float, q), strict=True))
    reason = (
        f"the determinant of the derivative of their equations must be positive; it is {float(found.determinant):.3g}"
        if float(found.residual) <= LARGEST_REACTION_RESIDUAL
        else f"Newton's method finds none; its residual is {float(found.residual):.1e}"
    )
    raise PainleveError(
        f"laws of the actual reaction must leave one reaction possible; at t = {float(t):.6g}, where {where}, {reason}."
        f" Look at the laws of {names}: make them depend less on `da.reaction`, or use `da.multiplier`.",
        constraint=next((constraint or law for constraint, law in dynamics.laws), ""),
        critical_mu=np.nan,
        state={"q": np.asarray(q, float), "qd": np.asarray(qd, float), "t": float(t)},
        trajectory=trajectory,
    )


def critical_coefficients(normals: Normals, pressing: Sequence[bool] = ()) -> Floats:
    """Return the critical coefficient of each contact, at which the reaction ceases to exist or to be unique.

    The other coefficients are fixed. With column j of G multiplied by s, det(I − G diag σ) is linear in s; the smallest
    root over all signs σ is the critical s. If no single contact is responsible, or there are many contacts, all
    coefficients are scaled together.
    """
    G = np.asarray(normals.coupling)
    pressing = tuple(pressing) or (False,) * len(G)
    # the coupling of many contacts has no negative entries, so that positive signs have the largest eigenvalue
    sigmas = signs(len(G), pressing) if can_enumerate(pressing) else np.ones((1, len(G)))
    if not can_enumerate(pressing):
        return _common_factor(G, sigmas) * np.asarray(normals.mu)
    factors = np.array([_critical_factor(G, j, sigmas) for j in range(len(G))])
    if not (factors <= 1).any() and normals.solutions != 1:
        factors[:] = _common_factor(G, sigmas)
    mu = np.asarray(normals.mu)
    # a contact without friction has no finite factor
    return np.where(mu != 0, factors * np.where(mu != 0, mu, 1.0), np.inf)


def _critical_factor(G: Floats, j: int, sigmas: Floats) -> float:
    """Return the factor of coefficient j, with the others fixed, at which a determinant vanishes."""
    without = G.copy()
    without[:, j] = 0
    factors = [np.inf]
    for sigma in sigmas:
        before, now = (float(np.linalg.det(np.eye(len(G)) - matrix * sigma)) for matrix in (without, G))
        if before <= 0:
            return np.inf  # the other contacts alone are beyond the limit
        # linear in s, ``before`` at s = 0 and ``now`` at s = 1: a positive root exists only if it falls
        if before > now:
            factors.append(before / (before - now))
    return min(factors)


def _common_factor(G: Floats, sigmas: Floats) -> float:
    """Return the common factor of all coefficients at which a determinant vanishes."""
    # det(I − s G diag σ) vanishes at the reciprocal of each positive eigenvalue
    values: Any = np.concatenate([np.linalg.eigvals(G * sigma) for sigma in sigmas])
    real = values.real[(np.abs(values.imag) < REAL_EIGENVALUE) & (values.real > 0)]
    return float(1 / real.max()) if len(real) else np.inf
