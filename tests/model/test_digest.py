"""Digests of statements: equal in every process, different for all that differs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.digest import digest

x, y = da.coordinates("x y")
g = da.parameters("g")


def stated(law=None, shape=y, laws=(), servos=(), pull=0, **options):
    floor = da.Constraint(shape, name="floor", nonideal=law, **options)
    return da.System((x, y), sp.eye(2), (pull, -g), floor, laws, servos=servos)


def bounce(**options):
    return stated(shape=sp.Ge(y, 0), **{"restitution": 0.5} | options)


def servo(settle=3, limit=30):
    return stated(servos=da.Servo("go", x, by=da.Actuator("motor", x, limit=limit), settle=settle))


def gust(values, **options):
    return stated(pull=da.signal([0, 1, 2], values, name="gust", **options))


def double(v):
    return 2 * v


def long_sum(k):
    return stated(pull=sum(sp.sin(i * x + y) * sp.cos(k * i * x) * sp.exp(i * y) for i in range(1, 800)))


def event(value):
    return da.Event(x - 1, name="kick", then=da.Change({x.diff(da.t): value}))


def control(settle=3, gravity=9.81):
    return da.controller(servo(settle), parameters={"g": gravity})


DIFFERENT = {
    "friction by which reaction": (stated(da.Coulomb(0.2)), stated(da.Coulomb(0.2, normal="ideal"))),
    "static friction": (stated(da.Coulomb(0.2)), stated(da.Coulomb(0.2, mu_static=0.3))),
    "the place of a law": (stated(da.Viscous(0.2)), stated(laws=da.Viscous(0.2))),
    "restitution": (bounce(), bounce(restitution=0.6)),
    "the law of impact": (bounce(), bounce(impact="poisson")),
    "release": (stated(), stated(releases=True)),
    "the level of a constraint": (stated(), stated(shape=y.diff(da.t))),
    "whether a constraint holds at first": (stated(), stated(active=False)),
    "rates of a servo": (servo(), servo(settle=4)),
    "the limit of an actuator": (servo(), servo(limit=20)),
    "values of a signal": (gust([0, 1, 0]), gust([0, 2, 0])),
    "interpolation of a signal": (gust([0, 1, 0]), gust([0, 1, 0], kind="linear")),
    "a number in a long expression": (long_sum(2), long_sum(3)),
    "functions": (
        stated(pull=da.function("pull", lambda v: -v)(x)),
        stated(pull=da.function("pull", lambda v: -2 * v)(x)),
    ),
    "changes by an event": (event(0), event(1)),
    "controllers": (control(), control(settle=5)),
    "parameters of a controller": (control(), control(gravity=9.0)),
    "numbers of an array": (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    "formulations": (da.PseudoInverse(), da.Factored()),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_statements_that_differ_have_different_digests(case):
    one, other = DIFFERENT[case]
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


def enclosing(factor):
    return lambda v: factor * v


def test_functions_are_known_by_their_code_and_enclosed_values():
    assert digest(enclosing(2.0)) == digest(enclosing(2.0)) != digest(enclosing(3.0))
    assert digest(np.sin) == digest(np.sin) != digest(np.cos)
    assert digest({"a": {1, 2}, "b": None}) == digest({"b": None, "a": {2, 1}}) != digest({"a": {1, 3}, "b": None})


def test_large_systems_are_known_by_their_groups():
    def chain(mass):
        xs, (u, w) = da.coordinates("x", 300), da.coordinates("u w")
        rods = da.Constraint.over(w - u - 1, {u: xs[:-1], w: xs[1:]}, name="rod")
        return da.System((xs,), mass, {xs: -1}, rods)

    assert digest(chain(1)) == digest(chain(1)) != digest(chain(2))
    assert digest(chain(np.linspace(1, 2, 300))) != digest(chain(np.linspace(1, 3, 300)))


SCRIPT = """
import sympy as sp, dalembert as da
from dalembert.model.digest import digest
x, y = da.coordinates("x y")
g, m, k, a, b = da.parameters("g m k a b")
pull = a * x + b * y - k * sp.sin(x + y) * sp.exp(g * x) + da.signal([0, 1, 2], [0, 1, 0], name="gust")
law = da.Coulomb(0.2, mu_static=0.3)
print(digest(da.System((x, y), m * sp.eye(2), (pull, -g), da.Constraint(y, name="floor", nonideal=law))))
"""


@pytest.mark.slow
def test_a_digest_does_not_depend_on_the_process():
    found = set()
    for seed in ("1", "2", "3"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(da.__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
