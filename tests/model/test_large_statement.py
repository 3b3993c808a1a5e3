"""Systems stated by arrays: what they mean term by term, and what is refused."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import InputError, ModelError

x = da.coordinates("x", 4)
u, v = da.coordinates("u v")
k = da.parameters("k")


def test_arrays_of_coordinates_make_symbols_when_asked():
    assert x[1] == sp.Function("x[1]")(da.t) and len(x[1:]) == 3
    assert x[::2].names == ["x[0]", "x[2]"] and x[[3, 0]].names == ["x[3]", "x[0]"]
    assert x[np.array([True, False, False, True])][1] == x[3]
    assert repr(x[1:]) == "<CoordinateArray of 3: x[1] … x[3]>"
    assert da.parameters("m", 3)[2] == sp.Symbol("m[2]")


def test_groups_are_expanded_term_by_term():
    lengths = da.parameters("l", 3)
    rods = da.Constraint.over(u - v - k, {u: x[:-1], v: x[1:], k: lengths}, name="rod")
    springs = da.AppliedForce.from_potential(k * (u - v) ** 2 / 2, {u: x[:-1], v: x[1:], k: 2.0})
    system = da.System(x, (1 + np.arange(4.0)), [springs, {x[1:]: sp.Symbol("g")}], rods)
    a, b, c, d = system.coordinates
    assert system.constraints[1].expression == b - c - lengths[1] and rods[-1].name == "rod[2]"
    assert system.mass_matrix == sp.diag(1.0, 2.0, 3.0, 4.0)
    assert sp.expand(system.applied_force[1] - (2.0 * (a - b) - 2.0 * (b - c) + sp.Symbol("g"))) == 0
    assert sp.expand(system.applied_force[0] - 2.0 * (b - a)) == 0 and d == x[3]
    numbers = {"g": 1.0, "l": [1.0, 2.0, 3.0]}
    point = da.motion(system, np.zeros(4), np.zeros(4), parameters=numbers)
    assert point.rank == 3
    wider = system.constrain(da.Constraint(x[0], name="end"))
    assert wider.constraint_names == ("rod[0]", "rod[1]", "rod[2]", "end")


def test_forces_along_a_placeholder_may_be_constant():
    """Such as gravity from its potential: the coordinate along which a force acts is what is replaced."""
    m, g = da.parameters("m g")
    weight = da.AppliedForce.from_potential(m * g * u, {u: x, m: np.arange(4.0)})
    push = da.AppliedForce.over({u: g}, {u: x[1:3]})
    force = da.System(x, 1, [weight, push]).applied_force
    assert [float(f.subs(g, 2)) for f in force] == [0, 0, -2, -6]


def test_one_coordinate_may_be_common_to_all_copies():
    z = da.coordinates("z")
    ties = da.Constraint.over(u + z, {u: x}, name="tie")
    system = da.System((x, z), 1, 0, ties)
    assert system.constraints[3].expression == x[3] + z


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda: da.coordinates("x y", 3), "must have one name; got 'x y'"),
        (lambda: da.coordinates("x", 0), "`count` must be a whole number, at least 1; got 0"),
        (lambda: da.Constraint.over(u, [], name="a"), "constraint `a` must have a mapping from its symbols to arrays"),
        (lambda: da.Constraint.over(u, {u: x[0]}, name="a"), "must have at least one array"),
        (lambda: da.Constraint.over(u - v, {u: x, v: x[1:]}, name="a"), "`v.t.` has 3 entries, another one 4"),
        (lambda: da.Constraint.over(u, {u: [1, 2]}, name=""), "must have a name"),
        (
            lambda: da.Constraint.over(sp.Ge(u, 0), {u: x}, name="a"),
            "an inequality needs a `restitution`",
        ),
        (lambda: da.Constraint.over(u, {v: x}, name="a"), "must contain a symbol that it is stated over"),
        (lambda: da.Constraint.over(u, {u: np.ones(3)}, name="a"), "must replace coordinates by coordinates"),
        (lambda: da.AppliedForce.over({v: u}, {u: x}), "components along coordinates that it is stated over"),
        (lambda: da.System((x, x[1:]), 1, 0), "given twice: `x`"),
        (lambda: da.System((x, u, u), 1, 0), "given twice: `u`"),
        (lambda: da.System(x, [1, 2], 0), "must be one mass, one for each of the 1 entries"),
        (lambda: da.System(x, 1, 3.0), "objects, mappings from coordinates to forces, or an array of 4 numbers"),
        (lambda: da.System(x, 1, {x: [1, 2]}), "must have 4 entries for `x"),
        (lambda: da.System(x, 1, 0, da.Constraint(x[0])), "must have names, and not be switched or released"),
        (lambda: da.System(x, 1, 0, da.Constraint(x[0], name="hook", releases=True)), "not be switched or released"),
        (lambda: da.System(x, 1, 0, da.Constraint(v, name="a")), "`v` is not among them"),
        (lambda: da.System(x[:2], 1, 0, da.Constraint.over(u, {u: x}, name="a")), "`x` is not among them"),
        (lambda: da.System(x, 1, 0, [da.Constraint(x[0], name="a")] * 2), "given twice: `a`"),
        (
            lambda: da.System(
                x, 1, 0, [da.Constraint.over(u, {u: x}, name="a"), da.Constraint(x[1] - x[0], name="a[1]")]
            ),
            r"given twice: `a\[1\]`",
        ),
        (lambda: da.System(x, 1, 0, lagrangian=x[0]), "must have constraints, laws, applied forces and servos only"),
        (lambda: da.System(x, [da.MassEntries.over({(u, u): 1}, {u: x}), 3], 0), "must consist of `da.MassEntries`"),
        (lambda: da.MassEntries.over({u: 1}, {u: x}), "must be a mapping from pairs of coordinates"),
        (lambda: da.MassEntries.over({(u, v): 1, (v, u): 1}, {u: x, v: x}), "each pair once"),
    ],
)
def test_problems_are_named(state, message):
    with pytest.raises(ModelError, match=message):
        state()


def test_values_of_parameters_are_checked():
    l = da.parameters("l", 4)  # noqa: E741
    system = da.System(x, 1, 0, da.Constraint.over(u - k, {u: x, k: l}, name="a"))
    zero = np.zeros(4)
    with pytest.raises(InputError, match=r"give `l` the shape \(4,\); got \(3,\)"):
        da.motion(system, zero, zero, parameters={"l": np.ones(3)})
    with pytest.raises(InputError, match="missing: `l`"):
        da.motion(system, zero, zero)
    with pytest.raises(InputError, match="must be finite; `l` is not"):
        da.motion(system, zero, zero, parameters={"l": [1, 2, 3, np.nan]})
    with pytest.raises(InputError, match="must be a mapping from names to numbers"):
        da.motion(system, zero, zero, parameters=3)


def test_terms_of_large_systems_must_be_computable():
    long = da.coordinates("x", 300)
    zero = np.zeros(300)
    squared = da.Constraint.over(u.diff(da.t, 2) ** 2 - 1, {u: long}, name="a")
    with pytest.raises(ModelError, match="constraint `a` must be linear in the accelerations"):
        da.motion(da.System(long, 1, 0, squared), zero, zero)
    pull = da.AppliedForce.over({u: u.diff(da.t, 2)}, {u: long})
    with pytest.raises(ModelError, match="`applied_force` must not contain accelerations"):
        da.motion(da.System(long, 1, pull), zero, zero)
    strange = da.AppliedForce.over({u: sp.besselj(1, u)}, {u: long})
    with pytest.raises(ModelError, match="the function `besselj` cannot be"):
        da.motion(da.System(long, 1, strange), zero, zero)
