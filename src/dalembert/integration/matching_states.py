# SPDX-License-Identifier: BSD-3-Clause
"""The nearest state from which the errors of all servo constraints are zero from the beginning."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.errors import StateError
from dalembert.integration.start_states import Metric, State, nearest, terms_at, unit_steps
from dalembert.numerics.violation import state_scales


def matching_state(dynamics: Dynamics, q0: Floats, qd0: Floats, t: Any, p: Any, metric: Metric = "mass") -> State:
    """Return the state nearest to (q0, qd0) that satisfies the constraints and all requirements of servo constraints.

    Positions are found first, then velocities, as for constraints. If inputs act only on higher derivatives of a
    requirement, these restrict positions and velocities together, and both are found at once: a difference of
    velocities then counts as much as one of positions during the time in which the motion crosses its own size.
    """
    native, n = native_of(dynamics), len(q0)
    found = native.state_equations
    names = (*(dynamics.constraints[k] for k in found.constraints), *found.requirements)
    levels = np.array(found.levels)

    def equations(rows: Any, columns: slice, state: Any) -> Any:
        def at(x: Floats) -> tuple[Floats, Floats]:
            residuals, slopes = found.at(state(x), float(t), p)
            return residuals[rows], slopes[rows, columns]

        return at, [names[k] for k in np.flatnonzero(rows)]

    _require_finite(*found.at(np.concatenate([q0, qd0]), float(t), p), names)
    steps = unit_steps(dynamics, q0, qd0, t, p, metric)
    if "both" in found.levels:
        everything = equations(np.full(len(levels), True), slice(0, 2 * n), lambda y: y)
        rate = _rate(dynamics, q0, qd0, t, p)
        jointly = np.block([[steps / rate, np.zeros((n, n))], [np.zeros((n, n)), steps]])
        y = nearest(everything[0], np.concatenate([q0, qd0]), jointly, everything[1], "(q0, qd0)")
        return State(y[:n], y[n:])
    positions, own = equations(levels == "position", slice(0, n), lambda q: np.concatenate([q, qd0]))
    q = nearest(positions, q0, steps, own, "q0")
    velocities, own = equations(levels == "velocity", slice(n, 2 * n), lambda qd: np.concatenate([q, qd]))
    return State(q, nearest(velocities, qd0, unit_steps(dynamics, q, qd0, t, p, metric), own, "qd0", q))


def _rate(dynamics: Dynamics, q: Floats, qd: Floats, t: Any, p: Any) -> float:
    """Return the rate of the motion: the scale of its velocities over that of its positions."""
    terms = terms_at(dynamics, q, qd, t, p)
    # where no inputs meet the requirements, the force is not finite
    scales = state_scales(terms.M, np.nan_to_num(terms.Q), q, qd)
    return float((scales[len(q) :] / scales[: len(q)]).min())


def _require_finite(residuals: Floats, slopes: Floats, names: tuple[str, ...]) -> None:
    """Raise an error that names the equations that are not finite at the given state."""
    off = ~(np.isfinite(residuals) & np.isfinite(slopes).all(axis=1))
    if off.any():
        infinite = ", ".join(dict.fromkeys(f"`{names[k]}`" for k in np.flatnonzero(off)))
        raise StateError(
            f"requirements and their derivatives must be finite at `q0` and `qd0`; {infinite} is not. Start from "
            f"another guess."
        )
