# SPDX-License-Identifier: BSD-3-Clause
"""Redundant constraints: notes on them for a run, and a check that they stay redundant under drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import all_true
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import ConstraintError, StateError
from dalembert.integration.drift import Drift
from dalembert.integration.start_states import nearest_state, terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.model.ordering import quoted
from dalembert.numerics.linear_algebra import independent_rows
from dalembert.numerics.mass import own_units
from dalembert.numerics.tolerances import EXACT
from dalembert.numerics.violation import own_size

DISPLACEMENT = 1e-2
"""Relative displacement off the constraints at which their rank is compared: large enough for rows that become
independent to be found so, far above ``RANK_TOLERANCE``."""


def refuse_fragile_rows(dynamics: Dynamics, drift: Drift, q0: Any, qd0: Any, t0: Any, p: Any) -> None:
    """Raise if drift would make constraints independent that are redundant only where they hold.

    Slightly off the constraints such rows are almost dependent, and together imply arbitrarily large accelerations.
    """
    if drift.projections or len(dynamics.constraints) < 2:
        return
    # from a state on the constraints: off them such rows are independent already
    q, qd = _on_constraints(dynamics, q0, qd0, t0, p)
    # random directions: along a particular one the rows may stay dependent
    steps = DISPLACEMENT * np.maximum(1.0, np.abs(q)) * np.random.default_rng(25).normal(size=(4, len(q)))
    rows = [independent_rows(_scaled_rows(terms_at(dynamics, x, qd, t0, p))) for x in (q, *(q + steps))]
    here, off = rows[0], max(rows, key=len)
    if len(off) > len(here):
        names = quoted(dynamics.constraints[i] for i in off if i not in here)
        raise ConstraintError(
            f"constraints that are redundant only where they hold must be kept there; {names} would drift off under "
            f"this `drift`. Pass `drift=da.Projection()`, or leave the redundant ones out."
        )


def _on_constraints(dynamics: Dynamics, q0: Any, qd0: Any, t0: Any, p: Any) -> tuple[Any, Any]:
    """Return the start, or the nearest consistent state if it violates the constraints and there is one."""
    terms = terms_at(dynamics, q0, qd0, t0, p)
    miss = np.abs(np.asarray(terms.position))
    if (miss <= EXACT * own_size(terms.position, terms.A, q0)).all():
        return q0, qd0
    try:
        return nearest_state(dynamics, q0, qd0, t0, p, "any mass")
    except StateError:
        return q0, qd0


def _scaled_rows(terms: Terms) -> Any:
    """Return A (m, n) scaled by the masses, so that the rank does not depend on the units of the coordinates."""
    return np.asarray(terms.A) / own_units(np.asarray(terms.M))


MOST_NOTES = 5
"""Largest number of changes of rank that are described in notes."""


def redundancies(dynamics: Dynamics, found: Trajectory, p: Any) -> list[str]:
    """Return notes on the redundant constraints at the start and at each output where the rank has changed."""
    rank = found.rank
    if all_true(rank == len(found.constraints)):
        return []
    notes: list[str] = []
    for k in [0, *(np.flatnonzero(np.diff(rank)) + 1)][:MOST_NOTES]:
        A = _scaled_rows(terms_at(dynamics, found.q[k], found.qd[k], found.t[k], p))
        kept = independent_rows(A)
        names = quoted(name for i, name in enumerate(found.constraints) if i not in kept)
        redundant = f"redundant: {names}" if names else "none is redundant"
        notes.append(f"At t = {found.t[k]:.6g} the constraints have rank {rank[k]} of {len(A)}; {redundant}.")
    return notes
