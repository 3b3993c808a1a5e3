"""Kinds of constraints, derived flags and integrals, against answers from theory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.derived_flag import Pfaffian
from dalembert.analysis.joint_integrals import independent
from dalembert.model.standard_form import standard_form

x, y, z, w = da.coordinates("x y z w")
xd, yd, zd, wd = (q.diff(da.t) for q in (x, y, z, w))
theta, phi, psi, lean = da.coordinates("theta phi psi lean")
R, b, k = da.parameters("R b k")
t = da.t


def rate(q: Any) -> Any:
    return sp.sympify(q).diff(t)


def classified(coordinates: Sequence[Any], *constraints: Any) -> da.Classification:
    n = len(coordinates)
    system = da.System(coordinates, sp.eye(n), [0] * n, [da.Constraint(sp.sympify(c).doit()) for c in constraints])
    return da.classify(system)


def same_level_sets(found: Any, expected: Any, coordinates: Sequence[Any]) -> bool:
    """Return whether df ∧ dg = 0 for two functions of coordinates and time, neither constant."""
    letters = {q: sp.Symbol(f"u{i}", positive=True) for i, q in enumerate(coordinates)}
    variables = [*letters.values(), t]
    f, g = (sp.Matrix([e.xreplace(letters).diff(v) for v in variables]) for e in (found, expected))
    assert any(e != 0 for e in f)
    return all(sp.simplify(f[i] * g[j] - f[j] * g[i]) == 0 for i in range(len(f)) for j in range(i))


# The examples of the review paper: verdict, integral, A and b as printed.


@pytest.mark.parametrize(
    ("constraint", "holonomic", "scleronomic", "integral", "A", "rhs"),
    [
        (xd + 2 * y * yd + zd, True, True, x + y**2 + z, [1, 2 * y, 1], -2 * yd**2),
        (xd + 2 * y * yd + zd - 1, True, False, x + y**2 + z - t, [1, 2 * y, 1], -2 * yd**2),
        (xd + 2 * z * yd + zd, False, True, None, [1, 2 * z, 1], -2 * yd * zd),
    ],
)
def test_examples_of_the_review(
    constraint: Any, holonomic: bool, scleronomic: bool, integral: Any, A: list[Any], rhs: Any
) -> None:
    """Zhao et al. 2018, section 3."""
    system = da.System((x, y, z), sp.eye(3), (0, 0, 0), da.Constraint(constraint))
    found = da.classify(system)
    (row,) = found.constraints
    assert (row.level, row.holonomic, row.scleronomic) == ("velocity", holonomic, scleronomic)
    assert row.catastatic == scleronomic and row.linear_in_velocity and not row.numerical
    assert (row.integral is None) if integral is None else sp.simplify(row.integral - integral) == 0
    assert found.derived_flag == ((1,) if holonomic else (1, 0))
    assert found.degrees_of_freedom == (2 if holonomic else 3, 2)
    form = standard_form(system)
    assert [form.symbols.restore(e) for e in form.constraint_matrix[0]] == A
    assert sp.expand(form.symbols.restore(form.constraint_rhs[0]) - rhs) == 0


def test_pair_of_lemos_has_one_joint_integral() -> None:
    """Lemos et al., example 1: dω₁ = −dω₂ = dq₃ ∧ dt, so only ω₁ + ω₂ = d(q₁ + q₂) integrates."""
    found = classified((x, y, z), xd + z, yd - z)
    assert [row.holonomic for row in found.constraints] == [False, False]
    assert [row.catastatic for row in found.constraints] == [False, False]
    assert [row.scleronomic for row in found.constraints] == [True, True]
    assert found.derived_flag == (2, 1)
    assert found.integrals == (x + y,)
    assert found.degrees_of_freedom == (2, 1)
    assert not found.numerical


def test_second_example_of_lemos_is_a_contact_form() -> None:
    """Lemos et al., example 2: ω = dq₁ + q₃ dq₂, ω ∧ dω = dq₁ ∧ dq₃ ∧ dq₂ ≠ 0."""
    found = da.classify(da.gallery.case("indefinite-mass").system)
    assert found.constraints[0].holonomic is False and found.derived_flag == (1, 0)


def test_rolling_coin() -> None:
    """D = ⟨∂θ, R cos θ ∂x + R sin θ ∂y + ∂φ⟩ grows 2, 3, 4 in four dimensions (Bloch, section 1.4): I drops 2, 1, 0."""
    found = da.classify(da.gallery.case("rolling-coin").system)
    assert [row.holonomic for row in found.constraints] == [False, False]
    assert found.derived_flag == (2, 1, 0) and found.integrals == ()
    assert found.degrees_of_freedom == (4, 2)


def test_no_constraints() -> None:
    """Weber's electrodynamics has none: every position and velocity is free."""
    found = da.classify(da.gallery.case("weber").system)
    assert (found.constraints, found.derived_flag, found.integrals) == ((), (0,), ())
    assert found.degrees_of_freedom == (3, 3)
    assert "no constraints" in str(found)


# Nonholonomic classics: growth of the distribution D, from which I⁽ᵏ⁾ has dimension n − dim D⁽ᵏ⁾.

blade = sp.sin(theta) * xd - sp.cos(theta) * yd


def trailers(n: int) -> tuple[tuple[Any, ...], list[Any]]:
    """A car pulling n trailers: the last axle at (x, y), every axle rolls without slipping sideways."""
    angles = da.coordinates([f"theta{i}" for i in range(n + 1)])
    px, py, rows = x, y, []
    for i in range(n, -1, -1):
        if i < n:
            px, py = px + sp.cos(angles[i + 1]), py + sp.sin(angles[i + 1])
        rows.append(sp.sin(angles[i]) * rate(px) - sp.cos(angles[i]) * rate(py))
    return (x, y, *angles), rows


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_car_with_trailers_is_a_goursat_system(n: int) -> None:
    """Jean (1996): D has dimension 2 and D⁽ᵏ⁾ dimension k + 2 at a generic point, so each derived system loses one."""
    coordinates, rows = trailers(n)
    found = classified(coordinates, *rows)
    assert found.derived_flag == tuple(range(n + 1, -1, -1))
    assert found.degrees_of_freedom == (n + 3, 2)
    assert not any(row.holonomic for row in found.constraints)


def sphere_rolling() -> list[Any]:
    """ẋ = R ω_y, ẏ = −R ω_x, with ω in space from the angles ψ, θ, φ about z, x', z''."""
    wx = sp.cos(psi) * rate(theta) + sp.sin(psi) * sp.sin(theta) * rate(phi)
    wy = sp.sin(psi) * rate(theta) - sp.cos(psi) * sp.sin(theta) * rate(phi)
    wz = rate(psi) + sp.cos(theta) * rate(phi)
    return [xd - R * wy, yd + R * wx, wz]


def test_rolling_sphere_that_may_spin() -> None:
    """D = ⟨roll₁, roll₂, spin⟩: [spin, rollᵢ] are turns without travel, so D⁽¹⁾ is everything: 2, 0."""
    found = classified((x, y, psi, theta, phi), *sphere_rolling()[:2])
    assert found.derived_flag == (2, 0) and found.degrees_of_freedom == (5, 3)


def test_rolling_sphere_without_spin() -> None:
    """Cartan's five variables: growth 2, 3, 5 (Bryant & Hsu 1993), hence 3, 2, 0."""
    found = classified((x, y, psi, theta, phi), *sphere_rolling())
    assert found.derived_flag == (3, 2, 0) and found.degrees_of_freedom == (5, 2)


def test_chaplygin_sleigh() -> None:
    """The blade sits b behind the mass centre: ω = sin θ dx − cos θ dy + b dθ, ω ∧ dω = ∓dx ∧ dy ∧ dθ ≠ 0."""
    found = classified((x, y, theta), blade + b * rate(theta))
    assert found.constraints[0].holonomic is False and found.derived_flag == (1, 0)


def test_snakeboard() -> None:
    """Wheels turned by ±φ: a kinematic car with growth 2, 3, 4, and the rotor is free: 3, 4, 5; so 2, 1, 0."""
    front = -sp.sin(theta + phi) * xd + sp.cos(theta + phi) * yd + b * sp.cos(phi) * rate(theta)
    back = -sp.sin(theta - phi) * xd + sp.cos(theta - phi) * yd - b * sp.cos(phi) * rate(theta)
    found = classified((x, y, theta, psi, phi), front, back)
    assert found.derived_flag == (2, 1, 0) and found.degrees_of_freedom == (5, 3)


@pytest.mark.parametrize("centre", [False, True])
def test_falling_rolling_disc(centre: bool) -> None:
    """Contact point: ẋ = Rφ̇ cos ψ, ẏ = Rφ̇ sin ψ; the lean is free, so growth 3, 4, 5: I drops 2, 1, 0.

    With the centre's coordinates x + R sin(lean) sin ψ, y − R sin(lean) cos ψ instead it is the same disc: same flag.
    """
    shift = R * sp.sin(lean) if centre else 0
    px, py = x - shift * sp.sin(psi), y + shift * sp.cos(psi)
    rows = [rate(px) - R * sp.cos(psi) * rate(phi), rate(py) - R * sp.sin(psi) * rate(phi)]
    found = classified((x, y, psi, lean, phi), *rows)
    assert found.derived_flag == (2, 1, 0) and found.degrees_of_freedom == (5, 3)


@pytest.mark.parametrize(
    "constraint",
    [
        blade,  # knife edge: ω ∧ dω = −dx ∧ dy ∧ dθ up to sign
        zd - x * yd + y * xd,  # Heisenberg: dω = −2 dx ∧ dy
        yd - z**2 * xd,  # the particle of Udwadia and Kalaba: dω = 2z dx ∧ dz
        zd - y * xd - w,  # with time: ω ∧ dω contains dz ∧ dx ∧ dy
    ],
)
def test_contact_forms_in_few_variables(constraint: Any) -> None:
    found = classified((x, y, z, w, theta), constraint)
    assert found.constraints[0].holonomic is False and found.constraints[0].integral is None
    assert found.derived_flag == (1, 0) and found.integrals == ()


def test_contact_form_in_five_variables() -> None:
    """ω = dz − y₁ dx₁ − y₂ dx₂: ω ∧ dω ∧ dω is a volume (Darboux)."""
    q = z_, x1, y1, x2, y2 = da.coordinates("z x1 y1 x2 y2")
    found = classified(q, rate(z_) - y1 * rate(x1) - y2 * rate(x2))
    assert found.derived_flag == (1, 0) and found.degrees_of_freedom == (5, 4)


def test_jet_space_of_second_order_curves() -> None:
    """dx − y dt, dy − z dt: the Cartan system of curves x(t) with derivatives y, z; it loses one each time: 2, 1, 0."""
    assert classified((x, y, z), xd - y, yd - z).derived_flag == (2, 1, 0)


def test_differential_drive_keeps_its_heading_to_its_wheels() -> None:
    """Adding and subtracting the wheels gives 2bθ̇ = R(φ̇ − ψ̇), exact; what is left is a unicycle: 3, 2, 1."""
    along = sp.cos(theta) * xd + sp.sin(theta) * yd
    rows = [blade, along + b * rate(theta) - R * rate(phi), along - b * rate(theta) - R * rate(psi)]
    found = classified((x, y, theta, phi, psi), *rows)
    assert found.derived_flag == (3, 2, 1)
    (integral,) = found.integrals
    assert same_level_sets(integral, 2 * b * theta - R * (phi - psi), (x, y, theta, phi, psi))
    assert found.degrees_of_freedom == (4, 2)


# Together and apart.


def test_pair_integrable_jointly_but_not_singly() -> None:
    """ω₁ = dz − y dx is a contact form; with dy (so y is constant) z − yx is an integral too: d(z − yx) = ω₁ − x dy.

    Written as ω₁ and ω₁ + dy, neither is integrable alone: (ω₁ + dy) ∧ d(ω₁ + dy) = dz ∧ dx ∧ dy ≠ 0.
    """
    found = classified((x, y, z), zd - y * xd, zd - y * xd + yd)
    assert [row.holonomic for row in found.constraints] == [False, False]
    assert found.derived_flag == (2,) and len(found.integrals) == 2
    assert found.degrees_of_freedom == (1, 1)
    for f in found.integrals:  # constant where y and z − xy are
        free = sp.Matrix([f.xreplace({y: b, z: k + b * x}).doit().xreplace({x: sp.Symbol("s")}).diff(sp.Symbol("s"))])
        assert sp.simplify(free) == sp.zeros(1, 1)


def test_integrable_forms_whose_sum_is_not() -> None:
    """dz and −y dx are integrable (z; x), their sum dz − y dx is Heisenberg's.

    The other way round cannot happen: forms that are integrable one by one, ωᵢ = gᵢ dfᵢ, span the same system as the
    dfᵢ, which is completely integrable.
    """
    found = classified((x, y, z), zd, -y * xd)
    assert [row.holonomic for row in found.constraints] == [True, True]
    assert found.derived_flag == (2,) and len(found.integrals) == 2
    assert classified((x, y, z), zd - y * xd).derived_flag == (1, 0)


def test_rotation_has_two_joint_integrals_and_the_algebraic_one_is_found() -> None:
    """ẋ = −y, ẏ = x leaves one direction: always completely integrable. x² + y² is constant."""
    found = classified((x, y), xd + y, yd - x)
    assert [row.holonomic for row in found.constraints] == [False, False]
    assert found.derived_flag == (2,) and found.degrees_of_freedom == (0, 0)
    assert any(same_level_sets(f, x**2 + y**2, (x, y)) for f in found.integrals)


def test_triangular_pair_is_solved_on_the_level_of_the_first() -> None:
    """ẏ = y, ẋ = x + y has the solutions y = c eᵗ, x = (d + ct) eᵗ: integrals y e⁻ᵗ and x e⁻ᵗ − t y e⁻ᵗ."""
    found = classified((x, y), xd - x - y, yd - y)
    assert [row.holonomic for row in found.constraints] == [False, True]
    assert len(found.integrals) == 2 and found.derived_flag == (2,)
    c, d = sp.symbols("c d")
    values = [f.xreplace({y: c * sp.exp(t), x: (d + c * t) * sp.exp(t)}) for f in found.integrals]
    assert all(sp.simplify(value.diff(t)) == 0 for value in values)


# Integrals of single forms.


@pytest.mark.parametrize(
    ("constraint", "integral"),
    [
        ((1 + x**2 * y**2) * (x * xd + y * yd + z * zd), x**2 + y**2 + z**2),  # disguised by a factor
        (sp.exp(x * t) * (zd + 2 * x * xd - sp.cos(t)), z + x**2 - sp.sin(t)),  # by one with time in it
        (xd + x, x * sp.exp(t)),  # time-dependent integrating factor eᵗ
        (xd + k * x - k * y * sp.exp(-k * t), None),  # not exact: dω ∧ ω = k e⁻ᵏᵗ dy ∧ dt ∧ dx
        (t * xd + x, x * t),
        (xd + 2 * t * x - t, sp.exp(t**2) * (x - sp.S.Half)),  # linear equation
        (y * xd + 2 * x * yd, x * y**2),
        (-y * xd + x * yd, y / x),
        ((x - y) * xd + (x + y) * yd, sp.log(x**2 + y**2) / 2 + sp.atan(y / x)),  # homogeneous
        (xd * sp.sin(y) * sp.cos(x) + yd * sp.sin(x) * sp.cos(y), sp.sin(x) * sp.sin(y)),
        (sp.sin(x) ** 2 * xd * y + sp.cos(x) ** 2 * xd * y - yd, sp.log(y) - x),
        (yd * (1 + x**2) - xd * (1 + y**2), sp.atan(y) - sp.atan(x)),  # separable
        (y * z * xd + x * z * yd + x * y * zd, x * y * z),
        (sp.sqrt(x**2 + y**2) * zd + x * xd + y * yd, sp.sqrt(x**2 + y**2) + z),
        (xd - R * rate(theta), x - R * theta),
    ],
)
def test_integral_of_one_constraint(constraint: Any, integral: Any) -> None:
    """Each integral is checked by hand: its differential is a multiple of the form."""
    coordinates = (x, y, z, theta)
    found = classified(coordinates, constraint)
    (row,) = found.constraints
    assert row.holonomic is (integral is not None)
    if integral is not None:
        assert same_level_sets(row.integral, integral, coordinates)
        assert found.integrals == (row.integral,) and found.derived_flag == (1,)
        assert row.scleronomic == (not integral.xreplace(dict.fromkeys(coordinates, b)).has(t))


def test_every_form_in_two_variables_is_integrable_even_if_the_integral_is_not_elementary() -> None:
    """dy = (x² + y²) dx is Riccati's equation: its solutions are Bessel functions (Liouville 1841)."""
    (row,) = classified((x, y), yd - (x**2 + y**2) * xd).constraints
    assert row.holonomic is True and row.integral is None


@pytest.mark.parametrize(
    ("constraint", "scleronomic", "catastatic"),
    [
        (x**2 + y**2 - k**2, True, True),
        (x**2 + y**2 - k**2 * t, False, False),
        (x - sp.sin(t), False, False),
        (sp.exp(t) * (x - y), True, True),
        ((1 + x**2 * t**2) * (x - y), True, True),
        (zd - y * xd, True, True),
        (zd - y * xd - 1, True, False),
        (zd - t * y * xd, False, True),
        (sp.exp(t) * (zd - y * xd), True, True),
        (xd**2 + yd**2 - k**2, True, False),
        (xd**2 + yd**2 - zd**2, True, True),
        (xd**2 + yd**2 - t, False, False),
        (zd.diff(t) - y * xd.diff(t) - xd * yd, True, True),
        (xd.diff(t) - 1, True, False),  # at acceleration level only time that is written counts
        (xd.diff(t) - t, False, False),
    ],
)
def test_time_and_rest(constraint: Any, scleronomic: bool, catastatic: bool) -> None:
    """By definition: time in the relation, beyond a common factor; homogeneity in the velocities."""
    (row,) = classified((x, y, z), constraint).constraints
    assert (row.scleronomic, row.catastatic) == (scleronomic, catastatic)


def test_position_level_is_its_own_integral() -> None:
    found = classified((x, y), x**2 + y**2 - k**2, x * xd + y * yd)
    rod, again = found.constraints
    assert rod.holonomic is True and rod.integral == x**2 + y**2 - k**2
    assert same_level_sets(again.integral, rod.integral, (x, y))
    assert found.derived_flag == (1,) and found.integrals == (rod.integral,)
    assert found.degrees_of_freedom == (1, 1)


def test_a_form_is_judged_on_the_surface_where_it_lives() -> None:
    """On the plane z = 0, dw − (y + 1) z dx is dw: holonomic with it, though a contact form without."""
    found = classified((x, y, z, w), z, wd - (y + 1) * z * xd)
    assert found.constraints[1].holonomic is False
    assert found.derived_flag == (2,) and found.degrees_of_freedom == (2, 2)


def test_redundant_surfaces_count_as_where_they_meet() -> None:
    """φ = 0 and (2 + z) φ = 0 are one surface, though off it their gradients are independent."""
    rod = x**2 + y**2 - k**2
    found = classified((x, y, z), rod, (2 + z) * rod)
    assert found.derived_flag == (1,) and found.degrees_of_freedom == (2, 2)
    assert found.integrals == (rod,) and found.numerical


def test_forms_that_leave_no_motion() -> None:
    """ẋ = 0 and ẋ = 1 together say dt = 0."""
    found = classified((x, y), xd, xd - 1)
    assert found.derived_flag == (2,) and found.degrees_of_freedom == (1, 1)
    assert any("leave no motion" in note for note in found.notes)


# Nonlinear in velocity, and at acceleration level.


def test_nonlinear_constraint_is_left_open_and_names_chetaev() -> None:
    found = classified((x, y, z), xd**2 + yd**2 - zd**2)
    (row,) = found.constraints
    assert row.holonomic is None and not row.linear_in_velocity and "Chetaev" in row.remark
    assert "not decided" in str(found) and "Chetaev" in str(found)
    assert found.degrees_of_freedom == (3, 2)


def test_square_of_a_linear_constraint_is_decided() -> None:
    """ψ² = 0 says ψ = 0."""
    (row,) = classified((x, y, z), ((1 + y**2) * (xd + 2 * y * yd) ** 2).expand()).constraints
    assert row.holonomic is True and not row.linear_in_velocity
    assert same_level_sets(row.integral, x + y**2, (x, y, z))
    (row,) = classified((x, y, z), ((zd - y * xd) ** 2).expand()).constraints
    assert row.holonomic is False


@pytest.mark.parametrize(
    ("constraint", "holonomic"),
    [
        ((x**2 + y**2).diff(t, 2), True),
        ((1 + x**2) * (x**2 + y**2).diff(t, 2), True),
        ((x - t**3).diff(t, 2), True),
        (xd.diff(t) + xd, True),  # x ≡ 1 is a motion, and x eᵗ is not constant on it
        ((zd - y * xd).diff(t), False),
        (xd.diff(t) * xd + yd.diff(t) * yd, None),  # constant speed: nonlinear
        (xd.diff(t) + xd**2 * sp.sin(y), None),
    ],
)
def test_acceleration_level(constraint: Any, holonomic: bool | None) -> None:
    """The derivative of an integrable form is holonomic, that of a contact form not, the rest is left open.

    Its integral would contain a constant of the motion, as in x² + y² = c t + d: none is given.
    """
    found = classified((x, y, z), constraint)
    (row,) = found.constraints
    assert row.level == "acceleration" and row.holonomic is holonomic
    assert row.integral is None
    assert found.derived_flag == (0,) and any("not in the flag" in note for note in found.notes)


# Robustness.


@pytest.mark.parametrize("factor", [sp.Float("1e6"), sp.Float("1e-6"), 2 + sp.sin(x * y), sp.exp(t * theta), k])
def test_scaling_a_constraint_changes_no_verdict(factor: Any) -> None:
    rows = [xd - R * rate(phi) * sp.cos(theta), yd - R * rate(phi) * sp.sin(theta), zd + 2 * y * yd - 1]
    q = (x, y, z, theta, phi)
    plain, scaled = classified(q, *rows), classified(q, *(factor * row for row in rows))
    for one, other in zip(plain.constraints, scaled.constraints, strict=True):
        assert (one.holonomic, one.scleronomic, one.catastatic) == (
            other.holonomic,
            other.scleronomic,
            other.catastatic,
        )
    assert plain.derived_flag == scaled.derived_flag == (3, 2, 1)
    assert plain.degrees_of_freedom == scaled.degrees_of_freedom
    assert same_level_sets(scaled.integrals[0], z + y**2 - t, q)


def test_redundant_forms_do_not_count() -> None:
    rows = [xd - R * rate(phi) * sp.cos(theta), yd - R * rate(phi) * sp.sin(theta)]
    twice = [*rows, rows[0] * y + rows[1] * sp.exp(x), rows[0]]
    found = classified((x, y, theta, phi), *twice)
    assert found.derived_flag == (2, 1, 0) and found.degrees_of_freedom == (4, 2)


def test_decimals_are_what_they_look_like() -> None:
    """0.1 + 0.2 = 0.3: d(0.1xy) is exact although 0.1 is not a binary fraction."""
    (row,) = classified((x, y), 0.3 * y * xd + (0.1 * x + 0.2 * x) * yd).constraints
    assert row.holonomic is True and not row.numerical


def test_says_when_numbers_had_to_decide() -> None:
    """asin u + acos u = π/2, which no rational algebra knows: the constraint is ż = 0 in disguise."""
    hidden = sp.asin(x / 2) + sp.acos(x / 2) - sp.pi / 2
    found = classified((x, y, z), zd - hidden * y * xd)
    assert found.constraints[0].holonomic is True and found.constraints[0].numerical
    assert "yes (by numbers)" in str(found)


def test_absolute_values_are_tried_on_both_sides() -> None:
    """|x| − x vanishes for positive x only: dz − (|x| − x) y dx is a contact form at x < 0."""
    (row,) = classified((x, y, z), zd - (sp.Abs(x) - x) * y * xd).constraints
    assert row.holonomic is False


def test_report_is_readable() -> None:
    spelled = str(classified((x, y, z), xd + z, yd - z)).splitlines()
    assert spelled[0].split() == ["constraint", "level", "holonomic", "scleronomic", "catastatic", "linear", "integral"]
    assert spelled[1].startswith("x' + z") and spelled[1].split()[-5:] == ["no", "yes", "no", "yes", "-"]
    assert spelled[3:] == [
        "derived flag: 2 > 1",
        "integrals of the constraints taken together: 1",
        "  x + y = const",
        "degrees of freedom: 2 in position, 1 in velocity",
    ]


@pytest.mark.parametrize("wrong", [3, da.FunctionSystem(lambda *_: None, lambda *_: None, coordinates=("x",))])
def test_refuses_what_is_not_stated_in_symbols(wrong: Any) -> None:
    with pytest.raises(
        da.InputError, match=r"`system` must be a `da.System`, stated in symbols; got (int|FunctionSystem)"
    ):
        da.classify(wrong)


# Expressions that are not defined everywhere, or not smooth.


@pytest.mark.parametrize(
    "constraint",
    [
        sp.sqrt(x - 5) - y,
        sp.acos(x) - y,
        sp.log(x - 7) + y,
        sp.log(x - 20) - sp.acos(y - 3),
        sp.sqrt(x - 5) * xd + yd,
        sp.acos(x + 3) * xd - yd,
        sp.Abs(x) + y - 1,
        sp.sign(x) * xd + yd,
        sp.Abs(x) * xd + yd,
    ],
)
def test_domains_and_kinks_are_no_obstacle(constraint: Any) -> None:
    """One holonomic constraint on two coordinates; NumPy's warnings would be errors here."""
    found = classified((x, y), constraint)
    assert found.constraints[0].holonomic and found.constraints[0].linear_in_velocity
    assert found.derived_flag == (1,) and found.degrees_of_freedom == (1, 1)
    kinked = constraint.has(sp.Abs, sp.sign)
    assert len(found.notes) == kinked and (
        found.constraints[0].level == "position" or found.constraints[0].integral is None or not kinked
    )


def test_constraints_that_are_real_nowhere() -> None:
    undefined = da.Constraint(sp.sqrt(-1 - x**2) * xd + yd, name="cloud")
    system = da.System((x, y), sp.eye(2), (0, 0), (da.Constraint(x - y, name="line"), undefined))
    with pytest.raises(da.ConstraintError, match=r"real and finite at some state; none was found for `cloud`\. Look"):
        da.classify(system)
    assert "no state was found at which all terms are real and finite" in str(da.check(system))


def test_kinks_in_the_velocities_are_not_linear() -> None:
    """|ẋ| has the slope ±1, which seems constant between the jumps."""
    assert classified((x, y), sp.Abs(xd) - yd).constraints[0].linear_in_velocity is False
    (row,) = classified((x, y), sp.sign(xd) * x.diff(t, 2) + y.diff(t, 2)).constraints
    assert row.linear_in_velocity is False and row.holonomic is None


def test_linear_in_disguise() -> None:
    """(ẋ² − ẏ²)/(ẋ − ẏ) = ẋ + ẏ, though at rest it cannot be computed."""
    (row,) = classified((x, y), (xd**2 - yd**2) / (xd - yd)).constraints
    assert row.holonomic and row.linear_in_velocity and row.integral == x + y


def test_kinks_are_tested_on_all_sides() -> None:
    """Both are integrable where x and y have one sign, or x > y; an integral must be one everywhere."""
    (row,) = classified((x, y, z), sp.Abs(x) * xd + sp.sign(y) * yd + zd).constraints
    assert row.holonomic and row.integral is None and "because its coefficients have kinks or jumps" in row.remark
    found = classified((x, y, z), xd - sp.Max(x, y) * zd)
    assert found.constraints[0].holonomic is False and found.derived_flag == (1, 0)
    assert "may differ at others" in found.notes[-1]


@pytest.mark.parametrize("function", [sp.floor, sp.ceiling, lambda u: sp.Heaviside(u - 3), lambda u: sp.Mod(u, 2)])
def test_jumps_are_named(function: Any) -> None:
    (row,) = classified((x, y), xd - function(da.t) * yd).constraints
    assert not row.scleronomic and (row.holonomic is False or "only between the jumps" in row.remark)


def test_special_functions_of_some_arguments() -> None:
    """SymPy has no derivative of Bessel's functions by their order, which is a number here."""
    assert classified((x, y, z), xd - sp.besselj(0, z) * yd).derived_flag == (1, 0)
    assert classified((x, y), sp.besselj(0, x) * xd - yd).derived_flag == (1,)


def test_what_cannot_be_followed_is_refused_in_words() -> None:
    expression = sp.expint(1, x) * x.diff(da.t) - y.diff(da.t)
    system = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(expression, name="odd"))
    with pytest.raises(
        da.ModelError, match="needs functions that SymPy can differentiate and evaluate; it stopped at 'expint'"
    ):
        da.classify(system)


def test_what_time_switches_is_rheonomic() -> None:
    """Between the jumps a step has no derivative, and random times may see one of its pieces only."""
    step = sp.Piecewise((0, da.t < 1), (1, True))
    late = sp.Piecewise((0, da.t < 100), (da.t, True))
    for constraint, catastatic in ((x - step, False), (x - sp.Heaviside(da.t - 5), False), (xd - late, False)):
        (row,) = classified((x, y), constraint).constraints
        assert not row.scleronomic and row.catastatic == catastatic


def test_small_coefficients_are_judged_alike_one_by_one_and_together() -> None:
    found = classified((x, y, z), xd + sp.Rational(1, 10**25) * y * zd)
    assert found.constraints[0].holonomic is False
    assert found.derived_flag == (1, 0) and found.degrees_of_freedom.position == 3 and not found.numerical


def test_integrals_that_are_not_real_at_a_point_are_passed_over(recwarn: pytest.WarningsRecorder) -> None:
    a, b = sp.symbols("a b", real=True)
    forms = Pfaffian((a, b), ((sp.S.One, sp.S.Zero),))
    assert independent([a * sp.log(a), a], forms, {a: -1.0, b: 1.0}) == [a]
    assert not recwarn.list
