"""Largest margins of linear conditions and of cones, compared with general optimizers; least nonnegative vectors."""

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, minimize

from dalembert.stick_slip.cone_margin import Cones, largest_cone_margin
from dalembert.stick_slip.largest_margin import largest_margin, least_norm


@pytest.mark.parametrize(("k", "d"), [(5, 1), (6, 2), (7, 3), (14, 5)])
def test_margins_of_linear_conditions(k: int, d: int) -> None:
    rng = np.random.default_rng(k)
    a, slopes = rng.normal(size=(20, k)), rng.normal(size=(20, k, d))
    margin, z = largest_margin(a, slopes)
    np.testing.assert_allclose(np.minimum((a + (slopes @ z[..., None])[..., 0]).min(axis=1), 1.0), margin, atol=1e-12)
    for i in range(20):
        rows = np.concatenate([-slopes[i], np.ones((k, 1))], axis=1)
        best = linprog(np.append(np.zeros(d), -1.0), rows, a[i], bounds=[(None, None)] * d + [(None, 1.0)])
        np.testing.assert_allclose(margin[i], -best.fun, atol=1e-9)


def test_the_mean_of_the_best_vertices_is_returned() -> None:
    """Of a load on two of three feet in a row, the outer ones; the middle one shares it."""
    a, slopes = np.array([[1.0, 0.0, 0.0, 1.0]]), np.array([[[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]])
    margin, z = largest_margin(a, slopes)
    assert margin[0] == pytest.approx(0, abs=1e-15)
    assert (a + (slopes @ z[..., None])[..., 0])[0, [0, 2, 3]].min() > 0.1


def test_the_sign_of_the_margin_of_cones() -> None:
    rng = np.random.default_rng(1)
    count = 30
    cones = Cones(
        *(rng.normal(size=shape) + 0.4 for shape in ((count, 2), (count, 2, 2), (count, 3), (count, 3, 2))),
        *(0.5 * rng.normal(size=shape) for shape in ((count, 3, 2), (count, 3, 2, 2))),
    )
    margin, z = largest_cone_margin(cones, np.zeros((count, 2)))
    inside = margin > 0
    assert 3 < inside.sum() < count - 3
    np.testing.assert_allclose(cones.margin(z)[inside], margin[inside], atol=1e-14)
    for i in np.flatnonzero(~inside):
        own = cones.some(np.arange(count) == i)
        starts = rng.normal(size=(5, 2))
        found = [minimize(lambda w, own=own: -own.margin(w[None])[0], s, method="Nelder-Mead").fun for s in starts]
        assert -min(found) <= margin[i] + 1e-12  # an upper bound of all margins


def test_a_margin_of_cones_that_is_zero() -> None:
    """Two supports of limit 1 hold a force of 2 exactly, and no more."""
    size = np.array([2.0 - 1e-13, 2.0, 2.0 + 1e-12, 2.1])
    none, one = np.zeros((4, 0)), np.ones((4, 2))
    f = np.stack([np.stack([0 * size, 0 * size], axis=1), np.stack([0.6 * size, 0.8 * size], axis=1)], axis=1)
    F = np.broadcast_to(np.array([np.eye(2), -np.eye(2)]), (4, 2, 2, 2))
    cones = Cones(none, np.zeros((4, 0, 2)), one, np.zeros((4, 2, 2)), f, F)
    margin, _ = largest_cone_margin(cones, np.full((4, 2), 0.2))
    np.testing.assert_allclose(margin[:2], [5e-14, 0], atol=2e-14)
    assert margin[2] < -1e-13
    assert -0.05 - 1e-9 <= margin[3] < 0


def test_the_shortest_vector_that_is_not_negative() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        basis = np.linalg.qr(rng.normal(size=(6, 3)))[0]
        x = rng.normal(size=6) + 0.5
        x -= basis @ (basis.T @ x)
        w = least_norm(x, basis)
        other = np.linalg.svd(basis.T)[2][3:]
        # the same vectors are those with given components along the other directions
        found = lsq_linear(
            np.vstack([np.eye(6), 1e7 * other]), np.append(np.zeros(6), 1e7 * other @ x), (0, np.inf), tol=1e-14
        )
        if w is None:
            assert np.linalg.norm(other @ (found.x - x)) > 1e-6
        else:
            np.testing.assert_allclose(x + basis @ w, found.x, atol=1e-6)
            assert (x + basis @ w >= -1e-13).all()
    assert least_norm(np.zeros(2), np.ones((2, 1)) / np.sqrt(2)) == pytest.approx([0])
