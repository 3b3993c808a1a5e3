# SPDX-License-Identifier: BSD-3-Clause
"""Forces that jump to and fro from step to step, as dry friction without sticking does where a body comes to rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.state_answer import answer_at, answers_by_numpy

LEAST_PASSAGES = 8
"""Zeros of a switching function among the last steps that show chatter: a motion that crosses a jump of the forces
meets it once, and its steps grow again."""

POINTS = 33
"""States between two steps at which a switching function is evaluated."""

NEAR_ZERO = 5e-2
"""Smallest size of a function between two steps, relative to the larger one of its sizes at both, that is a zero."""


def chatter_of_forces(dynamics: Dynamics, method: Method, t: Floats, y: Floats, p: Any) -> str:
    """Return a message that names the expression at whose zero a force jumps from step to step; empty if none does.

    Times (k,) and states (k, 2n) are those of the last steps. Expressions that pass zero in many of these steps are
    the candidates; whether the acceleration jumps there is tested in the state alone, at a fixed time.
    """
    native = dynamics.machine_code
    if native is None or not answers_by_numpy(dynamics) or not np.isfinite(y).all():
        return ""
    names, values = native.switching_functions
    between = np.linspace(y[:-1], y[1:], POINTS, axis=1)
    sizes = np.abs(values(between.reshape(-1, y.shape[1]), np.repeat(t[1:], POINTS), p))
    sizes = sizes.reshape(len(t) - 1, POINTS, len(names))
    ends = np.maximum(sizes[:, 0], sizes[:, -1])
    # not by a change of sign: the square of a speed has none
    passages = sizes.min(axis=1) < NEAR_ZERO * ends
    found: list[str] = []
    for i in np.flatnonzero(passages.sum(axis=0) >= LEAST_PASSAGES):
        k = int(np.argmax(ends[:, i] * passages[:, i]))
        zero = int(np.clip(np.argmin(sizes[k, :, i]), 1, POINTS - 2))
        pairs = between[k, [0, -1]], between[k, [zero - 1, zero + 1]]
        whole, beside = (_change(dynamics, method, pair, float(t[k + 1]), p) for pair in pairs)
        # the change of a smooth acceleration would be proportional to the distance, here a sixteenth
        if whole > 0 and beside > whole / 2:
            found.append(f"`{names[i]}`")
    return _message(" and ".join(found), float(t[-1] - t[0]), len(t) - 1) if found else ""


def _change(dynamics: Dynamics, method: Method, states: Floats, t: float, p: Any) -> float:
    """Return the length of the change of the acceleration between two states (2, 2n)."""
    gains, n = method.drift.gains(), len(dynamics.coordinates)
    found = [answer_at(dynamics, y[:n], y[n:], t, p, method.formulation, gains).acceleration for y in states]
    return float(np.linalg.norm(np.asarray(found[1]) - np.asarray(found[0])))


def _message(names: str, ahead: float, steps: int) -> str:
    return (
        f"the forces must be continuous where the motion stays; where {names} vanishes, a force jumps, and the last "
        f"{steps} steps advanced time by only {ahead:.1e}. If the force is dry friction, use `da.Coulomb` on "
        f"the constraint of the contact instead, with which sticking is integrated; otherwise smooth the force."
    )
