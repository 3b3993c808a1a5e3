"""Tolerances and the check of a start follow the scales of a problem, whatever its units."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.numerics.violation import state_scales, violated

x, y = da.coordinates("x y")


def pendulum(length: float, mass: float = 1.0) -> da.System:
    rod = da.Constraint(x**2 + y**2 - length**2, name="rod")
    return da.System((x, y), mass * sp.eye(2), (0, -9.81 * mass), rod)


@pytest.mark.parametrize("length", [1e-12, 1e-9, 1e-3, 1.0, 1e6])
def test_a_pendulum_swings_alike_at_any_size(length: float) -> None:
    """In units of its length and √(l/g), against the pendulum of its angle."""
    theta = da.coordinates("theta")
    times = np.linspace(0, 10, 11)
    angle = da.simulate(
        da.System((theta,), [[1]], (-sp.sin(theta),)), (np.pi / 2,), (0,), times, rtol=1e-12, atol=1e-13
    )
    run = da.simulate(pendulum(length), (length, 0), (0, 0), times * np.sqrt(length / 9.81))
    np.testing.assert_allclose(run.q[:, 0] / length, np.sin(angle.q[:, 0]), atol=2e-9)
    assert not run.notes


@pytest.mark.parametrize("length", [1e-12, 1e-9, 1.0, 1e3])
@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e9])
def test_a_start_off_the_rod_is_refused_at_any_size(length: float, mass: float) -> None:
    times = np.array([0, 0.1]) * np.sqrt(length)
    for off in (2.0, 1 + 1e-6):
        with pytest.raises(da.StateError, match="`rod` is violated"):
            da.simulate(pendulum(length, mass), (off * length, 0), (0, 0), times)
        with pytest.raises(da.StateError, match="`rod` is violated"):
            da.simulate(pendulum(length, mass), (length, 0), ((off - 1) * np.sqrt(length), 0), times)
    da.simulate(pendulum(length, mass), (length, 0), (0, np.sqrt(length)), times)


def chain(links: int, length: float) -> tuple[da.System, np.ndarray]:
    """A hanging chain, and a straight state of it."""
    names = da.coordinates(" ".join(f"x{k} y{k}" for k in range(links)))
    ends = [(0, 0), *zip(names[::2], names[1::2], strict=True)]
    rods = [
        da.Constraint((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2, name=f"link {k}")
        for k, (a, b) in enumerate(pairwise(ends))
    ]
    straight = length * np.outer(np.arange(1, links + 1), [0.6, -0.8]).ravel()
    return da.System(names, sp.eye(2 * links), (0, -9.81) * links, rods), straight


@pytest.mark.parametrize("length", [1e-16, 1e-20, 1e-60])
def test_lengths_that_count_as_zero_are_refused(length: float) -> None:
    """A state that was not the nearest one was returned, wrong ones were accepted, and verdicts were wrong."""
    system, straight = chain(40, length)
    rest, given = np.zeros(80), straight + 0.3 * length * np.random.default_rng(0).normal(size=80)
    refusal = r"must not all be below 1e-14.*lengths of that order in `link 0`.*smaller unit of length"
    with pytest.raises(da.StateError, match=refusal):
        da.consistent_state(system, given, rest)
    short, straight = chain(2, length)
    for start in (straight, 1.1 * straight):
        with pytest.raises(da.StateError, match=refusal):
            da.simulate(short, start, np.zeros(4), [0, 1e-6])
    with pytest.raises(da.StateError, match=refusal):
        da.simulate(short, straight, np.zeros(4), [0, 1e-6], allow_violation=True)
    with pytest.raises(da.StateError):
        da.consistent_state(short, (1e-3, 1, 2, 3), np.zeros(4))
    for verdict in (da.check(short), da.check(short, straight, np.zeros(4))):
        assert len(verdict.findings) == 1 and "unit of length" in verdict.findings[0].message
    members = da.simulate_ensemble(short, np.outer([1, 1.1], straight), np.zeros(4), [0, 1e-6])
    assert all("smaller unit of length" in reason for reason in members["reason"].values)


def test_rounding_of_zero_is_no_length() -> None:
    """Coordinates that rounding leaves of zero start a motion of a crank of one metre."""
    angle, lift = da.coordinates("angle lift")
    crank = da.Constraint(lift - sp.exp(angle) + 0.3 * sp.cos(angle) + 0.7, name="crank")
    system = da.System((angle, lift), sp.eye(2), (1, 0), crank)
    q, qd = da.consistent_state(system, (1.2e-16, -3e-17), (0, 0))
    np.testing.assert_allclose(q, 0, atol=1e-15)
    assert not da.simulate(system, (1.2e-16, -3e-17), qd, [0, 0.1]).notes
    assert da.check(system, (1.2e-16, -3e-17), (0, 0)).well_posed
    # a constraint without a gradient holds at zero itself, which is no matter of units
    verdict = da.check(da.System((angle, lift), sp.eye(2), (1, 0), da.Constraint(angle**2, name="square")))
    assert "no gradient of its own" in str(verdict)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1.0])
def test_starts_of_designs_reach_the_constraints_in_any_unit(unit: float) -> None:
    """Starts 10 % off a rod are moved onto it, to rounding."""
    pytest.importorskip("xarray")
    design = da.grid(x=unit * np.array([0.7, 1.1]))
    many = da.simulate_ensemble(pendulum(unit), (unit, 0.5 * unit), (0, 0), [0, 1e-9 * unit], parameters=design)
    np.testing.assert_allclose(np.linalg.norm(many["q"][:, 0], axis=1) / unit, 1, rtol=1e-13)


def test_scales_are_those_of_the_mass_metric() -> None:
    """A crank of 1e-6 m: its angle is of the order of one, what it moves of the order of its length."""
    M, zero = np.diag([1e-12, 1.0]), np.zeros(2)
    np.testing.assert_allclose(state_scales(M, zero, [0.5, 0], zero), [0.5, 0.5e-6, 0.5, 0.5e-6])
    # a coordinate in nanometres, one in kilometres: both have the scale of their own numbers
    far = state_scales(np.diag([1e-18, 1e6]), zero, [1e9, 1e-3], zero)
    np.testing.assert_allclose(far, [1e9, 1e-3, 1e9, 1e-3])
    np.testing.assert_array_equal(state_scales(M, zero, zero, zero), 1)  # nothing is known
    np.testing.assert_array_equal(state_scales(M, zero, [1e-17, 0], zero), 1)  # nor from what rounding leaves
    # a year per radian: slow motions have slow scales, rest and rounding errors have not
    slow = [state_scales(np.eye(2), zero, [3.0, 0], [rate, 0])[2] for rate in (1e-7, 1e-17, 0)]
    np.testing.assert_allclose(slow, [1e-7, 3e-9, 3])
    # no coarser than one, or than a coordinate's own numbers
    np.testing.assert_allclose(state_scales(np.eye(2), zero, [3.0, 0], [5.0, 0]), [3, 1, 5, 5 / 3])


def test_machine_code_knows_the_same_scales_and_violations() -> None:
    m, inertia = da.parameters("m inertia")
    theta = da.coordinates("theta")
    system = da.System(
        (x, theta), [[m, 0], [0, inertia]], (-x, -m), da.Constraint(x - sp.sin(theta) * 1e-3, name="crank")
    )
    native, rng = da.build(system).native, np.random.default_rng(3)
    for _ in range(50):
        q, qd = 10.0 ** rng.uniform(-9, 1, (2, 2)) * rng.normal(size=(2, 2))
        if rng.random() < 0.5:
            q[0] = np.sin(q[1]) * 1e-3 * (1 + 10.0 ** rng.uniform(-13, -5))
            qd[0] = np.cos(q[1]) * 1e-3 * qd[1]
        p = 10.0 ** rng.uniform(-6, 6, 2)
        M, Q, A, _, position, velocity = native.terms(q, qd, 0.0, p)
        fine, _, scales = native.start(np.concatenate([q, qd]), 0.0, p)
        np.testing.assert_allclose(scales, state_scales(M, Q, q, qd), rtol=1e-14)
        off = violated(position, A, q, mass_matrix=M) | violated(velocity, A, qd, q, M)
        assert fine == (not off.any())


def test_members_of_an_ensemble_have_their_own_scales() -> None:
    length = np.array([1e-9, 1e-3, 1.0])
    rod = da.Constraint(x**2 + y**2 - da.parameters("l") ** 2, name="rod")
    system = da.System((x, y), sp.eye(2), (0, -9.81), rod)
    q0 = np.stack([length, 0 * length], axis=1)
    times = np.linspace(0, 1e-4, 3)
    many = da.simulate_ensemble(system, q0, (0, 0), times, parameters={"l": length})
    for k in range(3):
        alone = da.simulate(system, q0[k], (0, 0), times, parameters={"l": length[k]})
        np.testing.assert_allclose(many["q"][k], alone.q, rtol=1e-12)


def test_a_motion_that_its_tolerance_does_not_resolve_is_noted() -> None:
    free = da.System((x,), [[1]], (0,))
    run = da.simulate(free, (0,), (1e-12,), [0, 1])
    assert any("pass a smaller `atol`" in note for note in run.notes)
    assert not da.simulate(free, (0,), (1e-12,), [0, 1], atol=1e-20).notes
    assert da.simulate(free, (1,), (0,), [0, 1]).statistics["atol"] == USUAL_ATOL


def test_a_start_that_is_moved_by_projection_is_noted() -> None:
    """Off by 2e-10 along the rod, as a published start may be: it is accepted, and moved by half of that."""
    off = np.sqrt(1 + 2e-10)
    run = da.simulate(pendulum(1.0), (off, 0), (0, 0), [0, 1])
    assert run.notes[0] == (
        "The initial state misses `rod` by 2.0e-10; projection onto the constraints moves it, by up to 1.0e-10 in `x`."
    )
    assert run["x"][0] == off
    assert not da.simulate(pendulum(1.0), (off, 0), (0, 0), [0, 1], drift=None).notes
    assert not da.simulate(pendulum(1.0), (1, 0), (0, 0), [0, 1]).notes


def test_a_distance_needs_a_metric() -> None:
    """An indefinite mass matrix is none: nothing is assumed in its place."""
    system = da.System((x, y), [[1, 0], [0, -1]], (0, 0), da.Constraint(x + 2 * y - 1, name="line"))
    with pytest.raises(da.MassMatrixError, match='Pass `metric="euclidean"`'):
        da.consistent_state(system, (0, 0), (0, 0))
    q, qd = da.consistent_state(system, (0, 0), (1, 0), metric="euclidean")
    np.testing.assert_allclose(q, [0.2, 0.4], atol=1e-14)
    np.testing.assert_allclose(qd, [0.8, -0.4], atol=1e-14)
    with pytest.raises(da.InputError, match='`metric` must be "mass" or "euclidean"'):
        da.consistent_state(system, (0, 0), (0, 0), metric="mas")


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e9])
def test_the_nearest_state_in_other_units(unit: float) -> None:
    """On an ellipse, where the distance to the given point is stationary: M (q − q₀) is along the gradient."""
    masses = np.array([3.0, 0.2])
    ellipse = da.Constraint(x**2 / 4 + y**2 - unit**2, name="ellipse")
    system = da.System((x, y), sp.diag(3, sp.Rational(1, 5)), (0, 0), ellipse)
    given = unit * np.array([1.1, 1.7])
    q, _ = da.consistent_state(system, given, (0, 0))
    away, gradient = masses * (q - given), np.array([q[0] / 2, 2 * q[1]])
    cosine = away @ gradient / np.linalg.norm(away) / np.linalg.norm(gradient)
    assert 1 - abs(cosine) < 1e-15
    assert abs(q[0] ** 2 / 4 + q[1] ** 2 - unit**2) < 1e-15 * unit**2
