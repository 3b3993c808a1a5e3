# SPDX-License-Identifier: BSD-3-Clause
"""Constraints of a large system that contradict one another at a state, or are too close to dependence to be solved.

Notation: A, b as in ``docs/notation.md``; W = M⁻¹.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.errors import ConstraintError
from dalembert.integration.sparse_dependencies import Dependencies, left_out
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE, DEPENDENT_SPARSE_PIVOT, EXACT, NAMED_SHARE, TINY

if TYPE_CHECKING:
    from dalembert.integration.sparse_motion import SparseSolution


LEAST_DISTANCE_OF_ROWS = 1e-9
"""Least distance of unit rows from dependence that is more than the rounding of dependencies, of up to 1e-16 / 3e-6."""

MOST_GROWTH = 1e3
"""An inconsistency of so many times the distance of rows from dependence is a contradiction, whatever the rows."""

LIMIT_OF_ROWS = f"and the limit of large systems is {np.sqrt(DEPENDENT_SPARSE_PIVOT):.0e}"


def inconsistency(code: SparseSystem, found: SparseSolution) -> float:
    """Return the part of b − A a that no acceleration can meet, relative to all of it, rows scaled to equal length."""
    rows = left_out(code)
    if not len(rows):
        return 0.0
    lengths = code.row_lengths
    left = np.zeros(code.m)
    # the rows in use are satisfied by construction, so that only those left out can be contradicted
    left[rows] = found.left[rows]
    # b − A a = (b − A q̈) + A (q̈ − a)
    whole = (found.left + code.A @ (found.acceleration - found.free_acceleration)) / lengths
    size = max(float(np.linalg.norm(whole)), TINY)
    bound = float(np.linalg.norm(left / lengths)) / size
    if bound <= CONSISTENCY_TOLERANCE:
        return bound  # its projection on the dependencies is not larger
    terms = np.abs(code.rhs) + abs(code.A) @ (np.abs(found.acceleration) + np.abs(found.free_acceleration))
    if np.linalg.norm(left / lengths) <= EXACT * np.linalg.norm(terms / lengths):
        return 0.0  # b − A a itself is hardly more than rounding, as in free fall
    return float(np.linalg.norm(Dependencies(code).part_of(left / lengths, lengths))) / size


def refuse_contradiction(dynamics: LargeDynamics, found: SparseSolution) -> None:
    """Raise an error that names constraints which contradict one another at the last factorisation."""
    code = dynamics.code
    worst = inconsistency(code, found)
    if worst <= CONSISTENCY_TOLERANCE:
        return
    shares = _unmet(code, found)
    outside = np.abs(shares)
    involved = np.argsort(-outside)[:LISTED_NAMES]
    names = quoted(dynamics.constraints[i] for i in sorted(involved[outside[involved] > NAMED_SHARE * outside.max()]))
    distance = _distance_from_dependence(code, shares, worst)
    if distance:
        raise ConstraintError(
            f"the constraints must be independent, or depend on one another exactly; {names} are nearly dependent: in "
            f"the metric of the masses, unit rows differ by {distance:.1e} from dependent ones, {LIMIT_OF_ROWS}. "
            f"Masses may differ by too many orders of magnitude, or directions of constraints by too little. State "
            f"such parts with at most 200 coordinates, or change them."
        )
    raise ConstraintError(
        f"the constraints must admit an acceleration, A q̈ = b; {names} contradict one another (inconsistency "
        f"{worst:.1e}). Remove or correct one of them."
    )


def nearly_dependent(code: SparseSystem, found: SparseSolution) -> bool:
    """Return whether constraints that cannot be satisfied are nearly dependent, and need not contradict one another."""
    worst = inconsistency(code, found)
    return worst > CONSISTENCY_TOLERANCE and _distance_from_dependence(code, _unmet(code, found), worst) > 0


def _unmet(code: SparseSystem, found: SparseSolution) -> Floats:
    """Return the part (m,) of b − A a that no acceleration can meet, in unit rows."""
    rows, lengths = left_out(code), code.row_lengths
    left = np.zeros(code.m)
    left[rows] = found.left[rows]
    return Dependencies(code).part_of(left / lengths, lengths)


def _distance_from_dependence(code: SparseSystem, shares: Floats, worst: float) -> float:
    """Return the length of a combination of unit rows of A relative to its shares (m,); zero for a contradiction.

    With the rows left out in use, accelerations of the usual size would satisfy those that are nearly dependent.
    """
    force = code.A_transposed @ (shares / code.row_lengths)
    length = float(np.sqrt(max(0.0, force @ code.mass.solve(force)))) / float(np.linalg.norm(shares))
    return length if length > max(LEAST_DISTANCE_OF_ROWS, worst / MOST_GROWTH) else 0.0
