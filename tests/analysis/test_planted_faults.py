"""Faults planted by rule into well-posed systems: each one is found and named; without a fault nothing is found."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import sympy as sp

import dalembert as da
from helpers import quick_first

u, v = da.coordinates("extra1 extra2")
ud, vd = u.diff(da.t), v.diff(da.t)


@dataclass(frozen=True)
class Problem:
    """A system at a state; ``names`` are those a verdict must name, ``unit`` is the size of what faults are made of."""

    system: da.System
    q: tuple[float, ...]
    qd: tuple[float, ...]
    parameters: dict
    names: tuple[str, ...] = ()
    unit: float = 1.0

    def verdict(self) -> da.Verdict:
        return da.check(self.system, self.q, self.qd, 0.0, parameters=self.parameters)

    def verdict_without_state(self) -> da.Verdict:
        return da.check(self.system, parameters=self.parameters)

    def extended(self, masses: list, rows: dict[str, Any], q: list, qd: list, names: tuple[str, ...]) -> "Problem":
        """With one or two further coordinates of given masses, and constraints on them by name."""
        s = self.system
        constraints = [da.Constraint(e, name=n) for n, e in rows.items()]
        force = [*s.applied_force, *[0] * len(masses)]
        more = (u, v)[: len(masses)]
        bigger = da.System(
            (*s.coordinates, *more), sp.diag(s.mass_matrix, *masses), force, (*s.constraints, *constraints)
        )
        q, qd = [x * self.unit for x in q], [x * self.unit for x in qd]
        return replace(self, system=bigger, q=(*self.q, *q), qd=(*self.qd, *qd), names=names)

    def scaled(self, factor: float) -> "Problem":
        rows = [da.Constraint(factor * c.expression, name=c.name) for c in self.system.constraints]
        return replace(self, system=replace(self.system, constraints=rows))


QUICK = ("bead", "skate")
WELL_POSED = quick_first(
    (
        *QUICK,
        "pendulum-rod-twice",
        "spiral",
        "pendulum",
        "constant-speed",
        "hidden-constraint",
        "particle",
        "block-quadratic",
        "rolling-coin",
        "appell-hamel",
        "perpendicular",
        "indefinite-mass",
    ),
    QUICK,
)
"""Of each kind one: constraints on places, with time, on velocities and their products, redundant and implied ones."""


def well_posed(name: str, unit: float = 1.0) -> Problem:
    case = da.gallery.case(name)
    ideal = [replace(constraint, nonideal=()) for constraint in case.system.constraints]
    system = replace(case.system, constraints=ideal, nonideal=())
    p = {k: case.parameters[k] for k in system.parameter_names}
    return Problem(system, tuple(case.q0), tuple(case.qd0), p, unit=unit)


def contradictory_copy(problem: Problem) -> Problem:
    first = problem.system.constraints[0]
    copy = da.Constraint(first.expression + sp.Rational(1, 2), name="copy")
    # with the rod stated twice either statement may be the one in conflict; the first is found
    return replace(problem, system=problem.system.constrain(copy), names=(first.name, "copy"))


def dependent_copy(problem: Problem) -> Problem:
    copy = da.Constraint(2 * problem.system.constraints[0].expression, name="copy")
    return replace(problem, system=problem.system.constrain(copy), names=("copy",))


def three_way(level: int) -> Callable[[Problem], Problem]:
    """Any two of them agree."""

    def plant(problem: Problem) -> Problem:
        a, b = (c.diff(da.t, level) for c in (u, v))
        unit = problem.unit
        rows = {"u law": a - unit, "v law": b - unit, "sum law": a + b - 3 * unit}
        return problem.extended([1, 1], rows, [1, 1], [level == 1, level == 1], tuple(rows))

    return plant


def violated_start(problem: Problem) -> Problem:
    return problem.extended([1], {"shelf": u - problem.unit}, [1.5], [0], ("shelf",))


def violated_speed(problem: Problem) -> Problem:
    return problem.extended([1], {"belt": ud - problem.unit}, [0], [1.001], ("belt",))


def massless(problem: Problem) -> Problem:
    return problem.extended([0], {}, [0], [0], ("extra1",))


def indefinite(problem: Problem) -> Problem:
    return problem.extended([-2], {}, [0], [0], ("extra1",))


def rank_loss(problem: Problem) -> Problem:
    return problem.extended([1, 1], {"cross": u * v}, [0, 0], [0, 0], ("cross",))


def no_gradient(problem: Problem) -> Problem:
    return problem.extended([1], {"twice": (u - problem.unit) ** 2}, [1], [0], ("twice",))


def no_gradient_in_velocity(problem: Problem) -> Problem:
    return problem.extended([1, 1], {"rest": ud**2 + vd**2}, [1, 1], [0, 0], ("rest",))


def implied_position(problem: Problem) -> Problem:
    return problem.extended([1, 1], {"fixed": u - problem.unit, "tied": ud - v}, [1, 0], [0, 0], ("extra2",))


def assert_conflict(verdict: da.Verdict, problem: Problem) -> None:
    assert not verdict.well_posed
    assert [set(conflict.names) for conflict in verdict.conflicts] == [set(problem.names)]


def assert_redundant(verdict: da.Verdict, problem: Problem) -> None:
    assert verdict.well_posed
    assert "copy" in verdict.redundant
    assert not verdict.unique_multipliers["copy"]


def assert_violated(verdict: da.Verdict, problem: Problem) -> None:
    assert not verdict.well_posed
    assert [name for name, _ in verdict.violations] == list(problem.names)
    assert verdict.conflicts == ()


def assert_open(verdict: da.Verdict, problem: Problem) -> None:
    assert not verdict.well_posed
    assert "The acceleration along extra1 is not determined" in str(verdict)


def assert_indefinite(verdict: da.Verdict, problem: Problem) -> None:
    assert verdict.mass_matrix == "indefinite"
    assert "indefinite along" in str(verdict) and verdict.well_posed


def assert_singular_place(verdict: da.Verdict, problem: Problem) -> None:
    assert not verdict.well_posed
    assert "`cross` becomes dependent" in str(verdict)


def assert_no_gradient(verdict: da.Verdict, problem: Problem) -> None:
    (trouble,) = (finding for finding in verdict.findings if finding.trouble)
    assert f"`{problem.names[0]}` has no gradient of its own" in trouble.message


def assert_hidden(verdict: da.Verdict, problem: Problem) -> None:
    (trouble,) = (finding for finding in verdict.findings if finding.trouble)
    assert f"`{problem.names[0]} = 0` must hold as well" in trouble.message


def assert_sound(verdict: da.Verdict, problem: Problem) -> None:
    assert verdict.well_posed, str(verdict)
    assert verdict.conflicts == () and verdict.hidden_constraints == () and not verdict.violations


Examine = Callable[[da.Verdict, Problem], None]
FAULTS: list[tuple[Callable[[Problem], Problem], Examine, Examine]] = [
    # what was planted, what a verdict at the state says, and what one without a state
    (contradictory_copy, assert_conflict, assert_conflict),
    (dependent_copy, assert_redundant, assert_redundant),
    (three_way(0), assert_conflict, assert_conflict),
    (three_way(1), assert_conflict, assert_conflict),
    (three_way(2), assert_conflict, assert_conflict),
    (violated_start, assert_violated, assert_sound),
    (violated_speed, assert_violated, assert_sound),
    (massless, assert_open, assert_open),
    (indefinite, assert_indefinite, assert_indefinite),
    (rank_loss, assert_singular_place, assert_sound),
    (no_gradient, assert_no_gradient, assert_no_gradient),
    (no_gradient_in_velocity, assert_no_gradient, assert_no_gradient),
    (implied_position, assert_hidden, assert_hidden),
]


@pytest.mark.parametrize("name", WELL_POSED)
def test_every_planted_fault_is_named_at_any_scale(name: str) -> None:
    """Every fault is seen at both scales in the quick cases, and at one, in turn, in each of the others."""
    problem = well_posed(name)
    assert_sound(problem.verdict(), problem)
    factors = (1e-6, 1e6)
    for factor in factors:
        assert_sound(problem.scaled(factor).verdict(), problem)
    turn = da.gallery.names().index(name)
    for k, (plant, examine, _) in enumerate(FAULTS, start=turn):
        for factor in factors if name in QUICK else factors[k % 2 : k % 2 + 1]:
            faulty = plant(problem).scaled(factor)
            examine(faulty.verdict(), faulty)


@pytest.mark.parametrize("name", WELL_POSED)
def test_every_planted_fault_is_named_without_a_state(name: str) -> None:
    problem = well_posed(name)
    assert_sound(problem.verdict_without_state(), problem)
    for plant, _, examine in FAULTS:
        faulty = plant(problem)
        examine(faulty.verdict_without_state(), faulty)


@pytest.mark.parametrize("unit", [1e-3, 1e6])
@pytest.mark.parametrize("name", quick_first(["bead", "pendulum", "skate", "constant-speed"], ["skate"]))
def test_every_planted_fault_is_named_in_mixed_units(name: str, unit: float) -> None:
    """Coordinates of size one beside others of a thousandth or a million."""
    problem = well_posed(name, unit)
    for plant, examine, _ in FAULTS:
        faulty = plant(problem)
        examine(faulty.verdict(), faulty)


def test_a_fault_in_small_units_is_not_lost_beside_large_ones() -> None:
    for plant, examine, _ in FAULTS:
        x = da.coordinates("x")
        far = Problem(da.System((x,), [[1]], (0,), da.Constraint(x.diff(da.t) - 1e6, name="far")), (1e6,), (1e6,), {})
        if plant is not contradictory_copy:
            faulty = plant(replace(far, unit=1e-3))
            examine(faulty.verdict(), faulty)
