"""Nearest states of large systems: compared with the equations of the nearest point, in higher precision."""

import numpy as np
import pytest

import dalembert as da

N = 150


def chain(masses):
    x, y = da.coordinates("x", N), da.coordinates("y", N)
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, ends, name="rod")
    first = da.Constraint(x[0] ** 2 + y[0] ** 2 - 1, name="first")
    return da.System((x, y), np.tile(masses, 2), {y: -9.81}, (first, rods))


def newton_step(q, q0, masses):
    """Return the step of Newton's method for the nearest point, and what rounding of q and of the lengths makes of it.

    The equations M (q − q₀) + Aᵀλ = 0 and φ(q) = 0 are evaluated in extended precision.
    """
    q, q0, M = q.astype(np.longdouble), q0.astype(np.longdouble), np.tile(masses, 2)
    rods = np.eye(N) - np.eye(N, k=-1)  # each particle less the one before it
    across = np.array([rods @ part for part in np.split(q, 2)])
    A = np.hstack([2 * part[:, None] * rods for part in across])
    multipliers = np.linalg.lstsq(A.T.astype(float), (-M * (q - q0)).astype(float))[0]
    curvature = np.kron(np.eye(2), 2 * rods.T @ np.diag(multipliers) @ rods)
    equations = np.block([[np.diag(M) + curvature, A.T], [A, np.zeros((N, N))]]).astype(float)
    residual = np.concatenate([M * (q - q0) + A.T @ multipliers, (across**2).sum(axis=0) - 1])
    inverse = np.abs(np.linalg.inv(equations))[: 2 * N]
    rounding = np.concatenate([M * np.abs(q), np.abs(A) @ np.abs(q)]).astype(float)
    return np.linalg.solve(equations, -residual.astype(float))[: 2 * N], np.spacing(0.5) * (inverse @ rounding)


@pytest.mark.parametrize("noise", [1e-6, 1e-2, 2e-2, 5e-2])
def test_the_nearest_state_is_as_accurate_as_its_condition_allows(noise):
    """At two hundredths, each step to the linearised constraints is a little shorter than the one before it."""
    rng = np.random.default_rng(0)
    masses, angles = rng.uniform(0.5, 2, N), np.cumsum(rng.normal(0, 0.1, N))
    q0 = np.concatenate([np.cumsum(np.cos(angles)), np.cumsum(np.sin(angles))]) + noise * rng.normal(size=2 * N)
    q = da.consistent_state(chain(masses), q0, np.zeros(2 * N)).q
    step, rounding = newton_step(q, q0, masses)
    assert np.abs(step).max() < rounding.max() < 1e-12
