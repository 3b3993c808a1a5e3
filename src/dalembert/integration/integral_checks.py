# SPDX-License-Identifier: BSD-3-Clause
"""First integrals that a drift cure conserves: their initial values, and a check that the motion conserves them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.errors import InputError
from dalembert.numerics.tolerances import EXACT, TINY

LARGEST_INTEGRAL_RATE = 1e-10
"""Largest rate of change of a first integral relative to the terms of the rate: rounding of accelerations leaves less,
and a force that does work leaves more."""


def initial_values(dynamics: Dynamics, y: Floats, t: float, p: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return all parameters of a motion from a state y (2n,), with the initial values of first integrals among them.

    The last of the unreported parameters is the time scale: the ratio of the scales of coordinates and velocities, by
    which the tolerances of a run are chosen too.
    """
    native = native_of(dynamics)

    def ordered(given: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(np.asarray(given[name]) for name in dynamics.parameters)

    *names, time_scale = dynamics.unreported
    # their values are unknown as yet; the programs evaluated here do not depend on them
    p = {**p, **dict.fromkeys(names, 0.0), time_scale: 1.0}
    scales_of_q, scales_of_qd = np.split(native.start(y, t, ordered(p))[2], 2)
    found = native.first_integrals(y[None], np.array([t]), ordered(p)).value[0]
    if not np.isfinite(found).all():
        name = dynamics.integrals[int(np.argmin(np.isfinite(found)))]
        raise InputError(
            f"`conserve` must be finite at the initial state; `{name}` is not. Look for a division by zero."
        )
    p |= {time_scale: np.median(scales_of_q / scales_of_qd)}
    return ordered(p | dict(zip(names, found, strict=True)))


def refuse_changing(dynamics: Dynamics, y: Floats, t: Floats, p: Any) -> None:
    """Raise an error that names the first integral that the motion changes at any of k states y (k, 2n).

    The parameters are the same for all states, or p (k, number of parameters).
    """
    if not dynamics.integrals or not len(t):
        return
    found = native_of(dynamics).first_integrals(y, t, p)
    scale = np.asarray(p, float)[..., [dynamics.parameters.index(dynamics.unreported[-1])]]
    # at rest the terms of a rate are rounding themselves; the time scale makes a rate of the size of the integral
    allowed = LARGEST_INTEGRAL_RATE * found.rate_size + EXACT * found.size / scale
    excess = np.abs(found.rate) / (allowed + TINY)
    # NaN belongs to states beyond the domain, which the integrator reports itself
    k, i = np.unravel_index(int(np.argmax(np.where(np.isfinite(excess), excess, 0.0))), excess.shape)
    if excess[k, i] > 1:
        raise InputError(
            f"`conserve` must hold first integrals of the motion; `{dynamics.integrals[i]}` changes at the rate "
            f"{found.rate[k, i]:.3g} at t = {t[k]:.6g}. Damping, friction, drives, actuators or explicit time change "
            f"it: leave it out of `conserve`, or remove the cause."
        )
