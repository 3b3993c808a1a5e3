"""Verdicts do not depend on the scale of what a constraint says: from picometres to light years."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")


def verdict(*constraints: Any, **state: Any) -> da.Verdict:
    rows = [da.Constraint(c, name=f"c{k}") for k, c in enumerate(constraints)]
    return da.check(da.System((x, y), sp.eye(2), (0, -9.81), rows), **state)


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1.0, 1e6, 1.5e11, 1e15])
def test_a_place_at_any_distance_can_be_reached(size: float) -> None:
    for constraint in (x - size, x + size, x / size - 1, x - 2 * y - size, x.diff(da.t) - size):
        found = verdict(constraint)
        assert found.well_posed, f"{constraint}: {found}"
        assert found.degrees_of_freedom == 1


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e6, 1e9, 1e15])
def test_a_rod_of_any_length(size: float) -> None:
    rod = x**2 + y**2 - sp.Float(size) ** 2
    assert verdict(rod).well_posed
    assert verdict(rod, q=(size, 0), qd=(0, 0)).well_posed
    off = verdict(rod, q=(2 * size, 0), qd=(0, 0))
    assert set(off.violations) == {("c0", "position")}
    ring = x**2 + y**2 - 4 * sp.Float(size) ** 2
    assert [c.names for c in verdict(rod, ring).conflicts] == [("c0", "c1")]


@pytest.mark.parametrize(
    "rows",
    [
        (x - 1.5e11, y - 1e-12),
        (x - 1e15, x**2 + y**2 - 4e30),
        (x - 1e-9, y - 1e9),
        (x - 1e15, x + y - 3e15),
    ],
)
def test_mixtures(rows: Any) -> None:
    found = verdict(*rows)
    assert found.well_posed, str(found)
    assert found.rank == 2


@pytest.mark.parametrize(
    "constraint", [sp.exp(x), 1 / x, sp.exp(-x / 1e12), x**2 + 1e30, x**2 + y**2 + 1e-20, sp.cosh(x) - 0.5, 1e15 / x]
)
def test_requirements_that_cannot_be_met_are_reported(constraint: Any) -> None:
    assert [c.names for c in verdict(constraint).conflicts] == [("c0",)]
