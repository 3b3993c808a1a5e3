"""The note on an exact bifurcation comes with every solver, with fixed steps, and when steps are not kept."""

import re

import diffrax
import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
CROSS = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x * y, name="cross"))


def noted(run: da.Trajectory) -> list[float]:
    said = [note for note in run.notes if "lose rank" in note]
    return [float(t) for note in said for t in re.findall(r"[-\d.e+]*\d", note.split("t = ")[1].split(";")[0])]


def test_diffrax_solvers_and_fixed_steps() -> None:
    """x y = 0 from (−1, 0) along x at unit speed: both lines are open at the origin, at t = 1."""
    for options in ({"solver": diffrax.Tsit5()}, {"step": 0.03}):
        run = da.simulate(CROSS, (-1, 0), (1, 0), [0, 2], **options)
        assert run.q[-1] == pytest.approx([1, 0], abs=1e-9)
        assert noted(run) == pytest.approx([1.0], abs=1e-5), options


def test_long_runs_whose_steps_are_not_kept() -> None:
    """A spring across the origin passes it twice a period; most of the 4000 steps are not kept."""
    spring = da.System((x, y), sp.eye(2), (-x, 0), da.Constraint(x * y, name="cross"))
    run = da.simulate(spring, (1, 0), (0, 0), [0, 600], max_step=0.15)
    assert run.statistics["steps"] >= 4000
    assert noted(run)[:5] == pytest.approx([np.pi * (k + 0.5) for k in range(5)], abs=1e-4)
    (note,) = [note for note in run.notes if "lose rank" in note]
    crossings = int(600 / np.pi - 0.5) + 1
    assert f"and {crossings - 5} more" in note


def test_an_output_at_a_bifurcation_does_not_end_the_run() -> None:
    """Two cranks of unit length at unit speed, α = β = π/2 + t, fold at α = π; no force acts, and none is reported."""
    a, b = da.coordinates("a b")
    length = (2 + sp.cos(b) - sp.cos(a)) ** 2 + (sp.sin(b) - sp.sin(a)) ** 2 - 4
    cranks = da.System((a, b), sp.eye(2), (0, 0), da.Constraint(length, name="coupler"))
    run = da.simulate(cranks, (np.pi / 2,) * 2, (1, 1), np.linspace(0, 3 * np.pi, 25))
    np.testing.assert_allclose(run.q, np.pi / 2 + run.t[:, None] + np.zeros(2), atol=1e-9)
    np.testing.assert_allclose(run.qd, 1, atol=1e-8)
    np.testing.assert_allclose(run.acceleration, 0, atol=1e-5)
    assert noted(run) == pytest.approx([np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2], abs=1e-4)
    assert run.ledger().closure < 1
    with pytest.raises(da.SimulationError, match="the constraints lose rank there, and no step can begin or end"):
        da.simulate(cranks, (np.pi / 2,) * 2, (1, 1), [0, np.pi / 2])
    with pytest.raises(da.SimulationError, match=r"the constraints lose rank there, .* choose another .* `step`"):
        da.simulate(cranks, (1, 1), (1, 1), [0, 5], step=(np.pi - 1) / 100)
