"""Systems, constraints and laws as symbols."""

import pickle
from dataclasses import FrozenInstanceError

import pytest
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import dalembert as da
from dalembert.model.sliding_expressions import while_moving
from dalembert.model.standard_form import standard_form
from helpers import pendulum, skate_particle

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
g, m, k = da.parameters("g m k")


def test_coordinates_and_parameters_are_sympys_own() -> None:
    assert da.coordinates("x") == dynamicsymbols("x")
    assert da.coordinates("q1:4") == tuple(dynamicsymbols("q1:4"))
    assert da.parameters("a b") == sp.symbols("a b")
    assert da.parameters("a") == sp.Symbol("a")


@pytest.mark.parametrize(
    ("expression", "level"),
    [
        (x**2 - 1, "position"),
        (sp.sin(da.t) - x, "position"),
        (xd * y - 1, "velocity"),
        (xd**2 + yd**2 - 1, "velocity"),
        (x.diff(da.t, 2) + y, "acceleration"),
        (sp.Eq(xd, y), "velocity"),
        (sp.Derivative(x**2 + y**2, da.t), "velocity"),
    ],
)
def test_level_is_that_of_the_highest_derivative(expression: sp.Expr, level: str) -> None:
    assert da.Constraint(expression).level == level


def test_equation_and_expression_are_the_same_constraint() -> None:
    assert da.Constraint(sp.Eq(xd, z * yd)).expression == xd - z * yd


def test_unnamed_constraints_are_called_by_their_equation() -> None:
    long = da.Constraint(sum(sp.sin(j * x) for j in range(1, 12)))
    same = da.Constraint(xd - y)
    system = da.System((x, y), sp.eye(2), (0, 0), [same, same, long])
    assert system.constraint_names == ("x' - y", "x' - y (2)", "position constraint 3")


def test_pfaffian_set_from_matrix_and_vector() -> None:
    rows = da.pfaffian((x, y, z), [[1, 2 * y, 1], [0, 0, z]], [1, 0], names=["leaf", "floor"])
    assert [c.name for c in rows] == ["leaf", "floor"]
    assert rows[0].expression == xd + 2 * y * yd + zd - 1


@pytest.mark.parametrize(
    ("expression", "A", "b"),
    [
        # theory, section 4: A and b of the three Pfaffian examples
        (xd + 2 * y * yd + zd, (1, 2 * y, 1), -2 * yd**2),
        (xd + 2 * y * yd + zd - 1, (1, 2 * y, 1), -2 * yd**2),
        (xd + 2 * z * yd + zd, (1, 2 * z, 1), -2 * yd * zd),
        (x + y**2 + z - da.t, (1, 2 * y, 1), -2 * yd**2),
        # rheonomic: φ_tt and the mixed term 2φ_qt q̇
        (x * sp.sin(da.t), (sp.sin(da.t), 0, 0), x * sp.sin(da.t) - 2 * xd * sp.cos(da.t)),
        (xd**2 + yd**2 - sp.exp(da.t), (2 * xd, 2 * yd, 0), sp.exp(da.t)),
        (k * x.diff(da.t, 2) + y, (k, 0, 0), -y),
    ],
)
def test_standard_form(expression: sp.Expr, A: tuple, b: sp.Expr) -> None:
    form = standard_form(da.System((x, y, z), sp.eye(3), (0, 0, 0), da.Constraint(expression)))
    plain = form.symbols.plain
    assert [sp.simplify(a - plain(sp.sympify(e))) for a, e in zip(form.constraint_matrix[0], A, strict=True)] == [0] * 3
    assert sp.simplify(form.constraint_rhs[0] - plain(b)) == 0


@pytest.mark.parametrize(
    "lagrangian",
    [
        m * (xd**2 + yd**2 * x**2) / 2 - m * g * sp.cos(y),
        (xd**2 + yd**2) / 2 + k * (x * yd - y * xd),  # magnetic field: a potential linear in velocity
        sp.exp(k * da.t) * (xd**2 + xd * yd + 2 * yd**2) / 2 - sp.exp(da.t) * x**2,  # time-dependent
        -sp.sqrt(1 - xd**2 - yd**2) - x,  # relativistic: the Hessian depends on velocity
        (xd**2 - yd**2) / 2 - x * y,  # indefinite
    ],
)
def test_euler_lagrange_agrees_with_sympy(lagrangian: sp.Expr) -> None:
    system = da.System.from_lagrangian(lagrangian, (x, y))
    reference = LagrangesMethod(lagrangian, [x, y])
    reference.form_lagranges_equations()
    assert sp.simplify(system.mass_matrix - reference.mass_matrix) == sp.zeros(2)
    assert sp.simplify(system.applied_force - reference.forcing) == sp.zeros(2, 1)


def test_applied_force_adds_to_the_lagrangian() -> None:
    system = da.System.from_lagrangian(xd**2 / 2 - x, (x,), applied_force={"x": -k * xd})
    assert system.applied_force[0] == -1 - k * xd


def test_a_system_is_an_immutable_hashable_value() -> None:
    with pytest.raises(FrozenInstanceError):
        pendulum().coordinates = ()
    assert pendulum() == pendulum()
    assert hash(skate_particle()) == hash(skate_particle())


def test_constrain_gives_a_new_system() -> None:
    before = pendulum()
    after = before.constrain(da.Constraint(y, name="table"))
    assert (before.constraint_names, after.constraint_names) == (("rod",), ("rod", "table"))


def test_laws_in_components() -> None:
    q = (x, y)
    speed = sp.sqrt(xd**2 + yd**2)
    assert da.Viscous(k).components(q) == (-k * xd, -k * yd)
    assert tuple(map(while_moving, da.Quadratic(k).components(q))) == (-k * speed * xd, -k * speed * yd)
    assert da.Proportional(k).components(q) == (-k * da.ideal_force(x), -k * da.ideal_force(y))
    assert da.Prescribed({"y": 1, x: 2}).components(q) == (2, 1)


def test_parameters_are_sorted_and_collected_from_everywhere() -> None:
    names = da.parameters("zeta alpha beta gamma")
    system = da.System((x,), [[names[0]]], [names[1]], da.Constraint(x - names[2]), da.Viscous(names[3]))
    assert system.parameter_names == ("alpha", "beta", "gamma", "zeta")


def test_an_unnamed_constraint_never_takes_the_name_of_a_coordinate() -> None:
    assert da.System((x, y), sp.eye(2), (0, 0), da.Constraint(y)).constraint_names == ("y (2)",)


def test_laws_and_expressions_may_be_mixed() -> None:
    system = da.System((x, y), sp.eye(2), (0, 0), nonideal=[da.Viscous(k), (1, 0)])
    assert len(system.nonideal) == 2


def test_all_problems_with_a_lagrangian_system_come_together() -> None:
    theta, stranger = da.coordinates("theta stranger")
    with pytest.raises(da.ModelError) as caught:
        da.System.from_lagrangian(
            theta.diff(da.t) ** 2, (theta,), applied_force=(1, 2), constraints=da.Constraint(stranger - 1)
        )
    assert len(caught.value.problems) == 2


def test_equal_systems_are_one_also_after_they_were_found_equal() -> None:
    def falling(weight: float) -> da.System:
        return da.System((x, y), sp.eye(2), (0, -weight), da.Constraint(x**2 + y**2 - 1, name="rod"))

    one, other = falling(9.81), falling(9.81)
    for _ in range(2):  # the second comparison is remembered
        assert one == other and other == one and hash(one) == hash(other)
        assert one != falling(9.8) and one != "pendulum"
    assert pickle.loads(pickle.dumps(one)) == other
    assert one != other.constrain(da.Constraint(x - 1, name="wall"))
