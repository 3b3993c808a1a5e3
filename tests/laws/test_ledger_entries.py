"""Every entry of a ledger is the work of its own force: gallery and 200 random systems, under every drift cure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis import run_ledger
from dalembert.analysis.energy_terms import ledger_terms
from entry_powers import OwnPowers, gauss_times
from helpers import ALL_DRIFT_CURES, CONTACTS, projects, quick_first, refused_off_the_constraints, start_of
from random_systems import random_system

INTERVALS = 20
"""Of an integral by Gauss's rule, besides those that events make."""

ATTEMPTS = 5
"""Spans over which the integrals are tried, each a quarter of the last."""

POWER, WORK = 1e-9, 1e-8
"""Differences that rounding and the integration leave, relative to the largest power and to the energies."""


def assert_own_entries(ledger: Any, run: da.Trajectory, own: OwnPowers) -> np.ndarray:
    """Every entry has the power of its own force, and all of them together change the energy; return those powers."""
    kinds, powers = np.array([entry.kind for entry in ledger.entries]), own.along(run)
    rate, energy = 1 + np.abs(ledger.power).max(), own.energy(run)
    size = 1 + np.abs(ledger.work).max() + np.abs(energy - energy[0]).max() + np.abs(ledger.kinetic).max()
    of_laws = ledger.power[:, kinds == "law"]
    described = np.isfinite(powers.laws)
    np.testing.assert_allclose(ledger.power[:, kinds == "reaction"], powers.reactions, rtol=0, atol=POWER * rate)
    np.testing.assert_allclose(of_laws[described], powers.laws[described], rtol=0, atol=POWER * rate)
    np.testing.assert_allclose(ledger.power[:, kinds == "input"], powers.inputs, rtol=0, atol=POWER * rate)
    shared = powers.reactions.sum(axis=1) + of_laws.sum(axis=1)
    if "compromise" not in kinds:
        np.testing.assert_allclose(shared, powers.constraint, rtol=0, atol=POWER * rate)
    np.testing.assert_allclose(ledger.work.sum(axis=1), energy - energy[0], rtol=0, atol=WORK * size)
    return np.concatenate([powers.reactions, np.where(described, powers.laws, of_laws), powers.inputs], axis=1)


def assert_own_works(simulate: Callable[[Any], da.Trajectory], own: OwnPowers, start: float, end: float) -> None:
    """The work of every entry is the integral of its own power, up to a time until which Gauss's rule resolves them."""
    for _ in range(ATTEMPTS):
        run = simulate(np.linspace(start, end, INTERVALS + 1))
        events = [event[0] for event in run.events if start < event[0] < end]
        edges = np.unique(np.concatenate([run.t, events]))
        # the last of several edges that differ by rounding is the event itself
        edges = edges[np.append(np.diff(edges) > 1e-9 * (end - start), True)]
        times, weights = gauss_times(edges)
        run = simulate(times)
        ledger = run.ledger()
        powers = assert_own_entries(ledger, run, own)
        entries = [entry.kind in {"reaction", "law", "input"} for entry in ledger.entries]
        size = 1 + np.abs(ledger.work).max() + np.abs(ledger.kinetic).max()
        impacts = any(event.kind == "impact" for event in run.events)
        if impacts or np.allclose(ledger.work[-1, entries], weights @ powers, rtol=0, atol=WORK * size):
            return
        # powers with corners, or that change within an interval, need shorter ones; a wrong work would not get right
        end = start + (end - start) / 4
    raise AssertionError(ledger.work[-1, entries] - weights @ powers)


LARGE = {"bicycle", "bricard", "turntable", "four-bar", "snakeboard", "five-bar"}
"""Cases of which one drift cure is tried; `tests/mechanisms/test_work_everywhere.py` has their projections, too."""

BY_JAX = {"measured", "indefinite-mass", "hidden-constraint"}
"""Cases that are compiled by JAX, for each drift cure again."""

QUICK = ("pendulum", "spiral", "bead", "belt", "bouncing-ball")


@pytest.mark.parametrize("name", quick_first(da.gallery.names(), QUICK))
def test_gallery(name: str) -> None:
    """Under every drift cure; off the constraints, where the cure does not lead back at once."""
    case = da.gallery.case(name)
    own, start = OwnPowers(case.system), float(case.times[0])
    cures = ALL_DRIFT_CURES if name not in LARGE | BY_JAX else ALL_DRIFT_CURES[1:2]
    for drift in cures:
        q0, qd0 = start_of(case, drift, off=name not in CONTACTS)
        options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "formulation": case.formulation, "drift": drift}
        options |= {"allow_violation": True, "parameters": case.parameters}
        if refused_off_the_constraints(case.system, q0, qd0, options):
            q0, qd0 = start_of(case, da.Projection())
            options["drift"] = da.Projection()
        end = start + min(1.0, (case.times[-1] - start) / 2)
        assert_own_works(lambda times: da.simulate(case.system, q0, qd0, times, **options), own, start, end)  # noqa: B023


@pytest.mark.parametrize("chunk", quick_first(range(20), [0]))
def test_random_systems(chunk: int) -> None:
    """200 systems, each under one of the cures, in turn."""
    for seed in range(10 * chunk, 10 * chunk + 10):
        drift = ALL_DRIFT_CURES[seed % len(ALL_DRIFT_CURES)]
        system, q0, qd0 = random_system(seed, off=0.0 if projects(drift) else 0.03)
        options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "drift": drift, "allow_violation": True}
        own = OwnPowers(system)
        assert_own_works(lambda times: da.simulate(system, q0, qd0, times, **options), own, 0.0, 1.0)  # noqa: B023
        run = da.simulate(system, q0, qd0, np.linspace(0, 1, 41), **options)
        ledger, powers = run.ledger(), own.along(run)
        atol = POWER * (1 + np.abs(ledger.power).max())
        if projects(drift):
            np.testing.assert_allclose(powers.reactions, powers.driven, rtol=0, atol=atol)
        forces = np.sum((run.ideal_force, run.nonideal_force), axis=0)
        np.testing.assert_allclose(ledger.force[:, 1:].sum(axis=1), forces, rtol=0, atol=atol)
        both = np.stack([ledger.ideal_power, ledger.nonideal_power])
        papers = [np.sum(force * run.qd, axis=1) for force in (run.ideal_force, run.nonideal_force)]
        np.testing.assert_allclose(both, papers, rtol=0, atol=atol)
        np.testing.assert_allclose(ledger.split_work.sum(axis=1), ledger.work.sum(axis=1), rtol=0, atol=atol)


RIPPLE, PULSE, SHARP = (
    -5 * sp.sin(40 * da.t),
    -100 * sp.exp(-100 * (da.t - 5) ** 2),
    -100 * sp.exp(-1e4 * (da.t - 5) ** 2),
)


@pytest.mark.parametrize(
    ("load", "work"),
    [
        (RIPPLE, 5 * (1 - np.cos(404)) / 40),
        (PULSE, 100 * np.sqrt(np.pi / 100)),
        (SHARP, 100 * np.sqrt(np.pi / 1e4)),
    ],
)
@pytest.mark.parametrize("by", ["drive", "servo", "implicit"])
def test_work_where_the_motion_is_prescribed(load: Any, work: float, by: str) -> None:
    """x = t takes six steps, whatever the load on it is; in closed form, and in an audit the errors would cancel."""
    x = da.coordinates("x")
    servo = da.Servo("course", x - da.t, by=da.Actuator("motor", x), settle=1)
    rows: dict[str, Any] = (
        {"servos": servo} if by == "servo" else {"constraints": da.Constraint(x - da.t, name="motor")}
    )
    system = da.System((x,), [[1]], (load.subs(da.t, x),), **rows)
    run = da.simulate(system, (0,), (1,), [0, 10.1], solver=da.Implicit() if by == "implicit" else None)
    ledger = run.ledger()
    assert run.statistics["steps"] < 100
    np.testing.assert_allclose([ledger["motor"][-1], -ledger["applied forces"][-1]], work, rtol=1e-9)
    assert ledger.notes == ()


def test_work_of_friction_whose_normal_force_changes_its_sign() -> None:
    """A guide pressed by 10 cos 3x; |cos| is integrated piece by piece."""
    x, y = da.coordinates("x y")
    friction = da.Coulomb(0.5, velocity=x.diff(da.t), normal_force=da.multiplier("guide"))
    rows = da.Constraint(x - da.t, name="motor"), da.Constraint(y, name="guide", nonideal=friction)
    system = da.System((x, y), sp.eye(2), (0, -10 * sp.cos(3 * x)), rows)
    ledger = da.simulate(system, (0, 0), (1, 0), [0, 4, 10]).ledger()
    signs = int(30 / np.pi + 0.5)  # of the cosine, from 0 to 10
    expected = 5 / 3 * (2 * signs + (-1) ** signs * np.sin(30))
    np.testing.assert_allclose([ledger["motor"][-1], -ledger["guide: Coulomb"][-1]], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("push", "work"),
    [
        (sp.Heaviside(da.t - 1.2345678), np.sin(5) - np.sin(1.2345678)),
        (
            sp.Piecewise((1, da.t < 0.7), (-3, da.t < 2.9), (10, True)),
            4 * np.sin(0.7) - 13 * np.sin(2.9) + 10 * np.sin(5),
        ),
    ],
)
def test_jumps_that_the_motion_does_not_feel(push: Any, work: float) -> None:
    """x = sin t is prescribed; the integral of cos t times a step."""
    x = da.coordinates("x")
    system = da.System((x,), [[1]], {"push": (push,)}, da.Constraint(x - sp.sin(da.t), name="drive"))
    ledger = da.simulate(system, (0,), (1,), [0, 5]).ledger()
    np.testing.assert_allclose(ledger["push"][-1], work, atol=1e-11)
    assert ledger.notes == ()


def test_named_forces_that_cancel_are_integrated_one_by_one() -> None:
    x = da.coordinates("x")
    ripple = -5 * sp.sin(40 * x)
    system = da.System((x,), [[1]], {"load": (ripple,), "help": (-ripple,)})
    ledger = da.simulate(system, (0,), (1,), [0, 10.1]).ledger()
    np.testing.assert_allclose([-ledger["load"][-1], ledger["help"][-1]], 5 * (1 - np.cos(404)) / 40, rtol=1e-9)


def test_large_systems_say_that_the_powers_vary_faster_than_the_motion() -> None:
    x, u = da.coordinates("x", 400), da.coordinates("u")
    drives = da.Constraint.over(u - da.t, {u: x}, name="motor")
    for rate, notes in ((40, 0), (4000, 1)):
        load = da.AppliedForce.over({u: -5 * sp.sin(rate * u)}, {u: x})
        system = da.System((x,), 1, load, drives)
        ledger = da.simulate(system, np.zeros(400), np.ones(400), [0, 10.1]).ledger()
        assert len(ledger.notes) == notes
        if not notes:
            np.testing.assert_allclose(ledger["motor[7]"][-1], 5 * (1 - np.cos(404)) / 40, rtol=1e-7)
    assert "may be off by" in ledger.notes[0] and "Pass a smaller `max_step`." in ledger.notes[0]


def block_on_an_incline() -> da.Trajectory:
    x, y = da.coordinates("x y")
    plane = da.Constraint(y - x / 3, name="plane", nonideal=da.Coulomb(0.6))
    return da.simulate(da.System((x, y), sp.eye(2), (0, -9.81), plane), (1.0, 1 / 3), (0, 0), [0, 1, 3])


def rod_that_falls_flat() -> da.Trajectory:
    """Without motion at both outputs; in the end it sticks at both ends."""
    x, y, a = da.coordinates("x y a")
    ends = []
    for name, side in (("left", -1), ("right", 1)):
        tip = (x + side * sp.cos(a), y + side * sp.sin(a))
        friction = da.Coulomb(0.5, velocity=tip[0].diff(da.t), normal_force=da.multiplier(name))
        ends.append(da.Constraint(sp.Ge(tip[1], 0), name=name, restitution=0, nonideal=friction, impact="poisson"))
    rod = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (0, -10, 0), ends)
    return da.simulate(rod, (0, 1, 0.2), (0, 0, 0), [0, 3])


@pytest.mark.parametrize("at_rest", [block_on_an_incline, rod_that_falls_flat])
def test_work_of_rounding_at_rest_is_not_refined(at_rest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Powers of 1e-42 W were integrated to eight digits, at two million states."""
    run, states = at_rest(), list[int]()
    monkeypatch.setattr(run_ledger, "ledger_terms", lambda *given: states.append(len(given[2])) or ledger_terms(*given))
    ledger = run.ledger()
    assert sum(states) < 20_000
    assert ledger.closure < 1
