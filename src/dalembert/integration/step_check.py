# SPDX-License-Identifier: BSD-3-Clause
"""Fixed steps that are too long for their projection: the states that they lead to are not on the constraints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.start_states import terms_of_states
from dalembert.numerics.terms import Terms
from dalembert.numerics.violation import own_size, violated

NOT_REACHED = 1e-3
"""Residual, relative to the terms of its constraint, of a state that projection has not led to the constraint. Where
it converges, the residual is below 1e-6 after the two iterations of the default; where steps are far too long, of the
order of one."""


UNFINISHED = 1e-6
"""Residual, relative to the terms of its constraint, above which the iterations of projection end before rounding."""


def projects_fixed_steps(dynamics: Dynamics, method: Method) -> bool:
    """Return whether a run consists of fixed steps that end in a projection onto constraints at position level."""
    return method.step is not None and method.drift.projections > 0 and "position" in dynamics.levels


def off_constraints(terms: Terms, q: Any, xp: Any = np) -> Any:
    """Return the constraints (k, m) at position level that projection has not reached at states q (k, n).

    ``xp`` is NumPy or ``jax.numpy``.
    """
    far = xp.abs(terms.position) > NOT_REACHED * own_size(terms.position, terms.A, q, xp)
    return far & violated(terms.position, terms.A, q, xp=xp)  # where all terms vanish, a residual is rounding


class UnfinishedProjection(NamedTuple):
    """The constraint that projection leaves furthest from rounding, and its largest residual."""

    constraint: str
    residual: float

    def note(self, method: Method) -> str:
        """Return a note on the length of the steps."""
        return (
            f"Steps of {method.step:g} are so long that projection leaves `{self.constraint}` violated by up to "
            f"{self.residual:.1e}; choose a shorter `step`, or more iterations than {method.drift.projections} by "
            f"`da.Projection(iterations=...)`."
        )


def unfinished_projection(
    dynamics: Dynamics, method: Method, y: Floats, t: Floats, p: Floats
) -> UnfinishedProjection | None:
    """Return what fixed steps are too long for, at states y (k, 2n) with times (k,) and parameters (k, P), if any."""
    if not len(y) or not projects_fixed_steps(dynamics, method) or dynamics.machine_code is None:
        return None
    terms, q = terms_of_states(dynamics, y, t, p), y[:, : y.shape[1] // 2]
    missed = np.abs(terms.position)
    far = (missed > UNFINISHED * own_size(terms.position, terms.A, q)) & violated(terms.position, terms.A, q)
    if not far.any():
        return None
    residuals = np.where(far, missed, 0.0).max(axis=0)
    worst = int(np.argmax(residuals))
    return UnfinishedProjection(dynamics.constraints[worst], float(residuals[worst]))


def first_unreached(dynamics: Dynamics, q: Floats, qd: Floats, t: Floats, p: Any) -> tuple[int, str] | None:
    """Return the first of the states q, qd (T, n) that is not on the constraints, and why; None if all are.

    Without machine code only the last state is examined: a motion that has left its constraints does not return.
    """
    first = 0 if dynamics.machine_code is not None else len(t) - 1
    y, values = np.concatenate([q, qd], axis=1)[first:], np.tile(np.asarray(p, float), (len(t) - first, 1))
    terms = terms_of_states(dynamics, y, t[first:], values)
    off = off_constraints(terms, q[first:])
    if not off.any():
        return None
    k = int(np.argmax(off.any(axis=1)))
    name, residual = dynamics.constraints[int(np.argmax(off[k]))], float(np.abs(terms.position[k][off[k]]).max())
    return first + k, f"{too_long(name, residual)}."


def too_long(name: str, residual: float) -> str:
    """Return the reason and the advice for a constraint that projection has not reached."""
    return (
        f"projection does not converge there: `{name}` is violated by {residual:.1e}. The `step` is too long; choose a "
        f"shorter one, or leave it out for adaptive steps"
    )
