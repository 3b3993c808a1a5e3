"""A run reports the motion itself: d(q̇)/dt of its dense output is `acceleration`, and M q̈ − Q the forces.

For every case of the gallery and 200 random systems, under every drift cure.
"""

from collections.abc import Callable
from typing import Any

import diffrax
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import (
    ALL_DRIFT_CURES,
    CONTACTS,
    label,
    pendulum,
    projects,
    quick_first,
    refused_off_the_constraints,
    start_of,
)
from random_systems import random_system

CENTRES = 4
"""Times at which dense output is differentiated."""

WIDTHS = (4e-3, 1e-3, 2.5e-4)
"""Distances of the nine points of a difference, of which the one that agrees best with one of less order counts."""

EIGHTH = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840
SIXTH = np.array([0, -1, 9, -45, 0, 45, -9, 1, 0]) / 60

Terms = Callable[[da.Trajectory, Any], tuple[np.ndarray, np.ndarray]]


def assert_own_motion(
    simulate: Callable[..., da.Trajectory],
    terms: Terms,
    start: float,
    unit: float,
    accuracy: float = 1e-7,
    *,
    units: int = 10,
    count: int = CENTRES,
) -> da.Trajectory:
    """The two laws at some times in ten units from the start; a unit is a time in which little happens."""
    reach = 4 * WIDTHS[0] * unit
    centres = np.linspace(start + 1.5 * reach, start + units * unit - 1.5 * reach, count)
    around = centres[:, None, None] + unit * np.array(WIDTHS)[:, None] * np.arange(-4, 5)
    times, places = np.unique(np.append(start, around), return_inverse=True)
    run = simulate(times)
    at = places[1:].reshape(around.shape)
    middle = at[:, 0, 4]
    # an event is a kink of the velocity, across which nothing can be differentiated
    smooth = np.array([all(abs(event[0] - c) > reach for event in run.events) for c in centres])
    assert smooth.sum() >= count / 2
    for values, slopes in ((run.q, run.qd), (run.qd, run.acceleration)):
        found = _derivative(values[at], unit * np.array(WIDTHS)[:, None])
        off = np.abs(found - slopes[middle]).max(axis=1) / (1 + np.abs(slopes).max())
        assert off[smooth].max() < accuracy, off
    M, Q = terms(run, middle)
    left = np.einsum("tij,tj->ti", M, run.acceleration[middle]) - Q
    size = 1 + np.abs(left).max() + np.abs(Q).max()
    np.testing.assert_allclose(left, run.constraint_force[middle], rtol=0, atol=1e-10 * size)
    return run


def _derivative(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """From values (c, w, 9, n) around c centres at w distances."""
    fine, rough = (np.einsum("k,cwkn->cwn", weights, values) / steps for weights in (EIGHTH, SIXTH))
    best = np.argmin(np.abs(fine - rough).max(axis=2), axis=1)
    return fine[np.arange(len(fine)), best]


def terms_of(system: da.System) -> Terms:
    """M (k, n, n) and Q (k, n), with the inputs of actuators, at k times of a run, by SymPy and NumPy alone."""
    symbols = system.symbols
    actuators = {actuator.name: actuator for servo in system.servos for actuator in servo.by or ()}
    directions = [sp.Matrix(actuator.direction(system.coordinates)) for actuator in actuators.values()]
    p = [sp.Symbol(name, real=True) for name in system.parameter_names]
    both = sp.Matrix.hstack(sp.Matrix(system.mass_matrix), sp.Matrix(list(system.applied_force)), *directions)
    compute: Any = sp.lambdify([*symbols.q, *symbols.qd, symbols.time, *p], both.applyfunc(symbols.plain), cse=True)

    def terms(run: da.Trajectory, chosen: Any) -> tuple[np.ndarray, np.ndarray]:
        numbers = [run.parameters[name] for name in system.parameter_names]
        states = zip(run.q[chosen], run.qd[chosen], run.t[chosen], strict=True)
        found = np.array([compute(*q, *qd, t, *numbers) for q, qd, t in states], float)
        n = len(system.coordinates)
        Q = found[:, :, n]
        for j, name in enumerate(actuators, start=n + 1):
            Q = Q + run.inputs[name][chosen, None] * found[:, :, j]
        for i, name in enumerate(run.coordinates):  # a force on every coordinate, without actuators
            Q[:, i] += run.inputs[name][chosen] if name in run.inputs else 0
        return found[:, :, :n], Q

    return terms


LARGE = {"bicycle", "bricard", "four-bars", "rotating-rod", "swarm", "swarm-control", "crane", "five-bar", "satellites"}
LARGE |= {"arm-circle", "arm-circle-inertia", "wrong-masses"}
BY_JAX = {"measured", "indefinite-mass", "hidden-constraint"}
"""Cases that take long to compile, here for every drift cure; the pendulum below is integrated by JAX, too."""


SOME_CONTACTS = CONTACTS - {"bouncing-ball", "slack-rope", "bowling-ball"}


@pytest.mark.parametrize(
    "name", quick_first(da.gallery.names(), set(da.gallery.names()) - LARGE - BY_JAX - SOME_CONTACTS)
)
def test_gallery(name: str) -> None:
    """From the case's own start, and off its constraints where the cure does not lead back at once."""
    case = da.gallery.case(name)
    terms, start = terms_of(case.system), float(case.times[0])
    unit = min(0.1, (case.times[-1] - start) / 20)
    for drift in ALL_DRIFT_CURES:
        q0, qd0 = start_of(case, drift, off=name not in CONTACTS)  # bodies must not penetrate one another
        options: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "formulation": case.formulation}
        options |= {"drift": drift, "allow_violation": True, "parameters": case.parameters}
        if refused_off_the_constraints(case.system, q0, qd0, options):
            continue
        assert_own_motion(lambda times: da.simulate(case.system, q0, qd0, times, **options), terms, start, unit)  # noqa: B023


@pytest.mark.parametrize("name", quick_first(sorted(CONTACTS), ["falling-bead", "rod-impact", "slack-rope"]))
def test_contacts_over_their_published_times(name: str) -> None:
    """At 200 times, through all events: the slider with clearance has 212 of them."""
    case = da.gallery.case(name)
    terms, start, units = terms_of(case.system), float(case.times[0]), 200
    unit = (float(case.times[-1]) - start) / units
    for drift in ALL_DRIFT_CURES:
        options: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "formulation": case.formulation}
        options |= {"drift": drift, "parameters": case.parameters}
        run = assert_own_motion(
            lambda times: da.simulate(case.system, case.q0, case.qd0, times, **options),  # noqa: B023
            terms,
            start,
            unit,
            units=units,
            count=200,
        )
        assert run.t[-1] > start + (units - 1) * unit


@pytest.mark.parametrize("name", quick_first(sorted(set(da.gallery.names()) - BY_JAX), ["pendulum", "belt"]))
def test_gallery_by_the_implicit_integrator(name: str) -> None:
    case = da.gallery.case(name)
    start = float(case.times[0])
    q0, qd0 = case.q0, case.qd0
    if case.allow_violation:
        q0, qd0 = da.consistent_state(case.system, q0, qd0, start, parameters=case.parameters)
    options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "solver": da.Implicit(), "parameters": case.parameters}
    assert_own_motion(
        lambda times: da.simulate(case.system, q0, qd0, times, **options),
        terms_of(case.system),
        start,
        min(0.1, (case.times[-1] - start) / 20),
    )


@pytest.mark.parametrize("seed", quick_first(range(12), [0, 1]))
def test_the_implicit_integrator(seed: int) -> None:
    """Random systems, each under one of the cures, in turn."""
    drift = ALL_DRIFT_CURES[seed % len(ALL_DRIFT_CURES)]
    system, q0, qd0 = random_system(seed, off=0.0 if projects(drift) else 0.03)
    options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "drift": drift, "allow_violation": True}
    options["solver"] = da.Implicit()
    assert_own_motion(lambda times: da.simulate(system, q0, qd0, times, **options), terms_of(system), 0.0, 0.1)


@pytest.mark.parametrize("chunk", quick_first(range(10), [0]))
def test_random_systems(chunk: int) -> None:
    """Constraints of all levels, redundant ones, moving ones, nonideal laws; each under one of the cures, in turn."""
    for seed in range(20 * chunk, 20 * chunk + 20):
        drift = ALL_DRIFT_CURES[seed % len(ALL_DRIFT_CURES)]
        system, q0, qd0 = random_system(seed, off=0.0 if projects(drift) else 0.03)
        options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "drift": drift, "allow_violation": True}
        run = assert_own_motion(
            lambda times: da.simulate(system, q0, qd0, times, **options),  # noqa: B023
            terms_of(system),
            0.0,
            0.1,
        )
        assert run.statistics["program"] == "machine code", seed


@pytest.mark.parametrize(
    "formulation", quick_first([da.PseudoInverse(), da.StackedLeastSquares()], [da.PseudoInverse()]), ids=label
)
def test_other_formulations(formulation: Any) -> None:
    """By the general integrator, off the constraint; those left out go the same way, and take long to compile."""
    by_general_integrator(pendulum(), formulation=formulation)


def test_fixed_steps() -> None:
    by_general_integrator(pendulum(), step=0.002, solver=diffrax.Dopri8())


@pytest.mark.parametrize("redundant", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_another_solver(*, redundant: bool) -> None:
    """Redundant rows of two levels, whose stabilising terms differ: those of the rows in use count."""
    x, y = da.coordinates("x y")
    again = da.Constraint(x * x.diff(da.t) + y * y.diff(da.t), name="velocity")
    by_general_integrator(pendulum(*[again] * redundant), solver=diffrax.Tsit5(), rtol=1e-12)


def by_general_integrator(system: da.System, **options: Any) -> None:
    given: dict[str, Any] = {"drift": da.Baumgarte(5, 4), "allow_violation": True, "parameters": {"g": 9.81}}
    run = assert_own_motion(
        lambda times: da.simulate(system, (1.1, 0.2), (0.3, 1.0), times, **given, **options),
        terms_of(system),
        0.0,
        0.05,
    )
    assert run.statistics["program"] != "machine code"
    assert run.notes[0] == "Accelerations, constraint forces and multipliers include Baumgarte's stabilising terms."


def test_a_pendulum_longer_than_its_rod_is_pulled_back() -> None:
    """x² + y² = 1 at (1.1, 0) at rest: 2.2 ẍ = −β² (1.1² − 1), by hand."""
    x, y = da.coordinates("x y")
    system = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))
    run = da.simulate(system, (1.1, 0), (0, 0), [0, 0.1], drift=da.Baumgarte(5, 5), allow_violation=True)
    np.testing.assert_allclose(run.acceleration[0], [-25 * 0.21 / 2.2, -10], rtol=1e-14)
    np.testing.assert_allclose(run["rod"][0], -25 * 0.21 / 2.2**2, rtol=1e-14)


def test_the_swarm_is_pushed_as_it_moves() -> None:
    """Every robot has a constraint on each velocity: m q̈ = −m (d/dt of the rest) − m k β."""
    case = da.gallery.case("swarm")
    stabilised, printed = (
        da.gallery.case(name).simulate(times=[0, 0.1]).constraint_force[0] for name in ("swarm", "swarm-as-printed")
    )
    beta = case.simulate(times=[0, 0.1]).violation[0]
    np.testing.assert_allclose(stabilised, printed - 2.0 * 2.0 * beta, rtol=1e-12)
    np.testing.assert_allclose([printed[0], stabilised[0]], [1.3905108945, 67.8325515102], rtol=1e-10)


def test_violations_at_acceleration_level_are_those_of_the_constraint_itself() -> None:
    """x = 0 stabilised asks for ẍ = −2αẋ − β²x, and ẍ = 0, redundant with it, is missed by just that."""
    x, y = da.coordinates("x y")
    rows = da.Constraint(x, name="place"), da.Constraint(x.diff(da.t, 2), name="acceleration")
    system = da.System((x, y), sp.eye(2), (3, 1), rows)
    run = da.simulate(system, (0.1, 0), (0.2, 0), [0, 0.1], drift=da.Baumgarte(5, 4), allow_violation=True)
    assert run.statistics["program"] == "machine code"
    np.testing.assert_allclose(run.acceleration[0], [-(2 * 5 * 0.2 + 16 * 0.1), 1], rtol=1e-14)
    np.testing.assert_allclose(run.violation[0], [0.1, -3.6], rtol=1e-14)
