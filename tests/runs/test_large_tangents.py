"""Constraints of large systems that only touch at a start: no motion keeps all of them."""

import numpy as np
import pytest

import dalembert as da
from dalembert.integration import sparse_run


def net(side, corners):
    """Return a flat net of rods that is held at corners of its first row, and its coordinates."""
    count = side**2
    x, y, z = (da.coordinates(name, count) for name in "xyz")
    u, v, w, a, b, c = da.coordinates("u v w a b c")
    number = np.arange(count).reshape(side, side)
    one = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    other = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    ends = {u: x[one], v: y[one], w: z[one], a: x[other], b: y[other], c: z[other]}
    rods = da.Constraint.over((u - a) ** 2 + (v - b) ** 2 + (w - c) ** 2 - 1, ends, name="rod")
    held = [
        da.Constraint(part[k] - value, name=f"{name}{k}")
        for k in corners
        for part, name, value in ((x, "x", k), (y, "y", 0), (z, "z", 0))
    ]
    q = np.concatenate([(number % side).ravel(), (number // side).ravel(), np.zeros(count)])
    return da.System((x, y, z), 1, {z: -9.81}, (*held, rods)), q


def test_a_taut_net_is_named():
    """The row between two corners cannot sag; its rods are independent as soon as it does."""
    system, q = net(9, (0, 8))
    with pytest.raises(
        da.errors.SimulationError, match=r"`x0`, `x8`, `rod\[0\]`, .* and 2 more must leave a motion possible; at t = 0"
    ) as refusal:
        da.simulate(system, q, 0 * q, [0, 0.1])
    assert refusal.value.trajectory.statistics["steps"] <= 20


@pytest.mark.parametrize("spin", [1.0, 30.0])
def test_redundant_constraints_that_stay_so_are_not_named(monkeypatch, spin):
    """A braced ladder turns freely; the examination leaves no trace in its run."""
    count = 60
    x, y, u, v = (da.coordinates(name, count) for name in ("x", "y", "u", "v"))
    a, b, c, d = da.coordinates("a b c d")
    sides = [(x[:-1], y[:-1], x[1:], y[1:], 1), (u[:-1], v[:-1], u[1:], v[1:], 1), (x, y, u, v, 1)]
    braces = [(x[:-1], y[:-1], u[1:], v[1:], 2), (u[:-1], v[:-1], x[1:], y[1:], 2)]
    rods = [
        da.Constraint.over((a - c) ** 2 + (b - d) ** 2 - square, {a: one, b: two, c: three, d: four}, name=f"rod{k}")
        for k, (one, two, three, four, square) in enumerate([*sides, *braces])
    ]
    places = np.arange(float(count))
    q = np.concatenate([places, 0 * places, places, 0 * places + 1])
    rates = spin * np.concatenate([0 * places, places, 0 * places - 1, places]) / 10
    ladder = da.System((x, y, u, v), 1, 0, rods)
    wanted = da.simulate(ladder, q, rates, [0, 0.5, 1])
    assert wanted.rank[0] < len(ladder.constraint_names)
    monkeypatch.setattr(sparse_run, "REJECTED_PART", -1)
    monkeypatch.setattr(sparse_run, "FIRST_STEPS", 3)
    found = da.simulate(ladder, q, rates, [0, 0.5, 1])
    np.testing.assert_array_equal(found.q, wanted.q)
