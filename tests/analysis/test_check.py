"""Is the question well posed? Known answers; faults planted by rule are in `test_planted_faults.py`."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.hidden_constraints import hidden_constraints
from dalembert.numerics.linear_algebra import dependencies, determined, independent_rows

q = q1, q2, q3 = da.coordinates("q1 q2 q3")
v1, v2, v3 = (c.diff(da.t) for c in q)
x, y, z, u = da.coordinates("x y z u")


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


def papers_motion(times: np.ndarray) -> tuple[np.ndarray, ...]:
    """q, its first and its second derivative (T, 3): all decays with e^(−t)."""
    decay = 0.5 * np.exp(-times)[:, None] * np.array([1, -1, 1])
    return np.array([0.7, -0.4, 0]) + decay, -decay, decay


def test_reduced_system_is_obeyed_by_the_motion_of_the_paper() -> None:
    reduced = da.reduce(example_1())
    assert reduced.constraint_names == ("first", "second", "hidden 1")
    for q, qd, qdd in zip(*papers_motion(np.linspace(0, 3, 7)), strict=True):
        found = da.motion(reduced, q, qd, formulation=da.Multipliers())
        np.testing.assert_allclose(found.acceleration, qdd, atol=1e-14)
    with pytest.raises(da.StateError, match="`hidden 1` is violated"):
        da.simulate(reduced, (1, 1, 0), (0, 0, 1), (0, 1), formulation=da.Multipliers())


@pytest.mark.slow
def test_reduced_system_moves_as_in_the_paper() -> None:
    times = np.linspace(0, 3, 7)
    expected, speeds, _ = papers_motion(times)
    run = da.simulate(
        da.reduce(example_1()), expected[0], speeds[0], times, formulation=da.Multipliers(), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(run.q, expected, atol=1e-10)


def test_lemos_example_2_is_well_posed_though_indefinite() -> None:
    verdict = da.check(da.gallery.case("indefinite-mass").system)
    assert verdict.well_posed
    assert verdict.mass_matrix == "indefinite"
    assert sp.simplify(verdict.saddle_determinant - (1 + q3**2)) == 0


def test_weber_changes_sign_at_the_critical_radius() -> None:
    report = str(da.check(da.gallery.case("weber").system))
    assert "It changes its sign where r = k/(c**2*m)." in report


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


def test_conflicts_are_distinguished_by_level() -> None:
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
    assert "which no motion can satisfy" in str(da.check(system))


def test_search_that_is_given_up_says_so() -> None:
    """x eʸ = 0 is found; that eʸ = 0 would have to follow is seen by numbers only."""
    system = da.System.from_lagrangian(x.diff(da.t) ** 2 / 2 + sp.exp(y) * x, (x, y))
    assert "it was not found symbolically" in str(da.check(system))
    with pytest.raises(da.ConstraintError, match="the search failed"):
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
    report = str(da.check(da.System.from_lagrangian(L, (x, y))))
    assert "It is singular where" in report and "changes its sign" not in report


def test_kinks_are_no_obstacle() -> None:
    system = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(sp.Abs(x) + y - 1, name="roof"))
    assert da.check(system, (0.5, 0.5), (0, 0)).well_posed


def test_remedy_for_a_violation_says_if_there_is_none() -> None:
    """A nearby state is recommended only where there is one."""

    def report(*rows: sp.Expr, q: tuple = (1, 0), qd: tuple = (0, 0)) -> str:
        named = [da.Constraint(row, name=name) for row, name in zip(rows, "ab", strict=False)]
        verdict = da.check(da.System((x, y), sp.eye(2), (0, 0), named), q, qd)
        return next(f.message for f in verdict.findings if f.about == "state")

    circle = x**2 + y**2 - 1
    assert report(circle, q=(1.1, 0)).endswith("at `q`; see `da.consistent_state`.")
    assert report(circle, circle - 3).endswith("at `q`; it cannot be satisfied together with `a`.")
    assert report(circle + 2).endswith("at `q`; no state satisfies it.")
    assert report(y * x.diff(da.t) - 1).endswith("at `qd`; no velocity satisfies it at this configuration: move `q`.")
    at_rest = report(x, y * x.diff(da.t) + y.diff(da.t) ** 2 + y - 1, q=(0, 2))
    assert at_rest.endswith("no velocity satisfies it together with `a` at this configuration: move `q`.")


def test_violation_that_is_meant() -> None:
    system = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x, name="wall"))
    verdict = da.check(system, (1, 0), (0, 0), allow_violation=True)
    assert verdict.well_posed and verdict.violations == {("wall", "position"): 1.0}
    assert "`wall` is violated by 1.0e+00 at `q`; this was allowed." in str(verdict)


@pytest.mark.parametrize("small", [1e-6, 1e-7, 3e-8, 1.1e-8, 9e-9, 3e-9, 1e-10, 0.0])
def test_one_criterion_tells_rank_redundancy_and_unique_multipliers(small: float) -> None:
    """Two rows that differ by little: either both multipliers are unique or neither is, as the rank says."""
    for A in (np.array([[1, 0, 0], [1, small, 0], [0, 0, 1]]), np.array([[1, small, 0], [0, 0, 1], [1, 0, 0]])):
        assert len(independent_rows(A)) == 3 - len(dependencies(A))
        shared = {k for row, parts in dependencies(A).items() for k in (row, *parts)}
        assert determined(A) == tuple(k not in shared for k in range(3))
        assert determined(A).count(True) == (3 if len(independent_rows(A)) == 3 else 1)


def test_a_state_without_any_acceleration_is_a_conflict_there() -> None:
    """y = 0 and y = x z at x = z = 0 with ẋ = ż = 1: ÿ = 0 and ÿ = 2; elsewhere they would agree."""
    rows = (da.Constraint(y, name="flat"), da.Constraint(y - x * z, name="saddle"))
    verdict = da.check(da.System((x, y, z), sp.eye(3), (0, 0, 0), rows), q=(0, 0, 0), qd=(1, 0, 1))
    assert [(c.level, set(c.names)) for c in verdict.conflicts] == [("acceleration", {"flat", "saddle"})]
    assert not verdict.well_posed


@pytest.mark.parametrize(
    ("mass", "said"),
    [
        ([[2, sp.cos(x - y)], [sp.cos(x - y), 1]], ""),
        ([[2 + sp.sin(x), 0], [0, 1]], ""),
        ([[x**2 - 2 * x + 2, 0], [0, 1]], ""),
        ([[x - 100, 0], [0, 1]], "It changes its sign where x = 100."),
        ([[(x - 1) ** 2, 0], [0, 1]], "It is singular where x = 1."),
    ],
)
def test_places_where_the_mass_matrix_fails_are_real(mass: list, said: str) -> None:
    text = str(da.check(da.System((x, y), mass, (0, 0))))
    assert said in text
    assert bool(said) == ("where" in text)


@pytest.mark.parametrize("start", [((1, 2, 1), (-1, 1, -1)), ((0.1, 0.2, 0.3), (-0.3, 0.3, 0)), ((1, 1, 0), (0, 0, 1))])
def test_the_papers_first_example_is_refused_from_any_start(start: tuple) -> None:
    system = da.gallery.case("hidden-constraint").system
    rows = [c for c in system.constraints if c.name in ("first", "second")] or system.constraints[:2]
    first = da.System.from_lagrangian(system.lagrangian, system.coordinates, constraints=rows)
    with pytest.raises(da.MassMatrixError, match=r"The motion must also satisfy `.*q3.* = 0`"):
        da.simulate(first, *start, (0, 1))


def test_a_run_that_ends_for_a_hidden_constraint_names_it() -> None:
    rows = (da.Constraint(x, name="wall"), da.Constraint(x.diff(da.t) - y, name="tie"))
    system = da.System((x, y), sp.eye(2), (0, -9.81), rows)
    with pytest.raises(da.SimulationError, match=r"must also satisfy `y = 0`, hidden in the equations"):
        da.simulate(system, (0, 0), (0, 0), (0, 1))


def test_singular_mass_takes_no_indefinite_one() -> None:
    system = da.System((x, y), sp.diag(1, -1), (0, 1), da.Constraint(x - y / 2))
    with pytest.raises(da.MassMatrixError, match=r"no negative eigenvalue for `SingularMass`; the smallest is -1"):
        da.motion(system, (0, 0), (0, 0), formulation=da.SingularMass())


def test_a_combination_with_a_leading_minus_is_written_as_one() -> None:
    rows = [da.Constraint(expression, name=name) for name, expression in (("left", x), ("mid", (x + y) / 2))]
    system = da.System((x, y), sp.eye(2), (0, -1), [*rows, da.Constraint(y, name="right")])
    assert "`right` follows from -`left` + 2 × `mid`" in str(da.check(system, (0, 0), (0, 0)))


def test_gradients_that_are_dependent_at_one_time_only() -> None:
    """The gradient of the lift is (0, 0, 1) everywhere; it is parallel to that of the sphere at t = 0 only."""
    x, y, z = da.coordinates("x y z")
    sphere = da.Constraint(x**2 + y**2 + z**2 - 1, name="sphere")
    lift = da.Constraint(z + sp.cos(da.t), name="lift")
    system = da.System((x, y, z), sp.eye(3), (0, 0, -9.81), (sphere, lift))
    for state in (((0, 0, -1), (1, 0, 0)), ()):
        verdict = da.check(system, *state, t=0)
        assert not verdict.well_posed and verdict.rank == 1
        assert "rank of the constraints is 1 at t = 0 but 2 at other times" in str(verdict)
        assert "Start at another time." in str(verdict)
        assert "wherever it holds" not in str(verdict) and "follows from" not in str(verdict)
    assert da.check(system, t=1).well_posed


def test_a_moving_square_has_no_gradient_at_any_time() -> None:
    x, y = da.coordinates("x y")
    square = da.Constraint((x - da.t) ** 2, name="square")
    verdict = da.check(da.System((x, y), sp.eye(2), (0, 0), (square,)), (0, 0), (1, 0))
    assert "`square` has no gradient of its own wherever it holds" in str(verdict)


def test_a_contradicting_constraint_is_not_called_redundant() -> None:
    x, y = da.coordinates("x y")
    plate = [da.Constraint(e, name=n) for n, e in (("a", x), ("b", y), ("c", x + y - 1))]
    verdict = da.check(da.System((x, y), sp.eye(2), (0, 0), plate), (0, 0), (0, 0))
    assert "The gradients of `a`, `b`, `c` are linearly dependent." in str(verdict)
    assert "follows from" not in str(verdict)


@pytest.mark.parametrize("count", [1, 3])
def test_states_at_which_constraints_exclude_a_singular_mass_matrix_are_not_reported(count: int) -> None:
    """That of a free body vanishes with its Euler parameters, which have unit length.

    The determinant of three is smaller by 2⁻²⁴ where all of them have half the length.
    """
    bodies = [da.Body(f"body{k}", mass=1, inertia=(1, 2, 3)) for k in range(count)]
    verdict = da.check(da.Mechanism(bodies).system)
    assert [finding.message for finding in verdict.findings if finding.about == "mass matrix"] == [
        "The mass matrix is positive definite."
    ]
