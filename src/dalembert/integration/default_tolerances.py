# SPDX-License-Identifier: BSD-3-Clause
"""Absolute tolerances that follow the scales of a problem, where the user gives none."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.start_states import terms_at
from dalembert.numerics.violation import state_scales

USUAL_RTOL = 1e-9
"""The default relative tolerance of the error per step."""

USUAL_ATOL = 1e-11
"""The absolute tolerance of coordinates and velocities of the order of one."""

RESOLVED_MULTIPLE = 1e3
"""A motion whose coordinates all stay below this multiple of their absolute tolerances is not resolved by these."""


def with_tolerances(dynamics: Dynamics, method: Method, q0: Floats, qd0: Floats, t0: Any, p: Any) -> Method:
    """Return the method with an absolute tolerance for every component of the state, unless the user set one."""
    return method if method.atol is not None else method.with_atol(usual_atol(dynamics, q0, qd0, t0, p))


def usual_atol(dynamics: Dynamics, q0: Floats, qd0: Floats, t0: Any, p: Any) -> Floats:
    """Return the absolute tolerances (2n,) of a motion from a state, by the scales of the state."""
    native = dynamics.machine_code
    if native is not None:
        # computed in the same call that checks the start, whose result is cached
        return USUAL_ATOL * native.start(np.concatenate([q0, qd0]), float(t0), p)[2]
    terms = terms_at(dynamics, q0, qd0, t0, p)
    return USUAL_ATOL * state_scales(terms.M, terms.Q, q0, qd0)


def coarse_notes(method: Method, q: Floats) -> list[str]:
    """Return a note if a motion q (T, n) is hardly larger than its absolute tolerances."""
    if method.step is not None:
        return []
    atol = method.largest_atol
    if (
        max(map(abs, q[-1].tolist()), default=0.0) > RESOLVED_MULTIPLE * atol
    ):  # most motions, in less time than by all states
        return []
    largest = np.abs(q).max(initial=0.0)
    if largest > RESOLVED_MULTIPLE * atol or not largest > 0:
        return []
    return [
        f"The coordinates stay below {largest:.1e}, which the absolute tolerance {atol:.1e} hardly "
        f"resolves: pass a smaller `atol`."
    ]
