"""A creep law integrated over substeps: few different subexpressions, millions of copies of them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model import graph
from dalembert.report.fraction import reduced_fraction
from helpers import quick_first

x, y = da.coordinates("x y")
E, A, n, m, g = da.parameters("E A n m g")
NUMBERS = {"E": 2.0, "A": 0.003, "n": 3.0, "m": 1.5, "g": 1.0}
SUBSTEPS = 13


def force(strain, stiffness, rate, exponent, library):
    """Restoring force of a bar under Norton's creep law, its creep strain summed over substeps of falling rate."""
    creep = 0
    for k in range(SUBSTEPS):
        stress = stiffness * (strain - creep)
        size = library.sqrt(stress**2 + (k + 1) / library.float64(100))
        creep = creep + rate * (1 + library.exp(-stiffness * (k + 1))) / (k + 2) * stress * size**exponent
    return stiffness * (strain - creep)


class Symbols:
    """The functions of NumPy that the law uses, in SymPy."""

    sqrt, exp, float64 = sp.sqrt, sp.exp, sp.Integer


def numeric_force(strain):
    return force(strain, NUMBERS["E"], NUMBERS["A"], NUMBERS["n"], np)


def acceleration(strain):
    return NUMBERS["g"] - numeric_force(strain) / NUMBERS["m"]


BAR = da.System((x,), [[m]], (m * g - force(x, E, A, n, Symbols),))


def test_the_law_has_few_different_parts():
    (entry,) = BAR.applied_force
    assert len(graph.Graph([entry]).nodes) < 460
    assert graph.facts(entry).size > 1.3e6


def test_motion_and_simulation_of_the_law():
    found = da.motion(BAR, [0.7], [0.1], parameters=NUMBERS).acceleration[0]
    assert found == pytest.approx(acceleration(0.7), rel=1e-13)
    run = da.simulate(BAR, [0.7], [0.1], np.linspace(0, 2, 5), parameters=NUMBERS)
    assert run.statistics["program"] == "machine code"
    np.testing.assert_allclose(run.acceleration[:, 0], acceleration(run.q[:, 0]), rtol=1e-12)


def test_verdicts_on_the_law():
    assert da.check(BAR).degrees_of_freedom == 1
    assert da.classify(BAR).constraints == ()


def test_derivation_of_the_law():
    derivation = da.derive(BAR)
    value = derivation.at([0.7], [0.1], parameters=NUMBERS).acceleration[0]
    assert value == pytest.approx(acceleration(0.7), rel=1e-13)
    for text in (derivation.to_markdown(), derivation.to_latex(), derivation.to_html(fragment=True)):
        assert len(text) < 60_000
        assert "with the abbreviations" in text


def test_texts_of_objects_do_not_write_copies_out():
    (force,) = BAR.applied_force
    assert "an expression of" in repr(da.Constraint(force, name="large"))
    for thing in (BAR, da.derive(BAR), da.Constraint(force, name="large")):
        assert len(repr(thing)) < 120
    assert BAR._repr_latex_() is None  # a notebook then shows the text


def test_the_slope_of_the_law():
    """The frequency at the equilibrium, against differences of the force computed without symbols."""
    rest = 1.0
    for _ in range(60):  # Newton's iteration with differences
        rest += acceleration(rest) / ((numeric_force(rest + 1e-6) - numeric_force(rest - 1e-6)) / 2e-6 / NUMBERS["m"])
    slope = (numeric_force(rest + 1e-6) - numeric_force(rest - 1e-6)) / 2e-6
    found = da.linearize(BAR, [rest], parameters=NUMBERS)
    assert abs(found.eigenvalues[0]) ** 2 == pytest.approx(slope / NUMBERS["m"], rel=1e-7)


def test_the_law_as_a_constraint():
    """y must follow the force: its second derivative, against differences of the force."""
    track = da.System((x, y), [[1, 0], [0, 1]], (1, 0), da.Constraint(y - force(x, E, A, n, Symbols), name="track"))
    material = {name: NUMBERS[name] for name in track.parameter_names}
    z, rate, d = 0.7, 0.3, 1e-4
    values = [numeric_force(z + k * d) for k in (-1, 0, 1)]
    slope, bend = (values[2] - values[0]) / (2 * d), (values[2] - 2 * values[1] + values[0]) / d**2
    found = da.motion(track, [z, values[1]], [rate, slope * rate], parameters=material).acceleration
    # ÿ = slope ẍ + bend ẋ², and the reaction (−slope λ, λ)
    along = (1 - slope * bend * rate**2) / (1 + slope**2)
    np.testing.assert_allclose(found, [along, slope * along + bend * rate**2], rtol=1e-6)
    assert da.check(track).degrees_of_freedom == 1
    assert "an expression of" not in da.derive(track).to_markdown()


def test_expressions_that_stay_long_are_described():
    """A sum of thousands of different terms has no common parts to name."""
    total = sp.Add(*(x**i * y**j for i in range(65) for j in range(65)))
    text = da.derive(da.System((x, y), [[1, 0], [0, 1]], (total, 0))).to_markdown()
    assert "different parts, too long to be printed" in text
    assert len(text) < 3000


@pytest.mark.parametrize("seed", quick_first(range(20), range(8)))
def test_fractions_are_factored_as_by_sympy(seed):
    """Irreducible polynomials are recognized modulo a prime; SymPy's factorization finds the same factors."""
    rng = np.random.default_rng(seed)
    letters = sp.symbols("a b c d e")

    def polynomial(terms):
        powers = rng.integers(0, 3, (terms, len(letters)))
        numbers = rng.integers(-5, 6, terms)
        return sum(int(c) * sp.Mul(*(v ** int(p) for v, p in zip(letters, row, strict=True)))
                   for c, row in zip(numbers, powers, strict=True))  # fmt: skip

    top = sp.expand(sp.Rational(2, 3) * polynomial(3) * (1 + polynomial(2)) ** 2)
    bottom = sp.expand((2 + polynomial(2)) * (1 + polynomial(3)))
    assert sp.expand(reduced_fraction(top, (), ()) - top) == 0
    assert reduced_fraction(top, (), ()) == sp.factor(top)
    if bottom != 0:
        found = reduced_fraction(top / bottom, (), ())
        assert sp.cancel(found - top / bottom) == 0
        assert found == sp.factor(sp.cancel(top / bottom))


@pytest.mark.parametrize(
    "outer",
    [
        lambda u: sp.Mod(u, sp.Float(2.5)),
        lambda u: sp.atan2(u, 2, evaluate=False),
        lambda u: sp.Pow(u, 1, evaluate=False),
        lambda u: sp.Abs(u, evaluate=False),
    ],
)
def test_gradients_of_large_expressions_in_forms_that_sympy_changes(outer) -> None:
    x, y = da.coordinates("x y")
    u = x
    for _ in range(40):
        u = sp.sin(u) / 2 + x
    wire = da.Constraint(y - outer(u), name="wire")
    system = da.System((x, y), sp.eye(2), (0, -10), wire)
    s = sp.Symbol("s", real=True)
    of_u = sp.lambdify(s, outer(s), "mpmath")

    def height(at: float) -> float:
        value = at
        for _ in range(40):
            value = np.sin(value) / 2 + at
        return float(of_u(value))

    slope = (height(0.3 + 1e-6) - height(0.3 - 1e-6)) / 2e-6
    found = da.motion(system, (0.3, height(0.3)), (0, 0)).constraint_matrix
    np.testing.assert_allclose(found, [[-slope, 1]], rtol=1e-7)
