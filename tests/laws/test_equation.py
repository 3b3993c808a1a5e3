"""The laws of the fundamental equation, on 300 random problems of random rank."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from helpers import ALL_FORMULATIONS, SHAPES, label, null_space, quick_first, random_problem, random_problems


def scale_of(problem: dict[str, np.ndarray]) -> float:
    """The size of the numbers that accelerations and forces are made of."""
    return 10 * (1 + max(np.abs(array).max(initial=0.0) for array in problem.values()))


def random_virtual(A: np.ndarray, seed: int) -> np.ndarray:
    """One random virtual displacement per problem of a batch."""
    rng = np.random.default_rng(seed)
    spaces = [null_space(rows) for rows in A]
    return np.stack([space @ rng.normal(size=space.shape[1]) for space in spaces])


@cache
def default_answer(shape: tuple[int, int]) -> da.ConstrainedMotion:
    """That of the default formulation, with which all others are compared."""
    return da.constrained_motion(**random_problems(shape)[0])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
def test_all_formulations_agree_and_obey_the_laws(formulation: da.Factored, shape: tuple[int, int]) -> None:
    """300 random problems of random rank, 100 of each size."""
    problem, rank = random_problems(shape)
    chosen = rank == shape[1] if formulation.independent_rows else np.full(len(rank), True)
    problem, rank = {key: array[chosen] for key, array in problem.items()}, rank[chosen]
    M, Q, A, b, C = problem.values()
    tolerance = 1e-10 * scale_of(problem)
    point = da.constrained_motion(**problem, formulation=formulation)
    np.testing.assert_array_equal(point.rank, rank)
    for field in ("acceleration", "ideal_force", "nonideal_force", "multipliers"):
        default = getattr(default_answer(shape), field)[chosen]
        assert np.abs(getattr(point, field) - default).max(initial=0.0) < tolerance, field
    acceleration, force = np.asarray(point.acceleration), np.asarray(point.constraint_force)
    assert np.abs(np.einsum("kij,kj->ki", A, acceleration) - b).max(initial=0.0) < tolerance
    assert np.abs(np.einsum("kij,kj->ki", M, acceleration) - Q - force).max(initial=0.0) < tolerance
    assert np.abs(np.einsum("kij,ki->kj", A, point.multipliers) - point.ideal_force).max(initial=0.0) < tolerance
    v = random_virtual(A, seed=1) if len(A) else np.zeros((0, shape[0]))
    assert np.abs(np.sum(v * point.ideal_force, axis=-1)).max(initial=0.0) < tolerance
    assert np.abs(point.virtual_work(v) - np.sum(v * C, axis=-1)).max(initial=0.0) < tolerance


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gauss_function_is_least_on_the_admissible_accelerations(shape: tuple[int, int]) -> None:
    problem, _ = random_problems(shape)
    M, Q, A, _, C = problem.values()
    point = default_answer(shape)
    shifted = np.linalg.solve(M, (Q + C)[..., None])[..., 0]

    def gauss(qdd: np.ndarray) -> np.ndarray:
        return np.einsum("ki,kij,kj->k", qdd - shifted, M, qdd - shifted)

    least = gauss(np.asarray(point.acceleration))
    np.testing.assert_allclose(least, point.gauss, rtol=1e-9, atol=1e-11)
    for seed in range(5):
        v = random_virtual(A, seed)
        for step in (-1.0, -1e-3, 1e-3, 1.0):
            more = gauss(point.acceleration + step * v) - least
            # stationary, so the increase is exactly the quadratic term
            np.testing.assert_allclose(more, step**2 * np.einsum("ki,kij,kj->k", v, M, v), rtol=1e-6, atol=1e-10)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES[:2]))
def test_repeating_scaling_and_reordering_rows_changes_nothing(seed: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    problem, rank = random_problem(rng, shape)
    A, b = problem["constraint_matrix"], problem["constraint_rhs"]
    before = da.constrained_motion(**problem)
    order = rng.permutation(np.append(np.arange(len(A)), rng.integers(0, len(A), 2)))
    factor = 10.0 ** rng.uniform(-6, 6, len(order)) * rng.choice([-1, 1], len(order))
    changed = problem | {"constraint_matrix": factor[:, None] * A[order], "constraint_rhs": factor * b[order]}
    after = da.constrained_motion(**changed)
    tolerance = 1e-10 * scale_of(problem)
    assert after.rank == rank
    for field in ("acceleration", "ideal_force", "nonideal_force"):
        assert np.abs(getattr(after, field) - getattr(before, field)).max() < tolerance, field


@pytest.mark.parametrize("shape", [(4, 6)], ids=str)
def test_weight_changes_nothing_when_consistent_and_something_when_not(shape: tuple[int, int]) -> None:
    n, m = shape
    rng = np.random.default_rng(7)
    problem, rank = random_problems(shape, count=20)
    weight = np.diag(rng.uniform(0.2, 5, n + m))
    weight[:n, :n] += np.ones((n, n))
    forms = [da.StackedLeastSquares(), da.StackedLeastSquares(weight)]
    plain, weighted = (da.constrained_motion(**problem, formulation=f) for f in forms)
    tolerance = 1e-10 * scale_of(problem)
    assert np.abs(plain.acceleration - weighted.acceleration).max() < tolerance
    assert np.abs(weighted.residuals).max() < tolerance
    contradictory = (rank > 0) & (rank < m)
    if contradictory.any():
        off = {key: array[contradictory] for key, array in problem.items()}
        off["constraint_rhs"] = off["constraint_rhs"] + rng.normal(size=off["constraint_rhs"].shape)
        plain, weighted = (da.constrained_motion(**off, formulation=f) for f in forms)
        assert (np.abs(plain.acceleration - weighted.acceleration).max(axis=-1) > 1e-4).all()
        assert (plain.inconsistency > 1e-3).all()


def test_weighted_least_squares_solves_its_normal_equations() -> None:
    """Against r = (LᵀWL)⁻¹LᵀW s written out with NumPy, and its covariance by sampling the measurements."""
    rng = np.random.default_rng(5)
    M = np.diag([1.0, 4.0])
    A, b, Q = np.array([[1.0, 0.5], [2.0, 1.0], [0.3, 0.3]]), np.array([1.0, 2.3, 0.1]), np.array([0.5, -1.0])
    weight = rng.uniform(0.5, 3, 5)
    point = da.constrained_motion(M, Q, A, b, formulation=da.StackedLeastSquares(weight))
    half = np.sqrt(M)
    B = A @ np.linalg.inv(half)
    L = np.block([[np.eye(2), -np.eye(2)], [B, np.zeros((3, 2))]])
    W = np.diag(weight)
    G = np.linalg.solve(L.T @ W @ L, L.T @ W)  # rank 2 of 2: no virtual displacements, no further rows
    s = np.concatenate([np.linalg.solve(half, Q), b])
    np.testing.assert_allclose(point.acceleration, np.linalg.solve(half, (G @ s)[:2]), atol=1e-12)
    np.testing.assert_allclose(point.constraint_force, half @ (G @ s)[2:], atol=1e-12)
    np.testing.assert_allclose(point.residuals, L @ G @ s - s, atol=1e-12)
    noise = rng.normal(size=(200_000, 5)) / np.sqrt(weight)
    samples = noise @ G.T @ np.linalg.inv(np.block([[half, np.zeros((2, 2))], [np.zeros((2, 2)), np.linalg.inv(half)]]))
    np.testing.assert_allclose(point.acceleration_covariance, np.cov(samples[:, :2].T), rtol=0.03, atol=1e-3)
    np.testing.assert_allclose(point.force_covariance, np.cov(samples[:, 2:].T), rtol=0.03, atol=1e-2)


def test_batch_axes_equal_one_by_one() -> None:
    rng = np.random.default_rng(0)
    M = np.stack([np.diag(rng.uniform(1, 2, 3)) for _ in range(6)]).reshape(2, 3, 3, 3)
    Q, A, b = rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 2, 3)), rng.normal(size=2)
    for formulation in (da.Factored(), da.StackedLeastSquares()):
        batch = da.constrained_motion(M, Q, A, b, formulation=formulation)
        assert batch.acceleration.shape == (2, 3, 3)
        assert batch.rank.shape == (2, 3)
        for i in range(2):
            for j in range(3):
                one = da.constrained_motion(M[i, j], Q[i, j], A[j], b, formulation=formulation)
                np.testing.assert_allclose(batch.acceleration[i, j], one.acceleration, atol=1e-12)
                np.testing.assert_allclose(batch.multipliers[i, j], one.multipliers, atol=1e-12)


def test_no_constraints_at_all() -> None:
    for formulation in ALL_FORMULATIONS:
        point = da.constrained_motion(
            np.diag([2.0, 4.0]), [2, 4], np.zeros((0, 2)), [], [2, 0], formulation=formulation
        )
        np.testing.assert_allclose(point.acceleration, [2, 1], atol=1e-14)
        assert point.rank == 0
        assert point.inconsistency == 0


def test_unique_multipliers_are_distinguished() -> None:
    """Rows 0 and 1 repeat one another, row 2 stands alone: only its multiplier is determined."""
    point = da.constrained_motion(np.eye(3), [1, 2, 3], [[1, 0, 0], [2, 0, 0], [0, 1, 0]], [0, 0, 0])
    assert list(point.unique_multipliers) == [False, False, True]
    np.testing.assert_allclose(point.multipliers, [-0.2, -0.4, -2], atol=1e-14)  # shortest λ with λ₀ + 2λ₁ = −1


@pytest.mark.parametrize("redundant", quick_first([False, True], [True]))
def test_derivatives_agree_with_finite_differences(*, redundant: bool) -> None:
    """Forward and reverse, every output, along a path of constant rank."""
    rng = np.random.default_rng(3)
    n = 4
    rows, drows = rng.normal(size=(2, 2, n))
    mix = np.array([[1.0, 0], [0, 1], [2, -1]]) if redundant else np.eye(2)
    M, dM = np.eye(n) * 3, np.diag(rng.normal(size=n))
    Q, dQ, C, dC = rng.normal(size=(4, n))
    b, db = rng.normal(size=(2, 2))

    def value(s: jax.Array) -> jax.Array:
        point = da.constrained_motion(M + s * dM, Q + s * dQ, mix @ (rows + s * drows), mix @ (b + s * db), C + s * dC)
        fields = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "gauss")
        return jnp.concatenate([jnp.atleast_1d(getattr(point, field)) for field in fields])

    s, step = jnp.array(0.2), 1e-5
    compiled = jax.jit(lambda s: [function(s) for function in (value, jax.jacfwd(value), jax.jacrev(value))])
    (after, _, _), (before, _, _), (_, *slopes) = (compiled(at) for at in (s + step, s - step, s))
    for slope in slopes:
        np.testing.assert_allclose(slope, (after - before) / (2 * step), rtol=1e-6, atol=1e-8)


def test_near_singular_rows_keep_their_digits() -> None:
    """Two rows at an angle of 1e-7: forming AM⁻¹Aᵀ would lose all their digits, orthogonalising does not."""
    eps = 1e-7
    point = da.constrained_motion(np.eye(2), [0, 0], [[1, 0], [1, eps]], [1, 1 + eps])
    assert point.rank == 2
    np.testing.assert_allclose(point.acceleration, [1, 1], rtol=1e-8)


def test_rounding_is_not_taken_for_a_contradiction() -> None:
    """b = A a = 0: what is left of b − A a is rounding, and must not be compared with itself."""
    point = da.constrained_motion(np.eye(3), [1, 1, 1], [[0.1, 0.2, -0.3], [0.3, 0.6, -0.9]], [0, 0])
    assert point.inconsistency == 0
    np.testing.assert_allclose(point.acceleration, [1, 1, 1], atol=1e-14)


@pytest.mark.parametrize("formulation", [*ALL_FORMULATIONS, da.StackedLeastSquares([1, 1, 1e22, 1])], ids=label)
def test_the_scale_of_a_row_does_not_matter_to_any_formulation(formulation: da.Factored) -> None:
    point = da.constrained_motion(np.eye(2), [0, 0], [[1, 0], [0, 1e-11]], [1, 1e-11], formulation=formulation)
    np.testing.assert_allclose(point.acceleration, [1, 1], rtol=1e-9)
