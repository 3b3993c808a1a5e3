# SPDX-License-Identifier: BSD-3-Clause
"""Jumps of velocities and positions that constraints and surfaces prescribe, where contacts open and close."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError
from dalembert.hybrid.gaps import TOUCHING, Gaps
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impulses import response
from dalembert.integration.abrupt_changes import jumped_rows, position_jump

PULLS = 1e-12
"""Impulse, relative to the largest one, whose sign is rounding."""


def jumped_velocities(
    model: ContactTerms, y: Floats, between: tuple[float, float], equations: Collection[str], closed: Collection[str]
) -> dict[str, float]:
    """Return the jumps of the velocities that equations prescribe between two neighbouring times, by name.

    Raises
    ------
    ConstraintError    if a position jumps: of an equation, of the surface of a closed contact, or of a surface that
                       would penetrate a body
    """
    q, qd = np.split(y, 2)
    dynamics = model.dynamics
    values = tuple(np.asarray(model.p[name], float) for name in dynamics.parameters)
    found = jumped_rows(dynamics, q, qd, *between, values)
    gaps = Gaps.at(model, y, between[1], equations)
    deep = [name for name in model.one_sided if gaps.gap[model.row(name)] < -TOUCHING * gaps.size[model.row(name)]]
    moved = {name: size for name, size in found["position"].items() if name in {*equations, *closed, *deep}}
    if moved:
        raise ConstraintError(position_jump(moved, between[1]))
    return {name: size for name, size in found["velocity"].items() if name in equations}


def pulling(
    model: ContactTerms, y: Floats, t: float, active: Collection[str], signs: Mapping[str, int]
) -> frozenset[str]:
    """Return the constraints that a jump releases: those whose impulse would have the sign opposite to their force."""
    terms, found = model.at(y, t), frozenset[str]()
    inverse = model.inverse_mass(terms, t)
    while True:
        names = [name for name in model.system.constraint_names if name in active and name not in found]
        rows = [model.row(name) for name in names]
        A = terms.A[rows]
        change = -response(A, inverse) @ terms.velocity[rows]
        # the least ones: those of redundant constraints are not unique
        impulses = np.linalg.lstsq(A.T, terms.M @ change)[0] if rows else np.zeros(0)
        largest = np.abs(impulses).max(initial=0.0)
        pulled = {name: signs[name] * float(x) for name, x in zip(names, impulses, strict=True) if name in signs}
        worst = min(pulled, key=lambda name: pulled[name], default=None)
        # one at a time: the impulses of the others change with it
        if worst is None or pulled[worst] >= -PULLS * largest:
            return found
        found |= {worst}
