"""The ledger of a mechanism: every entry is the work of the joint's reaction on the joint's own relative motion.

By wrenches and velocities of bodies, without multipliers: ∫ (F·v + T·ω) dt over Gauss's nodes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery.nonholonomic import snakeboard_mechanism
from mechanisms.work import assert_own_work, simulated


def slider_crank(drive: Any, guide: Any = (), bearing: Any = (), pin: Any = (), **numbers: float) -> da.Mechanism:
    m = {"crank": 1.0, "rod": 2.0, "slider": 1.0, "r": 0.5, "l": 1.5, "g": 9.81} | numbers
    r, length = m["r"], m["l"]
    crank = da.PlanarBody("crank", m["crank"], m["crank"] * r**2 / 12, position=(r / 2, 0), spin=5)
    rod = da.PlanarBody("rod", m["rod"], m["rod"] * length**2 / 12, position=(r + length / 2, 0))
    slider = da.PlanarBody("slider", m["slider"], 0.1, position=(r + length, 0))
    turning = da.Revolute("bearing", da.ground.at(0, 0), crank.at(-r / 2, 0), nonideal=bearing)
    joints: tuple[Any, ...] = (
        turning,
        da.Revolute("crank pin", crank.at(r / 2, 0), rod.at(-length / 2, 0), nonideal=pin),
        da.Revolute("wrist pin", rod.at(length / 2, 0), slider),
        da.Prismatic("guide", da.ground.at(0, 0), slider, nonideal=guide),
    )
    joints += () if drive is None else (da.Drive("motor", turning, drive),)
    return da.Mechanism((crank, rod, slider), joints, da.Gravity((0, -m["g"])))


def test_a_driven_crank_gives_all_that_its_bearing_takes() -> None:
    """5 N m at 10 rad/s for 2 s: 100 J from the motor to friction, none of which is of the papers' nonideal force."""
    crank = da.PlanarBody("crank", 1, 1 / 12, position=(0.5, 0), spin=10)
    bearing = da.Revolute("bearing", da.ground.at(0, 0), crank.at(-0.5, 0), nonideal=da.Viscous(0.5))
    mechanism = da.Mechanism(crank, (bearing, da.Drive("motor", bearing, 10 * da.t)))
    run, weights = simulated(mechanism, 2.0)
    ledger = assert_own_work(mechanism, run, weights)
    np.testing.assert_allclose(mechanism.reactions(run)["motor"].torque, 5, rtol=1e-12)
    assert ledger["motor: angle"][-1] == pytest.approx(100, rel=1e-12)
    np.testing.assert_array_equal(ledger["motor"], ledger["motor: angle"])
    np.testing.assert_allclose(ledger.power_of("motor"), 50, rtol=1e-12)
    np.testing.assert_allclose(ledger.power_of("bearing: Viscous"), -50, rtol=1e-12)
    np.testing.assert_array_equal(ledger["bearing"], ledger["bearing: x"] + ledger["bearing: y"])
    with pytest.raises(da.InputError, match="`bear` must be an entry of the ledger"):
        ledger["bear"]
    assert ledger["bearing: Viscous"][-1] == pytest.approx(-100, rel=1e-12)
    assert abs(ledger.audit).max() < 1e-11
    np.testing.assert_allclose([ledger.ideal_work, ledger.nonideal_work], 0, atol=1e-11)
    assert re.search(r"^ideal constraint force +split +0 ", str(ledger), re.MULTILINE)


@pytest.mark.parametrize("normal", ["ideal", "actual"])
def test_a_rough_guide_takes_what_the_motor_gives(normal: Any) -> None:
    """μ ∫ |N v| dt a turn, with N the force across the guide, of the ideal problem or with friction."""
    mechanism = slider_crank(5 * da.t, guide=da.Coulomb(0.2, normal=normal))
    run, weights = simulated(mechanism, 2 * np.pi / 5)
    ledger = assert_own_work(mechanism, run, weights)
    row = run.constraints.index("guide: across")
    N = {"ideal": run.multipliers, "actual": run.reactions}[normal][:, row]
    taken = weights @ np.abs(0.2 * N * run.qd[:, run.coordinates.index("x_slider")])
    assert taken > 1
    assert ledger["guide: Coulomb"][-1] == pytest.approx(-taken, rel=1e-9)
    assert ledger["motor: angle"][-1] == pytest.approx(taken, rel=1e-8)  # the turn ends as it began
    if normal == "actual":
        across = mechanism.reactions(run)["guide"].force[:, 1]
        np.testing.assert_allclose(np.abs(across), np.abs(N), rtol=0, atol=1e-9 * np.abs(N).max())


@pytest.mark.parametrize("seed", range(6))
def test_random_slider_cranks(seed: int) -> None:
    """Driven at a changing rate or let go, with laws in bearing, pin and guide."""
    rng = np.random.default_rng(seed)
    names = ("crank", "rod", "slider", "r", "g")
    numbers = dict(zip(names, rng.uniform([0.5, 0.5, 0.5, 0.3, 0], [2, 2, 2, 0.6, 10]), strict=True))
    drive = 4 * da.t + rng.uniform(0.1, 1) * da.t**2 if seed % 2 else None
    laws = (da.Viscous(0.3), da.Quadratic(0.2), (da.Viscous(0.1), da.Quadratic(0.1)))
    mechanism = slider_crank(
        drive, guide=laws[seed % 3], bearing=laws[(seed + 1) % 3], pin=laws[(seed + 2) % 3], **numbers
    )
    assert_own_work(mechanism, *simulated(mechanism, 0.8, keep=() if seed % 2 else ("theta_crank",)))


def test_a_driven_slide_and_bearings_that_share_an_axis() -> None:
    """Two bearings brake one shaft by their own coefficients, while its carriage is pushed to and fro."""
    carriage = da.PlanarBody("carriage", 2, 1, velocity=(0.5, 0))
    wheel = da.PlanarBody("wheel", 1, 0.5, spin=3)
    slide = da.Prismatic("slide", da.ground.at(0, 0), carriage, nonideal=(da.Viscous(0.7), da.Quadratic(0.4)))
    joints = (
        slide,
        da.Revolute("bearing", carriage, wheel, nonideal=da.Viscous(0.1)),
        da.Revolute("brake", carriage, wheel, nonideal=da.Viscous(0.3)),
        da.Drive("piston", slide, np.sin(1) * da.t**2 + da.t / 2),
    )
    mechanism = da.Mechanism((carriage, wheel), joints, (da.Gravity((0, -9.81)), da.Torque(wheel, 0.3)))
    run, weights = simulated(mechanism, 1.0)
    ledger = assert_own_work(mechanism, run, weights)
    assert ledger["brake: Viscous"][-1] == pytest.approx(3 * ledger["bearing: Viscous"][-1], rel=1e-9)
    found = mechanism.reactions(run)
    np.testing.assert_allclose(found["brake"].torque, -0.3 * run.qd[:, 5], rtol=1e-9)
    np.testing.assert_allclose(found["bearing"].torque, -0.1 * run.qd[:, 5], rtol=1e-9)


def test_a_gear_passes_on_what_a_drive_gives() -> None:
    first, second = da.PlanarBody("first", 1, 0.5), da.PlanarBody("second", 1, 2.0, position=(1, 0))
    shaft = da.Revolute("shaft", da.ground.at(0, 0), first)
    other = da.Revolute("other", da.ground.at(1, 0), second, nonideal=da.Viscous(0.6))
    gear = da.Gear("mesh", first, second, ratio=-2)
    mechanism = da.Mechanism((first, second), (shaft, other, gear, da.Drive("motor", shaft, da.t**2)))
    run, weights = simulated(mechanism, 1.0)
    ledger = assert_own_work(mechanism, run, weights)
    rates = run.qd[:, [run.coordinates.index("theta_first"), run.coordinates.index("theta_second")]]
    assert ledger["motor: angle"][-1] == pytest.approx(
        ledger.kinetic[-1] + weights @ (0.6 * rates[:, 1] ** 2), rel=1e-9
    )
    gear_entry = [i for i, entry in enumerate(ledger.entries) if entry.constraint.startswith("mesh")]
    np.testing.assert_allclose(ledger.work[:, gear_entry], 0, atol=1e-10)


def test_a_driven_hinge_in_space() -> None:
    rotor = da.Body("rotor", 2, (0.3, 0.4, 0.5), position=(0.3, 0, 0), spin=(0, 0, 3))
    arm = da.Body("arm", 1, (0.1, 0.2, 0.2), position=(0.6, 0, -0.4))
    axle = da.Revolute("axle", da.ground.at(0, 0, 0), rotor.at(-0.3, 0, 0), axis=(0, 0, 1), nonideal=da.Viscous(0.5))
    knee = da.Revolute("knee", rotor.at(0.3, 0, 0), arm.at(0, 0, 0.4), axis=(0, 1, 0), nonideal=da.Quadratic(0.2))
    mechanism = da.Mechanism((rotor, arm), (axle, knee, da.Drive("motor", axle, 3 * da.t)), da.Gravity((0, 0, -9.81)))
    run, weights = simulated(mechanism, 0.6)
    ledger = assert_own_work(mechanism, run, weights)
    assert ledger["motor: angle"][-1] > 1


def test_what_sticks_while_it_is_carried_does_its_work_as_friction() -> None:
    """A block on a driven table: friction alone carries it along, holding it at first and letting go later."""
    table = da.PlanarBody("table", 5, 1)
    block = da.PlanarBody("block", 2, 1, position=(0, 0.1))
    slide = da.Prismatic("slide", da.ground.at(0, 0), table)
    friction = da.Coulomb(0.2, mu_static=0.3, normal="ideal")
    joints = (
        slide,
        da.Prismatic("top", table.at(0, 0.1), block, nonideal=friction),
        da.Drive("shaker", slide, da.t**3),
    )
    mechanism = da.Mechanism((table, block), joints, da.Gravity((0, -10)))
    run, _ = simulated(mechanism, 1.2)
    ((slip, contact, kind, *_),) = run.events
    assert (contact, kind) == ("top: across", "slips")
    assert slip == pytest.approx(0.5, abs=1e-9)  # 6 t = 3
    ledger = run.ledger()
    # the sliding friction and the force that held the block do work on both bodies: −μ N times the sliding velocity
    sliding = 3 * run.t**2 - run.qd[:, run.coordinates.index("x_block")]
    late = run.t > slip
    power = ledger.power[:, ledger.names.index("top: Coulomb")]
    np.testing.assert_allclose(power[late], -0.2 * 20 * sliding[late], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(power[~late], 0, atol=1e-9)
    index = ledger.names.index("top: Coulomb")
    on_block = ledger.force[:, index, run.coordinates.index("x_block")]
    np.testing.assert_allclose(on_block, np.where(late, 4, 12 * run.t), rtol=1e-9, atol=1e-9)
    assert ledger.closure < 10


def test_the_snakeboard_is_driven_by_its_rotor_and_its_axles() -> None:
    """A mechanism of the gallery: three drives, two blades, no friction."""
    case = da.gallery.case("snakeboard")
    mechanism = snakeboard_mechanism()
    place, weight = np.polynomial.legendre.leggauss(5)
    times = np.append(np.append(0, (0.02 * np.arange(50)[:, None] + 0.01 * (1 + place)).ravel()), 1.0)
    run = da.simulate(case.system, case.q0, case.qd0, times, parameters=case.parameters, rtol=1e-11, atol=1e-12)
    weights = np.concatenate([[0.0], np.tile(0.01 * weight, 50), [0.0]])
    ledger = assert_own_work(mechanism, run, weights)
    drives = [entry.kind == "reaction" for entry in ledger.entries]
    assert ledger.work[-1, drives].sum() == pytest.approx(ledger.energy[-1] - ledger.energy[0], abs=1e-9)
