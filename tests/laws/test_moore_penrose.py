"""The Moore–Penrose inverse that the formulations use, and J Bᵀ = B⁺ of the extended d'Alembert principle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.equation.decomposition import decompose
from dalembert.equation.formulation import Geometry
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.numerics.arrays import pinv as pinv_to
from dalembert.numerics.tolerances import RANK_TOLERANCE
from helpers import random_rank_deficient, random_spd

SHAPES = ((2, 5), (4, 4), (6, 3))
"""Wide, square and tall; few, because every size is compiled."""


def pinv(B: jnp.ndarray) -> jnp.ndarray:
    return pinv_to(B, RANK_TOLERANCE)


@jax.jit  # one program for each size, not one for every operation
def inverses(B: jnp.ndarray) -> tuple[jnp.ndarray, jnp.ndarray, jnp.ndarray]:
    """B⁺, the scaled rows of the extended d'Alembert principle, and their inverse."""
    m, n = B.shape
    geometry = Geometry(jnp.eye(n), decompose(B), jnp.ones(n), jnp.ones(m))
    scaled, _, _, J, _, _ = da.ExtendedDAlembert().factor(jnp.eye(n), B, geometry)
    return pinv(B), scaled, J @ scaled.T


@pytest.mark.parametrize("seed", range(21))
def test_penrose_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = SHAPES[seed % len(SHAPES)]
    B = random_rank_deficient(rng, m, n, rng.integers(0, min(m, n) + 1))
    inverse, scaled, inverse_of_scaled = map(np.asarray, inverses(B))
    pairs = [(B, inverse), (scaled, inverse_of_scaled)]
    for B, P in pairs:
        np.testing.assert_allclose(B @ P @ B, B, atol=1e-12)
        np.testing.assert_allclose(P @ B @ P, P, atol=1e-12)
        np.testing.assert_allclose(B @ P, (B @ P).T, atol=1e-12)
        np.testing.assert_allclose(P @ B, (P @ B).T, atol=1e-12)


def test_closed_forms() -> None:
    rng = np.random.default_rng(1)
    row = rng.normal(size=(1, 5))
    np.testing.assert_allclose(pinv(jnp.asarray(row)), row.T / (row @ row.T), atol=1e-14)
    np.testing.assert_allclose(pinv(jnp.asarray(row.T)), row / (row @ row.T), atol=1e-14)
    np.testing.assert_allclose(pinv(jnp.asarray(row.T @ row)), row.T @ row / (row @ row.T) ** 2, atol=1e-13)
    np.testing.assert_allclose(pinv(jnp.asarray(3.0 * row)), pinv(jnp.asarray(row)) / 3, atol=1e-14)
    blocks = np.zeros((3, 6))
    blocks[0, :3], blocks[1:, 3:] = rng.normal(size=3), rng.normal(size=(2, 3))
    expected = np.zeros((6, 3))
    expected[:3, :1], expected[3:, 1:] = np.linalg.pinv(blocks[:1, :3]), np.linalg.pinv(blocks[1:, 3:])
    np.testing.assert_allclose(pinv(jnp.asarray(blocks)), expected, atol=1e-13)


def test_square_roots() -> None:
    M = random_spd(np.random.default_rng(2), 5)
    root, inverse = square_roots(jnp.asarray(M))
    np.testing.assert_allclose(root @ root, M, atol=1e-13)
    np.testing.assert_allclose(root @ inverse, np.eye(5), atol=1e-13)
