"""Constraints that others imply, and constraints without effect: with a state and without one."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis import hidden_constraints

x, y, z = da.coordinates("x y z")
xd, yd, zd = (c.diff(da.t) for c in (x, y, z))
xdd = x.diff(da.t, 2)


def system(*rows: Any, force: tuple = (0, 0, 0)) -> da.System:
    """Three unit masses, constraints named a, b, c, ..."""
    named = [da.Constraint(row, name=name) for row, name in zip(rows, "abcdef", strict=False)]
    return da.System((x, y, z), sp.eye(3), force, named)


def troubles(verdict: da.Verdict) -> list[str]:
    return [finding.about for finding in verdict.findings if finding.trouble]


def test_velocities_that_imply_a_position() -> None:
    """x = 0 and ẋ = y leave only y = 0."""
    verdict = da.check(system(x, xd - y))
    assert troubles(verdict) == ["hidden constraint"]
    assert verdict.hidden_constraints == (y,) and verdict.conflicts == ()
    assert verdict.free_data == (3, 2)


@pytest.mark.parametrize(
    ("q", "qd", "misses"),
    [
        ((0, 1, 0), (1, 0, 0), "violates it by 1.0e+00 at `q`."),
        ((0, 1, 0), (0, 0, 0), "violates it by 1.0e+00 at `q`."),
        ((0, 0, 0), (0, 2, 0), "violates it by 2.0e+00 at `qd`."),
        ((0, 0, 0), (0, 0, 0), "adds it."),
    ],
)
def test_implied_position_at_a_state(q: tuple, qd: tuple, misses: str) -> None:
    verdict = da.check(system(x, xd - y), q, qd)
    assert verdict.hidden_constraints == (y,) and verdict.conflicts == ()
    (message,) = (f.message for f in verdict.findings if f.about == "hidden constraint")
    assert message.endswith(misses)


def test_what_is_implied_by_constraints_is_held_by_a_force() -> None:
    """Gravity along y does not pull the motion off y = 0, as it would if y = 0 had to hold by itself."""
    reduced = da.reduce(system(x, xd - y, force=(0, -9.81, 0)))
    assert reduced.constraint_names == ("a", "b", "hidden 1")
    assert da.check(reduced).well_posed
    run = da.simulate(reduced, (0, 0, 0), (0, 0, 1), (0, 1))
    np.testing.assert_allclose(run.q[-1], (0, 0, 1), atol=1e-12)


def test_accelerations_that_imply_a_position() -> None:
    verdict = da.check(system(xdd, xdd - y), (1, 1, 1), (1, 0, 0))
    assert verdict.hidden_constraints == (y,) and verdict.conflicts == ()


@pytest.mark.parametrize(
    ("rows", "level"),
    [((x, xd - y, y - 1), "velocity"), ((x, xdd - y, y - 1), "acceleration"), ((x - 1, y - 1, x * y - 2), "position")],
)
def test_conflicts_across_levels_are_minimal(rows: tuple, level: str) -> None:
    """Any two of the three can be met: with another y in the first two cases."""
    assert da.check(system(*rows)).conflicts == ((level, ("a", "b", "c")),)


@pytest.mark.parametrize(
    ("rows", "zero_gradient"),
    [
        (((x**2 + y**2 - 1) ** 2,), "a"),
        ((sp.expand((x**2 + y**2 - 1) ** 2),), "a"),
        (((x - y - 1) ** 3,), "a"),
        ((xd**2 + yd**2,), "a"),
        (((xd - 2 * yd) ** 2,), "a"),
        ((x, x + y**2), "b"),
        ((x**2 + y**2 - 1, (x - 2) ** 2 + y**2 - 1, z), "b"),  # two circles that touch
        ((x**2 + y**2 - 1, 2 * (x**2 + y**2 - 1), z**2), "c"),
    ],
)
def test_constraints_without_a_gradient(rows: tuple, zero_gradient: str) -> None:
    state = {"q": (1, 0, 0), "qd": (0, 0, 0)}
    verdicts = [da.check(system(*rows))]
    verdicts += [da.check(system(*rows), **state)] if not any(row == x for row in rows) else []
    for verdict in verdicts:
        (message,) = (f.message for f in verdict.findings if f.trouble)
        assert message.startswith(f"`{zero_gradient}` has no gradient of its own wherever it holds")


def test_regular_constraints_have_a_gradient_at_any_size() -> None:
    circle = x**2 + y**2 - sp.Float("1e-18")
    assert da.check(system(circle), (1e-9, 0, 0), (0, 1, 0)).well_posed
    assert da.check(system(circle)).well_posed


def test_a_row_that_is_rounding_error_is_no_row() -> None:
    """sin π is not zero in floating point."""
    verdict = da.check(system(sp.sin(x) * xd), (np.pi, 0, 0), (0, 0, 0))
    assert verdict.rank == 0 and "`a` becomes dependent" in str(verdict)


def test_no_state_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_constraints, "random_states", lambda *_: [])
    assert "No state that satisfies the constraints was found" in str(da.check(system(x - 1)))


def test_high_speed_elsewhere_hides_no_conflict() -> None:
    verdict = da.check(system(xdd - 1, xdd - 1.001), (0, 0, 0), (0, 0, 1e5))
    assert verdict.conflicts == (("acceleration", ("a", "b")),)


def test_large_coordinates_elsewhere_hide_no_violation() -> None:
    model = system(x - 1, zd)
    for verdict in (da.check(model, (1 + 1e-6, 1e6, 0), (0, 0, 0)), da.check(model, (1, 0, 0), (0, 1e6, 1e-6))):
        assert len(verdict.violations) == 1 and not verdict.well_posed
    with pytest.raises(da.StateError, match=r"`a` is violated by 1\.0e-06 at `q0`"):
        da.simulate(model, (1 + 1e-6, 1e6, 0), (0, 0, 0), (0, 1))


def test_small_units_hide_no_violation() -> None:
    """A micrometre in metres."""
    assert da.check(system(x - 1e-6), (1.1e-6, 0, 0), (0, 0, 0)).violations == {("a", "position"): pytest.approx(1e-7)}


def test_velocities_that_cancel_leave_a_position() -> None:
    verdict = da.check(system((x + 1) * xd - x * xd - xd + y))
    assert verdict.hidden_constraints == (y,) and "`a` has no gradient of its own" in str(verdict)


def test_crossing_lines_are_regular_but_where_they_cross() -> None:
    cross = system(x * y)
    assert da.check(cross).well_posed and da.check(cross, (0, 2, 0), (0, 0, 0)).well_posed
    for rounding in (0, 1e-17):
        assert "`a` becomes dependent" in str(da.check(cross, (rounding, 0, 0), (0, 0, 0)))
