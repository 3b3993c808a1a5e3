"""A motion pressed into a kink of a constraint ends promptly and names it; without projection it is noted."""

import time

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
WIRES = {"abs": sp.Abs(x), "max": sp.Max(x, 2 * x), "ceiling": sp.ceiling(x), "frac": sp.frac(x)}


def wire(name: str, force: tuple[float, float] = (0.3, -1)) -> da.System:
    return da.System((x, y), sp.eye(2), force, da.Constraint(y - WIRES[name], name="wire"))


@pytest.mark.parametrize(
    ("name", "q", "qd", "end"),
    [
        ("abs", (-0.1, 0.1), (0, 0), np.sqrt(0.2 / 0.65)),  # ẍ = (0.3 + 1) / 2 down the left side
        ("abs", (-0.1, 0.1), (1, -1), (np.sqrt(1 + 2 * 0.65 * 0.1) - 1) / 0.65),
        ("abs", (0, 0), (0, 0), 0.0),
        ("ceiling", (1, 1), (0, 0), 0.0),
        ("ceiling", (1, 1), (1, 0), 0.0),
        ("frac", (1, 0), (0, 0), 0.0),
        ("frac", (1, 0), (-1, -1), 0.0),
    ],
)
def test_a_motion_pressed_into_a_kink_ends_there_promptly(name: str, q: tuple, qd: tuple, end: float) -> None:
    system = wire(name)
    da.simulate(wire(name, (0, 0)), (0.25, float(WIRES[name].subs(x, 0.25))), (0, 0), [0, 1])  # imports
    began = time.process_time()
    message = "constraints must be smooth.*`wire` has a jump or a kink there.*Smooth it, or split the motion"
    with pytest.raises(da.SimulationError, match=message) as caught:
        da.simulate(system, q, qd, [0, 5])
    assert time.process_time() - began < 1.0
    assert caught.value.time == pytest.approx(end, abs=1e-3)
    assert caught.value.trajectory.statistics["steps"] < 20_000


@pytest.mark.parametrize("drift", [None, da.Baumgarte(5, 5)])
def test_without_projection_a_kink_is_noted(drift: da.Baumgarte | None) -> None:
    met = np.sqrt(0.2 / 0.65)
    run = da.simulate(wire("abs"), (-0.1, 0.1), (0, 0), [0, 5], drift=drift)
    notes = [note for note in run.notes if "a jump or a kink of `wire`" in note]
    assert len(notes) == 1
    assert float(notes[0].split("t = ")[1].split(" ")[0]) == pytest.approx(met, abs=1e-3)
    before = da.simulate(wire("abs"), (-0.1, 0.1), (0, 0), [0, 0.99 * met], drift=drift)
    assert not any("kink" in note for note in before.notes)


@pytest.mark.parametrize("drift", [None, da.Baumgarte(5, 5), da.Baumgarte(200, 200)])
def test_smooth_constraints_are_not_taken_for_kinked_ones(drift: da.Baumgarte | None) -> None:
    """A pendulum that drifts, one that returns to its rod from afar, and a wire with a sharp but smooth bend."""
    rod = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))
    bend = da.System((x, y), sp.eye(2), (0.3, -1), da.Constraint(y - sp.sqrt(x**2 + 1e-6), name="bend"))
    runs = [
        da.simulate(rod, (1, 0), (0, 0), [0, 20], drift=drift),
        da.simulate(rod, (1.3, 0), (0.5, 0), [0, 3], drift=drift, allow_violation=True),
        da.simulate(bend, (-0.1, np.sqrt(0.01 + 1e-6)), (0, 0), [0, 2], drift=drift),
    ]
    for run in runs:
        assert not any("kink" in note for note in run.notes)


@pytest.mark.parametrize("beyond", [3e-6, 2e-5, 7e-5, 1.0])
def test_a_run_that_ends_just_beyond_a_kink_is_refused(beyond: float) -> None:
    """A bead that slides into the corner of y = |x| reaches it at t = 2 (√2 − 1), where its velocity would jump."""
    corner = 2 * (np.sqrt(2) - 1)
    wire = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(y - sp.Abs(x), name="wire"))
    with pytest.raises(da.SimulationError, match="`wire` has a jump or a kink") as caught:
        da.simulate(wire, (-1, 1), (1, -1), [0, 0.5, corner + beyond])
    assert caught.value.trajectory.t[-1] == pytest.approx(corner, abs=2e-6)
    assert da.simulate(wire, (-1, 1), (1, -1), [0, corner - 1e-6]).q[-1] == pytest.approx([0, 0], abs=2e-6)
