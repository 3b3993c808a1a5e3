"""Weights of contradictory equations: as functions of time, and what of them matters."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.answer_checks import require_small_residual

x, y = da.coordinates("x y")


def torn() -> da.System:
    """Two instruments that measure the same acceleration as 1 and as 2."""
    rows = (da.Constraint(x.diff(da.t, 2) - 1, name="one"), da.Constraint(x.diff(da.t, 2) - 2, name="two"))
    return da.System((x, y), sp.eye(2), (0, -1), rows)


def weight(t):
    return jnp.stack([1.0, 1.0, 1.0, t])


def correlated(t):
    return np.eye(4) + t * np.ones((4, 4)) / 4


@pytest.mark.parametrize("given", [weight, correlated])
def test_a_weight_in_time_is_at_each_time_the_weight_of_that_time(given) -> None:
    for t in (0.5, 1.0, 4.0):
        moving = da.motion(torn(), (0, 0), (0, 0), t, formulation=da.StackedLeastSquares(given))
        fixed = da.motion(torn(), (0, 0), (0, 0), t, formulation=da.StackedLeastSquares(np.asarray(given(t))))
        for field in ("acceleration", "ideal_force", "residuals", "acceleration_covariance", "force_covariance"):
            np.testing.assert_allclose(getattr(moving, field), getattr(fixed, field), atol=1e-14)
        if given is weight:
            np.testing.assert_allclose(moving.acceleration, [(1 + 2 * t) / (1 + t), -1], rtol=1e-14)


def test_a_motion_under_a_weight_in_time() -> None:
    """ẍ = (1 + 2t)/(1 + t) from rest, integrated by hand."""
    times = np.linspace(0.1, 2, 5)

    def moved(t):
        return t**2 - (1 + t) * np.log(1 + t) + t

    start = (moved(0.1), 0), (2 * 0.1 - np.log(1.1), 0)
    run = da.simulate(torn(), *start, times, formulation=da.StackedLeastSquares(weight))
    np.testing.assert_allclose(run.q[:, 0], moved(times), rtol=1e-9)
    np.testing.assert_allclose(run.acceleration[:, 0], 2 - 1 / (1 + times), rtol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_the_motion_matter_only_through_correlations(seed: int) -> None:
    """Without correlations W₁₁ changes nothing; with them r₁ = −W₁₁⁻¹W₁₂ r₂ and r₂ has the weight W₂₂ − W₂₁W₁₁⁻¹W₁₂."""
    rng = np.random.default_rng(seed)
    n, row = 3, rng.normal(size=3)
    M, Q, A, b = np.diag([1.0, 2.0, 3.0]), rng.normal(size=n), np.stack([row, 2 * row]), rng.normal(size=2)
    half = rng.normal(size=(5, 5))
    W = half @ half.T + np.eye(5)

    def compromise(W):
        return da.constrained_motion(M, Q, A, b, formulation=da.StackedLeastSquares(W))

    apart = W.copy()
    apart[:n, n:] = apart[n:, :n] = 0
    other = apart.copy()
    other[:n, :n] = np.diag(10.0 ** rng.uniform(-3, 3, n))
    one, two = compromise(apart), compromise(other)
    np.testing.assert_allclose(two.acceleration, one.acceleration, atol=1e-13)
    np.testing.assert_allclose(two.constraint_force, one.constraint_force, atol=1e-13)
    np.testing.assert_allclose(one.residuals[:n], 0, atol=1e-14)
    point = compromise(W)
    r1, r2 = point.residuals[:n], point.residuals[n:]
    np.testing.assert_allclose(r1, -np.linalg.solve(W[:n, :n], W[:n, n:] @ r2), atol=1e-13)
    reduced = W[n:, n:] - W[n:, :n] @ np.linalg.solve(W[:n, :n], W[:n, n:])
    np.testing.assert_allclose(A @ point.acceleration - b, r2, atol=1e-13)
    np.testing.assert_allclose(np.array([1, 2]) @ reduced @ r2, 0, atol=1e-12)  # least r₂ᵀ S r₂ along range(A)


WRONG = {
    r"`weight` must be numbers for `da.constrained_motion`, which has no time; got a function": lambda: (
        da.constrained_motion(np.eye(1), [0], [[1]], [0], formulation=da.StackedLeastSquares(lambda t: [1, t]))
    ),
    r"`weight` must have shape \(4,\) or \(4, 4\).*got \(3,\)": lambda: da.motion(
        torn(), (0, 0), (0, 0), formulation=da.StackedLeastSquares(lambda t: [1, 1, 1])
    ),
    r"`weight` must be positive definite; its smallest eigenvalue is -3": lambda: da.motion(
        torn(), (0, 0), (0, 0), 3.0, formulation=da.StackedLeastSquares(lambda t: [1, 1, 1, -t])
    ),
    r"`weight` must be a function of time alone": lambda: da.motion(
        torn(), (0, 0), (0, 0), formulation=da.StackedLeastSquares(lambda: [1, 1, 1, 1])
    ),
    r"`weight` must be an array of numbers or a function of time; got 'heavy'": lambda: da.motion(
        torn(), (0, 0), (0, 0), formulation=da.StackedLeastSquares("heavy")
    ),
    r"`weight` must have shape \(2,\) or \(2, 2\)": lambda: da.constrained_motion(
        np.eye(1), [0], [[1]], [0], formulation=da.StackedLeastSquares([1, 2, 3])
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_with_a_weight_is_said(message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        WRONG[message]()


def test_a_weight_may_be_a_list() -> None:
    found = da.constrained_motion(np.eye(1), [0], [[1], [1]], [1, 2], formulation=da.StackedLeastSquares([1, 3, 1]))
    np.testing.assert_allclose(found.acceleration, [1.25], rtol=1e-15)


def test_a_constraint_of_large_weight_holds_beside_measurements() -> None:
    """Two instruments with standard deviations 0.3 and 0.1: the mean by 1/σ²; y follows x by a rod."""
    rows = (*torn().constraints, da.Constraint(y - x, name="rod"))
    both = da.System((x, y), sp.eye(2), (0, 0), rows)
    weights = 1 / np.array([0.3, 0.1]) ** 2
    mean = weights @ [1, 2] / weights.sum()
    found = da.motion(both, (0, 0), (0, 0), formulation=da.StackedLeastSquares([1, 1, *weights, 1e10]))
    np.testing.assert_allclose(found.acceleration, [mean, mean], rtol=1e-9)
    np.testing.assert_allclose(found.acceleration_covariance[0, 0], 1 / weights.sum(), rtol=1e-9)
    worse = replace(found, residual=np.array(1e-8))
    with pytest.raises(da.ConstraintError, match=r"since its weights differ by many orders .* weight is 1e8 times the"):
        require_small_residual(worse, da.StackedLeastSquares([1, 1, *weights, 1e10]))
