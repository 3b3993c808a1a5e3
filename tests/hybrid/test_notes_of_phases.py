"""Runs with friction or events, which have phases, have the notes of runs without."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, z, w = da.coordinates("x y z w")
FRICTION = da.Coulomb(0.3, velocity=z.diff(da.t), normal_force=da.multiplier("floor"))
FAR: dict[str, Any] = {"events": [da.Event(x - 5, name="far")]}
LATER = np.linspace(0, 2, 5)


def beside_a_block(constraint: da.Constraint, q0: Any, qd0: Any, *, friction: bool, **options: Any) -> da.Trajectory:
    """A particle under a constraint, and a block on a floor, which comes to rest; or one event in its place."""
    floor = da.Constraint(w, name="floor", nonideal=FRICTION if friction else ())
    system = da.System((x, y, z, w), sp.eye(4), (0, 0, 0, -9.81), (constraint, floor))
    start = (*q0, 0, 0), (*qd0, 1 if friction else 0, 0)
    return da.simulate(system, *start, LATER, **(options if friction else options | FAR))


@pytest.mark.parametrize("friction", [True, False])
def test_a_bifurcation_is_noted(*, friction: bool) -> None:
    run = beside_a_block(da.Constraint(x * y, name="cross"), (-1, 0), (1, 0), friction=friction)
    assert [event.kind for event in run.events] == ["sticks"] * friction
    note = "The constraints lose rank at t = 1; another motion may branch off there, the one given goes on smoothly."
    assert run.notes == (note,)


@pytest.mark.parametrize("friction", [True, False])
def test_a_kink_is_noted(*, friction: bool) -> None:
    wire = da.Constraint(y - sp.Abs(x), name="wire")
    run = beside_a_block(wire, (-1, 1), (1, -1), friction=friction, drift=None)
    assert run.violation[-1, 0] == pytest.approx(-2)
    assert "the motion has met a jump or a kink of `wire`, which it does not follow without projection" in run.notes[0]


@pytest.mark.parametrize("size", [1e-9, 1.0])
def test_a_motion_that_the_tolerance_hardly_resolves_is_noted(size: float) -> None:
    """A block on a belt, held by a spring: it starts at zero, so that nothing tells its scale."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3, velocity=x.diff(da.t) - size / 2, mu_static=0.4))
    system = da.System((x, y), sp.eye(2), (-4 * x, -9.81 * size), floor)
    run = da.simulate(system, (0, 0), (size / 2, 0), [0, 2, 4, 8])
    assert [event.kind for event in run.events][:3] == ["slips", "sticks", "slips"]
    assert any("which the absolute tolerance 1.0e-11 hardly resolves" in note for note in run.notes) == (size < 1)
    fine = da.simulate(system, (0, 0), (size / 2, 0), [0, 2, 4, 8], atol=1e-12 * size)
    assert fine.notes == ()
    np.testing.assert_allclose(fine.events[0].t, 0.4 * 9.81 / 4 / 0.5, rtol=1e-9)


def test_redundant_constraints_of_a_run_with_events_are_noted() -> None:
    rods = da.Constraint(x**2 + y**2 - 1, name="rod"), da.Constraint(2 * x**2 + 2 * y**2 - 2, name="again")
    system = da.System((x, y), sp.eye(2), (0, -10), rods)
    run = da.simulate(system, (1, 0), (0, 0), [0, 1], **FAR)
    assert run.notes == da.simulate(system, (1, 0), (0, 0), [0, 1]).notes
    assert run.notes == ("At t = 0 the constraints have rank 1 of 2; redundant: `again`.",)


def test_constraints_that_are_redundant_only_where_they_hold_are_refused_with_events() -> None:
    case = da.gallery.case("four-bar")
    options: dict[str, Any] = {"parameters": case.parameters, "drift": None}
    with pytest.raises(da.ConstraintError, match=r"redundant only where they hold.*would drift off"):
        da.simulate(case.system, case.q0, case.qd0, [0, 1], **options, events=[da.Event(da.t - 5, name="late")])


@pytest.mark.parametrize("options", [{}, {"keep": "end"}, {"atol": 1e-11}], ids=["times", "end", "atol"])
def test_members_that_the_tolerance_hardly_resolves_are_counted(options: Any) -> None:
    """Two of three start at zero with a small velocity; a third of them is large. All are sin(2t) v/2."""
    spring = da.System((x,), [[1]], (-4 * x,))
    starts, speeds = np.zeros((3, 1)), np.array([[1e-9], [2e-9], [1.0]])
    ensemble = da.simulate_ensemble(spring, starts, speeds, [0, 1, 3], **options)
    note = ensemble.attrs["notes"]
    assert note.startswith("The coordinates of 2 of 3 members stay below ")
    assert note.endswith("which the absolute tolerance 1.0e-11 hardly resolves: pass a smaller `atol`.")
    finely: dict[str, Any] = {**options, "atol": 1e-20}
    fine = da.simulate_ensemble(spring, starts, speeds, [0, 1, 3], **finely)
    assert fine.attrs["notes"] == ""
    np.testing.assert_allclose(fine.q.values[:, -1, 0], np.sin(6) / 2 * speeds[:, 0], rtol=1e-7)
    # with lengths of their own at the start, tolerances follow these
    assert da.simulate_ensemble(spring, starts + 1e-9, speeds, [0, 1, 3]).attrs["notes"] == ""
