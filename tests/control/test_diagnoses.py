# SPDX-License-Identifier: BSD-3-Clause
"""Messages on servos that cannot be met: each names the true cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
x, y, z = da.coordinates("x y z")
push, lift = da.Actuator("push", x), da.Actuator("lift", y)


def _particle(requirement: Any, by: Any = push, constraints: Any = (), settle: float = 2.0) -> da.System:
    return da.System((x, y), sp.eye(2), (0, 0), constraints, servos=da.Servo("s", requirement, by=by, settle=settle))


@pytest.mark.parametrize("reference", [sp.sqrt(t), t ** sp.Rational(3, 2)])
def test_a_reference_with_an_infinite_derivative(reference):
    with pytest.raises(da.ConstraintError, match=r"servo `s` must have finite derivatives; at t = 0 one"):
        da.simulate(_particle(x - reference), (0, 0), (0, 0), [0, 1])


def test_a_sampled_reference_with_an_infinite_derivative():
    control = da.controller(_particle(x - sp.sqrt(1 - t)), period=0.25)
    with pytest.raises(da.SimulationError, match=r"servo `s` must have finite derivatives; at t = 1 one"):
        da.simulate(da.System((x, y), sp.eye(2), (0, 0)), (1, 0), (-0.5, 0), [0, 2], control=control)


def test_fewer_inputs_than_requirements():
    with pytest.raises(da.ModelError, match=r"servo `s\[1\]` must have an input of its own, and `push` is in use for"):
        da.motion(_particle((x - 1, y - 2)), (0, 0), (0, 0))


@pytest.mark.parametrize("offset", [0, 1])
def test_a_requirement_that_a_constraint_determines(offset):
    rail = da.Constraint(x - 2 * y, "rail")
    other = da.Constraint(z, "floor")
    servo = da.Servo("s", x - 2 * y + offset, by=(push, lift), settle=1)
    system = da.System((x, y, z), sp.eye(3), (0, 0, 0), (other, rail), servos=servo)
    with pytest.raises(da.ModelError, match=r"servo `s` must require something .*; `rail` determines it"):
        da.motion(system, (0, 0, 0), (0, 0, 0))


def test_friction_by_reactions_without_inputs_of_least_cost():
    """Neither sign of the normal force is that of its own least-cost solution."""
    ring = da.Constraint(x**2 + y**2 - 1, "ring", nonideal=da.Coulomb(0.2))
    by = da.Actuator("u1", x), da.Actuator("u2", {y: 1, x: 0.3})
    servo = da.Servo("s", z - x * y - sp.sin(t), by=by, settle=2)
    system = da.System((x, y, z), 2 * sp.eye(3), (-x, 1, -19.62), ring, servos=servo)
    with pytest.raises(da.ConstraintError, match=r"change the reactions and with them the friction; at t = 0.4 no"):
        da.motion(system, (0.6, 0.8, 0.2), (0.4, -0.3, 0.3), t=0.4)


def test_only_the_unknown_coordinate_is_named():
    w = da.coordinates("w")
    with pytest.raises(da.ModelError, match=r"got `w`. Joints"):
        _particle(x - 1, da.Actuator("u", {w: 1, x: 2}))


@pytest.mark.parametrize("controlled", [False, True])
def test_where_a_limit_is_negative_the_input_is_zero(controlled):
    system = _particle(x - 1, da.Actuator("u", x, limit=x))
    control = da.controller(system)
    assert da.motion(system, (-0.5, 0), (0, 0)).inputs["u"] == control((-0.5, 0), (0, 0))["u"] == 0
    assert da.motion(system, (0.5, 0), (0, 0)).inputs["u"] == 0.5
    run = da.simulate(system, (-0.5, 0), (0, 0), [0, 1], control=control if controlled else None)
    np.testing.assert_allclose(run.inputs["u"], 0)
    assert "`u` was at its limit" in run.notes[0]


@pytest.mark.parametrize("argument", ["period", "delay"])
def test_texts_are_no_numbers(argument):
    with pytest.raises(da.InputError, match=f"`{argument}` must be a number; got '1'"):
        da.controller(_particle(x - 1), **({"period": 2.0} | {argument: "1"}))


def test_at_a_singular_state_no_realisation_is_claimed():
    """The angle a + b/2 of the tip, of which the shoulder changes nothing where the arm is stretched."""
    a, b = da.coordinates("a b")
    elbow = sp.Matrix([sp.cos(a), sp.sin(a)])
    v, w = elbow.diff(t), (elbow + sp.Matrix([sp.cos(a + b), sp.sin(a + b)])).diff(t)
    servo = da.Servo("tip", a + b / 2 - sp.Rational(3, 10), by=da.Actuator("shoulder", a), settle=2)
    arm = da.System.from_lagrangian((2 * v.dot(v) + w.dot(w)) / 2 - 10 * b**2, (a, b), servos=servo)
    for state, expected in (((0.3, 0), "At this state inputs do not act"), ((0.3, 0.4), "Oblique realisation")):
        report = str(da.check(arm, state, (0, 0)))
        assert expected in report and "Orthogonal" not in report
