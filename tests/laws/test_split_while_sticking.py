"""While a contact sticks, a run divides the constraint force as `da.motion` does and as the papers define it."""

import numpy as np
import pytest

import dalembert as da

x, y = da.coordinates("x y")
M = np.array([[2.0, 0.8], [0.8, 1.0]])


def coupled() -> da.System:
    """A floor whose normal force friction changes, since the masses couple the two directions."""
    friction = da.Coulomb(0.5, velocity=x.diff(da.t), normal_force=da.multiplier("floor"))
    return da.System((x, y), M.tolist(), (1 + da.t, -10), da.Constraint(y, name="floor", nonideal=friction))


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(5, 5), None])
def test_the_ideal_force_is_that_without_friction(drift: object) -> None:
    run = da.simulate(coupled(), (0, 0), (0, 0), [0, 0.5, 1], drift=drift)  # pyright: ignore
    assert not run.events
    for k, t in enumerate(run.t):
        Q = np.array([1 + t, -10])
        # of the problem without friction: ÿ = 0 by a force along y alone
        ideal = np.array([0, -np.linalg.solve(M, Q)[1] / np.linalg.inv(M)[1, 1]])
        np.testing.assert_allclose(run.ideal_force[k], ideal, rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.nonideal_force[k], -Q - ideal, rtol=0, atol=1e-12)  # nothing moves
        point = da.motion(coupled(), (0, 0), (0, 0), t)
        for name in ("ideal_force", "nonideal_force", "multipliers", "reactions"):
            np.testing.assert_allclose(getattr(run, name)[k], getattr(point, name), rtol=0, atol=1e-12, err_msg=name)


def test_forces_do_not_change_where_the_contact_lets_go() -> None:
    """The reaction jumps from what holds to what slides, by μₛ = μ not at all."""
    run = da.simulate(coupled(), (0, 0), (0, 0), np.linspace(0, 6, 601))
    (slip,) = run.events
    at = int(np.searchsorted(run.t, slip.t))
    for name in ("ideal_force", "nonideal_force", "multipliers", "reactions"):
        values = getattr(run, name)
        np.testing.assert_allclose(values[at - 1], values[at], rtol=0, atol=0.05, err_msg=name)
