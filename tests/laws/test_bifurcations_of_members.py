"""An ensemble whose members go through a bifurcation says so."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")


@pytest.mark.parametrize("options", [{}, {"keep": "end"}, {"keep": "summary"}, {"step": 0.01}])
def test_members_that_cross_are_noted(options: dict) -> None:
    """x y = 0 from (−1, 0) along x at speeds v from 0.7 to 3 until t = 1: at the origin at 1/v, if at all."""
    cross = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x * y, name="cross"))
    speeds = np.linspace(0.7, 3, 7)
    qd0 = np.stack([speeds, 0 * speeds], axis=1)
    many = da.simulate_ensemble(cross, (-1, 0), qd0, np.linspace(0, 1, 5), **options)
    note = many.attrs["notes"]
    assert f"at least {(speeds > 1).sum()} of 7 examined members" in note
    assert "member 6" in note
    assert float(note.split("first at t = ")[1].split(" ")[0]) == pytest.approx(1 / 3, abs=1e-5)


def test_rows_that_only_turn_are_not_noted() -> None:
    """Pendulums that swing by more than a right angle from output to output: rank is never lost."""
    rod = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))
    many = da.simulate_ensemble(rod, (1, 0), np.stack([np.zeros(40), np.linspace(0, 3, 40)], axis=1), [0, 0.5, 1, 1.5])
    assert many.attrs["notes"] == ""


def test_tolerances_below_rounding_are_refused() -> None:
    free = da.System((x,), [[1]], (-x,))
    message = r"`rtol` must be at least 2\.2e-14, a hundred times the rounding of float64; got 1e-20\."
    with pytest.raises(da.InputError, match=message):
        da.simulate(free, [1], [0], [0, 1], rtol=1e-20)
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(free, [[1]], [0], [0, 1], rtol=1e-20)
    run = da.simulate(free, [1], [0], [0, 1], rtol=2.3e-14)
    assert run.q[-1, 0] == pytest.approx(np.cos(1), abs=1e-12)
