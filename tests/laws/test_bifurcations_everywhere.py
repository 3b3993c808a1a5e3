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
    """A spring across the origin passes it twice a period; most of the 4000 steps are forgotten."""
    spring = da.System((x, y), sp.eye(2), (-x, 0), da.Constraint(x * y, name="cross"))
    run = da.simulate(spring, (1, 0), (0, 0), [0, 600], max_step=0.15)
    assert run.statistics["steps"] >= 4000
    assert noted(run)[:5] == pytest.approx([np.pi * (k + 0.5) for k in range(5)], abs=1e-4)
    (note,) = [note for note in run.notes if "lose rank" in note]
    crossings = int(600 / np.pi - 0.5) + 1
    assert f"and {crossings - 5} more" in note
