"""Integrability: a form g · df is holonomic whatever the factor g, and d(ω) ∧ ω ≠ 0 is never called so."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest
import sympy as sp

import dalembert as da
from dalembert.analysis.zero_test import seems_zero
from helpers import quick_first

D = lambda q: q.diff(da.t)  # noqa: E731


def random_function(draw: random.Random, q: Any, terms: int) -> Any:
    """A sum of random monomials, sines and cosines in which every coordinate occurs."""
    makers = [
        lambda: draw.choice(q) ** draw.randint(1, 2) * draw.choice(q),
        lambda: draw.choice(q) * sp.sin(draw.choice(q)),
        lambda: sp.cos(draw.choice(q)) * draw.choice(q) ** draw.randint(0, 2),
    ]
    own = sp.Add(*(draw.randint(1, 5) * v for v in q))
    return own + sp.Add(*(draw.randint(-4, 4) * draw.choice(makers)() for _ in range(terms)))


def random_factor(draw: random.Random, q: Any) -> Any:
    """A function without zeros that is no product of functions of one coordinate each."""
    u, v = draw.sample(list(q), 2)
    return draw.choice([1 + u**2, 2 + u**2 * v**2, 1 + (u - v) ** 2, 3 + sp.sin(u) * v**2 + v**4, sp.exp(u * v)])


def form_of(constraint: Any, q: Any) -> list[Any]:
    return [constraint.coeff(D(v)) for v in q]


def wedge_of_gradient(f: Any, form: list[Any], q: Any) -> list[Any]:
    """df ∧ ω, which vanishes iff f is constant wherever the constraint holds."""
    letters = {v: sp.Symbol(f"u.{i}", real=True) for i, v in enumerate(q)}
    slope = [f.xreplace(letters).diff(u) for u in letters.values()]
    a = [e.xreplace(letters) for e in form]
    return [slope[i] * a[j] - slope[j] * a[i] for i, j in combinations(range(len(q)), 2)]


def classified(q: Any, constraints: list[Any]) -> da.Classification:
    n = len(q)
    return da.classify(
        da.System(q, sp.eye(n), [0] * n, [da.Constraint(c, name=f"c{k}") for k, c in enumerate(constraints)])
    )


def assert_consistent(found: da.Classification) -> None:
    """A report must not contradict itself."""
    pfaffian = [row for row in found.constraints if row.level != "acceleration" and row.linear_in_velocity]
    for row in pfaffian:
        assert row.integral is None or row.holonomic, str(found)
    holonomic = sum(bool(row.holonomic) for row in pfaffian)
    assert len(found.integrals) <= found.derived_flag[-1] <= found.derived_flag[0] <= len(pfaffian), str(found)
    if len(pfaffian) == 1:
        assert found.derived_flag == ((1,) if holonomic else (1, 0)), str(found)
        assert holonomic or not found.integrals, str(found)
    if found.derived_flag[0] == len(pfaffian):  # independent constraints
        assert found.derived_flag[-1] >= holonomic, str(found)
        assert len(found.derived_flag) == 1 or holonomic < len(pfaffian), str(found)


def coordinates(draw: random.Random) -> Any:
    return da.coordinates(" ".join("xyzuv"[: draw.randint(3, 5)]))


def test_a_common_factor_does_not_make_a_constraint_nonholonomic() -> None:
    x, y, z = q = da.coordinates("x y z")
    found = classified(q, [sp.expand((1 + x**2) * (D(x) + z * D(y) + y * D(z)))])
    assert_consistent(found)
    assert found.constraints[0].holonomic
    assert found.constraints[0].integral == x + y * z


@pytest.mark.parametrize("seed", quick_first(range(6), range(3)))
def test_factor_times_differential_is_holonomic(seed: int) -> None:
    """ω = g df integrates whatever g is; the integral found has df ∧ ω = 0."""
    draw = random.Random(seed)
    q = coordinates(draw)
    constraint = sp.expand(random_factor(draw, q) * random_function(draw, q, 3).diff(da.t))
    found = classified(q, [constraint])
    assert_consistent(found)
    row = found.constraints[0]
    assert row.holonomic
    assert row.integral is not None
    assert all(map(seems_zero, wedge_of_gradient(row.integral, form_of(constraint, q), q)))


@pytest.mark.parametrize("seed", range(8))
def test_spoiled_differential_is_nonholonomic(seed: int) -> None:
    """df + x dy (1 + z) with f free of coupling terms: ω ∧ dω contains (1 + z) dx ∧ dy ∧ dz."""
    draw = random.Random(100 + seed)
    q = coordinates(draw)
    f = sp.Add(*(draw.randint(1, 5) * v + draw.randint(1, 3) * v**2 for v in q))
    size = sp.Rational(1, 10 ** draw.choice([0, 3, 12, 25]))  # small is not zero
    constraint = sp.expand(random_factor(draw, q) * (f.diff(da.t) + size * q[0] * (1 + q[2]) * D(q[1])))
    found = classified(q, [constraint])
    assert_consistent(found)
    assert found.constraints[0].holonomic is False
    assert found.derived_flag == (1, 0)
    assert found.integrals == ()


@pytest.mark.parametrize("seed", quick_first(range(2), [0]))
def test_several_constraints_together(seed: int) -> None:
    """Combinations of g df and g' df' integrate jointly; a contact form beside g df does not."""
    draw = random.Random(200 + seed)
    q = da.coordinates("x y z u")
    f, g = (random_function(draw, q, 2).diff(da.t) for _ in range(2))
    pair = classified(q, [sp.expand(f + q[0] * g), sp.expand(g - q[1] * f)])
    assert_consistent(pair)
    assert pair.derived_flag == (2,)
    plain = sp.Add(*(draw.randint(1, 5) * v + draw.randint(1, 3) * v**2 for v in q[:2])).diff(da.t)
    mixed = classified(q, [sp.expand(random_factor(draw, q) * plain), D(q[2]) - q[3] * D(q[0])])
    assert_consistent(mixed)
    assert [row.holonomic for row in mixed.constraints] == [True, False]


def test_zero_is_distinguished_from_small_numbers() -> None:
    u, v = sp.symbols("u v", positive=True)
    power = (u - v) ** 60
    assert seems_zero(sp.expand(power) - power)
    assert seems_zero(sp.sin(u + v) - sp.sin(u) * sp.cos(v) - sp.cos(u) * sp.sin(v))
    assert seems_zero(sp.exp(-2000 * u) - sp.exp(-1000 * u) ** 2)
    assert not seems_zero(sp.expand(power) - power + sp.Rational(1, 10**40) * u)
    assert not seems_zero(sp.exp(-2000 * u) - sp.exp(-2000 * v))
    assert not seems_zero(sp.sin(u) - u + u**3 / 6)
