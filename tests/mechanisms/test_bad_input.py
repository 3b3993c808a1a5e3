"""Invalid numbers and joints, and parts that change where they must not, are refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

A, B, DEEP = da.PlanarBody("a", 1, 1), da.PlanarBody("b", 1, 1), da.Body("d", 1, (1, 1, 1))
BOB = da.Particle("bob", 1, (1, 0))
O2, O3 = da.ground.at(0, 0), da.ground.at(0, 0, 0)
PIN = da.Revolute("pin", da.ground, A)


def on(curve: Any) -> Any:
    return da.Mechanism(A, da.PointOnCurve("cam", O2, A, curve=curve)).system


@pytest.mark.parametrize("mass", ["heavy", None, float("nan"), float("inf"), [1], 1j, True])
@pytest.mark.parametrize(
    "body",
    [
        lambda mass: da.PlanarBody("b", mass, 1),
        lambda mass: da.Particle("b", mass, (0, 0)),
        lambda mass: da.Body("b", mass, (1, 1, 1)),
    ],
)
def test_a_mass_is_a_number(body: Callable[[Any], Any], mass: Any):
    with pytest.raises(da.ModelError, match="`mass of b` must be a finite number or an expression; got"):
        body(mass)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Body("b", 1, (None, 1, 1)), "`inertia of b` must be a finite number or an expression; got None"),
        (lambda: da.Body("b", 1, [[1, 0], [0]]), "`inertia of b` must be a finite number or an expression; got [1, 0]"),
        (lambda: da.PlanarBody("b", 1 + da.t, 1), "`mass of b` must be of numbers and parameters, the same at all"),
        (lambda: A.at(sp.sin(da.t), 0), "`point of a` must be of numbers and parameters, the same at all times"),
        (lambda: da.ground.at(A.coordinates[0], 0), "`point of the ground` must be of numbers and parameters"),
        (lambda: A.at(np.nan, 0), "`point of a` must be 2 finite numbers or expressions; got (nan, 0)"),
        (lambda: A.at("x", 0), "`point of a` must be 2 finite numbers or expressions; got ('x', 0)"),
        (lambda: da.quaternion("z", 1), "`axis` must be 3 finite numbers; got 'z'"),
        (lambda: da.quaternion((0, 0, 1), np.nan), "`angle` must be 1 finite number; got [nan]"),
        (lambda: da.Revolute("pin", O3, DEEP, axis=5), "`axis of joint pin` must be 3 finite numbers"),
        (lambda: da.Revolute("pin", O3, DEEP, axis="xyz"), "`axis of joint pin` must be 3 finite numbers"),
        (lambda: da.Revolute("pin", O2, A, radius=-1), "`radius of joint pin` must be positive; got -1"),
        (lambda: da.RollingEllipsoid("w", O3, DEEP, axes=(1, 2, 0)), "`axes of joint w` must be positive; got 0"),
        (lambda: da.Gear("g", A, B, ratio=0), "`ratio of gear g` must not be zero"),
        (lambda: da.Gear("g", A, B, ratio=None), "`ratio of gear g` must be a finite number or an expression"),
        (lambda: da.Spring(O2, A, np.nan), "`stiffness of a spring` must be a finite number or an expression"),
        (lambda: da.TorsionSpring(PIN, 1, (1, 2)), "`angle of a torsion spring` must be a finite number"),
        (lambda: da.Drag(A, "x"), "`linear of a drag` must be a finite number or an expression"),
        (lambda: da.Torque(A, np.inf), "`torque` must be 1 finite number or expression; got [inf]"),
        (lambda: da.Drive(None, PIN, da.t), "a drive's name must be a text that is not empty"),  # pyright: ignore
        (lambda: da.Drive("motor", "pin", da.t), "drive `motor` must be given the joint that it drives; got 'pin'"),
        (lambda: da.Drive("motor", PIN, "sin(t)"), "`motion of drive motor` must be a finite number or an expression"),
        (
            lambda: on(lambda x: x),
            "`curve of joint cam` must be a function of 2 coordinates that returns an expression",
        ),
        (lambda: on(lambda x, y: np.sin(x)), "with SymPy's functions; it fails"),
        (lambda: on(lambda x, y: None), "`curve of joint cam` must be a finite number or an expression; got None"),
        (lambda: da.Mechanism(BOB, da.Weld("w", O2, BOB)).system, "the particle `bob` does not turn"),
        (lambda: da.Mechanism(BOB, (), da.Torque(BOB, 1)).system, "the particle `bob` does not turn"),
        (lambda: da.Mechanism(A, (), da.Gravity((0, 0, -9.81))), "a Gravity must have 2 components"),
        (lambda: da.Mechanism(A, (), da.Spring(O3, A, 1)), "a Spring must have 2 components"),
    ],
)
def test_refused_by_name(make: Callable[[], Any], message: str):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)


def test_what_to_keep():
    mechanism = da.Mechanism(A, PIN)  # the ground alone stands for its origin
    assert mechanism.joints[0].first == O2
    assert mechanism.assemble(keep="theta_a").q[2] == 0
    wrong: list[Any] = [2, A.coordinates[2]]
    for strange in wrong:
        with pytest.raises(da.InputError, match="`keep` must name only coordinates of the model"):
            mechanism.assemble(keep=(strange,))


def test_reactions_need_a_run_with_the_same_parameters():
    mass = da.parameters("m")
    with_parameter = da.Mechanism(a := da.PlanarBody("a", mass, 1), da.Revolute("pin", da.ground, a))
    mechanism = da.Mechanism(A, PIN)
    q, qd = mechanism.assemble()
    run = da.simulate(mechanism.system, q, qd, [0, 0.1])
    with pytest.raises(da.InputError, match="coordinates, constraints or parameters differ"):
        with_parameter.reactions(run)
