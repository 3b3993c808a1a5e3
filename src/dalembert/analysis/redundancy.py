# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that follow from others: what a run says of them, and where they must not be left to drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import ConstraintError, StateError
from dalembert.integration.drift import Drift
from dalembert.integration.start_states import nearest_state, terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.linear_algebra import independent_rows
from dalembert.mass import own_units
from dalembert.model.ordering import quoted
from dalembert.violation import own_size


def refuse_fragile_rows(dynamics: Dynamics, drift: Drift, q0: Any, qd0: Any, t0: Any, p: Any) -> None:
    """Raise if constraints that are redundant only where they hold would be left to drift off.

    A little off the constraints such rows are independent, by very little, and ask for wild accelerations.
    """
    if drift.projections or len(dynamics.constraints) < 2:
        return
    q, qd = _on_constraints(dynamics, q0, qd0, t0, p)
    steps = 1e-2 * np.maximum(1.0, np.abs(q)) * np.random.default_rng(25).normal(size=(4, len(q)))
    rows = [independent_rows(_own_rows(terms_at(dynamics, x, qd, t0, p))) for x in (q, *(q + steps))]
    here, off = rows[0], max(rows, key=len)
    if len(off) > len(here):
        names = quoted(dynamics.constraints[i] for i in off if i not in here)
        raise ConstraintError(
            f"constraints that are redundant only where they hold must be kept there; {names} would drift off under "
            f"this `drift`. Pass `drift=da.Projection()`, or leave the redundant ones out."
        )


def _on_constraints(dynamics: Dynamics, q0: Any, qd0: Any, t0: Any, p: Any) -> tuple[Any, Any]:
    """The start, or the nearest state on the constraints if it is off them and there is one."""
    terms = terms_at(dynamics, q0, qd0, t0, p)
    miss = np.abs(np.asarray(terms.position))
    if (miss <= ROUNDING * own_size(terms.position, terms.A, q0)).all():
        return q0, qd0
    try:
        return nearest_state(dynamics, q0, qd0, t0, p, euclidean=True)  # any state near by will do
    except StateError:
        return q0, qd0


ROUNDING = 1e-12
"""How far a start on the constraints misses them, as a fraction of their own terms."""


def _own_rows(terms: Terms) -> Any:
    """A (m, n) with each coordinate in its own unit, by the masses: units must not decide about a rank."""
    return np.asarray(terms.A) / own_units(np.asarray(terms.M))


MOST_NOTES = 5
"""Changes of rank that are described one by one."""


def redundancies(dynamics: Dynamics, found: Trajectory, p: Any) -> list[str]:
    """Which constraints are redundant, at the start and wherever the rank has changed since the output before."""
    rank = found.rank
    if (rank == len(found.constraints)).all():
        return []
    notes: list[str] = []
    for k in [0, *(np.flatnonzero(np.diff(rank)) + 1)][:MOST_NOTES]:
        A = _own_rows(terms_at(dynamics, found.q[k], found.qd[k], found.t[k], p))
        kept = independent_rows(A)
        names = quoted(name for i, name in enumerate(found.constraints) if i not in kept)
        said = f"redundant: {names}" if names else "none is redundant"
        notes.append(f"At t = {found.t[k]:.6g} the constraints have rank {rank[k]} of {len(A)}; {said}.")
    return notes
