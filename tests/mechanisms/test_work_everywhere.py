"""The work of every joint is that of its reaction: mechanisms of the gallery, and random ones with laws and drives."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert import gallery
from helpers import quick_first
from mechanisms.work import assert_own_work, gauss_times, simulated

SPAN = 0.3
"""Seconds of each case: long enough for every joint to do work, short enough for the quadrature."""


def builds_a_mechanism(module: Any, function: str) -> bool:
    """Return whether a function of a module, or one of the same module that it calls, makes a mechanism."""
    reached, names = set[str](), {function}
    while names:
        reached |= names
        parts = [getattr(module, name, None) for name in names]
        names = {name for f in parts if inspect.isfunction(f) for name in f.__code__.co_names} - reached
    return "Mechanism" in reached


def mechanisms() -> Iterator[str]:
    """The cases of the gallery that are mechanisms, from the gallery itself."""
    for name, (_, builder) in gallery._CASES.items():
        module, function = builder.split(".")
        if builds_a_mechanism(importlib.import_module(f"dalembert.gallery.{module}"), function):
            yield name


def mechanism_of(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, da.Mechanism]:
    """A case of the gallery and the mechanism that it is built from."""
    made: list[da.Mechanism] = []
    finish = da.Mechanism.__post_init__

    def kept(self: da.Mechanism) -> None:
        finish(self)
        made.append(self)

    monkeypatch.setattr(da.Mechanism, "__post_init__", kept)
    case = gallery.case.__wrapped__(name)  # built anew, unlike the one that tests share
    (mechanism,) = (m for m in made if m.system == case.system)
    return case, mechanism


def test_no_mechanism_of_the_gallery_is_left_out() -> None:
    modules = [importlib.import_module(f"dalembert.gallery.{m.name}") for m in pkgutil.iter_modules(gallery.__path__)]
    built = {module.__name__.split(".")[-1] for module in modules if hasattr(module, "Mechanism")} - {
        "bodies",
        "definition",
    }
    assert built == {gallery._CASES[name][1].split(".")[0] for name in mechanisms()}


@pytest.mark.parametrize("name", list(mechanisms()))
def test_mechanisms_of_the_gallery(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, mechanism = mechanism_of(name, monkeypatch)
    times, weights = gauss_times(SPAN, 12)
    run = da.simulate(
        *(case.system, case.q0, case.qd0, case.times[0] + times),
        parameters=case.parameters,
        rtol=1e-11,
        atol=1e-12,
    )
    ledger = assert_own_work(mechanism, run, weights)
    # only a constraint that depends on time does work, or one that ends an impact
    symbols = case.system.symbols
    driven = {c.name for c in case.system.constraints if c.one_sided or symbols.plain(c.expression).has(symbols.time)}
    at_rest = [i for i, e in enumerate(ledger.entries) if e.kind == "reaction" and e.constraint not in driven]
    np.testing.assert_allclose(ledger.work[:, at_rest], 0, atol=1e-12 * (1 + np.abs(ledger.energy).max()))


LAWS = (
    lambda rng: da.Viscous(rng.uniform(0.05, 0.5)),
    lambda rng: da.Quadratic(rng.uniform(0.05, 0.3)),
    lambda rng: (da.Viscous(rng.uniform(0.05, 0.3)), da.Quadratic(rng.uniform(0.05, 0.2))),
    lambda rng: da.Coulomb(rng.uniform(0.05, 0.15), smoothing=0.3),
    lambda rng: da.Coulomb(rng.uniform(0.05, 0.15), normal="ideal", smoothing=0.3),
    lambda rng: (),
)


def four_bar(rng: np.random.Generator, law: int, drive: Any) -> da.Mechanism:
    """A crank and a rocker joined by a coupler, of random lengths and masses, every joint with a law of its own."""
    a, b, c = rng.uniform(0.3, 0.5), rng.uniform(1.2, 1.6), rng.uniform(0.9, 1.2)
    begin, ground = rng.uniform(1.2, 2.0), 1.4  # far from dead centres: no joint turns round in a run
    A = a * np.array([np.cos(begin), np.sin(begin)])
    D = np.array([ground, 0.0])
    away = D - A
    length = np.linalg.norm(away)
    along = (b**2 - c**2 + length**2) / (2 * length)
    B = A + along * away / length + np.sqrt(b**2 - along**2) * np.array([-away[1], away[0]]) / length
    ends = {"crank": (np.zeros(2), A), "coupler": (A, B), "rocker": (D, B)}
    bodies = {}
    for name, (foot, tip) in ends.items():
        mass, size = rng.uniform(0.5, 2), np.linalg.norm(tip - foot)
        angle = float(np.arctan2(*(tip - foot)[::-1]))
        spin = 6.0 if name == "crank" else 0.0
        bodies[name] = (
            da.PlanarBody(name, mass, mass * size**2 / 12, position=(foot + tip) / 2, angle=angle, spin=spin),
            size,
        )
    (crank, la), (coupler, lb), (rocker, lc) = bodies.values()
    laws = [LAWS[(law + k) % len(LAWS)](rng) for k in range(4)]
    pins = {"radius": 0.05}
    joints = [
        da.Revolute("bearing", da.ground.at(0, 0), crank.at(-la / 2, 0), nonideal=laws[0], **pins),
        da.Revolute("crank pin", crank.at(la / 2, 0), coupler.at(-lb / 2, 0), nonideal=laws[1], **pins),
        da.Revolute("rocker pin", coupler.at(lb / 2, 0), rocker.at(lc / 2, 0), nonideal=laws[2], **pins),
        da.Revolute("foot", da.ground.at(ground, 0), rocker.at(-lc / 2, 0), nonideal=laws[3], **pins),
    ]
    joints += [] if drive is None else [da.Drive("motor", joints[0], drive)]
    forces = (da.Gravity((0, -rng.uniform(0, 10))), da.Torque(rocker, rng.uniform(-1, 1)))
    return da.Mechanism((crank, coupler, rocker), joints, forces)


@pytest.mark.parametrize("seed", quick_first(range(12), range(4)))
def test_random_four_bars(seed: int) -> None:
    """Laws of all kinds in all joints; driven at a growing rate, or let go."""
    rng = np.random.default_rng(seed)
    drive = 6 * da.t + rng.uniform(0.2, 2) * da.t**2 if seed % 2 else None
    mechanism = four_bar(rng, seed, drive)
    # the normal force of a pin may come close to zero, where |N| has a corner that long steps pass by
    run, weights = simulated(mechanism, 0.1, () if seed % 2 else ("theta_crank",), intervals=8, max_step=0.004)
    assert run.statistics["program"] == "machine code"
    ledger = assert_own_work(mechanism, run, weights)
    lost = [i for i, entry in enumerate(ledger.entries) if entry.kind == "law"]
    assert (ledger.power[:, lost] < 1e-12).all()
    assert ledger.work[-1, lost].sum() < -1e-4


@pytest.mark.parametrize("seed", quick_first(range(3), [0]))
def test_random_arms_in_space(seed: int) -> None:
    """Two links with hinges about random axes, the first of them driven or not."""
    rng = np.random.default_rng(100 + seed)
    tilt = rng.normal(size=3)
    first = da.Body("first", 2, rng.uniform(0.3, 0.4, 3), position=(0.4, 0, 0))
    second = da.Body("second", 1, rng.uniform(0.15, 0.2, 3), position=(1.2, 0, 0))
    shoulder = da.Revolute(
        "shoulder", da.ground.at(0, 0, 0), first.at(-0.4, 0, 0), axis=(0, 1, 0), nonideal=LAWS[seed](rng)
    )
    elbow = da.Revolute(
        "elbow", first.at(0.4, 0, 0), second.at(-0.4, 0, 0), axis=tuple(tilt), nonideal=LAWS[(seed + 1) % 3](rng)
    )
    joints = (shoulder, elbow) if seed == 1 else (shoulder, elbow, da.Drive("motor", shoulder, 2 * da.t**2))
    mechanism = da.Mechanism((first, second), joints, da.Gravity((0, 0, -9.81)))
    run, weights = simulated(mechanism, 0.3, intervals=15)
    assert_own_work(mechanism, run, weights)


def test_a_planetary_gear_divides_the_power_of_its_motor() -> None:
    """Sun and planet on a carrier that turns itself: torques in proportion to rates relative to it."""
    sun, carrier = da.PlanarBody("sun", 1, 0.4), da.PlanarBody("carrier", 2, 0.6)
    planet = da.PlanarBody("planet", 0.5, 0.1, position=(1, 0))
    axle = da.Revolute("axle", da.ground.at(0, 0), sun, nonideal=da.Viscous(0.2))
    joints = (
        axle,
        da.Revolute("arm", da.ground.at(0, 0), carrier, nonideal=da.Viscous(0.5)),
        da.Revolute("pin", carrier.at(1, 0), planet, nonideal=da.Quadratic(0.3)),
        da.Gear("mesh", sun, planet, ratio=2, carrier=carrier),
        da.Drive("motor", axle, 3 * da.t**2),
    )
    mechanism = da.Mechanism((sun, planet, carrier), joints, da.Gravity((0, -9.81)))
    run, weights = simulated(mechanism, 0.5, intervals=20)
    ledger = assert_own_work(mechanism, run, weights)
    assert ledger["motor: angle"][-1] > 1
    # Euler's equation of the sun: what motor and mesh give, less what its bearing takes
    found, place = mechanism.reactions(run), run.coordinates.index("theta_sun")
    torque = found["motor"].torque + 2 * found["mesh"].torque + found["axle"].torque
    np.testing.assert_allclose(0.4 * run.acceleration[:, place], torque, rtol=0, atol=1e-9)


def test_laws_of_own_constraints_are_not_counted_among_joints() -> None:
    """A damped pin beside a slot, given as a constraint, whose law brakes one body relative to another."""
    arm = da.PlanarBody("arm", 1, 0.1, position=(0.5, 0), spin=3)
    block = da.PlanarBody("block", 1, 0.2, position=(2, 0), velocity=(0, 1))
    pin = da.Revolute("pin", da.ground.at(0, 0), arm.at(-0.5, 0), nonideal=da.Viscous(0.3))
    x, y, _ = block.coordinates
    sliding = y.diff(da.t) - 0.4 * arm.coordinates[2].diff(da.t)
    slot = da.Constraint(x - 2, name="slot", nonideal=da.Viscous(0.7, velocity=sliding))
    mechanism = da.Mechanism((arm, block), pin, da.Gravity((0, -9.81)), slot)
    run, weights = simulated(mechanism, 0.5, ("theta_arm",), intervals=20)
    ledger = assert_own_work(mechanism, run, weights)
    spin, speed = run.qd[:, run.coordinates.index("theta_arm")], run.qd[:, run.coordinates.index("y_block")]
    assert list(mechanism.reactions(run)) == ["pin"]
    np.testing.assert_allclose(mechanism.reactions(run)["pin"].torque, -0.3 * spin, rtol=0, atol=1e-10)
    taken = weights @ (0.7 * (speed - 0.4 * spin) ** 2)
    assert ledger["slot: Viscous"][-1] == pytest.approx(-taken, rel=1e-9)
