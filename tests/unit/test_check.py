"""Is the question well posed? Known answers, faults planted by rule, and no false alarms."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.hidden import hidden_constraints

q = q1, q2, q3 = da.coordinates("q1 q2 q3")
v1, v2, v3 = (c.diff(da.t) for c in q)
x, y, u, v, w = da.coordinates("x y extra1 extra2 extra3")


def example_1() -> da.System:
    """Lemos et al., example 1: regular Hessian, singular saddle matrix."""
    L = (v1**2 + v2**2) / 2 + v1 * v2 + v2 * v3 - (q1**2 + q2**2 + q3**2) / 2
    rows = (da.Constraint(v1 + q3, name="first"), da.Constraint(v2 - q3, name="second"))
    return da.System.from_lagrangian(L, q, constraints=rows)


def test_hidden_constraint_of_lemos_example_1() -> None:
    verdict = da.check(example_1())
    assert not verdict.well_posed
    assert verdict.hidden_constraints == (v3 + q3,)
    assert verdict.free_data == (4, 3)
    assert verdict.saddle_determinant == 0
    assert verdict.mass_matrix == "indefinite"
    assert sp.Matrix(example_1().mass_matrix).det() == -1
    assert "`q3 + q3' = 0` must hold as well" in str(verdict)


def test_simulate_refuses_and_names_the_hidden_constraint() -> None:
    for formulation in (da.Multipliers(), None):
        with pytest.raises(da.MassMatrixError, match=r"also satisfy `q3 \+ q3' = 0`.*da\.reduce\(system\)"):
            da.simulate(example_1(), (1, 1, 0), (0, 0, 1), (0, 1), formulation=formulation)


def test_reduced_system_moves_as_in_the_paper() -> None:
    a, b, c = 0.7, -0.4, 0.5
    reduced = da.reduce(example_1())
    assert reduced.constraint_names == ("first", "second", "hidden 1")
    times = np.linspace(0, 3, 7)
    decay = c * np.exp(-times)
    run = da.simulate(
        reduced, (a + c, b - c, c), (-c, c, -c), times, formulation=da.Multipliers(), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(run.q, np.stack([a + decay, b - decay, decay], axis=1), atol=1e-10)
    with pytest.raises(da.StateError, match="`hidden 1` is violated"):
        da.simulate(reduced, (1, 1, 0), (0, 0, 1), (0, 1), formulation=da.Multipliers())


def test_lemos_example_2_is_well_posed_though_indefinite() -> None:
    verdict = da.check(da.gallery.case("indefinite-mass").system)
    assert verdict.well_posed
    assert verdict.mass_matrix == "indefinite"
    assert sp.simplify(verdict.saddle_determinant - (1 + q3**2)) == 0


def test_weber_changes_sign_at_the_critical_radius() -> None:
    told = str(da.check(da.gallery.case("weber").system))
    assert "It changes its sign where r = k/(c**2*m)." in told


def test_hidden_constraints_are_followed_to_the_end() -> None:
    """L = ẋ²/2 + y(x − 1): y is a multiplier; x = 1 is hidden, hence ẍ = 0 = y, hidden behind it. Nothing is free."""
    found = hidden_constraints(da.System.from_lagrangian(x.diff(da.t) ** 2 / 2 + y * (x - 1), (x, y)))
    assert [c.expression for c in found.constraints] == [x - 1, y]
    assert (found.data_before, found.data_after) == (4, 0)


def test_degenerate_lagrangian_with_a_hidden_velocity() -> None:
    """L = (ẋ + y)²/2: p_y = 0 gives ẋ + y = 0, and nothing more: a gauge freedom."""
    verdict = da.check(da.System.from_lagrangian((x.diff(da.t) + y) ** 2 / 2, (x, y)))
    assert not verdict.well_posed
    assert verdict.mass_matrix == "singular"
    assert verdict.hidden_constraints == (x.diff(da.t) + y,)


def test_demand_without_a_way_out() -> None:
    system = da.System((x, y), sp.diag(1, 0), (0, 1))
    assert "`1 = 0`" in str(da.check(system))
    with pytest.raises(da.ConstraintError, match=r"they imply `1 = 0`"):
        da.reduce(system)


@dataclass(frozen=True)
class Problem:
    """A system at a state; ``names`` are those a verdict must name."""

    system: da.System
    q: tuple[float, ...]
    qd: tuple[float, ...]
    parameters: dict
    names: tuple[str, ...] = ()

    def verdict(self) -> da.Verdict:
        return da.check(self.system, self.q, self.qd, 0.0, parameters=self.parameters)

    def extended(self, masses: list, constraints: list, q: list, qd: list, names: tuple[str, ...]) -> "Problem":
        """With further coordinates u, v, … of given masses, and constraints on them."""
        s, extra = self.system, (u, v, w)[: len(masses)]
        mass = sp.diag(s.mass_matrix, *masses)
        force = [*s.applied_force, *[0] * len(masses)]
        bigger = da.System((*s.coordinates, *extra), mass, force, (*s.constraints, *constraints))
        return Problem(bigger, (*self.q, *q), (*self.qd, *qd), self.parameters, names)

    def scaled(self, factor: float) -> "Problem":
        rows = [da.Constraint(factor * c.expression, name=c.name) for c in self.system.constraints]
        return replace(self, system=replace(self.system, constraints=rows))


SOUND = ("spiral", "manipulator", "particle", "block-quadratic", "bead", "rolling-coin", "pendulum", "skate")
SOUND += (
    "pendulum-rod-twice",
    "constant-speed",
    "appell-hamel",
    "perpendicular",
    "indefinite-mass",
    "hidden-constraint",
)


def sound(name: str) -> Problem:
    case = da.gallery.case(name)
    ideal = [replace(constraint, nonideal=()) for constraint in case.system.constraints]
    system = replace(case.system, constraints=ideal, nonideal=())
    p = {k: case.parameters[k] for k in system.parameter_names}
    return Problem(system, tuple(case.q0), tuple(case.qd0), p)


def contradictory_copy(problem: Problem) -> Problem:
    first = problem.system.constraints[0]
    copy = da.Constraint(first.expression + sp.Rational(1, 2), name="copy")
    # with the rod stated twice either statement may be the one in conflict; the first is found
    return replace(problem, system=problem.system.constrain(copy), names=(first.name, "copy"))


def dependent_copy(problem: Problem) -> Problem:
    copy = da.Constraint(2 * problem.system.constraints[0].expression, name="copy")
    return replace(problem, system=problem.system.constrain(copy), names=("copy",))


def three_way(problem: Problem) -> Problem:
    rows = [("u rate", u.diff(da.t) - 1), ("v rate", v.diff(da.t) - 1), ("sum", u.diff(da.t) + v.diff(da.t) - 3)]
    constraints = [da.Constraint(e, name=n) for n, e in rows]
    return problem.extended([1, 1], constraints, [0, 0], [1, 1], ("u rate", "v rate", "sum"))


def violated_start(problem: Problem) -> Problem:
    rows = [da.Constraint(u - 1, name="shelf")]
    return problem.extended([1], rows, [1.5], [0], ("shelf",))


def massless(problem: Problem) -> Problem:
    return problem.extended([0], [], [0], [0], ("extra1",))


def indefinite(problem: Problem) -> Problem:
    return problem.extended([-2], [], [0], [0], ("extra1",))


def rank_loss(problem: Problem) -> Problem:
    rows = [da.Constraint(u * v, name="cross")]
    return problem.extended([1, 1], rows, [0, 0], [0, 0], ("cross",))


def assert_conflict(verdict: da.Verdict, problem: Problem) -> None:
    assert not verdict.well_posed
    assert any(set(conflict.names) == set(problem.names) for conflict in verdict.conflicts), verdict.conflicts


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
    assert "`cross` loses its hold" in str(verdict)


FAULTS: list[tuple[Callable, Callable]] = [
    (contradictory_copy, assert_conflict),
    (dependent_copy, assert_redundant),
    (three_way, assert_conflict),
    (violated_start, assert_violated),
    (massless, assert_open),
    (indefinite, assert_indefinite),
    (rank_loss, assert_singular_place),
]


@pytest.mark.parametrize("name", SOUND)
def test_no_false_alarm_and_every_planted_fault_is_named_at_any_scale(name: str) -> None:
    problem = sound(name)
    for factor in (1, 1e-6, 1e6):
        verdict = problem.scaled(factor).verdict()
        assert verdict.well_posed, str(verdict)
        assert verdict.conflicts == () and verdict.hidden_constraints == () and not verdict.violations
        for plant, examine in FAULTS:
            faulty = plant(problem).scaled(factor)
            examine(faulty.verdict(), faulty)


def test_conflicts_are_told_apart_by_level() -> None:
    def levels(*rows: da.Constraint) -> list[str]:
        system = da.System((x, y), sp.eye(2), (0, 0), rows)
        return [conflict.level for conflict in da.check(system, (1, 0), (0, 1)).conflicts]

    circle = da.Constraint(x**2 + y**2 - 1, name="circle")
    assert levels(circle, da.Constraint(x**2 + y**2 - 4, name="larger")) == ["position"]
    assert levels(circle, da.Constraint(x * x.diff(da.t) + y * y.diff(da.t) - 1, name="outwards")) == ["velocity"]
    both = da.Constraint(x.diff(da.t, 2) - 1, name="one"), da.Constraint(x.diff(da.t, 2) - 2, name="two")
    assert levels(*both) == ["acceleration"]


def test_two_separate_conflicts_are_both_found() -> None:
    rows = [da.Constraint(c.diff(da.t) - k, name=f"{c.func} {k}") for c in (x, y) for k in (1, 2)]
    verdict = da.check(da.System((x, y), sp.eye(2), (0, 0), rows), (0, 0), (0, 0))
    assert {c.names for c in verdict.conflicts if c.level == "velocity"} == {("x 1", "x 2"), ("y 1", "y 2")}


def test_not_finite_terms_are_reported() -> None:
    system = da.System((x, y), sp.eye(2), (1 / x, 0), da.Constraint(y, name="floor"))
    assert "`applied_force` must be finite there" in str(da.check(system, (0, 0), (0, 0)))


def test_mistakes() -> None:
    system = da.gallery.case("pendulum").system
    with pytest.raises(da.InputError, match=r"`system` must be a `da.System`"):
        da.check("pendulum")
    with pytest.raises(da.InputError, match=r"`system` must be a `da.System`"):
        da.reduce(None)
    with pytest.raises(da.InputError, match=r"`q` and `qd` must be given together"):
        da.check(system, (1, 0))
    with pytest.raises(da.InputError, match=r"missing: `g`, `l`, `m`"):
        da.check(system, (1, 0), (0, 0))


def test_parameters_are_kept_when_no_state_is_given() -> None:
    """Two unit circles three apart have no point in common; with other radii they do."""
    l1, l2, l3 = da.parameters("l1 l2 l3")
    rows = [da.Constraint(x**2 + y**2 - l1**2, name="a"), da.Constraint((x - l3) ** 2 + y**2 - l2**2, name="b")]
    system = da.System((x, y), sp.eye(2), (0, 0), rows)
    assert da.check(system, parameters={"l1": 1, "l2": 1, "l3": 3}).conflicts == (("position", ("a", "b")),)
    assert da.check(system, parameters={"l1": 2, "l2": 2, "l3": 3}).well_posed


def test_units_of_different_size_raise_no_alarm() -> None:
    system = da.System((x, y), sp.diag(1000, 1e-8), (0, 2e-8), da.Constraint(x - 1, name="fixed"))
    assert da.check(system, (1, 0), (0, 0)).well_posed


@pytest.mark.parametrize(
    ("lagrangian", "constraints", "implied"),
    [
        (x.diff(da.t) ** 2 / 2 + y**3 / 3 + y, (), r"y\(t\)\*\*2 \+ 1"),  # y² + 1 = 0
        (x.diff(da.t) ** 2 / 2 + y * x + u * (x - 1), (), r"x\(t\) - 1"),  # x = 0 and x = 1
        (x.diff(da.t) ** 2 / 2 + y * (x - da.t), (da.Constraint(x, name="wall"),), r"-t \+ x\(t\)"),  # x = 0 and x = t
    ],
)
def test_hidden_constraints_that_no_state_can_meet(lagrangian: sp.Expr, constraints: tuple, implied: str) -> None:
    names = (x, y, u) if lagrangian.has(u) else (x, y)
    system = da.System.from_lagrangian(lagrangian, names, constraints=constraints)
    with pytest.raises(da.ConstraintError, match=f"they imply `{implied} = 0`"):
        da.reduce(system)
    assert "which no motion can meet" in str(da.check(system))


def test_search_that_is_given_up_says_so() -> None:
    """x eʸ = 0 is found; that eʸ = 0 would have to follow is seen by numbers only."""
    system = da.System.from_lagrangian(x.diff(da.t) ** 2 / 2 + sp.exp(y) * x, (x, y))
    assert "symbols did not find what" in str(da.check(system))
    with pytest.raises(da.ConstraintError, match="the search was given up"):
        da.reduce(system)


def test_velocity_rows_redundant_on_their_manifold_are_no_singular_place() -> None:
    speed = x.diff(da.t) ** 2 + y.diff(da.t) ** 2 - u**2 - 1
    rows = [da.Constraint(speed, name="one"), da.Constraint(speed * (2 + x.diff(da.t)), name="two")]
    verdict = da.check(da.System((x, y, u), sp.eye(3), (0, 0, 0), rows), (0, 0, 0), (0.6, 0.8, 0))
    assert verdict.well_posed
    assert verdict.redundant["two"]["one"] == pytest.approx(2.6)


def test_definite_factors_do_not_change_sign() -> None:
    """Massless elbow: det M = m² sin²(a − b), which touches zero but keeps its sign."""
    m = da.parameters("m")
    L = m * ((sp.cos(x) * x.diff(da.t) + sp.cos(y) * y.diff(da.t)) ** 2) / 2
    L += m * (sp.sin(x) * x.diff(da.t) + sp.sin(y) * y.diff(da.t)) ** 2 / 2
    told = str(da.check(da.System.from_lagrangian(L, (x, y))))
    assert "It is singular where" in told and "changes its sign" not in told


def test_kinks_are_no_obstacle() -> None:
    system = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(sp.Abs(x) + y - 1, name="roof"))
    assert da.check(system, (0.5, 0.5), (0, 0)).well_posed
