"""A rod whose tip slides on a floor beyond the critical coefficient of friction: Painlevé's paradox and its absence."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, a = da.coordinates("x y a")
mu = da.parameters("mu")
ANGLE, COEFFICIENT = np.arctan(2), 1.6
CRITICAL = 4 / 3
"""The critical coefficient at this angle: (1 + 3 cos² a)/(3 sin a cos a) of a slender rod."""


def rod(side: int) -> da.System:
    """A rod of mass and length one; its tip is on the left of its centre, or on the right."""
    tip = x - side * sp.cos(a) / 2, y - sp.sin(a) / 2
    friction = da.Coulomb(mu, velocity=tip[0].diff(da.t), normal_force=da.multiplier("floor"))
    floor = da.Constraint(sp.Ge(tip[1], 0), name="floor", restitution=0, nonideal=friction)
    return da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 12)), (0, -10, 0), floor)


def start(side: int, slip: float, rate: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A state in contact whose tip slides with a given velocity."""
    c, s = np.cos(ANGLE) / 2, np.sin(ANGLE) / 2
    return (0, s, ANGLE), (slip - side * s * rate, c * rate, rate)


def normal_force(side: int, run: da.Trajectory) -> np.ndarray:
    """N by the balance of momentum, and of angular momentum about the centre, with friction −μ N along the slip."""
    angle, rate = run["a"], run.qd[:, 2]
    slip = run.qd[:, 0] + side * np.sin(angle) / 2 * rate
    along = COEFFICIENT * side * np.sign(slip) * np.sin(angle)
    return (10 - rate**2 * np.sin(angle) / 2) / (1 + 3 * np.cos(angle) * (np.cos(angle) + along))


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("rate", [-1, 1])
def test_a_rod_that_drags_its_tip(side: int, rate: float) -> None:
    """The tip follows its centre: exactly one reaction presses, although an equation would have a second, pulling one.

    A single reaction from the closed form; forces, work and members of ensembles agree with it.
    """
    system, (q0, qd0), times = rod(side), start(side, 5 * side, rate), np.linspace(0, 0.3, 16)
    run = da.simulate(system, q0, qd0, times, parameters={"mu": COEFFICIENT}, rtol=1e-11)
    assert COEFFICIENT > CRITICAL and run.events == ()
    np.testing.assert_allclose(run.reaction("floor"), normal_force(side, run), rtol=1e-13)
    np.testing.assert_allclose(run.force("floor")[:, 1], run.reaction("floor"), rtol=1e-13)
    np.testing.assert_allclose(run.acceleration[:, 0], -COEFFICIENT * side * run.reaction("floor"), rtol=1e-12)
    assert np.abs(run.ledger().audit).max() < 1e-10
    many = da.simulate_ensemble(
        system, np.tile(q0, (3, 1)), np.tile(qd0, (3, 1)), times, parameters={"mu": [0.3, COEFFICIENT, 2.5]}, rtol=1e-11
    )
    np.testing.assert_allclose(many.q[1], run.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("rate", "found"), [(0, "there is none"), (7, "there are 2")])
def test_a_rod_that_pushes_its_tip(side: int, rate: float, found: str) -> None:
    """The tip is ahead: no reaction presses, or in fast rotation the contact may either press or open."""
    with pytest.raises(da.PainleveError, match=f"{found}.* the coefficient of `floor` is 1.6") as caught:
        da.simulate(rod(side), *start(side, -5 * side, rate), [0, 0.1], parameters={"mu": COEFFICIENT})
    np.testing.assert_allclose(caught.value.critical_mu, CRITICAL, rtol=1e-9)


def test_friction_that_becomes_too_large() -> None:
    """The motion up to the paradox is in the error."""
    rougher = da.Event(da.t - 0.05, name="rougher", then=da.Change({mu: 2.5}))
    with pytest.raises(da.PainleveError, match=r"there is none \(Painlevé's paradox\).*`floor` is 2.5") as caught:
        da.simulate(rod(1), *start(1, -5, 0), [0, 0.04, 0.1], parameters={"mu": 0.3}, events=[rougher])
    assert caught.value.trajectory is not None and caught.value.trajectory.t[-1] == pytest.approx(0.05)


def test_a_fast_rod_that_drags_its_tip_lifts_it() -> None:
    """Where the rotation lifts the tip and friction turns it upwards, the contact opens, and there is no paradox."""
    q0, qd0 = start(1, 5, 7)
    run = da.simulate(rod(1), q0, qd0, [0, 0.01], parameters={"mu": COEFFICIENT})
    np.testing.assert_allclose(run.q[-1, 1], q0[1] + 0.01 * qd0[1] - 5 * 0.01**2, rtol=1e-12)
