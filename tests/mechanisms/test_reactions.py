"""Reactions on the ground: of joints that lie apart, and of a fixed gear wheel; redundant joints in balance."""

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.integration.native_steps import NativeSteps
from dalembert.lowering.build import build

ORIGIN = da.ground.at(0, 0)


def reactions(mechanism: da.Mechanism) -> tuple[da.Trajectory, Any]:
    q, qd = mechanism.assemble()
    run = da.simulate(mechanism.system, q, qd, (0, 1))
    return run, mechanism.reactions(run)


def test_a_slide_loads_the_ground_about_the_ground_point():
    wagon = da.PlanarBody("wagon", 2, 1, position=(3, 0), velocity=(1, 0))
    _, found = reactions(da.Mechanism(wagon, da.Prismatic("rail", wagon, ORIGIN), da.Gravity((0, -10))))
    np.testing.assert_allclose(found["rail"].force, [[0, -20], [0, -20]], atol=1e-12)
    np.testing.assert_allclose(found["rail"].torque, [-60, -80], atol=1e-9)  # weight times distance


def test_a_planetary_gear_with_a_fixed_ring():
    sun, carrier = da.PlanarBody("sun", 1, 2), da.PlanarBody("carrier", 3, 4)
    planet = da.PlanarBody("planet", 0.8, 0.9, position=(3.5, 0))
    joints = (
        da.Revolute("shaft", ORIGIN, sun),
        da.Revolute("arm", ORIGIN, carrier),
        da.Revolute("stud", carrier.at(3.5, 0), planet),
        da.Gear("inner mesh", sun, planet, ratio=2 / 1.5, carrier=carrier),
        da.Gear("ring mesh", planet, ORIGIN, ratio=-1.5 / 5, carrier=carrier),
    )
    run, found = reactions(da.Mechanism((sun, carrier, planet), joints, da.Torque(sun, 10)))
    arm = 2 / (2 + 5)  # Willis: turns of the carrier per turn of the sun
    turns = arm - (1 - arm) * 2 / 1.5
    rate = 10 / (2 + (4 + 0.8 * 3.5**2) * arm**2 + 0.9 * turns**2)
    assert run["theta_sun"][-1] == pytest.approx(rate / 2)
    # all that the ground does to the gear: it holds the ring and no other torque but the motor's
    momentum = rate * (2 + (4 + 0.8 * 3.5**2) * arm + 0.9 * turns)
    assert found["ring mesh"].torque[-1] == pytest.approx(10 - momentum)


def test_only_a_run_has_reactions():
    bar = da.PlanarBody("bar", 1, 1)
    with pytest.raises(da.InputError, match=r"`run` must be a trajectory returned by `da\.simulate`; got None"):
        da.Mechanism(bar).reactions(None)  # pyright: ignore[reportArgumentType]


def test_a_redundant_mechanism_at_rest_needs_no_compilation():
    """A table on three equal legs: what is left of forces in balance is rounding, and no disagreement."""
    feet = (0, 1, 2)
    legs = [da.PlanarBody(f"leg{x}", 1, 1 / 12, position=(x, -0.5), angle=-np.pi / 2) for x in feet]
    table = da.PlanarBody("table", 2, 2 / 3, position=(1, -1))
    joints = [da.Revolute(f"pin {x}", da.ground.at(x, 0), leg.at(-0.5, 0)) for x, leg in zip(feet, legs, strict=True)]
    joints += [da.Revolute(f"end {x}", leg.at(0.5, 0), table.at(x - 1, 0)) for x, leg in zip(feet, legs, strict=True)]
    mechanism = da.Mechanism((*legs, table), joints, da.Gravity((0, -9.81)))
    q, qd = mechanism.assemble()
    steps = NativeSteps(build(mechanism.system), da.Projection(), np.empty(0), rtol=1e-9, atol=1e-11)
    assert steps.step_batch(np.concatenate([q, qd]), 0.0, 0.1, 10) is not None
