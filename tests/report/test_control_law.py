"""Control laws in closed form: equal to the compiled inputs, and written as in the literature."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
x, y, z = da.coordinates("x y z")
m, g, w = da.parameters("m g w")
PUSH = da.Actuator("push", x)
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")


def two_masses() -> da.System:
    k = da.parameters("k")
    servo = da.Servo("follow", y - sp.sin(t), by=PUSH, settle=2)
    return da.System((x, y), sp.diag(m, 2 * m), (k * (y - x), k * (x - y)), servos=servo)


def links(metric: str) -> da.System:
    """The links of the review's manipulator with shorter coefficients: D(q4) and the constraint q̇2 + q̇4 = 0."""
    q2, q4 = da.coordinates("q2 q4")
    P = da.parameters("P")
    D = sp.Matrix([[3 + sp.cos(q4), 1 + sp.cos(q4) / 2], [1 + sp.cos(q4) / 2, 1]])
    servo = da.Servo("servo", q2.diff(t) + q4.diff(t), settle=1 / P, metric=metric)
    return da.System((q2, q4), D, (-sp.sin(q2) - q2, -q4), servos=servo)


def arm() -> da.System:
    q = da.coordinates("a b c")
    angle = X = Y = T = sp.S.Zero
    for i, length in enumerate((1, sp.Rational(4, 5), sp.Rational(1, 2))):
        angle += q[i]
        xc, yc = X + length / 2 * sp.cos(angle), Y + length / 2 * sp.sin(angle)
        X, Y = X + length * sp.cos(angle), Y + length * sp.sin(angle)
        T += (2 - sp.Rational(i, 2)) * (xc.diff(t) ** 2 + yc.diff(t) ** 2 + length**2 / 12 * angle.diff(t) ** 2) / 2
        T -= (2 - sp.Rational(i, 2)) * 9.81 * yc
    motors = [da.Actuator(f"motor {i}", q[i]) for i in range(3)]
    servo = da.Servo("tip", (X - 1, Y - sp.sin(t)), by=motors, settle=4.0, cost=(1, 2, 3))
    return da.System.from_lagrangian(T.doit(), q, servos=servo)


SEVERAL = PUSH, da.Actuator("slide", {x: 1, z: 2}), da.Actuator("lift", y)
SYSTEMS = {
    "relative degree four": two_masses(),
    "mass metric": links("mass"),
    "euclidean metric": links("euclidean"),
    "constraint": da.System((x, y), m * sp.eye(2), (0, -m * g), ROD, servos=da.Servo("s", y - sp.sin(w * t), by=PUSH)),
    "redundant inputs and a law": da.System(
        (x, y, z),
        sp.diag(m, 2 * m, m),
        (0, -m * g, 0),
        ROD,
        da.Viscous(w),
        servos=da.Servo("s", (y - sp.sin(w * t), z - x), by=SEVERAL, settle=2.0, cost=(1, 2, 3)),
    ),
    "redundant requirement": da.System((x, y), sp.eye(2), (0, -y), servos=da.Servo("s", (x, 2 * x), by=PUSH, settle=2)),
    "cost on coordinates": da.System(
        (x, y), sp.diag(m, 3), (0, -y), servos=da.Servo("s", x * y - 1, cost=[[1, 0.5], [0.5, 2]], settle=2.0)
    ),
    "cost and euclidean metric": da.System(
        (x, y),
        sp.diag(m, 3),
        (0, -y),
        servos=da.Servo("s", x * y - 1, cost=[[1, 0.5], [0.5, 2]], settle=2.0, metric="euclidean"),
    ),
    "constraint and euclidean metric": da.System(
        (x, y, z), sp.diag(m, 2 * m, m), (0, -m * g, 0), ROD, servos=da.Servo("s", z - x, settle=2, metric="euclidean")
    ),
    "matrices of gains": da.System(
        (x, y),
        sp.diag(m, 3),
        (0, -y),
        servos=da.Servo("s", (x - 1, y - x), by=SEVERAL[::2], settle=([[2, 0], [0, 2]], [[1, 0.2], [0, 1]])),
    ),
    "two servos that share an actuator": da.System(
        (x, y, z),
        sp.diag(m, 3, 2),
        (0, -y, 0),
        servos=(da.Servo("s", x - 1, by=SEVERAL[:2], settle=2), da.Servo("k", y - z, by=SEVERAL[1:], settle=1)),
    ),
    "too long to be read": arm(),
}


@pytest.mark.parametrize("case", SYSTEMS)
def test_the_formulas_agree_with_the_compiled_inputs(case):
    system = SYSTEMS[case]
    derivation = da.derive(system)
    assert derivation.expanded == (case != "too long to be read")
    rng = np.random.default_rng(8)
    n, numbers = len(system.coordinates), {name: rng.uniform(0.5, 1.5) for name in system.parameter_names}
    for _ in range(3):
        q, qd = rng.uniform(0.2, 1.2, (2, n))
        if system.constraints:
            q, qd = da.consistent_state(system, q, qd, 0.3, parameters=numbers)
        expected, found = da.motion(system, q, qd, 0.3, parameters=numbers), derivation.at(q, qd, 0.3, numbers)
        inputs = np.array([*expected.inputs.values()])
        scale = 1 + np.abs(inputs).max() + np.abs(expected.acceleration).max()
        np.testing.assert_allclose(found.inputs, inputs, atol=1e-12 * scale)
        for name in ("acceleration", "ideal_force", "nonideal_force"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12 * scale)


def test_two_masses_in_closed_form():
    """On the matching motion u = (m1 + m2) s̈ + (m1 m2/k) s⁗ with s = sin t, m1 = m and m2 = 2m."""
    k, s = da.parameters("k"), sp.sin(t)
    derivation = da.derive(two_masses())
    x1 = s + 2 * m / k * s.diff(t, 2)
    (u,) = derivation.inputs
    on_motion = u.subs({x: x1, y: s}).doit()
    assert sp.simplify(on_motion - (-3 * m * s + 2 * m**2 / k * s)) == 0


@pytest.mark.parametrize("constrained", [False, True])
def test_errors_settle_along_the_shortest_acceleration(constrained):
    """The difference that settling makes is the shortest acceleration that meets A δ = −s within the constraints."""
    rods = (ROD,) if constrained else ()
    mass = np.array([[2.0, 0.3, 0], [0.3, 1, 0.1], [0, 0.1, 3]])
    moves = []
    for settle in (3.0, None):
        servo = da.Servo("s", z - 2 * x, settle=settle, metric="euclidean", cost=np.diag([1.0, 2, 5]))
        system = da.System((x, y, z), sp.Matrix(mass), (0, -9, 0), rods, servos=servo)
        moves.append(da.motion(system, (0.6, 0.8, 1), (0.4, -0.3, 0.5)).acceleration)
    rows = np.array([[-2.0, 0, 1], [1.2, 1.6, 0]][: 1 + constrained])
    error, rate = 1 - 1.2, 0.5 - 0.8
    shortest = np.linalg.pinv(rows) @ [-6 * rate - 9 * error, 0][: 1 + constrained]
    np.testing.assert_allclose(moves[0] - moves[1], shortest, atol=1e-12)


def test_the_review_as_printed():
    """Equations 69 to 72 of the review: constraint, A and b, the force, and the force that settles errors."""
    text = da.derive(links("euclidean")).to_markdown()
    order = [
        r"\dot{q}_{2} + \dot{q}_{4} &= 0",
        r"\mathbf{A} &= \left[\begin{array}{cc} 1 & 1 \end{array}\right]",
        r"\mathbf{b} &= 0",
        r"\mathbf{s} &= \frac{\dot{q}_{2} + \dot{q}_{4}}{P}",
        r"\mathbf{u} &= \mathbf{M}^{1/2} \left(\mathbf{A} \mathbf{M}^{-1/2}\right)^{+} "
        r"\left(\mathbf{b} - \mathbf{A} \mathbf{M}^{-1} \mathbf{Q}\right) - "
        r"\mathbf{M} \mathbf{A}^{T} \left(\mathbf{A} \mathbf{A}^{T}\right)^{-1} \mathbf{s}",
        r"\mathbf{M} \ddot{\mathbf{q}} &= \mathbf{Q} + \mathbf{u}",
    ]
    places = [text.rindex(formula) for formula in order]
    assert places == sorted(places)
    assert text.count("\n## ") == 7
    mass = da.derive(links("mass")).to_markdown()
    assert r"\left(\mathbf{b} - \mathbf{s} - \mathbf{A} \mathbf{M}^{-1} \mathbf{Q}\right)" in mass


def test_requirements_differentiated_along_the_motion():
    text = da.derive(two_masses()).to_markdown()
    assert "Inputs do not act on the derivative of order 2 of `follow`" in text
    assert r"\psi_{1} &= " in text
    assert r"\psi_{2} &= " in text
    assert r"\mathbf{G} &= \frac{k}{2 m^{2}}" in text
    assert r"\mathbf{u} &= \mathbf{G}^{+} \mathbf{e}" in text


@pytest.mark.parametrize("case", ["redundant inputs and a law", "euclidean metric", "too long to be read"])
def test_every_format(case):
    derivation = da.derive(SYSTEMS[case])
    assert r"\mathbf{u}" in derivation.to_latex()
    page = derivation.to_html()
    assert "The control law" in page
    assert "<mo>+</mo></msup>" in page  # the pseudo-inverse


def test_no_closed_form():
    q = x, rope, theta = da.coordinates("x l theta")
    X, Z = x + rope * sp.sin(theta), -rope * sp.cos(theta)
    L = 5 * x.diff(t) ** 2 / 2 + rope.diff(t) ** 2 / 4 + (X.diff(t) ** 2 + Z.diff(t) ** 2) / 2 - 9.81 * Z
    by = da.Actuator("trolley", x), da.Actuator("winch", rope)
    crane = da.System.from_lagrangian(L, q, servos=da.Servo("load", (X - sp.sin(t), Z + 2), by=by, settle=3.0))
    derivation = da.derive(crane)
    assert derivation.inputs is None
    assert any(note.startswith("Inputs act only on combinations of `load[1]`") for note in derivation.notes)
    assert r"\mathbf{M} \ddot{\mathbf{q}} &= \mathbf{Q} + \mathbf{B} \mathbf{u}" in derivation.to_markdown()
    with pytest.raises(da.ModelError, match=r"the inputs must have a closed form to be evaluated"):
        derivation.at((0, 1, 0), (0, 0, 0))


def test_messages():
    with pytest.raises(da.ModelError, match=r"must be without stabilising terms of constraints. Leave out `drift="):
        da.derive(SYSTEMS["constraint"], drift=da.Baumgarte(1, 1))
    light = da.System((x, y), sp.diag(1, 0), (0, 0), da.Constraint(y - x**2), servos=da.Servo("s", x - 1, by=PUSH))
    with pytest.raises(da.ModelError, match=r"a control law in closed form needs a regular mass matrix"):
        da.derive(light)
    rough = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.2))
    slide = da.System((x, y), sp.eye(2), (0, -9.81), rough, servos=da.Servo("s", x - 1, by=PUSH))
    with pytest.raises(da.ModelError, match=r"needs laws that do not depend on constraint forces"):
        da.derive(slide)
