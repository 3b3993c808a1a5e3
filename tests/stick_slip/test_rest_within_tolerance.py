"""A state of sticking that a run returns is a state of rest, though its velocities are not exactly zero."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
SLOPE, GRAVITY = 0.1, 10.0
DRIFTS = [da.Projection(), None, da.Baumgarte(5, 5)]


def incline(mu: float, mu_static: float | None = None) -> da.System:
    friction = da.Coulomb(mu, mu_static=mu_static)
    return da.System((x, y), sp.eye(2), (0, -GRAVITY), da.Constraint(y - SLOPE * x, name="incline", nonideal=friction))


def downhill() -> np.ndarray:
    """The force of gravity along the incline."""
    along = np.array([1, SLOPE]) / np.sqrt(1 + SLOPE**2)
    return along * (along @ [0, -GRAVITY])


@pytest.mark.parametrize("drift", DRIFTS)
def test_the_force_is_that_which_holds(drift) -> None:
    system = incline(0.5)
    run = da.simulate(system, (0, 0), (1, SLOPE), [0, 0.3, 1.0], drift=drift)
    assert [event.kind for event in run.events] == ["sticks"]
    for q, qd, force in zip(run.q[1:], run.qd[1:], run.nonideal_force[1:], strict=True):
        point = da.motion(system, q, qd)
        np.testing.assert_allclose(point.acceleration, 0, atol=1e-14)
        np.testing.assert_allclose(point.nonideal_force, -downhill(), rtol=1e-14)
        np.testing.assert_allclose(force, -downhill(), rtol=1e-12)


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_run_continued_from_there_stays_at_rest(drift) -> None:
    """Static friction holds, 0.1 < μₛ = 0.2; sliding friction, μ = 0.05, would not."""
    system = incline(0.05, 0.2)
    first = da.simulate(system, (0, 0), (1, SLOPE), [0, 3.0], drift=drift)
    assert [event.kind for event in first.events] == ["sticks"]
    # a velocity of rounding size down the incline, as a run with drift may leave it
    q, qd = first.q[-1], first.qd[-1] - 1e-15 * np.array([1, SLOPE])
    again = da.simulate(system, q, qd, [0, 2.0], drift=drift)
    np.testing.assert_allclose(again.q[-1], q, atol=1e-12)
    assert not again.events
    many = da.simulate_ensemble(system, np.stack([q, q]), qd, [0, 2.0], drift=drift)
    np.testing.assert_allclose(many["q"].values[:, -1], [q, q], atol=1e-12)


def test_slow_sliding_is_not_rest() -> None:
    """At a speed of 1e-8 down the incline friction brakes with μ N only, and the block slides away."""
    system = incline(0.05, 0.2)
    qd = -1e-8 * np.array([1, SLOPE])
    normal = GRAVITY / np.sqrt(1 + SLOPE**2)
    along = np.array([1, SLOPE]) / np.sqrt(1 + SLOPE**2)
    np.testing.assert_allclose(da.motion(system, (0, 0), qd).nonideal_force, 0.05 * normal * along, rtol=1e-12)
    rate = SLOPE * normal - 0.05 * normal
    run = da.simulate(system, (0, 0), qd, [0, 1.0])
    np.testing.assert_allclose(run.q[-1], -rate / 2 * along, rtol=1e-6)


def test_the_tolerance_follows_the_scale_of_the_motion() -> None:
    """Lengths in units a billion times larger: the same speeds are small or not."""
    unit = 1e9
    system = da.System(
        (x, y),
        sp.eye(2),
        (0, -GRAVITY / unit),
        da.Constraint(y - SLOPE * x, name="incline", nonideal=da.Coulomb(0.05, mu_static=0.2)),
    )
    q = np.array([1, SLOPE]) / unit
    slides, rests = (da.motion(system, q, -speed * q) for speed in (1e-8, 1e-15))
    np.testing.assert_allclose(rests.nonideal_force, -downhill() / unit, rtol=1e-12)
    np.testing.assert_allclose(slides.nonideal_force, -downhill() / unit / 2, rtol=1e-12)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6])
def test_where_the_origin_lies_does_not_decide(far: float) -> None:
    block = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3)))
    np.testing.assert_allclose(da.motion(block, (far, 0), (1e-9, 0)).acceleration, [-3, 0], atol=1e-12)
    np.testing.assert_allclose(da.motion(block, (far, 0), (1e-14, 0)).acceleration, [0, 0], atol=1e-12)


def test_a_contact_without_friction_is_never_held() -> None:
    block = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(y, name="floor", nonideal=da.Coulomb(0.0)))
    run = da.simulate(block, (0, 0), (1e-14, 0), [0, 100])
    np.testing.assert_allclose(run.q[-1, 0], 1e-12, rtol=1e-9)
