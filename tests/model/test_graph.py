"""Expressions cost what they have of distinct parts, not of copies of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.core.cache import clear_cache

import dalembert as da
from dalembert.model import graph
from dalembert.model.differentiation import derivative, gradient
from dalembert.model.numeric_function import numeric_function

a, b, c = VARIABLES = sp.symbols("a b c", real=True)
x, y = da.coordinates("x y")

FOLDS = 30
"""Some 10⁹ copies of 120 parts: no member through the copies would come to an end."""


def nested(e, folds=FOLDS):
    for _ in range(folds):
        e = sp.sin(e) + sp.cos(e) / 2
    return e


def nested_number(z, folds=FOLDS):
    slope = 1.0
    for _ in range(folds):
        z, slope = np.sin(z) + np.cos(z) / 2, slope * (np.cos(z) - np.sin(z) / 2)
    return z, slope


def smooth(children):
    functions = [sp.sin, sp.cos, sp.exp, sp.tanh, lambda e: sp.sqrt(1 + e**2), lambda e: sp.log(2 + e**2), sp.atan]
    return st.one_of(
        st.tuples(children, children).map(lambda two: two[0] + two[1]),
        st.tuples(children, children).map(lambda two: two[0] * two[1]),
        st.tuples(children, children).map(lambda two: two[0] / (1 + two[1] ** 2)),
        st.tuples(children, st.integers(2, 4)).map(lambda two: two[0] ** two[1]),
        st.tuples(children, st.sampled_from(functions)).map(lambda two: two[1](two[0])),
        st.tuples(children, children).map(lambda two: sp.Piecewise((two[0], two[1] > 0), (two[1], True))),
    )


LEAVES = st.sampled_from([*VARIABLES, sp.Integer(2), sp.Rational(-1, 3), sp.Float("0.7")])
EXPRESSIONS = st.recursive(LEAVES, smooth, max_leaves=12)
PLACE = dict(zip(VARIABLES, map(sp.Float, ("0.37", "-0.81", "1.13")), strict=True))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(EXPRESSIONS)
def test_derivatives_are_those_of_sympy(e):
    for v, slope in zip(VARIABLES, gradient(e, VARIABLES), strict=True):
        found, right = (sp.N(s.xreplace(PLACE), 30) for s in (slope, sp.diff(e, v)))
        assert abs(found - right) <= 1e-12 * (1 + abs(right))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(EXPRESSIONS)
def test_walks_find_what_those_of_sympy_find(e):
    rules = {a: b + 1, b: a * c}
    assert graph.free_symbols(e) == e.free_symbols
    assert graph.replace(e, rules) == e.xreplace(rules)
    assert graph.atoms(e, sp.sin, sp.Pow) == e.atoms(sp.sin, sp.Pow)
    assert graph.has_kind(e, sp.Float) == e.has(sp.Float)
    assert graph.facts(e).size == sum(1 for _ in sp.preorder_traversal(e))
    assert set(graph.Graph([e]).nodes) == set(sp.preorder_traversal(e))
    number = numeric_function(VARIABLES, (e,), ["numpy", "scipy"])(*map(float, PLACE.values()))[0]
    assert number == pytest.approx(float(e.xreplace(PLACE)), rel=1e-12, abs=1e-12)


def test_each_part_is_visited_once():
    """A part is numbered once, whether it is the same object in many places or another one that is equal."""
    e = nested(a)
    parts = len(graph.Graph([e]).nodes)
    assert parts < 5 * FOLDS
    assert graph.facts(e).size > 10**9
    clear_cache()
    again = nested(a)
    assert again is not e and again.args[0] is not e.args[0]
    assert len(graph.Graph([e, again]).nodes) == parts

    visits = []
    graph.mapped(e, lambda node, _: visits.append(node) or node, {})
    assert len(visits) == parts


def test_derivatives_grow_with_the_number_of_parts():
    sizes = [len(graph.Graph([derivative(nested(a, folds), a)]).nodes) for folds in (10, 20, 30, 60)]
    assert all(size <= 9 * folds for size, folds in zip(sizes, (10, 20, 30, 60), strict=True))
    second = derivative(derivative(nested(a), a), a)
    assert len(graph.Graph([second]).nodes) < 40 * FOLDS


PLACES = "force", "mass", "Lagrangian", "position", "velocity", "acceleration", "law"


@cache
def systems():
    """One expression in every place where a model has one."""
    e, D = nested(x), lambda q: q.diff(da.t)
    diagonal = [[2, 0], [0, 1]]
    return {
        "force": da.System((x, y), diagonal, (e, -y)),
        "mass": da.System((x, y), [[2 + e**2, 0], [0, 1]], (-x, -y)),
        "Lagrangian": da.System.from_lagrangian((D(x) ** 2 * (2 + e**2) + D(y) ** 2) / 2 - e, (x, y)),
        "position": da.System((x, y), diagonal, (0, -1), da.Constraint(y - e, name="c")),
        "velocity": da.System((x, y), diagonal, (0, -1), da.Constraint(D(y) - e * D(x), name="c")),
        "acceleration": da.System((x, y), diagonal, (0, -1), da.Constraint(D(D(y)) - e * D(D(x)), name="c")),
        "law": da.System((x, y), diagonal, (0, -1), nonideal=(-nested(D(x)), 0)),
    }


def expected(place, z, e, slope, rate):
    """The accelerations at x = z, ẋ = rate, y = e, ẏ = what the constraint asks for; by hand."""
    if place == "force":
        return e / 2, -e
    if place == "mass":
        return -z / (2 + e**2), -e
    if place == "Lagrangian":
        return (-slope - e * slope * rate**2) / (2 + e**2), 0.0
    if place == "law":
        return -nested_number(rate)[0] / 2, -1.0
    # ÿ = k ẍ + r along the constraint, and 2 ẍ = −k λ, ÿ = −1 + λ
    k = slope if place == "position" else e
    r = {"velocity": slope * rate**2, "acceleration": 0.0, "position": _curvature(z) * rate**2}[place]
    ax = -k * (1 + r) / (2 + k**2)
    return ax, k * ax + r


def _curvature(z):
    d = 1e-4
    return (nested_number(z + d)[1] - nested_number(z - d)[1]) / (2 * d)


@pytest.mark.parametrize("place", PLACES)
def test_a_law_of_a_thousand_million_copies_in_every_place(place):
    """These do not return if any member on the way goes through the copies."""
    assert tuple(systems()) == PLACES
    system, z, rate = systems()[place], 0.1, 0.3
    e, slope = nested_number(z)
    along = {"position": slope * rate, "velocity": e * rate}.get(place, 0.0)
    q, qd = (z, e), (rate, along)
    found = da.motion(system, q, qd).acceleration
    np.testing.assert_allclose(found, expected(place, z, e, slope, rate), rtol=1e-9, atol=1e-9)
    run = da.simulate(system, q, qd, [0.0, 1e-3])
    np.testing.assert_allclose(run.acceleration[0], found, rtol=1e-12, atol=1e-12)
    assert run.statistics["program"] == "machine code"
    assert da.check(system).degrees_of_freedom == 2 - len(system.constraints)
    assert len(da.classify(system).constraints) == len(system.constraints)


def test_messages_do_not_write_copies_out():
    wrong = nested(x) * sp.Derivative(x**2, da.t)
    with pytest.raises(da.ModelError, match=r"call `.doit\(\)` on `an expression of \d+ different parts`"):
        da.System((x,), [[1]], (wrong,))
    with pytest.raises(da.ModelError, match="must be real; got `I` in `an expression of"):
        da.System((x,), [[1]], (nested(x) + sp.I,))
