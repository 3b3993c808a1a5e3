# SPDX-License-Identifier: BSD-3-Clause
"""Inputs whose effect depends on time: by the requirement, the actuators, the masses, the constraints or the cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
x, y = da.coordinates("x y")


def _system(
    requirement: Any = x + y,
    *,
    mass: Any = 1,
    direction: Any = None,
    cost: Any = None,
    constraints: tuple[Any, ...] = (),
) -> da.System:
    by = (da.Actuator("u", x), da.Actuator("w", {y: 1} if direction is None else {y: direction}))
    servo = da.Servo("s", requirement - 1, by=by, settle=4, cost=cost)
    return da.System((x, y), sp.diag(1, mass), (0, 0), constraints=constraints, servos=servo)


IN_TIME = {
    "gradient": lambda: _system(x * sp.cos(t) + y * sp.sin(t)),
    "direction": lambda: _system(direction=2 + sp.cos(t)),
    "mass": lambda: _system(mass=2 + sp.cos(t)),
    "cost": lambda: _system(cost=[[1 + t**2, 0], [0, 1]]),
    "constraint": lambda: _system(constraints=(da.Constraint(x * sp.sin(t) - y * (1 + t), "guide"),)),
}


@pytest.mark.parametrize("name", IN_TIME)
@pytest.mark.parametrize("controlled", [False, True])
def test_the_effect_of_inputs_may_depend_on_time(name: str, controlled: bool) -> None:
    system = IN_TIME[name]()
    times, rate = np.linspace(0, 1, 6), 4.0
    control = da.controller(system) if controlled else None
    start = da.consistent_state(system, (0.1, 0.1), (0, 0))
    run = da.simulate(system, *start, times, control=control)
    # β̈ + 2ω β̇ + ω² β = 0, so that β = (β₀ + (β̇₀ + ω β₀) t) exp(−ω t)
    first = run.servo_error["s"].ravel()
    slope = run.evaluate(system.servos[0].requirement[0].expression.diff(t))[0]
    expected = (first[0] + (slope + rate * first[0]) * times) * np.exp(-rate * times)
    np.testing.assert_allclose(first, expected, atol=1e-8)
