"""The state nearest to a given one: (x − x₀) in the mass metric lies in the row space of the constraints' gradients."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import random_spd


@pytest.mark.parametrize("seed", range(4))
def test_the_distance_is_stationary_to_rounding(seed: int) -> None:
    """Two random quadrics in five coordinates: the last steps shorten the distance by less than its rounding."""
    rng, n = np.random.default_rng(seed), 5
    q = da.coordinates(" ".join(f"q{i}" for i in range(n)))
    X, M = sp.Matrix(q), random_spd(rng, n)
    quadrics = [(rng.normal(size=(n, n)) * 0.3, rng.normal(size=n)) for _ in range(2)]
    constraints = [
        da.Constraint((X.T * sp.Matrix(S) * X)[0] + sp.Matrix(c).dot(X) - 1, name=f"quadric {k}")
        for k, (S, c) in enumerate(quadrics)
    ]
    system = da.System(q, sp.Matrix(M), [0] * n, constraints)
    for start in rng.normal(size=(3, n)):
        x, _ = da.consistent_state(system, start, np.zeros(n))
        A = np.array([(S + S.T) @ x + c for S, c in quadrics])
        np.testing.assert_allclose([x @ S @ x + c @ x for S, c in quadrics], 1, rtol=0, atol=1e-13)
        momentum = M @ (x - start)
        left = momentum - A.T @ np.linalg.lstsq(A.T, momentum, rcond=None)[0]
        assert np.abs(left).max() < 1e-12 * (1 + np.abs(momentum).max())
