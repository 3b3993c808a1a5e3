"""The answer in other units is the same answer: coordinates, masses, times and constraints rescaled.

Under q = D x the problem M, Q, A, b, C becomes DMD, DQ, AD, b, DC: accelerations are divided by D, forces multiplied by
it. A constraint multiplied by a number has its multiplier divided by it. Nothing else may change, but for rounding.
"""

import mpmath as mp
import numpy as np
import pytest

import dalembert as da
from helpers import ALL_FORMULATIONS, label, random_problem

SIZE = (4, 3)
BATCH = 40


def exact(M, Q, A, b, C) -> np.ndarray:
    """q̈ by elimination in 60 digits, independent rows only."""
    kept: list[int] = []
    for k in range(len(A)):
        rows = A[[*kept, k]] / np.linalg.norm(A[[*kept, k]], axis=1, keepdims=True)
        if np.linalg.matrix_rank(rows, tol=1e-8) == len(rows):
            kept.append(k)
    n, A, b = len(M), A[kept], b[kept]
    with mp.workdps(60):
        saddle = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
        x = mp.lu_solve(mp.matrix(saddle.tolist()), mp.matrix([*(Q + C).tolist(), *b.tolist()]))
        return np.array([float(x[i]) for i in range(n)])


def problems(*, redundant: bool) -> dict[str, np.ndarray]:
    """Problems whose third row is the sum of the others, or not; exactly so in any units."""
    drawn = []
    for seed in range(BATCH):
        rng = np.random.default_rng(seed)
        problem, _ = random_problem(rng, SIZE)
        A, qdd = rng.integers(-9, 10, (3, 4)) + 0.25, rng.integers(-9, 10, 4)
        A[2] = A[0] + A[1] if redundant else A[2]
        drawn.append(problem | {"constraint_matrix": A, "constraint_rhs": A @ qdd})
    return {key: np.stack([problem[key] for problem in drawn]) for key in drawn[0]}


def rescaled(problem: dict[str, np.ndarray], D: np.ndarray, R: np.ndarray) -> dict[str, np.ndarray]:
    M, Q, A, b, C = problem.values()
    scaled = (M * D[:, :, None] * D[:, None, :], Q * D, A * R[:, :, None] * D[:, None, :], b * R, C * D)
    return dict(zip(problem, scaled, strict=True))


def powers_of_two(rng: np.random.Generator, shape: tuple[int, ...], decades: float) -> np.ndarray:
    """Scales that are exact in binary, so that the rescaled problem is the same to the last digit."""
    return 2.0 ** np.round(np.log2(10.0 ** rng.uniform(-decades, decades, shape)))


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
def test_units_do_not_matter(formulation: da.Factored, redundant: bool) -> None:
    """Coordinates and rows in units from 1e-9 to 1e9, against elimination in 60 digits."""
    if redundant and formulation.independent_rows:
        return
    problem = problems(redundant=redundant)
    rng = np.random.default_rng(1)
    D, R = powers_of_two(rng, (BATCH, 4), 9), powers_of_two(rng, (BATCH, 3), 9)
    one = da.constrained_motion(**problem, formulation=formulation)
    other = da.constrained_motion(**rescaled(problem, D, R), formulation=formulation)
    expected = np.stack([exact(*entry) for entry in zip(*problem.values(), strict=True)])
    # with the rows as they are here the answer moves by no more than some hundred times what the numbers move
    size = np.abs(expected).max(axis=1, keepdims=True) + np.abs(problem["applied_force"]).max(axis=1, keepdims=True)
    assert np.abs((other.acceleration * D - expected) / size).max() < 2e-12
    for force in ("ideal_force", "nonideal_force"):
        assert np.abs((getattr(other, force) / D - getattr(one, force)) / size).max() < 1e-11, force
    if not redundant:
        assert np.abs((other.multipliers * R - one.multipliers) / size).max() < 1e-11
    assert np.asarray(other.residual).max() < 1e-12
    np.testing.assert_array_equal(other.rank, one.rank)


@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
def test_heavy_bodies(formulation: da.Factored) -> None:
    """Two heavy masses and x + y = const: λ from elimination by hand."""
    M, Q = np.array([[2e8, 3e7], [3e7, 1e8]]), np.array([0, -1e9])
    x = -Q[1] / (M[0, 0] + M[1, 1] - 2 * M[0, 1])  # M q̈ along (1, −1)
    point = da.constrained_motion(M, Q, [[1, 1]], [0], formulation=formulation)
    np.testing.assert_allclose(point.acceleration, [x, -x], rtol=1e-14)
    heavy = da.constrained_motion(1e6 * np.eye(2), [0, 1e6], [[1, 1]], [0], formulation=formulation)
    np.testing.assert_allclose(heavy.acceleration, [-0.5, 0.5], rtol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_units_do_not_matter_without_a_positive_mass_matrix(seed: int) -> None:
    """A massless coordinate, and one of negative mass."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(2, 4)), rng.normal(size=2)
    massless = {"mass_matrix": np.diag([1.0, 2.0, 3.0, 0.0]), "constraint_matrix": A, "constraint_rhs": b}
    negative = massless | {"mass_matrix": np.diag([1.0, 2.0, -3.0, 0.5])}
    forces = {"applied_force": rng.normal(size=4), "C": rng.normal(size=4)}
    D, R = powers_of_two(rng, (1, 4), 9)[0], powers_of_two(rng, (1, 2), 9)[0]
    for formulation, given in (
        (da.SingularMass(), massless),
        (da.Multipliers(), massless),
        (da.Multipliers(), negative),
    ):
        problem = {key: (given | forces)[key] for key in ("mass_matrix", "applied_force")}
        problem |= {key: (given | forces)[key] for key in ("constraint_matrix", "constraint_rhs", "C")}
        batch = rescaled({key: array[None] for key, array in problem.items()}, D[None], R[None])
        point = da.constrained_motion(**batch, formulation=formulation)
        expected = exact(*problem.values())
        np.testing.assert_allclose(point.acceleration[0] * D, expected, rtol=1e-11)
        assert point.residual < 1e-13


@pytest.mark.parametrize("decades", [0, 3, 9])
def test_the_weight_keeps_its_meaning_for_contradictory_constraints(decades: float) -> None:
    """Scaled inside, the compromise is still that of the equations as they were written: the paper's, by hand.

    A row is repeated, three times as long and with another right side.
    """
    rng = np.random.default_rng(int(decades))
    problem, _ = random_problem(rng, SIZE)
    M, Q = problem["mass_matrix"], problem["applied_force"]
    D = powers_of_two(rng, (4,), decades / 2)
    M, Q = M * np.outer(D, D), Q * D
    row, b = rng.normal(size=(1, 4)) * D, np.array([1.0, 1.7])
    A = np.concatenate([row, 3 * row])
    half = rng.normal(size=(6, 6))
    for W in (np.eye(6), np.diag(rng.uniform(0.2, 5, 6)), half @ half.T + np.eye(6)):
        point = da.constrained_motion(M, Q, A, b, formulation=da.StackedLeastSquares(W))
        acceleration, force = weighted_by_hand(M, Q, row[0], b, W)
        np.testing.assert_allclose(point.acceleration * D, acceleration * D, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(point.constraint_force / D, force / D, rtol=1e-8, atol=1e-10)
        assert point.inconsistency > 1e-2
        assert point.residual < 1e-12


def weighted_by_hand(M, Q, row, b, W) -> tuple[np.ndarray, np.ndarray]:
    """q̈ and Fᶜ of least weighted squares for the rows a and 3a, in 80 digits.

    Unknown are the part of q̈ₛ along a and the residuals of the motion.
    """
    n = len(M)
    with mp.workdps(80):
        values, vectors = mp.eigsy(mp.matrix(M.tolist()))
        root = vectors * mp.diag([mp.sqrt(v) for v in values]) * vectors.T
        inverse_root = vectors * mp.diag([1 / mp.sqrt(v) for v in values]) * vectors.T
        a_s = inverse_root * mp.matrix(Q.tolist())
        direction = inverse_root * mp.matrix(row.tolist())
        direction /= mp.norm(direction)
        size = (mp.matrix(row.tolist()).T * inverse_root * direction)[0]
        # unknowns: the n residuals of the motion, then y = directionᵀ q̈ₛ; the residuals (ρ, size y − b₀, 3 size y − b₁)
        J = mp.zeros(n + 2, n + 1)
        for i in range(n):
            J[i, i] = 1
        J[n, n], J[n + 1, n] = size, 3 * size
        target = mp.matrix([*([0] * n), *b.tolist()])
        weight = mp.matrix(W.tolist())
        u = mp.lu_solve(J.T * weight * J, J.T * weight * target)
        rho, y = u[:n], u[n]
        # F has no component across: there q̈ₛ = aₛ + ρ; along it q̈ₛ is y, and F the rest
        across = a_s + rho - direction * (direction.T * (a_s + rho))[0]
        x = across + direction * y
        F = x - a_s - rho
        return np.array((inverse_root * x).tolist(), float)[:, 0], np.array((root * F).tolist(), float)[:, 0]
