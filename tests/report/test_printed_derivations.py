"""The printed derivation, with its names and stages, gives the accelerations of the compiled program."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.symbols import plain_multiplier
from dalembert.report.equations import Equation, entries
from helpers import CHAIN_NUMBERS, chain, chain_state, quick_first

QUICK = {"bead", "hoop", "manipulator", "pendulum-rod-twice", "projectile-polar", "rolling-coin", "skate", "weber"}


def without_limits(system: da.System) -> da.System:
    """The system whose inputs are those that meet the requirements: limits are not part of a derivation."""
    servos = [replace(s, by=s.by and tuple(replace(a, limit=None) for a in s.by)) for s in system.servos]
    return replace(system, servos=tuple(servos))


def printed(derivation: da.Derivation) -> list[Equation]:
    return [e for step in derivation._steps for block in step.blocks if isinstance(block, list) for e in block]


def value(expression: sp.Expr, known: dict) -> float:
    symbols = sorted(expression.free_symbols, key=str)
    return float(sp.lambdify(symbols, expression, ["numpy", "scipy"])(*(known[s] for s in symbols)))


def printed_accelerations(derivation: da.Derivation, point: da.ConstrainedMotion, q, qd, t, parameters) -> dict:
    """Evaluate the equations of a page for the accelerations, and for all names that they need."""
    system = derivation.system
    symbols = system.symbols
    known = dict(zip((*symbols.q, *symbols.qd, symbols.time), (*q, *qd, t), strict=True))
    known |= {sp.Symbol(name, real=True): number for name, number in parameters.items()}
    known |= dict(zip(symbols.ideal_force, point.ideal_force, strict=True))
    known |= {plain_multiplier(n): x for n, x in zip(system.constraint_names, point.multipliers, strict=False)}
    # the rows of large systems are equations for accelerations, too: only those of the last step are results
    results = [e for block in derivation._steps[-1].blocks if isinstance(block, list) for e in block]
    waiting = [e for e in printed(derivation) if isinstance(e.left, sp.Symbol) and e.left not in symbols.qdd] + results
    waiting = [e for e in waiting if isinstance(e.left, sp.Symbol)]
    while True:
        ready = [e for e in waiting if e.left not in known and e.right.free_symbols <= known.keys()]
        if not ready:
            return {symbol: known[symbol] for symbol in symbols.qdd if symbol in known}
        known |= {e.left: value(e.right, known) for e in ready}


def compare(system: da.System, q, qd, t, parameters, drift=None, formulation=None) -> bool:
    system = without_limits(system)
    derivation = da.derive(system, drift=drift)
    point = da.motion(system, q, qd, t, parameters=parameters, formulation=formulation)
    found = printed_accelerations(derivation, point, q, qd, t, parameters)
    if not found:  # products of matrices
        return False
    expected = np.asarray(point.acceleration)
    scale = 1 + np.abs(expected).max() + np.abs(np.asarray(point.ideal_force)).max()
    np.testing.assert_allclose([found[s] for s in system.symbols.qdd], expected, rtol=0, atol=1e-10 * scale)
    return True


@pytest.mark.parametrize("name", quick_first(da.gallery.names(), QUICK))
def test_pages_give_the_accelerations(name: str) -> None:
    case = da.gallery.case(name)
    if case.no_closed_form or not case.readable:
        return
    rng = np.random.default_rng(5)
    n = len(case.system.coordinates)
    q, qd = case.q0 + 0.1 * rng.normal(size=n), case.qd0 + 0.1 * rng.normal(size=n)
    q, qd = da.consistent_state(case.system, q, qd, 0.3, parameters=case.parameters, metric="euclidean")
    compare(case.system, q, qd, 0.3, dict(case.parameters), case.drift, case.formulation)


def test_the_double_pendulum_in_stages() -> None:
    assert compare(chain(2), *chain_state(2), 0.0, CHAIN_NUMBERS)


def arm_of_three_links() -> da.System:
    """Three links whose angles are counted from the vertical, and whose tip slides on a wall."""
    angles, (m1, m2, m3), (l1, l2, l3) = da.coordinates("theta1:4"), da.parameters("m1:4"), da.parameters("l1:4")
    a, g = da.parameters("a g")
    x, y, lagrangian = sp.S.Zero, sp.S.Zero, sp.S.Zero
    for m, length, angle in zip((m1, m2, m3), (l1, l2, l3), angles, strict=True):
        x, y = x + length * sp.sin(angle), y - length * sp.cos(angle)
        lagrangian += m * (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - m * g * y
    return da.System.from_lagrangian(lagrangian, angles, constraints=da.Constraint(x - a, name="wall"))


def four_bar() -> da.System:
    """A four-bar linkage of three bodies, in the coordinates of their centres."""
    bars = [da.PlanarBody(name, *da.parameters(f"m{k} J{k}")) for k, name in enumerate("abc", 1)]
    a, b, c, d, g = da.parameters("a b c d g")
    one, two, three = bars
    joints = (
        da.Revolute("O", da.ground.at(0, 0), one.at(-a / 2, 0)),
        da.Revolute("P", one.at(a / 2, 0), two.at(-b / 2, 0)),
        da.Revolute("Q", two.at(b / 2, 0), three.at(c / 2, 0)),
        da.Revolute("R", da.ground.at(d, 0), three.at(-c / 2, 0)),
    )
    return da.Mechanism(bars, joints, da.Gravity((0, -g))).system


@pytest.mark.parametrize("make", [arm_of_three_links, four_bar])
def test_longer_systems_end_in_explicit_accelerations(make) -> None:
    system, rng = make(), np.random.default_rng(3)
    numbers = dict(zip(system.parameter_names, rng.uniform(1, 1.5, len(system.parameter_names)), strict=True))
    guess = rng.normal(size=(2, len(system.coordinates))) / 3
    q, qd = da.consistent_state(system, *guess, parameters=numbers)
    assert compare(system, q, qd, 0.0, numbers)


def test_products_of_angles_become_differences() -> None:
    text = da.derive(arm_of_three_links()).to_markdown()
    assert r"\cos{\left(\theta_{1} - \theta_{2} \right)}" in text
    assert r"\sin \theta_{1} \sin \theta_{2}" not in text


def test_no_formula_is_wider_than_a_page() -> None:
    from dalembert.report.length import lines_of, printed_width

    for system in (chain(2), da.gallery.case("manipulator").system, da.gallery.case("four-bar").system):
        for equation in printed(da.derive(system)):
            for side in equation[:2]:
                widths = (
                    [sum(map(printed_width, line)) for line in lines_of(side)] if side.is_Add else [printed_width(side)]
                )
                assert max(widths) < 90, equation
            assert list(entries(equation.left)) or equation.left.is_Matrix


def arm_of_relative_angles(numbers: bool) -> da.System:
    """Three rods, whose angles are counted from the rod before, and whose tip moves on a line."""
    angles = da.coordinates("q1:4")
    masses = (1.1, 1.47, 1.84) if numbers else da.parameters("m1:4")
    lengths = (0.4, 0.53, 0.66) if numbers else da.parameters("l1:4")
    x, y, angle, lagrangian = sp.S.Zero, sp.S.Zero, sp.S.Zero, sp.S.Zero
    for m, length, turned in zip(masses, lengths, angles, strict=True):
        angle += turned
        middle = x + length * sp.cos(angle) / 2, y + length * sp.sin(angle) / 2
        x, y = x + length * sp.cos(angle), y + length * sp.sin(angle)
        lagrangian += m * sum(part.diff(da.t) ** 2 for part in middle) / 2 - m * 9.81 * middle[1]
        lagrangian += m * length**2 / 24 * angle.diff(da.t) ** 2
    return da.System.from_lagrangian(lagrangian, angles, constraints=da.Constraint(x - y, name="line"))


@pytest.mark.parametrize("numbers", [False, True], ids=["symbols", "numbers"])
def test_squares_of_sine_and_cosine_are_added(numbers: bool) -> None:
    system, rng = arm_of_relative_angles(numbers), np.random.default_rng(5)
    derivation = da.derive(system)
    for equation in printed(derivation):
        for entry in (e for side in equation[:2] for e in entries(side)):
            squares = {type(p.base): p.base.args for p in entry.atoms(sp.Pow) if isinstance(p.base, (sp.sin, sp.cos))}
            assert squares.get(sp.sin, 0) != squares.get(sp.cos, 1), equation
    named = [str(e.left) for e in printed(derivation)]
    assert not any("M_21" in name or "M_31" in name for name in named)  # they are M_12 and M_13
    parameters = dict(zip(system.parameter_names, rng.uniform(1, 1.5, len(system.parameter_names)), strict=True))
    q, qd = da.consistent_state(system, *(rng.normal(size=(2, 3)) / 3), parameters=parameters)
    assert compare(system, q, qd, 0.0, parameters)


def test_unequal_squares_and_rounding_errors_of_numbers() -> None:
    """0.7 sin² + 0.3 cos² has one square, and 0.1 + 0.2 cancels with 0.3."""
    r, phi = da.coordinates("r phi")
    mass = 0.7 * sp.sin(phi) ** 2 + 0.3 * sp.cos(phi) ** 2
    system = da.System((r, phi), [[mass, 0], [0, r**2 * (0.1 + 0.2)]], (0, -0.3 * r))
    derivation = da.derive(system)
    assert derivation.mass_matrix[0, 0] == 0.7 - 0.4 * sp.cos(phi) ** 2
    assert derivation.acceleration[1] == -1 / r
