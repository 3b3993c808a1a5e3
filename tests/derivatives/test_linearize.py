"""Small motions: against closed forms, differences, and between the two ways of differentiating."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.lowering.source import source_of
from dalembert.native.derivatives import along, differentiated
from dalembert.native.tape import LIBRARY, Program, Tape

x, y = da.coordinates("x y")
g = da.parameters("g")


def pendulum(*more, **given):
    rods = (da.Constraint(x**2 + y**2 - 1, name="rod"), *more)
    return da.System((x, y), sp.eye(2), (0, -g), rods, **given)


def test_a_pendulum_swings_below_and_falls_above():
    below = da.linearize(pendulum(), q=(0, -1), parameters={"g": 9})
    above = da.linearize(pendulum(), q=(0, 1), parameters={"g": 9})
    assert below.names == ("x", "x'")
    np.testing.assert_allclose(below.eigenvalues, [3j, -3j], atol=1e-14)
    np.testing.assert_allclose(above.eigenvalues, [3, -3], atol=1e-14)
    assert above.growth == pytest.approx(3)
    assert abs(below.growth) < 1e-12


def test_friction_and_redundancy():
    """The rod given twice changes nothing; viscous friction damps: s² + c s + g = 0."""
    twice = pendulum(da.Constraint(2 * x**2 + 2 * y**2 - 2, name="again"), nonideal=da.Viscous(0.4))
    found = da.linearize(twice, q=(0, -1), parameters={"g": 9}).eigenvalues
    np.testing.assert_allclose(found, np.roots([1, 0.4, 9]), atol=1e-12)


def test_functions_and_symbols_agree():
    double = da.FunctionSystem(
        lagrangian=lambda q, qd, t, p: (
            qd[0] ** 2 + qd[1] ** 2 / 2 + qd[0] * qd[1] * jnp.cos(q[0] - q[1]) + 2 * jnp.cos(q[0]) + jnp.cos(q[1])
        )
    )
    one = da.linearize(double, q=(0.0, 0.0))
    a, b = da.coordinates("a b")
    ad, bd = a.diff(da.t), b.diff(da.t)
    lagrangian = ad**2 + bd**2 / 2 + ad * bd * sp.cos(a - b) + 2 * sp.cos(a) + sp.cos(b)
    other = da.linearize(da.System.from_lagrangian(lagrangian, (a, b)), q=(0, 0))
    np.testing.assert_allclose(one.matrix, other.matrix, atol=1e-12)
    np.testing.assert_allclose(np.sort(np.abs(one.eigenvalues) ** 2)[::2], [2 - 2**0.5, 2 + 2**0.5], atol=1e-12)


def test_a_skate_has_fewer_velocities_than_positions():
    """On an incline, at rest: three positions are free, two velocities, and nothing holds it."""
    phi = da.coordinates("phi")
    skate = da.Constraint(x.diff(da.t) * sp.sin(phi) - y.diff(da.t) * sp.cos(phi), name="blade")
    system = da.System((x, y, phi), sp.eye(3), (0, 0, -phi), skate)
    found = da.linearize(system, q=(0, 0, 0))
    assert found.matrix.shape == (5, 5)
    np.testing.assert_allclose(np.sort_complex(found.eigenvalues), [-1j, 0, 0, 0, 1j], atol=1e-7)


def test_a_steady_motion_in_terms_of_what_stays_constant():
    """A conical pendulum: deviations of the height swing at ω² (1 + 3 cos² α), with ω² = g / cos α."""
    z = da.coordinates("z")
    rod = da.Constraint(x**2 + y**2 + z**2 - 1, name="rod")
    system = da.System((x, y, z), sp.eye(3), (0, 0, -9.81), rod)
    alpha = 0.6
    omega = np.sqrt(9.81 / np.cos(alpha))
    q, qd = (np.sin(alpha), 0, -np.cos(alpha)), (0, omega * np.sin(alpha), 0)
    momentum = x * y.diff(da.t) - y * x.diff(da.t)
    outputs = {"height": z, "rise": z.diff(da.t), "momentum": momentum}
    found = da.linearize(system, q, qd, outputs=outputs)
    swing = omega * np.sqrt(1 + 3 * np.cos(alpha) ** 2)
    np.testing.assert_allclose(np.sort(found.eigenvalues.imag), [-swing, 0, swing], atol=1e-9)
    assert "height" in str(found)
    with pytest.raises(da.InputError, match="`outputs` must determine their own rates; the rate of `rise` depends"):
        da.linearize(system, q, qd, outputs={"height": z, "rise": z.diff(da.t)})
    with pytest.raises(da.StateError, match="`outputs` must stay constant in a steady motion; `x'` changes in time"):
        da.linearize(system, q, qd, outputs={"x'": x.diff(da.t)})
    with pytest.raises(da.InputError, match="`outputs` must be independent of one another"):
        da.linearize(system, q, qd, outputs=outputs | {"twice": 2 * z})
    with pytest.raises(da.StateError, match=r"the state must be an equilibrium; `y`, `x'` change in time"):
        da.linearize(system, q, qd)


def test_bad_input_is_refused():
    with pytest.raises(da.InputError, match="`k` is unknown"):
        da.linearize(pendulum(), (0, -1), parameters={"g": 9}, outputs={"a": x * da.parameters("k")})
    with pytest.raises(da.InputError, match="must use only the system's coordinates"):
        da.linearize(pendulum(), (0, -1), parameters={"g": 9}, outputs={"a": da.coordinates("w")})
    with pytest.raises(da.InputError, match="`outputs` must name at least one expression"):
        da.linearize(pendulum(), (0, -1), parameters={"g": 9}, outputs={})
    with pytest.raises(da.StateError, match="`rod` is violated"):
        da.linearize(pendulum(), (0, -2), parameters={"g": 9})
    free = da.FunctionSystem(lagrangian=lambda q, qd, t, p: qd @ qd / 2)
    with pytest.raises(da.InputError, match=r"`outputs` must be left out for a `da\.FunctionSystem`"):
        da.linearize(free, (0.0,), outputs={"x": x})


NARROW = {"asin": (0.3,), "acos": (0.3,), "atanh": (0.3,), "acosh": (1.7,), "pow": (1.3, 2.4), "atan2": (0.7, -0.4)}


@pytest.mark.parametrize("name", [*LIBRARY, "sqrt", "fabs", "fadd", "fsub", "fmul", "fdiv", "select"])
def test_derivatives_of_every_operation_against_differences(name):
    """By numbers, and on the tape itself along a direction."""
    two = ("atan2", "pow", "fadd", "fsub", "fmul", "fdiv", "select")
    at = np.array(NARROW.get(name, (0.8, -0.3) if name in two else (0.8,)))
    if name == "fabs":
        at = -at
    tape = Tape()
    inputs = [tape.input("y", i) for i in range(len(at))]
    test = (tape.record("<", inputs[0], inputs[-1]),) if name == "select" else ()
    value = tape.record(name, *test, *inputs)
    none = np.empty(0)

    def f(y):
        return differentiated(Program(tape, [value]), y, 0.0, none)[0][0]

    h = 1e-6
    rough = [(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(len(at))]
    exact = differentiated(Program(tape, [value]), at, 0.0, none)[1][0]
    np.testing.assert_allclose(exact, rough, rtol=1e-7, atol=1e-8)
    if name not in ("lgamma", "tgamma"):
        direction = {("y", i): 0.5 + i for i in range(len(at))}
        slope = along(tape, [value], direction)[0]
        found = differentiated(Program(tape, [slope]), at, 0.0, none)[0][0]
        assert found == pytest.approx(exact @ [0.5 + i for i in range(len(at))], rel=1e-14, abs=1e-14)


def test_derivatives_of_an_acceleration_are_those_of_jax():
    system = pendulum(nonideal=da.Quadratic(0.3))
    state = np.array([0.6, -0.8, 0.4, 0.3])
    slopes = differentiated(Programs(source_of(system), (0,), None).acceleration(), state, 0.0, np.array([9.0]))[1]
    dynamics = build(system)
    import jax

    def acceleration(s):
        rows = dynamics.engine.select_rows(s[:2], s[2:], 0.0, (9.0,)).rows
        return dynamics.engine.acceleration(s[:2], s[2:], 0.0, (9.0,), rows, None)

    np.testing.assert_allclose(slopes[:2], jax.jacfwd(acceleration)(jnp.asarray(state)), atol=1e-12)


def test_what_is_no_state_and_no_outputs_is_refused():
    with pytest.raises(da.InputError, match="`q` must"):
        da.linearize(pendulum(), None)
    outputs: Any = ["x"]
    with pytest.raises(da.InputError, match="`outputs` must be a mapping from names to expressions; got"):
        da.linearize(pendulum(), (0, -1), outputs=outputs, parameters={"g": 9})


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_equilibria_are_told_from_other_states_in_all_units(unit: float) -> None:
    """Lengths in any unit: pendulums that hang and are held aside, a body that falls, one on a stretched spring."""
    rod = da.System((x, y), sp.eye(2), (0, -9.81 * unit), da.Constraint(x**2 + y**2 - unit**2, name="rod"))
    falls = da.System((x,), [[1]], (-9.81 * unit,))
    hangs = da.System((x,), [[1]], (-4 * x + g,))
    rates = da.linearize(rod, q=(0, -unit)).eigenvalues.imag
    np.testing.assert_allclose(rates, [9.81**0.5, -(9.81**0.5)], rtol=1e-9)
    at_rest = da.linearize(hangs, (unit / 3,), parameters={"g": 4 * unit / 3}).eigenvalues.imag
    np.testing.assert_allclose(at_rest, [2, -2], rtol=1e-9)
    aside = unit * np.sin(1e-6), -unit * np.cos(1e-6)
    for system, q, p in ((rod, aside, {}), (falls, (0,), {}), (falls, (unit,), {}), (hangs, (0,), {"g": 4 * unit})):
        with pytest.raises(da.StateError, match="must be an equilibrium"):
            da.linearize(system, q, parameters=p)
    with pytest.raises(da.StateError, match="must be an equilibrium; `x` changes"):
        da.linearize(da.System((x,), [[1]], (0,)), (0,), (1e-3 * unit,))


def test_forces_that_cancel_leave_an_equilibrium() -> None:
    """A balloon whose weight and buoyancy agree to rounding has no stiffness, and no scale of length."""
    m, rho = da.parameters("m rho")
    balloon = da.System((x,), [[1]], (m * g - rho * g,))
    found = da.linearize(balloon, (0,), parameters={"m": 0.1 + 0.2, "rho": 0.3, "g": 9.81e4})
    np.testing.assert_allclose(found.eigenvalues, 0, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_outputs_may_have_any_units(unit: float) -> None:
    named = {x: unit * x, "rate": x.diff(da.t) / unit}
    found = da.linearize(da.System((x,), [[1]], (-4 * x,)), (0,), outputs=named)
    assert found.names == ("x", "rate")
    np.testing.assert_allclose(found.matrix, [[0, unit**2], [-4 / unit**2, 0]])


def test_refused_times_and_names_of_outputs() -> None:
    body = da.System((x,), [[1]], (-x,))
    for t in (np.nan, "now", [0, 1]):
        with pytest.raises(da.InputError, match="`t` must"):
            da.linearize(body, (0,), t=t)
    with pytest.raises(da.InputError, match="`outputs` must have different names"):
        da.linearize(body, (0,), outputs={x: x, "x": 2 * x})
