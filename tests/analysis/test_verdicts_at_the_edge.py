"""Verdicts where they are easily wrong: vanishing masses, taut chains, mixed units, time, parameters, gauge freedom."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.evaluated_terms import Point, model_of
from dalembert.analysis.failed_runs import hidden_behind
from dalembert.analysis.gradients import degenerate_rows
from dalembert.model.standard_form import standard_form

x, y, z = da.coordinates("x y z")
xd, yd, zd = (c.diff(da.t) for c in (x, y, z))
xdd = x.diff(da.t, 2)
m, k, g = da.parameters("m k g")


def system(*rows: Any, mass: Any = None, force: tuple = (0, 0)) -> da.System:
    """Coordinates x, y (and z if there are three forces), constraints named a, b, c."""
    names = (x, y, z)[: len(force)]
    named = [da.Constraint(row, name=name) for row, name in zip(rows, "abc", strict=False)]
    return da.System(names, sp.eye(len(force)) if mass is None else mass, force, named)


def messages(verdict: da.Verdict, about: str) -> list[str]:
    return [finding.message for finding in verdict.findings if finding.about == about]


# masses that vanish


def test_a_mass_that_is_zero_by_its_value_hides_a_constraint() -> None:
    massless = system(mass=sp.diag(1, m), force=(0, 1 - y))
    assert da.check(massless).well_posed and da.reduce(massless).constraint_names == ()
    for state in ((), ((0, 3), (0, 0))):
        verdict = da.check(massless, *state, parameters={"m": 0})
        assert verdict.hidden_constraints == (y - 1,)
        assert "must hold as well for these parameters; `da.reduce(system, parameters=...)` adds it" in str(verdict)
    assert da.reduce(massless, parameters={"m": 0}).constraint_names == ("hidden 1",)
    assert da.reduce(massless, parameters={"m": 2}).constraint_names == ()


def test_masses_that_cancel_by_their_values_and_decimals() -> None:
    """[[0.09, 0.21], [0.21, 0.49]] is singular as it is written, though not in binary numbers."""
    decimals = sp.Matrix([[0.09, 0.21], [0.21, 0.49]])
    assert da.check(system(mass=decimals, force=(x, y))).hidden_constraints == (7 * x - 3 * y,)
    by_value = system(mass=sp.Matrix([[m, k], [k, g]]), force=(x, y))
    verdict = da.check(by_value, parameters={"m": 0.09, "k": 0.21, "g": 0.49})
    assert verdict.hidden_constraints == (7 * x - 3 * y,)


def test_a_mass_that_vanishes_where_the_constraints_hold() -> None:
    """At x = 0 the mass x of y is gone, and with it all but y = 1."""
    verdict = da.check(system(x, mass=sp.diag(1, x), force=(0, 1 - y)))
    assert verdict.hidden_constraints == (y - 1,)


def test_a_state_at_which_a_mass_vanishes() -> None:
    """x ÿ = −y at x = 0, y = 1: there is no such acceleration. With ÿ held by a constraint there is."""
    verdict = da.check(system(mass=sp.diag(1, x), force=(0, -y)), (0, 1), (0, 0))
    assert "No acceleration satisfies the equations of motion of `y` at this state." in messages(
        verdict, "acceleration"
    )
    assert da.check(system(x - y, mass=sp.diag(1, x), force=(0, -y - 1)), (0, 0), (0, 0)).well_posed


def test_many_coordinates_hide_constraints_as_well() -> None:
    names = da.coordinates(" ".join(f"q{i}" for i in range(14)))
    mass, force = sp.diag(*[1] * 13, 0), [0] * 13 + [names[0] - names[13]]
    assert da.check(da.System(names, mass, force)).hidden_constraints == (names[0] - names[13],)


def test_long_equations_are_not_searched_and_that_is_said() -> None:
    entry = sp.Add(*(sp.sin(i * x + y) for i in range(1, 40)))
    long = system(mass=sp.Matrix([[entry**2, entry], [entry, 1]]), force=(0, x))
    assert "too many or too long to find it symbolically" in str(da.check(long))
    with pytest.raises(da.ConstraintError, match="the search failed: the equations in question are too many"):
        da.reduce(long)


# what remains free beside what is hidden


@pytest.mark.parametrize(
    ("gauge", "free"),
    [
        (da.System.from_lagrangian((xd + y) ** 2 / 2, (x, y)), "y"),
        (system(mass=sp.diag(1, 0, 0), force=(0, -y, 0)), "z"),
    ],
)
def test_what_is_not_determined_is_said_beside_what_is_hidden(gauge: da.System, free: str) -> None:
    verdict = da.check(gauge)
    assert verdict.hidden_constraints
    assert messages(verdict, "acceleration")[0].startswith(f"The acceleration along {free} is not determined")
    assert "SingularMass" not in str(verdict)


def test_all_directions_that_are_not_determined_are_named() -> None:
    (message,) = messages(da.check(system(mass=sp.diag(0, 1, 0), force=(0, 0, 0))), "acceleration")
    assert message.startswith("The acceleration along x, z is not determined") or "along z, x" in message


# constraints that leave less than their gradients show


def taut_chain(rods: int) -> tuple[da.System, list[float]]:
    """Rods of length one between two points as far apart as they reach."""
    names = da.coordinates([f"{axis}{i}" for i in range(1, rods) for axis in "xy"])
    points = [(0, 0), *zip(names[::2], names[1::2], strict=True), (rods, 0)]
    rows = [
        da.Constraint((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 1, name=f"rod {i}")
        for i, (a, b) in enumerate(pairwise(points))
    ]
    force = [0, -1] * (rods - 1)
    return da.System(names, sp.eye(len(names)), force, rows), [v for i in range(1, rods) for v in (i, 0)]


@pytest.mark.parametrize("rods", [2, 3, 5, 8])
def test_a_taut_chain_has_no_hold(rods: int) -> None:
    """Either the last rod has no gradient of its own beside the others, or all together are said to be degenerate."""
    chain, q = taut_chain(rods)
    for state in ((), (q, [0] * len(q))):
        (trouble,) = (finding for finding in da.check(chain, *state).findings if finding.trouble)
        assert f"`rod {rods - 1}`" in trouble.message
        assert "no gradient of its own" in trouble.message or "are degenerate" in trouble.message


def test_degenerate_rows_are_named_together() -> None:
    chain, q = taut_chain(4)
    model = model_of(standard_form(chain), ())
    place = Point(np.array(q, float), np.zeros(len(q)), 0.0, np.zeros(0))
    assert degenerate_rows(model, [place]) == [0, 1, 2, 3]
    slack = place._replace(q=np.array([0, 1.0, 1, 1, 2, 1]))
    short = model_of(standard_form(da.System(chain.coordinates, sp.eye(6), [0] * 6, chain.constraints[:3])), ())
    assert degenerate_rows(short, [slack]) == []


def test_a_slack_chain_is_not() -> None:
    q = (0.6, -0.8)
    rows = (x**2 + y**2 - 1, (x - 1.2) ** 2 + y**2 - 1)
    assert da.check(system(*rows, force=(0, -1)), q, (0, 0)).well_posed


@pytest.mark.parametrize("rows", [((x - 1) ** 2, x - 1), (x - 1, (x - 1) ** 2)])
@pytest.mark.parametrize("state", [(), ((1, 0), (0, 0))])
def test_the_order_of_constraints_does_not_decide_about_gradients(rows: tuple, state: tuple) -> None:
    verdict = da.check(system(*rows), *state)
    square = "a" if rows[0] != x - 1 else "b"
    (message,) = messages(verdict, "gradient")
    assert message.startswith(f"`{square}` has no gradient of its own") and not verdict.well_posed
    assert verdict.unique_multipliers == {name: name != square for name in "ab"}


def test_a_constraint_that_says_nothing_is_no_trouble() -> None:
    for verdict in (
        da.check(system(k * (x - 1)), parameters={"k": 0}),
        da.check(system(sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1)),
    ):
        assert verdict.well_posed and "`a` is an identity: it holds at every state." in str(verdict)


# units


@pytest.mark.parametrize("unit", [1e-10, 1e-9, 1e-8, 1e8, 1e9, 1e10])
def test_units_of_a_coordinate_do_not_decide(unit: float) -> None:
    """x ± y in metres, y measured in anything: independent and consistent."""
    mixed = system(x + unit * y, x - unit * y - 1, mass=sp.diag(1, unit**2))
    for verdict in (da.check(mixed), da.check(mixed, (0.5, -0.5 / unit), (0, 0))):
        assert verdict.well_posed, str(verdict)
        assert verdict.rank == 2 and verdict.redundant == {}
    twice = system(x + unit * y, 2 * x + 2 * unit * y, mass=sp.diag(1, unit**2))
    assert da.check(twice).redundant == {"b": {"a": pytest.approx(2)}}


# time and parameters


def test_parameters_give_way_where_the_first_ones_allow_no_state() -> None:
    """x² + y² = k − 5 needs k > 5: not impossible."""
    verdict = da.check(system(x**2 + y**2 - k + 5))
    assert verdict.well_posed
    assert "the values used are k = 5." in messages(verdict, "parameters")[0]
    apart = system(x**2 + y**2 - k**2, (x - 9) ** 2 + y**2 - g**2)
    assert da.check(apart).well_posed


@pytest.mark.parametrize(
    ("rows", "level", "said"),
    [
        ((x - k, x - g), "position", "Only special values remove the conflict, such as g = "),
        ((xd - k, xd - 1), "velocity", "Only special values remove the conflict, such as k = 1."),
        ((x - da.t, x - 2), "position", "Only special values remove the conflict, such as t = 2."),
        ((x**2 + k**2 + 1,), "position", "No values of k were found for which they agree."),
    ],
)
def test_conflicts_say_for_which_values_they_were_found(rows: tuple, level: str, said: str) -> None:
    verdict = da.check(system(*rows))
    assert verdict.conflicts[0].level == level
    assert messages(verdict, "conflict")[0].endswith(said) or said in messages(verdict, "conflict")[0]


def test_a_given_time_is_kept_without_a_state() -> None:
    shrinking = system(x**2 + y**2 - 1 + da.t)
    assert da.check(shrinking, t=0.5).well_posed
    assert da.check(shrinking, t=2).conflicts == (("position", ("a",)),)


@pytest.mark.parametrize(
    ("rows", "speed", "conflict", "soon"),
    [
        ((x - da.t, x - sp.sin(da.t)), 1, "position", True),
        ((x - da.t**3, x), 0, "position", True),
        ((xd - da.t**2, x), 0, "velocity", True),
        ((xdd - da.t, xdd), 0, "acceleration", True),
        ((x - da.t, x), 1, "velocity", False),
        ((x - da.t**2, x), 0, "acceleration", False),
        ((xd - da.t, x), 0, "acceleration", False),
    ],
)
def test_conflicts_in_time_are_reported_by_level(rows: tuple, speed: float, conflict: str, soon: bool) -> None:
    """At t = 0 the rows agree in all but the level named, or in all: then they part soon after."""
    verdict = da.check(system(*rows), (0, 0), (speed, 0))
    assert verdict.conflicts == ((conflict, ("a", "b")),)
    assert ("the conflict may not be visible, but it appears soon after" in messages(verdict, "conflict")[0]) == soon


def test_motion_prescribed_twice_alike_is_no_conflict() -> None:
    rows = (x - sp.sin(da.t), 2 * x - 2 * sp.sin(da.t))
    verdict = da.check(system(*rows), (0, 0), (1, 0))
    assert verdict.well_posed and verdict.redundant == {"b": {"a": pytest.approx(2)}}


# contradictions in words


def test_reduce_names_a_contradiction() -> None:
    with pytest.raises(da.ConstraintError, match=r"`a`, `b` contradict one another at position level\. Remove"):
        da.reduce(system(x - 1, x - 2))
    with pytest.raises(da.ConstraintError, match=r"`a` cannot be met at position level"):
        da.reduce(system(x**2 + 1))


def test_hidden_constraints_that_exclude_one_another_are_not_to_be_added() -> None:
    """ẍ = x and ẍ = 1 imply x = 1, hence ẍ = 0 = x."""
    verdict = da.check(system(xdd - x, xdd - 1))
    assert messages(verdict, "hidden constraint") == [
        "The equations imply `x - 1 = 0`, `x = 0`, which no motion can satisfy."
    ]
    assert "da.reduce" not in str(verdict)


def test_reduce_checks_its_parameters() -> None:
    with pytest.raises(da.InputError, match="missing: `m`"):
        da.reduce(system(mass=sp.diag(1, m)), parameters={})


def test_small_masses_are_no_small_matter() -> None:
    """A conflict in metres beside masses of molecules."""
    rows = (xdd - 1, xdd - 1.001)
    verdict = da.check(system(*rows, mass=1e-20 * sp.eye(2)), (0, 0), (0, 0))
    assert verdict.conflicts == (("acceleration", ("a", "b")),)
    assert np.isinf(verdict.rank_gap) or verdict.rank_gap > 1e6


# starts of a simulation


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_rows_that_are_fragile_are_found_beside_large_coordinates(far: float) -> None:
    """The second row repeats the first where it holds, and only there; what z is does not matter to them."""
    circle = x**2 + y**2 - 1
    fragile = system(circle, circle * (2 + x), force=(0, -1, 0))
    with pytest.raises(da.ConstraintError, match="`b` would drift off under this `drift`"):
        da.simulate(fragile, (1, 0, far), (0, 0, 0), (0, 1), drift=None)


def test_rows_in_mixed_units_are_not_called_redundant_in_a_run() -> None:
    unit = 1e9
    mixed = system(x + unit * y, x - unit * y - 1, mass=sp.diag(1, unit**2))
    run = da.simulate(mixed, (0.5, -0.5 / unit), (0, 0), (0, 1), drift=None)
    assert run.notes == ()


def test_check_and_simulate_judge_a_start_alike() -> None:
    line = system(x - 1)
    for off, well_posed_there in ((5e-9, True), (5e-8, False)):
        assert da.check(line, (1 + off, 0), (0, 0)).well_posed == well_posed_there
        if well_posed_there:
            da.simulate(line, (1 + off, 0), (0, 0), (0, 0.1))
        else:
            with pytest.raises(da.StateError):
                da.simulate(line, (1 + off, 0), (0, 0), (0, 0.1))


def test_what_is_hidden_behind_a_refusal_is_found_with_the_parameters_of_the_run() -> None:
    massless = system(mass=sp.diag(1, m), force=(0, 1 - y))
    assert "satisfy `y - 1 = 0`, hidden in the equations: simulate `da.reduce(system, parameters=" in hidden_behind(
        massless, (0.0,)
    )
    assert hidden_behind(massless, (1.0,)) == ""
