"""Through singular positions: four-bars whose bars fold onto one line, where the constraints lose rank."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da


def parallelogram() -> da.System:
    """Two bars and a coupler of unit length, masses at the joints: bars stay parallel, with one angle."""
    a, b, c, d = coordinates = da.coordinates("a b c d")
    bars = (a**2 + b**2 - 1, (c - 1) ** 2 + d**2 - 1, (c - a) ** 2 + (d - b) ** 2 - 1)
    rows = [da.Constraint(e, name=n) for e, n in zip(bars, ("left", "right", "coupler"), strict=True)]
    return da.System(coordinates, sp.eye(4), (0, -9.81, 0, -9.81), rows)


def exact(rate: float, times: np.ndarray) -> np.ndarray:
    """θ̈ = −g cos θ from θ = π/2."""
    found = solve_ivp(
        lambda _, s: [s[1], -9.81 * np.cos(s[0])], (0, times[-1]), [np.pi / 2, -rate], "DOP853", times,
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    c, s = np.cos(found.y[0]), np.sin(found.y[0])
    return np.stack([c, s, 1 + c, s], axis=1)


@pytest.mark.parametrize("rate", np.linspace(0.3, 6.1, 13))
def test_the_motion_goes_straight_through(rate):
    times = np.linspace(0, 5, 11)
    run = da.simulate(parallelogram(), (0, 1, 1, 1), (rate, 0, rate, 0), times)
    np.testing.assert_allclose(run.q, exact(rate, times), atol=1e-6)


def test_crossings_between_outputs_are_reported_too():
    """Outputs while crossing a singular position: states as exact as elsewhere; the run says where it was."""
    system, times = parallelogram(), np.linspace(0, 3, 7)
    run = da.simulate(system, (0, 1, 1, 1), (1, 0, 1, 0), times)
    (note,) = [note for note in run.notes if "lose rank about" in note]
    singular = float(note.split("about t = ")[1].split(",")[0].split(";")[0])
    fine = np.array([0, singular - 1e-3, singular, singular + 1e-3, 3])
    run = da.simulate(system, (0, 1, 1, 1), (1, 0, 1, 0), fine)
    np.testing.assert_allclose(run.q, exact(1.0, fine), atol=1e-7)
    assert abs(run["b"][2]) < 1e-3
    assert "the motion is continued smoothly through there, to within" in note


def test_a_place_that_is_no_passage_is_refused_by_name():
    """A bead on a wire that ends: nothing beyond it."""
    x, y = da.coordinates("x y")
    wire = da.Constraint(y - sp.sqrt(1 - x), name="wire")
    with pytest.raises(da.SimulationError, match="the motion must be continued"):
        da.simulate(da.System((x, y), sp.eye(2), (0, 0), wire), (0, 1), (1, -0.5), [0, 5])
