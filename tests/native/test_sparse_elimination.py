"""Sparse elimination: its order, its solutions beside NumPy, and the rows it leaves out."""

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.native import sparse_elimination
from dalembert.native.elimination_order import minimum_degree, postorder
from dalembert.native.sparse_elimination import SparseElimination


def pattern_of(A):
    rows, columns = np.nonzero(A)
    return rows, columns, np.arange(len(rows))


def random_rows(m, n, each, seed):
    rng = np.random.default_rng(seed)
    A = np.zeros((m, n))
    for i in range(m):
        A[i, rng.choice(n, each, replace=False)] = rng.normal(size=each)
    return A, rng.uniform(0.5, 2, n), rng.normal(size=m)


@pytest.mark.parametrize(("m", "n", "each", "seed"), [(1, 3, 2, 0), (20, 60, 3, 1), (80, 100, 4, 2), (50, 100, 5, 3)])
def test_solutions_are_those_of_numpy(m, n, each, seed):
    A, weights, right = random_rows(m, n, each, seed)
    S = (A * weights) @ A.T
    elimination = SparseElimination(A.shape, *pattern_of(A))
    elimination.factor(A[A != 0], weights)
    np.testing.assert_allclose(S @ elimination.solve(right), right, atol=1e-9)
    assert not elimination.left_out.any()


def test_dependent_rows_are_left_out():
    A, weights, _ = random_rows(30, 60, 3, 4)
    A = np.vstack([A, A[3] + A[7], A[3], 0 * A[0]])
    A[-1, 0] = np.nan  # an entry that is zero at this state
    rows, columns, places = pattern_of(A)
    A = np.nan_to_num(A, nan=0.0)
    elimination = SparseElimination(A.shape, rows, columns, places)
    elimination.factor(A[rows, columns], weights)
    out = elimination.left_out
    assert out.sum() == 3 and out[-1]
    assert np.linalg.matrix_rank(A[~out]) == 30
    right = A @ np.random.default_rng(5).normal(size=60)
    x = elimination.solve(right)
    assert (x[out] == 0).all()
    np.testing.assert_allclose((A * weights) @ (A.T @ x), right, atol=1e-10)


def test_rows_that_are_not_in_use_are_left_out():
    A, weights, right = random_rows(20, 60, 3, 6)
    elimination = SparseElimination(A.shape, *pattern_of(A))
    used = np.arange(20) % 3 != 0
    elimination.used = used
    elimination.factor(A[A != 0], weights)
    assert (elimination.left_out == ~used).all() and (elimination.used == used).all()
    x = elimination.solve(right)
    np.testing.assert_allclose(((A * weights) @ A.T @ x)[used], right[used], atol=1e-10)


def grid(side):
    """Neighbours in a square grid."""
    number = np.arange(side**2).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1),
            np.stack([number[:-1].ravel(), number[1:].ravel()], 1),
        ]
    )
    return np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]])


def entries_of_factor(m, rows, others, order):
    """The number of entries of L, by elimination of sets."""
    neighbours = [set() for _ in range(m)]
    for i, j in zip(rows.tolist(), others.tolist(), strict=True):
        neighbours[i].add(j)
    total = 0
    for p in order:
        around = neighbours[p]
        total += len(around)
        for i in around:
            neighbours[i] |= around - {i}
            neighbours[i].discard(p)
    return total


def test_the_order_keeps_the_factors_of_a_grid_sparse():
    rows, others = grid(20)
    order = minimum_degree(400, rows, others)
    assert sorted(order) == list(range(400))
    assert entries_of_factor(400, rows, others, order) < 0.5 * entries_of_factor(400, rows, others, range(400))


def test_a_chain_has_no_fill_in():
    i = np.arange(99)
    rows, others = np.concatenate([i, i + 1]), np.concatenate([i + 1, i])
    assert entries_of_factor(100, rows, others, minimum_degree(100, rows, others)) == 99


def test_postorder_puts_children_first():
    parents = [2, 2, 5, 4, 5, -1, -1]
    order = postorder(parents)
    place = {node: i for i, node in enumerate(order)}
    assert sorted(order) == list(range(7))
    assert all(place[i] < place[parent] for i, parent in enumerate(parents) if parent >= 0)


def test_a_coordinate_in_very_many_constraints_is_refused(monkeypatch):
    """A hub that is held by 200 rods: two coordinates are in all of them, the others in one."""
    monkeypatch.setattr(sparse_elimination, "MOST_PRODUCTS", 10**4)
    m = 200
    rows, columns = np.repeat(np.arange(m), 2), np.stack([np.zeros(m, np.int64), 1 + np.arange(m)], axis=1).ravel()
    with pytest.raises(ModelError, match=f"few of them may share a coordinate; one coordinate is in {m} of them"):
        SparseElimination((m, m + 1), rows, columns, np.arange(2 * m))


def test_a_system_that_is_too_large_is_refused_by_its_size(monkeypatch):
    """A chain of 999 rods between 1000 coordinates: 2 · 1² + 998 · 2² products."""
    monkeypatch.setattr(sparse_elimination, "MOST_PRODUCTS", 1000)
    i = np.arange(999)
    given = (999, 1000), np.repeat(i, 2), np.stack([i, i + 1], axis=1).ravel(), np.arange(1998)
    wanted = (
        "at most 1e\\+03 products of entries of constraints; those of the 1998 entries here make 4.0e\\+03. State a "
    )
    with pytest.raises(ModelError, match=f"{wanted}system of at most 25% of this size") as refused:
        SparseElimination(*given)
    assert "share a coordinate" not in str(refused.value)
