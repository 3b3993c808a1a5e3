"""An ensemble reports, as a single run does, how many starts projection moves and how far."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")


def pendulum(mass: tuple = (1, 1)) -> da.System:
    return da.System((x, y), sp.diag(*mass), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))


def test_the_note_counts_the_members_and_gives_the_largest_change() -> None:
    """Start x = √(1 + ε) misses the rod by ε and is moved by ε/2; a velocity of 3e-11 along the rod by itself."""
    off = np.array([0, 2e-10, 5e-11, 0, 0])
    q0 = np.stack([np.sqrt(1 + off), np.zeros(5)], axis=1)
    qd0 = np.zeros((5, 2))
    qd0[3, 0] = 3e-11
    many = da.simulate_ensemble(pendulum(), q0, qd0, [0, 0.5])
    assert many.attrs["notes"] == (
        "The initial states of 3 of 5 members miss the constraints by more than rounding; projection onto the "
        "constraints moves them, by up to 1.0e-10 in `x` and 3.0e-11 in `x'`."
    )
    single = [bool(da.simulate(pendulum(), q, qd, [0, 0.5]).notes) for q, qd in zip(q0, qd0, strict=True)]
    assert single == [False, True, True, True, False]


def test_the_change_is_that_of_the_mass_metric() -> None:
    """On the line x + y = 1 a miss of 1e-10 moves the coordinates in proportion to their inverse masses."""
    line = da.System((x, y), sp.diag(1, 3), (0, 0), da.Constraint(x + y - 1, name="line"))
    many = da.simulate_ensemble(line, [[1 + 1e-10, 0], [1, 0]], (0, 0), [0, 0.5])
    assert "The initial states of 1 of 2 members" in many.attrs["notes"]
    assert "by up to 7.5e-11 in `x`." in many.attrs["notes"]


@pytest.mark.parametrize("keep", ["times", "end", "summary"])
def test_there_is_no_note_without_projection_or_without_need(keep: str) -> None:
    off = [[np.sqrt(1 + 2e-10), 0], [1, 0]]
    assert da.simulate_ensemble(pendulum(), off, (0, 0), [0, 0.5], drift=None, keep=keep).attrs["notes"] == ""
    angles = np.linspace(0, 3, 50)
    q0 = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    assert da.simulate_ensemble(pendulum(), q0, (0, 0), [0, 0.5], keep=keep).attrs["notes"] == ""
    assert "1 of 2 members" in da.simulate_ensemble(pendulum(), off, (0, 0), [0, 0.5], keep=keep).attrs["notes"]


def test_members_that_fail_do_not_count() -> None:
    q0 = [[np.sqrt(1 + 2e-10), 0], [1.2, 0], [np.nan, 0]]
    many = da.simulate_ensemble(pendulum(), q0, (0, 0), [0, 0.5])
    assert [bool(reason) for reason in many["reason"].values] == [False, True, True]
    assert "The initial states of 1 of 3 members" in many.attrs["notes"]
    assert "1.0e-10 in `x`." in many.attrs["notes"]
