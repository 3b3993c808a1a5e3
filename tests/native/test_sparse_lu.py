"""LU of sparse matrices with a fixed pattern, beside dense linear algebra."""

import numpy as np
import pytest

from dalembert.native.sparse_lu import SparseLU


def random_saddle(n: int, m: int, seed: int, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """A matrix [[P, −Aᵀ], [A + E, 0]] with sparse blocks, P near a definite one, and its pattern."""
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, n)) < 2 / n
    P = np.where(pattern, rng.normal(size=(n, n)), 0.0)
    P = P @ P.T + np.eye(n) + 0.1 * P
    A = np.zeros((m, n))
    for row in A:
        row[rng.choice(n, 4, replace=False)] = rng.normal(size=4)
    off = 0.05 * np.where(A != 0, rng.normal(size=A.shape), 0.0)
    whole = np.block([[P, -A.T], [A + off, np.zeros((m, m))]]).astype(kind)
    if kind is complex:
        whole[:n, :n] += 0.8j * np.diag(rng.random(n)) * np.abs(P)
    return whole, rng.permutation(np.flatnonzero(whole))


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(5))
def test_solutions_are_those_of_dense_linear_algebra(kind: type, seed: int) -> None:
    n, m = 30, 12
    whole, entries = random_saddle(n, m, seed, kind)
    rows, columns = np.divmod(entries, n + m)
    lu = SparseLU(np.arange(n + m), rows, columns)
    right = np.random.default_rng(seed).normal(size=n + m).astype(kind)
    # new values, the same pattern
    for factor in (1.0, 3.0):
        matrix = whole.copy()
        matrix[:n, :n] *= factor
        values = np.zeros(len(lu.row), kind)
        np.add.at(values, lu.slots, matrix[rows, columns])
        found = np.empty(n + m, kind)
        found[lu.order] = lu.factored(values).solve(right[lu.order])
        np.testing.assert_allclose(matrix @ found, right, atol=1e-11)


def test_entries_without_a_place_are_reported() -> None:
    lu = SparseLU(np.arange(3), np.array([0, 1]), np.array([1, 1]))
    assert lu.slots_of(np.array([1, 0]), np.array([0, 1])) is not None  # patterns are symmetric
    assert lu.slots_of(np.array([0]), np.array([2])) is None


def test_a_singular_matrix_has_no_finite_solution() -> None:
    lu = SparseLU(np.arange(2), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert not np.isfinite(lu.factored(np.ones(4)).solve(np.array([1.0, 2.0]))).any()
