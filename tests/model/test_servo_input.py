"""Statements of actuators and servos: every problem is named."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.lowering.build import build

t = da.t
x, y, z = da.coordinates("x y z")
push = da.Actuator("push", x)
both = (push, da.Actuator("lift", y))


def system(*servos, **others):
    return da.System((x, y), sp.eye(2), (0, -9), servos=servos, **others)


STATEMENTS = {
    "limit": (lambda: da.Actuator("push", x, limit=0), "`limit` of actuator `push` must be positive; got 0"),
    "name of an actuator": (lambda: da.Actuator("", x), "`name` of an actuator must be a text"),
    "unknown coordinate": (
        lambda: system(da.Servo("s", x, by=da.Actuator("push", z))),
        "`along` of actuator `push` must be a coordinate of the system (`x`, `y`)",
    ),
    "components": (
        lambda: system(da.Servo("s", x, by=da.Actuator("push", (1, 2, 3)))),
        "`along` of actuator `push` must have one component per coordinate (2); got 3",
    ),
    "no actuators": (lambda: da.Servo("s", x, by=()), "servo `s` must have at least one actuator in `by`; got none"),
    "not an actuator": (lambda: da.Servo("s", x, by=x), "`by` of servo `s` must hold `da.Actuator` objects"),
    "no requirement": (lambda: da.Servo("s", ()), "servo `s` must have at least one requirement"),
    "name of a servo": (lambda: da.Servo(3, x), "`name` of a servo must be a text; got 3"),
    "levels": (
        lambda: da.Servo("s", (x, y.diff(t))),
        "the requirements of servo `s` must be at one level; got position and velocity",
    ),
    "negative rate": (lambda: da.Servo("s", x, settle=-1), "`settle` of servo `s` must not be negative"),
    "rates": (lambda: da.Servo("s", (x, y), settle=(1, 2, 3)), "must have one rate per requirement (2); got 3"),
    "shape of a matrix": (
        lambda: da.Servo("s", (x, y), settle=(sp.eye(3), sp.eye(3))),
        "`settle` of servo `s` must hold matrices of shape (2, 2); got (3, 3)",
    ),
    "number of matrices": (
        lambda: da.Servo("s", (x, y), settle=sp.eye(2)),
        "one matrix per derivative of the error, the coefficient of the highest first (2 at position level); got 1",
    ),
    "matrices with which errors grow": (
        lambda: da.Servo("s", (x, y), settle=([[1, 0], [0, 1]], [[1, 3], [3, 1]])),
        "`settle` of servo `s` must make errors decay; with these matrices they grow as exp(1 t)",
    ),
    "shape of the cost": (
        lambda: da.Servo("s", x, by=both, cost=np.eye(3)),
        "`cost` of servo `s` must be of shape (2, 2), one row per actuator; got (3, 3)",
    ),
    "asymmetric cost": (
        lambda: da.Servo("s", x, by=both, cost=[[1, 2], [3, 4]]),
        "`cost` of servo `s` must be symmetric",
    ),
    "indefinite cost": (
        lambda: da.Servo("s", x, by=both, cost=[[1, 2], [2, 1]]),
        "`cost` of servo `s` must be positive definite; its smallest eigenvalue is -1",
    ),
    "metric": (lambda: da.Servo("s", x, metric="mas"), '`metric` of servo `s` must be "mass" or "euclidean"'),
    "metric with actuators": (
        lambda: da.Servo("s", x, by=push, metric="euclidean"),
        "needs a force on every coordinate",
    ),
    "not a servo": (lambda: system(3), "`servos` must hold `da.Servo` objects; got 3"),
    "same names": (lambda: system(da.Servo("s", x), da.Servo("s", y)), "servo names must be unique; given twice: `s`"),
    "two actuators of one name": (
        lambda: system(da.Servo("s", x, by=push), da.Servo("r", y, by=da.Actuator("push", y))),
        "two different actuators are called `push`",
    ),
    "name of a coordinate": (lambda: system(da.Servo("x", y)), "must not have the name of a coordinate or constraint"),
    "cost on every coordinate": (
        lambda: system(da.Servo("s", x, cost=np.eye(3))),
        "`cost` of servo `s` must have shape (2, 2), one row per coordinate; got (3, 3)",
    ),
    "two costs": (
        lambda: system(da.Servo("s", x, cost=np.eye(2)), da.Servo("r", y, cost=np.eye(2))),
        "`cost` of `every coordinate` must be stated once",
    ),
    "foreign coordinate": (lambda: system(da.Servo("s", z)), "servo `s` must use only the system's coordinates"),
}


@pytest.mark.parametrize("case", STATEMENTS)
def test_problems_of_statements_are_named(case):
    call, message = STATEMENTS[case]
    with pytest.raises(da.ModelError, match=re.escape(message)):
        call()


STRUCTURES = {
    "not influenced": (
        lambda: system(da.Servo("s", y, by=push, settle=1)),
        "servo `s` must be influenced by its actuators; `push` does not act on its derivatives",
    ),
    "too few inputs": (
        lambda: system(da.Servo("s", (x - t, y), by=da.Actuator("push", {x: 1, y: 1}), settle=1)),
        "servo `s[1]` must be met by inputs that act on it independently of `s[0]`",
    ),
    "contradiction": (
        lambda: system(da.Servo("s", x - t, by=both, settle=1), da.Servo("r", x - 2 * t, by=both, settle=1)),
        "contradict each other",
    ),
    "matrices of another order": (
        lambda: da.System(
            (x, y), sp.eye(2), (y - x, x - y), servos=da.Servo("s", y, by=push, settle=(sp.eye(1), sp.eye(1)))
        ),
        "`settle` of servo `s` must hold 4 matrices",
    ),
    "settling at acceleration level": (
        lambda: system(da.Servo("s", x.diff(t, 2) - 1, by=push, settle=2)),
        "`settle` of servo `s` must be left out: inputs meet a requirement at acceleration level at once",
    ),
    "friction by the reaction behind a spring": (
        lambda: da.System(
            (x, y, z),
            sp.eye(3),
            (z - x, -9, x - z),
            da.Constraint(y, name="floor", nonideal=(-abs(da.multiplier("floor")) * x.diff(t), 0, 0)),
            servos=da.Servo("s", z, by=push, settle=1),
        ),
        "servo `s` must be influenced at its own level if laws depend on constraint forces",
    ),
    "friction by the reaction in the Euclidean metric": (
        lambda: da.System(
            (x, y),
            sp.eye(2),
            (0, -9),
            da.Constraint(y, name="floor", nonideal=(-abs(da.multiplier("floor")) * x.diff(t), 0)),
            servos=da.Servo("s", x, settle=1, metric="euclidean"),
        ),
        "servo `s` must have the mass metric if laws depend on constraint forces",
    ),
}


@pytest.mark.parametrize("case", STRUCTURES)
def test_requirements_that_no_inputs_can_meet_are_named(case):
    call, message = STRUCTURES[case]
    with pytest.raises(da.ModelError, match=re.escape(message)):
        build(call())


def test_a_singular_mass_is_named():
    singular = da.System((x, y), sp.diag(1, 0), (0, -y), servos=da.Servo("s", x, by=push, settle=1))
    with pytest.raises(da.ModelError, match="the mass matrix is singular, or an expression"):
        build(singular)


def test_vakonomic_equations_have_no_servos():
    lagrangian = sp.Rational(1, 2) * (x.diff(t) ** 2 + y.diff(t) ** 2)
    moving = da.System.from_lagrangian(lagrangian, (x, y), servos=da.Servo("s", x, by=push))
    with pytest.raises(da.InputError, match="must have no servo constraints to have vakonomic equations; got `s`"):
        da.vakonomic(moving)


def test_a_state_at_which_inputs_do_not_act_is_named():
    radius = da.Servo("radius", x**2 + y**2 - 1, by=both, settle=1.0)
    with pytest.raises(da.ConstraintError, match="servo `radius` must be met by inputs of `push`, `lift`"):
        da.motion(system(radius), (0, 0), (1, 0))


def test_a_run_into_such_a_state_says_so():
    # the pendulum's energy is held by a motor, which has no power where the pendulum stops
    theta = da.coordinates("theta")
    energy = theta.diff(t) ** 2 / 2 - 9.81 * sp.cos(theta)
    servo = da.Servo("energy", energy - 2, by=da.Actuator("motor", theta), settle=0.7)
    pendulum = da.System((theta,), [[1]], (-9.81 * sp.sin(theta),), servos=servo)
    with pytest.raises(da.SimulationError, match=r"ended at t = 0\.\d+"):
        da.simulate(pendulum, [0.3], [5.5], [0, 3])


def test_actuators_are_given_in_several_forms():
    forms = (x, {x: 1}, (1, 0), np.array([1, 0]), sp.Matrix([1, 0]))
    assert {da.Actuator("push", form).direction((x, y)) for form in forms} == {(1, 0)}


def test_parameters_of_servos_are_parameters_of_the_system():
    rate, most, weight, arm = da.parameters("rate most weight arm")
    actuators = (da.Actuator("push", {x: arm}, limit=most), da.Actuator("lift", y))
    servo = da.Servo("s", (x, y), by=actuators, settle=rate, cost=sp.diag(weight, 1))
    assert system(servo).parameter_names == ("arm", "most", "rate", "weight")
