"""Nearest states next to the border of a function's domain, where its slope grows without bound."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import minimize_scalar

import dalembert as da

x, y = da.coordinates("x y")
FUNCTIONS = {
    "sqrt": (sp.sqrt, np.sqrt, (0, 4)),
    "asin": (sp.asin, np.arcsin, (-1, 1)),
    "acos": (sp.acos, np.arccos, (-1, 1)),
    "acosh": (sp.acosh, np.arccosh, (1, 5)),
    "log": (sp.log, np.log, (1e-12, 5)),
    "asec": (sp.asec, lambda u: np.arccos(1 / u), (1, 5)),
    "asech": (sp.asech, lambda u: np.arccosh(1 / u), (1e-12, 1)),
}
"""Each function, in NumPy as well, and an interval in which it is defined."""


def nearest_on_the_curve(function: Any, interval: tuple[float, float], start: tuple[float, float]) -> tuple[float, Any]:
    """Return the least distance of (u, −f(u)) from the start, and the point: the best of many local minima."""

    def distance(u: Any) -> Any:
        return np.hypot(u - start[0], -function(u) - start[1])

    grid = np.linspace(*interval, 400)
    found: list[Any] = [
        minimize_scalar(distance, bounds=(a, b), method="bounded", options={"xatol": 1e-12})
        for a, b in zip(grid, grid[2:], strict=False)
    ]
    best = min(found, key=lambda result: result.fun)
    return best.fun, np.array([best.x, -function(best.x)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_nearest_state_or_an_error(name: str) -> None:
    """Beyond the border there is no state, and at it no finite slope, which ended in an error of linear algebra.

    A residual of 0.07 may be small beside a slope of 1e8; the state that has it satisfies nothing.
    """
    symbol, function, interval = FUNCTIONS[name]
    system = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(symbol(x) + y, name="curve"))
    begin = 0.3 * interval[0] + 0.7 * min(interval[1], interval[0] + 2)
    refused: list[tuple[str, float]] = []
    for height in (-3.0, -2.0, -1.0, 0.3, 1.0, 5.0):
        least, point = nearest_on_the_curve(function, interval, (begin, height))
        try:
            q, _ = da.consistent_state(system, (begin, height), (0, 0))
        except da.StateError as refusal:
            refused.append((str(refusal), min(abs(point[0] - end) for end in interval)))
            continue
        assert abs(function(q[0]) + q[1]) < 1e-8
        assert np.hypot(q[0] - begin, q[1] - height) < least + 1e-6
    assert len(refused) < 5
    for message, from_border in refused:
        assert "`curve` remains violated by" in message
        assert from_border < 1e-2
