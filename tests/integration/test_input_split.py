# SPDX-License-Identifier: BSD-3-Clause
"""The force of inputs as the sum of an ideal and a nonideal part."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, z = da.coordinates("x y z")
MASSES = np.diag([1.0, 2.0, 3.0])
SPHERE = da.Constraint(x**2 + y**2 + z**2 - 1, "sphere")


def _run(by, controlled=False, constraints=(SPHERE, da.Constraint(2 * (x**2 + y**2 + z**2 - 1), "again"))):
    servo = da.Servo("height", z - x * y - sp.sin(da.t) / 4, by=by, settle=3)
    system = da.System((x, y, z), sp.diag(1, 2, 3), (0, -x, -9.81), constraints, servos=servo)
    start = da.consistent_state(system, (0.6, 0.7, 0.3), (0.1, 0, 0))
    return da.simulate(system, *start, np.linspace(0, 1, 6), control=da.controller(system) if controlled else None)


@pytest.mark.parametrize("controlled", [False, True])
def test_the_parts_are_those_of_the_definition(controlled):
    run = _run((da.Actuator("u", x), da.Actuator("w", {y: 1, x: 0.5})), controlled)
    ideal, nonideal = run.split_input_force()
    np.testing.assert_allclose(ideal + nonideal, run.input_force, rtol=1e-12, atol=1e-12)
    for q, f, rest in zip(run.q, ideal, nonideal, strict=True):
        A, A2 = 2 * q, np.array([-q[1], -q[0], 1])
        np.testing.assert_allclose(np.cross(f, A2), 0, atol=1e-10)  # along the gradient of the requirement
        # with the sphere enforced, the rest does not accelerate the requirement
        bordered = np.block([[MASSES, A[:, None]], [A[None], np.zeros((1, 1))]])
        assert abs(A2 @ np.linalg.solve(bordered, [*rest, 0])[:3]) < 1e-10


def test_forces_on_all_coordinates_are_ideal():
    run = _run(None, constraints=())
    _, nonideal = run.split_input_force()
    np.testing.assert_allclose(nonideal, 0, atol=1e-9 * np.abs(run.input_force).max())


def test_a_run_without_inputs_has_nothing_to_split():
    run = da.simulate(da.System((x,), [[1]], (0,)), [0], [0], [0, 1])
    with pytest.raises(da.InputError, match="a run must have inputs for their force to be split"):
        run.split_input_force()
